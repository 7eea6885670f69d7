"""Bad input, for a model of every library: the same mistake is met by the same kind of error.

The other `test_bad_*.py` hold the mistakes that depend on no library. Each case here works or raises
one SFITError that names the mistake; no case may silently change the answer.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITError

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 3)).astype(np.float32).astype(np.float64)
Y = 2 * X[:, 0] + 0.1 * RNG.normal(size=N)
CLASS = (Y > 0).astype(int)
NAMES = ["a", "b", "c"]


def scikit():
    return LinearRegression(), LogisticRegression()


def lightgbm():
    library = pytest.importorskip("lightgbm")
    options = {"n_estimators": 5, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
    return library.LGBMRegressor(**options), library.LGBMClassifier(**options)


def xgboost():
    library = pytest.importorskip("xgboost")
    options = {"n_estimators": 5, "max_depth": 2, "n_jobs": 1}
    return library.XGBRegressor(**options), library.XGBClassifier(**options)


def catboost():
    library = pytest.importorskip("catboost")
    options = {"iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return library.CatBoostRegressor(**options), library.CatBoostClassifier(**options)


def fitted(pair):
    regressor, classifier = pair
    return regressor.fit(X, Y), classifier.fit(X, CLASS)


def linear_module(*ending):
    """A torch module that is right: twice the first column."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    layer = torch.nn.Linear(3, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[2.0, 0.0, 0.0]]))
        layer.bias.zero_()
    return torch.nn.Sequential(layer, *ending)


def torch():
    library = pytest.importorskip("torch")
    return linear_module(library.nn.Flatten(0)), linear_module(library.nn.Sigmoid())


def skorch():
    library = pytest.importorskip("skorch")
    torch = pytest.importorskip("torch")
    options = {"max_epochs": 1, "lr": 1e-9, "verbose": 0, "train_split": None}
    rows = X.astype(np.float32)
    regressor = library.NeuralNetRegressor(linear_module(), **options)
    classifier = library.NeuralNetBinaryClassifier(
        linear_module(torch.nn.Flatten(0)), criterion=torch.nn.BCEWithLogitsLoss, **options
    )
    return (
        regressor.fit(rows, Y[:, None].astype(np.float32)),
        classifier.fit(rows, CLASS.astype(np.float32)),
    )


def keras():
    library = pytest.importorskip("keras")
    pytest.importorskip("torch")
    models = []
    for activation in (None, "sigmoid"):
        layer = library.layers.Dense(1, activation=activation)
        model = library.Sequential([library.Input((3,)), layer])
        layer.set_weights([np.array([[2.0], [0.0], [0.0]]), np.zeros(1)])
        models.append(model)
    return tuple(models)


def onnx():
    library = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    head = X[:1].astype(np.float32)
    regressor, classifier = fitted(scikit())
    return (
        library.to_onnx(regressor, head).SerializeToString(),
        library.to_onnx(classifier, head, options={"zipmap": False}).SerializeToString(),
    )


def function():
    def probabilities(rows):
        p = 1 / (1 + np.exp(-2 * np.asarray(rows, dtype=float)[:, 0]))
        return np.column_stack([1 - p, p])

    return (
        lambda rows: 2 * np.asarray(rows, dtype=float)[:, 0],
        sfit.models.function_model(probabilities, "classification", [0, 1]),
    )


