"""Losses per row against plain formulas and scikit-learn, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import sfit
from sfit._losses import FAMILIES, LOSSES, check_loss, choose_loss
from sfit._row_losses import _sum
from sfit.exceptions import ArgumentError, DataError

SEEDS = st.integers(0, 2**32 - 1)


def per_row(name, y, prediction):
    return LOSSES[name](y, prediction, int, signed=False)


def one_by_one(score, y, prediction):
    """scikit-learn's mean score of each row alone."""
    return [score(y[i : i + 1], prediction[i : i + 1]) for i in range(len(y))]


def probabilities(rng, m, classes):
    return rng.dirichlet(np.full(classes, 0.5), size=m)


@given(SEEDS, st.integers(1, 20))
def test_regression_losses_equal_scikit_learns(seed, m):
    """Absolute and squared error and Poisson deviance, row by row."""
    rng = np.random.default_rng(seed)
    y, prediction = rng.normal(size=(2, m))
    np.testing.assert_allclose(
        per_row("absolute_error", y, prediction),
        one_by_one(metrics.mean_absolute_error, y, prediction),
    )
    np.testing.assert_allclose(
        per_row("squared_error", y, prediction),
        one_by_one(metrics.mean_squared_error, y, prediction),
    )
    counts, rates = rng.poisson(2.0, size=m).astype(float), rng.gamma(2.0, size=m) + 1e-3
    np.testing.assert_allclose(
        per_row("poisson", counts, rates),
        one_by_one(metrics.mean_poisson_deviance, counts, rates),
        atol=1e-12,
    )


@pytest.mark.parametrize("name", ["absolute_error", "squared_error", "poisson"])
def test_several_outputs_are_averaged(name):
    """The loss of a row with three outputs is the mean of the three losses."""
    rng = np.random.default_rng(1)
    y, prediction = rng.gamma(2.0, size=(2, 30, 3))
    expected = np.mean([per_row(name, y[:, c], prediction[:, c]) for c in range(3)], axis=0)
    np.testing.assert_allclose(per_row(name, y, prediction), expected, rtol=1e-12)


@given(SEEDS, st.integers(1, 20), st.integers(2, 4))
def test_log_loss_is_minus_log_of_the_chosen_class(seed, m, classes):
    """Plain formula, and scikit-learn's per row."""
    rng = np.random.default_rng(seed)
    prediction = probabilities(rng, m, classes)
    y = rng.integers(classes, size=m)
    expected = [-math.log(max(prediction[i, y[i]], 2.0**-52)) for i in range(m)]
    np.testing.assert_allclose(per_row("log_loss", y, prediction), expected, rtol=1e-12)
    labels = list(range(classes))
    ours = per_row("log_loss", y, np.clip(prediction, 1e-9, None))
    theirs = [
        metrics.log_loss([y[i]], [np.clip(prediction[i], 1e-9, None)], labels=labels)
        for i in range(m)
        if abs(prediction[i].sum() - 1) < 1e-12
    ]
    assert len(theirs) == m
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certain_probabilities_are_clipped(dtype):
    """A class that was ruled out costs -log of the unit of the float type, not infinity."""
    prediction = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=dtype)
    losses = per_row("log_loss", np.array([1, 1]), prediction)
    np.testing.assert_allclose(losses, [-math.log(np.finfo(dtype).eps), 0.0], rtol=1e-6)


@given(SEEDS, st.integers(1, 20))
def test_brier_of_two_classes_equals_scikit_learns(seed, m):
    """The squared error of the second class's probability."""
    rng = np.random.default_rng(seed)
    prediction, y = probabilities(rng, m, 2), rng.integers(2, size=m)
    expected = [
        metrics.brier_score_loss([y[i]], [prediction[i, 1]], labels=[0, 1]) for i in range(m)
    ]
    np.testing.assert_allclose(per_row("brier", y, prediction), expected, atol=1e-15)


@given(SEEDS, st.integers(1, 20), st.integers(3, 5))
def test_brier_of_several_classes_is_the_squared_distance(seed, m, classes):
    """Distance between the probabilities and the observed class as a unit vector."""
    rng = np.random.default_rng(seed)
    prediction, y = probabilities(rng, m, classes), rng.integers(classes, size=m)
    before = prediction.copy()
    expected = ((prediction - np.eye(classes)[y]) ** 2).sum(axis=1)
    np.testing.assert_allclose(per_row("brier", y, prediction), expected, atol=1e-15)
    np.testing.assert_array_equal(prediction, before)


