import os
import pickle
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models.networks import X, assert_picklable, assert_random_copies, assert_structure
from sfit.exceptions import ModelError
from sfit.models import as_view

torch = pytest.importorskip("torch")
os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras")
torch.set_num_threads(1)  # Tiny models, and a machine that others share.
layers = keras.layers
ROWS = X.astype(np.float32)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture(autouse=True)
def seed():
    state = random.getstate()
    keras.utils.set_random_seed(0)
    yield
    random.setstate(state)


def full_network(units=3, activation="softmax"):
    """A functional chain with normalisation in every place, fitted for a moment."""
    scaled = layers.Normalization()
    scaled.adapt(3 * ROWS + 1)
    rows = keras.Input((4,))
    z = layers.BatchNormalization()(layers.Dense(8)(scaled(rows)))
    z = layers.BatchNormalization()(layers.LeakyReLU(negative_slope=0.25)(z))
    z = layers.Dense(6, use_bias=False)(layers.Dropout(0.5)(z))
    z = layers.Dense(units, activation=activation)(layers.ReLU()(z))
    model = keras.Model(rows, z)
    loss = "sparse_categorical_crossentropy" if units == 3 else "mse"
    model.compile("adam", loss)
    model.fit(ROWS, THREE, epochs=2, verbose=0)
    return model


def sequential(units=1, activation=None):
    inner = keras.Sequential([layers.Dense(5, activation="tanh"), layers.Dropout(0.3)])
    model = keras.Sequential([inner, layers.Dense(units), layers.Activation(activation)])
    model.build((None, 4))
    return model


@keras.saving.register_keras_serializable("sfit_tests")
class Own(keras.Model):
    def __init__(self, outputs=1):
        super().__init__()
        self.final = layers.Dense(2)
        self.outputs_wanted = outputs

    def call(self, rows):
        values = self.final(rows)
        return values if self.outputs_wanted == 1 else [values] * self.outputs_wanted


class OwnLayer(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 3), initializer="random_normal", name="w")
        self.count = self.add_weight(shape=(3,), initializer="ones", trainable=False, name="count")

    def call(self, rows):
        return (rows @ self.w) * self.count


def test_a_functional_chain():
    model = full_network()
    own = model.predict(ROWS, verbose=0)
    view = as_view(model)
    assert type(view).__name__ == "KerasView"  # And not the torch module that it also is.
    assert view.task == "classification"
    assert_allclose(view.predict(X), own, rtol=1e-5)
    assert [name for *_, name in view.structure.layers] == [
        "leaky_relu:0.25",
        "relu",
        "identity",
    ]
    assert view.structure.output == "softmax"
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)
    assert not view.threads_only


@pytest.mark.parametrize("activation", [None, "sigmoid", "silu"])
def test_nested_sequentials(activation):
    model = sequential(activation=activation)
    view = as_view(model)
    own = model.predict(ROWS, verbose=0)[:, 0]
    if activation == "sigmoid":
        assert view.task == "classification"
        own = np.column_stack([1 - own, own])
    assert_allclose(view.predict(X), own, rtol=1e-5)
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)


def test_layers_as_activations_and_as_endings():
    parts = [keras.Input((4,)), layers.Dense(5, activation=layers.LeakyReLU()), layers.Dense(3)]
    view = as_view(keras.Sequential([*parts, layers.Softmax()]))
    assert view.task == "classification"
    assert view.structure.layers[0][2] == "leaky_relu:0.3"
    assert_structure(view)


def test_a_sequential_built_by_its_first_rows():
    model = keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(2)])
    with pytest.raises(ModelError, match="no weights yet"):
        as_view(model)
    model(ROWS[:7])
    view = as_view(model)
    assert view.predict(X).shape == (200, 2)
    assert_structure(view)
    assert_random_copies(view)
    assert_picklable(view)


def test_the_model_and_the_global_generators_are_left_alone(capsys):
    model = full_network()
    model.train()
    weights = model.get_weights()
    modes = [layer.training for layer in model.modules()]
    generators = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    view = as_view(model)
    view.predict(X)
    view.randomize(np.random.default_rng(0)).predict(X)
    pickle.dumps(view)
    assert torch.equal(torch.get_rng_state(), generators[0])
    assert random.getstate() == generators[1]
    assert_array_equal(np.random.get_state()[1], generators[2])  # noqa: NPY002
    assert [layer.training for layer in model.modules()] == modes
    for before, after in zip(weights, model.get_weights(), strict=True):
        assert_array_equal(before, after)
    assert capsys.readouterr().out == ""


