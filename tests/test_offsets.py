"""Networks whose inputs are far from zero: the fast route counts as the model does, or is given up."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

import sfit
from sfit.models import Dense
from sfit.restrict import _verify
from sfit.restrict._inputs import as_entered


def both(model, X, y, **options):
    """The fast result, that of `fast=False`, and the route of the first stage."""
    with warnings.catch_warnings():
        # A route that is given up says so, and so does a model whose batches differ.
        warnings.simplefilter("ignore", sfit.exceptions.SFITWarning)
        fast, slow = (
            sfit.feature_significance(model, X, y, fast=one, **options) for one in (True, False)
        )
    return fast, slow, fast.run["stages"][0]["route"]


def largest_difference(fast, slow):
    """Of the counts of all tests."""
    assert [test.term for test in fast.tests] == [test.term for test in slow.tests]
    return max(
        abs(a.n_positive - b.n_positive) for a, b in zip(fast.tests, slow.tests, strict=True)
    )


def network(torch, sizes, *, norm=False, dtype=None, slope=0.0):
    """A chain of linear layers and (leaky) ReLUs, with batch normalisation if asked for."""
    layers = []
    for before, units in pairwise(sizes[:-1]):
        layers.append(torch.nn.Linear(before, units))
        if norm:
            layers.append(torch.nn.BatchNorm1d(units))
        layers.append(torch.nn.LeakyReLU(slope) if slope else torch.nn.ReLU())
    layers.append(torch.nn.Linear(*sizes[-2:]))
    return torch.nn.Sequential(*layers).to(dtype or torch.float32)


def moved(torch, net, offset):
    """The network for columns that are further from zero."""
    with torch.no_grad():
        first = net[0]
        first.bias.copy_(first.bias.double() - offset * first.weight.double().sum(dim=1))
    return net.eval()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_route_sees_what_the_network_sees(kind):
    """The case of issue 18: next to 1,000,000 single precision knows 16 values in a unit."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    z = rng.normal(size=50_000)
    X = (1e6 + 0.03 * z[:, None]).astype(kind)
    net = network(torch, [1, 1, 1])
    with torch.no_grad():
        net[0].weight[:], net[0].bias[:] = 1.0, -1e6 + 8
        net[2].weight[:], net[2].bias[:] = 0.02, 100.0
    y = 100.16 + 0.02 * 0.03 * z + 0.001 * rng.normal(size=len(z))
    fast, slow, _ = both(net, X, y)
    assert fast.tests[0].n_positive == slow.tests[0].n_positive
    assert fast.significant == slow.significant


@pytest.mark.parametrize("offset", [1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("norm", [False, True])
def test_counts_of_single_precision(norm, offset):
    """A network that was trained for a little while, moved to columns that are far from zero."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50_000, 5))
    y = Z[:, 0] + Z[:, 1] * Z[:, 2] + 0.5 * rng.normal(size=len(Z))
    net = network(torch, [5, 16, 8, 1], norm=norm)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    rows, target = torch.tensor(Z, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    for start in range(0, 40_000, 400):
        optimizer.zero_grad()
        part = slice(start, start + 400)
        torch.nn.functional.mse_loss(net(rows[part])[:, 0], target[part]).backward()
        optimizer.step()
    fast, slow, _ = both(moved(torch, net, offset), Z + offset, y, beta=0.0)
    assert largest_difference(fast, slow) <= 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_double_precision_keeps_its_route(offset):
    """There are digits enough, and the answer is the same to the row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 4)) + offset
    y = X[:, 0] - offset + 0.5 * rng.normal(size=len(X))
    model = MLPRegressor(hidden_layer_sizes=(8, 6), max_iter=5, random_state=0).fit(X - offset, y)
    model.intercepts_[0] = model.intercepts_[0] - offset * model.coefs_[0].sum(axis=0)
    fast, slow, route = both(model, X, y, beta=0.0)
    assert route == "polyline"
    assert largest_difference(fast, slow) == 0


