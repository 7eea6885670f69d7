"""beta by model randomisation: the exact step function, its smallest sufficient point, and the split."""

import math
import threading
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
from sklearn.tree import DecisionTreeRegressor

import sfit
from sfit._beta import smallest_sufficient
from sfit.exceptions import ArgumentError, BetaError, CheckpointError, DataError, ModelError


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
    test = sfit.SignTest(random_model=options["random_model"])
    result = sfit.feature_significance(
        model, X, y > 1, beta="auto", max_order=2, random_state=5, reference=0.0, test=test
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
    shuffled = refits_on_shuffled(model, X, y)
    options = {"beta": "auto", "random_state": 0}
    test = sfit.SignTest(validation=(X[800:], y[800:]), random_model=shuffled)
    result = sfit.feature_significance(model, X[:800], y[:800], test=test, **options)
    assert (result.tests[0].n, result.beta_choice.n_rows) == (800, 1_200)
    test = sfit.SignTest(validation_fraction=0.25, random_model=shuffled)
    third = sfit.feature_significance(model, X, y, test=test, **options)
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
    shuffled = refits_on_shuffled(model, X, y)
    options = {"by": "part", "beta": "auto", "random_state": 0}
    test = sfit.SignTest(random_model=shuffled)
    result = sfit.feature_significance(model, frame, y, test=test, **options)
    choice = result["u"].beta_choice
    assert choice.feature_names == ("a", "b", "c", "d")
    assert {len(of_model) for of_model in choice.thresholds} == {4}
    test = sfit.SignTest(random_model=shuffled, validation=(frame, y))
    given_rows = sfit.feature_significance(model, frame, y, test=test, **options)
    assert given_rows["v"].tests[0].n == 500


def test_losses_below_zero_have_no_beta():
    """At beta = 0 they are admitted, but a beta above it would not shrink them."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    with pytest.raises(sfit.exceptions.DataError, match="below zero"):
        sfit.choose_beta(model, X, y, loss=lambda y, p: np.abs(y - p) - 5, max_beta=1.0)


# ------------------------------------------------------------------------ each argument, on few rows


def weights_of(*weights):
    """A random model that is not random: it always has these weights."""
    return lambda rng: lambda rows: np.asarray(rows, dtype=float) @ np.array(weights)


def few_rows():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    return X, (X["a"] + 0.2 * rng.normal(size=40)).to_numpy()


def chosen(**changed):
    """A choice by two random models that are as good as any: all of a's tests reject."""
    X, y = few_rows()
    options = {"n_models": 2, "max_beta": 1.0, "random_model": weights_of(1.0, 0.0, 0.0)}
    options |= {"random_state": 0, "reference": 0.0} | changed
    return sfit.choose_beta(lambda rows: np.asarray(rows)[:, 0], X, y, **options)


def threshold_of(column, center=0.0, loss=np.abs, alpha=0.05):
    """The c-th largest relative improvement when a column is revealed to the model that is it."""
    X, y = few_rows()
    base, full = loss(y - center), loss(y - X[column].to_numpy())
    critical = next(c for c in range(42) if binom.sf(c - 1, 40, 0.5) < alpha)
    return float(np.sort((base - full) / base)[::-1][critical - 1])


def test_thresholds_by_hand():
    """The feature that is the model has the threshold computed here; the others have none."""
    choice = chosen()
    assert choice.thresholds == (pytest.approx((threshold_of("a"), 0, 0)),) * 2
    assert choice.beta == pytest.approx(threshold_of("a"))
    assert (choice.alpha, choice.n_rows, choice.n_models) == (0.05, 40, 2)
    assert (choice.grid, choice.seed, choice.feature_names) == (None, 0, ("a", "b", "c"))


def test_every_argument_reaches_the_test():
    """Level, loss, reference, features, groups and columns that stay on."""
    strict = chosen(alpha=0.001)
    assert strict.thresholds[0][0] == pytest.approx(threshold_of("a", alpha=0.001))
    assert strict.alpha == 0.001
    squared = chosen(loss="squared_error")
    assert squared.thresholds[0][0] == pytest.approx(threshold_of("a", loss=np.square))
    moved = chosen(reference=0.5)
    assert moved.thresholds[0][0] == pytest.approx(threshold_of("a", center=0.5))
    fewer = chosen(features=["b", "a"], random_model=weights_of(0.0, 1.0))
    assert fewer.feature_names == ("b", "a")
    assert fewer.thresholds[0] == pytest.approx((0, threshold_of("a")))
    grouped = chosen(groups={"ab": ["a", "b"]})
    assert grouped.feature_names == ("ab", "c")
    assert grouped.thresholds[0] == pytest.approx((threshold_of("a"), 0))
    shown = chosen(always_on=["a"])
    assert (shown.feature_names, shown.thresholds[0]) == (("b", "c"), (0.0, 0.0))
    assert shown.beta == 0.0


def test_random_models_are_drawn_one_by_one():
    """Each with a generator of its own, from the seed; as many as were asked for."""
    drawn = []

    def random_model(rng):
        drawn.append(rng.random())
        return lambda rows: np.asarray(rows)[:, 0]

    chosen(random_model=random_model, n_models=3, random_state=5)
    children = np.random.SeedSequence(5).spawn(3)
    assert drawn == [np.random.default_rng(child).random() for child in children]


def test_without_random_model_the_model_is_randomised():
    """Copies with random parameters, one for each generator; not the fitted model itself."""
    X, y = few_rows()
    model = LinearRegression().fit(X, y)
    options = {"n_models": 3, "max_beta": 1.0, "random_state": 0}
    choice = sfit.choose_beta(model, X, y, **options)
    drawn = sfit.models.as_view(model).randomize
    assert choice == sfit.choose_beta(model, X, y, random_model=drawn, **options)
    assert len({of_model[0] for of_model in choice.thresholds}) == 3


class Asked:
    """Draws trees that are alike, counts the rows they are asked for, and by which threads."""

    def __init__(self):
        self.rows, self.threads = 0, set()

    def __call__(self, rng):
        tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(*few_rows())
        predict = tree.predict

        def count(rows):
            self.rows += len(rows)
            self.threads.add(threading.current_thread())
            return predict(rows)

        tree.predict = count
        return tree


def test_fast_false_asks_the_random_models_themselves():
    """More rows are asked for, to the same thresholds."""
    asked = {fast: Asked() for fast in (True, False)}
    fast, slow = (chosen(random_model=asked[fast], fast=fast) for fast in (True, False))
    assert fast == slow
    assert asked[True].rows < asked[False].rows


def test_the_work_is_done_by_so_many_workers():
    """With n_jobs=2 random models are asked by other threads than the one that called."""
    alone, together = Asked(), Asked()
    expected = chosen(random_model=alone, fast=False, n_jobs=1)
    assert chosen(random_model=together, fast=False, n_jobs=2) == expected
    assert alone.threads == {threading.current_thread()}
    assert len(together.threads) > 1


def test_a_grid_rounds_up():
    """The smallest of the grid that is sufficient; itself where it is on it."""
    exact = threshold_of("a")
    assert chosen(grid=[0.9999, 0.0, exact + 1e-3]).beta == exact + 1e-3
    on_it = chosen().beta
    assert chosen(grid=[0.9999, on_it]).beta == on_it
    assert sorted(chosen(grid=[0.9999, on_it]).grid) == [on_it, 0.9999]


def test_the_error_shows_the_curve_in_full():
    """What was asked, how often tests reject at each beta, and what can be done."""
    exact = threshold_of("a")
    head = (
        "no beta up to max_beta=0.0625 keeps the share of rejections of 2 random models below "
        "alpha=0.05; the share is 0.333 at 0, 0.333 at 1e-06, 0.333 at 1e-05, 0.333 at 0.0001, "
        "0.333 at 0.001, 0.333 at 0.01, 0.333 at 0.0625. "
    )
    tail = (
        "Raise max_beta in sfit.choose_beta and test with the beta it returns, or pass a number "
        "as beta; or use more validation rows, or another random_model."
    )
    with pytest.raises(BetaError) as caught:
        chosen(max_beta=0.0625)
    assert str(caught.value) == f"{head}The smallest sufficient beta is {exact:.3g}. {tail}"
    with pytest.raises(BetaError) as caught:
        chosen(max_beta=0.0625, grid=[0.001, 0.01])
    assert str(caught.value) == head + tail
    assert chosen(max_beta=chosen().beta).beta == chosen().beta


def test_the_error_of_a_test_names_no_argument_that_it_lacks():
    """`feature_significance` has no max_beta: its error says where there is one, and it helps."""
    X, y = rows()
    model = LinearRegression().fit(X, y)
    asked = {"random_model": lambda rng: model, "random_state": 0}
    test = sfit.SignTest(random_model=asked["random_model"])
    with pytest.raises(BetaError, match=r"max_beta in sfit\.choose_beta and test with the beta"):
        sfit.feature_significance(model, X, y, beta="auto", test=test, random_state=0)
    choice = sfit.choose_beta(model, X, y, max_beta=1.0, **asked)
    assert sfit.feature_significance(model, X, y, beta=choice.beta).settings.beta == (choice.beta,)


def test_too_few_rows_for_a_choice_are_told():
    """With 4 rows nothing can reject; the warning says that it is about beta."""
    X, y = few_rows()
    with pytest.warns(sfit.exceptions.SFITWarning, match="^choosing beta: 4 rows are too few"):
        choice = sfit.choose_beta(
            lambda rows: rows["a"].to_numpy(), X[:4], y[:4], n_models=1,
            random_model=lambda rng: lambda rows: rows["a"].to_numpy(),
        )  # fmt: skip
    assert choice.beta == 0.0


def test_a_choice_needs_no_interval():
    """Five rows may reject, though they have no interval: of a beta there is nothing to tell."""
    X, y = few_rows()
    model = weights_of(1.0, 0.0, 0.0)(None)
    options = {"random_model": lambda rng: model, "n_models": 1, "max_beta": 1.0}
    assert sfit.choose_beta(model, X[:5], y[:5], **options).n_rows == 5


def test_the_warning_points_at_the_call():
    """Not at the inside of the package."""
    X, y = few_rows()
    with pytest.warns(sfit.exceptions.SFITWarning) as seen:
        sfit.choose_beta(
            lambda rows: rows["a"].to_numpy(), X[:4], y[:4], n_models=1,
            random_model=lambda rng: lambda rows: rows["a"].to_numpy(),
        )  # fmt: skip
    assert seen[0].filename == __file__


def test_an_index_in_another_order_is_told():
    """Rows are matched by position, whatever their labels say."""
    X, y = few_rows()
    target = pd.Series(np.asarray(y), index=X.index[::-1])
    with pytest.warns(sfit.exceptions.SFITWarning, match=r"^y and X have the same index in anot"):
        sfit.choose_beta(
            lambda rows: rows["a"].to_numpy(),
            X,
            target,
            n_models=1,
            max_beta=1.0,
            random_model=lambda rng: lambda rows: rows["a"].to_numpy(),
        )


def test_rows_are_set_aside_at_random():
    """A quarter of 40 rows chooses, by the seed; the others are tested, in their order."""
    X, y = few_rows()

    def model(rows):
        return rows["a"].to_numpy()

    result = sfit.feature_significance(
        model, X, y, beta="auto", random_state=3, reference=0.0,
        test=sfit.SignTest(random_model=weights_of(0.0, 0.0, 0.0), validation_fraction=0.25),
    )  # fmt: skip
    assert (result.beta_choice.n_rows, result.beta_choice.beta) == (10, 0.0)
    tested = np.sort(np.random.default_rng([3, 1]).permutation(40)[10:])
    again = sfit.feature_significance(model, X.iloc[tested], y[tested], beta=0.0, reference=0.0)
    assert repr(result.tests) == repr(again.tests)
    assert result.tests[0].n == 30


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("alpha", 1.5), ("alpha", 0), ("n_models", 0), ("n_models", 2.5), ("max_beta", -1.0),
        ("n_jobs", "two"), ("progress", "yes"), ("fast", None), ("random_model", 3),
        ("random_state", "x"), ("grid", [2.0]),
    ],
)  # fmt: skip
def test_each_argument_is_checked_by_name(option, value):
    """The message opens with the argument's name."""
    with pytest.raises(ArgumentError, match=f"^{option} "):
        chosen(**{option: value})


