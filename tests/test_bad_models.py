"""Models that cannot be tested, and predictions that cannot be used."""

from importlib.util import find_spec

import numpy as np
import pytest
from bad_input import CLASS, FRAME, N, Recorder, Silent, X, Y, assert_refused, at, case
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sfit
from sfit.exceptions import ArgumentError, DataError, ModelError

BOTH = np.column_stack([CLASS, 1 - CLASS])
NAMED = LinearRegression().fit(FRAME, Y)
LOGISTIC = LogisticRegression().fit(X, CLASS)
MODELS = [
    case("model-none", ModelError, "NoneType", model=None),
    case("model-number", ModelError, "int", model=3),
    case("model-list", ModelError, "list", model=[LinearRegression()]),
    case("model-class", ModelError, "class LinearRegression", "instance", model=LinearRegression),
    case("model-unfitted", ModelError, "LinearRegression", "not fitted", model=LinearRegression()),
    case(
        "model-unfitted-pipeline",
        ModelError,
        "not fitted",
        model=make_pipeline(StandardScaler(), LinearRegression()),
    ),
    case(
        "model-unfitted-search",
        ModelError,
        "not fitted",
        model=GridSearchCV(LinearRegression(), {}),
    ),
    case(
        "model-search-without-refit",
        ModelError,
        "refit=False",
        "refit=True",
        model=GridSearchCV(LinearRegression(), {}, cv=2, refit=False).fit(X, Y),
    ),
    case("model-clusterer", ModelError, "KMeans", "function", model=KMeans(2, n_init=1).fit(X)),
    case("model-transformer", ModelError, "StandardScaler", model=StandardScaler().fit(X)),
    case(
        "model-outliers",
        ModelError,
        "IsolationForest",
        model=IsolationForest(n_estimators=2).fit(X),
    ),
    case(
        "model-pipeline-clusterer",
        ModelError,
        "KMeans",
        model=make_pipeline(StandardScaler(), KMeans(2, n_init=1)).fit(X),
    ),
    case(
        "model-multilabel-forest",
        ModelError,
        "several labels",
        model=RandomForestClassifier(2).fit(X, BOTH),
        y=CLASS,
    ),
    case(
        "model-multilabel",
        ModelError,
        "several labels",
        model=MultiOutputClassifier(LogisticRegression()).fit(X, BOTH),
        y=CLASS,
    ),
    pytest.param(
        ModelError,
        ["nofile.onnx"],
        {"model": "nofile.onnx"},
        id="model-no-file",
        marks=pytest.mark.skipif(find_spec("onnx") is None, reason="needs onnx"),
    ),
    case(
        "svc-auto",
        ModelError,
        "predict_proba",
        "zero_one",
        model=LinearSVC().fit(X, CLASS),
        y=CLASS,
    ),
    case(
        "svc-log-loss",
        ModelError,
        "predict_proba",
        "CalibratedClassifierCV",
        model=LinearSVC().fit(X, CLASS),
        y=CLASS,
        loss="log_loss",
    ),
    case(
        "loss-of-other-task",
        ArgumentError,
        "'log_loss'",
        "regression",
        model=NAMED,
        loss="log_loss",
    ),
    case("loss-of-regression", ArgumentError, "'brier'", model=LOGISTIC, y=CLASS, loss="poisson"),
    case(
        "class-unknown",
        DataError,
        "[7]",
        f"row {N - 1}",
        "[0, 1]",
        model=LOGISTIC,
        y=at(-1, 7, CLASS),
    ),
    case("class-text", DataError, "'1'", "[0, 1]", model=LOGISTIC, y=CLASS.astype(str)),
    case("class-numbers", DataError, "classes", model=LOGISTIC, y=Y),
    case("names-missing", DataError, "X lacks", "'c'", model=NAMED, X=FRAME[["a", "b"]]),
    case("names-other", DataError, "X lacks 3", model=NAMED, X=FRAME.set_axis(list("uvw"), axis=1)),
    case("names-width", DataError, "2 columns", "fitted on 3", model=NAMED, X=X[:, :2]),
    case(
        "names-some",
        ArgumentError,
        "features",
        "['a', 'b', 'c']",
        model=NAMED,
        X=FRAME,
        features=["a", "b"],
    ),
    case("width", DataError, "2 columns", "fitted on 3", model=Silent().fit(X, Y), X=X[:, :2]),
]


