"""Models of every library find what the paper's section 3 says is there."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfit

TRAIN = sfit.simulate.interactions(30_000, random_state=0)
TEST = sfit.simulate.interactions(10_000, random_state=1)


def second_order(model):
    """Test to order 2 at the paper's advice: a smaller beta for pairs."""
    return sfit.feature_significance(
        model, *TEST, reference=TRAIN[0], max_order=2, beta=(0.01, 0.001)
    )


def assert_finds_the_process(model):
    """X1 and X3 alone, and X2, X4, X5 through their pairs."""
    result = second_order(model)
    assert result.significant[1] == [("X1",), ("X3",)]
    assert {("X1", "X2"), ("X4", "X5")} <= set(result.significant[2])
    assert result.gates[0].is_open


def lightgbm():
    """LightGBM's own wrapper."""
    library = pytest.importorskip("lightgbm")
    return library.LGBMRegressor(n_estimators=400, verbose=-1, random_state=0, n_jobs=1)


def lightgbm_booster():
    """LightGBM without scikit-learn."""
    library = pytest.importorskip("lightgbm")
    data = library.Dataset(TRAIN[0], TRAIN[1], params={"verbose": -1})
    return library.train({"verbose": -1, "seed": 0, "num_threads": 1}, data, num_boost_round=400)


def xgboost():
    """XGBoost's own wrapper."""
    library = pytest.importorskip("xgboost")
    return library.XGBRegressor(n_estimators=400, learning_rate=0.1, max_depth=5, n_jobs=1)


def xgboost_booster():
    """XGBoost without scikit-learn."""
    library = pytest.importorskip("xgboost")
    data = library.DMatrix(*TRAIN)
    return library.train({"max_depth": 5, "eta": 0.1, "nthread": 1}, data, num_boost_round=400)


def catboost():
    """CatBoost."""
    library = pytest.importorskip("catboost")
    return library.CatBoostRegressor(
        iterations=500, verbose=0, random_seed=0, thread_count=1, allow_writing_files=False
    )


TREES = {
    "random forest": lambda: RandomForestRegressor(
        40, min_samples_leaf=3, max_features=None, random_state=0
    ),
    "extra trees": lambda: ExtraTreesRegressor(60, max_features=None, random_state=0),
    "gradient boosting": lambda: GradientBoostingRegressor(
        n_estimators=200, max_depth=5, subsample=0.5, random_state=0
    ),
    "histogram boosting": lambda: HistGradientBoostingRegressor(max_iter=400, random_state=0),
    "pipeline": lambda: make_pipeline(
        StandardScaler(), HistGradientBoostingRegressor(max_iter=400, random_state=0)
    ),
    "lightgbm": lightgbm,
    "lightgbm booster": lightgbm_booster,
    "xgboost": xgboost,
    "xgboost booster": xgboost_booster,
    "catboost": catboost,
}


@pytest.mark.parametrize("name", TREES)
def test_trees_find_the_process(name):
    """Tree ensembles of every library."""
    model = TREES[name]()
    assert_finds_the_process(model.fit(*TRAIN) if hasattr(model, "fit") else model)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), ElasticNet(alpha=0.01)])
def test_linear_models_find_x1_only(estimator):
    """What is not linear in the process is invisible to them."""
    assert second_order(estimator.fit(*TRAIN)).selected == ("X1",)


@pytest.fixture(scope="module")
def network():
    """The paper's 150-50 network, trained once; its weights serve all libraries."""
    model = MLPRegressor(
        hidden_layer_sizes=(150, 50),
        alpha=0.0,
        learning_rate_init=2e-3,
        max_iter=30,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*TRAIN)


def as_torch(network):
    """The same network as a torch module."""
    torch = pytest.importorskip("torch")
    linear = [torch.nn.Linear(*weights.shape) for weights in network.coefs_]
    for layer, weights, bias in zip(linear, network.coefs_, network.intercepts_, strict=True):
        layer.weight.data = torch.tensor(weights.T, dtype=torch.float32)
        layer.bias.data = torch.tensor(bias, dtype=torch.float32)
    first, second, last = linear
    return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU(), last)


def as_skorch(network):
    """The same network behind skorch."""
    skorch = pytest.importorskip("skorch")
    return skorch.NeuralNetRegressor(as_torch(network), verbose=0).initialize()


def as_keras(network):
    """The same network in Keras."""
    keras = pytest.importorskip("keras")
    layers = [keras.layers.Dense(units, activation="relu") for units in (150, 50)]
    model = keras.Sequential([keras.Input((7,)), *layers, keras.layers.Dense(1)])
    pairs = zip(network.coefs_, network.intercepts_, strict=True)
    model.set_weights([array for pair in pairs for array in pair])
    return model


def as_onnx(network):
    """The same network as ONNX bytes."""
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    exported = skl2onnx.to_onnx(network, np.zeros((1, 7), dtype=np.float32))
    return exported.SerializeToString()


@pytest.mark.parametrize(
    "convert", [lambda network: network, as_torch, as_skorch, as_keras, as_onnx]
)
def test_networks_find_the_process(network, convert):
    """The paper's network, in every library that can hold it."""
    assert_finds_the_process(convert(network))


def test_a_function_finds_the_process(network):
    """Of a plain function nothing is known, and it finds the same."""
    assert_finds_the_process(lambda rows: network.predict(rows))
