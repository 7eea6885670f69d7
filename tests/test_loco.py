"""LOCO against a loop of refits by hand and SciPy's binomial test."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sfit
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITError, SFITWarning

RNG = np.random.default_rng(2)
N = 400
X = RNG.normal(size=(2 * N, 4))
Y = 2 * X[:, 0] + X[:, 1] + 0.05 * X[:, 2] + RNG.normal(size=2 * N)
CLASS = np.digitize(Y, [-1.5, 1.5])
TRAIN, TEST = slice(0, N), slice(N, 2 * N)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


def absolute(y, prediction):
    return np.abs(y - prediction)


def squared(y, prediction):
    return (y - prediction) ** 2


def cross_entropy(y, probabilities):
    return -np.log(np.clip(probabilities[np.arange(len(y)), y], np.finfo(float).eps, 1))


def by_hand(estimator, y, loss, columns, alpha=0.05):
    """The differences of losses, the counts and SciPy's p-values, one refit at a time."""
    ask = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"

    def predictions(kept):
        model = clone(estimator).fit(X[TRAIN][:, kept], y[TRAIN])
        return getattr(model, ask)(X[TEST][:, kept])

    everything = list(range(X.shape[1]))
    full = predictions(everything)
    rows = []
    for left_out in columns:
        base = predictions([c for c in everything if c not in left_out])
        # Predictions that differ by rounding only are the same: the rule of STATISTICS.md.
        same = np.isclose(base, full, rtol=8 * np.finfo(float).eps, atol=0)
        same = same if same.ndim == 1 else same.all(axis=1)
        delta = np.where(same, 0.0, loss(y[TEST], base) - loss(y[TEST], full))
        count = int((delta > 0).sum())
        test = binomtest(count, N, 0.5, alternative="greater")
        rows.append((np.median(delta), count, test.pvalue, test.pvalue < alpha))
    return rows


def assert_equals_by_hand(result, rows):
    """The table of a result has the medians, counts, p-values and decisions found by hand."""
    table = result.table
    assert table["n_positive"].tolist() == [count for _, count, _, _ in rows]
    np.testing.assert_allclose(table["statistic"], [median for median, *_ in rows], rtol=1e-9)
    np.testing.assert_allclose(table["p_value"], [p for _, _, p, _ in rows], rtol=1e-9)
    assert table["significant"].tolist() == [found for *_, found in rows]


@pytest.mark.parametrize(
    ("estimator", "loss", "by_row"),
    [
        (LinearRegression(), "auto", absolute),
        (Ridge(3.0), "squared_error", squared),
        (DecisionTreeRegressor(max_depth=4, random_state=0), "absolute_error", absolute),
        (make_pipeline(StandardScaler(), LinearRegression()), "auto", absolute),
        (LinearRegression(), absolute, absolute),
    ],
    ids=["linear", "ridge", "tree", "pipeline", "callable"],
)
def test_regression_equals_a_loop_of_refits(estimator, loss, by_row):
    """Each feature is left out, the estimator fitted anew, and the losses compared."""
    result = sfit.loco_significance(estimator, X[TRAIN], Y[TRAIN], X[TEST], Y[TEST], loss=loss)
    assert_equals_by_hand(result, by_hand(estimator, Y, by_row, [[0], [1], [2], [3]]))


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(C=0.1), DecisionTreeClassifier(max_depth=3, random_state=0)],
    ids=["logistic", "tree"],
)
def test_classification_equals_a_loop_of_refits(estimator):
    """The same with three classes and the log loss."""
    result = sfit.loco_significance(estimator, X[TRAIN], CLASS[TRAIN], X[TEST], CLASS[TEST])
    assert_equals_by_hand(result, by_hand(estimator, CLASS, cross_entropy, [[0], [1], [2], [3]]))


def test_classes_may_be_text():
    """Labels are looked up in the classes of each refit."""
    labels = np.array(["low", "mid", "top"])[CLASS]
    estimator = LogisticRegression(C=0.1)
    words = sfit.loco_significance(estimator, X[TRAIN], labels[TRAIN], X[TEST], labels[TEST])
    numbers = sfit.loco_significance(estimator, X[TRAIN], CLASS[TRAIN], X[TEST], CLASS[TEST])
    assert words.table.equals(numbers.table)


