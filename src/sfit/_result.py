"""The result of a test: frozen, complete, and sufficient to decide again at another level.

Tables, summaries and JSON are views; nothing here predicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfit import _caveats
from sfit._arguments import check_choice, check_level
from sfit._beta_choice import BetaChoice
from sfit._contrast import Effects
from sfit._document import blame_document, brief, read, record_from, storable, texts, write
from sfit._layout import WIDTH, Line
from sfit._multiplicity import CORRECTIONS, Correction
from sfit._reported import Reported
from sfit._set_tests import RECORDS, AnySetTest, FoldTest, GateTest, PermutationSetTest, SetTest
from sfit._summary_lines import Bars, as_lines, caveat_lines
from sfit.exceptions import ArgumentError

AVERAGE = "average of "
"""`reference` of tests with an averaged reference begins with this."""

REFITS = "refits"
"""`reference_origin` of tests that refit the model instead of freezing features."""


@dataclass(frozen=True)
class Settings:
    """The arguments of the test, as far as they can be stored as text and numbers."""

    test: str
    n_rows: int
    """Number of held-out rows; under ``ties="drop"`` a test counts only some of them."""
    loss: str
    alpha: float
    beta: tuple[float, ...]
    max_order: int
    correction: str | None
    interval: str
    coverage: float
    reference: str
    reference_origin: str
    space: str
    given: tuple[str, ...]
    always_on: tuple[str, ...]
    partners: str
    n_partners: int | None
    exhaustive: bool
    strict: bool
    ties: str | None = None
    """What the sign test does with rows whose prediction does not move; None: another test."""
    seed: int | None = None
    """Seed of permutations, flips and background rows; None if nothing was drawn."""
    row_order: str | None = None
    """"time" if neighbouring rows depend on each other."""
    n_clusters: int | None = None
    """Number of clusters, which are the units of the test; None: every row is a unit."""
    planned_alpha: float | None = None
    """The level of the run, if `SFITResult.at` decided at another."""
    n_folds: int | None = None
    """Number of folds of `cross_significance`; None: one fitted model was tested."""
    alpha_by_order: tuple[float, ...] | None = None
    """Levels of the orders, if errors are controlled over all of them."""
    interaction: str | None = None
    """"additive" if sets are compared with the additive prediction from their parts."""

    @property
    def adjusted(self) -> bool:
        """Whether adjusted p-values differ from p-values."""
        return self.correction is not None or self.alpha_by_order is not None

    @property
    def refitted(self) -> bool:
        """Whether the base of a test is a refitted model (LOCO)."""
        return self.reference_origin == REFITS

    @property
    def averaged(self) -> bool:
        """Whether hidden features are averaged over background rows, not frozen."""
        return self.reference.startswith(AVERAGE)

    @property
    def run_alpha(self) -> float:
        """The level of the run: of its choice of sets, its intervals, `ci_lower` and `beta_max`."""
        return self.alpha if self.planned_alpha is None else self.planned_alpha


@dataclass(frozen=True, eq=False)
class SFITResult(Reported):
    r"""The result of `feature_significance`, `cross_significance` or `loco_significance`.

    Attributes
    ----------
    tests : tuple of SetTest, PermutationSetTest or MeanSetTest
        One entry per set of features tested, in the order of testing.
    gates : tuple of GateTest
        After each order: is anything left to find?
    feature_names : tuple of str
        The features under test.
    settings : Settings
        The arguments of the test.
    caveats : tuple of str
        Warnings for readers of this result: constant columns, few rows, and the like. Every view
        shows all of them.
    beta_choice : BetaChoice or None
        How beta was chosen, for ``beta="auto"``.
    fold_tests : tuple of FoldTest
        The folds behind each test of `cross_significance`; empty for other results.
    run : dict
        How the result was computed (versions, time, routes, warnings); ignored by ``==``.

    See Also
    --------
    feature_significance : The call that returns it.
    PartitionedResult : One result per part of the rows.

    Notes
    -----
    All numbers of a test come from its differences :math:`\Delta_1, \ldots, \Delta_n`: their median
    (`statistic`), the number above zero (`n_positive`), the p-value
    :math:`P(\mathrm{Bin}(n, 1/2) \ge n^+)` and the interval
    :math:`[\Delta_{(1+k)}, \Delta_{(n-k)}]` (section 2.2 of the paper). Those of other tests are
    explained in `PermutationTest` and `MeanTest`.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> result.significant
    {1: [('X1',), ('X3',)]}
    >>> result.selected, result.remainder
    (('X1', 'X3'), True)
    >>> dict(zip(result.features["feature"], result.features["order"].to_list(), strict=True))
    {'X1': 1, 'X2': 0, 'X3': 1, 'X4': 0, 'X5': 0, 'X6': 0, 'X7': 0}
    >>> result.at(alpha=0.001, correction="holm").selected
    ('X1', 'X3')
    >>> sfit.SFITResult.from_json(result.to_json()) == result
    True
    """

    tests: tuple[AnySetTest, ...]
    gates: tuple[GateTest, ...]
    feature_names: tuple[str, ...]
    settings: Settings
    caveats: tuple[str, ...] = ()
    beta_choice: BetaChoice | None = None
    fold_tests: tuple[FoldTest, ...] = ()
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        # No result lacks a caveat that follows from its own fields, however it was made.
        caveats = dict.fromkeys([*self.caveats, *_caveats.that_follow(self)])
        object.__setattr__(self, "caveats", tuple(caveats))

    def __eq__(self, other: object) -> bool:
        """Equal if everything but `run` is equal; NaN equals NaN."""
        if not isinstance(other, SFITResult):
            return NotImplemented
        return bool(storable(self._content()) == storable(other._content()))

    def __hash__(self) -> int:
        return hash((self.feature_names, self.settings, len(self.tests)))

    @property
    def is_permutation(self) -> bool:
        """Whether the tests are permutation tests."""
        return isinstance(self.tests[0], PermutationSetTest)

    @property
    def table(self) -> pd.DataFrame:
        """One row per set tested; `set` is the set as text, beside the tuple `term`."""
        described = ["gain", *(one.name for one in fields(Effects))]
        own = [one.name for one in fields(self.tests[0]) if one.name not in described]
        columns = [*own, *described]
        rows = [tuple(getattr(test, name) for name in columns) for test in self.tests]
        table = pd.DataFrame(rows, columns=columns)
        table.insert(columns.index("term") + 1, "set", [", ".join(one.term) for one in self.tests])
        return table

    @property
    def folds(self) -> pd.DataFrame:
        """One row per feature and fold of `cross_significance`; no rows for other results."""
        columns = [one.name for one in fields(FoldTest)]
        rows = [tuple(getattr(test, name) for name in columns) for test in self.fold_tests]
        return pd.DataFrame(rows, columns=columns)

    @property
    def features(self) -> pd.DataFrame:
        """One row per feature: the order at which it became significant (0: none), and its test.

        The row of a feature that was not found holds its first-order test. Statistics of different
        orders have different bases and must not be compared.
        """
        rows = []
        # The first test of each feature: sets are tested in the order of their size.
        alone = {test.term: test for test in reversed(self.tests) if len(test.term) == 1}
        for name, (order, test) in self._best_tests().items():
            best = test if test is not None else alone.get((name,))
            rows.append(
                {
                    "feature": name,
                    "order": order,
                    "set": best.term if best else (),
                    "base": best.base if best else (),
                    "statistic": best.estimate if best else math.nan,
                    "ci_low": best.ci_low if best else math.nan,
                    "ci_high": best.ci_high if best else math.nan,
                    "p_adjusted": best.p_adjusted if best else math.nan,
                }
            )
        return pd.DataFrame(rows)

    @property
    def significant(self) -> dict[int, list[tuple[str, ...]]]:
        """Significant sets by order."""
        terms: dict[int, list[tuple[str, ...]]] = {}
        for test in self.tests:
            terms.setdefault(test.order, [])
            if test.significant:
                terms[test.order].append(test.term)
        return terms

    @property
    def selected(self) -> tuple[str, ...]:
        """Every feature found, at any order, in the order of the columns."""
        return tuple(name for name, (order, _) in self._best_tests().items() if order)

    @property
    def remainder(self) -> bool:
        """Whether the last gate is open: there is more to find."""
        return bool(self.gates) and self.gates[-1].is_open

    def at(self, *, alpha: float | None = None, correction: Any = "unchanged") -> SFITResult:
        """Decide again from the stored counts, at another level or with another correction.

        No prediction is repeated: the sets are those chosen at the original level, and intervals,
        `ci_lower` and `beta_max` keep their original level, ``settings.run_alpha``. A result with
        `alpha_by_order` refuses another level or correction.

        Parameters
        ----------
        alpha : float, optional
            The new level.
        correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, optional
            The new correction.

        Returns
        -------
        SFITResult
            The same evidence, decided again.
        """
        unchanged = isinstance(correction, str) and correction == "unchanged"
        correction = self.settings.correction if unchanged else correction
        alpha = check_level(self.settings.alpha if alpha is None else alpha, "alpha")
        check_choice(correction, "correction", CORRECTIONS)
        if self.settings.alpha_by_order is not None:
            self._refuse_other_levels(alpha, correction)
            return self
        tests = _decided(self.tests, alpha, Correction(correction))
        gates = tuple(replace(gate, is_open=gate.p_value < alpha) for gate in self.gates)
        planned = self.settings.run_alpha
        settings = replace(
            self.settings,
            alpha=alpha,
            correction=correction,
            planned_alpha=None if alpha == planned else planned,
        )
        # What follows from the old decisions may not follow from the new ones.
        outdated = set(_caveats.that_follow(self))
        kept = tuple(text for text in self.caveats if text not in outdated)
        return replace(
            self,
            tests=tuple(tests),
            gates=gates,
            settings=settings,
            caveats=kept,
        )

    def _refuse_other_levels(self, alpha: float, correction: str | None) -> None:
        """Refuse to decide otherwise than a run with error control over all orders."""
        if alpha != self.settings.alpha or correction is not None:
            raise ArgumentError(
                f"alpha={alpha!r} with correction={correction!r} is not how this run decided: "
                f"alpha_by_order={self.settings.alpha_by_order!r} controls errors over all orders "
                "only for decisions at its own levels, because they choose the sets of later "
                "orders. Run the test again with other arguments."
            )

    def summary(self) -> str:
        """The result as text, for a terminal or a notebook.

        Returns
        -------
        str
            Lines of at most 80 columns. Long names are shortened; `table` has them in full.
        """
        return "\n".join(line.text for line in self._lines())

    def _lines(self, width: int = WIDTH, bars: Bars | None = None) -> list[Line]:
        """The summary, in lines of at most `width` columns."""
        return [*as_lines(self, width, bars), *caveat_lines(self.caveats, width)]

    def plot(self, ax: Any = None) -> Any:
        """Draw all sets: what share of the rows each improves, or how far the mean loss rises.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        CoinDisplay or RiseDisplay
            The display, drawn: `sfit.plotting.CoinDisplay` for the sign test,
            `sfit.plotting.RiseDisplay` for the permutation test and the mean test.
        """
        from sfit.plotting import CoinDisplay, RiseDisplay

        if isinstance(self.tests[0], SetTest):
            return CoinDisplay.from_result(self, ax=ax)
        return RiseDisplay.from_result(self, ax=ax)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the result as JSON; the part `result` is identical, byte for byte, for equal runs.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The JSON.
        """
        return write("SFITResult", self._content(), self.run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> SFITResult:
        """Read a result from a file, or from the text that `to_json` returned.

        Parameters
        ----------
        source : path or str
            The file, or the JSON itself.

        Returns
        -------
        SFITResult
            Equal to the result that was written.
        """
        content, run = read(source, "SFITResult")
        with blame_document():
            return cls._from_content(content, run)

    def _content(self) -> dict[str, Any]:
        folds = {"fold_tests": [asdict(test) for test in self.fold_tests]}
        return {
            "feature_names": self.feature_names,
            "settings": asdict(self.settings),
            "tests": [asdict(test) for test in self.tests],
            "gates": [asdict(gate) for gate in self.gates],
            "caveats": self.caveats,
            "beta_choice": None if self.beta_choice is None else asdict(self.beta_choice),
            **(folds if self.fold_tests else {}),
        }

    @classmethod
    def _from_content(cls, content: Mapping[str, Any], run: dict[str, Any]) -> SFITResult:
        chosen = content["beta_choice"]
        result = cls(
            tests=tuple(record_from(_kind_of(test), test) for test in content["tests"]),
            gates=tuple(record_from(GateTest, gate) for gate in content["gates"]),
            feature_names=texts(content["feature_names"]),
            settings=record_from(Settings, content["settings"]),
            caveats=texts(content["caveats"]),
            beta_choice=None if chosen is None else record_from(BetaChoice, chosen),
            fold_tests=tuple(record_from(FoldTest, test) for test in content.get("fold_tests", ())),
            run=run,
        )
        _check_consistency(result)
        return result

    def _best_tests(self) -> dict[str, tuple[int, AnySetTest | None]]:
        """The order at which each feature was found, and the strongest set that contains it."""
        orders: dict[str, tuple[int, AnySetTest | None]]
        orders = dict.fromkeys(self.feature_names, (0, None))
        for test in self.tests:
            for name in test.term if test.significant else ():
                order, best = orders[name]
                if order == 0 or (
                    best is not None
                    and order == test.order
                    and (test.p_adjusted, -test.strength) < (best.p_adjusted, -best.strength)
                ):
                    orders[name] = test.order, test
        return orders


def _decided(tests: Sequence[AnySetTest], alpha: float, correction: Correction) -> list[AnySetTest]:
    """The tests, decided again within each order."""
    decided: list[AnySetTest] = []
    for order in dict.fromkeys(test.order for test in tests):
        family = [test for test in tests if test.order == order]
        adjusted = correction.adjust(np.asarray([test.p_value for test in family]))
        decided += [
            replace(test, p_adjusted=float(p), significant=bool(p < alpha))
            for test, p in zip(family, adjusted, strict=True)
        ]
    return decided


def _kind_of(stored: Mapping[str, Any]) -> type[AnySetTest]:
    """The class of a stored test."""
    return next((kind for estimate, kind in RECORDS.items() if estimate in stored), SetTest)


def _adds_up(settings: Settings) -> bool:
    """Whether the levels of the orders could have been asked for."""
    alphas = settings.alpha_by_order
    if alphas is None:
        return True
    sums = math.isclose(math.fsum(alphas), settings.alpha, rel_tol=1e-9)
    return settings.correction is None and len(alphas) == settings.max_order and sums


def _check_consistency(result: SFITResult) -> None:
    """Raise ValueError if the fields of a stored result contradict each other."""
    features, settings, choice = set(result.feature_names), result.settings, result.beta_choice
    visible = features | set(settings.given)
    # Condition, field, and value of the field.
    checks: list[tuple[bool, str, Any]] = [
        (len(features) == len(result.feature_names) > 0, "feature_names", result.feature_names),
        (len(result.tests) > 0, "tests", result.tests),
        (0 < settings.alpha < 1, "alpha", settings.alpha),
        (0 < settings.run_alpha < 1, "planned_alpha", settings.planned_alpha),
        (len({type(test) for test in result.tests}) <= 1, "tests", result.tests),
        (settings.correction in CORRECTIONS, "correction", settings.correction),
        (_adds_up(settings), "alpha_by_order", settings.alpha_by_order),
    ]
    for test in result.tests:
        distinct = len(set(test.term)) == len(test.term) > 0
        checks += [
            (distinct and features.issuperset(test.term), "term", test.term),
            (visible.issuperset(test.base), "base", test.base),
        ]
        checks += test.checks(settings)
    checks += [
        (features.issuperset(test.term), "fold_tests", test.term) for test in result.fold_tests
    ]
    for gate in result.gates:
        checks += [
            (features.issuperset(gate.found), "found", gate.found),
            (gate.n_positive <= gate.n, "n_positive", gate.n_positive),
        ]
    if choice is not None:
        widths = {len(of_model) for of_model in choice.thresholds}
        complete = not np.isnan(np.concatenate([(), *choice.thresholds])).any()
        checks += [
            (0 < choice.alpha < 1, "beta_choice alpha", choice.alpha),
            (widths == {len(choice.feature_names)} and complete, "thresholds", choice.thresholds),
        ]
    for holds, name, value in checks:
        if not holds:
            raise ValueError(f"{name} contradicts the rest: {brief(value)}")
