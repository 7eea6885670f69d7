import pickle
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from models.networks import X, assert_picklable, assert_random_copies, assert_structure
from sfit.exceptions import MissingDependencyError, ModelError
from sfit.models import as_view

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
helper, FLOAT, DOUBLE = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
ROWS = X.astype(np.float32)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
TWO = np.where(X[:, 0] > 0, "yes", "no")
TARGET = X[:, 0] - X[:, 1]


def build(nodes, weights, *, inputs=None, outputs=None, dtype=FLOAT):
    """A model from ``(op, inputs, output, attributes)``; rows are "X", the prediction "Y"."""
    kind = np.float64 if dtype == DOUBLE else np.float32
    table = [helper.make_tensor_value_info("X", dtype, [None, 4])]
    prediction = [helper.make_tensor_value_info("Y", dtype, None)]
    graph = helper.make_graph(
        [helper.make_node(op, ins, [out], **more) for op, ins, out, more in nodes],
        "test",
        inputs or table,
        outputs or prediction,
        [onnx.numpy_helper.from_array(np.asarray(w, kind), name) for name, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(ending=None, units=3, dtype=FLOAT):
    rng = np.random.default_rng(0)
    nodes = [
        ("Gemm", ["X", "w1", "b1"], "z1", {"transB": 1, "alpha": 0.5, "beta": 2.0}),
        ("BatchNormalization", ["z1", "gamma", "beta", "mean", "variance"], "n1", {}),
        ("LeakyRelu", ["n1"], "a1", {"alpha": 0.25}),
        ("MatMul", ["a1", "w2"], "m2", {}),
        ("Add", ["b2", "m2"], "z2", {}),
        ("Tanh", ["z2"], "a2", {}),
        ("Gemm", ["a2", "w3", "b3"], "z3" if ending else "Y", {}),
    ]
    weights = {
        "w1": rng.normal(size=(6, 4)),
        "b1": rng.normal(size=6),
        "gamma": rng.normal(size=6),
        "beta": rng.normal(size=6),
        "mean": rng.normal(size=6),
        "variance": rng.uniform(0.5, 2, size=6),
        "w2": rng.normal(size=(6, 5)),
        "b2": rng.normal(size=5),
        "w3": rng.normal(size=(5, units)),
        "b3": rng.normal(size=units),
    }
    if ending:
        nodes.append((ending, ["z3"], "Y", {}))
    return build(nodes, weights, dtype=dtype)


def converted(model, y, **options):
    skl2onnx = pytest.importorskip("skl2onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(ROWS, y)
    options = {id(model): options} if options else None
    return skl2onnx.to_onnx(model, ROWS[:1], options=options)


def network(kind, **settings):
    return kind(hidden_layer_sizes=(6, 5), max_iter=20, random_state=0, **settings)


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE])
def test_a_chain(dtype):
    model = chain(dtype=dtype)
    view = as_view(model)
    own = onnxruntime.InferenceSession(model.SerializeToString()).run(
        None, {"X": X.astype(np.float64 if dtype == DOUBLE else np.float32)}
    )[0]
    assert view.task == "regression"
    assert view.predict(X).dtype == own.dtype
    assert_allclose(view.predict(X), own, rtol=1e-5)
    assert [name for *_, name in view.structure.layers] == ["leaky_relu:0.25", "tanh", "identity"]
    assert_structure(view, rtol=1e-12 if dtype == DOUBLE else 1e-5)
    assert_random_copies(view)
    assert_picklable(view)


@pytest.mark.parametrize(("ending", "units"), [("Softmax", 3), ("Sigmoid", 1)])
def test_a_closing_sigmoid_or_softmax_gives_probabilities(ending, units):
    view = as_view(chain(ending, units))
    assert view.task == "classification"
    assert view.structure.output == ending.lower()
    assert_allclose(view.predict(X).sum(axis=1), 1, rtol=1e-6)
    assert_structure(view)
    assert_random_copies(view)


def test_weights_in_constant_nodes_and_under_other_names():
    w = onnx.numpy_helper.from_array(np.random.default_rng(0).normal(size=(4, 4)).astype("f"))
    nodes = [
        ("Constant", [], "w", {"value": w}),
        ("Identity", ["w"], "tied", {}),
        ("MatMul", ["X", "w"], "z", {}),
        ("Add", ["z", "shift"], "s", {}),
        ("Relu", ["s"], "a", {}),
        ("Dropout", ["a"], "d", {}),
        ("MatMul", ["d", "tied"], "Y", {}),
    ]
    view = as_view(build(nodes, {"shift": 0.5}))
    first, last = view.structure.layers
    assert_array_equal(first[0], last[0])
    assert_structure(view)
    assert_random_copies(view)
    first, last = view.randomize(np.random.default_rng(0)).structure.layers
    assert_array_equal(first[0], last[0])
    assert not first[1].any()


def test_the_loss_decides_where_the_graph_does_not():
    view = as_view(chain(), loss="log_loss")
    assert view.task == "classification"
    assert "function_model" in view.remedy
    several = chain("Sigmoid", 3)
    several.graph.output[0].CopyFrom(helper.make_tensor_value_info("Y", FLOAT, [None, 3]))
    assert as_view(several).task == "regression"


def test_path_bytes_proto_and_session_agree(tmp_path):
    model = chain()
    before = model.SerializeToString()
    onnx.save(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(before)
    expected = as_view(model).predict(X)
    forms = [tmp_path / "model.onnx", str(tmp_path / "model.onnx"), before, bytearray(before)]
    for form in (*forms, session):
        assert_array_equal(as_view(form).predict(X), expected)
    as_view(model).randomize(np.random.default_rng(0))
    assert model.SerializeToString() == before


def test_weights_kept_in_a_file_of_their_own(tmp_path):
    rng = np.random.default_rng(0)
    model = build([("MatMul", ["X", "w"], "Y", {})], {"w": rng.normal(size=(4, 300))})
    expected = as_view(model).predict(X)
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin")
    assert (tmp_path / "weights.bin").exists()
    assert_array_equal(as_view(tmp_path / "model.onnx").predict(X), expected)


def test_random_copies_follow_glorot_with_zero_biases():
    weights = {"w": np.ones((4, 500)), "b": np.ones(500), "v": np.ones((500, 300))}
    nodes = [("Gemm", ["X", "w", "b"], "z", {}), ("MatMul", ["z", "v"], "Y", {})]
    copy = as_view(build(nodes, weights)).randomize(np.random.default_rng(0))
    w, b, v = map(
        onnx.numpy_helper.to_array, onnx.load_model_from_string(copy.content).graph.initializer
    )
    assert v.std() == pytest.approx(np.sqrt(2 / 800), rel=0.02)
    assert w.std() == pytest.approx(np.sqrt(2 / 504), rel=0.1)
    assert not b.any()


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("zipmap", [True, False])
def test_converted_network_classifiers(y, zipmap):
    model = network(MLPClassifier)
    proto = converted(model, y, zipmap=zipmap)
    view = as_view(proto)
    assert view.task == "classification"
    assert view.classes.tolist() == model.classes_.tolist()
    assert_allclose(view.predict(X), model.predict_proba(ROWS), rtol=1e-4, atol=1e-6)
    assert_structure(view)
    assert_random_copies(view)
    assert_allclose(view.randomize(np.random.default_rng(0)).predict(X).sum(axis=1), 1, rtol=1e-5)
    assert_picklable(view)


@pytest.mark.parametrize("scaled", [True, False])
def test_converted_network_regressors(scaled):
    model = network(MLPRegressor, activation="logistic")
    model = make_pipeline(StandardScaler(), model) if scaled else model
    view = as_view(converted(model, TARGET))
    assert view.task == "regression"
    assert_allclose(view.predict(X), model.predict(ROWS), rtol=1e-4, atol=1e-5)
    assert_structure(view)
    assert_random_copies(view)


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, LogisticRegression])
def test_converted_classifiers_without_weights(kind, y, zipmap):
    model = kind(random_state=0, **({"n_estimators": 5} if kind is RandomForestClassifier else {}))
    proto = converted(model, y, zipmap=zipmap)
    for form in (proto, onnxruntime.InferenceSession(proto.SerializeToString())):
        view = as_view(form)
        assert view.task == "classification"
        assert_allclose(view.predict(X), model.predict_proba(ROWS), rtol=1e-4, atol=1e-6)
        assert view.structure is None
        # A bare session tells its classes only where it names them with every row.
        if form is proto or zipmap:
            assert view.classes.tolist() == model.classes_.tolist()
        with pytest.raises(ModelError, match="random_model"):
            view.randomize(np.random.default_rng(0))
    assert_picklable(as_view(proto))


