"""The permutation test of the library against the slow one, on random problems.

The model is a table: the only column that is not 0 names a row of it. So any predictions can be
asked for, and a test of column j sees the predictions ``tables[j]``. The re-matchings are those
that the library draws; what it makes of them is computed again, by loops over full tables of losses.
"""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import permutation as slow
from scipy import stats
from tiles import set_tiles

import sfit
from sfit import _permutations
from sfit._permutations import Rematchings

B = 29
SEED = 5
ALPHA = 0.05


class Table:
    """A model that looks up its predictions."""

    def __init__(self, tables, base):
        self.tables, self.base = tables, base

    def __call__(self, X):
        answers = []
        for row in np.asarray(X):
            shown = np.flatnonzero(row)
            answers.append(
                self.tables[shown[0]][int(row[shown[0]]) - 1] if len(shown) else self.base
            )
        return np.array(answers)


def answer(tables, base, y, *, loss, statistic, tile=None, free=None, block=None, by=None):
    """The library's tests of every table, the rows cut into tiles of this many rows."""
    X = np.repeat(np.arange(1.0, len(y) + 1)[:, None], len(tables), axis=1)
    test = sfit.PermutationTest(n_permutations=B, statistic=statistic)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if tile is not None:
            set_tiles(patch, tile)
        if free is not None:
            patch.setattr("sfit._permutation_test.FREE_ROWS", free)
            patch.setattr(_permutations, "BLOCK_ROWS", block)
        return sfit.feature_significance(
            Table(tables, base),
            X,
            y,
            test=test,
            loss=loss,
            reference=0.0,
            random_state=SEED,
            fast=False,
            alpha=ALPHA,
            by=by,
        )


def cut(n, tile):
    """Where tiles start and stop."""
    edges = [*range(0, n, tile or n), n]
    return list(pairwise(edges))


def arrangements(n, tile, free=True, block=None):
    """Each re-matching as one arrangement per tile; the first is the identity."""
    of_tile = []
    for number, (start, stop) in enumerate(cut(n, tile)):
        with pytest.MonkeyPatch.context() as patch:
            if block is not None:
                patch.setattr(_permutations, "BLOCK_ROWS", block)
            drawn = Rematchings(stop - start, B + 1, free, (SEED, number, 0))
            met = np.concatenate(list(drawn.outcomes()))
        # The library says which outcome a prediction meets, the slow test the other way round.
        of_tile.append([np.argsort(one).tolist() for one in met])
    return list(zip(*of_tile, strict=True))


def listed(values):
    """Values, or rows of values, that can be counted."""
    return [tuple(row) if np.ndim(row) else row for row in np.asarray(values).tolist()]


def expected(y, g, n, tile, ways, *, loss, statistic, free=True):
    """p, z, rise and the half width of its interval, by the slow test."""
    pieces = [(y[start:stop], g[start:stop]) for start, stop in cut(n, tile)]
    matrices = [slow.loss_matrix(loss, *piece) for piece in pieces]
    if statistic == "auto":
        scores = (
            slow.regression_scores if loss.endswith("_error") or loss == "poisson" else None
        ) or slow.classification_scores
        scored = [scores(*piece) for piece in pieces]
        observed, *copies = [-slow.auto(scored, way)[0] for way in ways]
        tolerance = 1e-10
    else:
        observed, *copies = [slow.total_of(matrices, way) for way in ways]
        tolerance = 1e-11 * max(1.0, abs(observed))
    smallest = slow.smallest_p([(listed(a), listed(b)) for a, b in pieces]) if free else 0.0
    rise, half = slow.rise_interval([slow.tile_of(matrix) for matrix in matrices], ALPHA)
    assert rise == pytest.approx(slow.rise(matrices))
    return (
        max(slow.p_value(observed, copies, tolerance), smallest),
        slow.z_score(observed, copies),
        rise,
        half,
    )


def agrees(test, numbers):
    """Whether a test of the library has these numbers."""
    p, z, rise, half = numbers
    assert test.p_value == pytest.approx(p, rel=1e-12)
    assert test.p_value >= test.p_resolution
    if (test.rise, test.ci_low, test.ci_high) == (0, 0, 0):
        # Nothing varies: the library gives no interval.
        assert np.isnan(test.z)
        assert np.isnan(z)
        assert rise == pytest.approx(0.0, abs=1e-12)
        return
    assert test.rise == pytest.approx(rise, rel=1e-9, abs=1e-10)
    if not np.isnan(z):
        assert test.z == pytest.approx(z, rel=1e-7, abs=1e-7)
    # Tiles are compared by sums of squares, of which a difference keeps half of the digits.
    near = max(1e-9, 1e-7 * abs(rise))
    assert test.ci_low == pytest.approx(rise - half, rel=1e-9, abs=near)
    assert test.ci_high == pytest.approx(rise + half, rel=1e-9, abs=near)


