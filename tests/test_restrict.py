"""Fast routes give what the model itself gives: to the bit for trees, but for rounding for networks."""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tiles import set_tiles

import sfit
from sfit._contrast import Contrast, Refit, Reveal
from sfit.models import Dense
from sfit.models._sklearn import SklearnView
from sfit.restrict import Computed, Precision, _relu, fast_route
from sfit.restrict._cells import Cells
from sfit.restrict._forest import TreeByTree
from sfit.restrict._lookup import ALL_BINS, make_lookup
from sfit.restrict._relu import _run_down, make_polylines
from sfit.restrict._trees import make_cells
from sfit.rows import Tile
from sfit.sample import prepare


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), max_size=60, unique=True),
    st.lists(st.floats(width=32, allow_nan=True), max_size=60),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.booleans(),
)
def test_lookup_equals_binary_search(edges, values, dtype, strict, infinite):
    """Any edges, an infinite one too, any values, at edges and next to them, missing last."""
    edges = np.sort(np.asarray([*edges, np.inf] if infinite else edges, dtype=dtype))
    beside = np.nextafter(edges, np.array([[-np.inf], [np.inf]], dtype=dtype)).ravel()
    values = np.concatenate([np.asarray(values, dtype=dtype), edges, beside]).astype(dtype)
    cells = make_lookup(edges, strict=strict, missing=True)(values)
    expected = np.searchsorted(edges, values, side="right" if strict else "left")
    expected = np.where(np.isnan(values), len(edges) + 1, expected)
    np.testing.assert_array_equal(cells, expected)


@pytest.mark.parametrize("spread", [1.0, 5.0])
@pytest.mark.parametrize("m", [0, 1, 6, 7, 200, 5_000])
def test_lookup_on_many_edges(m, spread):
    """Even and clustered edges: by bins, by steps and by binary search."""
    rng = np.random.default_rng(0)
    edges = np.unique(rng.standard_t(1, size=m) ** spread)
    values = np.concatenate([rng.standard_t(1, size=2_000) ** spread, edges, [-np.inf, np.inf]])
    values = values[~np.isnan(values)]
    edges = edges[~np.isnan(edges)]
    for strict, side in ((False, "left"), (True, "right")):
        for together in (1, 2_000, 10**6):
            lookup = make_lookup(edges, strict=strict, together=together)
            np.testing.assert_array_equal(lookup(values), np.searchsorted(edges, values, side=side))
            held = 0 if lookup.cells is None else len(lookup.cells)
            assert held * together <= ALL_BINS


@pytest.mark.parametrize("m", [127, 128, 32_767, 32_768])
def test_lookup_at_the_limits_of_small_numbers(m):
    """Tables hold numbers as small as will do."""
    edges = np.arange(m, dtype=float)
    values = np.concatenate([edges - 0.5, edges, [m - 0.5, m + 9.0]])
    np.testing.assert_array_equal(
        make_lookup(edges, strict=False)(values), np.searchsorted(edges, values)
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lookup_of_values_beyond_all_bins(dtype, strict):
    """So far out that the number of their bin is no whole number, on either side."""
    edges = np.linspace(0, 1e-6, 9, dtype=dtype)
    far = np.array([1e-3, 1.0, 1e18, 1e30, np.finfo(dtype).max, np.inf], dtype=dtype)
    lookup = make_lookup(edges, strict=strict)
    assert lookup.cells is not None
    np.testing.assert_array_equal(lookup(far), 9)
    np.testing.assert_array_equal(lookup(-far), 0)


def test_an_infinite_threshold_does_not_cost_the_bins():
    """Trees split what is missing from all else there."""
    edges = np.append(np.arange(20.0), np.inf)
    lookup = make_lookup(edges, strict=False, missing=True)
    assert lookup.cells is not None
    values = np.array([-1.0, 0.5, 19.0, 19.5, np.inf, np.nan])
    np.testing.assert_array_equal(lookup(values), [0, 1, 19, 20, 20, 22])


def regression(n=4_000, width=6, seed=0):
    """Rows with an interaction, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    X[:, 4] = rng.integers(0, 2, size=n)
    return X, 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 4] + 0.3 * rng.normal(size=n)


def both(model, X, y, **options):
    """The result by the fast route and by asking the model, and the routes taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "these columns of zeros and ones")
        fast = sfit.feature_significance(model, X, y, **options)
        slow = sfit.feature_significance(model, X, y, fast=False, **options)
    assert {stage["route"] for stage in slow.run["stages"]} == {"direct"}
    return fast, slow, [stage["route"] for stage in fast.run["stages"]]