@pytest.mark.parametrize(("error", "words", "changes"), MODELS)
def test_model(error, words, changes):
    """A model that cannot be tested, or does not fit the rows, is refused before it predicts."""
    arguments = {"X": X, "y": Y, **changes}
    assert_refused(lambda: sfit.feature_significance(**arguments), error, words)
    assert getattr(changes["model"], "calls_", 0) == 0


def test_hard_classifier_takes_the_zero_one_loss():
    """LinearSVC works with the loss that needs labels only."""
    label = np.arange(N) % 3
    rows = np.column_stack([np.cos(label), np.sin(label)]) + 0.01 * X[:, :2]
    model = LinearSVC().fit(rows, label)
    result = sfit.feature_significance(model, rows, label, loss="zero_one")
    assert result.settings.loss == "zero_one"
    expected = sfit.feature_significance(
        sfit.models.function_model(
            lambda block: np.eye(3)[model.predict(block)], "classification", [0, 1, 2]
        ),
        rows,
        label,
        loss="zero_one",
    )
    assert result.table.equals(expected.table)


def tiled(probabilities):
    """A model that gives every row the same probabilities."""
    return lambda rows: np.tile(probabilities, (len(rows), 1))


OUTPUTS = [
    case("none", ModelError, "one prediction per row", answer=lambda rows: None),
    case("scalar", ModelError, "one prediction per row", answer=lambda rows: 1.0),
    case("short", ModelError, "one prediction per row", answer=lambda rows: rows[:-1, 0]),
    case(
        "transposed",
        ModelError,
        "one prediction per row",
        f"(1, {N})",
        answer=lambda rows: rows[:, :1].T,
    ),
    case("3d", ModelError, "one prediction per row", answer=lambda rows: rows[:, :, None]),
    case(
        "two-outputs",
        ModelError,
        "2 values per row, but y has 1:",
        "agree",
        answer=lambda rows: rows[:, :2],
    ),
    case("text", ModelError, "numbers", answer=lambda rows: ["a"] * len(rows)),
    case("complex", ModelError, "complex128", answer=lambda rows: rows[:, 0] * 1j),
    case("dates", ModelError, "datetime64", answer=lambda rows: np.zeros(len(rows), "M8[D]")),
    case("objects", ModelError, "object", answer=lambda rows: rows[:, 0].astype(object)),
    case(
        "nan",
        ModelError,
        "row 0",
        "not finite",
        "reference",
        answer=lambda rows: rows[:, 0] * np.nan,
    ),
    case("raises", ModelError, "ZeroDivisionError", "rows 0 to", answer=lambda rows: 1 / 0),
    case("ragged", ModelError, "inhomogeneous", answer=lambda rows: [[1], [1, 2]]),
    case(
        "negative", ModelError, "not probabilities", "row 0", "softmax", answer=tiled([-0.1, 1.1])
    ),
    case("above-one", ModelError, "not probabilities", answer=lambda rows: np.full(len(rows), 1.5)),
    case("sum", ModelError, "not probabilities", "[0.5, 0.6]", answer=tiled([0.5, 0.6])),
    case("logits", ModelError, "logits", answer=tiled([3.0, -2.0])),
    case("classes", ModelError, "2 of them", "(0, 1)", "classes=", answer=tiled([0.2, 0.3, 0.5])),
]
PROBABILITIES = {"negative", "above-one", "sum", "logits", "classes"}