LIBRARIES = {
    "scikit-learn": lambda: fitted(scikit()),
    "lightgbm": lambda: fitted(lightgbm()),
    "xgboost": lambda: fitted(xgboost()),
    "catboost": lambda: fitted(catboost()),
    "torch": torch,
    "skorch": skorch,
    "keras": keras,
    "onnx": onnx,
    "function": function,
}
UNFITTED = {"scikit-learn": scikit, "lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost}


@pytest.fixture(scope="module")
def models():
    """The two models of a library, made when first asked for."""
    known = {}

    def get(name):
        if name not in known:
            known[name] = LIBRARIES[name]()
        return known[name]

    return get


def at(row, value, values):
    changed = np.asarray(values).astype(object)
    changed[row] = value
    return changed


def holding(value):
    changed = X.copy()
    changed[5, 1] = value
    return changed


# What is done, to the regressor (0) or the classifier (1); the errors that may be raised; a word.
MISTAKES = {
    "no-rows": (0, {"X": X[:0], "y": Y[:0]}, DataError, "(0, 3)"),
    "one-dimension": (0, {"X": X[:, 0]}, DataError, "two dimensions"),
    "infinite": (0, {"X": holding(np.inf)}, DataError, "row 5"),
    "y-short": (0, {"y": Y[:9]}, DataError, "y has 9"),
    "y-missing": (0, {"y": at(9, np.nan, Y).astype(float)}, DataError, "row 9"),
    "y-text": (0, {"y": np.array(["a"] * N)}, DataError, "y"),
    "y-two-columns": (0, {"y": np.column_stack([Y, Y])}, ModelError, "agree"),
    "y-unknown-class": (1, {"y": at(9, 7, CLASS)}, DataError, "7"),
    "y-other-type": (1, {"y": CLASS.astype(str)}, DataError, "classes"),
    "y-fractions": (1, {"y": Y}, DataError, "classes"),
    "loss-of-other-task": (0, {"loss": "zero_one"}, ArgumentError, "loss"),
    "loss-of-numbers": (1, {"y": CLASS, "loss": "absolute_error"}, ArgumentError, "loss"),
    "by-class": (0, {"by": "class"}, ArgumentError, "classification"),
}
# These learn their classes from y: what is unknown to others is a class of theirs.
CLASSES_FROM_Y = ("torch", "keras")
# What these predict is known from the loss and the output only.
SAY_LITTLE = (*CLASSES_FROM_Y, "onnx")


@pytest.fixture
def asked(monkeypatch):
    """How many rows each call of a view's predict was about."""
    from sfit.models import as_view

    calls = []

    def spied(model, loss):
        view = as_view(model, loss)
        predict = type(view).predict

        def counting(self, rows):
            calls.append(len(rows))
            return predict(self, rows)

        monkeypatch.setattr(type(view), "predict", counting)
        return view

    monkeypatch.setattr("sfit.sample.as_view", spied)
    return calls


@pytest.mark.parametrize("library", LIBRARIES)
def test_predictions_are_counted(models, library, asked):
    """What shows that nothing was asked shows it where something is."""
    sfit.feature_significance(models(library)[0], X, Y)
    assert len(asked) > 0


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_mistake(models, library, mistake, asked):
    """One error of the right kind, in every library; the model's output aside, before it is asked."""
    which, changes, error, word = MISTAKES[mistake]
    if library == "function" and mistake == "loss-of-other-task":
        pytest.skip("a bare function is one of classification where the loss is")
    if library in CLASSES_FROM_Y and mistake == "y-other-type":
        pytest.skip("the classes of this model are the values of y")
    arguments = {"X": X, "y": (Y, CLASS)[which], **changes}
    model = models(library)[which]
    with pytest.raises(SFITError) as caught:
        sfit.feature_significance(model, **arguments)
    kinds = (error, ModelError) if library in SAY_LITTLE else (error,)
    assert isinstance(caught.value, kinds), repr(caught.value)
    if isinstance(caught.value, error):
        assert word in str(caught.value)
    if not isinstance(caught.value, ModelError):
        assert asked == []


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "function"])
def test_width(models, library, columns):
    """Rows of another width are refused, with both numbers or by the library's own words."""
    rows = np.column_stack([X, X])[:, :columns]
    with pytest.raises((DataError, ModelError), match=str(columns)):
        sfit.feature_significance(models(library)[0], rows, Y)


@pytest.mark.parametrize("columns", [[0, 1], ["x0", "x1", "x2", "x3"]], ids=["few", "many"])
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "function"])
def test_width_of_features(models, library, columns):
    """So are features of another number, where the columns have no names to go by."""
    with pytest.raises((ArgumentError, ModelError), match=rf"3|{len(columns)}"):
        sfit.feature_significance(models(library)[0], np.column_stack([X, X]), Y, features=columns)


@pytest.mark.parametrize("library", UNFITTED)
def test_unfitted(library):
    """Fit it first."""
    for model in UNFITTED[library]():
        with pytest.raises(ModelError, match="not fitted"):
            sfit.feature_significance(model, X, CLASS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_text_among_the_rows(models, library):
    """A column of text for a model of numbers: one error that names the column or the failure."""
    if library == "function":
        pytest.skip("a function may make of text what it likes")
    frame = pd.DataFrame(X, columns=NAMES).assign(b=["u", "v", "w"] * (N // 3))
    with pytest.raises((DataError, ModelError)):
        sfit.feature_significance(models(library)[0], frame, Y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_values(models, library):
    """Taken where the model takes them; otherwise one error, which names the row or the failure."""
    try:
        result = sfit.feature_significance(models(library)[0], holding(np.nan), Y)
    except SFITError as error:
        told = str(error)
        assert "NaN" in told or "not finite" in told or "missing" in told
    else:
        assert result.table["n"].tolist() == [N] * 3


def as_kind(kind, folder):
    """The rows and their target in another form."""
    frame = pd.DataFrame(X, columns=NAMES)
    if kind == "pandas":
        return frame, Y
    if kind == "list":
        return X.tolist(), Y.tolist()
    if kind == "fortran":
        return np.asfortranarray(X), Y
    if kind == "float32":
        return X.astype(np.float32), Y
    if kind == "sparse":
        return sp.csr_array(X), Y
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame), Y
    pyarrow = pytest.importorskip("pyarrow")
    if kind == "pyarrow":
        return pyarrow.Table.from_pandas(frame), Y
    frame.assign(y=Y).to_parquet(folder / "rows.parquet")
    return str(folder / "rows.parquet"), "y"


KINDS = ["list", "fortran", "float32", "pandas", "polars", "pyarrow", "sparse", "parquet"]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_kind_of_rows(models, library, kind, tmp_path):
    """Each kind of rows gives each library's model the counts of the plain array."""
    model = models(library)[0]
    expected = sfit.feature_significance(model, X, Y)
    found = sfit.feature_significance(model, *as_kind(kind, tmp_path))
    assert found.table["n_positive"].tolist() == expected.table["n_positive"].tolist()
    assert expected.table["significant"].tolist() == [True, False, False]