def lightgbm_models():
    """LightGBM for both tasks."""
    library = pytest.importorskip("lightgbm")
    options = {"n_estimators": 20, "verbose": -1, "n_jobs": 1}
    return library.LGBMRegressor(**options), library.LGBMClassifier(**options)


def xgboost_models():
    """XGBoost for both tasks."""
    library = pytest.importorskip("xgboost")
    options = {"n_estimators": 20, "max_depth": 4, "n_jobs": 1}
    return library.XGBRegressor(**options), library.XGBClassifier(**options)


def catboost_models():
    """CatBoost for both tasks."""
    library = pytest.importorskip("catboost")
    options = {"iterations": 20, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return library.CatBoostRegressor(**options), library.CatBoostClassifier(**options)


FORESTS = {
    "tree": lambda: (DecisionTreeRegressor(max_depth=6), None),
    "forest": lambda: (RandomForestRegressor(10, max_depth=8, n_jobs=2, random_state=0), None),
    "extra trees": lambda: (None, ExtraTreesClassifier(10, max_depth=8, random_state=0)),
    "gradient": lambda: (GradientBoostingRegressor(), GradientBoostingClassifier(n_estimators=20)),
    "histogram": lambda: (
        HistGradientBoostingRegressor(max_iter=20),
        HistGradientBoostingClassifier(max_iter=20),
    ),
    "lightgbm": lightgbm_models,
    "xgboost": xgboost_models,
    "catboost": catboost_models,
}
MISSING = ("histogram", "lightgbm", "xgboost", "catboost")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORESTS)
def test_trees_give_every_bit(name, dtype):
    """Regression and three classes, to order 2, in both float types."""
    X, y = regression()
    X = X.astype(dtype)
    regressor, classifier = FORESTS[name]()
    options = {"max_order": 2, "beta": (0.01, 0.001), "reference": X[:100].mean(axis=0)}
    if regressor is not None:
        fast, slow, routes = both(regressor.fit(X[:2_000], y[:2_000]), X, y, **options)
        assert fast == slow
        assert routes[0] == "cells"
    if classifier is not None:
        labels = np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])]
        if name == "xgboost":
            labels = np.digitize(y, [-1, 1])
        classifier.fit(X[:2_000], labels[:2_000])
        for loss in ("log_loss", "brier", "zero_one"):
            fast, slow, routes = both(classifier, X, labels, loss=loss, **options)
            assert fast == slow
            assert routes[0] == "cells"


@pytest.mark.parametrize("name", MISSING)
def test_missing_values_are_a_cell_of_their_own(name):
    """Rows with missing values take the model's own way at every split."""
    X, y = regression()
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.1] = np.nan
    model = FORESTS[name]()[0].fit(X[:2_000], y[:2_000])
    fast, slow, routes = both(model, X, y, max_order=2, beta=(0.01, 0.001))
    assert fast == slow
    assert routes[0] == "cells"


def test_parts_and_several_tiles_count_the_same(monkeypatch):
    """Counting (cell, class) pairs by part and by tile."""
    X, y = regression()
    labels = np.digitize(y, [-1, 1])
    model = HistGradientBoostingClassifier(max_iter=10).fit(X[:2_000], labels[:2_000])
    set_tiles(monkeypatch, 700)
    fast = sfit.feature_significance(model, X, labels, by="class", max_order=2, reference=0.0)
    slow = sfit.feature_significance(
        model, X, labels, by="class", max_order=2, reference=0.0, fast=False
    )
    for part in fast:
        assert fast[part] == slow[part]