# --------------------------------------------------------------------------------- golden numbers

GOLDEN = {  # p, rise and its standard error: STATISTICS.md
    "absolute_error": (72 / 5040, 2.190476, 0.604687),
    "squared_error": (44 / 5040, 13.619048, 4.829344),
}


@pytest.mark.parametrize("loss", GOLDEN)
def test_golden_numbers(loss, monkeypatch):
    """The rise and its error to the last digit, p within four standard errors."""
    monkeypatch.setattr("test_permutation_reference.B", 19_999)
    y, g = np.array([1.0, 2, 4, 7, 3, 9, 5]), np.array([2.0, 1, 5, 6, 3, 8, 8])
    [one] = answer([g], 0.0, y, loss=loss, statistic="loss").tests
    p, rise, se = GOLDEN[loss]
    assert one.p_value == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 19_999))
    assert round(one.rise, 6) == rise
    assert round((one.ci_high - one.rise) / stats.t.isf(ALPHA / 2, 6), 6) == se


def test_golden_numbers_of_the_log_loss(monkeypatch):
    """Rise .2, p = 2880/40320."""
    monkeypatch.setattr("test_permutation_reference.B", 19_999)
    y = np.array([0, 0, 1, 0, 1, 1, 0, 0])
    q = 1 / (1 + np.exp(-np.array([-1, -0.5, 0.2, 0.1, 0.8, -0.2, -1, 0])))
    both = np.column_stack([1 - q, q])
    [one] = answer([both], [0.5, 0.5], y, loss="log_loss", statistic="loss").tests
    p = 2880 / 40320
    assert one.p_value == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 19_999))
    assert one.rise == pytest.approx(0.2, abs=1e-12)


# ------------------------------------------------------------------------------------ regression

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
POSITIVE = st.integers(1, 12).map(lambda k: k / 4)
many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@st.composite
def regressions(draw, values=QUARTERS):
    """Outcomes and the predictions of two features; ties are common."""
    n = draw(st.integers(4, 18))
    y = draw(st.lists(values, min_size=n, max_size=n))
    tables = draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=2, max_size=2))
    return np.array(y), np.array(tables)


@many
@given(
    problem=regressions(),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
)
def test_regression_in_memory(problem, loss, statistic):
    """All rows are permuted freely."""
    y, tables = problem
    result = answer(tables, 50.0, y, loss=loss, statistic=statistic)
    ways = arrangements(len(y), None)
    for one, g in zip(result.tests, tables, strict=True):
        agrees(one, expected(y, g, len(y), None, ways, loss=loss, statistic=statistic))


@many
@given(problem=regressions(POSITIVE), statistic=st.sampled_from(["auto", "loss"]))
def test_poisson_in_memory(problem, statistic):
    """Bilinear on the scale of the logarithm."""
    y, tables = problem
    result = answer(tables, 50.0, y, loss="poisson", statistic=statistic)
    ways = arrangements(len(y), None)
    for one, g in zip(result.tests, tables, strict=True):
        numbers = expected(y, g, len(y), None, ways, loss="poisson", statistic=statistic)
        agrees(one, numbers)


@many
@given(
    problem=regressions(),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
    tile=st.integers(2, 9),
)
def test_regression_in_tiles(problem, loss, statistic, tile):
    """Sums, variances and the rise are added up over tiles; the maximum comes last."""
    y, tables = problem
    if len(y) % tile == 1:
        tile += 1  # a tile of one row has no other rows: see below
    if len(y) % tile == 1:
        return
    result = answer(tables, 50.0, y, loss=loss, statistic=statistic, tile=tile)
    ways = arrangements(len(y), tile)
    for one, g in zip(result.tests, tables, strict=True):
        agrees(one, expected(y, g, len(y), tile, ways, loss=loss, statistic=statistic))


