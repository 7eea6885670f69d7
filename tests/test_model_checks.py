"""What is looked at in a loaded model: every sound model passes, and each kind of damage is found.

Nothing here predicts with a hostile model, which could crash this process: `test_hostile_files.py`
lets the program read them from files.
"""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from made_files import rezipped
from made_skops import FILES, MODELS, data, made
from models.saved import rows
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.utils import all_estimators

from sfit.cli.model_files import _rehearsal, load_model
from sfit.cli.model_files._checks import check_part, parts
from sfit.cli.model_files._tree_nodes import check_nodes
from sfit.exceptions import ModelError

ESTIMATORS = {
    name: owner
    for kind in ("regressor", "classifier")
    for name, owner in all_estimators(type_filter=kind)
}


def look(model):
    """What the other process looks at."""
    for part in parts(model):
        check_part(part)


def fitted(owner):
    """The model with its usual settings; None where it needs more than that."""
    X, label, value = data()
    for target in (value, label, (label == "yes").astype(int)):
        try:
            return owner().fit(X[:150], target[:150])
        except (TypeError, ValueError, AttributeError):
            continue
    return None


@pytest.mark.filterwarnings("ignore")
def test_sound_models_pass():
    """All regressors and classifiers of scikit-learn."""
    looked = [
        name
        for name, owner in ESTIMATORS.items()
        if (model := fitted(owner)) and look(model) is None
    ]
    assert len(looked) > 70
    assert {"SVC", "NuSVR", "KNeighborsRegressor", "BaggingClassifier"} < set(looked)


@pytest.mark.filterwarnings("ignore")
def test_sound_settings_pass():
    """Settings that store other arrays: sparse, categorical, weighted, of several classes."""
    from sklearn import ensemble, neighbors, pipeline, preprocessing, svm, tree

    X, _, value = data()
    three = np.digitize(value, [-1, 1])
    for model, target in (
        (tree.DecisionTreeClassifier(ccp_alpha=0.01), three),
        (tree.ExtraTreeRegressor(max_leaf_nodes=1000), value),
        (ensemble.GradientBoostingClassifier(n_estimators=3), three),
        (ensemble.HistGradientBoostingClassifier(max_iter=3, categorical_features=[0]), three),
        (ensemble.IsolationForest(n_estimators=3, max_features=2), value),
        (ensemble.BaggingRegressor(max_features=2), value),
        (neighbors.KNeighborsRegressor(algorithm="ball_tree", metric="minkowski", p=3), value),
        (
            neighbors.KNeighborsRegressor(
                algorithm="ball_tree", metric="mahalanobis", metric_params={"V": np.eye(3)}
            ),
            value,
        ),
        (svm.SVC(probability=False, kernel="linear"), three),
        (svm.OneClassSVM(), value),
        (svm.NuSVC(nu=0.1), three),
        (pipeline.make_pipeline(preprocessing.SplineTransformer(), svm.SVR()), value),
    ):
        if isinstance(model, ensemble.HistGradientBoostingClassifier):
            look(model.fit(X.round().abs(), target))
        else:
            look(model.fit(X, target))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("kind", ["plain", "categorical", "linear", "classes", "stump"])
def test_sound_boosters_pass(library, kind):
    """Boosters with every kind of split that their files know."""
    owner = pytest.importorskip(library)
    X, _, value = data()
    target = np.digitize(value, [-1, 1]) if kind == "classes" else value
    if kind == "categorical":
        X = X.assign(a=X["a"].round().astype(int).astype("category"))
    if library == "lightgbm":
        settings = {"linear": {"linear_tree": True}, "stump": {"min_child_samples": 10_000}}.get(
            kind, {}
        )
        model = (owner.LGBMClassifier if kind == "classes" else owner.LGBMRegressor)(
            n_estimators=3, n_jobs=1, verbose=-1, **settings
        )
    else:
        settings = {
            "linear": {"booster": "gblinear"},
            "stump": {"booster": "dart", "gamma": 1e9},
            "categorical": {"enable_categorical": True, "max_cat_to_onehot": 1},
        }.get(kind, {})
        model = (owner.XGBClassifier if kind == "classes" else owner.XGBRegressor)(
            n_estimators=3, n_jobs=1, **settings
        )
    look(model.fit(X, target))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_damage_is_found(name):
    """Each for its own reason."""
    make, reason, *_ = MODELS[name]
    with pytest.raises(ValueError, match=reason):
        look(make())