LARGE = {
    "as rows come": GradientBoostingRegressor(n_estimators=8, max_depth=7, random_state=0),
    "one tree": DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    "tree by tree": RandomForestRegressor(8, min_samples_leaf=10, random_state=0),
    "of classes": ExtraTreesClassifier(8, min_samples_leaf=10, random_state=0),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_product_of_cells(name, monkeypatch):
    """More cells than a fourth of the rows: asked for where rows lie; of a forest, tree by tree."""
    set_tiles(monkeypatch, 1_500)
    X, y = sfit.simulate.interactions(6_000, random_state=0)
    X = X.round(1)  # rows of one cell come again in later tiles
    model = clone(LARGE[name])
    y = y > y.mean() if is_classifier(model) else y
    model.fit(X[:3_000], y[:3_000])
    asked = []

    def counting(view, Z, predict=SklearnView._predict):
        asked.append(len(Z))
        return predict(view, Z)

    monkeypatch.setattr(SklearnView, "_predict", counting)
    options = {"max_order": 2, "partners": {"X1": ["X2"], "X2": ["X1"]}, "exhaustive": True}
    fast = sfit.feature_significance(model, X[3_000:], y[3_000:], **options)
    of_fast, asked[:] = sum(asked), []
    slow = sfit.feature_significance(model, X[3_000:], y[3_000:], fast=False, **options)
    assert fast == slow
    assert fast.run["stages"][2]["route"] == "cells"
    assert of_fast < sum(asked)


def large_sides(model, X, y, *terms, n, budget=10**7):
    """The functions of some sides for n rows, if they were that many."""
    sample = prepare(model, X, y)
    sides = [Reveal(frozenset(term)) for term in terms]
    tables = make_cells(sample.view, sample.view.structure, sample.features, sides, n, budget)
    return [tables.get(side) for side in sides]


def test_the_trees_of_a_forest_hold_what_memory_allows(monkeypatch):
    X, y = regression(2_000)
    model = RandomForestRegressor(8, random_state=0).fit(X, y)
    [large, small] = large_sides(model, X, y, [0, 1], [4], n=20_000)
    assert isinstance(large, TreeByTree)
    assert isinstance(small, Cells)
    [first, second] = large_sides(model, X, y, [0, 1], [0, 2], n=20_000, budget=large.size)
    assert first is not None
    assert second is None
    assert large_sides(model, X, y, [0, 1], n=20_000, budget=large.size - 1) == [None]
    # More cells in a tree than a fourth of the rows: the rows themselves are cheaper.
    assert large_sides(model, X, y, [0, 1, 2, 3], n=20_000) == [None]
    # The rows of one call: six columns in single precision.
    most = max(map(len, large.tables))
    monkeypatch.setattr("sfit.restrict._forest.CALL_BYTES", most * 6 * 4)
    assert large_sides(model, X, y, [0, 1], n=20_000) != [None]
    monkeypatch.setattr("sfit.restrict._forest.CALL_BYTES", most * 6 * 4 - 1)
    assert large_sides(model, X, y, [0, 1], n=20_000) == [None]


def test_threads_of_a_forest_share_the_rows():
    """As fast as the owner's own setting, and the bits of one thread."""
    X, y = sfit.simulate.interactions(4_000, random_state=0)
    model = RandomForestRegressor(20, n_jobs=2, random_state=0).fit(X, y)
    alone = RandomForestRegressor(20, n_jobs=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(sfit.models.as_view(model).predict(X), alone.predict(X))
    assert model.n_jobs == 2


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_leaf_that_is_not_finite_is_told_with_its_row(bad):
    """A loss may hide it; cells that are asked for as rows come must not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 2)) * [1, 0]
    y = np.sin(3 * X[:, 0])
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    model.tree_.value[model.apply(X.astype(np.float32))[1_400]] = bad

    def bounded(y, prediction):
        return np.fmin(np.abs(y - prediction), 1.0)

    for fast in (True, False):
        with pytest.raises(sfit.exceptions.ModelError, match="row 1400 is not finite"):
            sfit.feature_significance(model, X, y, loss=bounded, reference=[0, 0], fast=fast)


def test_a_forest_that_learned_from_missing_values():
    """Splits between missing and all else stand at infinity, where no model can be asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3))
    missing = rng.random(3_000) < 0.2
    y = X[:, 0] + 2 * missing
    X[missing, 1] = np.nan
    model = RandomForestRegressor(5, random_state=0).fit(X, y)
    fast, slow, routes = both(model, X, y, reference=[0, 0, 0])
    assert fast == slow
    assert fast.selected == ("x0",)
    assert routes[0] == "cells"


