"""Models that misbehave: each still gives the right answer, or one clear error."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sfit
from sfit.exceptions import ModelError, SFITError, SFITWarning

RNG = np.random.default_rng(1)
N = 3_000
X = RNG.normal(size=(N, 3))
Y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=N)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def good(rows):
    """What every awkward model here would predict if it behaved."""
    rows = np.asarray(rows)
    return 2 * rows[:, 0] + rows[:, 1] * rows[:, 2]


def table_of(model, rows=X, **settings):
    """The table of an order-2 test."""
    settings = {"max_order": 2, "beta": (0.01, 0.001), **settings}
    return sfit.feature_significance(model, rows, Y, **settings).table


EXPECTED = table_of(good)


def test_the_good_model_finds_both():
    """What the others are compared with is no empty table."""
    found = EXPECTED[EXPECTED["significant"]]["term"].tolist()
    assert found == [("x0",), ("x1", "x2")]


# --- what it does to its input -----------------------------------------------------------


def test_changes_an_array_in_place():
    """Rows that the model overwrites are its own copy."""

    def model(rows):
        answer = good(rows)
        rows[:] = np.nan
        return answer

    before = X.copy()
    assert table_of(model).equals(EXPECTED)
    assert (before == X).all()


def test_changes_a_frame_in_place():
    """So are the columns of a frame."""

    def model(rows):
        answer = good(rows)
        rows["a"] = 0.0
        rows.loc[:, "b"] = 7.0
        return answer

    before = FRAME.copy()
    table = table_of(model, FRAME)
    assert table["n_positive"].tolist() == EXPECTED["n_positive"].tolist()
    assert FRAME.equals(before)


@pytest.mark.parametrize("rows", [X, FRAME], ids=["array", "frame"])
def test_pipeline_that_changes_its_input_in_place(rows):
    """A scaler with copy=False scales neither the user's rows nor the reference."""
    model = make_pipeline(StandardScaler(copy=False), LinearRegression())
    model.fit(rows.copy(), Y)
    mine, reference = rows.copy(), rows.copy()
    result = sfit.feature_significance(model, mine, Y, reference=reference)
    assert (np.asarray(mine) == X).all()
    assert (np.asarray(reference) == X).all()
    polite = make_pipeline(StandardScaler(), LinearRegression()).fit(rows, Y)
    expected = sfit.feature_significance(polite, rows, Y, reference=rows)
    assert result.table["n_positive"].tolist() == expected.table["n_positive"].tolist()
    assert result.settings.space == "encoded"


# --- what it returns ---------------------------------------------------------------------

BUFFER = np.empty(10 * N)


def buffered(rows):
    """One array for all answers, as compiled models have."""
    answer = BUFFER[: len(rows)]
    answer[:] = good(rows)
    return answer


RETURNS = {
    "list": lambda rows: good(rows).tolist(),
    "tuple": lambda rows: tuple(good(rows)),
    "series": lambda rows: pd.Series(good(rows), index=range(len(rows), 0, -1)),
    "column": lambda rows: good(rows)[:, None],
    "frame": lambda rows: pd.DataFrame({"y": good(rows)}),
    "read-only": lambda rows: np.broadcast_to(good(rows), (1, len(rows)))[0],
    "strided": lambda rows: np.repeat(good(rows), 2)[::2],
    "own-buffer": buffered,
    "squeezed": lambda rows: np.squeeze(good(rows)),
}


@pytest.mark.parametrize("model", RETURNS.values(), ids=RETURNS)
def test_what_holds_the_predictions_does_not_matter(model):
    """Any sequence of one number per row will do."""
    assert table_of(model).equals(EXPECTED)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int32, np.uint8, bool])
def test_predictions_of_another_type(dtype):
    """Coarse predictions are taken as the numbers they are; equal ones are never an improvement."""

    def coarse(rows):
        return np.abs(np.asarray(rows)[:, 0] * 4).astype(dtype)

    def exact(rows):
        return coarse(rows).astype(float)

    y = np.abs(4 * X[:, 0])
    found = sfit.feature_significance(coarse, X, y).table
    assert found["n_positive"].tolist()[1:] == [0, 0]
    if np.dtype(dtype).kind != "f":
        assert found.equals(sfit.feature_significance(exact, X, y).table)
    if dtype is not bool:
        assert found["significant"].tolist() == [True, False, False]


