"""`interaction="additive"`: sets are compared with the additive prediction from their parts."""

import math
import warnings
from dataclasses import asdict
from itertools import combinations

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import additive as slow
from scipy.special import expit, softmax
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiles import set_tiles

import sfit
from sfit._additive import CLIP, LINKS, Additive, scale_of
from sfit._contrast import Reveal, Rounding
from sfit._document import write
from sfit._losses import LOSSES
from sfit.exceptions import ArgumentError
from sfit.restrict import Prediction

ADDITIVE = {"max_order": 2, "interaction": "additive", "exhaustive": True}
EXACT = Rounding(2.0**-52, 0.0)


def run(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sfit.feature_significance(model, X, y, **(ADDITIVE | options))


def sets(result):
    """The tests over an additive base, by their features."""
    return {test.term: test for test in result.tests if test.order > 1}


# --- against the slow implementation --------------------------------------------------------------


def data(task, n=240, width=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    eta = X[:, 0] + X[:, 0] * X[:, 1] - 0.5 * X[:, 2] ** 2 + X[:, 1] * X[:, 2] * X[:, 3]
    if task == "regression":
        return X, eta + 0.3 * rng.normal(size=n)
    if task == "counts":
        return X, rng.poisson(np.exp(np.clip(eta, -2, 2))).astype(float)
    if task == "binary":
        return X, (eta + rng.logistic(size=n) > 0).astype(int)
    scores = np.column_stack([eta, -eta, X[:, 3]]) + rng.gumbel(size=(n, 3))
    return X, scores.argmax(axis=1)


MODELS = {
    "boosting": (GradientBoostingRegressor(n_estimators=30, random_state=0), "regression"),
    "forest": (RandomForestRegressor(n_estimators=10, random_state=0), "regression"),
    "network": (MLPRegressor(hidden_layer_sizes=(12,), max_iter=150, random_state=0), "regression"),
    "poisson": (
        HistGradientBoostingRegressor(loss="poisson", max_iter=20, random_state=0),
        "counts",
    ),
    "two classes": (HistGradientBoostingClassifier(max_iter=20, random_state=0), "binary"),
    "network of classes": (
        MLPClassifier(hidden_layer_sizes=(10,), max_iter=150, random_state=0),
        "three",
    ),
    "forest of classes": (RandomForestClassifier(n_estimators=7, random_state=0), "binary"),
    "three classes": (HistGradientBoostingClassifier(max_iter=10, random_state=0), "three"),
}


@pytest.fixture(scope="module")
def fitted():
    models = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, task) in MODELS.items():
            X, y = data(task, n=500, seed=1)
            models[name] = model.fit(X, y)
    return models


def assert_agrees(test, expected, n):
    for name in ("n_positive", "n_better", "n_worse"):
        assert getattr(test, name) == expected[name], (test.term, name)
    assert round(test.share_moved * n) == expected["n_moved"]
    for name in ("loss_base", "loss_full"):
        assert getattr(test, name) == pytest.approx(expected[name], rel=1e-8)
    share = expected["share_nonadditive"]
    # A total gain close to 0 divides by the digits that mean losses are rounded to.
    assert test.share_nonadditive == pytest.approx(share, rel=1e-4, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("reference", ["frozen", "averaged"])
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_the_slow_implementation(fitted, name, reference):
    model, (_, task) = fitted[name], MODELS[name]
    X, y = data(task)
    classes = task in ("binary", "three")
    predict = model.predict_proba if classes else model.predict
    background = np.zeros((1, 4)) if reference == "frozen" else data(task, n=5, seed=2)[0]
    options = {"reference": 0.0 if reference == "frozen" else sfit.Average(background)}
    loss = "log_loss" if classes else "poisson" if task == "counts" else "absolute_error"
    scale = {"poisson": "log", "log_loss": "log_probability"}.get(loss, "identity")
    result = run(model, X, y, max_order=3, loss=loss, beta=(0.01, 0.01, 0.001), **options)
    found = sets(result)
    terms = [*combinations(range(4), 2), *combinations(range(4), 3)]
    assert len(found) == len(terms)
    columns = [[j] for j in range(4)]
    for term in terms:
        beta = 0.01 if len(term) == 2 else 0.001
        expected = slow.set_over_parts(
            predict, X, y, background, columns, term, (), scale, loss, beta
        )
        assert_agrees(found[tuple(f"x{j}" for j in term)], expected, len(X))
    # Something moved, so that agreement means something.
    assert any(test.share_moved > 0.5 for test in found.values())


@pytest.mark.parametrize("loss", ["brier", "squared_error"])
def test_given_features_and_groups_and_other_losses(fitted, loss):
    name = "three classes" if loss == "brier" else "boosting"
    model, (_, task) = fitted[name], MODELS[name]
    X, y = data(task)
    result = run(
        model, X, y, loss=loss, reference=0.5, given=["x3"], groups={"both": ["x0", "x2"]}, beta=0.0
    )
    [(term, test)] = sets(result).items()
    assert set(term) == {"both", "x1"}
    assert set(test.base) == {"both", "x1", "x3"}
    predict = model.predict_proba if loss == "brier" else model.predict
    scale = scale_of("classification" if loss == "brier" else "regression", LOSSES[loss])
    columns = [[0, 2], [1], [3]]
    expected = slow.set_over_parts(
        predict, X, y, np.full((1, 4), 0.5), columns, (0, 1), (2,), scale, loss, 0.0
    )
    assert_agrees(test, expected, len(X))


# --- every model library --------------------------------------------------------------------------


def lightgbm_model(X, y):
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y), None


def xgboost_model(X, y):
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(n_estimators=20, n_jobs=1).fit(X, y), None


def catboost_model(X, y):
    library = pytest.importorskip("catboost")
    options = {"iterations": 20, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return library.CatBoostClassifier(**options).fit(X, y), None


def _layers(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))


def torch_network(X, y):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(*_layers(torch), torch.nn.Softmax(dim=1))

    def predict(rows):
        with torch.no_grad():
            return module(torch.tensor(rows, dtype=torch.float32)).numpy()

    return sfit.models.torch_model(module, "probabilities", [0, 1]), predict


def keras_network(X, y):
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(loss="sparse_categorical_crossentropy")
    return model, lambda rows: model.predict(rows, verbose=0)


def onnx_model(X, y):
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    model = MLPClassifier(hidden_layer_sizes=(8,), max_iter=100, random_state=0).fit(X, y)
    file = skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": False})
    import onnxruntime

    session = onnxruntime.InferenceSession(file.SerializeToString())

    def predict(rows):
        return session.run(None, {"X": rows.astype(np.float32)})[1]

    return file.SerializeToString(), predict


def skorch_network(X, y):
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    net = skorch.NeuralNetClassifier(
        torch.nn.Sequential(*_layers(torch), torch.nn.Softmax(dim=1)), max_epochs=3, verbose=0
    )
    net.fit(X.astype(np.float32), y)
    return net, lambda rows: net.predict_proba(rows.astype(np.float32))


LIBRARIES = (
    lightgbm_model,
    xgboost_model,
    catboost_model,
    torch_network,
    keras_network,
    onnx_model,
    skorch_network,
)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("make", LIBRARIES, ids=lambda make: make.__name__)
def test_models_of_every_library(make, fast):
    X, y = data("binary", n=200)
    X = X.astype(np.float32).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, predict = make(*data("binary", n=300, seed=1))
    predict = model.predict_proba if predict is None else predict
    found = sets(run(model, X, y, reference=0.0, beta=0.001, fast=fast, loss="log_loss"))
    assert len(found) == 6
    columns = [[j] for j in range(4)]
    for term in combinations(range(4), 2):
        expected = slow.set_over_parts(
            predict,
            X,
            y,
            np.zeros((1, 4)),
            columns,
            term,
            (),
            "log_probability",
            "log_loss",
            0.001,
            tolerance=1e-5,
        )
        test = found[tuple(f"x{j}" for j in term)]
        # A row of a float32 network may lie so close to the threshold that rounding decides.
        assert abs(test.n_positive - expected["n_positive"]) <= 1
        assert test.loss_base == pytest.approx(expected["loss_base"], rel=1e-4)
        assert test.loss_full == pytest.approx(expected["loss_full"], rel=1e-4)


# --- no interaction, to rounding ------------------------------------------------------------------

numbers = st.floats(-1, 1, allow_nan=False, width=32)


@st.composite
def tables(draw):
    """Columns of any scale and any distance from zero, some of them with few values or long tails."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, width = draw(st.integers(20, 300)), draw(st.integers(2, 6))
    X = rng.standard_t(2, size=(n, width)) if draw(st.booleans()) else rng.normal(size=(n, width))
    if draw(st.booleans()):
        X = np.round(2 * X)
    scales = 10.0 ** rng.integers(-3, 4, size=width)
    offsets = rng.normal(size=width) * 10.0 ** rng.integers(
        -2, draw(st.integers(-1, 5)), size=width
    )
    return rng, X * scales + offsets * draw(st.booleans())


def assert_nothing_moves(result):
    for term, test in sets(result).items():
        assert test.share_moved == 0, term
        assert test.n_better == test.n_worse == 0, term
        assert test.p_value == 1, term
        assert test.gain == 0, term


def standardised(X):
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


@given(problem=tables(), strength=st.sampled_from([0.1, 1, 10, 100]), order=st.integers(2, 3))
@settings(max_examples=60)
def test_an_additive_logistic_regression_has_no_interaction(problem, strength, order):
    """Whatever the data: saturated probabilities and columns far from zero included."""
    rng, X = problem
    eta = strength * standardised(X) @ rng.normal(size=X.shape[1])
    y = (rng.uniform(size=len(X)) < expit(eta)).astype(int)
    assume(0 < y.sum() < len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=1e4, max_iter=50).fit(X, y)
    assert_nothing_moves(run(model, X, y, max_order=order, beta=0.0))


@given(problem=tables(), kind=st.sampled_from(["linear", "softmax", "counts", "scaled"]))
@settings(max_examples=60)
def test_generalised_linear_models_have_no_interaction(problem, kind):
    rng, X = problem
    Z = np.clip(standardised(X), -4, 4)
    eta = Z @ rng.normal(size=X.shape[1])
    options = {}
    if kind == "linear":
        y = eta + rng.normal(size=len(X))
        model = LinearRegression().fit(X, y)
    elif kind == "counts":
        y = rng.poisson(np.exp(np.clip(eta, -3, 3))).astype(float)
        model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.1))
        options = {"loss": "poisson"}
    else:
        scores = np.column_stack([eta, -eta, Z[:, 0]]) * 3
        y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        assume(len(set(y)) == 3)
        model = LogisticRegression(C=100, max_iter=50)
        model = make_pipeline(StandardScaler(), model) if kind == "scaled" else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    # Outliers of the exponential function overflow; that is another error.
    with np.errstate(over="ignore"):
        assume(np.isfinite(model.predict(X)).all() and np.max(np.abs(model.predict(X))) < 1e100)
    assert_nothing_moves(run(model, X, y, beta=0.0, **options))


@given(problem=tables(), link=st.sampled_from(["identity", "log", "log_probability"]))
@settings(max_examples=60)
def test_additive_functions_have_no_interaction(problem, link):
    """Any sum of functions of single features, behind any link."""
    rng, X = problem
    center, spread = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    slopes = rng.normal(size=(3, X.shape[1]))

    def score(rows, number):
        z = np.clip((rows - center) / spread, -5, 5)
        parts = np.sin(slopes[number] * z) + slopes[number] * z**2 / 3 + np.abs(z - 0.5)
        return parts.sum(axis=1)

    options = {}
    if link == "identity":
        model, y = lambda rows: score(rows, 0), score(X, 1)
    elif link == "log":
        model, y = lambda rows: np.exp(score(rows, 0)), rng.poisson(2.0, size=len(X)).astype(float)
        options = {"loss": "poisson"}
    else:
        y = rng.integers(0, 3, size=len(X))
        y[:3] = 0, 1, 2
        model = sfit.models.function_model(
            lambda rows: softmax(np.column_stack([score(rows, k) for k in range(3)]), axis=1),
            task="classification",
            classes=[0, 1, 2],
        )
    assert_nothing_moves(run(model, X, y, beta=0.0, **options))


@given(problem=tables(), two_classes=st.booleans())
@settings(max_examples=30)
def test_linear_modules_in_single_precision_have_no_interaction(problem, two_classes):
    torch = pytest.importorskip("torch")
    rng, X = problem
    torch.manual_seed(int(rng.integers(2**31)))
    layers = [torch.nn.Linear(X.shape[1], 1), *([torch.nn.Sigmoid()] if two_classes else [])]
    y = rng.integers(0, 2, size=len(X)) if two_classes else rng.normal(size=len(X))
    assume(not two_classes or 0 < y.sum() < len(y))
    assert_nothing_moves(run(torch.nn.Sequential(*layers), X, y, beta=0.0))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "sklearn"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_boosted_stumps_have_no_interaction(library, classes):
    """A sum of trees that look at one feature each; XGBoost adds hundreds in single precision."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(1500, 5)) * [1, 100, 1, 0.01, 1] + [0, 1000, 0, 0, 5]
    score = X[:, 0] + np.sin(X[:, 1]) + 3 * X[:, 2]
    y = score + rng.normal(size=len(X)) + 500
    if classes:
        y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    kind = "Classifier" if classes else "Regressor"
    if library == "sklearn":
        import sklearn.ensemble

        make = getattr(sklearn.ensemble, f"HistGradientBoosting{kind}")
        model = make(max_depth=1, max_iter=200)
    elif library == "xgboost":
        make = getattr(pytest.importorskip("xgboost"), f"XGB{kind}")
        model = make(max_depth=1, n_estimators=400, n_jobs=1)
    else:
        make = getattr(pytest.importorskip("lightgbm"), f"LGBM{kind}")
        model = make(num_leaves=2, n_estimators=300, verbose=-1, n_jobs=1)
    result = run(model.fit(X, y), X, y, beta=0.0, max_order=3)
    assert_nothing_moves(result)
    assert any(test.share_moved > 0 for test in result.tests if test.order == 1)


@pytest.mark.parametrize("kind", ["pandas", "polars", "the pipeline as a function"])
def test_frames_with_words_have_no_interaction_in_an_additive_model(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=400),
            "count": rng.integers(0, 5, size=400),
            "word": rng.choice(["x", "y", "z"], size=400),
        }
    )
    y = (frame["number"] + (frame["word"] == "x") + rng.logistic(size=400) > 0).astype(int)
    words = make_column_transformer((OneHotEncoder(), ["word"]), remainder=StandardScaler())
    model = make_pipeline(words, LogisticRegression()).fit(frame, y)
    if kind == "pandas":
        assert_nothing_moves(run(model, frame, y, beta=0.0, max_order=3))
        return

    def predict(rows):
        return model.predict_proba(rows.to_pandas() if kind == "polars" else rows)

    rows = pytest.importorskip("polars").from_pandas(frame) if kind == "polars" else frame
    function = sfit.models.function_model(predict, task="classification", classes=[0, 1])
    assert_nothing_moves(run(function, rows, y, beta=0.0, max_order=3))


