"""Counting (cell, class) pairs says what going through the rows says."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfit


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