@pytest.mark.parametrize("model", [RandomForestRegressor(5, random_state=0), LinearRegression()])
def test_converted_regressors_without_weights(model):
    view = as_view(converted(model, TARGET))
    assert view.task == "regression"
    assert_allclose(view.predict(X), model.predict(ROWS), rtol=1e-4, atol=1e-6)
    assert view.structure is None
    assert_picklable(view)


def test_several_targets():
    targets = np.column_stack([TARGET, TARGET])
    assert as_view(converted(LinearRegression(), targets)).predict(X).shape == (200, 2)
    # skl2onnx writes both outputs of a network into one column.
    with pytest.raises(ModelError, match="one prediction per row"):
        as_view(converted(network(MLPRegressor), targets)).predict(X)


def test_a_session_predicts_in_threads_only():
    view = as_view(onnxruntime.InferenceSession(chain("Softmax").SerializeToString()))
    assert view.threads_only
    assert view.task == "regression"  # Its graph, and so its softmax, cannot be seen.
    view = as_view(view.session, loss="log_loss")
    assert view.task == "classification"
    with pytest.raises(ModelError, match="ModelProto"):
        view.randomize(np.random.default_rng(0))


def test_the_session_is_not_pickled():
    view = as_view(chain())
    view.predict(X)
    assert "session" in vars(view)
    assert "session" not in vars(pickle.loads(pickle.dumps(view)))