def test_sparse_rows_and_averages_of_a_linear_model():
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 5), density=0.3, random_state=0, format="csr")
    y = X.toarray() @ rng.normal(size=5) + rng.normal(size=500)
    model = LinearRegression().fit(X, y)
    assert_nothing_moves(run(model, X, y, beta=0.0, max_order=3))
    average = sfit.Average(X[:40].toarray())
    assert_nothing_moves(run(model, X.toarray(), y, beta=0.0, reference=average, random_state=0))


def test_a_small_interaction_survives():
    """A millionth of the effect of a single feature, and in single precision a thousandth."""
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).normal(size=(2000, 3))

    def function(rows, share):
        return 3 + 4 * rows[:, 0] + rows[:, 1] ** 2 + share * rows[:, 0] * rows[:, 1]

    class Module(torch.nn.Module):
        def forward(self, rows):
            return function(rows, 4e-3)[:, None]

    for model, share in ((lambda rows: function(rows, 4e-6), 4e-6), (Module(), 4e-3)):
        model = sfit.models.torch_model(model) if isinstance(model, Module) else model
        found = sets(run(model, X, function(X, share), beta=0.0))
        assert found["x0", "x1"].share_moved > 0.9
        assert found["x0", "x1"].n_better > 0.9 * len(X)
        assert found["x0", "x2"].share_moved == found["x1", "x2"].share_moved == 0