@pytest.mark.parametrize(("error", "words", "changes"), OUTPUTS)
def test_output(error, words, changes, request):
    """What the model returns is checked on the probe, before the real work."""
    model = Recorder(changes["answer"])
    classify = request.node.callspec.id in PROBABILITIES
    y, loss = (CLASS, "log_loss") if classify else (Y, "auto")
    assert_refused(lambda: sfit.feature_significance(model, X, y, loss=loss), error, words)
    assert sum(model.calls) <= 1_000 + 3


MANY = np.random.default_rng(1).normal(size=(70_000, 2))
MANY[69_000, 0] = 99.0


@pytest.mark.parametrize(
    ("answer", "loss", "words"),
    [
        (lambda rows: np.where(rows[:, 0] > 50, np.nan, 0.5), "auto", "not finite"),
        (lambda rows: np.where(rows[:, 0] > 50, 1.7, 0.5), "log_loss", "not probabilities"),
    ],
    ids=["nan", "probability"],
)
def test_a_late_fault_of_the_model_names_the_row(answer, loss, words):
    """A fault far behind the probe is reported with its row among all rows."""
    y = np.arange(70_000) % 2
    call = lambda: sfit.feature_significance(Recorder(answer), MANY, y, loss=loss)  # noqa: E731
    assert_refused(call, ModelError, [words, "row 69000"])


def test_the_error_names_the_users_row_where_rows_were_set_aside():
    """With beta="auto" the tested rows are a part of those given; errors still name the user's."""
    rows = np.column_stack([np.arange(400.0), np.random.default_rng(1).normal(size=400)])

    def model(block):
        return np.where(block[:, 0] == 333.0, np.nan, block[:, 1])

    call = lambda: sfit.feature_significance(  # noqa: E731
        model,
        rows,
        rows[:, 1],
        beta="auto",
        test=sfit.SignTest(random_model=lambda rng: lambda block: 0 * block[:, 1]),
        random_state=1,
    )
    assert_refused(call, ModelError, ["row 333"])


FUNCTIONS = [
    case("f", ArgumentError, "f must be callable", "3", f=3),
    case("f-estimator", ArgumentError, "f must be callable", f=LinearRegression()),
    case("f-class", ArgumentError, "class", f=LinearRegression),
    case("task", ArgumentError, "task", "'classification'", "'ranking'", task="ranking"),
    case("task-none", ArgumentError, "task", "None", task=None),
    case("task-array", ArgumentError, "task", task=np.array(["a", "b"])),
    case("classes-of-regression", ArgumentError, "classes", task="regression", classes=[0, 1]),
    case("classes-twice", ArgumentError, "classes", "distinct", classes=[0, 0]),
    case("classes-2d", ArgumentError, "classes", classes=[[0, 1]]),
    case("classes-ragged", ArgumentError, "classes", classes=[[0], [1, 2]]),
    case("classes-text", ArgumentError, "classes", "'ab'", classes="ab"),
    case("classes-number", ArgumentError, "classes", "3", classes=3),
    case("classes-set", ArgumentError, "classes", classes={0, 1}),
    case("classes-empty", ArgumentError, "classes", classes=[]),
    case("classes-missing", ArgumentError, "classes", classes=[0, np.nan]),
]


@pytest.mark.parametrize(("error", "words", "changes"), FUNCTIONS)
def test_function_model(error, words, changes):
    """function_model refuses what cannot be a model, at once."""
    arguments = {"f": len, "task": "classification", **changes}
    assert_refused(lambda: sfit.models.function_model(**arguments), error, words)


def test_classes_of_two_types_keep_their_types():
    """The labels 0 and "b" do not become "0" and "b"."""
    model = sfit.models.function_model(
        lambda rows: 0.5 + 0 * rows[:, 0], "classification", [0, "b"]
    )
    y = np.array([0, "b"] * (N // 2), dtype=object)
    assert sfit.feature_significance(model, X, y).table["n_positive"].tolist() == [0, 0, 0]
