"""A model whose code or state cannot be seen has no fingerprint, and the reason says what it is."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sfit
from sfit.exceptions import ArgumentError
from sfit.models import ModelView, as_view
from sfit.models._fingerprint import Unseen

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + RNG.normal(size=200)


def unseen(model, *words):
    """The model has no fingerprint, and the reason has these words."""
    found = as_view(model).fingerprint()
    assert isinstance(found, Unseen), found
    for word in words:
        assert word in found.what


def seen(*models):
    """All have fingerprints, and no two the same."""
    found = [as_view(model).fingerprint() for model in models]
    assert all(isinstance(one, str) for one in found), found
    assert len(set(found)) == len(found)


def double(values):
    return 2 * values


# --- scikit-learn -------------------------------------------------------------------------


class Mine(LinearRegression):
    """A class whose `predict` may be another one in the next run."""

    def predict(self, X):
        """Twice as much."""
        return 2 * super().predict(X)


def test_a_class_of_the_user():
    """By itself, in a Pipeline and in a stack."""
    unseen(Mine().fit(X, Y), "the code of class Mine", "test_vouched")
    unseen(make_pipeline(StandardScaler(), Mine()).fit(X, Y), "class Mine")
    unseen(StackingRegressor([("a", Mine())]).fit(X, Y), "class Mine", "estimators")


def test_functions_in_a_pipeline():
    """Those of the user are unseen, those of a library are told from one another."""

    def with_function(function):
        return make_pipeline(FunctionTransformer(function), LinearRegression()).fit(abs(X), Y)

    unseen(with_function(lambda rows: rows), "the code of function", "<lambda>", "func")
    unseen(with_function(double), "the code of function double")
    unseen(with_function(partial(double)), "function double")
    union = FeatureUnion([("a", FunctionTransformer(double))])
    unseen(make_pipeline(union, LinearRegression()).fit(X, Y), "function double")
    seen(with_function(np.log1p), with_function(np.sqrt), with_function(partial(np.power, 2.0)))


def test_a_method_of_one_instance():
    """An attribute that hides a method of the class."""
    model = LinearRegression().fit(X, Y)
    model.predict = lambda rows: rows[:, 0]
    unseen(model, "<lambda>", "predict")
    model.predict = partial(double)
    unseen(model, "function double")


def test_a_method_put_into_a_library(monkeypatch):
    """The name of the class says nothing any more, nor do those of its children."""
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y)
    seen(model)
    monkeypatch.setattr(LinearRegression, "predict", lambda self, rows: rows[:, 0])
    unseen(model, "method predict of class LinearRegression", "test_vouched")


def test_a_view_of_the_user():
    """Code outside of installed packages, whatever wraps it."""

    class Line(ModelView):
        def predict(self, Z):
            return Z[:, 0]

    unseen(Line(task="regression"), "Line")


SAME_NAME = """
import sys
import numpy as np
from sklearn.linear_model import LinearRegression
import sfit
class Scaled(LinearRegression):
    def predict(self, X):
        return {factor} * super().predict(X)
X = np.random.default_rng(0).normal(size=(200, 3))
model = Scaled().fit(X, X[:, 0])
try:
    print(sfit.feature_significance(model, X, X[:, 0], checkpoint=sys.argv[1]).selected)
except sfit.exceptions.SFITError as error:
    print(type(error).__name__, error)
