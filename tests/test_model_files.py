"""Model files: every format comes back as it was saved, and hostile files do nothing."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from functools import partial

import numpy as np
import pytest
from models.saved import NEEDS, missing, rows, save
from numpy.testing import assert_allclose, assert_array_equal

from sfit.cli.model_files import _formats, load_model
from sfit.cli.model_files._formats import recognise
from sfit.exceptions import MissingDependencyError, ModelError
from sfit.models import as_view

SAFE = [name for name in NEEDS if name not in ("joblib", "pt", "pt2")]
UNSAFE = ["joblib", "pt", "pt2"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files by format, written when first asked for."""
    folder, known = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if missing(name):
            pytest.skip(f"needs {', '.join(missing(name))}")
        if name not in known:
            known[name] = save(name, folder)
        return known[name]

    return get


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def zipped(path, **entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), content)
    return path


@pytest.mark.parametrize("name", NEEDS)
def test_a_model_comes_back(saved, name):
    """Predictions of the loaded model are those of the saved one."""
    file, model, target, _ = saved(name)
    data = rows()[["a", "b", "c"]]
    loss = "log_loss" if target == "label" else "auto"
    loaded, original = as_view(load_model(file, allow_pickle=True), loss), as_view(model, loss)
    assert loaded.task == original.task
    expected = original.predict(np.asarray(original.encode(data)))
    found = loaded.predict(np.asarray(loaded.encode(data)))
    if name == "pt2":  # the same network, computed by another program
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", UNSAFE)
def test_programs_need_permission(saved, name):
    """What can run code on loading is refused, with the reason and the remedy."""
    with pytest.raises(ModelError, match=r"run any program on loading.*--allow-pickle"):
        load_model(saved(name).file)


@pytest.mark.parametrize(
    "suffix", [".pkl", ".skops", ".onnx", ".keras", ".json", ".txt", ".pt", ""]
)
@pytest.mark.parametrize("compression", [None, "zlib", "gzip", "bz2", "xz"])
def test_a_pickle_by_any_name_is_not_unpickled(tmp_path, suffix, compression):
    """The content decides; the trap stays shut."""
    import joblib

    file, folder = tmp_path / f"model{suffix}", tmp_path / "sprung"
    if compression is None:
        file.write_bytes(pickle.dumps(Trap(folder)))
    else:
        joblib.dump(Trap(folder), file, compress=(compression, 3))
    with pytest.raises(ModelError, match="--allow-pickle"):
        load_model(file)
    assert not folder.exists()
    if suffix == ".pkl":  # the trap is a real one
        load_model(file, allow_pickle=True)
        assert folder.exists()


def test_old_pickles_are_not_unpickled(tmp_path):
    """Protocol 0 begins like any text: unknown content, unless the name says pickle."""
    folder = tmp_path / "sprung"
    for suffix in (".pkl", ".skops", ".txt"):
        file = tmp_path / f"model{suffix}"
        file.write_bytes(pickle.dumps(Trap(folder), protocol=0))
        with pytest.raises(ModelError):
            load_model(file)
    assert not folder.exists()


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("other", [".bin", ".onnx", ".txt"])
def test_content_decides_on_the_format(saved, tmp_path, name, other):
    """A safe file with another name is known by its content (Keras insists on its own name)."""
    file = tmp_path / f"renamed{other}"
    file.write_bytes(saved(name).file.read_bytes())
    kind = {"json": "xgboost", "ubj": "xgboost", "txt": "lightgbm", "cbm": "catboost"}
    assert recognise(file) == kind.get(name, name)


@pytest.mark.parametrize("name", NEEDS)
def test_truncated_files(saved, tmp_path, name):
    """A file that was cut short is an error, wherever it was cut; no library crashes us."""
    file, *_ = saved(name)
    content = file.read_bytes()
    cut = tmp_path / file.name
    # Readers that run in a process of their own take a while.
    shares = (0.0, 0.6) if name in ("json", "ubj", "txt", "cbm") else (0.0, 0.01, 0.3, 0.6, 0.99)
    for share in shares:
        cut.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ModelError):
            as_view(load_model(cut, allow_pickle=True), "auto")


def test_a_file_that_crashes_its_library(saved, tmp_path):
    """LightGBM aborts the process on this text: another process dies, and we say so."""
    text = saved("txt").file.read_text()
    file = tmp_path / "model.txt"
    crashed = []
    for share in (0.2, 0.4, 0.6, 0.8):
        file.write_text(text[: int(share * len(text))])
        with pytest.raises(ModelError, match="damaged") as error:
            load_model(file)
        crashed.append("crashes the process" in str(error.value))
    assert any(crashed)