def test_a_forest_in_threads_behind_a_sparse_encoder():
    """Rows that come as a sparse matrix have no length, and are not shared."""
    C = np.random.default_rng(0).integers(0, 3, size=(2_000, 3)).astype(float)
    y = C[:, 0] + C[:, 1] * C[:, 2]
    encoder = make_pipeline(OneHotEncoder(handle_unknown="ignore"), PolynomialFeatures(2))
    model = make_pipeline(encoder, RandomForestRegressor(5, n_jobs=2, random_state=0)).fit(C, y)
    fast, slow, _ = both(model, C, y)
    assert fast == slow


@pytest.mark.parametrize("kind", [pd.Categorical, lambda months: months.astype(str)])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=2, random_state=0),
        RandomForestRegressor(5, max_depth=2, random_state=0),
        RandomForestRegressor(3, random_state=0),
        HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4, categorical_features=None),
    ],
)
def test_a_category_that_is_read_as_a_number(kind, model):
    """Hidden, it goes where its number goes, not where a missing value does."""
    rng = np.random.default_rng(1)
    n = 20_000
    month = np.where(rng.uniform(size=n) < 0.2, 1, rng.integers(2, 13, n))
    x = rng.normal(size=n)
    y = np.where(month == 1, 20 + 12 * (x > 1.8), np.where(x > 0, 1, -1))
    y = y + 0.1 * rng.normal(size=n)
    X = pd.DataFrame({"month": kind(month), "x": x})
    model = clone(model).fit(X[:10_000], y[:10_000])
    fast, slow, routes = both(model, X[10_000:], y[10_000:], beta=0)
    assert fast == slow
    assert fast.table["n_positive"][1] > 0
    assert routes[0] == "cells"


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=3),
        RandomForestRegressor(20, max_depth=3, max_features=0.3, random_state=0),
    ],
)
def test_more_columns_than_an_array_has_dimensions(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 70))
    y = 2 * X[:, 0] + rng.normal(size=4_000)
    fast, slow, routes = both(clone(model).fit(X[:2_000], y[:2_000]), X[2_000:], y[2_000:])
    assert fast == slow
    assert routes == ["cells", "cells"]


def test_text_in_an_array_of_objects():
    """scikit-learn encodes it by itself; the numbers beside it have cells."""
    rng = np.random.default_rng(0)
    X = np.empty((3_000, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.choice(list("abc"), 3_000), rng.normal(size=3_000)
    y = (X[:, 0] == "a") * 2.0 + X[:, 1].astype(float)
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(X, y)
    fast, slow, _ = both(model, X, y)
    assert fast == slow
    assert "x1" in fast.selected


def test_categorical_splits_go_the_direct_way():
    """A category has no thresholds: its distinct values are asked for; numbers have cells."""
    rng = np.random.default_rng(0)
    n = 3_000
    X = pd.DataFrame(
        {
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], size=n)),
            "size": rng.normal(size=n),
        }
    )
    y = (X["color"] == "red") * 2.0 + X["size"] + rng.normal(size=n)
    lightgbm = pytest.importorskip("lightgbm")
    for model in (
        HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype"),
        lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1),
    ):
        model.fit(X[:1_500], y[:1_500])
        fast, slow, _ = both(model, X, y, max_order=2, exhaustive=True)
        assert fast == slow
        # With one of three colors as reference the others are fewer than half of the rows.
        assert fast.significant[1] == [("size",)]


def close(fast, slow, n):
    """The same sets, counts within one in 100,000 rows or so, statistics to rounding."""
    assert [test.term for test in fast.tests] == [test.term for test in slow.tests]
    for a, b in zip(fast.tests, slow.tests, strict=True):
        assert abs(a.n_positive - b.n_positive) <= 1 + n / 1e5
        assert a.statistic == pytest.approx(b.statistic, rel=1e-5, abs=1e-5)