@many
@given(
    problem=regressions(),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
    tile=st.sampled_from([None, 8]),
)
def test_regression_by_shifts(problem, loss, statistic, tile):
    """Rows are shuffled, cut into blocks and shifted: by Fourier transforms or directly."""
    y, tables = problem
    if tile is not None and len(y) % tile == 1:
        y, tables = y[:-1], tables[:, :-1]
    result = answer(tables, 50.0, y, loss=loss, statistic=statistic, tile=tile, free=3, block=4)
    ways = arrangements(len(y), tile, free=False, block=4)
    for one, g in zip(result.tests, tables, strict=True):
        agrees(one, expected(y, g, len(y), tile, ways, loss=loss, statistic=statistic, free=False))


# -------------------------------------------------------------------------------- classification


@st.composite
def classifications(draw):
    """Classes and the probabilities of two features; certainty occurs."""
    n, n_classes = draw(st.integers(5, 16)), draw(st.integers(2, 4))
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    y[:n_classes] = range(n_classes)  # the library counts the classes that occur
    weights = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes).filter(any)
    rows = st.lists(weights, min_size=n, max_size=n)
    tables = np.array(draw(st.lists(rows, min_size=2, max_size=2)), dtype=float)
    return np.array(y), tables / tables.sum(axis=2, keepdims=True)


@many
@given(
    problem=classifications(),
    loss=st.sampled_from(["log_loss", "brier", "zero_one"]),
    statistic=st.sampled_from(["auto", "loss"]),
    shifted=st.booleans(),
    tile=st.sampled_from([None, 6]),
)
def test_classification(problem, loss, statistic, shifted, tile):
    """Two and more classes, freely and by shifts, in one tile and in several."""
    y, tables = problem
    n = len(y)
    if tile is not None and n % tile == 1:
        tile = None
    base = np.full(tables.shape[2], 1 / tables.shape[2]) + np.eye(tables.shape[2])[0] / 64
    base /= base.sum()
    cutting = {"free": 3, "block": 3} if shifted else {}
    result = answer(tables, base, y, loss=loss, statistic=statistic, tile=tile, **cutting)
    ways = arrangements(n, tile, free=not shifted, block=3 if shifted else None)
    for one, g in zip(result.tests, tables, strict=True):
        numbers = expected(y, g, n, tile, ways, loss=loss, statistic=statistic, free=not shifted)
        agrees(one, numbers)


def agrees_by_class(y, tables, base, loss, statistic, tile=None):
    """Whether the tests of every class are those of the slow test."""
    results = answer(tables, base, y, loss=loss, statistic=statistic, by="class", tile=tile)
    ways = arrangements(len(y), tile)
    for k, result in results.items():
        for one, g in zip(result.tests, tables, strict=True):
            pieces = [(y[start:stop], g[start:stop]) for start, stop in cut(len(y), tile)]
            matrices = [slow.loss_matrix(loss, *piece) for piece in pieces]
            if statistic == "loss":
                observed, *copies = [
                    sum(
                        slow.class_total(matrix, labels, k, arrangement)
                        for matrix, (labels, _), arrangement in zip(
                            matrices, pieces, way, strict=True
                        )
                    )
                    for way in ways
                ]
                tolerance = 1e-11 * max(1.0, abs(observed))
            else:
                scores = [slow.class_scores(*piece, k) for piece in pieces]
                observed, *copies = [-slow.auto(scores, way)[0] for way in ways]
                tolerance = 1e-10
            smallest = slow.smallest_p([(listed(a == k), listed(b)) for a, b in pieces])
            p = max(slow.p_value(observed, copies, tolerance), smallest)
            assert one.p_value == pytest.approx(p, rel=1e-12)
            with_class = [
                (matrix, labels)
                for matrix, (labels, _) in zip(matrices, pieces, strict=True)
                if k in labels
            ]
            tiles = [slow.class_tile_of(matrix, labels, k) for matrix, labels in with_class]
            rises = [slow.class_rise(matrix, labels, k) for matrix, labels in with_class]
            rise, half = slow.rise_interval(tiles, ALPHA)
            weights = [n for n, *_ in tiles]
            assert rise == pytest.approx(np.average(rises, weights=weights), abs=1e-12)
            assert one.rise == pytest.approx(rise, rel=1e-9, abs=1e-10)
            if (one.ci_low, one.ci_high) != (0, 0):
                near = max(1e-9, 1e-7 * abs(rise))
                assert one.ci_low == pytest.approx(rise - half, rel=1e-9, abs=near)
                assert one.ci_high == pytest.approx(rise + half, rel=1e-9, abs=near)