def test_random_copies_follow_glorot_and_keep_what_is_known_of_the_inputs():
    scaled = layers.Normalization()
    scaled.adapt(3 * ROWS + 1)
    rows = keras.Input((4,))
    z = layers.BatchNormalization()(layers.Dense(500)(scaled(rows)))
    model = keras.Model(rows, layers.Dense(300)(z))
    model.layers[2].bias.assign(np.ones(500))
    model.layers[3].moving_mean.assign(np.ones(500))
    copy = as_view(model).randomize(np.random.default_rng(0)).model
    kernel, bias = copy.layers[4].get_weights()
    assert kernel.std() == pytest.approx(np.sqrt(2 / 800), rel=0.02)
    assert not bias.any()
    assert not copy.layers[2].get_weights()[1].any()
    assert not copy.layers[3].get_weights()[2].any()
    assert_array_equal(copy.layers[1].get_weights()[0], model.layers[1].get_weights()[0])


def test_copies_scale_by_the_weights_they_were_given(monkeypatch):
    """Also where a variable lets go of its old value, as on JAX, instead of writing into it."""

    def rebind(variable, value):
        variable._value = torch.nn.Parameter(value.detach().clone(), requires_grad=False)

    monkeypatch.setattr(keras.Variable, "_direct_assign", rebind)
    scaled = layers.Normalization()
    scaled.adapt(100 * ROWS + 500)
    inner = keras.Sequential([keras.Input((4,)), scaled])
    binned = layers.Discretization(num_bins=3)
    binned.update_state(ROWS)
    binned.finalize_state()
    rows = keras.Input((4,))
    model = keras.Model(rows, binned(inner(rows)))
    view, seen = as_view(model), 100 * ROWS + 500
    expected = view.predict(seen)
    assert len(np.unique(expected)) == 3
    assert_array_equal(pickle.loads(pickle.dumps(view)).predict(seen), expected)
    assert_array_equal(view.randomize(np.random.default_rng(0)).predict(seen), expected)


def test_the_loss_decides_where_the_model_does_not():
    model = sequential(units=3)
    assert as_view(model).task == "regression"
    view = as_view(model, loss="log_loss")
    assert view.task == "classification"
    assert "function_model" in view.remedy
    assert as_view(sequential(units=3, activation="sigmoid")).task == "regression"


def test_double_precision():
    keras.config.set_dtype_policy("float64")
    try:
        model = keras.Sequential([keras.Input((4,)), layers.Dense(5, "relu"), layers.Dense(1)])
    finally:
        keras.config.set_dtype_policy("float32")
    view = as_view(model)
    assert view.predict(X).dtype == np.float64
    with torch.no_grad():
        own = keras.ops.convert_to_numpy(model(torch.tensor(X)))[:, 0]
    assert_array_equal(view.predict(X), own)
    assert view.structure is None
    assert_random_copies(view)
    assert_picklable(view)


def test_half_precision_gives_single_precision_and_no_structure():
    rows = keras.Input((4,))
    model = keras.Model(rows, layers.Dense(1, dtype="mixed_bfloat16")(rows))
    view = as_view(model)
    assert view.predict(X).dtype == np.float32
    assert view.structure is None


def test_graphs_that_are_no_chains_have_no_structure():
    rows = keras.Input((4,))
    z = layers.Dense(4, activation="relu")(rows)
    added = keras.Model(rows, layers.Dense(1)(layers.Add()([rows, z])))
    scaled = keras.Model(rows, layers.Dense(1)(2 * layers.Dense(4)(rows)))
    shared = layers.Dense(4)
    twice = keras.Model(rows, shared(shared(rows)))
    other = keras.Model(rows, layers.Dense(4, activation="hard_sigmoid")(rows))
    mixed = layers.Dense(4)
    apart = keras.Model(rows, layers.Dense(1)(mixed(layers.ReLU()(mixed(rows)))))
    for model in (added, scaled, twice, apart, other):
        view = as_view(model)
        assert view.structure is None
        own = model.predict(ROWS, verbose=0)
        assert_allclose(view.predict(X), own[:, 0] if own.shape[1] == 1 else own, rtol=1e-5)
        assert_random_copies(view)
        assert_picklable(view)


def test_a_subclass_predicts_in_threads_and_has_no_random_copy():
    model = Own()
    model(ROWS)
    view = as_view(model)
    assert view.threads_only
    assert view.structure is None
    assert_allclose(view.predict(X), model.predict(ROWS, verbose=0), rtol=1e-5)
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_layers_of_the_users_own():
    model = keras.Sequential([keras.Input((4,)), OwnLayer(), layers.Dense(1)])
    view = as_view(model)
    assert view.threads_only
    assert view.structure is None
    assert_random_copies(view)


def test_outputs_and_inputs_other_than_one_are_refused():
    listed = Own(outputs=2)
    listed(ROWS)
    with pytest.raises(ModelError, match="function_model"):
        as_view(listed).predict(X)
    first, second = keras.Input((4,)), keras.Input((4,))
    both = keras.Model([first, second], layers.Add()([first, second]))
    with pytest.raises(ModelError, match="2 inputs"):
        as_view(both)
