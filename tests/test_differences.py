"""Counting (cell, class) pairs says what going through the rows says."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfit
from sfit._differences import Base, Evaluation
from sfit._losses import LOSSES, choose_loss
from sfit.exceptions import DataError
from sfit.restrict._prediction import Prediction
from sfit.rows import Tile


def test_a_base_of_several_values_is_not_taken_for_one():
    """A feature that the model ignores adds nothing to one that it uses, on discrete columns."""
    n = 2_000
    X = np.column_stack([[2.0] + [1.0] * 1_499 + [2.0] * 500, np.resize([0.0, 1.0], n)])
    y = np.r_[np.ones(n - 50, dtype=int), np.zeros(50, dtype=int)]
    model = sfit.models.function_model(
        lambda rows: np.array([0.01, 0.5, 0.99])[rows[:, 0].astype(int)],
        task="classification",
        classes=[0, 1],
    )
    result = sfit.feature_significance(model, X, y, reference=0, max_order=2, exhaustive=True)
    assert result.significant == {1: [("x0",)], 2: []}
    assert [gate.n_positive for gate in result.gates] == [0, 0]


@pytest.mark.parametrize("loss", ["log_loss", "brier", "zero_one"])
@pytest.mark.parametrize("fast", [True, False])
def test_counted_equals_row_by_row(loss, fast):
    """The user's own copy of a loss is never counted: the same numbers, row by row."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(3_000, 4)).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=3_000)
    y = np.digitize(score, [1.5, 3.5])
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    per_row = sfit._losses.LOSSES[loss].per_row
    options = {"max_order": 2, "beta": (0.01, 0.001), "by": "class", "strict": True, "fast": fast}
    with pytest.warns() if loss == "zero_one" else nullcontext():
        counted = sfit.feature_significance(model, X, y, loss=loss, **options)
        by_row = sfit.feature_significance(model, X, y, loss=lambda y, p: per_row(y, p), **options)
    pd.testing.assert_frame_equal(counted.table, by_row.table)


def test_every_base_counts_for_the_room_to_improve():
    """Where each feature has a base of its own, one without losses says nothing of the others."""
    X = np.random.default_rng(0).normal(size=(4_000, 3))
    y = (X[:, 1] > -1).astype(int)
    model = sfit.models.function_model(
        lambda rows: (rows[:, 1] > -1) * 1.0, task="classification", classes=[0, 1]
    )
    result = sfit.feature_significance(
        model, X, y, loss="zero_one", given="rest", reference=[0, -5, 0]
    )
    assert result.selected == ("x1",)


def test_a_category_of_the_training_set_only():
    """The mode of the training set is a reference, though the test rows do not have it."""
    categories = list("abc")
    train = pd.DataFrame(
        {"c": pd.Categorical(["a"] * 5 + ["b"], categories), "v": np.arange(6) - 2.5}
    )
    test = pd.DataFrame(
        {
            "c": pd.Categorical(["b", "c"] * 200, categories),
            "v": np.random.default_rng(0).normal(size=400),
        }
    )

    def model(rows):
        return rows["v"].to_numpy() + 3 * (rows["c"] != "a").to_numpy()

    result = sfit.feature_significance(model, test, test["v"] + 3, reference=train)
    assert "c" in result.selected
    names = test.assign(c=test["c"].astype(str)), train.assign(c=train["c"].astype(str))
    again = sfit.feature_significance(model, names[0], test["v"] + 3, reference=names[1])
    assert again.table.equals(result.table)


# ------------------------------------------------------------------- one tile, two sides, by hand

UNIT = 2.0**-52


def base_side(prediction, y, *, loss="log_loss", part=None, numbers=None, signed=False):
    """The base side on a tile that holds these classes or values."""
    task = "regression" if np.asarray(y).dtype.kind == "f" else "classification"
    evaluation = Evaluation(
        rows=None,
        predictions=None,
        loss=choose_loss(loss, task),
        n_classes=2 if task == "classification" else 0,
        unit=UNIT,
        noise=0.0,
    )
    return Base(evaluation, Tile(0, None, np.asarray(y), part, numbers), prediction, signed)


def cells(values, n):
    """The probabilities of the second class, dealt out to n rows in turn."""
    values = np.array(values)
    return Prediction(
        np.column_stack([1 - values, values]), np.resize(np.arange(len(values)), n), n
    )


def constant(value, n):
    """One prediction for all rows."""
    return Prediction(np.array([[1 - value, value]]), None, n)


def each_row(values):
    """A prediction for every row."""
    values = np.asarray(values)
    return Prediction(np.column_stack([1 - values, values]), None, len(values))


def spread(losses):
    """Pairs of losses, as often as they occur, in order."""
    times = 1 if losses.counts is None else losses.counts
    return sorted(np.repeat(np.column_stack([losses.base, losses.full]), times, axis=0).tolist())