def test_a_normalisation_of_the_inputs_keeps_its_digits():
    """Keras takes the mean off first, which loses nothing; and so does the route."""
    keras = pytest.importorskip("keras")
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20_000, 3))
    X = (Z + 1e4).astype(np.float32)
    scaled = keras.layers.Normalization(mean=[1e4] * 3, variance=[1.0] * 3)
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(8, activation="relu")
    net = keras.Sequential([keras.Input((3,)), scaled, hidden, keras.layers.Dense(1)])
    y = np.asarray(net.predict(X, verbose=0))[:, 0] + 0.1 * rng.normal(size=len(Z))
    fast, slow, route = both(net, X, y, beta=0.0, reference=1e4)
    assert route == "polyline"
    assert largest_difference(fast, slow) <= 1


def test_one_bad_column_does_not_slow_the_others():
    """Rows crowd along a flat piece of the first column: only there is the model asked."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 12)).astype(np.float32)
    net = network(torch, [12, 32, 1])
    with torch.no_grad():
        net[0].weight[:, 0] *= 1e-5
    y = X[:, 1] + rng.normal(size=len(X))
    with warnings.catch_warnings():
        # One of twelve: nothing to tell.
        warnings.simplefilter("error")
        fast = sfit.feature_significance(net, X, y, beta=0.0)
        slow = sfit.feature_significance(net, X, y, beta=0.0, fast=False)
    assert fast.run["stages"][0]["route"] == "polyline and direct"
    assert fast.tests[0].statistic == slow.tests[0].statistic
    assert largest_difference(fast, slow) <= 1


def test_given_up_once_and_told_once():
    """However many stages ask again."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2_000, 3))
    net = moved(torch, network(torch, [3, 8, 1]), 1e5)
    y = 3 * Z[:, 0] + rng.normal(size=len(Z))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        options = {"max_order": 2, "exhaustive": True, "beta": 0.0}
        result = sfit.feature_significance(net, Z + 1e5, y, **options)
    assert {stage["route"] for stage in result.run["stages"]} == {"direct"}
    assert sum("does not reproduce" in str(one.message) for one in told) == 1


def test_the_rows_that_are_expected_to_count_differently():
    """Estimated where a row begins to count, and where it ceases to; 1 in 100,000 may."""
    precision, rng = _verify.Precision(2.0**-23, 0.0, 1_000), np.random.default_rng(0)
    base, no, small, large = (
        np.ones((1, 1_000, 1)),
        *(np.full((1, 1), e) for e in (0.0, 5e-6, 5e-4)),
    )
    spread = base + rng.normal(size=base.shape)
    assert not precision.flips(base, spread, small, small)
    assert precision.flips(base, spread, large, no)
    assert precision.flips(base, spread, no, large)
    # Nothing moves, or is far from moving: no error matters.
    assert not precision.flips(base, base, large, large)
    assert not precision.flips(base, base + 3 * 2.0**-23, large, large)
    # A crowd where a row begins to count, from either side; and two of a thousand rows are no crowd.
    for side in (0.6, 1.1):
        crowd = base + 8 * 2.0**-23 * (side + 0.3 * rng.uniform(size=base.shape))
        assert precision.flips(base, crowd, np.full((1, 1), 1e-10), no)
        assert not precision.flips(base, crowd, np.full((1, 1), 1e-13), no)
        few = np.where(np.arange(1_000)[None, :, None] < 2, crowd, spread)
        assert not precision.flips(base, few, np.full((1, 1), 1e-10), no)
    # Several contrasts at once are judged as each of them alone.
    full = np.concatenate([spread, base, crowd, few])
    drift = np.array([[5e-4], [5e-4], [1e-10], [1e-10]])
    several = precision.flips(np.repeat(base, 4, axis=0), full, drift, np.repeat(no, 4, axis=0))
    assert several.tolist() == [True, False, True, False]