@pytest.mark.parametrize("damage", ["[max_bin 255]", "825 0.254702", "Tree=7", "[max_bin: 255"])
def test_a_parameter_that_lightgbm_would_read_beyond(saved, tmp_path, damage):
    """It crashes now or later, by chance: another process that reads it well proves nothing."""
    text = saved("txt").file.read_text()
    assert "[max_bin: 255]" in text
    file = tmp_path / "model.txt"
    file.write_text(text.replace("[max_bin: 255]", damage))
    with pytest.raises(ModelError, match="a line of its parameters is damaged"):
        load_model(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\0" * 100, "not a model file that sfit reads"),
        (b"a,b,c\n1,2,3\n", "not a model file that sfit reads"),
        (b'{"a": 1}', "JSON, but not of XGBoost"),
        (b'{"schema_version": 1, "kind": "SFITResult"', "is a result of sfit"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 50, r"model\.keras"),
        (b"PK\x03\x04" + b"\0" * 50, "damaged"),
        (b"[" * 100_000, "not a model file"),
        (b'{"learner":' * 100_000, "damaged"),
    ],
    ids=["empty", "zeros", "csv", "json", "result", "hdf5", "zip", "deep", "deep-json"],
)
def test_what_is_no_model(tmp_path, content, message):
    """Each wrong file has its own sentence."""
    if content.startswith(b'{"learner"'):
        pytest.importorskip("xgboost")
    file = tmp_path / "model.bin"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        load_model(file)


def test_no_file(tmp_path):
    """Neither a folder nor a device is a model file."""
    with pytest.raises(ModelError, match="there is no model file"):
        load_model(tmp_path / "absent.skops")
    with pytest.raises(ModelError, match="is a folder"):
        load_model(tmp_path)
    if os.path.exists("/dev/zero"):
        with pytest.raises(ModelError, match="there is no model file"):
            load_model("/dev/zero")


@pytest.mark.parametrize(("kind", "entry"), [("skops", "schema.json"), ("keras", "config.json")])
def test_zip_bombs_are_not_unpacked(tmp_path, monkeypatch, kind, entry):
    """The declared size is looked at first; nothing is read (`test_hostile_files.py`: large ones)."""
    monkeypatch.setattr(_formats, "MOST_UNPACKED", 2**20)
    file = tmp_path / f"model.{kind}"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr(entry, bytes(2**24))
    assert file.stat().st_size < 2**24 / 500
    with pytest.raises(ModelError, match="would unpack to"):
        load_model(file)


def test_a_bomb_that_hides_its_size(saved, tmp_path):
    """An entry is never read beyond its declared size, whatever is packed in it."""
    saved("skops")
    file = zipped(tmp_path / "model.skops", schema_json=bytes(2**24))
    content = bytearray(file.read_bytes())
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(ModelError, match="damaged"):
        load_model(file)


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/out", "a/../../out", "C:\\out", "a\\..\\..\\out"]
)
def test_entries_that_lead_outside(tmp_path, name):
    """An archive with such an entry is refused as a whole."""
    file = tmp_path / "model.keras"
    with zipfile.ZipFile(file, "w") as archive:
        for entry in ("config.json", "metadata.json", name):
            archive.writestr(entry, "{}")
    with pytest.raises(ModelError, match="points outside it"):
        load_model(file)


def test_links_in_archives(tmp_path):
    """A symbolic link could point anywhere."""
    file = tmp_path / "model.keras"
    link = zipfile.ZipInfo("model.weights.h5")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", "{}")
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(ModelError, match="points outside it"):
        load_model(file)


def test_an_archive_of_something_else(tmp_path):
    """A zip of anything is no model."""
    np.savez(tmp_path / "model.npz", a=np.arange(3))
    with pytest.raises(ModelError, match="an archive, but not a model"):
        load_model(tmp_path / "model.npz")


# --- skops --------------------------------------------------------------------------------


