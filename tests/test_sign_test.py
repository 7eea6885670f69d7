"""Tallies of any tiles merge into what the sorted whole says, or say that a bracket missed."""

import math
from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfit._contrast import Contrast, Effects, Losses, Question, Reveal
from sfit._select import EMPTY_WINDOW, EVERYTHING, NO_RANKS, SKIPPED, Window
from sfit._sign_test import Focus, SignEvidence, SignStatistic, _overdispersion
from sfit._tally import NO_EFFECTS, Tally

NOTHING_SHOWN, ONE_SHOWN = Reveal(frozenset()), Reveal(frozenset({0}))
LOSS = st.integers(0, 3).map(float) | st.floats(1e-100, 100)
PAIRS = st.lists(st.tuples(LOSS, LOSS), min_size=1, max_size=50)
CUTS = st.lists(st.integers(0, 50), max_size=4)
BETAS = st.sampled_from([0.0, 0.01, 0.5])
WIDE = 1e9
"""Standard errors that no bracket misses with."""


@dataclass(frozen=True)
class Asked:
    """A question, and the statistic that answers it."""

    question: Question
    statistic: SignStatistic

    @property
    def ranks(self):
        return self.statistic.ranks(self.question.n)

    @property
    def wanted(self):
        n = self.question.n
        return self.statistic._delta_ranks(n), self.statistic._rho_ranks(n)


def question(n, beta=0.0, alpha=0.05, interval="exact", only_beta_max=False, ties="keep"):
    contrast = Contrast(frozenset({0}), NOTHING_SHOWN, ONE_SHOWN, 1, beta)
    return Asked(Question(contrast, 0, n), SignStatistic(alpha, interval, ties, only_beta_max))


def tally(asked, losses, windows, n_se):
    return asked.statistic.tally_rows(asked.question, losses, Focus(*windows, n_se))


def merged(asked, tallies, n_se):
    return asked.statistic.merge(asked.question, tallies, Focus(EVERYTHING, EVERYTHING, n_se))


def conclude(asked, seen):
    return asked.statistic.conclude(asked.question, seen)


def described(base, full):
    """The figures that describe all rows, by plain loops."""
    pairs, n = list(zip(base, full, strict=True)), len(base)
    return Effects(
        loss_base=pytest.approx(math.fsum(base) / n, rel=1e-9),
        loss_full=pytest.approx(math.fsum(full) / n, rel=1e-9),
        share_moved=1.0,
        n_better=sum(f < b for b, f in pairs),
        n_worse=sum(f > b for b, f in pairs),
    )