@pytest.mark.parametrize("bend", ["ReLU", "Tanh", "Sigmoid"])
@pytest.mark.parametrize("n", [60, 260])
def test_few_rows_count_as_in_the_model(n, bend):
    """One row of few is a large share of them: none may be counted differently.

    Half of the columns are far from zero, and all predictions are rounded by as much.
    """
    torch = pytest.importorskip("torch")
    routes = set()
    for seed in range(20):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        offsets = np.where(np.arange(8) % 2, 10.0 ** rng.uniform(-1, 7), 0.0)
        X = rng.normal(size=(n, 8)) + offsets
        net = network(torch, [8, int(rng.choice([2, 5, 16])), 1])
        net[1] = getattr(torch.nn, bend)()
        with torch.no_grad():
            net[0].bias -= (net[0].weight.double() @ torch.from_numpy(X.mean(axis=0))).float()
            p = net(torch.from_numpy(X).float()).double().numpy()[:, 0]
        y = p + max(np.std(p), 0.1) * rng.normal(size=n)
        options = {"max_order": 2, "exhaustive": True, "beta": 0.0, "reference": "median"}
        fast, slow, route = both(net, X, y, **options)
        assert largest_difference(fast, slow) == 0
        routes.add(route)
    assert routes != {"direct"}


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=st.lists(st.integers(1, 12), min_size=1, max_size=2),
    offset=st.sampled_from([0.0, 1.0, 30.0, 1e3, 1e5, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    double=st.booleans(),
    norm=st.booleans(),
    slope=st.sampled_from([0.0, 0.1]),
)
def test_random_networks(seed, hidden, offset, scale, double, norm, slope):
    """Any offset and scale: the counts of the model, but for a row."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed % 2**31)
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(4_000, 3))
    dtype = torch.float64 if double else torch.float32
    net = network(torch, [3, *hidden, 1], norm=norm, dtype=dtype, slope=slope)
    with torch.no_grad():
        net[0].weight /= scale
    net = moved(torch, net, offset * scale)
    X = scale * (Z + offset)
    with torch.no_grad():
        predicted = net(torch.tensor(X, dtype=dtype)).double().numpy()[:, 0]
    y = predicted + max(np.std(predicted), 0.1) * rng.normal(size=len(Z))
    fast, slow, _ = both(net, X, y, beta=float(rng.choice([0.0, 0.01])))
    assert largest_difference(fast, slow) <= 1


def test_numbers_that_the_input_type_cannot_hold():
    """What is infinite in single precision has no polyline; whole numbers are rounded, too."""
    assert as_entered(np.array([1e300, 16_777_217.0]), np.dtype(np.float32)).tolist() == [
        np.inf,
        16_777_216.0,
    ]
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.integers(2**24, 2**24 + 50, size=(3_000, 2))
    net = moved(torch, network(torch, [2, 4, 1]), 2.0**24)
    y = X[:, 0] - 2**24 + rng.normal(size=len(X))
    fast, slow, _ = both(net, X, y, beta=0.0)
    assert largest_difference(fast, slow) <= 1


def test_onnx_casts_of_the_inputs():
    """A graph that takes doubles and rounds them has inputs of single precision."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, single = onnx.helper, onnx.TensorProto.FLOAT
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape).astype(np.float32) for shape in ((2, 4), (4, 1))]
    constants = [onnx.numpy_helper.from_array(w, f"w{k}") for k, w in enumerate(weights)]
    nodes = [
        helper.make_node("Cast", ["rows"], ["short"], to=single),
        helper.make_node("MatMul", ["short", "w0"], ["z"]),
        helper.make_node("Relu", ["z"], ["a"]),
        helper.make_node("MatMul", ["a", "w1"], ["out"]),
    ]
    rows = helper.make_tensor_value_info("rows", onnx.TensorProto.DOUBLE, [None, 2])
    out = helper.make_tensor_value_info("out", single, [None, 1])
    graph = helper.make_graph(nodes, "network", [rows], [out], constants)
    opset = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    assert sfit.models.as_view(model).structure.input_dtype == np.float32
    X = 1e4 + rng.normal(size=(3_000, 2))
    y = X[:, 0] - 1e4 + rng.normal(size=len(X))
    fast, slow, _ = both(model, X, y, beta=0.0)
    assert largest_difference(fast, slow) <= 1