def test_types_of_the_users_own_are_refused(tmp_path):
    """Unknown types are listed, with what to add if they are trusted; then they are loaded."""
    skops = pytest.importorskip("skops.io")
    from models.foreign import Shifted

    file = tmp_path / "model.skops"
    X = rows()[["a", "b"]].to_numpy()
    skops.dump(Shifted().fit(X, X[:, 0]), file)
    with pytest.raises(ModelError, match=r"--trust models\.foreign\.Shifted"):
        load_model(file)
    with pytest.raises(ModelError, match=r"--trust models\.foreign\.Shifted"):
        load_model(file, trust=["models.foreign.Other"])
    assert load_model(file, trust=["models.foreign.Shifted"]).predict(X)[0] == 1.0


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy.testing._private.utils", "runstring"),
        ("os", "system"),
        ("builtins", "eval"),
        ("scipy.stats._distn_infrastructure", "rv_frozen"),
        ("sklearn.utils._testing", "TempMemmap"),
        ("sklearn.utils", "shuffle"),
    ],
)
def test_functions_are_never_on_the_list(tmp_path, module, name):
    """A function could be called with any argument while predicting: each needs --trust."""
    skops = pytest.importorskip("skops.io")
    from sklearn.preprocessing import FunctionTransformer

    plain = tmp_path / "plain.skops"
    skops.dump(FunctionTransformer(np.log1p), plain)
    load_model(plain)
    with zipfile.ZipFile(plain) as archive:
        schema = json.loads(archive.read("schema.json"))
    node = schema["content"]["content"]["func"]
    node.update({"__module__": module, "__class__": name, "__loader__": "FunctionNode"})
    node["content"] = {"module_path": module, "function": name}
    hostile = zipped(tmp_path / "hostile.skops", schema_json=json.dumps(schema))
    with pytest.raises(ModelError, match=f"--trust {module}.{name}"):
        load_model(hostile)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind", ["forest", "boosting", "neighbours", "network", "calibrated", "lightgbm", "xgboost"]
)
def test_types_on_the_list(tmp_path, kind):
    """The libraries' own types need no permission."""
    skops = pytest.importorskip("skops.io")
    from sklearn import calibration, ensemble, linear_model, neighbors, neural_network

    makers = {
        "forest": lambda: ensemble.RandomForestRegressor(n_estimators=3),
        "boosting": lambda: ensemble.HistGradientBoostingRegressor(max_iter=3),
        "neighbours": neighbors.KNeighborsRegressor,
        "network": lambda: neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=2),
        "calibrated": lambda: calibration.CalibratedClassifierCV(linear_model.LogisticRegression()),
        "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMRegressor(
            n_estimators=3, n_jobs=1, verbose=-1
        ),
        "xgboost": lambda: pytest.importorskip("xgboost").XGBRegressor(n_estimators=3),
    }
    data = rows()
    X, y = data[["a", "b", "c"]].to_numpy(), data["value"].to_numpy()
    model = makers[kind]().fit(X, (y > 0).astype(int) if kind == "calibrated" else y)
    skops.dump(model, tmp_path / "model.skops")
    assert_array_equal(load_model(tmp_path / "model.skops").predict(X), model.predict(X))


ORDINARY = ("imputer", "selector", "selection", "information", "chi2", "categories")


def ordinary(kind):
    """A pipeline as people write it, and its rows."""
    from sklearn import compose, ensemble, feature_selection, impute, linear_model, preprocessing
    from sklearn.pipeline import make_pipeline

    data = rows()
    X, y = data[["a", "b", "c"]].assign(word=np.where(data["a"] > 0, "x", "y")), data["value"]
    numbers, scaled = ["a", "b", "c"], preprocessing.StandardScaler()
    words = compose.make_column_selector(dtype_include=object)
    if kind == "categories":
        X = X.assign(word=X["word"].astype("category"))
        boosting = ensemble.HistGradientBoostingRegressor(max_iter=3)
        return boosting.set_params(categorical_features="from_dtype").fit(X, y), X
    if kind == "chi2":
        positive = preprocessing.MinMaxScaler()
        chosen = feature_selection.SelectKBest(feature_selection.chi2, k=2)
        classifier = linear_model.LogisticRegression()
        return make_pipeline(positive, chosen, classifier).fit(X[numbers], y > 0), X[numbers]
    steps = {
        "imputer": make_pipeline(impute.SimpleImputer(), scaled),
        "selector": scaled,
        "selection": feature_selection.SelectKBest(feature_selection.f_regression, k=2),
        "information": feature_selection.SelectKBest(feature_selection.mutual_info_regression, k=2),
    }
    encoder = (preprocessing.OneHotEncoder(), words if kind == "selector" else ["word"])
    head = compose.make_column_transformer((steps[kind], numbers), encoder)
    frame = X.astype({"word": object})
    return make_pipeline(head, linear_model.LinearRegression()).fit(frame, y), frame


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_pipelines_need_no_permission(tmp_path, kind):
    """Types and functions that scikit-learn's own estimators hold are on the list."""
    skops = pytest.importorskip("skops.io")
    model, X = ordinary(kind)
    skops.dump(model, tmp_path / "model.skops")
    assert_array_equal(load_model(tmp_path / "model.skops").predict(X), model.predict(X))


