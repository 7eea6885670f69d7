"""beta by model randomisation: the exact step function, its smallest sufficient point, and the split."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor

import sfit
from sfit._beta import smallest_sufficient
from sfit.exceptions import ArgumentError, BetaError, ModelError


def rows(n=600, seed=0):
    """A linear process of four features, two of them noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 1.0 + 2 * X[:, 0] + X[:, 1] + rng.normal(size=n)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=300),
    st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.5]),
)
def test_the_smallest_sufficient_beta_is_sufficient_and_smallest(thresholds, alpha):
    """Fewer than alpha of the tests reject there, and at no smaller threshold or zero."""
    thresholds = np.asarray(thresholds)
    beta = smallest_sufficient(thresholds, alpha)
    exact = Fraction(repr(alpha))

    def sufficient(b):
        return Fraction(int((thresholds > b).sum()), len(thresholds)) < exact

    assert sufficient(beta)
    assert not any(sufficient(b) for b in (0.0, *thresholds) if b < beta)


def test_seven_of_140_are_not_below_five_percent():
    """alpha is taken as it is written: 0.05 as a double is a little more than one in twenty."""
    thresholds = np.r_[np.full(7, 0.2), np.zeros(133)]
    assert smallest_sufficient(thresholds, 0.05) == 0.2
    assert smallest_sufficient(np.r_[np.full(6, 0.2), np.zeros(134)], 0.05) == 0.0


def rejected_at(view, X, y, grid):
    """Share of the features that Algorithm 1 rejects at each beta, by hand."""
    reference = X.mean(axis=0)
    base = np.abs(y - view.predict(reference[None])[0])
    shares = np.zeros(len(grid))
    for j in range(X.shape[1]):
        masked = np.tile(reference, (len(X), 1))
        masked[:, j] = X[:, j]
        full = np.abs(y - view.predict(masked))
        positive = ((base - full) / base > grid[:, None]).sum(axis=1)
        shares += binom.sf(positive - 1, len(X), 0.5) < 0.05
    return shares / X.shape[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["linear", "trees", "network"])
def test_brute_force_over_a_fine_grid(kind, seed):
    """Testing every random model at betas in steps of 0.1 % gives the same rates and choice."""
    X, y = rows(seed=seed)
    model = {
        "linear": LinearRegression(),
        "trees": HistGradientBoostingRegressor(max_iter=5),
        "network": MLPRegressor(hidden_layer_sizes=(5,), max_iter=5, random_state=0),
    }[kind]
    model.fit(X, y)
    choice = sfit.choose_beta(model, X, y, n_models=8, max_beta=1.0, random_state=seed)
    view = sfit.models.as_view(model)
    children = np.random.SeedSequence(seed).spawn(8)
    drawn = [view.randomize(np.random.default_rng(child)) for child in children]
    grid = np.arange(0, 1001) / 1000
    rates = np.mean([rejected_at(one, X, y, grid) for one in drawn], axis=0)
    np.testing.assert_array_equal(rates, [choice.rate(beta) for beta in grid])
    sufficient = grid[[choice.rate(beta) < 0.05 for beta in grid]].min()
    assert sufficient - 0.001 <= choice.beta <= sufficient
    on_grid = sfit.choose_beta(model, X, y, n_models=8, max_beta=1.0, grid=grid, random_state=seed)
    assert on_grid.beta == sufficient


def test_the_rate_never_grows_with_beta():
    """A step function that falls; the curve holds its steps."""
    X, y = rows()
    choice = sfit.choose_beta(LinearRegression().fit(X, y), X, y, max_beta=1.0, random_state=0)
    rates = choice.curve["rate"].to_numpy()
    assert (np.diff(rates) <= 0).all()
    assert choice.curve["beta"].is_monotonic_increasing
    assert rates[-1] == 0
    assert choice.rate(choice.beta) < choice.alpha
    assert choice.beta == 0 or choice.rate(np.nextafter(choice.beta, 0)) >= choice.alpha


def test_the_choice_is_frozen_and_repeatable():
    """The same seed gives the same thresholds; another one others; the seed is recorded."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    first, again = (sfit.choose_beta(model, X, y, max_beta=1.0, random_state=3) for _ in range(2))
    assert first == again
    other = sfit.choose_beta(model, X, y, max_beta=1.0, random_state=4)
    assert other.thresholds != first.thresholds
    fresh = sfit.choose_beta(model, X, y, max_beta=1.0)
    assert sfit.choose_beta(model, X, y, max_beta=1.0, random_state=fresh.seed) == fresh
    assert (first.n_models, len(first.thresholds[0]), first.n_rows) == (20, 4, 600)
    with pytest.raises(FrozenInstanceError):
        first.beta = 0.5


def refits_on_shuffled(model, X, y):
    """A `random_model` that knows nothing, but has the scale of a fitted one."""
    return lambda rng: clone(model).fit(X, rng.permutation(y))


def test_random_models_of_the_users_own():
    """A refit on shuffled y, drawn with the generator that is handed over."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    shuffled = refits_on_shuffled(model, X, y)
    choice = sfit.choose_beta(model, X, y, random_model=shuffled, random_state=0)
    assert choice == sfit.choose_beta(model, X, y, random_model=shuffled, random_state=0)
    assert choice.beta < 0.1
    with pytest.raises(ModelError, match="random_model"):
        sfit.choose_beta(lambda rows: rows[:, 0], X, y)


