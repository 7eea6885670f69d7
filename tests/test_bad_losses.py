"""A user's loss: one finite number per row, not below zero unless beta is 0."""

import numpy as np
import pandas as pd
import pytest
from bad_input import Recorder, X, Y, assert_refused, case

import sfit
from sfit.exceptions import DataError

LOSSES = [
    case("scalar", DataError, "one number per row", loss=lambda y, p: 0.0),
    case("short", DataError, "one number per row", "(3,)", loss=lambda y, p: np.zeros(3)),
    case("2d", DataError, "one number per row", loss=lambda y, p: np.zeros((len(y), 2))),
    case("nothing", DataError, "one number per row", loss=lambda y, p: None),
    case("nan", DataError, "row 5", "1 row(s)", loss=lambda y, p: np.where(y == Y[5], np.nan, 1.0)),
    case("infinite", DataError, "row 0", loss=lambda y, p: np.full(len(y), np.inf)),
    case("negative", DataError, "below zero", "beta=0", loss=lambda y, p: -np.ones(len(y))),
    case("complex", DataError, "complex", loss=lambda y, p: 1j * np.ones(len(y))),
    case("text", DataError, "number", loss=lambda y, p: ["a"] * len(y)),
    case("durations", DataError, "number", loss=lambda y, p: np.zeros(len(y), "m8[D]")),
    case("raises", DataError, "ZeroDivisionError", loss=lambda y, p: 1 / 0),
    case("arity", DataError, "TypeError", loss=lambda y: y),
    case("poisson-negative-mean", DataError, "'poisson'", "not finite", loss="poisson"),
]


@pytest.mark.parametrize(("error", "words", "changes"), LOSSES)
def test_loss(error, words, changes):
    """A user's loss is checked: one finite number per row, not below zero unless beta is 0."""
    y = abs(Y) if changes["loss"] == "poisson" else Y
    assert_refused(lambda: sfit.feature_significance(Recorder(), X, y, **changes), error, words)


@pytest.mark.parametrize(
    "loss",
    [
        lambda y, p: abs(y - p).tolist(),
        lambda y, p: pd.Series(abs(y - p)),
        lambda y, p: abs(y - p).astype(object),
        lambda y, p: abs(y - p)[:, None][:, 0],
    ],
    ids=["list", "series", "objects", "view"],
)
def test_any_sequence_of_losses_works(loss):
    """One number per row is enough, whatever holds the numbers."""
    result = sfit.feature_significance(Recorder(), X, Y, loss=loss)
    expected = sfit.feature_significance(Recorder(), X, Y, loss="absolute_error")
    assert result.table.equals(expected.table)


def test_a_negative_loss_works_at_beta_zero():
    """Only (1 - beta) times a negative loss would be wrong."""
    result = sfit.feature_significance(Recorder(), X, Y, loss=lambda y, p: abs(y - p) - 10, beta=0)
    expected = sfit.feature_significance(Recorder(), X, Y, beta=0)
    assert result.table["n_positive"].tolist() == expected.table["n_positive"].tolist()


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not finite"), (-1.0, "below zero")])
def test_a_late_fault_of_the_loss_names_the_row(value, words):
    """A loss that is not finite or negative in a later tile is reported with its row among all rows."""
    y = np.arange(70_000.0)

    def loss(y, prediction):
        return np.where(y == 69_000, value, 1.0)

    call = lambda: sfit.feature_significance(Recorder(), np.zeros((70_000, 2)), y, loss=loss)  # noqa: E731
    assert_refused(call, DataError, [words, "1 row(s)", "row 69000"])


def test_a_loss_that_works_in_place_does_not_change_y():
    """The user's y stays as it is: a loss that writes into y gets a copy."""
    y = Y.copy()

    def loss(y, prediction):
        return np.abs(np.subtract(prediction, y, out=y))

    expected = sfit.feature_significance(Recorder(), X, y, loss="absolute_error")
    result = sfit.feature_significance(Recorder(), X, y, loss=loss)
    assert result.table.equals(expected.table)
    assert (y == Y).all()