def test_a_failing_random_model_is_named_with_its_error():
    """The user's own error is the cause."""

    def random_model(rng):
        raise KeyError("oh")

    with pytest.raises(ModelError, match=r"^random_model failed: KeyError: 'oh'$") as caught:
        chosen(random_model=random_model)
    assert isinstance(caught.value.__cause__, KeyError)


def test_progress_is_shown_per_random_model(capsys):
    """One bar each, numbered from 1; none unless asked for."""
    chosen()
    assert capsys.readouterr().err == ""
    chosen(progress=True)
    shown = capsys.readouterr().err
    assert "random model 1" in shown
    assert "random model 2" in shown
    assert "random model 0" not in shown


def test_a_choice_goes_on_from_its_checkpoint(tmp_path):
    """What was drawn and counted is not asked for again; another question is refused."""
    X, y = few_rows()
    model = LinearRegression().fit(X, y)
    options = {"n_models": 2, "max_beta": 1.0, "checkpoint": tmp_path / "beta.sqlite"}
    first = sfit.choose_beta(model, X, y, **options)
    # Nothing told the seed: it is the checkpoint's, and gives the same without it.
    assert sfit.choose_beta(model, X, y, **options) == first
    seeded = {"n_models": 2, "max_beta": 1.0, "random_state": first.seed}
    assert sfit.choose_beta(model, X, y, **seeded) == first
    keyed = {**options, "checkpoint": tmp_path / "keyed.sqlite", "checkpoint_key": "one"}
    drawn = {"random_model": lambda rng: model, "random_state": 0}
    sfit.choose_beta(model, X, y, **keyed, **drawn)
    with pytest.raises(CheckpointError, match="checkpoint_key"):
        sfit.choose_beta(model, X, y, **(keyed | {"checkpoint_key": "two"}), **drawn)