def test_no_sufficient_beta_is_an_error_that_shows_the_curve():
    """Random models that are as good as the fitted one."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    with pytest.raises(BetaError, match=r"no beta up to max_beta=0\.1.*at 0\.01.*Raise max_beta"):
        sfit.choose_beta(model, X, y, random_model=lambda rng: model)
    with pytest.raises(BetaError, match="max_beta"):
        sfit.choose_beta(
            model, X, y, random_model=lambda rng: model, grid=[0.001, 0.01], max_beta=1.0
        )


def test_auto_splits_the_rows_and_records_the_choice():
    """Chosen on one part, tested on the other: as if done by hand."""
    X, y = rows(2_000)
    model = LogisticRegression().fit(X, y > 1)
    options = {"reference": 0.0, "random_model": refits_on_shuffled(model, X, y > 1)}
    result = sfit.feature_significance(
        model, X, y > 1, beta="auto", max_order=2, random_state=5, **options
    )
    choice = result.beta_choice
    assert (choice.seed, choice.n_rows, result.tests[0].n) == (5, 1_000, 1_000)
    assert result.settings.beta == (choice.beta, choice.beta)
    shuffled = np.random.default_rng([5, 1]).permutation(2_000)
    held_out, tested = np.sort(shuffled[:1_000]), np.sort(shuffled[1_000:])
    by_hand = sfit.choose_beta(model, X[held_out], (y > 1)[held_out], random_state=5, **options)
    assert by_hand == choice
    again = sfit.feature_significance(
        model, X[tested], (y > 1)[tested], beta=choice.beta, max_order=2, reference=0.0
    )
    pd.testing.assert_frame_equal(again.table, result.table, rtol=1e-12)
    assert sfit.SFITResult.from_json(result.to_json()).beta_choice == choice
    assert result.selected == ("x0", "x1")


def test_auto_on_validation_rows_of_the_users_own():
    """All rows are tested then."""
    X, y = rows(2_000)
    model = LinearRegression().fit(X, y)
    options = {"beta": "auto", "random_model": refits_on_shuffled(model, X, y)}
    result = sfit.feature_significance(
        model, X[:800], y[:800], validation=(X[800:], y[800:]), random_state=0, **options
    )
    assert (result.tests[0].n, result.beta_choice.n_rows) == (800, 1_200)
    third = sfit.feature_significance(
        model, X, y, validation_fraction=0.25, random_state=0, **options
    )
    assert (third.tests[0].n, third.beta_choice.n_rows) == (1_500, 500)


def test_the_model_is_as_it_was():
    """The published code overwrites its weights."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    before = model.coef_.copy(), model.predict(X)
    sfit.choose_beta(model, X, y, max_beta=1.0, random_state=0)
    np.testing.assert_array_equal(model.coef_, before[0])
    np.testing.assert_array_equal(model.predict(X), before[1])


def test_bad_grids():
    """Betas lie between 0 and 1, and there is at least one."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    for grid in ([], [1.5], [math.nan], "auto", 0.1):
        with pytest.raises(ArgumentError, match="grid"):
            sfit.choose_beta(model, X, y, grid=grid)


def test_the_plot_draws_the_curve():
    """The steps, the level and the choice; nothing is shown, and axes of the user's are used."""
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = rows()
    choice = sfit.choose_beta(LinearRegression().fit(X, y), X, y, max_beta=1.0, random_state=0)
    figure, ax = plt.subplots()
    display = choice.plot(ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    drawn = display.curve_.get_ydata()
    np.testing.assert_array_equal(drawn[:-1], choice.curve["rate"])
    assert display.level_.get_ydata()[0] == choice.alpha
    assert display.choice_.get_xdata()[0] == choice.beta
    plt.close(figure)
    own = choice.plot()
    assert own.ax_ is not ax
    plt.close(own.figure_)


def test_the_column_of_by_is_no_feature_of_a_random_model():
    """Random models are asked about the same columns as the model, whatever else the frame has."""
    X, y = rows(1_000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(part=np.resize(["u", "v"], 1_000))
    model = LinearRegression().fit(X, y)
    options = {"by": "part", "beta": "auto", "random_model": refits_on_shuffled(model, X, y)}
    result = sfit.feature_significance(model, frame, y, random_state=0, **options)
    choice = result["u"].beta_choice
    assert choice.feature_names == ("a", "b", "c", "d")
    assert {len(of_model) for of_model in choice.thresholds} == {4}
    given_rows = sfit.feature_significance(
        model, frame, y, validation=(frame, y), random_state=0, **options
    )
    assert given_rows["v"].tests[0].n == 500


def test_losses_below_zero_have_no_beta():
    """At beta = 0 they are admitted, but a beta above it would not shrink them."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    with pytest.raises(sfit.exceptions.DataError, match="below zero"):
        sfit.choose_beta(model, X, y, loss=lambda y, p: np.abs(y - p) - 5, max_beta=1.0)
