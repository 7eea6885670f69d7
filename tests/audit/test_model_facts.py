"""Facts about models of each library."""

import functools
import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfit._audit._model_facts import MOST_CHARACTERS, MOST_PARAMETERS, model_facts
from sfit.models import as_view, function_model

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
VALUES = X[:, 0] + rng.normal(size=80)
LABELS = np.where(VALUES > 0, "yes", "no")
CODES = (VALUES > 0).astype(int)


def facts(model, **options):
    return model_facts(model, as_view(model), **options)


def doubled(rows):
    return 2 * rows[:, 0]


class Doubler:
    def __call__(self, rows):
        return 2 * rows[:, 0]


class BadRepr:
    def __repr__(self):
        raise RuntimeError("no text")


def test_an_estimator_of_scikit_learn():
    found = facts(RandomForestClassifier(7, max_depth=2, random_state=1).fit(X, LABELS))
    assert found.name == found.kind == "RandomForestClassifier"
    assert found.library.startswith("scikit-learn ")
    assert (found.task, found.classes) == ("classification", ("no", "yes"))
    # Parameters that differ from a default come first.
    assert {found.parameters[k] for k in range(3)} == {
        ("n_estimators", "7"),
        ("max_depth", "2"),
        ("random_state", "1"),
    }
    assert ("criterion", "gini") in found.parameters
    assert len(found.fingerprint) == 32
    assert not found.unseen


def test_the_fingerprint_and_the_name():
    first, second = (LinearRegression().fit(X, VALUES + k * X[:, 1]) for k in (0, 1))
    assert facts(first, name="Pricing").name == "Pricing"
    assert facts(first).fingerprint != facts(second).fingerprint
    assert facts(first) == facts(LinearRegression().fit(X, VALUES))


def test_a_pipeline_lists_its_steps_and_the_settings_of_the_last():
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5)).fit(X, LABELS)
    found = facts(model)
    assert found.kind == "Pipeline"
    assert found.parameters[:3] == (
        ("standardscaler", "StandardScaler()"),
        ("logisticregression", "LogisticRegression(C=0.5)"),
        ("logisticregression__C", "0.5"),
    )


def test_long_values_and_many_parameters_are_cut():
    wide = Ridge(alpha=np.arange(500.0))  # not fitted: only its text matters
    found = model_facts(wide, as_view(doubled))
    assert all(len(value) <= MOST_CHARACTERS for _, value in found.parameters)
    assert all(value.isprintable() for _, value in found.parameters)

    class Many:
        params = {f"p{k}": BadRepr() for k in range(MOST_PARAMETERS + 5)}  # noqa: RUF012

    found = model_facts(Many(), as_view(doubled))
    assert len(found.parameters) == MOST_PARAMETERS + 1
    assert found.parameters[0] == ("p0", "BadRepr")
    assert found.parameters[-1] == ("...", "5 more")


def test_control_characters_and_addresses_are_left_out():
    class Odd:
        params = {"a\x1b": "x\ny\u202e", "b": object()}  # noqa: RUF012

    assert model_facts(Odd(), as_view(doubled)).parameters == (
        ("a\\x1b", "x y\\u202e"),
        ("b", "<object object>"),
    )


@pytest.mark.parametrize("model", [doubled, functools.partial(doubled), function_model(doubled)])
def test_a_plain_function(model):
    found = facts(model)
    assert (found.kind, found.library) == ("doubled", "")
    assert found.parameters == (("module", __name__),)
    assert not found.fingerprint
    assert found.unseen.startswith("sfit cannot inspect the code of the function")
    assert found.unseen.endswith(".")


def test_a_callable_object():
    found = facts(Doubler())
    assert (found.kind, found.library, found.parameters) == ("Doubler", "", ())


def test_the_users_subclass_belongs_to_the_library_of_its_base():
    class Own(LinearRegression):
        pass

    found = facts(Own().fit(X, VALUES))
    assert found.kind == "Own"
    assert found.library.startswith("scikit-learn ")
    assert "Own" in found.unseen  # its code may change


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(X, CODES)
    found = facts(model)
    assert found.kind == "LGBMClassifier"
    assert found.library == f"lightgbm {lightgbm.__version__}"
    assert found.parameters[0] == ("number of trees", "4")
    assert ("n_estimators", "4") in found.parameters
    assert found.fingerprint
    found = facts(model.booster_)
    assert found.kind == "Booster"
    assert dict(found.parameters)["number of trees"] == "4"
    assert dict(found.parameters)["objective"] == "binary"


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=4, max_depth=2).fit(X, VALUES)
    found = facts(model)
    assert found.kind == "XGBRegressor"
    assert found.library.startswith("xgboost")
    assert found.library.endswith(f" {xgboost.__version__}")
    assert dict(found.parameters)["boosting rounds"] == "4"
    assert dict(found.parameters)["max_depth"] == "2"
    found = facts(model.get_booster())
    assert found.kind == "Booster"
    assert dict(found.parameters)["boosting rounds"] == "4"
    assert dict(found.parameters)["max_depth"] == "2"
    assert found.fingerprint


def test_catboost():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(iterations=4, verbose=False, allow_writing_files=False)
    found = facts(model.fit(X, CODES))
    assert found.kind == "CatBoostClassifier"
    assert found.library == f"catboost {catboost.__version__}"
    assert found.parameters[0] == ("number of trees", "4")
    assert ("iterations", "4") in found.parameters


def test_torch():
    torch = pytest.importorskip("torch")
    from sfit.models import torch_model

    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    for model in (net, torch_model(net)):
        found = facts(model)
        assert found.kind == "Sequential"
        assert found.library.startswith("torch ")
        assert found.parameters == (
            ("number of weights", "21"),
            ("0", "Linear(in_features=3, out_features=4, bias=True)"),
            ("1", "ReLU()"),
            ("2", "Linear(in_features=4, out_features=1, bias=True)"),
        )
        assert found.fingerprint


def test_keras():
    keras = pytest.importorskip("keras")
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, "relu", name="a"), keras.layers.Dense(1)]
    )
    found = facts(model)
    assert found.kind == "Sequential"
    assert found.library.startswith("keras ")
    assert found.parameters[:2] == (
        ("number of weights", "21"),
        ("a", "Dense(units=4, activation=relu)"),
    )


def test_skorch():
    pytest.importorskip("skorch")
    torch = pytest.importorskip("torch")
    from skorch import NeuralNetRegressor

    net = NeuralNetRegressor(torch.nn.Linear, module__in_features=3, module__out_features=1)
    net = net.set_params(max_epochs=1, verbose=0)
    found = facts(net.fit(X.astype("f4"), VALUES.astype("f4")[:, None]))
    assert found.kind == "NeuralNetRegressor"
    assert found.library.startswith("skorch ")
    assert ("max_epochs", "1") in found.parameters


def test_onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    content = skl2onnx.to_onnx(LinearRegression().fit(X, VALUES), X[:1]).SerializeToString()
    found = facts(content)
    assert (found.kind, found.parameters) == ("ONNX model", ())
    assert found.library.startswith("onnxruntime ")
    assert found.fingerprint
    assert "onnxruntime" in sys.modules
