"""What the tests of the network libraries share."""

import pickle

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

X = np.random.default_rng(0).normal(size=(200, 4))
ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "logistic": expit,
    "softplus": lambda z: np.logaddexp(0, z),
    "silu": lambda z: z * expit(z),
}


def forward(structure, rows):
    """The prediction of a `Dense`, by NumPy."""
    z = rows
    for weights, biases, activation in structure.layers:
        z = z @ weights.astype(float) + biases
        name, _, slope = activation.partition(":")
        z = np.where(z > 0, z, float(slope) * z) if slope else ACTIVATIONS[name](z)
    if structure.output == "sigmoid":
        return np.column_stack([expit(-z[:, 0]), expit(z[:, 0])])
    if structure.output == "softmax":
        return softmax(z, axis=1)
    return z[:, 0] if z.shape[1] == 1 else z


def assert_structure(view, rows=X, rtol=1e-5):
    assert view.structure is not None
    prediction = view.predict(rows)
    scale = np.abs(prediction).max()
    assert_allclose(forward(view.structure, rows), prediction, rtol=rtol, atol=rtol * scale)


def assert_random_copies(view, rows=X):
    """Different from the model and from each other, but the same for the same seed."""
    before = view.predict(rows)
    first, again, other = (view.randomize(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert_array_equal(first.predict(rows), again.predict(rows))
    assert not np.allclose(first.predict(rows), before)
    assert not np.allclose(first.predict(rows), other.predict(rows))
    assert first.task == view.task
    assert_array_equal(view.predict(rows), before)


def assert_picklable(view, rows=X):
    copy = pickle.loads(pickle.dumps(view))
    assert_array_equal(copy.predict(rows), view.predict(rows))
    assert copy.task == view.task
