"""A model is known again after it was pickled, and told from one that predicts otherwise."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfit.models import as_view
from sfit.models._fingerprint import Unseen

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + RNG.normal(size=300)


def lightgbm(n):
    """Boosting of n rounds."""
    return pytest.importorskip("lightgbm").LGBMRegressor(n_estimators=n, verbose=-1).fit(X, Y)


def xgboost(n):
    """Boosting of n rounds."""
    return pytest.importorskip("xgboost").XGBRegressor(n_estimators=n).fit(X, Y)


def catboost(n):
    """Boosting of n rounds."""
    library = pytest.importorskip("catboost")
    return library.CatBoostRegressor(
        iterations=n, verbose=0, random_seed=0, allow_writing_files=False
    ).fit(X, Y)


MODELS = {
    "histogram boosting": lambda n: HistGradientBoostingRegressor(max_iter=n, random_state=0).fit(
        X, Y
    ),
    "forest": lambda n: RandomForestRegressor(n, random_state=0).fit(X, Y),
    "linear": lambda n: LinearRegression().fit(X[: 100 + n], Y[: 100 + n]),
    "network": lambda n: MLPRegressor(hidden_layer_sizes=(4,), max_iter=n, random_state=0).fit(
        X, Y
    ),
    "pipeline": lambda n: make_pipeline(StandardScaler(), LinearRegression()).fit(
        X[: 100 + n], Y[: 100 + n]
    ),
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "neighbours in a k-d tree": lambda n: KNeighborsRegressor(n, algorithm="kd_tree").fit(X, Y),
    "neighbours in a ball tree": lambda n: KNeighborsRegressor(n, algorithm="ball_tree").fit(X, Y),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_after_pickling_and_another_for_another_model(name):
    """By what was fitted, not by where it lies in memory."""
    model, other = MODELS[name](5), MODELS[name](6)
    found = as_view(model).fingerprint()
    assert isinstance(found, str)
    assert as_view(pickle.loads(pickle.dumps(model))).fingerprint() == found
    assert as_view(other).fingerprint() != found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_after_predicting_and_after_fitting_again(name):
    """What a model counts or looks up as it predicts, and when it was fitted, make no other."""
    model = MODELS[name](5)
    found = as_view(model).fingerprint()
    model.predict(X)
    assert as_view(model).fingerprint() == found
    assert as_view(MODELS[name](5)).fingerprint() == found


def test_catboost_by_what_it_predicts():
    """The same trees with other labels, or with categories, are other models."""
    library = pytest.importorskip("catboost")
    options = {"iterations": 3, "verbose": 0, "random_seed": 0, "allow_writing_files": False}
    words = np.where(Y > 0, "yes", "no")
    models = [
        library.CatBoostClassifier(**options).fit(X, words),
        library.CatBoostClassifier(**options).fit(X, np.where(Y > 0, "ja", "nein")),
        library.CatBoostClassifier(**options).fit(X, np.where(Y > 0, "zzz", "no")),
        library.CatBoostRegressor(**options).fit(X, np.abs(Y)),
        library.CatBoostRegressor(loss_function="Poisson", **options).fit(X, np.abs(Y)),
    ]
    found = [as_view(model).fingerprint() for model in models]
    assert len(set(found)) == len(found)
    assert as_view(models[0].copy()).fingerprint() == found[0]


def ones(net):
    """The same weights for every net."""
    for tensor in net.parameters():
        tensor.data.fill_(1.0)
    return net


def test_torch_modules_by_weights_and_settings():
    """An attribute that no weight shows makes another model."""
    torch = pytest.importorskip("torch")
    nn = torch.nn

    def net(*layers):
        return as_view(ones(nn.Sequential(nn.Linear(3, 2), *layers, nn.Linear(2, 1))))

    found = [
        net(nn.LeakyReLU(0.01)).fingerprint(),
        net(nn.LeakyReLU(0.1)).fingerprint(),
        net(nn.Tanh()).fingerprint(),
        net(nn.Tanh(), nn.Tanh()).fingerprint(),
    ]
    assert all(isinstance(one, str) for one in found)
    assert len(set(found)) == len(found)
    assert net(nn.LeakyReLU(0.01)).fingerprint() == found[0]
    assert pickle.loads(pickle.dumps(net(nn.Tanh()))).fingerprint() == found[2]


def test_torch_modules_by_all_digits():
    """Double weights that are the same in single precision, and the same weights in another."""
    torch = pytest.importorskip("torch")
    kinds = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    nets = [torch.nn.Linear(3, 1, dtype=dtype) for dtype in (*kinds, torch.float64)]
    for net in nets:
        torch.nn.init.ones_(net.weight)
        torch.nn.init.zeros_(net.bias)
    found = [as_view(net).fingerprint() for net in nets]
    assert len(set(found)) == len(kinds)
    with torch.no_grad():
        nets[-1].weight += 1e-10
    assert as_view(nets[-1]).fingerprint() not in found


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_torch_modules_that_are_quantised():
    """By their packed weights, those of an LSTM among them."""
    torch = pytest.importorskip("torch")

    def packed(net):
        kinds = {torch.nn.Linear, torch.nn.LSTM}
        return as_view(torch.ao.quantization.quantize_dynamic(net, kinds, dtype=torch.qint8))

    net = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
    view = packed(net)
    assert pickle.loads(pickle.dumps(view)).fingerprint() == view.fingerprint()
    with torch.no_grad():
        net[0].weight[20, 20] += 0.05  # far inside, where what is printed has an ellipsis
    assert packed(net).fingerprint() != view.fingerprint()
    memory = torch.nn.Sequential(torch.nn.LSTM(3, 2))
    before = packed(memory).fingerprint()
    assert packed(memory).fingerprint() == before
    with torch.no_grad():
        memory[0].weight_ih_l0[0, 0] += 0.05
    assert packed(memory).fingerprint() != before


def test_keras_models_by_configuration():
    """The same weights under another activation are another model."""
    keras = pytest.importorskip("keras")

    def network(activation):
        layers = [keras.Input((3,), name="i"), keras.layers.Dense(2, activation, name="d"),
                  keras.layers.Dense(1, name="e")]  # fmt: skip
        model = keras.Sequential(layers, name="m")
        model.set_weights([np.ones(w.shape) for w in model.get_weights()])
        return model

    model = network("relu")
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    assert as_view(again).fingerprint() == as_view(model).fingerprint()
    assert as_view(network("relu")).fingerprint() != as_view(network("tanh")).fingerprint()


def sigmoid_of_first(rows):
    return 1 / (1 + np.exp(-rows[:, 0]))


def test_functions_have_none():
    """Nothing is known of the inside."""
    assert as_view(sigmoid_of_first).fingerprint() == Unseen(
        "the code of the function sigmoid_of_first"
    )


def test_threads_are_not_the_model():
    """A run may go on with another number of them."""
    forest = RandomForestRegressor(3, n_jobs=1, random_state=0).fit(X, Y)
    first = as_view(forest).fingerprint()
    forest.n_jobs = 2
    assert as_view(forest).fingerprint() == first


def test_what_lies_between_the_fields_of_a_node_is_not_the_model():
    """A tree that joblib has loaded holds anything there, and another thing in each process."""
    forest = RandomForestRegressor(2, random_state=0).fit(X, Y)
    found = as_view(forest).fingerprint()
    nodes = forest.estimators_[0].tree_.__getstate__()["nodes"]
    kind, last = nodes.dtype.fields["missing_go_to_left"]
    gap = nodes.view(np.uint8).reshape(len(nodes), -1)[:, last + kind.itemsize :]
    assert gap.size
    gap[:] = 7
    assert as_view(forest).fingerprint() == found
