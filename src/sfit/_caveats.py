"""The caveats that follow from a result itself: from its tests, gates and settings.

Other caveats are about the rows and the model: the run states them. A result holds both kinds, so
every view and its JSON show the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from sfit._binomial import critical_count
from sfit._diagnostics import diagnose, follows_few_units, mean_and_median, unreachable
from sfit._multiplicity import Correction
from sfit._set_tests import AnySetTest, MeanSetTest, SetTest
from sfit._text import listed, number, set_name
from sfit._words import at_level, words_of

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

FEW_ROWS = 200
MANY_TESTS = 20

TOO_FEW = ("are too few", "has too few permutations", "of a cluster count as one unit")
"""Words with which a run says that there are too few rows or clusters."""

NAMES = 4
"""Sets that a sentence names; it counts the others."""


def that_follow(result: SFITResult) -> list[str]:
    """All caveats that follow from the fields of a result; they change when it is decided again."""
    if not result.tests or not 0 < result.settings.alpha < 1:  # a damaged document
        return []
    return [
        *_out_of_reach(result),
        *_diagnoses(result),
        *_disagreements(result),
        *_lost_sets(result),
        *_few_units(result),
        *_many_tests(result),
        *_single_points(result),
        *_open_gate(result),
        *_sets_found(result),
    ]


def lost_to_correction(test: AnySetTest, settings: Settings) -> bool:
    """Whether a set would be significant without the correction."""
    return not test.significant and settings.adjusted and test.p_value < settings.alpha


def corrected_verdicts(settings: Settings) -> str:
    """A sentence on intervals that the correction leaves alone; empty without a correction."""
    if not settings.adjusted:
        return ""
    return f"Verdicts are corrected ({settings.correction or 'over all orders'}), intervals are not"


def _out_of_reach(result: SFITResult) -> list[str]:
    """Only the run knows the corrections of `alpha_by_order`, and it cannot be decided again."""
    if result.settings.alpha_by_order is not None:
        return []
    correction = Correction(result.settings.correction)
    return unreachable(result.tests, result.settings.alpha, lambda order: correction)


def _diagnoses(result: SFITResult) -> Sequence[str]:
    """What the test of the result cannot see, which is not about refitted models."""
    settings, tests = result.settings, result.tests
    units = "rows" if settings.n_clusters is None else "clusters"
    if isinstance(tests[0], MeanSetTest):
        means = [test for test in tests if isinstance(test, MeanSetTest)]
        return [*follows_few_units(means, units), *mean_and_median(means, units)]
    if not isinstance(tests[0], SetTest) or settings.refitted or settings.ties == "drop":
        return []

    @cache
    def critical(n: int) -> int:
        return int(critical_count(n, settings.alpha))

    return diagnose(tests, result.gates, critical, bool(settings.given))


def _disagreements(result: SFITResult) -> list[str]:
    """The number of sets whose p-value and interval disagree, if there are any."""
    n = sum(test.significant != (test.ci_low > 0) for test in result.tests)
    if not n:
        return []
    sets, level = "1 set" if n == 1 else f"{n:,} sets", at_level(result.settings)
    kept = f". The interval is that of the run{level}" if level else ""
    return [
        f"for {sets} the p-value and the interval disagree about zero: "
        f"{words_of(result).contradiction}{kept}."
    ]


def _lost_sets(result: SFITResult) -> list[str]:
    """The sets that only the correction makes insignificant."""
    settings = result.settings
    lost = [test for test in result.tests if lost_to_correction(test, settings)]
    if not lost:
        return []
    which = "1 set is" if len(lost) == 1 else f"{len(lost):,} sets are"
    names = listed([set_name(test.term) for test in lost], NAMES)
    return [
        f"{which} significant at level {number(settings.alpha)} without the correction only: "
        f"{names}. {corrected_verdicts(settings)}."
    ]


def _few_units(result: SFITResult) -> list[str]:
    """What few rows or clusters mean, unless the run already says that they are too few."""
    settings = result.settings
    n = settings.n_clusters or settings.n_rows
    if n >= FEW_ROWS or any(words in text for text in result.caveats for words in TOO_FEW):
        return []
    needed = int(critical_count(n, settings.alpha))
    return [words_of(result).few_rows.format(n=n, needed=needed)]


def _many_tests(result: SFITResult) -> list[str]:
    n, settings = len(result.tests), result.settings
    if settings.adjusted or n < MANY_TESTS:
        return []
    return [
        f"{n:,} sets were tested at level {number(settings.alpha)} without a correction: some may "
        'be significant by chance. Correct with result.at(correction="fdr_by").'
    ]


def _single_points(result: SFITResult) -> list[str]:
    """The sets whose interval is a single point, although there are several units."""
    settings = result.settings
    tied = [test for test in result.tests if test.ci_low == test.estimate == test.ci_high]
    if not tied or (settings.n_clusters or settings.n_rows) <= 1:
        return []
    names = listed([set_name(test.term) for test in tied], NAMES)
    # A name may hold braces.
    return [words_of(result).single_point.replace("{names}", names)]


def _open_gate(result: SFITResult) -> list[str]:
    if not result.remainder:
        return []
    return [
        f"the gate after order {result.gates[-1].after_order} is open: all features together "
        "predict better than those found. Test larger sets with a larger max_order."
    ]


def _sets_found(result: SFITResult) -> list[str]:
    """Why a significant set is not an interaction, unless the test was strict."""
    found = any(test.significant and test.order > 1 for test in result.tests)
    return [words_of(result).sets] if found and not result.settings.strict else []
