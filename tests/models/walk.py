"""A slow walk through `Trees`, a plain forward pass through `Dense`, and what views must do."""

import pickle
from itertools import pairwise

import numpy as np
from scipy.special import expit, softmax

ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "logistic": expit,
}


def forward(dense, X):
    z = X
    for weights, biases, activation in dense.layers:
        z = ACTIVATIONS[activation](z @ weights + biases)
    if dense.output == "softmax":
        return softmax(z, axis=1)
    if dense.output == "sigmoid":
        return np.column_stack([1 - expit(z), expit(z)])
    z = np.exp(z) if dense.output == "exp" else z
    return z[:, 0] if z.shape[1] == 1 else z


def reached(trees, root, row):
    """Leaves a row can end in: one, or several where splits on categories leave it open."""
    node = root
    while trees.left[node] >= 0:
        if trees.categorical[node]:
            return reached(trees, trees.left[node], row) | reached(trees, trees.right[node], row)
        value = np.asarray(row[trees.feature[node]], dtype=trees.dtype)
        threshold = trees.threshold[node].astype(trees.dtype)
        if np.isnan(value):
            left = trees.missing_left[node]
        else:
            left = value < threshold if trees.strict else value <= threshold
        node = trees.left[node] if left else trees.right[node]
    return frozenset([int(node)])


def assert_same_leaves(trees, X, own):
    """`own` numbers the leaf of each row and tree, as the library sees it."""
    X = np.asarray(X)
    assert own.shape == (len(X), len(trees.roots))
    categories = sorted(set(trees.feature[trees.categorical].tolist()))
    for root, column in zip(trees.roots, own.T, strict=True):
        cells = [(reached(trees, root, row), tuple(str(row[c]) for c in categories)) for row in X]
        known = dict(zip(cells, column.tolist(), strict=True))
        assert [known[cell] for cell in cells] == column.tolist()
        if not categories:
            assert len(set(cells)) == len(set(column.tolist()))


def probes(trees, X, rng, *, missing=True):
    """Rows of X with values at and next to thresholds, and missing ones."""
    nodes = np.flatnonzero((trees.left >= 0) & ~trees.categorical)
    nodes = rng.permutation(nodes)[:60]
    rows = []
    for node in nodes:
        t = np.float64(trees.threshold[node])
        if abs(t) > 1e38:
            continue  # such splits separate missing values only
        near32 = [np.nextafter(np.float32(t), np.float32(side)) for side in (-np.inf, np.inf)]
        near64 = [np.nextafter(t, side) for side in (-np.inf, np.inf)]
        halfway = [(t + np.float64(other)) / 2 for other in near32]
        for value in (t, *near32, *near64, *halfway):
            row = X[rng.integers(len(X))].copy()
            row[trees.feature[node]] = value
            rows.append(row)
    rows += [row.copy() for row in X[:100]]
    if missing:
        gaps = np.array(X[:100], copy=True)
        numeric = np.setdiff1d(np.arange(X.shape[1]), trees.feature[trees.categorical])
        for row in gaps:
            row[rng.choice(numeric, size=rng.integers(1, len(numeric) + 1), replace=False)] = np.nan
        rows += list(gaps)
    return np.array(rows)


def assert_sound(trees, n_features):
    """The tables of `Trees` fit together."""
    split = trees.left >= 0
    size = len(trees.left)
    ends = [*trees.roots[1:], size]
    assert all(start < end for start, end in pairwise([*trees.roots, size]))
    for start, end in zip(trees.roots, ends, strict=True):
        own = split[start:end]
        for children in (trees.left[start:end][own], trees.right[start:end][own]):
            assert np.all((children > start) & (children < end))
    assert np.all((trees.feature[split] >= 0) & (trees.feature[split] < n_features))
    assert np.all(trees.feature[~split] == -1)
    assert not trees.categorical[~split].any()
    assert trees.threshold.dtype == trees.dtype


def assert_view(view, X, own, *, random=True):
    """Predictions are the library's own; random copies are random, and leave the model alone."""
    Z = view.encode(X)
    before = view.predict(Z)
    np.testing.assert_array_equal(before, own())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(view)).predict(Z), before)
    if view.task == "classification":
        assert before.shape == (len(X), len(view.classes))
        np.testing.assert_allclose(before.sum(axis=1), 1, rtol=1e-5)
    if not random:
        return
    one, same, two = (view.randomize(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.predict(Z), same.predict(Z))
    assert not np.array_equal(one.predict(Z), before)
    assert not np.array_equal(one.predict(Z), two.predict(Z))
    # A view that was sent to another process draws the same copy.
    sent = pickle.loads(pickle.dumps(view)).randomize(np.random.default_rng(1))
    np.testing.assert_array_equal(sent.predict(Z), one.predict(Z))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(Z), one.predict(Z))
    if view.task == "classification":
        np.testing.assert_allclose(one.predict(Z).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(view.predict(Z), before)
    np.testing.assert_array_equal(own(), before)