def by_sorting(asked, base, full):
    """What is reported of all rows, straight from the definitions."""
    n = len(base)
    beta, level = asked.question.contrast.beta, asked.statistic.ranks(n)
    rho = np.array([(b - f) / b if b > 0 else -math.inf for b, f in zip(base, full, strict=True)])
    positive = rho > beta
    # delta has the sign of the count; where rounding disagrees it is the nearest such number.
    delta = (1 - beta) * np.asarray(base) - full
    delta = np.where(positive & (delta <= 0), 5e-324, np.where(~positive & (delta > 0), 0.0, delta))
    d, r = np.sort(delta), np.sort(rho)[::-1]
    largest = r[level.critical - 1] if level.critical <= n else -math.inf
    return SignEvidence(
        n=n,
        effects=described(base, full),
        n_positive=int(positive.sum()),
        n_negative=int(np.count_nonzero(np.asarray(full) > base)),
        n_improvable=int(np.count_nonzero(base)),
        statistic=float(np.mean([d[(n - 1) // 2], d[n // 2]])),
        ci_low=d[level.low - 1] if level.low else -math.inf,
        ci_high=d[level.high - 1] if level.high else math.inf,
        ci_lower=d[level.lower - 1] if level.lower else -math.inf,
        beta_max=largest if largest > 0 else math.nan,
    )


def assert_same(seen, expected):
    seen, expected = asdict(seen), asdict(expected)
    assert seen.pop("effects") == expected.pop("effects")
    np.testing.assert_equal(seen, expected)


def everywhere(asked, losses, n_se):
    return tally(asked, losses, (EVERYTHING, EVERYTHING), n_se)


@given(PAIRS, CUTS, BETAS, st.sampled_from([0.05, 0.3]), st.sampled_from(["exact", "asymptotic"]))
def test_any_tiles_say_what_the_sorted_whole_says(pairs, cuts, beta, alpha, interval):
    """Every tile judges by those before it, as the engine's rounds do."""
    base, full = np.array(pairs).T
    asked = question(len(pairs), beta, alpha, interval)
    seen, windows = [], (EVERYTHING, EVERYTHING)
    for places in np.split(np.arange(len(pairs)), sorted(cut % len(pairs) for cut in cuts)):
        seen.append(tally(asked, Losses(base[places], full[places], None), windows, WIDE))
        seen = [merged(asked, seen, WIDE)]
        windows = seen[0].delta.window, seen[0].rho.window
    assert_same(conclude(asked, seen[0]), by_sorting(asked, base, full))


@given(PAIRS, st.lists(st.integers(1, 5), min_size=50, max_size=50), BETAS)
def test_distinct_pairs_with_their_numbers_of_rows(pairs, times, beta):
    """Counted once with weights, or row by row: the same."""
    base, full = np.array(pairs).T
    counts = np.array(times[: len(pairs)])
    asked = question(int(counts.sum()), beta)
    counted = everywhere(asked, Losses(base, full, counts), WIDE)
    base, full = np.repeat(base, counts), np.repeat(full, counts)
    one = merged(asked, [counted], WIDE)
    assert_same(conclude(asked, one), by_sorting(asked, base, full))
    by_row = everywhere(asked, Losses(base, full, None), WIDE)
    assert counted[:4] == by_row[:4]


def test_beta_max_of_distinct_pairs():
    """The c-th largest of all rows, not of the distinct ones; and no sample says where it is."""
    asked = question(12, alpha=0.2)
    base, full, counts = np.ones(3), np.array([0.1, 0.5, 2.0]), np.array([4, 5, 3])
    seen = merged(asked, [everywhere(asked, Losses(base, full, counts), 4.0)], 4.0)
    assert asked.ranks.critical == 8
    assert conclude(asked, seen).beta_max == 0.5
    many = np.linspace(0.1, 0.9, 5_000)
    seen = everywhere(question(10_000), Losses(np.ones(5_000), many, np.full(5_000, 2)), 4.0)
    assert (seen.delta.window, seen.rho.window) == (EVERYTHING, EVERYTHING)


def is_inside(window, others):
    """Whether a window is narrower on both sides than all others."""
    return window.low > max(w.low for w in others) and window.high < min(w.high for w in others)


@pytest.mark.parametrize("beta", [0.0, 0.01])
@pytest.mark.parametrize("use", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_many_rows_keep_what_the_brackets_hold(beta, use, seed):
    """A tile brackets by a sample of itself; what it keeps is small, and holds the answer."""
    rng = np.random.default_rng(seed)
    base = rng.exponential(size=20_000)
    full = np.abs(base * (1 - use * rng.normal(0.5, 1, size=20_000)))
    asked = question(20_000, beta)
    parts = [
        everywhere(asked, Losses(base[rows], full[rows], None), 4.0)
        for rows in np.array_split(np.arange(20_000), 4)
    ]
    # Four standard errors on either side of an eighth of 5,000 rows.
    assert max(len(part.delta.values) for part in parts) < 0.25 * 5_000
    assert max(len(part.rho.values) for part in parts) < 0.25 * 5_000
    some = merged(asked, parts[:3], 4.0)
    if use == 0.5:
        assert is_inside(some.delta.window, [part.delta.window for part in parts[:3]])
        assert is_inside(some.rho.window, [part.rho.window for part in parts[:3]])
    whole = merged(asked, parts, 4.0)
    assert_same(conclude(asked, whole), by_sorting(asked, base, full))


def test_beta_max_is_not_looked_for_where_too_few_rows_improve():
    """Then nothing is kept of rho, and there is no beta_max; just enough rows, and there is one."""
    asked = question(10_000)
    base, full = np.ones(10_000), np.full(10_000, 1.5)
    full[:4_000] = np.linspace(0.1, 0.9, 4_000)
    few = everywhere(asked, Losses(base, full, None), 4.0)
    assert few.rho.window == EMPTY_WINDOW
    assert len(few.rho.values) == 0
    assert math.isnan(conclude(asked, merged(asked, [few], 4.0)).beta_max)
    full[: asked.ranks.critical - 1] = 0.25
    assert everywhere(asked, Losses(base, full, None), 4.0).rho.window == EMPTY_WINDOW
    full[: asked.ranks.critical] = 0.25
    enough = everywhere(asked, Losses(base, full, None), 4.0)
    assert enough.rho.window.low > 0
    assert conclude(asked, merged(asked, [enough], 4.0)).beta_max == 0.75


def test_beta_max_is_looked_for_where_the_other_rows_may_improve():
    """A part of the rows judges with n_se: 200 below the critical count are 4 errors of 50."""
    asked = question(20_000)
    critical = asked.ranks.critical / 2
    for short, looked_for in ((200, True), (201, False)):
        base, full = np.ones(10_000), np.full(10_000, 1.5)
        full[: math.ceil(critical) - short] = 0.25
        window = everywhere(asked, Losses(base, full, None), 4.0).rho.window
        assert (window != EMPTY_WINDOW) == looked_for
        assert window.low > 0


@given(PAIRS, CUTS, st.sampled_from([0.05, 0.3]))
def test_a_threshold_alone_is_the_one_of_the_whole_answer(pairs, cuts, alpha):
    base, full = np.array(pairs).T
    whole = question(len(pairs), 0.0, alpha)
    asked = question(len(pairs), 0.0, alpha, only_beta_max=True)
    seen = [
        everywhere(asked, Losses(base[places], full[places], None), WIDE)
        for places in np.split(np.arange(len(pairs)), sorted(cut % len(pairs) for cut in cuts))
    ]
    answer = conclude(asked, merged(asked, seen, WIDE))
    assert len(seen[0].delta.values) == 0
    unknown = dict.fromkeys(("statistic", "ci_low", "ci_high", "ci_lower"), math.nan)
    expected = by_sorting(whole, base, full)
    # Losses that rise are not counted.
    answer = replace(answer, n_negative=expected.n_negative)
    assert_same(answer, replace(expected, **unknown, effects=answer.effects))


def test_a_threshold_alone_is_not_looked_for_where_an_earlier_tile_saw_none():
    asked = question(12, only_beta_max=True)
    base, full = np.ones(6), np.full(6, 0.5)
    short = tally(asked, Losses(base, full, None), (EVERYTHING, EMPTY_WINDOW), 4.0)
    assert short == (6, 6, 6, 6, NO_RANKS, SKIPPED, NO_EFFECTS)
    counted = tally(asked, Losses(base, full, np.full(6, 2)), (EVERYTHING, EVERYTHING), 4.0)
    assert conclude(asked, merged(asked, [counted], 4.0)).beta_max == 0.5


def test_a_bracket_that_missed_is_told():
    """The first rows are not like the others: no answer, rather than a wrong one."""
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, size=8_000)
    full = np.where(np.arange(8_000) < 4_000, base / 2, base * 1.1)
    asked = question(8_000)
    first = everywhere(asked, Losses(base[:4_000], full[:4_000], None), 0.5)
    windows = first.delta.window, first.rho.window
    second = tally(asked, Losses(base[4_000:], full[4_000:], None), windows, 0.5)
    assert conclude(asked, merged(asked, [first, second], 0.5)) is None
    again = [
        everywhere(asked, Losses(base[rows], full[rows], None), 1e3)
        for rows in (slice(4_000), slice(4_000, None))
    ]
    answer = conclude(asked, merged(asked, again, 1e3))
    assert_same(answer, by_sorting(asked, base, full))


def test_a_missed_beta_max_is_told_too():
    """delta is found, the c-th largest rho is outside of its bracket."""
    base, full = np.ones(100), np.linspace(0, 0.9, 100)
    asked = question(100)
    windows = EVERYTHING, Window(0.95, 1.0)
    seen = merged(asked, [tally(asked, Losses(base, full, None), windows, 4.0)], 4.0)
    assert conclude(asked, seen) is None


def test_rows_in_some_order_get_more_room():
    """Tiles that differ by more than chance bracket as much wider as they differ."""
    asked = question(200_000)

    def half(n_positive):
        # Evenly spread losses, so that a bracket is as wide as its share of the rows.
        full = np.linspace(0, 2, 1_000) + 1 - n_positive / 500
        return everywhere(asked, Losses(np.ones(1_000), full, None), WIDE)

    def width(n_se, *counts):
        window = merged(asked, [half(count) for count in counts], n_se).delta.window
        return window.high - window.low

    alike = width(1.0, 500, 500)
    assert width(1.0, 490, 510) == pytest.approx(alike, rel=0.1)
    # 400 and 600 of 1,000 differ by 9 standard errors; the wanted ranks themselves lie apart, too.
    assert 6 * alike < width(1.0, 400, 600) < 9 * alike
    assert 2 * alike < width(3.0, 500, 500) < 3 * alike
    all_rows = question(2_000)
    assert merged(all_rows, [half(400), half(600)], 1.0).delta.window == EVERYTHING


@pytest.mark.parametrize(
    ("tiles", "expected"),
    [
        ([(40, 100), (60, 100)], 8.0),
        ([(10, 100), (30, 100), (0, 0)], 12.5),
        ([(10, 100), (50, 100), (60, 200)], 100 * (0.04 + 0.04) / 2 / 0.21),
        ([(50, 100), (50, 100)], 1.0),
        ([(30, 100)], 1.0),
        ([(0, 100), (0, 50)], 1.0),
        ([(100, 100), (50, 50)], 1.0),
        ([(0, 0), (0, 0)], 1.0),
    ],
)
def test_how_much_more_tiles_differ_than_random_rows(tiles, expected):
    """Pearson's statistic over its degrees of freedom, at least 1."""
    seen = [Tally(n, k, k, n, NO_RANKS, NO_RANKS, NO_EFFECTS) for k, n in tiles]
    assert _overdispersion(seen) == pytest.approx(expected)


def test_too_few_rows_for_the_level():
    """n = 3 cannot be significant: no bounds, no beta_max, and no rank of rho is wanted."""
    asked = question(3)
    assert asked.wanted == ([2, 2], [])
    seen = everywhere(asked, Losses(np.ones(3), np.zeros(3), None), 4.0)
    assert seen.rho is NO_RANKS
    answer = conclude(asked, merged(asked, [seen], 4.0))
    assert (answer.ci_low, answer.ci_high, answer.ci_lower) == (-math.inf, math.inf, -math.inf)
    assert (answer.n_positive, answer.statistic) == (3, 1.0)
    assert math.isnan(answer.beta_max)


def test_ranks_of_a_question():
    """n = 10: the interval [d_(2), d_(9)], the bound d_(2), both middle ranks, the 9th largest rho."""
    asked = question(10)
    assert asked.wanted == ([2, 9, 2, 5, 6], [2])


def test_a_tile_without_rows_says_nothing():
    """A part of the rows may miss a tile."""
    asked = question(10)
    base = full = np.empty(0)
    empty = everywhere(asked, Losses(base, full, None), 4.0)
    assert empty[:4] == (0, 0, 0, 0)
    some = everywhere(asked, Losses(np.ones(10), np.linspace(0, 2, 10), None), 4.0)
    alone = conclude(asked, merged(asked, [some], 4.0))
    assert conclude(asked, merged(asked, [empty, some], 4.0)) == alone


@given(PAIRS, st.lists(st.booleans(), min_size=50, max_size=50), CUTS, BETAS, st.booleans())
def test_dropped_ties_leave_the_test_of_the_moved_rows(pairs, moves, cuts, beta, is_counted):
    """In any tiles, counted or row by row: the rows whose prediction moves, and no others."""
    base, full = np.array(pairs).T
    moved = np.array(moves[: len(pairs)])
    full = np.where(moved, full, base)
    times = np.full(len(pairs), 2) if is_counted else None
    asked = question(len(pairs) * (2 if is_counted else 1), beta, ties="drop")
    seen, windows = [], (EVERYTHING, EVERYTHING)
    for places in np.split(np.arange(len(pairs)), sorted(cut % len(pairs) for cut in cuts)):
        counts = None if times is None else times[places]
        losses = Losses(base[places], full[places], counts, moved[places])
        seen.append(tally(asked, losses, windows, WIDE))
        seen = [merged(asked, seen, WIDE)]
        windows = seen[0].delta.window, seen[0].rho.window
    answer = conclude(asked, seen[0])
    assert answer.effects.share_moved == moved.mean()
    if not moved.any():
        assert (answer.n, answer.n_positive) == (0, 0)
        assert asked.statistic.p_values([answer]) == [1.0]
        return
    if is_counted:
        base, full, moved = (np.repeat(values, 2) for values in (base, full, moved))
    expected = by_sorting(asked, base[moved], full[moved])
    assert_same(replace(answer, effects=expected.effects), expected)


@given(PAIRS)
def test_a_row_is_better_however_small_the_gain(pairs):
    """n_better counts full < base, whatever beta; n_positive asks for more than beta."""
    base, full = np.array(pairs).T
    assume(len(pairs) > 1)
    seen = everywhere(question(len(pairs), 0.5), Losses(base, full, None), 4.0)
    assert seen.n_better == sum(f < b for b, f in pairs)
    assert seen.n_positive <= seen.n_better