@pytest.mark.parametrize(
    ("base", "full", "n", "counted"),
    [
        (constant(0.3, 24), cells([0.1, 0.6, 0.8], 24), 24, True),
        (cells([0.2, 0.4, 0.7], 24), cells([0.1, 0.3, 0.6, 0.8], 24), 24, True),
        (cells([0.2, 0.4, 0.7], 23), cells([0.1, 0.3, 0.6, 0.8], 23), 23, False),
        (constant(0.3, 24), each_row(np.linspace(0.1, 0.9, 24)), 24, False),
        (each_row(np.linspace(0.1, 0.9, 24)), cells([0.1, 0.6], 24), 24, False),
    ],
    ids=["constant", "as many cells as rows", "more cells than rows", "full by row", "base by row"],
)
@pytest.mark.parametrize("divided", [False, True])
def test_few_values_are_counted_and_many_are_not(base, full, n, counted, divided):
    """Counted where there are no more (cell, class) pairs than rows; the same losses as by row."""
    y = np.resize([0, 1, 1, 0, 1], n)
    part = np.resize([0, 1, 1], n) if divided else None
    side = base_side(base, y, part=part)
    everywhere = side.losses_by_row(full)
    assert len(everywhere.base) == len(everywhere.full) == n
    for number, found in enumerate(side.against(full, [0, 1] if divided else [0])):
        own = part == number if divided else slice(None)
        expected = np.column_stack([everywhere.base[own], everywhere.full[own]])
        assert (found.counts is not None) == counted
        assert spread(found) == sorted(expected.tolist())


def test_a_loss_of_the_users_own_is_never_counted():
    """Nobody knows whether it looks at a row by itself."""
    y, full = np.resize([0, 1], 24), cells([0.1, 0.6], 24)
    named = base_side(constant(0.3, 24), y)
    own = base_side(constant(0.3, 24), y, loss=lambda y, p: LOSSES["log_loss"].per_row(y, p))
    [counted], [by_row] = named.against(full, [0]), own.against(full, [0])
    assert by_row.counts is None
    assert spread(by_row) == spread(counted)


def rounded(prediction):
    """The same, but for the last bit of each probability."""
    return Prediction(np.nextafter(prediction.values, 1), prediction.codes, prediction.n_rows)


@pytest.mark.parametrize(
    "base",
    [constant(0.3, 24), cells([0.2, 0.4, 0.7], 24), each_row(np.linspace(0.1, 0.9, 24))],
    ids=["constant", "cells", "each row"],
)
def test_rounding_is_no_change(base):
    """Counted or by row, a prediction that is another in its last bit has the loss of the base."""
    y = np.resize([0, 1, 1, 0, 1], 24)
    [losses] = base_side(base, y).against(rounded(base), [0])
    np.testing.assert_array_equal(losses.full, losses.base)
    # One row that really changes, beside those that differ by rounding.
    values = rounded(base).by_row().copy()
    values[3] = [0.05, 0.95]
    moved = base_side(base, y).losses_by_row(Prediction(values, None, 24))
    assert np.flatnonzero(moved.full != moved.base).tolist() == [3]


@pytest.mark.parametrize("part", [None, np.resize([0, 1, 1], 24)], ids=["undivided", "divided"])
def test_a_side_that_changes_nothing_has_the_very_losses_of_the_base(part):
    """One array, not two equal ones: this is how ignored features are known, and answered once."""
    base, y = each_row(np.linspace(0.1, 0.9, 24)), np.resize([0, 1, 1, 0, 1], 24)
    side = base_side(base, y, part=part)
    assert all(losses.full is losses.base for losses in side.against(rounded(base), [0]))
    other = each_row(np.linspace(0.2, 0.8, 24))
    assert not any(losses.full is losses.base for losses in side.against(other, [0]))


def test_one_prediction_for_all_rows_beside_another():
    """A column that is constant, but not at its reference, moves all rows alike."""
    y = np.array([0, 1, 1])
    losses = base_side(constant(0.5, 3), y).losses_by_row(constant(0.8, 3))
    np.testing.assert_allclose(losses.full, -np.log([0.2, 0.8, 0.8]))
    np.testing.assert_allclose(losses.base, np.full(3, np.log(2)))


@pytest.mark.parametrize("first", [0.1, 0.5])
@pytest.mark.parametrize(
    ("of_base", "of_full", "common"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("f8", "f8", "f8")],
)
def test_the_type_of_a_loss_does_not_depend_on_the_other_rows(of_base, of_full, common, first):
    """A model may answer in single precision or double, and one row may be the base."""
    seen = []

    def loss(y, prediction):
        seen.append(prediction.dtype)
        return np.abs(y - prediction[:, 1])

    one = constant(0.5, 3)
    base = base_side(replace(one, values=one.values.astype(of_base)), np.zeros(3), loss=loss)
    base.losses_by_row(each_row(np.array([first, 0.1, 0.2], dtype=of_full)))
    assert seen == [of_base, common]


def test_a_loss_that_cannot_be_used_is_refused_with_the_users_row():
    """Below zero where it must not be, at the number that the row had before some were chosen."""

    def shifted(y, prediction):
        return np.abs(y - prediction) - 1

    y, base = np.array([2.0, 0.5, 3.0]), Prediction(np.zeros(1), None, 3)
    full = Prediction(np.array([0.25, 0.5, 0.75]), None, 3)
    numbers = np.array([10, 20, 30])
    [losses] = base_side(base, y, loss=shifted, numbers=numbers, signed=True).against(full, [0])
    assert losses.base.tolist() == [1.0, -0.5, 2.0]
    assert losses.full.tolist() == [0.75, -1.0, 1.25]
    with pytest.raises(DataError, match=r"below zero at 1 row\(s\); the first is row 20,"):
        list(base_side(base, y, loss=shifted, numbers=numbers).against(full, [0]))