@many
@given(
    problem=classifications(),
    loss=st.sampled_from(["log_loss", "brier", "zero_one"]),
    statistic=st.sampled_from(["auto", "loss"]),
    plain=st.booleans(),
    tile=st.sampled_from([None, 6]),
)
def test_by_class(problem, loss, statistic, plain, tile):
    """All rows are permuted, those of the class are counted; the base may be where a class lies."""
    y, tables = problem
    n_classes = tables.shape[2]
    base = np.full(n_classes, 1 / n_classes) if plain else tables[0, 0]
    agrees_by_class(y, tables, base, loss, statistic, None if len(y) % 6 == 1 else tile)


# -------------------------------------------- where the library and the slow test once disagreed


def test_a_tile_without_spread_counts_in_the_rise():
    """Its rows have a rise of 0: over all rows the mean loss rises by 1, not by 2."""
    y, g = np.array([1.0, 2, 3, 4]), np.array([1.0, 1, 3, 5])
    [one] = answer([g], 50.0, y, loss="squared_error", statistic="loss", tile=2).tests
    assert (
        slow.rise([slow.loss_matrix("squared_error", y[s], g[s]) for s in (slice(2), slice(2, 4))])
        == 1
    )
    assert one.rise == 1


def test_a_class_at_the_base_can_still_be_significant():
    """No row of class 0 moves, but the predictions of the others would fit it worse."""
    y = np.array([0] * 6 + [1] * 6)
    g = np.column_stack([1 - 0.25 - 0.5 * y, 0.25 + 0.5 * y])
    agrees_by_class(y, g[None], g[0], "log_loss", "auto")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_brier_score_of_a_class(n_classes):
    """T_k is the sum of the losses of the rows of class k, for every class."""
    rng = np.random.default_rng(0)
    y = np.arange(18) % n_classes
    g = rng.dirichlet(np.ones(n_classes), 18) + 0.1 * np.eye(n_classes)[y]
    g /= g.sum(axis=1, keepdims=True)
    agrees_by_class(y, g[None], np.full(n_classes, 1 / n_classes), "brier", "loss")


# ---------------------------------------------------------------------------- several outputs, callables


@many
@given(problem=regressions(), tile=st.sampled_from([None, 7]), callable_loss=st.booleans())
def test_several_outputs_and_callable_losses(problem, tile, callable_loss):
    """The statistic is the loss; with fewer than 65 rows the sampled rise is over all shifts."""
    y, tables = problem
    n = len(y)
    if tile is not None and n % tile == 1:
        tile = None
    if callable_loss:
        loss, outcomes, predictions = (lambda a, b: np.abs(a - b) ** 1.5), y, tables
    else:
        loss, outcomes = "absolute_error", np.column_stack([y, y[::-1]])
        predictions = np.stack([tables, tables[::-1]], axis=2)
    base = 50.0 if callable_loss else np.array([50.0, 50.0])
    result = answer(predictions, base, outcomes, loss=loss, statistic="auto", tile=tile)
    ways = arrangements(n, tile)
    for one, g in zip(result.tests, predictions, strict=True):
        agrees(one, expected(outcomes, g, n, tile, ways, loss=loss, statistic="loss"))


# ------------------------------------------------------------------------------------ re-matchings


@pytest.mark.parametrize("free", [True, False])
def test_the_library_draws_permutations(free, monkeypatch):
    """Each re-matching is a permutation, the first the identity; shifts stay within blocks."""
    monkeypatch.setattr(_permutations, "BLOCK_ROWS", 5)
    drawn = Rematchings(17, 300, free, (3, 0, 0))
    met = np.concatenate(list(drawn.outcomes()))
    assert met.shape == (300, 17)
    assert (met[0] == np.arange(17)).all()
    assert (np.sort(met, axis=1) == np.arange(17)).all()
    if not free:
        order = np.concatenate([drawn._shuffled[start:stop] for start, stop in drawn._blocks])
        assert sorted(order) == list(range(17))
        lengths = [stop - start for start, stop in drawn._blocks]
        assert lengths == [5, 5, 7]
        place = np.empty(17, dtype=int)
        place[order] = np.arange(17)
        for one in met:
            moves = place[one[order]] - np.arange(17)
            for start, stop in drawn._blocks:
                assert len(set(moves[start:stop] % (stop - start))) == 1
                assert set(one[order[start:stop]]) == set(order[start:stop])


def test_free_permutations_are_uniform():
    """Every row meets every outcome equally often: chi-squared over 20,000 draws."""
    met = np.concatenate(list(Rematchings(6, 20_000, True, (1, 2, 3)).outcomes()))[1:]
    codes = met @ 6 ** np.arange(6)
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 720
    assert stats.chisquare(counts).pvalue > 1e-3