def test_ten_x1_and_half_x2():
    """Over nothing, x2 is found only together with x1; that is no interaction (STATISTICS.md)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 3))

    def truth(rows):
        return 10 * rows[:, 0] + 0.5 * rows[:, 1]

    y = truth(X) + 0.01 * rng.normal(size=len(X))
    plain = sfit.feature_significance(truth, X, y, max_order=2)
    assert ("x0", "x1") in plain.significant[2]
    assert_nothing_moves(run(truth, X, y, beta=0.0))


# --- the side -------------------------------------------------------------------------------------


def combined(side, *values):
    predictions = [Prediction(np.asarray(value), None, len(value)) for value in values]
    return side.combine(predictions, EXACT).by_row()


def test_the_parts_of_a_set_and_their_coefficients():
    """From the empty set to the set itself; the coefficients of the proper subsets add up to 1."""
    side = Additive(frozenset({0, 2, 5}), frozenset({1}), "identity")
    shown = [tuple(sorted(part.shown)) for part in side.needs()]
    assert shown == [
        (1,),
        (0, 1),
        (1, 2),
        (1, 5),
        (0, 1, 2),
        (0, 1, 5),
        (1, 2, 5),
        (0, 1, 2, 5),
    ]
    for place, coefficient in enumerate([1, -1, -1, -1, 1, 1, 1]):
        values = [np.full(2, 0.0) for _ in shown]
        values[place] = np.full(2, 3.0)
        values[-1] = np.full(2, 99.0)
        assert combined(side, *values).tolist() == [3.0 * coefficient] * 2


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 4),
    scale=st.sampled_from(["identity", "log", "log_probability"]),
)
def test_equal_parts_give_their_own_prediction(seed, size, scale):
    """The coefficients add up to 1: if no part changes the prediction, the sum does not either."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), size=5) if scale == "log_probability" else rng.exponential(size=5)
    side = Additive(frozenset(range(size)), frozenset(), scale)
    whole = rng.permutation(p)
    parts = [p] * (2**size - 1)
    assert combined(side, *parts, p).tolist() == p.tolist()
    expected = np.maximum(p, CLIP) if scale == "log_probability" else p
    if scale == "log_probability":
        expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(combined(side, *parts, whole), expected, rtol=1e-9)