def test_a_circle_apart_from_the_root():
    """Predicting never reaches it, but whoever looks for parents would never end."""
    left = np.array([1, -1, 4, -1, 2, -1, -1])
    right = np.array([3, -1, 5, -1, 6, -1, -1])
    with pytest.raises(ValueError, match="cannot be reached from its root"):
        check_nodes(left, right, left == -1, np.zeros(7, int), 1)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_sparse_matrices(kind):
    """Of every format that follows indices."""
    matrix = sparse.random(6, 6, 0.5, format=kind, random_state=0)
    look(matrix)
    matrix.indices[0] = 10**6
    with pytest.raises(ValueError, match=r"(indices|index values) must be <"):
        look([matrix])


def test_splines():
    """Coefficients that are too few for the knots."""
    spline = BSpline(np.arange(10.0), np.ones(6), 3)
    look(spline)
    spline.c = np.ones(1)
    with pytest.raises(ValueError, match="coefficients"):
        look({"inside": (spline,)})


# --- limits -----------------------------------------------------------------------------------


def loop(times):
    """An ONNX graph that goes round and round."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kinds = onnx.helper, onnx.TensorProto
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Sin", ["state"], ["next"]),
        ],
        "body",
        [info("i", kinds.INT64, []), info("go", kinds.BOOL, []), info("state", kinds.FLOAT, None)],
        [info("go_on", kinds.BOOL, []), info("next", kinds.FLOAT, None)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["times", "true", "X"], ["Y"], body=body)],
        "loop",
        [info("X", kinds.FLOAT, [None, 3])],
        [info("Y", kinds.FLOAT, [None, 3])],
        [
            helper.make_tensor("times", kinds.INT64, [], [times]),
            helper.make_tensor("true", kinds.BOOL, [], [True]),
        ],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


def test_a_graph_without_end(tmp_path, monkeypatch):
    """A time limit (a short one here) ends the rehearsal, and with it the process that reads."""
    file = tmp_path / "model.onnx"
    file.write_bytes(loop(10**15))
    monkeypatch.setattr(_rehearsal, "SECONDS", 8.0)
    started = time.monotonic()
    with pytest.raises(ModelError, match="could not be read and tried out within 8 seconds"):
        load_model(file)
    assert time.monotonic() - started < 60
    file.write_bytes(loop(10))
    monkeypatch.setattr(_rehearsal, "SECONDS", 60.0)
    load_model(file)


def test_a_layer_that_asks_for_all_memory(tmp_path):
    """A billion units of three inputs: 12 GB, which the other process does not get."""
    keras = pytest.importorskip("keras")
    file = tmp_path / "model.keras"
    layers = [keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)]
    keras.Sequential(layers).save(file)

    def wide(content):
        config = json.loads(content)
        config["config"]["layers"][1]["config"]["units"] = 10**9
        return json.dumps(config)

    file.write_bytes(rezipped(file.read_bytes(), {"config.json": wide}))
    with pytest.raises(ModelError, match=r"damaged \(.*memory"):
        load_model(file)


# --- the program ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["child", "circle", "lightgbm cut", "lightgbm child"])
def test_the_program_refuses_in_one_line(tmp_path, name):
    """Exit code 2 and one line, from the program itself."""
    pytest.importorskip("skops")
    if name.startswith("lightgbm"):
        pytest.importorskip("lightgbm")
    make, reason, *options = {**MODELS, **FILES}[name]
    (tmp_path / "model.skops").write_bytes(made(make))
    rows(60).to_csv(tmp_path / "rows.csv", index=False)
    ended = subprocess.run(
        [sys.executable, "-m", "sfit", "test", "model.skops", "rows.csv", "-t", "label", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: ") and ended.stderr.count("\n") == 1
    assert reason in ended.stderr