@pytest.mark.parametrize(
    "nodes",
    [
        [("Gemm", ["X", "w", "b"], "z", {}), ("Add", ["X", "z"], "Y", {})],
        [("Gemm", ["X", "w", "b"], "z", {}), ("Erf", ["z"], "Y", {})],
        [("Relu", ["X"], "a", {}), ("Gemm", ["a", "w", "b"], "Y", {})],
        [("Gemm", ["X", "w", "b"], "z", {}), ("Concat", ["z", "z"], "Y", {"axis": 1})],
        [("Gemm", ["X", "w", "b"], "z", {}), ("Softmax", ["z"], "Y", {"axis": 0})],
    ],
)
def test_graphs_that_are_no_chains_have_no_structure(nodes):
    rng = np.random.default_rng(0)
    view = as_view(build(nodes, {"w": rng.normal(size=(4, 4)), "b": rng.normal(size=4)}))
    assert view.structure is None
    assert_random_copies(view)


def test_constants_that_are_no_weights_stay():
    nodes = [("Mul", ["X", "two"], "x", {}), ("MatMul", ["x", "w"], "Y", {})]
    weights = {"two": 2 * np.ones(4), "w": np.ones((4, 1))}
    copy = as_view(build(nodes, weights)).randomize(np.random.default_rng(0))
    w = onnx.load_model_from_string(copy.content).graph.initializer[1]
    assert_allclose(copy.predict(X), 2 * ROWS @ onnx.numpy_helper.to_array(w)[:, 0], rtol=1e-5)


def test_models_that_cannot_be_used_are_refused(tmp_path):
    table = [helper.make_tensor_value_info(name, FLOAT, [None, 4]) for name in ("X", "Z")]
    add = [("Add", ["X", "Z"], "Y", {})]
    with pytest.raises(ModelError, match="2 inputs"):
        as_view(build(add, {}, inputs=table))
    integers = [helper.make_tensor_value_info("X", onnx.TensorProto.INT64, [None, 4])]
    cast = [("Cast", ["X"], "Y", {"to": FLOAT})]
    with pytest.raises(ModelError, match="floats or doubles"):
        as_view(build(cast, {}, inputs=integers))
    fixed = [helper.make_tensor_value_info("X", FLOAT, [1, 4])]
    with pytest.raises(ModelError, match=r"exactly 1 row\(s\)"):
        as_view(build([("Relu", ["X"], "Y", {})], {}, inputs=fixed))
    labels = [helper.make_tensor_value_info("Y", onnx.TensorProto.INT64, None)]
    with pytest.raises(ModelError, match="function_model"):
        as_view(build([("ArgMax", ["X"], "Y", {"axis": 1})], {}, outputs=labels))
    pair = [helper.make_tensor_value_info(name, FLOAT, None) for name in ("Y", "V")]
    two = [("Relu", ["X"], "Y", {}), ("Tanh", ["X"], "V", {})]
    with pytest.raises(ModelError, match="'V'"):
        as_view(build(two, {}, outputs=pair))
    with pytest.raises(ModelError, match="cannot run"):
        as_view(build([("NoSuchOperator", ["X"], "Y", {})], {}))
    with pytest.raises(ModelError, match="empty"):
        as_view(b"")


def test_sessions_that_cannot_be_used_are_refused():
    table = [helper.make_tensor_value_info(name, FLOAT, [None, 4]) for name in ("X", "Z")]
    both = build([("Add", ["X", "Z"], "Y", {})], {}, inputs=table)
    with pytest.raises(ModelError, match="one input"):
        as_view(onnxruntime.InferenceSession(both.SerializeToString()))
    fixed = [helper.make_tensor_value_info("X", FLOAT, [1, 4])]
    one = build([("Relu", ["X"], "Y", {})], {}, inputs=fixed)
    with pytest.raises(ModelError, match=r"exactly 1 row\(s\)"):
        as_view(onnxruntime.InferenceSession(one.SerializeToString()))


def test_paths_and_bytes_that_are_no_models_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no file"):
        as_view(tmp_path / "missing.onnx")
    with pytest.raises(ModelError, match=r"ends in \.onnx"):
        as_view("model.pkl")
    (tmp_path / "broken.onnx").write_bytes(b"this is no model")
    with pytest.raises(ModelError, match="not an ONNX model"):
        as_view(tmp_path / "broken.onnx")
    with pytest.raises(ModelError, match="not an ONNX model"):
        as_view(b"this is no model")


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_missing_library(monkeypatch, tmp_path, name):
    content = chain().SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content)
    monkeypatch.setitem(sys.modules, name, None)
    for form in (content, tmp_path / "model.onnx"):
        with pytest.raises(MissingDependencyError, match=r'pip install "sfit\[onnx\]"'):
            as_view(form)
    # Other models do not need it, though one of the two libraries is loaded.
    assert as_view(LinearRegression().fit(X, TARGET)).task == "regression"
