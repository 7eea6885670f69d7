"""What a `.keras` file may name and point at: every part of a real network, and nothing else."""

import io
import json
import zipfile

import numpy as np
import pytest
from models.saved import missing, rows, save
from numpy.testing import assert_array_equal

from sfit.cli.model_files import load_model
from sfit.cli.model_files._keras_archive import FUNCTIONS, LAYERS, PROGRAMS, check_archive
from sfit.exceptions import ModelError

if missing("keras"):
    pytest.skip(f"needs {', '.join(missing('keras'))}", allow_module_level=True)

import h5py
import keras
from keras import layers as L


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A file as Keras saves it."""
    return save("keras", tmp_path_factory.mktemp("keras")).file


@pytest.fixture
def changed(good, tmp_path):
    """The good file with some entries replaced: a function of the old content, or new content."""

    def make(**changes):
        file = tmp_path / "changed.keras"
        with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w") as new:
            for name in old.namelist():
                change = changes.get(name.partition(".")[0], old.read(name))
                new.writestr(name, change(old.read(name)) if callable(change) else change)
        return file

    return make


def with_layer(**part):
    """A change of the configuration: its first layer is another one."""

    def change(content):
        config = json.loads(content)
        config["config"]["layers"][1].update(part)
        return json.dumps(config)

    return change


def with_activation(**part):
    def change(content):
        config = json.loads(content)
        config["config"]["layers"][1]["config"]["activation"] = part
        return json.dumps(config)

    return change


# --- networks as people build them ----------------------------------------------------------


def sequential(*layers):
    return keras.Sequential([keras.Input((3,)), *layers, L.Dense(1)])


def functional():
    x = keras.Input((3,))
    y = L.Dense(3, activation=keras.activations.gelu)(x)
    both = L.Concatenate()([x, L.Add()([x, y])])
    between = keras.ops.relu(both) * 2 + keras.ops.exp(both[:, 0:1])
    return keras.Model(x, keras.ops.sigmoid(L.Dense(1)(between)))


def compiled():
    model = sequential(L.Dense(2, activation="relu"))
    model.compile("adam", "mse", metrics=["mae"])
    return model


def normalised():
    layer = L.Normalization()
    layer.adapt(rows()[["a", "b", "c"]].to_numpy(np.float32))
    return sequential(layer)


NETWORKS = {
    "activations": lambda: sequential(
        *(L.Dense(4, activation=name) for name in ("relu", "tanh", "selu", "mish", "linear")),
        L.Dense(4, activation=L.LeakyReLU()),
        L.Activation(keras.activations.silu),
        L.Activation(keras.ops.log_softmax),
    ),
    "own-layers": lambda: sequential(L.LeakyReLU(), L.PReLU(), L.ELU(), L.ReLU(), L.Softmax()),
    "noise": lambda: sequential(L.Dropout(0.1), L.GaussianNoise(0.1), L.AlphaDropout(0.1)),
    "norms": lambda: sequential(
        L.BatchNormalization(), L.LayerNormalization(), L.UnitNormalization(), L.Rescaling(2.0)
    ),
    "adapted": normalised,
    "regularised": lambda: sequential(
        L.Dense(
            4,
            kernel_regularizer=keras.regularizers.L1L2(1e-3, 1e-3),
            bias_regularizer="l2",
            kernel_initializer=keras.initializers.HeNormal(seed=1),
            bias_initializer=keras.initializers.Constant(0.5),
            kernel_constraint=keras.constraints.MaxNorm(2),
        ),
        L.SpectralNormalization(L.Dense(2, kernel_regularizer="orthogonal_regularizer")),
    ),
    "mixed": lambda: sequential(L.Dense(2, dtype="mixed_bfloat16"), L.Dense(2, dtype="float64")),
    "recurrent": lambda: sequential(
        L.Reshape((3, 1)), L.Bidirectional(L.LSTM(2, return_sequences=True)), L.RNN(L.GRUCell(2))
    ),
    "convolution": lambda: sequential(
        L.Reshape((3, 1)), L.Conv1D(2, 2, activation="relu"), L.GlobalAveragePooling1D()
    ),
    "functional": functional,
    "nested": lambda: sequential(keras.Sequential([L.Dense(3)]), functional()),
    "compiled": compiled,
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_real_networks_come_back(tmp_path, kind):
    """Nothing that Keras itself saves of a plain network is missing from the lists."""
    keras.utils.set_random_seed(0)
    model, file = NETWORKS[kind](), tmp_path / "model.keras"
    model.save(file)
    X = rows(20)[["a", "b", "c"]].to_numpy(np.float32)
    expected = keras.ops.convert_to_numpy(model(X, training=False))
    found = keras.ops.convert_to_numpy(load_model(file)(X, training=False))
    assert_array_equal(found, expected)


def test_the_lists_are_of_keras():
    """Every name is one of Keras, so that a slip of the pen shows; no program is among them."""
    known = {name for name in LAYERS if issubclass(getattr(L, name, int), keras.Layer)}
    assert known == LAYERS
    assert set(dir(keras.activations)) >= FUNCTIONS
    assert not LAYERS & set(PROGRAMS)


# --- what configurations must not name ------------------------------------------------------


def test_layers_with_a_program(tmp_path):
    """A Lambda layer is a program: refused by us, before Keras sees it."""
    file = tmp_path / "model.keras"
    sequential(L.Lambda(lambda x: x * 2, output_shape=(3,))).save(file)
    with pytest.raises(ModelError, match="runs a program from the file"):
        load_model(file)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("mine", "Layer"),
        ("keras.layers", "TFSMLayer"),
        ("keras.layers", "TorchModuleWrapper"),
        ("keras.utils", "get_file"),
        ("keras", "utils.get_file"),
        ("keras", "layers.TFSMLayer"),
        ("keras", "layers.TorchModuleWrapper"),
        ("keras", "layers.Dense"),
        ("keras", "config.enable_unsafe_deserialization"),
        ("keras.models", "load_model"),
        ("keras.src.ops.numpy", "np.load"),
        ("keras.src.ops.numpy.backend", "Variable"),
        ("keras.src.models.cloning", "Functional"),
        ("builtins", "eval"),
        (None, "Dense"),
        (None, "__lambda__"),
        (None, "__typespec__"),
    ],
)
def test_classes_that_are_not_on_the_list(changed, monkeypatch, module, name):
    """Refused by us, whatever Keras would say to it."""
    file = changed(config=with_layer(module=module, class_name=name, registered_name=name))
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    with pytest.raises(ModelError, match=r"not on sfit's list|runs a program"):
        load_model(file)


@pytest.mark.parametrize("module", ["keras", "builtins", "keras.activations", "keras.ops", None])
@pytest.mark.parametrize(
    "name",
    [
        "datasets.mnist.load_data",
        "utils.set_random_seed",
        "callbacks.RemoteMonitor",
        "layers.Lambda",
        "config.set_floatx",
        "deserialize",
        "get_file",
    ],
)
def test_functions_that_are_not_on_the_list(changed, monkeypatch, module, name):
    """An activation is called with the rows at the first prediction: it has to be one."""
    part = {"module": module, "class_name": "function", "config": name, "registered_name": name}
    file = changed(config=with_activation(**part))
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    with pytest.raises(ModelError, match=f"{name}.* not on sfit's list"):
        load_model(file)


def test_names_that_are_registered(changed):
    """Keras looks up the registered name first: it must not be another one."""
    for change in (
        with_layer(registered_name="mine>Dense"),
        with_activation(
            module="builtins", class_name="function", config="relu", registered_name="mine>relu"
        ),
    ):
        with pytest.raises(ModelError, match=r"\(mine>.*not on sfit's list"):
            load_model(changed(config=change))


def test_functions_by_their_plain_names(changed):
    """As Keras saves an activation that is not its own text."""
    for module, name in (("builtins", "relu"), ("keras.activations", "tanh")):
        part = {"module": module, "class_name": "function", "config": name}
        model = load_model(changed(config=with_activation(**part, registered_name=name)))
        assert model.layers[0].activation is getattr(keras.activations, name)


def test_a_vocabulary_in_another_file(tmp_path, changed):
    """A layer of words would read whatever file it is told."""
    secret = tmp_path / "secret.txt"
    secret.write_text("1\n2\n")
    config = {"name": "words", "vocabulary": str(secret)}
    file = changed(config=with_layer(class_name="IntegerLookup", config=config))
    with pytest.raises(ModelError, match="reads a file"):
        load_model(file)


# --- what weights must not do ---------------------------------------------------------------


def weights(write):
    """An HDF5 file with something else for the first kernel."""

    def change(content):
        file = io.BytesIO(content)
        with h5py.File(file, "a") as store:
            group = store["layers/dense/vars"]
            del group["0"]
            write(group)
        return file.getvalue()

    return change


def external(group):
    group.create_dataset("0", (3, 4), "f4", external=[("/etc/passwd", 0, 48)])


def virtual(group):
    layout = h5py.VirtualLayout((3, 4), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "0", (3, 4))
    group.create_virtual_dataset("0", layout)


def soft_link(group):
    group["0"] = h5py.SoftLink("/layers/dense/vars/1")


def external_link(group):
    group["0"] = h5py.ExternalLink("/etc/passwd", "/")


def twice(group):
    group["0"] = group["1"]


def inside_itself(group):
    group["0"] = group.parent


@pytest.mark.parametrize(
    "write", [external, virtual, soft_link, external_link, twice, inside_itself]
)
def test_weights_from_elsewhere(changed, monkeypatch, write):
    """Arrays lie in the file itself, once: no link is followed, no other file opened."""
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    with pytest.raises(ModelError, match="are stored elsewhere"):
        load_model(changed(model=weights(write)))


def test_weights_that_are_no_numbers(changed):
    """Texts of any length can be repeated without being stored again."""
    with pytest.raises(ModelError, match="are not numbers"):
        load_model(
            changed(model=weights(lambda g: g.create_dataset("0", (3,), h5py.string_dtype())))
        )


@pytest.mark.parametrize("packed", [False, True])
def test_weights_that_promise_too_much(changed, monkeypatch, packed):
    """A shape without numbers, or zeros packed to nothing: refused by the shape alone."""
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    options = {"chunks": (1_000, 1_000), "compression": "gzip"} if packed else {}
    file = changed(model=weights(lambda g: g.create_dataset("0", (10**6, 10**3), "f4", **options)))
    assert file.stat().st_size < 100_000
    with pytest.raises(ModelError, match=r"unpack to 3\.7 GB"):
        load_model(file)


def test_many_weights_that_promise_too_much_together(changed):
    """The limit is for all arrays, not for each."""

    def many(group):
        for number in range(2, 12):
            group.create_dataset(str(number), (2**16,), "f4")

    with pytest.raises(ModelError, match="weights that would unpack to"):
        check_archive(changed(model=weights(many)), 2**20)


def test_weights_of_another_format(good, tmp_path):
    """Keras would read arrays of NumPy instead, whose sizes nobody has looked at."""
    file = tmp_path / "model.keras"
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name.replace(".h5", ".npz"), old.read(name))
    with pytest.raises(ModelError, match=r"no model\.weights\.h5"):
        load_model(file)