def test_two_classes_add_log_odds():
    side = Additive(frozenset({0, 1}), frozenset(), "log_probability")
    odds = [0.3, -0.7, 1.1]
    values = [np.array([[1 - expit(z), expit(z)]] * 3) for z in odds]
    whole = np.array([[0.9, 0.1]] * 3)
    additive = combined(side, *values, whole)
    np.testing.assert_allclose(additive[:, 1], expit(-0.7 + 1.1 - 0.3), rtol=1e-12)


@pytest.mark.parametrize(
    ("alone", "whole", "moves"),
    [
        (0.0, 0.0, False),  # a smaller probability explains the row
        (0.0, 1e-9, False),
        (0.0, 0.3, True),  # no probability below the clip does
        (1e-7, 0.3, True),
        (0.2, 0.0, True),
    ],
)
def test_a_clipped_probability_may_be_any_smaller_one(alone, whole, moves):
    """A forest predicts exactly 0 and 1. With j alone the class is impossible, k changes nothing."""
    side = Additive(frozenset({0, 1}), frozenset(), "log_probability")
    nothing, j, k, both = (np.array([[1 - p, p]] * 2) for p in (0.2, alone, 0.2, whole))
    additive = combined(side, nothing, j, k, both)
    assert (additive[0] != both[0]).any() == moves
    if moves and alone < CLIP:
        np.testing.assert_allclose(additive[:, 1], CLIP, rtol=1e-5)