DENSE = {
    "linear": lambda: LinearRegression(),
    "poisson": lambda: PoissonRegressor(),
    "relu": lambda: MLPRegressor(hidden_layer_sizes=(30, 20), max_iter=20, random_state=0),
    "three layers": lambda: MLPRegressor(
        hidden_layer_sizes=(20, 15, 10), max_iter=20, random_state=0
    ),
    "tanh": lambda: MLPRegressor(
        hidden_layer_sizes=(30,), activation="tanh", max_iter=20, random_state=0
    ),
    "scaled": lambda: make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(30, 20), max_iter=20, random_state=0)
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", DENSE)
def test_networks_of_scikit_learn(name):
    """Along a polyline, or with the first layer updated, to order 2."""
    X, y = regression(width=40)
    if name == "poisson":
        y = np.exp(np.clip(y, -3, 3))
    model = DENSE[name]().fit(X[:2_000], y[:2_000])
    fast, slow, routes = both(model, X, y, beta=(0.01, 0.001), max_order=2, n_partners=2)
    close(fast, slow, len(y))
    assert routes[0] == ("update" if name == "tanh" else "polyline")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [LinearRegression(), MLPRegressor(hidden_layer_sizes=(20,), max_iter=20, random_state=0)],
)
def test_weights_of_less_precision_than_the_rows(model):
    """Fitted in single precision, the model still computes in that of its rows."""
    X, y = regression()
    model = clone(model).fit(X[:2_000].astype(np.float32), y[:2_000].astype(np.float32))
    fast, slow, routes = both(model, X, y)
    close(fast, slow, len(y))
    assert routes[0] == "polyline"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers(classes):
    """Sigmoid and softmax behind the polyline."""
    X, y = regression()
    labels = np.digitize(y, [0] if classes == 2 else [-1, 1])
    for model in (
        LogisticRegression(),
        MLPClassifier(hidden_layer_sizes=(20, 10), max_iter=20, random_state=0),
    ):
        model.fit(X[:2_000], labels[:2_000])
        fast, slow, routes = both(model, X, labels, max_order=2, beta=(0.01, 0.001))
        close(fast, slow, len(y))
        assert routes[0] == "polyline"


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    hidden=st.lists(st.integers(1, 12), min_size=0, max_size=3),
    slope=st.sampled_from([0.0, 0.1, 1.0]),
    bias=st.booleans(),
    closing=st.booleans(),
)
# The bend is exactly at the reference, and the prediction there is 0: no rounding is small beside it.
@example(seed=189, hidden=[], slope=0.0, bias=False, closing=True)
def test_polylines_of_random_networks(seed, hidden, slope, bias, closing):
    """Any depth, leaky or not, with dead units, without biases, and with an activation at the end.

    On discrete and constant columns, too.
    """
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed % 2**31)
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=300), rng.integers(-1, 2, size=300), np.ones(300)])
    sizes, layers = [3, *hidden, 1], []
    for inputs, units in pairwise(sizes):
        layers += [torch.nn.Linear(inputs, units, bias=bias).double(), torch.nn.LeakyReLU(slope)]
    net = torch.nn.Sequential(*layers[: None if closing else -1])
    with torch.no_grad():
        layers[0].weight[:, 0] *= 5
        y = net(torch.from_numpy(X)).numpy()[:, 0] + 0.1 * rng.normal(size=300)
    fast, slow, routes = both(net, X, y, beta=0.001, reference=0.0)
    assert routes[0] == "polyline"
    for a, b in zip(fast.tests, slow.tests, strict=True):
        assert a.n_positive == b.n_positive
        assert a.statistic == pytest.approx(b.statistic, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("together", [1, 2, 3])
@pytest.mark.parametrize("outputs", [1, 4])
def test_polylines_of_many_columns_are_made_in_batches(outputs, together, monkeypatch):
    """How many columns go through the layers together changes nothing but rounding."""
    rng = np.random.default_rng(outputs)
    sizes = [(7, 9), (9, 5), (5, outputs)]
    layers = [
        (rng.normal(size=shape), rng.normal(size=shape[1]), activation)
        for shape, activation in zip(sizes, ("relu", "relu", "identity"), strict=True)
    ]
    network = Dense(tuple(layers), "softmax" if outputs > 1 else "identity")
    reference, spans = rng.normal(size=7), [(-3.0, 3.0)] * 6 + [(1.0, 1.0)]
    rows = Tile(0, rng.uniform(-3, 3, size=(50, 7)), np.zeros(50), None, None)
    rows.X[:, 6] = 1.0

    def values():
        base, lines = make_polylines(network, reference, range(7), spans, np.dtype(float))
        return [base.values, *(line(rows).by_row() for line in lines)]

    at_once = values()
    monkeypatch.setattr(_relu, "BATCH_VALUES", together * 11 * 5)
    for one, other in zip(at_once, values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("hidden", [(6,), (8, 4)])
@pytest.mark.parametrize("width", [1, 3])
def test_a_row_at_the_reference_never_counts(width, hidden):
    """Its two sides are one row; a network computed anew must not tell them apart at beta = 0.

    Alone and in a batch such small networks give the same bits: the rounding rule has nothing to
    go by but how far the route is from the model. Every value is the reference or far from it, so
    that no other row depends on rounding.
    """
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(200, width)), 1)
        model = MLPRegressor(hidden_layer_sizes=hidden, max_iter=1).fit(X, rng.normal(size=200))
        for weights in model.coefs_:
            weights[:] = rng.normal(size=weights.shape)
        given = {"beta": 0.0, "reference": "mode", "max_order": 2, "exhaustive": True}
        fast, slow, routes = both(model, X, rng.normal(size=200), **given, n_partners=1)
        assert routes[0] == "polyline"
        for a, b in zip(fast.tests, slow.tests, strict=True):
            assert (a.term, a.n_positive) == (b.term, b.n_positive)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_a_closing_activation_bends_the_polyline(slope):
    """Also where none of the rows that a route is compared on is cut off."""
    torch = pytest.importorskip("torch")
    X = np.full((3_000, 1), 1.0, dtype=np.float32)
    X[1::2] = -3.0
    X[np.linspace(0, 2_999, 16).astype(int)] = 1.0
    linear = torch.nn.Linear(1, 1)
    with torch.no_grad():
        linear.weight[:], linear.bias[:] = 1.0, 0.0
    net = torch.nn.Sequential(linear, torch.nn.LeakyReLU(slope) if slope else torch.nn.ReLU())
    y = np.where(X[:, 0] > 0, 1.0, -3.0 * slope)
    fast, slow, routes = both(net, X, y, reference=0.5)
    assert routes[0] == "polyline"
    assert fast.tests == slow.tests
    assert fast.tests[0].n_positive == 3_000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sentinel", [1e6, 1e10, 1e12, 1e13, -1e13])