@pytest.mark.parametrize("wrong", [0, 700, 1_299])
def test_a_wide_model_is_verified_in_bounded_work(wrong, monkeypatch):
    """Not with the square of the columns; and one wrong weight is still found."""
    rng = np.random.default_rng(0)
    X, width = rng.normal(size=(40, 1_300)), 1_300
    model = LinearRegression().fit(X, X[:, 0])
    view = sfit.models.as_view(model)
    asked = []
    real = _verify.predict_directly

    def counting(view, features, tile, sides, memory):
        asked.append(len(sides) * len(tile))
        return real(view, features, tile, sides, memory)

    monkeypatch.setattr(_verify, "predict_directly", counting)
    fast, slow, route = both(model, X, X[:, 0])
    assert route == "polyline"
    assert largest_difference(fast, slow) == 0
    assert sum(asked) * width <= 2 * _verify.VERIFIED_VALUES

    def lie(_):
        structure = view.structure
        ((weights, bias, activation),) = structure.layers
        weights = weights.copy()
        weights[wrong] += 1.0
        return replace(structure, layers=((weights, bias, activation),))

    lying = type("Lying", (type(view),), {"structure": property(lie)})
    liar = lying(**{name: getattr(view, name) for name in view.__dataclass_fields__})
    fast, slow, _ = both(liar, X, X[:, 0])
    assert fast == slow


def test_a_structure_of_another_library_needs_no_types():
    """Both are left out where inputs enter as they are."""
    plain = Dense(((np.ones((1, 1)), np.zeros(1), "identity"),), "identity")
    assert plain.input_dtype is None
    assert plain.dtype is None


def test_where_no_row_counts_the_losses_are_still_the_models():
    """Single precision sees one value of a column of a billion: no count is at stake there.

    But normalising that value loses all digits, and the losses that are reported show it.
    """
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 8))
    X[:, 0] = 1e9 + 0.02 * X[:, 0]
    net = torch.nn.Sequential(
        torch.nn.BatchNorm1d(8, momentum=None), torch.nn.Linear(8, 3), torch.nn.Tanh(),
        torch.nn.Linear(3, 1),
    )  # fmt: skip
    with torch.no_grad():
        net.train()(torch.from_numpy(X).float())
    y = net.eval()(torch.from_numpy(X).float()).detach().numpy()[:, 0] + 0.3 * rng.normal(size=300)
    fast, slow, _ = both(net, X, y, beta=0.1, always_on=["x1"])
    assert slow.tests[0].n_positive == 0
    for a, b in zip(fast.tests, slow.tests, strict=True):
        assert a.n_positive == b.n_positive
        assert a.statistic == pytest.approx(b.statistic, rel=2e-4)


def test_units_that_overflow_in_single_precision():
    """As in the network itself, where tanh makes ones of infinities: without a warning."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    X[::7, 0] = 3e38
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        net[0].weight[:, 0] *= 40
        y = net(torch.from_numpy(X).float()).numpy()[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fast, slow, route = both(net, X, y, reference=0.0)
    assert "update" in route
    assert largest_difference(fast, slow) == 0


@pytest.mark.parametrize("double", [True, False])
def test_values_far_beyond_others_do_not_flatten_the_bends(double):
    """Bends are placed up to a share of the range: next to 1e26 all of a usual size are one.

    Rows of a usual size are rare here, so the rows that a route is compared on hold none of them.
    """
    torch = pytest.importorskip("torch")
    torch.manual_seed(2)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2_000, 2))
    usual = np.arange(2_000) % 20 == 3
    assert not usual[np.linspace(0, 1_999, 16).astype(int)].any()
    X[:, 0] = np.where(usual, X[:, 0], 1e26 * X[:, 0])
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    net = net.double() if double else net
    with torch.no_grad():
        y = net(torch.from_numpy(X).to(net[0].weight.dtype)).numpy().argmax(axis=1)
    model = sfit.models.torch_model(net, "logits", classes=range(3))
    fast, slow, _ = both(model, X, y, reference=0.0, beta=0)
    assert largest_difference(fast, slow) == 0