@given(SEEDS, st.integers(1, 20), st.integers(2, 4))
def test_zero_one_equals_scikit_learns(seed, m, classes):
    """One where the most probable class is another one."""
    rng = np.random.default_rng(seed)
    prediction, y = probabilities(rng, m, classes), rng.integers(classes, size=m)
    expected = one_by_one(metrics.zero_one_loss, y, prediction.argmax(axis=1))
    np.testing.assert_array_equal(per_row("zero_one", y, prediction), expected)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_never_negative_and_double(name):
    """Every named loss is finite, at least 0 and a double, of float32 input too."""
    rng = np.random.default_rng(3)
    if LOSSES[name].task == "classification":
        y, prediction = rng.integers(3, size=500), probabilities(rng, 500, 3)
    else:
        y = rng.poisson(1.0, size=500).astype(np.float32) + (LOSSES[name].target == "positive")
        prediction = np.where(rng.uniform(size=500) < 0.5, np.maximum(y, 0.1), rng.gamma(1.0))
    losses = per_row(name, y, prediction.astype(np.float32))
    assert losses.dtype == np.float64
    assert (losses >= 0).all()


def test_single_precision_is_as_exact_as_its_numbers():
    """Probabilities of a float32 model have the losses of the same numbers in double."""
    rng = np.random.default_rng(4)
    prediction = probabilities(rng, 200, 3).astype(np.float32)
    y = rng.integers(3, size=200)
    for name in ("log_loss", "brier", "zero_one"):
        exact = per_row(name, y, np.clip(prediction.astype(np.float64), 2.0**-23, 1.0))
        # By itself, too: where predictions are few, it is asked for each of them and each class.
        found = LOSSES[name].per_row(y, prediction)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_poisson_is_zero_at_the_truth_and_refuses_rates_below_zero():
    """Deviance 0 at prediction = y; a rate that is not positive is an error with its row."""
    y = np.array([0.5, 1.0, 7.0])
    np.testing.assert_allclose(per_row("poisson", y, y), 0.0, atol=1e-15)
    np.testing.assert_allclose(per_row("poisson", np.array([0.0]), np.array([0.25])), 0.5)
    with pytest.raises(DataError, match=r"poisson.*not finite at 2 row\(s\).*row 1"):
        per_row("poisson", y, np.array([1.0, 0.0, -1.0]))


def test_an_error_names_the_row_and_the_number_of_rows():
    """The first bad row is counted from the start of the data, not of the tile."""
    loss = choose_loss(lambda y, p: np.where(y > 1, np.nan, 0.0), "regression")
    with pytest.raises(DataError, match=r"not finite at 2 row\(s\).*row 1002, where it is .*nan"):
        loss(np.array([0.0, 1.0, 2.0, 3.0]), np.zeros(4), lambda row: 1000 + row, signed=False)


def test_losses_below_zero_are_admitted_only_where_said():
    """`signed` admits them; otherwise the message names the row and what to do."""
    loss = choose_loss(lambda y, p: y - p, "regression")
    y, prediction = np.array([1.0, -1.0]), np.zeros(2)
    np.testing.assert_array_equal(loss(y, prediction, int, signed=True), [1.0, -1.0])
    with pytest.raises(DataError, match=r"below zero at 1 row\(s\); the first is row 1.*beta=0"):
        loss(y, prediction, int, signed=False)


def test_a_negative_loss_serves_the_test_at_beta_zero_only():
    """Adding a constant to a loss changes no sign at beta = 0; beta > 0 refuses it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.normal(size=400)

    def shifted(y, prediction):
        return np.abs(y - prediction) - 1.5

    def model(rows):
        return rows[:, 0]

    plain = sfit.feature_significance(model, X, y, beta=0.0, reference=0)
    moved = sfit.feature_significance(model, X, y, beta=0.0, reference=0, loss=shifted)
    assert [t.n_positive for t in moved.tests] == [t.n_positive for t in plain.tests]
    for ours, theirs in zip(moved.tests, plain.tests, strict=True):
        assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-12)
    assert moved.settings.loss == "shifted"
    with pytest.raises(DataError, match="below zero"):
        sfit.feature_significance(model, X, y, beta=0.01, reference=0, loss=shifted)


@pytest.mark.parametrize(
    "answer",
    [
        lambda y, p: np.mean(np.abs(y - p)),
        lambda y, p: np.abs(y - p)[:, None],
        lambda y, p: np.abs(y - p)[:-1],
        lambda y, p: None,
        lambda y, p: np.array(["1"] * len(y)),
        lambda y, p: np.array([object()] * len(y)),
        lambda y, p: 1j * (y - p),
    ],
    ids=["mean", "column", "short", "nothing", "text", "objects", "complex"],
)
def test_a_callable_must_return_one_number_per_row(answer):
    """Anything else is a DataError, not a crash and not a wrong answer."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(DataError, match="one number per row"):
        sfit.feature_significance(lambda rows: rows[:, 0], X, X[:, 0], loss=answer)