@given(
    p=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    scale=st.sampled_from(list(LINKS)),
    noise=st.sampled_from([0.0, 1e-9]),
)
def test_intervals_hold_the_link_value(p, scale, noise):
    values = np.array(p) if scale != "log_probability" else np.column_stack([p, 1 - np.array(p)])
    assume(scale != "log" or min(p) > 0)
    value, low, high = LINKS[scale].forward(values, Rounding(2.0**-52, noise))
    assert (low <= value).all()
    assert (value <= high).all()


def test_sides_are_told_apart():
    """Hashes, checkpoints and workers distinguish sets, given features and scales."""
    sides = [
        Additive(frozenset(term), frozenset(given_), scale)
        for term in ((0, 1), (0, 2))
        for given_ in ((), (3,))
        for scale in LINKS
    ]
    assert len(set(sides)) == len({side.identity() for side in sides}) == 12
    assert sides[0].visible(frozenset(range(4))) == {0, 1}
    assert Reveal(frozenset({0, 1})).identity() not in {side.identity() for side in sides}


# --- the procedure --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return sfit.simulate.interactions(6000, random_state=0)


def test_the_process_of_the_paper(rows):
    """Only the two products, whatever was found before, with the true function."""
    result = run(sfit.simulate.interactions_mean, *rows, beta=(0.01, 0.001))
    assert result.significant[2] == [("X1", "X2"), ("X4", "X5")]
    found = sets(result)
    assert len(found) == 21
    for term, test in found.items():
        assert test.base == term
        if not test.significant:
            assert test.share_moved == 0
    assert 0.05 < found["X1", "X2"].share_nonadditive < 0.2
    assert found["X4", "X5"].share_nonadditive == pytest.approx(1, abs=0.05)
    # Revealing X6 and X7 gains nothing, so nothing has a share of it.
    assert math.isnan(found["X6", "X7"].share_nonadditive)
    assert all(math.isnan(test.share_nonadditive) for test in result.tests if test.order == 1)