def test_one_value_far_out_does_not_blur_the_others(sentinel):
    """Knots that are close beside it are rounding; then the route is given up, and that is told."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4))
    y = 2 * np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=2_000)
    model = MLPRegressor(hidden_layer_sizes=(20, 10), max_iter=60, random_state=0).fit(X, y)
    X[7, 0] = sentinel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfit.exceptions.SFITWarning)
        fast, slow = (
            sfit.feature_significance(model, X, y, reference="median", fast=one)
            for one in (True, False)
        )
    close(fast, slow, len(y))


def test_predictions_that_are_hardly_any_are_rounding():
    """A network without biases that is cut off at its end: next to 0 its route is not given up."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40) > 1, np.round(rng.normal(size=40), 1)])
    y = 1 + rng.normal(size=40)
    for seed in range(40):
        torch.manual_seed(seed)
        sizes = [2, 8, 6, 1]
        layers = [
            layer
            for before, units in pairwise(sizes)
            for layer in (torch.nn.Linear(before, units, bias=False), torch.nn.ReLU())
        ]
        _, _, routes = both(torch.nn.Sequential(*layers), X, y, reference=0.0)
        assert routes[0] == "polyline"


def test_an_infinite_value_has_no_polyline():
    """Where the model takes one, it is asked for the column; without a word."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    X[300, 0] = np.inf
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    net = torch.nn.Sequential(torch.nn.Hardtanh(-3, 3), net)
    linear = torch.nn.Sequential(torch.nn.Linear(3, 1))
    with torch.no_grad():
        linear[0].weight[0, 0] = 0
    fast, slow, _ = both(net, X, X[:, 1], reference=0.0)
    assert fast == slow
    with pytest.raises(sfit.exceptions.ModelError, match="row 300 is not finite"):
        both(linear, X, X[:, 1], reference=0.0)


def test_small_probabilities_of_single_precision():
    """A rare event: beside a probability of 1 single precision has few digits left for its change.

    No route can repeat them, so the model is asked; the same features are found as in doubles.
    """
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 6)).astype(np.float32), np.zeros(2_000, dtype=int)
    y[:3] = 1
    net = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        net[-1].bias -= 12
    with pytest.warns(sfit.exceptions.SFITWarning, match="does not reproduce"):
        single = sfit.feature_significance(sfit.models.torch_model(net, "logits"), X, y)
    assert single == sfit.feature_significance(
        sfit.models.torch_model(net, "logits"), X, y, fast=False
    )
    double = sfit.feature_significance(
        sfit.models.torch_model(net.double(), "logits"), X, y, fast=False
    )
    assert single.significant == double.significant
    assert len(double.significant[1]) == 3


def test_an_ignored_feature_never_counts_beside_a_given_one():
    """Base and full side are computed alike: in single precision, on rows of every size."""
    torch = pytest.importorskip("torch")
    for seed in range(8):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        with torch.no_grad():
            net[0].weight[:, 1] = 0
        X = rng.normal(size=(10_000, 20)) * np.exp(2 * rng.normal(size=(10_000, 1)))
        result = sfit.feature_significance(
            net, X.astype(np.float32), rng.normal(size=10_000), beta=0.0, given=["x0"]
        )
        assert "update" in result.run["stages"][0]["route"]
        [ignored] = [test for test in result.tests if test.term == ("x1",)]
        assert ignored.n_positive == 0


def test_both_sides_of_a_contrast_share_their_arithmetic():
    """A base along a polyline is not compared with a full side that the model computes."""
    X, y = regression(width=6)
    sample = prepare(LinearRegression().fit(X, y), X, y)
    predictions = sample.evaluation().predictions
    nothing, one, two = (Reveal(frozenset(range(k))) for k in range(3))
    everything = Reveal(sample.features.everything)
    asked = [
        Contrast(frozenset({0}), nothing, one),
        Contrast(frozenset({1}), one, two),
        Contrast(frozenset(range(1, 6)), one, everything),
    ]
    precision = Precision(2**-52, 0.0, len(y))
    route, arithmetic = predictions.prepare(asked, sample.rows.first, precision, pytest.fail)
    assert route == "polyline and update"
    assert [arithmetic[contrast] for contrast in asked] == ["polyline", "update", "model"]


def test_a_side_without_predictions_is_refused():
    """A refit that nobody stored: a clear error, not an empty iterator."""
    X, y = regression()
    sample = prepare(LinearRegression().fit(X, y), X, y)
    with pytest.raises(RuntimeError, match="no predictions are stored for the model without 1"):
        sample.evaluation().predictions.one(sample.rows.first, Refit(1))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("row", [0, 700, 999])
def test_a_row_that_the_model_fails_at_is_named(row):
    """Also where a route meets it first, on the rows that it is compared on."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1_000, 3)), rng.poisson(1.0, size=1_000)
    model = PoissonRegressor().fit(X, y)
    X[row, 1] = 1e6 * np.sign(model.coef_[1])
    for fast in (True, False):
        with pytest.raises(sfit.exceptions.ModelError, match=f"row {row} is not finite"):
            sfit.feature_significance(model, X, y, reference=0.0, fast=fast)