def dumped(model, path):
    """The schema of a skops file."""
    skops = pytest.importorskip("skops.io")
    skops.dump(model, path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))


@pytest.mark.parametrize("function", [os.system, np.log1p, print], ids=["system", "ufunc", "print"])
def test_a_partial_of_another_function_needs_permission(tmp_path, function):
    """Whatever skops thinks of the function itself."""
    from sklearn.preprocessing import FunctionTransformer

    dumped(FunctionTransformer(partial(function)), tmp_path / "model.skops")
    with pytest.raises(ModelError, match=r"--trust functools\.partial"):
        load_model(tmp_path / "model.skops")


@pytest.mark.parametrize("loader", ["ObjectNode", "TypeNode", "ConstructorFromReduceNode"])
@pytest.mark.parametrize("kind", ["imputer", "categories"])
def test_reviewed_types_in_another_form_need_permission(tmp_path, kind, loader):
    """A loader decides what is done with a type: only the reviewed one is allowed."""
    schema = dumped(ordinary(kind)[0], tmp_path / "model.skops")
    name = "numpy.dtype" if kind == "imputer" else "functools.partial"
    module, _, member = name.rpartition(".")
    left, changed = [schema], 0
    while left:
        node = left.pop()
        if isinstance(node, dict):
            if (node.get("__module__"), node.get("__class__")) == (module, member):
                node["__loader__"], changed = loader, changed + 1
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
    assert changed
    hostile = zipped(tmp_path / "hostile.skops", schema_json=json.dumps(schema))
    with pytest.raises(ModelError):
        load_model(hostile)


# --- ONNX, boosters, torch ------------------------------------------------------------------


def test_onnx_weights_from_elsewhere(saved, tmp_path):
    """A graph that takes its weights from outside its folder does not get them."""
    onnx = pytest.importorskip("onnx")
    saved("onnx")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(3, dtype=np.float32).tobytes())
    weights = onnx.TensorProto(name="W", dims=[3, 1], data_type=onnx.TensorProto.FLOAT)
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../secret.bin")
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["X", "W"], ["Y"])],
        "hostile",
        [tensor("X", onnx.TensorProto.FLOAT, [None, 3])],
        [tensor("Y", onnx.TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "model.onnx"
    file.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(ModelError, match="not an ONNX model"):
        as_view(load_model(file))


def test_catboost_counts_are_counts(tmp_path):
    """A Poisson model predicts counts from its file too, not their logarithms."""
    catboost = pytest.importorskip("catboost")
    X = rows()[["a", "b", "c"]].to_numpy()
    model = catboost.CatBoostRegressor(
        iterations=3, loss_function="Poisson", verbose=0, allow_writing_files=False
    ).fit(X, np.round(np.exp(X[:, 0])))
    model.save_model(str(tmp_path / "model.cbm"))
    assert_array_equal(load_model(tmp_path / "model.cbm").predict(X), model.predict(X))


def test_torch_weights_alone(tmp_path):
    """A state dict is no model; the error says what to save instead."""
    torch = pytest.importorskip("torch")
    file = tmp_path / "model.pt"
    torch.save(torch.nn.Linear(3, 1).state_dict(), file)
    with pytest.raises(ModelError, match="weights alone are not a model"):
        load_model(file, allow_pickle=True)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_torch_scripts(tmp_path):
    """TorchScript is loaded with permission only."""
    torch = pytest.importorskip("torch")
    file, module = tmp_path / "model.pt", torch.nn.Linear(3, 1)
    torch.jit.trace(module, torch.zeros(2, 3)).save(str(file))
    with pytest.raises(ModelError, match="TorchScript"):
        load_model(file)
    X = rows()[["a", "b", "c"]].to_numpy()
    found = as_view(load_model(file, allow_pickle=True)).predict(X)
    assert_allclose(found, as_view(module).predict(X), rtol=1e-6)


def test_a_pickle_of_a_class_that_is_gone(tmp_path):
    """The class was defined in a script: the error says what to do."""
    file = tmp_path / "model.pkl"
    script = f"import pickle\nclass Net: pass\npickle.dump(Net(), open({str(file)!r}, 'wb'))"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(ModelError, match=r"code that is missing .*Net"):
        load_model(file, allow_pickle=True)


def test_missing_library(saved, monkeypatch):
    """The extra to install is named."""
    file = saved("skops").file
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "sfit\[skops\]"'):
        load_model(file)