def test_groups_are_left_out_together():
    """A group is one feature: all its columns go."""
    result = sfit.loco_significance(
        LinearRegression(), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST], groups={"g": ["x1", 3]}
    )
    assert result.feature_names == ("x0", "g", "x2")
    assert_equals_by_hand(result, by_hand(LinearRegression(), Y, absolute, [[0], [1, 3], [2]]))


def test_features_choose_the_columns():
    """Only the columns named are used, in all fits."""
    result = sfit.loco_significance(
        LinearRegression(), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST], features=["x0", "x2", "x3"]
    )
    kept = X[:, [0, 2, 3]]
    expected = sfit.loco_significance(
        LinearRegression(), kept[TRAIN], Y[TRAIN], kept[TEST], Y[TEST]
    )
    assert result.feature_names == ("x0", "x2", "x3")
    assert result.table["n_positive"].tolist() == expected.table["n_positive"].tolist()


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_workers_change_nothing(n_jobs):
    """Refits side by side give the same result."""
    arguments = (DecisionTreeRegressor(random_state=0), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST])
    one = sfit.loco_significance(*arguments)
    assert sfit.loco_significance(*arguments, n_jobs=n_jobs) == one


def test_corrections_and_levels():
    """Decisions follow the adjusted p-values, and `at` decides again."""
    arguments = (LinearRegression(), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST])
    plain = sfit.loco_significance(*arguments)
    holm = sfit.loco_significance(*arguments, correction="holm", alpha=0.01)
    assert (
        plain.at(correction="holm", alpha=0.01)
        .table["significant"]
        .equals(holm.table["significant"])
    )
    assert (holm.table["p_adjusted"] >= plain.table["p_value"]).all()


def test_what_the_result_says():
    """Base, beta and settings are those of LOCO, and the JSON comes back."""
    result = sfit.loco_significance(LinearRegression(), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST])
    assert result.table["base"][0] == ("x1", "x2", "x3")
    assert (result.table["beta"] == 0).all()
    assert (result.table["n"] == N).all()
    assert result.settings.test.startswith("LOCO")
    assert result.gates == ()
    assert "LOCO" in result.summary()
    assert sfit.SFITResult.from_json(result.to_json()) == result


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_pyarrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame.reset_index(drop=True))


@pytest.mark.parametrize("convert", [pd.DataFrame, as_polars, as_pyarrow])
def test_frames(convert):
    """Frames of any library give the counts of the array, under the user's names."""
    train, test = convert(FRAME[TRAIN]), convert(FRAME[TEST][["d", "c", "b", "a"]])
    result = sfit.loco_significance(LinearRegression(), train, Y[TRAIN], test, Y[TEST])
    assert result.feature_names == ("a", "b", "c", "d")
    assert_equals_by_hand(result, by_hand(LinearRegression(), Y, absolute, [[0], [1], [2], [3]]))


def test_frames_with_numbered_columns():
    """A frame made of an array has the names 0, 1, ..."""
    frame = pd.DataFrame(X)
    result = sfit.loco_significance(
        LinearRegression(), frame[TRAIN], Y[TRAIN], frame[TEST], Y[TEST]
    )
    assert result.feature_names == ("0", "1", "2", "3")
    assert_equals_by_hand(result, by_hand(LinearRegression(), Y, absolute, [[0], [1], [2], [3]]))


def test_pipelines_that_choose_columns_by_type():
    """Text columns are encoded by a pipeline, which is fitted anew as a whole."""
    colour = np.array(["red", "green", "blue"])[RNG.integers(3, size=2 * N)]
    frame = FRAME.assign(colour=colour)
    y = Y + 3 * (colour == "red")
    text = make_column_selector(dtype_include=["object", "string"])
    head = ColumnTransformer([("text", OneHotEncoder(), text)], remainder="passthrough")
    result = sfit.loco_significance(
        make_pipeline(head, LinearRegression()), frame[TRAIN], y[TRAIN], frame[TEST], y[TEST]
    )
    assert result.selected == ("a", "b", "colour")