@pytest.mark.parametrize("n", [6, 15, 16, 17, 65])
def test_few_rows_go_the_same_way(n):
    """Fewer rows than a route is compared on."""
    X, y = regression(width=6)
    trees = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    for model, route in ((LinearRegression().fit(X, y), "polyline"), (trees, "cells")):
        fast, slow, routes = both(model, X[:n], y[:n])
        assert routes[0] == route
        close(fast, slow, n)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_dummy_along_a_polyline_is_two_rows(classes):
    """Also where the first rows look like a dummy, or a tile holds one of its values only."""
    rng = np.random.default_rng(0)
    X = np.zeros((1_000, 4))
    X[:, 0] = rng.integers(0, 2, size=1_000)
    X[500:, 1] = rng.normal(size=500)
    X[700:, 2] = 3.5
    X[:, 3] = 2.0
    signal = X @ [2.0, 1.0, -1.0, 1.0] + 0.3 * rng.normal(size=1_000)
    y = (
        np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
        if classes
        else signal
    )
    kind = LogisticRegression() if classes else LinearRegression()
    model = kind.fit(X, y)
    fast, slow, routes = both(model, X, y, reference=[0.5, 0, 1, 1])
    assert routes[0] == "polyline"
    close(fast, slow, len(y))
    sample = prepare(model, X, y, reference=[0.5, 0, 1, 1])
    view, features = sample.view, sample.features
    terms = [frozenset([feature]) for feature in range(4)]
    asked = [Contrast(term, Reveal(frozenset()), Reveal(term)) for term in terms]
    _, arithmetic, functions = fast_route(view, features, view.structure, asked, len(y), {})
    distinct = [
        len(functions[Computed(c.full, arithmetic[c])](sample.rows.first).values) for c in asked
    ]
    assert distinct == [2, 1_000, 2, 2]