"""


def test_a_class_of_the_same_name_in_two_scripts(tmp_path):
    """The second is not answered with what the first one computed."""
    told = []
    for factor in (1, -1):
        script = tmp_path / "script.py"
        script.write_text(SAME_NAME.format(factor=factor))
        call = [sys.executable, "-W", "ignore", str(script), str(tmp_path / "run.sqlite")]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=300)
        told.append(done.stdout)
    for text in told:
        assert text.startswith("ArgumentError checkpoint: ")
        assert "the code of class Scaled in module __main__" in text
        assert "checkpoint_key" in text


def test_a_package_that_was_not_installed(tmp_path, monkeypatch):
    """A module on the path, as an editable install puts it there, may change."""
    (tmp_path / "mine_on_the_path.py").write_text("def f(rows):\n    return rows\n")
    monkeypatch.syspath_prepend(tmp_path)
    import mine_on_the_path

    model = make_pipeline(FunctionTransformer(mine_on_the_path.f), LinearRegression()).fit(X, Y)
    unseen(model, "function f in module mine_on_the_path", "not part of an installed package")


def test_the_same_in_another_process():
    """Hashes of texts, ids and the order of sets are others there."""
    code = (
        "import numpy as np\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import FunctionTransformer\n"
        "from sfit.models import as_view\n"
        "X = np.random.default_rng(0).normal(size=(100, 3))\n"
        "model = RandomForestClassifier(3, random_state=0, class_weight={'no': 1, 'yes': 2})\n"
        "model = make_pipeline(FunctionTransformer(np.abs), model)\n"
        "model.fit(X, np.where(X[:, 0] > 0, 'yes', 'no'))\n"
        "print(as_view(model).fingerprint())\n"
    )
    found = set()
    for seed in "01":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        call = [sys.executable, "-c", code]
        done = subprocess.run(
            call, env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert "Unseen" not in found.pop()


def test_the_run_says_what_cannot_be_seen(tmp_path):
    """And what to do about it."""
    model = Mine().fit(X, Y)
    with pytest.raises(ArgumentError, match=r"cannot see the code of class Mine.*checkpoint_key"):
        sfit.feature_significance(model, X, Y, checkpoint=tmp_path / "run.sqlite")


# --- torch and skorch ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_modules(tmp_path):
    """The reproductions: what an old fingerprint left out."""
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self, act):
            super().__init__()
            self.layer, self.act = nn.Linear(3, 1), act

        def forward(self, rows):
            return self.act(self.layer(rows))

    for act in (torch.relu, torch.tanh):
        unseen(Net(act), "the code of class", "Net")
        with pytest.raises(ArgumentError, match="Net"):
            sfit.feature_significance(Net(act), X, Y, checkpoint=tmp_path / "run.sqlite")

    def linear(change=lambda layer: None):
        layer = nn.Linear(3, 1)
        for tensor in layer.parameters():
            tensor.data.fill_(1.0)
        change(layer)
        return nn.Sequential(layer)

    unseen(linear(lambda layer: layer.register_forward_hook(lambda *_: None)), "_forward_hooks")
    unseen(linear(lambda layer: layer.register_forward_pre_hook(print_nothing)), "print_nothing")
    unseen(linear(lambda layer: setattr(layer, "forward", double)), "double", "forward")
    unseen(linear(lambda layer: setattr(layer, "act", lambda rows: rows)), "<lambda>", "act")
    unseen(linear(nn.utils.parametrizations.weight_norm), "Parametrized")
    unseen(torch.jit.script(linear()), "TorchScript")
    unseen(torch.jit.trace(linear(), torch.zeros(1, 3)), "TorchScript")
    unseen(nn.Sequential(torch.jit.script(nn.Linear(3, 1))), "TorchScript")
    seen(
        linear(),
        linear(lambda layer: layer.register_buffer("b", torch.ones(2), persistent=False)),
        linear(lambda layer: layer.register_buffer("b", torch.zeros(2), persistent=False)),
        linear(lambda layer: setattr(layer, "kept", [torch.ones(2)])),
        linear(lambda layer: setattr(layer, "kept", [torch.zeros(2)])),
        linear(lambda layer: setattr(layer, "act", torch.relu)),
        linear(lambda layer: setattr(layer, "act", torch.tanh)),
        linear(lambda layer: setattr(layer, "act", torch.nn.functional.relu)),
    )
    everywhere = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        unseen(linear(), "<lambda>")
    finally:
        everywhere.remove()


def print_nothing(*_):
    pass


def test_skorch_nets():
    """The nonlinearity after the module is a part of the model."""
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    rows = X.astype(np.float32)
    target = (Y > 0).astype(np.int64)

    def net(nonlinearity):
        torch.manual_seed(0)
        found = skorch.NeuralNetClassifier(
            torch.nn.Linear(3, 2),
            criterion=torch.nn.CrossEntropyLoss,
            predict_nonlinearity=nonlinearity,
            max_epochs=1,
            verbose=0,
            train_split=None,
        )
        return found.fit(rows, target)

    unseen(net(lambda values: torch.softmax(2 * values, -1)), "<lambda>", "nonlinearity")
    unseen(net(double), "function double")
    seen(net("auto"), net(torch.sigmoid), net(torch.nn.functional.sigmoid))


# --- Keras --------------------------------------------------------------------------------


def test_keras_models():
    """Models with a `call` of their own, layers and functions of the user."""
    keras = pytest.importorskip("keras")
    layers = keras.layers

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layers.Dense(1)

        def call(self, rows):
            return 2 * self.layer(rows)

    own = Own()
    own(np.zeros((1, 3), dtype=np.float32))
    unseen(own, "class", "Own")

    class Twice(layers.Layer):
        def call(self, rows):
            return 2 * rows

    def relu(values):
        return 2 * keras.ops.relu(values)

    def chain(*middle, activation=None):
        return keras.Sequential([keras.Input((3,)), *middle, layers.Dense(1, activation)])

    unseen(chain(Twice()), "class", "Twice")
    unseen(chain(layers.Lambda(lambda rows: 2 * rows)), "Lambda")
    unseen(chain(activation=lambda values: values), "<lambda>", "activation")
    unseen(chain(activation=relu), "function", "relu")  # of the name of one of Keras' own
    patched = chain()
    patched.layers[-1].call = double
    unseen(patched, "double", "call")
    rows = keras.Input((3,))
    unseen(keras.Model(rows, Twice()(rows)), "Twice")
    seen(chain(), chain(activation="relu"), chain(layers.Activation("tanh")))
    seen(keras.Model(rows, keras.ops.relu(rows)), keras.Model(rows, keras.ops.tanh(rows)))


# --- boosting and ONNX --------------------------------------------------------------------


def test_boosting():
    """Wrappers of the user, functions as objectives, and parameters used in predicting."""
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 5, "verbose": -1}

    class Other(lightgbm.LGBMRegressor):
        def predict(self, X, **options):
            return -super().predict(X, **options)

    unseen(Other(**options).fit(X, Y), "class", "Other")
    patched = lightgbm.LGBMRegressor(**options).fit(X, Y)
    patched.predict = double
    unseen(patched, "double")

    def objective(y, raw):
        return raw - y, np.ones_like(y)

    unseen(lightgbm.LGBMRegressor(objective=objective, **options).fit(X, Y), "objective")
    plain = lightgbm.LGBMRegressor(**options).fit(X, Y)
    early = lightgbm.LGBMRegressor(**options).fit(X, Y)
    early.set_params(pred_early_stop=True)
    seen(plain, early, plain.booster_)
    plain.set_params(n_jobs=1)
    first = as_view(plain).fingerprint()
    plain.set_params(n_jobs=2)
    assert as_view(plain).fingerprint() == first


def test_catboost_and_xgboost():
    """Subclasses with another `predict` where the view asks it."""
    catboost = pytest.importorskip("catboost")
    xgboost = pytest.importorskip("xgboost")
    options = {"iterations": 3, "verbose": 0, "allow_writing_files": False}

    class Other(catboost.CatBoostRegressor):
        def predict(self, X, **options):
            return -super().predict(X, **options)

    unseen(Other(**options).fit(X, Y), "class", "Other")
    patched = catboost.CatBoostRegressor(**options).fit(X, Y)
    patched.predict = double
    unseen(patched, "double")
    booster = xgboost.XGBRegressor(n_estimators=3).fit(X, Y).get_booster()
    seen(booster)
    booster.inplace_predict = double
    unseen(booster, "double")


def test_onnx_with_weights_in_another_file():
    """The graph alone does not say what is predicted."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from sfit.models._onnx_graph import has_weights_elsewhere

    helper = onnx.helper
    weights = onnx.numpy_helper.from_array(np.ones((3, 1), np.float32), "W")

    def graph():
        ends = [
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, size])
            for name, size in (("X", 3), ("Y", 1))
        ]
        node = helper.make_node("MatMul", ["X", "W"], ["Y"])
        return helper.make_graph([node], "g", ends[:1], ends[1:], [weights])

    model = helper.make_model(graph(), opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    seen(model)
    assert not has_weights_elsewhere(model.graph)
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], "weights.bin")
    assert has_weights_elsewhere(model.graph)


# --- other state --------------------------------------------------------------------------


def test_models_of_libraries_have_one():
    """None of the usual models is refused."""
    target = np.where(Y > 0, "yes", "no")
    seen(
        LinearRegression().fit(X, Y),
        RandomForestRegressor(3, random_state=0).fit(X, Y),
        StackingRegressor([("a", LinearRegression())]).fit(X, Y),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, target),
    )
