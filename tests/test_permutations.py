"""Re-matchings are what they claim to be, and sums over them are those of a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfit import _permutations
from sfit._bilinear import PRODUCTS, products_of
from sfit._losses import LOSSES, Loss, named_loss
from sfit._permutations import ProductSums, Rematchings
from sfit._rise import cross_losses, is_sampled, rise

SIZES = st.integers(1, 60)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of at least 8 rows and batches of 16, so few rows make several of each."""
    monkeypatch.setattr(_permutations, "BLOCK_ROWS", 8)
    monkeypatch.setattr(_permutations, "DRAWN_TOGETHER", 16)


def drawn(rematchings):
    return np.concatenate(list(rematchings.outcomes()))


@given(m=SIZES, size=st.integers(1, 50), free=st.booleans(), seed=st.integers(0, 10**9))
def test_every_row_is_met_once_and_the_first_matching_is_the_observed_one(m, size, free, seed):
    rematchings = Rematchings(m, size, free, (seed, 3))
    met = drawn(rematchings)
    assert met.shape == (size, m)
    assert (met[0] == np.arange(m)).all()
    assert (np.sort(met, axis=1) == np.arange(m)).all()
    np.testing.assert_array_equal(met, drawn(Rematchings(m, size, free, (seed, 3))))


def test_more_rematchings_begin_with_the_same():
    """How many are drawn does not change the first of them."""
    for free in (True, False):
        few, many = (drawn(Rematchings(40, size, free, (1,))) for size in (20, 70))
        np.testing.assert_array_equal(few, many[:20])


def test_tiles_and_parts_draw_their_own():
    one, other = (drawn(Rematchings(40, 30, True, (1, tile))) for tile in (0, 1))
    assert (one != other).any()


def test_shifts_form_a_group():
    """Two shifts after each other are a shift of the same blocks, and so is the way back."""
    rematchings = Rematchings(21, 40, False, (5,))
    met = drawn(rematchings)
    blocks = [rematchings._shuffled[start:stop] for start, stop in rematchings._blocks]
    assert sorted(map(len, blocks)) == [8, 13]

    def shifts_of(outcomes):
        """How far each block is shifted; None if it is no shift."""
        found = []
        for rows in blocks:
            place = {row: position for position, row in enumerate(rows.tolist())}
            moved = {
                (position - place[outcomes[row]]) % len(rows)
                for position, row in enumerate(rows.tolist())
                if outcomes[row] in place
            }
            found.append(moved.pop() if len(moved) == 1 else None)
        return found

    for one, other in zip(met[1:20], met[20:39], strict=True):
        assert None not in shifts_of(one)
        together = [
            (a + b) % len(rows)
            for a, b, rows in zip(shifts_of(one), shifts_of(other), blocks, strict=True)
        ]
        assert shifts_of(one[other]) == together
        assert None not in shifts_of(np.argsort(one))


def test_every_permutation_is_equally_likely():
    """All 24 of 4 rows, 9,600 draws: chi-squared with 23 degrees of freedom below its 1e-6 tail."""
    met = drawn(Rematchings(4, 9_601, True, (0,)))[1:]
    _, counts = np.unique(met, axis=0, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 400) ** 2 / 400).sum() < 78


def test_every_shift_is_equally_likely():
    """16 shifts of one block in 9,600 draws: chi-squared with 15 degrees below its 1e-6 tail."""
    rematchings = Rematchings(15, 9_601, False, (0,))
    places = [rematchings._places(first) for first in range(0, 9_601, 16)]
    counts = np.bincount(np.concatenate(places)[1:, 0], minlength=15)
    assert ((counts - 640) ** 2 / 640).sum() < 62


@given(
    m=st.integers(2, 60),
    size=st.integers(1, 40),
    free=st.booleans(),
    d=st.integers(1, 3),
    n_terms=st.integers(0, 15),
    seed=st.integers(0, 10**9),
)
def test_sums_of_products_are_those_of_a_loop(m, size, free, d, n_terms, seed):
    rng = np.random.default_rng(seed)
    rematchings = Rematchings(m, size, free, (seed,))
    outcomes = [rng.normal(size=(m, d)) for _ in range(2)]
    shared = rng.normal(size=(m, d))
    terms = [[shared, shared], *([rng.normal(size=(m, d)) for _ in "ab"] for _ in range(n_terms))]
    sums = ProductSums(rematchings, outcomes).of(terms)
    expected = [
        [
            [(u[met] * v).sum() for met in drawn(rematchings)]
            for u, v in zip(outcomes, term, strict=True)
        ]
        for term in terms
    ]
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-11)


def test_the_bits_of_a_sum_do_not_depend_on_the_other_terms():
    rng = np.random.default_rng(0)
    rematchings = Rematchings(50, 30, True, (0,))
    outcomes = [rng.normal(size=(50, 2))]
    terms = [[rng.normal(size=(50, 2))] for _ in range(16)]
    together = ProductSums(rematchings, outcomes).of(terms)
    for number in (0, 7, 15):
        alone = ProductSums(rematchings, outcomes).of(terms[number : number + 1])
        np.testing.assert_array_equal(alone[0], together[number])


# --- losses as products, and the rise ---------------------------------------------------


def rows_for(name, rng, n, outputs=1):
    loss = named_loss(name)
    if loss.task == "classification":
        y = rng.integers(0, 3, size=n)
        g = rng.dirichlet(np.ones(3), size=n)
        return y, rng.normal(size=(n, 3)) if loss.output == "scores" else g
    shape = n if outputs == 1 else (n, outputs)
    if loss.positive:
        y = rng.poisson(3, size=shape) + 0.5 * (loss.target == "positive")
        return y.astype(float), rng.uniform(0.5, 5, size=shape)
    return rng.normal(size=shape), rng.normal(size=shape)