def test_float32_network_at_size():
    """A network like the benchmark's, in single precision."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 30)).astype(np.float32)
    net = torch.nn.Sequential(
        torch.nn.Linear(30, 64),
        torch.nn.BatchNorm1d(64),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
    ).eval()
    with torch.no_grad():
        y = net(torch.from_numpy(X)).numpy()[:, 0] + 0.1 * rng.normal(size=len(X))
    fast, slow, routes = both(net, X, y, beta=0.001, reference=0.0)
    assert routes[0] == "polyline"
    close(fast, slow, len(y))


def test_a_wrong_structure_is_found_out():
    """A route that does not reproduce the model is dropped with a warning, and the answer is right."""
    X, y = regression()
    model = LinearRegression().fit(X, y)
    view = sfit.models.as_view(model)
    lying = type(
        "Lying", (type(view),), {"structure": property(lambda _: _twisted(view.structure))}
    )
    liar = lying(**{name: getattr(view, name) for name in view.__dataclass_fields__})
    with pytest.warns(sfit.exceptions.SFITWarning, match="does not reproduce"):
        result = sfit.feature_significance(liar, X, y)
    assert result == sfit.feature_significance(model, X, y, fast=False)


def _twisted(structure):
    (weights, bias, activation) = structure.layers[0]
    return replace(structure, layers=((weights * 1.01, bias, activation),))


def test_an_ignored_feature_is_never_significant_on_any_route():
    """Zero weights, unused columns: no positive row at beta = 0, whatever the route."""
    X, y = regression()
    X[:, 5] = np.random.default_rng(3).normal(size=len(X))
    linear = LinearRegression().fit(X[:, :5], y)
    padded = LinearRegression().fit(X, y)
    padded.coef_[:5], padded.coef_[5], padded.intercept_ = linear.coef_, 0.0, linear.intercept_
    trees = HistGradientBoostingRegressor(max_iter=20).fit(
        np.column_stack([X[:, :5], np.ones(len(X))]), y
    )
    for model in (padded, trees):
        for fast in (True, False):
            result = sfit.feature_significance(model, X, y, beta=0.0, fast=fast)
            assert result.tests[5].n_positive == 0


@pytest.mark.parametrize("rows", [1, 2, 99, 100, 101, 517])
def test_sums_down_wide_rows(rows):
    """In blocks of rows, whole or not, as NumPy sums column by column."""
    values = np.random.default_rng(rows).normal(size=(rows, 7))
    expected = np.cumsum(values, axis=0)
    _run_down(values)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