def test_a_callable_may_return_lists_whole_numbers_or_truth_values():
    """They count as numbers, the same as the array of floats."""
    y, prediction = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 5.0])
    expected = [0.0, 2.0, 2.0]
    for answer in (
        lambda y, p: [abs(a - b) for a, b in zip(y, p, strict=True)],
        lambda y, p: np.abs(y - p).astype(np.int8),
    ):
        losses = choose_loss(answer, "regression")(y, prediction, int, signed=False)
        np.testing.assert_array_equal(losses, expected)
    wrong = choose_loss(lambda y, p: y != p, "regression")(y, prediction, int, signed=False)
    np.testing.assert_array_equal(wrong, [0.0, 1.0, 1.0])


def test_a_callable_that_writes_to_its_arguments_changes_nothing():
    """Neither y nor predictions that are used again can be spoiled by a careless loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    before = y.copy()

    def careless(y, prediction):
        prediction -= y
        y[:] = 0
        return np.abs(prediction, out=prediction)

    def model(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    options = {"max_order": 2, "beta": 0.001, "exhaustive": True}
    spoiled = sfit.feature_significance(model, X, y, loss=careless, **options)
    np.testing.assert_array_equal(y, before)
    clean = sfit.feature_significance(model, X, y, **options)
    pd.testing.assert_frame_equal(spoiled.table, clean.table, check_exact=True)


def test_a_callable_of_classification_gets_class_numbers_and_probabilities():
    """y comes as the index of the class, predictions as (rows, classes)."""
    seen = []

    def loss(y, prediction):
        seen.append((y.dtype.kind, prediction.shape[1], set(y.tolist())))
        return 1 - prediction[np.arange(len(y)), y]

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    model = sfit.models.function_model(
        lambda rows: 1 / (1 + np.exp(-rows[:, 0])), "classification", ["a", "b"]
    )
    sfit.feature_significance(model, X, y, loss=loss)
    assert set(seen[0][:1]) == {"i"}
    assert all(one[1] == 2 and one[2] <= {0, 1} for one in seen)


def test_names_are_checked_against_the_task():
    """An unknown name, or a loss of the other task, is an ArgumentError that lists what fits."""
    with pytest.raises(ArgumentError, match=r"'absolute_error'.*got 'mse'"):
        check_loss("mse")
    with pytest.raises(ArgumentError, match="callable"):
        check_loss(None)
    with pytest.raises(ArgumentError, match=r"log_loss.*classification.*'squared_error'"):
        choose_loss("log_loss", "regression")
    assert choose_loss("auto", "regression").name == "absolute_error"
    assert choose_loss("auto", "classification").name == "log_loss"


def test_rates_of_zero_are_refused_in_silence():
    """Neither 0/0 nor 1/0 warns; the row is named, whatever was observed there."""
    for y in (0.0, 1.0):
        with pytest.raises(DataError, match=r"not finite at 1 row\(s\).*row 0, where it is nan"):
            per_row("poisson", np.array([y]), np.array([0.0]))


def test_sums_keep_what_plain_addition_loses():
    """1 + 1e16 + 1 is 1e16 + 2, in any order of the columns."""
    for columns in ([1.0, 1e16, 1.0], [1e16, 1.0, 1.0], [1.0, 1.0, 1e16]):
        assert _sum(np.array([columns]))[0] == 1e16 + 2
    large = np.array([[3e38, 3e38]], dtype=np.float32)
    assert _sum(large)[0] == 2 * float(large[0, 0])  # beyond what single precision can hold


def test_a_probability_that_rounding_raised_above_one_costs_nothing():
    """The loss is never negative."""
    prediction = np.array([[1.0000001, 0.0]], dtype=np.float32)
    assert per_row("log_loss", np.array([0]), prediction).tolist() == [0.0]


def failing(y, prediction):
    raise ZeroDivisionError("by nothing")


def message_of(loss, y=(1.0, 2.0), signed=False):
    y = np.array(y)
    with pytest.raises(DataError) as caught:
        choose_loss(loss, "regression")(y, np.zeros_like(y), lambda row: 70 + row, signed)
    return str(caught.value)


def test_no_rows_have_no_losses():
    """A part of the rows may have none in a tile."""
    assert choose_loss("auto", "regression")(np.empty(0), np.empty(0), int, False).shape == (0,)


def test_messages_about_losses_word_for_word():
    """What happened, at which of the user's rows, and what can be done."""
    assert message_of(failing) == (
        "loss 'failing' failed on 2 rows starting at row 70: ZeroDivisionError: by nothing"
    )

    def column(y, prediction):
        return y[:, None]

    assert message_of(column) == (
        "loss 'column' must return one number per row: expected shape (2,), got (2, 1) of dtype "
        "float64."
    )

    def words(y, prediction):
        return np.array(["a", "b"], dtype=object)

    assert message_of(words) == (
        "loss 'words' must return one number per row: expected shape (2,), got (2,) of dtype object."
    )

    def infinite(y, prediction):
        return np.where(y > 1, np.inf, y)

    assert message_of(infinite, (0.0, 2.0, 3.0), signed=True) == (
        "loss 'infinite' is not finite at 2 row(s); the first is row 71, where it is inf."
    )

    def both(y, prediction):
        return np.array([-np.inf, np.inf])

    assert message_of(both, (0.0, 2.0)) == (
        "loss 'both' is not finite at 2 row(s); the first is row 70, where it is -inf."
    )

    def negative(y, prediction):
        return -y

    assert message_of(negative, (0.0, 2.0)) == (
        "loss 'negative' is below zero at 1 row(s); the first is row 71, where it is -2.0. With "
        "beta > 0 the test compares with (1 - beta) times the base loss, which must not exceed it: use "
        "a loss "
        "that is never negative, or beta=0."
    )