def test_the_base_does_not_depend_on_what_was_found(rows):
    """At another alpha and beta other features are found, and the same pairs have the same gains."""
    results = [
        run(sfit.simulate.interactions_mean, *rows, beta=beta, alpha=alpha)
        for beta, alpha in (((0.0, 0.0), 0.2), ((0.5, 0.0), 0.001))
    ]
    assert results[0].significant[1] != results[1].significant[1]
    first, second = map(sets, results)
    assert {t: (s.n_positive, s.gain) for t, s in first.items()} == {
        t: (s.n_positive, s.gain) for t, s in second.items()
    }


def test_without_exhaustive_pairs_of_features_found_are_not_planned(rows):
    result = run(sfit.simulate.interactions_mean, *rows, beta=(0.01, 0.001), exhaustive=False)
    assert ("X1", "X3") not in sets(result)
    assert result.significant[2] == [("X1", "X2"), ("X4", "X5")]


def test_errors_over_all_orders_count_one_base_per_set(rows):
    plain = {"max_order": 2, "exhaustive": True, "alpha_by_order": "auto", "beta": 0.001}
    additive = plain | {"interaction": "additive"}
    function = sfit.simulate.interactions_mean
    adjusted = []
    for options in (plain, additive):
        tests = sfit.feature_significance(function, *rows, **options).tests
        adjusted.append(
            [t.p_adjusted / t.p_value for t in tests if t.order == 2 and t.p_value < 1e-9]
        )
    # alpha / alpha_2 = 2, times 21 sets, times the number of bases: 3 and 1.
    assert adjusted[0] == pytest.approx([126.0] * len(adjusted[0]))
    assert adjusted[1] == pytest.approx([42.0] * len(adjusted[1]))


def test_the_mean_test_compares_the_same_sides(rows):
    """Its mean differences are the gains that the sign test reports."""
    function = sfit.simulate.interactions_mean
    by_sign = sets(run(function, *rows))
    by_mean = sets(run(function, *rows, test="mean", random_state=0))
    assert by_mean.keys() == by_sign.keys()
    for term, test in by_mean.items():
        assert test.mean == pytest.approx(by_sign[term].gain, rel=1e-8, abs=1e-9)
        assert test.significant == (term in (("X1", "X2"), ("X4", "X5")))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "permutation"}, ("interaction='additive'", "test='permutation'", "test='sign'")),
        ({"max_order": 1}, ("interaction='additive'", "max_order=2", "max_order=1")),
        ({"strict": True}, ("interaction='additive'", "strict=True", "Omit strict")),
        ({"interaction": "product"}, ("interaction", "'additive'", "got 'product'")),
        ({"given": "rest"}, ("given='rest'", "max_order=1")),
    ],
)
def test_what_is_refused(rows, options, words):
    arguments = {"max_order": 2, "interaction": "additive"} | options
    with pytest.raises(ArgumentError) as caught:
        sfit.feature_significance(sfit.simulate.interactions_mean, *rows, **arguments)
    for word in words:
        assert word in str(caught.value)


# --- storage, workers, parts ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    X, y = data("binary", n=1100, seed=3)
    table = pd.DataFrame(X, columns=list("abcd"))
    table["y"], table["part"] = y, np.where(np.arange(len(X)) % 3 == 0, "u", "v")
    table["cluster"] = np.arange(len(X)) // 4
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    model.fit(table[list("abcd")], y)
    return model, table


@pytest.mark.parametrize(
    "roles", [{}, {"by": "part"}, {"clusters": "cluster"}, {"by": "class"}], ids=str
)
def test_memory_parquet_and_workers_agree(frame, tmp_path, monkeypatch, roles):
    pytest.importorskip("pyarrow")
    model, table = frame
    set_tiles(monkeypatch, 256)
    path = tmp_path / "rows.parquet"
    table.to_parquet(path)
    features = list("abcd")
    options = {"features": features, "reference": 0.0, "beta": 0.001, "max_order": 3, **roles}
    expected = run(model, table, "y", **options)
    for fast in (True, False):
        assert run(model, str(path), "y", fast=fast, **options) == expected
    with joblib.parallel_config(backend="loky"):
        assert run(model, str(path), "y", n_jobs=2, **options) == expected
    assert run(model, table, "y", n_jobs=2, **options) == expected