def test_answers_differ_from_call_to_call():
    """Noise of the model's own is told, with the share of rows that differ."""
    rng = np.random.default_rng(0)
    with pytest.warns(SFITWarning, match=r"differ from call to call, for 100% of 256 rows"):
        table_of(lambda rows: good(rows) + 0.3 * rng.normal(size=len(rows)))


def test_some_answers_differ_from_call_to_call():
    """The share is that of the rows: here of those with a large first value."""
    rng = np.random.default_rng(0)
    share = (X[:256, 0] > 1).mean()

    def model(rows):
        return good(rows) + (rows[:, 0] > 1) * rng.normal(size=len(rows))

    with pytest.warns(
        SFITWarning, match=rf"differ from call to call, for {100 * share:.3g}% of 256"
    ):
        table_of(model)


def test_sums_in_another_order_are_no_noise():
    """Threads add up in any order: the last bits that change from call to call are rounding."""
    rng = np.random.default_rng(0)

    def model(rows):
        return good(rows) + rng.choice([0.0, 4e-16], size=len(rows))

    table_of(model)  # a warning is an error here
    with pytest.warns(SFITWarning, match=r"call to call, for .*, by up to 1e-12"):
        table_of(lambda rows: good(rows) + rng.choice([0.0, 1e-12], size=len(rows)))