def test_several_outputs():
    """The losses of several outputs are averaged."""
    both = np.column_stack([Y, -Y])
    result = sfit.loco_significance(LinearRegression(), X[TRAIN], both[TRAIN], X[TEST], both[TEST])
    one = sfit.loco_significance(LinearRegression(), X[TRAIN], Y[TRAIN], X[TEST], Y[TEST])
    assert result.table["significant"].equals(one.table["significant"])


def test_the_estimator_and_the_rows_stay_as_they_are():
    """Clones are fitted, the estimator that was passed is not, and rows may be read-only."""
    estimator = LinearRegression()
    rows = X.copy()
    rows.flags.writeable = False
    sfit.loco_significance(estimator, rows[TRAIN], Y[TRAIN], rows[TEST], Y[TEST])
    assert not hasattr(estimator, "coef_")


def test_few_rows_warn():
    """With three rows nothing can be found: a warning, and a caveat in the result."""
    with pytest.warns(SFITWarning, match="at least 5"):
        result = sfit.loco_significance(LinearRegression(), X[TRAIN], Y[TRAIN], X[:3], Y[:3])
    assert "at least 5" in result.caveats[0]


class Picky(RegressorMixin, BaseEstimator):
    """Cannot be fitted without its first four columns."""

    def fit(self, X, y):
        if X.shape[1] < 4:
            raise RuntimeError("too few columns")
        self.coef_ = 1.0
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


GOOD = {
    "estimator": LinearRegression(),
    "X_train": X[TRAIN],
    "y_train": Y[TRAIN],
    "X_test": X[TEST],
    "y_test": Y[TEST],
}
BAD = {
    "class": (ArgumentError, ["estimator", "instance"], {"estimator": LinearRegression}),
    "function": (ArgumentError, ["estimator"], {"estimator": len}),
    "none": (ArgumentError, ["estimator", "None"], {"estimator": None}),
    "transformer": (ModelError, ["StandardScaler"], {"estimator": StandardScaler()}),
    "not-fitted": (ModelError, ["Picky", "3 columns", "too few"], {"estimator": Picky()}),
    "y_train-short": (DataError, ["y_train has 5"], {"y_train": Y[:5]}),
    "y_test-short": (DataError, ["y_test has 5"], {"y_test": Y[:5]}),
    "y_train-none": (ArgumentError, ["y_train", "None"], {"y_train": None}),
    "y_test-nan": (DataError, ["missing"], {"y_test": Y[TEST] * np.nan}),
    "y_train-nan": (ModelError, ["LinearRegression", "NaN"], {"y_train": Y[TRAIN] * np.nan}),
    "X_train-1d": (DataError, ["X_train", "two dimensions"], {"X_train": X[TRAIN, 0]}),
    "X_test-1d": (DataError, ["X_test", "two dimensions"], {"X_test": X[TEST, 0]}),
    "X_train-empty": (DataError, ["X_train", "(0, 4)"], {"X_train": X[:0], "y_train": Y[:0]}),
    "X_test-empty": (DataError, ["X_test", "(0, 4)"], {"X_test": X[:0], "y_test": Y[:0]}),
    "X_test-width": (DataError, ["X_test has 2", "X_train has 4"], {"X_test": X[TEST, :2]}),
    "X_test-names": (
        ArgumentError,
        ["X_test lacks the columns ['a'] of X_train", "features=[...]"],
        {"X_train": FRAME[TRAIN], "X_test": FRAME[TEST][["b", "c", "d"]]},
    ),
    "one-feature": (
        ArgumentError,
        ["at least two"],
        {"X_train": X[TRAIN, :1], "X_test": X[TEST, :1]},
    ),
    "one-group": (ArgumentError, ["at least two"], {"groups": {"g": [0, 1, 2, 3]}}),
    "groups-unknown": (ArgumentError, ["groups['g']", "'z'"], {"groups": {"g": ["z"]}}),
    "groups-overlap": (ArgumentError, ["overlap"], {"groups": {"g": [0, 1], "h": [1]}}),
    "features-unknown": (ArgumentError, ["features", "'z'"], {"features": ["z"]}),
    "features-number": (ArgumentError, ["features"], {"features": 3.5}),
    "alpha": (ArgumentError, ["alpha"], {"alpha": "0.05"}),
    "correction": (ArgumentError, ["correction", "'holm'"], {"correction": "x"}),
    "test": (ArgumentError, ["test", "'sign'", "SignTest"], {"test": "x"}),
    "loss": (ArgumentError, ["loss", "'squared_error'"], {"loss": "mse"}),
    "loss-task": (ArgumentError, ["'log_loss'", "regression"], {"loss": "log_loss"}),
    "n_jobs": (ArgumentError, ["n_jobs", "0"], {"n_jobs": 0}),
    "progress": (ArgumentError, ["progress", "'no'"], {"progress": "no"}),
    "class-unknown": (
        DataError,
        ["[3]", "[0, 1, 2]"],
        {"estimator": LogisticRegression(), "y_train": CLASS[TRAIN], "y_test": CLASS[TEST] + 1},
    ),
}