def test_processes_receive_the_parts(monkeypatch):
    """A network, whose updated first layers travel; and any model, which travels itself."""
    X, y = data("regression", n=700, width=12)
    set_tiles(monkeypatch, 256)
    network = MLPRegressor(hidden_layer_sizes=(6,), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(X, y)
    for options in ({}, {"fast": False}):
        expected = run(network, X, y, features=list(range(12)), n_partners=2, **options)
        with joblib.parallel_config(backend="loky"):
            again = run(network, X, y, features=list(range(12)), n_partners=2, n_jobs=2, **options)
        assert again == expected
        assert ("update" in expected.run["stages"][2]["route"]) == (not options)


def test_a_checkpoint_resumes_and_knows_the_interaction(frame, tmp_path):
    model, table = frame
    X, y = table[list("abcd")], table["y"]
    options = {"checkpoint": tmp_path / "run.sqlite", "beta": 0.001}
    expected = run(model, X, y, **options)
    assert run(model, X, y, **options) == expected
    with pytest.raises(sfit.exceptions.CheckpointError):
        run(model, X, y, **options | {"interaction": None})


def test_ties_and_dropped_rows(frame):
    model, table = frame
    test = sfit.SignTest(ties="drop")
    found = sets(run(model, table[list("abcd")], table["y"], test=test, beta=0.0))
    for one in found.values():
        assert one.n == round(one.share_moved * len(table))


# --- the result -----------------------------------------------------------------------------------


def test_json_keeps_the_share_and_old_results_have_none(rows):
    result = run(sfit.simulate.interactions_mean, *rows, beta=(0.01, 0.001))
    assert result.settings.interaction == "additive"
    text = result.to_json()
    again = sfit.SFITResult.from_json(text)
    assert again == result
    assert sets(again)["X1", "X2"].share_nonadditive == sets(result)["X1", "X2"].share_nonadditive
    assert result.at(alpha=0.01).settings.interaction == "additive"
    assert sets(result.at(alpha=0.01)).keys() == sets(result).keys()
    content = asdict(result)
    run_ = content.pop("run")
    content["settings"].pop("interaction")
    for test in content["tests"]:
        test.pop("share_nonadditive")
    read = sfit.SFITResult.from_json(write("SFITResult", content, run_, None))
    assert read.settings.interaction is None
    assert all(math.isnan(test.share_nonadditive) for test in read.tests)


# --- views ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result(rows):
    return run(sfit.simulate.interactions_mean, *rows, beta=(0.01, 0.001))


def test_the_summary_says_what_is_compared(result):
    text = result.summary()
    found = "5 of 7 features significantly improve the typical row, alone or in an interaction"
    assert found in " ".join(text.split())
    assert "additive from order 2" in text
    assert "Order 2: pairs, over their parts (21 tested, 2 significant)" in text
    wide = [line.text for line in result._lines(120)]
    [line] = [line for line in wide if line.startswith("X4 + X5")]
    assert "100%" in line
    assert "not additive" in "\n".join(wide)


def test_the_report_says_what_is_compared(result):
    pytest.importorskip("jinja2")
    from sfit.report._describe import describe

    content = describe(result)
    assert (
        "2 of 21 sets improve on the additive predictions from their parts" in content["finding"][2]
    )
    assert "X4 + X5 by the largest mean gain" in content["finding"][2]
    assert {"Interactions", "Not additive"} <= {name for name, _ in content["reading"]}
    assert not any("not proven interactions" in text for text in content["caveats"])
    shares = [
        cell["text"]
        for table in content["parts"][0]["tables"]
        for row in table["rows"]
        for cell in row["cells"]
        if cell["key"] == "share_nonadditive"
    ]
    assert len(shares) == len(result.tests)
    page = result.to_html()
    assert "additive prediction from its parts" in page
    assert "mean gain" in page
    assert "over its parts" in page


def test_a_report_without_interactions(rows):
    pytest.importorskip("jinja2")
    from sfit.report._describe import describe

    def additive(rows):
        return 3 * rows["X1"] + rows["X3"]

    content = describe(run(additive, *rows, beta=0.0))
    assert (
        "None of 21 sets improves on the additive prediction from its parts." in content["finding"]
    )
    plain = describe(sfit.feature_significance(additive, *rows, max_order=2, exhaustive=True))
    assert not any("additive" in sentence for sentence in plain["finding"])


def test_only_an_interaction(rows):
    """The sentence about the strongest set does not call its base nothing."""
    pytest.importorskip("jinja2")
    from sfit.report._describe import describe

    def product(rows):
        return 2 * rows["X4"] * rows["X5"]

    X = rows[0]
    content = describe(run(product, X, product(X), beta=0.0))
    expected = "compared with the additive prediction from its parts, it lowers the loss on "
    assert expected in content["finding"][1]


def test_shares_as_text():
    from dataclasses import replace

    from sfit._words import nonadditive

    test = run(sfit.simulate.interactions_mean, *sfit.simulate.interactions(300)).tests[-1]
    texts = {
        math.nan: "–",
        0.0: "0%",
        0.004: "< 1%",
        0.09: "9%",
        1.08: "108%",
        -0.001: "> −1%",
        -0.2: "−20%",
    }
    for share, text in texts.items():
        assert nonadditive(replace(test, share_nonadditive=share)) == text


def test_the_matrix_of_all_pairs(result):
    pytest.importorskip("matplotlib")
    from sfit.plotting import InteractionDisplay

    display = InteractionDisplay.from_result(result)
    assert display.additive
    assert len(display.shown) == 21
    assert display.numbers_[1, 0].get_text() == "0.13\n9%"
    assert display.numbers_[1, 0].get_fontweight() == "bold"
    assert display.numbers_[6, 5].get_text() == "0\n–"
    filled = display.cells_.get_facecolor()[:, 3]
    strongest = list(display.shown.values())[filled.argmax()]
    assert strongest.term == ("X4", "X5")
    importance = result.plot()
    assert "over the sum of their parts" in importance.axes_[1].get_title(loc="left")
    assert importance.axes_[1].get_yticklabels()[0].get_text() == "X4 + X5"


def test_the_correction_needs_no_caveat_if_all_pairs_are_tested(rows):
    for options, expected in (({}, 0), ({"exhaustive": False}, 1), ({"interaction": None}, 1)):
        again = run(sfit.simulate.interactions_mean, *rows, correction="holm", **options)
        assert sum("valid only conditionally" in text for text in again.caveats) == expected


def test_the_program(tmp_path):
    typer_testing = pytest.importorskip("typer.testing")
    pytest.importorskip("lightgbm")
    from lightgbm import LGBMRegressor

    from sfit.cli._app import app

    X, y = sfit.simulate.interactions(3000, random_state=0)
    model = LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1).fit(X, y)
    model.booster_.save_model(tmp_path / "model.txt")
    table = pd.DataFrame(X, columns=model.booster_.feature_name())
    table.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    command = ["test", str(tmp_path / "model.txt"), str(tmp_path / "rows.csv"), "-t", "y"]
    options = ["--order", "2", "--interaction", "additive", "--exhaustive"]
    file = tmp_path / "result.json"
    ended = typer_testing.CliRunner().invoke(app, [*command, *options, "--json", str(file)])
    assert ended.exit_code == 0, ended.output
    found = sfit.SFITResult.from_json(file)
    assert found.settings.interaction == "additive"
    assert len(sets(found)) == 21


# --- what the issue must show ---------------------------------------------------------------------


def network(X, y):
    model = MLPRegressor(hidden_layer_sizes=(64, 32), max_iter=30, random_state=0)
    return make_pipeline(StandardScaler(), model).fit(X, y)


def forest(X, y):
    return RandomForestRegressor(n_estimators=50, min_samples_leaf=5, random_state=0).fit(X, y)


def boosting(X, y):
    library = pytest.importorskip("lightgbm")
    return library.LGBMRegressor(n_estimators=300, verbose=-1, n_jobs=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("fit", [network, boosting, forest], ids=lambda fit: fit.__name__)
def test_the_products_of_the_paper_rank_first(fit):
    """By mean gain over the additive base, among all 21 pairs; docs/interactions.md has figures."""
    X, y = sfit.simulate.interactions(24_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(X[:20_000], y[:20_000])
    found = sets(run(model, X[20_000:], y[20_000:], reference=X[:20_000], beta=(0.01, 0.001)))
    assert len(found) == 21
    ranked = sorted(found, key=lambda term: -found[term].gain)
    assert set(ranked[:2]) == {("X1", "X2"), ("X4", "X5")}