def matrix(loss, y, g):
    """L_ab: the loss of outcome a under prediction b."""
    n = len(y)
    return np.array(
        [[loss.per_row(y[a : a + 1], g[b : b + 1])[0] for b in range(n)] for a in range(n)]
    )


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("name", [*PRODUCTS, "tweedie:1.3"])
def test_a_loss_is_its_products(name, outputs):
    rng = np.random.default_rng(1)
    y, g = rows_for(name, rng, 12, outputs)
    d = 1 if g.ndim == 1 else g.shape[1]
    products = products_of(named_loss(name))
    (a, u), (b, v) = products.outcome(y, d), products.prediction(g)
    np.testing.assert_allclose(a[:, None] + b - u @ v.T, matrix(named_loss(name), y, g), atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 40])
@pytest.mark.parametrize(
    "name",
    [*PRODUCTS, "tweedie:1.3", "absolute_error", "pinball:0.8", "huber:0.5", "crps", "callable"],
)
@pytest.mark.parametrize("of_some", [False, True])
def test_means_over_other_rows_are_those_of_the_matrix(name, n, of_some):
    """In closed form, by sorting, or over all shifts, where rows are few."""
    rng = np.random.default_rng(n)
    callable_ = Loss("callable", None, LOSSES["absolute_error"].per_row)
    loss = callable_ if name == "callable" else named_loss(name)
    y, g = rows_for("absolute_error" if name == "callable" else name, rng, n)
    if name in ("absolute_error", "pinball:0.8"):
        y[1], g[1] = y[0], y[0]  # ties
    of = rng.random(n) < 0.6 if of_some else None
    if of is not None:
        of[0] = True
    L = matrix(loss, y, g)
    own, of_outcome, of_prediction = cross_losses(loss, y, g, rng, of)
    np.testing.assert_allclose(own, np.diag(L), atol=1e-12)
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(of_outcome, [L[a, off[a]].mean() for a in range(n)], atol=1e-12)
    inside = np.ones(n, dtype=bool) if of is None else of
    expected = [
        L[inside & off[:, b], b].mean() if (inside & off[:, b]).any() else 0.0 for b in range(n)
    ]
    if name in ("absolute_error", "pinball:0.8") and of is not None:
        return  # classes have no absolute error: columns are over all rows
    np.testing.assert_allclose(of_prediction, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "expected", "se"),
    [("absolute_error", 2.190476, 0.604687), ("squared_error", 13.619048, 4.829344)],
)
def test_golden_rise(name, expected, se):
    """STATISTICS.md, part 2."""
    y, g = np.array([1, 2, 4, 7, 3, 9, 5.0]), np.array([2, 1, 5, 6, 3, 8, 8.0])
    for loss in (LOSSES[name], Loss("callable", None, LOSSES[name].per_row)):
        found = rise(loss, y, g, np.random.default_rng(0))
        assert found.total / found.n == pytest.approx(expected, abs=5e-7)
        assert np.sqrt(found.spread) / found.n == pytest.approx(se, abs=5e-7)


def test_golden_rise_of_the_log_loss():
    """STATISTICS.md, part 2."""
    logits = np.array([-1, -0.5, 0.2, 0.1, 0.8, -0.2, -1, 0])
    p = 1 / (1 + np.exp(-logits))
    y = np.array([0, 0, 1, 0, 1, 1, 0, 0])
    found = rise(LOSSES["log_loss"], y, np.c_[1 - p, p], np.random.default_rng(0))
    assert found.total / found.n == pytest.approx(0.2, abs=1e-12)


def test_digits_survive_an_offset():
    """Outcomes near 1e9 have the rise of outcomes near 0."""
    rng = np.random.default_rng(0)
    y, g = rng.normal(size=(2, 500))
    for name in ("absolute_error", "squared_error", "pinball:0.9"):
        near, far = (rise(named_loss(name), y + c, g + c, rng) for c in (0.0, 1e9))
        assert far.total == pytest.approx(near.total, rel=1e-4)


def test_which_losses_are_sampled():
    closed = {*PRODUCTS, "absolute_error"}
    assert {name for name, loss in LOSSES.items() if not is_sampled(loss, 1)} == closed
    assert is_sampled(LOSSES["absolute_error"], 2)
    assert not is_sampled(named_loss("tweedie:1.5"), 2)
    assert not is_sampled(named_loss("pinball:0.9"), 1)
    assert is_sampled(named_loss("pinball:0.9"), 2)
    assert all(is_sampled(named_loss(name), 1) for name in ("huber:1", "crps", "crps:0.1,0.9"))
    assert is_sampled(Loss("squared_error", None, LOSSES["squared_error"].per_row), 1)


def test_a_sampled_rise_is_near_the_whole_one():
    """64 of 999 shifts: within 4 standard errors of their mean."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=1_000)
    g = 0.5 * y + rng.normal(size=1_000)
    loss = Loss("callable", None, LOSSES["squared_error"].per_row)
    whole = rise(LOSSES["squared_error"], y, g, rng)
    some = rise(loss, y, g, rng)
    shifts = [float(np.square(y - np.roll(g, s)).mean()) for s in range(1, 1_000)]
    error = np.std(shifts) / 8
    assert abs(some.total / some.n - whole.total / whole.n) < 4 * error