def test_a_resumed_choice_asks_the_random_models_next_to_nothing(tmp_path):
    """Only the look at each model's output is repeated, not the work."""
    first, again, anew = Asked(), Asked(), Asked()
    options = {"fast": False, "checkpoint": tmp_path / "beta.sqlite", "checkpoint_key": "trees"}
    expected = chosen(random_model=first, **options)
    assert chosen(random_model=again, **options) == expected
    chosen(random_model=anew, **(options | {"checkpoint": tmp_path / "other.sqlite"}))
    assert again.rows < first.rows == anew.rows


def test_parts_share_one_choice():
    """Randomised copies are asked about all validation rows, whichever part these are in."""
    X, y = few_rows()
    labels = np.resize(["u", "v", "v"], 40)
    options = {"beta": "auto", "alpha": 0.4, "random_state": 0}
    model = LinearRegression().fit(X, y)
    whole = sfit.feature_significance(model, X, y, **options).beta_choice
    parts = sfit.feature_significance(model, X, y, by=labels, **options)
    assert parts["u"].beta_choice == parts["v"].beta_choice == whole
    assert np.any(whole.thresholds)


def test_rows_that_cannot_be_split_are_told():
    """A fraction that leaves nothing on either side; a part without test rows."""
    X, y = few_rows()
    none = weights_of(0.0, 0.0, 0.0)
    options = {"beta": "auto", "random_state": 0, "test": sfit.SignTest(random_model=none)}

    def sparing(fraction):
        return options | {"test": sfit.SignTest(random_model=none, validation_fraction=fraction)}

    def model(rows):
        return np.asarray(rows)[:, 0]

    with pytest.raises(
        DataError, match=r"^1 rows cannot be split into validation and test rows\.$"
    ):
        sfit.feature_significance(model, X[:1], y[:1], **options)
    with pytest.raises(DataError, match=r"^4 rows cannot be split"):
        sfit.feature_significance(model, X[:4], y[:4], **sparing(0.9))
    with pytest.warns(sfit.exceptions.SFITWarning):
        result = sfit.feature_significance(model, X[:4], y[:4], reference=0.0, **sparing(0.25))
    assert (result.beta_choice.n_rows, result.tests[0].n) == (1, 3)
    # Of this seed's shuffled rows, the first is among those set aside, and the second is not.
    labels = np.array(["rare", "lone"] + ["often"] * 38)
    with pytest.raises(
        DataError,
        match=r"^no test rows are left in part 'rare': pass validation=\(X, y\)\.$",
    ):
        sfit.feature_significance(model, X, y, by=labels, **(options | {"random_state": 1}))
    # Of another's, neither: one test row is enough for a part, though it can find nothing.
    with pytest.warns(sfit.exceptions.SFITWarning, match="1 rows are too few"):
        parts = sfit.feature_significance(
            model, X, y, by=labels, reference=0.0, **(options | {"random_state": 4})
        )
    assert [parts[name].tests[0].n for name in ("rare", "lone", "often")] == [1, 1, 18]