MASKS = {
    "no mask": (lambda values: np.ma.masked_array(values), None),
    "masked": (lambda values: np.ma.masked_array(values, values == values[-1]), "not finite"),
    "masked integers": (
        lambda values: np.ma.masked_array(values.astype(int), values > 1),
        "not finite",
    ),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("where", ["function", "estimator", "view", "loss"])
def test_masked_answers(mask, where):
    """There is no prediction, and no loss, behind a mask."""
    masked, refusal = MASKS[mask]

    class Estimator(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.fitted_ = True
            return self

        def predict(self, X):
            return masked(good(X))

    class View(sfit.models.ModelView):
        def predict(self, Z):
            return masked(good(Z))

    model = {
        "function": lambda rows: masked(good(rows)),
        "estimator": Estimator().fit(None, None),
        "view": View(task="regression"),
        "loss": good,
    }[where]
    loss = (lambda y, p: masked(np.abs(y - p))) if where == "loss" else "absolute_error"
    if refusal is None:
        expected = sfit.feature_significance(good, X, Y).table
        assert sfit.feature_significance(model, X, Y, loss=loss).table.equals(expected)
    else:
        with pytest.raises(SFITError, match=refusal):
            sfit.feature_significance(model, X, Y, loss=loss)


@pytest.mark.parametrize(
    "model",
    [
        lambda rows: good(rows) - good(rows).mean(),
        lambda rows: np.argsort(np.argsort(good(rows))) / len(rows),
    ],
    ids=["centred", "ranked"],
)
def test_answers_depend_on_the_other_rows(model):
    """Means or ranks of the batch are no prediction of a row: told, for nothing can be found."""
    with pytest.warns(SFITWarning, match="depend on which rows are predicted together"):
        table_of(model)


# --- which rows it can take --------------------------------------------------------------


def test_needs_two_rows():
    """The base is one row; a model that fails on one is asked for it twice."""

    def model(rows):
        if len(rows) < 2:
            raise ValueError("at least two rows")
        return good(rows)

    assert table_of(model).equals(EXPECTED)


def test_needs_two_rows_of_a_frame():
    """The same with frames."""

    def model(rows):
        if len(rows) < 2:
            raise ValueError("at least two rows")
        return good(rows)

    assert table_of(model, FRAME)["n_positive"].tolist() == EXPECTED["n_positive"].tolist()


def test_squeezes_the_probabilities_of_one_row():
    """A row of probabilities for a single row is recognised by asking for two."""
    y = (Y > 0).astype(int)

    def polite(rows):
        p = 1 / (1 + np.exp(-good(rows)))
        return np.column_stack([1 - p, p])

    expected = sfit.feature_significance(polite, X, y, loss="log_loss")
    result = sfit.feature_significance(lambda rows: np.squeeze(polite(rows)), X, y, loss="log_loss")
    assert result.table.equals(expected.table)


def test_raises_at_a_late_row():
    """The error says how many rows of which the model failed on, and why."""
    rows = np.repeat(X, 5, axis=0)
    rows[10_000, 1] = 123.0

    def model(block):
        if (block[:, 1] == 123.0).any():
            raise RuntimeError("cannot take 123")
        return good(block)

    with pytest.raises(ModelError, match=r"rows 0 to 14999.*'x1'.*RuntimeError: cannot take 123"):
        sfit.feature_significance(model, rows, np.repeat(Y, 5))


def test_nan_for_extreme_rows():
    """A prediction that is not finite is told with its row and what was revealed."""
    rows = X.copy()
    rows[2_500, 2] = 1e6

    def model(block):
        return np.where(np.abs(block[:, 2]) > 1e5, np.nan, block[:, 0])

    with pytest.raises(ModelError, match=r"row 2500 is not finite.*'x2'.*revealed"):
        sfit.feature_significance(model, rows, Y)


def test_slow(capsys):
    """A slow model is asked for each distinct row of each set once, and its user sees how far it is."""
    asked = []

    def model(rows):
        asked.append(len(rows))
        time.sleep(1e-6 * len(rows))
        return good(rows)

    sfit.feature_significance(model, X, Y, progress=True)
    # Three features and the gate, the base, and a look at 256 rows and at 64 one by one.
    assert sum(asked) <= 4 * N + 1 + (1 + 1_000 + 1_000) + 2 * 64
    assert "order 1: 100%" in capsys.readouterr().err


def test_float32_only():
    """Rows keep their type: float32 rows reach the model as float32, masked or not."""

    def model(rows):
        if rows.dtype != np.float32:
            raise TypeError(f"float32 only, got {rows.dtype}")
        return good(rows)

    rows = X.astype(np.float32)
    assert table_of(model, rows)["significant"].tolist() == EXPECTED["significant"].tolist()
    with pytest.raises(ModelError, match="float32 only, got float64"):
        table_of(model)


def test_needs_a_frame_with_names():
    """A model that asks for columns by name gets the user's frame, and says so of an array."""

    def model(rows):
        return 2 * rows["a"] + rows["b"] * rows["c"]

    table = table_of(model, FRAME)
    assert table["n_positive"].tolist() == EXPECTED["n_positive"].tolist()
    with pytest.raises(ModelError, match="IndexError"):
        table_of(model)


def test_pipeline_that_needs_names():
    """A pipeline fitted on a frame gets one, in the order of its columns."""
    head = FunctionTransformer(lambda rows: rows[["c", "a"]] * 2)
    model = make_pipeline(head, LinearRegression()).fit(FRAME, Y)
    result = sfit.feature_significance(model, FRAME[["c", "b", "a"]], Y)
    assert result.table["p_value"][1] == 1.0
    assert result.feature_names == ("a", "b", "c")


# --- how it is run -----------------------------------------------------------------------


class Fragile:
    """Two threads at once are one too many."""

    def __init__(self):
        self.busy = False

    def __call__(self, rows):
        if self.busy:
            raise RuntimeError("called by two threads at once")
        self.busy = True
        time.sleep(0.01)
        self.busy = False
        return np.asarray(rows)[:, 0]


def test_not_thread_safe():
    """One thread unless the user asks for more; then the fault of the model is told as such."""
    rows = RNG.normal(size=(1_100, 40))
    sfit.feature_significance(Fragile(), rows, rows[:, 0])
    with pytest.raises(ModelError, match=r"called by two threads at once .*use n_jobs=1"):
        sfit.feature_significance(Fragile(), rows, rows[:, 0], n_jobs=2)


class Local:
    """Holds a lock, which no library can send to another process."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, rows):
        with self.lock:
            return good(rows)


def test_a_lambda_runs_in_processes():
    """joblib's own pickling takes functions from anywhere."""
    with parallel_config(backend="loky", n_jobs=2):
        assert table_of(lambda rows: good(rows)).equals(EXPECTED)


def test_a_model_that_cannot_be_pickled_runs_in_threads():
    """Threads instead of processes, whatever backend the user asked for."""
    with parallel_config(backend="loky", n_jobs=2):
        assert table_of(Local()).equals(EXPECTED)


def test_threads_change_nothing():
    """The table is the same for any number of threads."""
    assert table_of(good, n_jobs=2).equals(EXPECTED)