@pytest.mark.parametrize(("error", "words", "changes"), BAD.values(), ids=BAD)
def test_bad_input(error, words, changes):
    """Each fault is one error of the tree that names what is wrong."""
    with pytest.raises(SFITError) as caught:
        sfit.loco_significance(**{**GOOD, **changes})
    assert type(caught.value) is error, repr(caught.value)
    for word in words:
        assert word in str(caught.value)


class Named(TransformerMixin, BaseEstimator):
    """A step of the user that names its columns."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[["a", "b"]]


def test_a_step_that_names_its_columns_says_what_to_do():
    """It cannot be fitted without one of them; the error has the remedy."""
    estimator = make_pipeline(Named(), LinearRegression())
    with pytest.raises(ModelError, match="select columns by dtype"):
        sfit.loco_significance(estimator, FRAME[TRAIN], Y[TRAIN], FRAME[TEST], Y[TEST])


@pytest.mark.parametrize(
    "columns",
    [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"])],
    ids=["list", "tuple", "array", "index"],
)
def test_pipelines_that_name_their_columns(columns):
    """Refitted without a named column, as by hand with lists that lack it; nothing is changed."""
    rest = [name for name in FRAME.columns if name not in ("a", "b")]

    def estimator(left=columns, right=rest):
        scale = ("scale", StandardScaler(), left)
        inner = ColumnTransformer([("keep", "passthrough", right)])
        return make_pipeline(
            ColumnTransformer([scale, ("inner", inner, right)]), LinearRegression()
        )

    given = estimator()
    result = sfit.loco_significance(given, FRAME[TRAIN], Y[TRAIN], FRAME[TEST], Y[TEST])
    assert given[0].transformers[0][2] is columns
    assert not hasattr(given[0], "transformers_")
    full = estimator().fit(FRAME[TRAIN], Y[TRAIN])
    after = np.abs(Y[TEST] - full.predict(FRAME[TEST]))
    for test, name in zip(result.tests, FRAME.columns, strict=True):
        left, right = ([str(c) for c in some if c != name] for some in (columns, rest))
        part = estimator(left, right).fit(FRAME[TRAIN].drop(columns=name), Y[TRAIN])
        before = np.abs(Y[TEST] - part.predict(FRAME[TEST].drop(columns=name)))
        assert test.term == (name,)
        assert test.statistic == pytest.approx(np.median(before - after), rel=1e-9, abs=1e-12)


def test_a_transformer_of_one_named_column():
    """A single name, as text encoders take it, and groups of columns."""
    text = np.array(["red", "green", "blue"])[RNG.integers(3, size=2 * N)]
    frame = FRAME.assign(colour=text)
    y = Y + 3 * (text == "red")
    words = ("words", CountVectorizer(), "colour")
    head = ColumnTransformer([words, ("numbers", "passthrough", ["a", "b"])])
    estimator = make_pipeline(head, LinearRegression())
    rows = frame[TRAIN], y[TRAIN], frame[TEST], y[TEST]
    assert sfit.loco_significance(estimator, *rows).selected == ("a", "b", "colour")
    groups = {"both": ["a", "colour"]}
    assert sfit.loco_significance(estimator, *rows, groups=groups).selected == ("both", "b")