def test_messages_about_names_word_for_word():
    """All that is allowed, and what was received."""
    with pytest.raises(ArgumentError) as caught:
        check_loss(["auto"])
    families = [f"{name}:{one.example}" for name, one in FAMILIES.items()]
    names = ", ".join(map(repr, ["auto", *LOSSES, *families]))
    assert str(caught.value) == (
        f"loss must be one of {names}, or a callable (y, prediction) -> one loss per row; "
        "got ['auto']."
    )
    documented = sfit.feature_significance.__doc__
    assert all(f'`"{name}"`' in documented for name in (*LOSSES, *families))
    with pytest.raises(ArgumentError) as caught:
        choose_loss("poisson", "classification")
    assert str(caught.value) == (
        "loss='poisson' is for regression, but the model is for classification: use 'log_loss', "
        "'brier', 'zero_one', 'hinge', or declare the model's task with sfit.models.function_model(f, task=...)."
    )


def test_a_loss_without_a_name_goes_by_its_type():
    """An object that can be called."""

    class Halved:
        def __call__(self, y, prediction):
            return np.abs(y - prediction) / 2

    loss = choose_loss(Halved(), "regression")
    assert (loss.name, loss.task) == ("Halved", None)


def test_numbers_in_objects_are_numbers():
    """An array of Python's own numbers is as good as one of doubles."""
    loss = choose_loss(lambda y, p: np.array([1, 2.5], dtype=object), "regression")
    losses = loss(np.zeros(2), np.zeros(2), int, signed=False)
    assert (losses.dtype, losses.tolist()) == (np.float64, [1.0, 2.5])
    for name in ("auto", *LOSSES, np.hypot):
        check_loss(name)


@pytest.mark.parametrize("loss", ["absolute_error", "squared_error", "poisson"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_the_type_of_y_does_not_round_the_losses(loss, dtype):
    """Predictions in single precision may differ by less than a y of that type can show."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = rng.integers(200, 250, size=400).astype(dtype)

    def model(rows):
        return (1 + 1e-5 * np.asarray(rows)[:, 0]).astype(np.float32)

    own, doubles = (
        sfit.feature_significance(model, X, target, loss=loss, beta=0, reference=0)
        for target in (y, y.astype(float))
    )
    assert own == doubles
    assert own.tests[0].n_positive > 100
