"""Profiles of features: pure functions, and the same numbers as the tests and as a naive loop."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

import sfit
from sfit import _profile_parts
from sfit._document import record_from, storable
from sfit._profile import FeatureProfile
from sfit._profile_parts import categories, direction_of, mean_interval, numbers
from sfit._profiled import profiles
from sfit.exceptions import ArgumentError, DataError

N = 900
ONE = _profile_parts.Outputs("regression", ("prediction",), (0,), 1)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2 * N, 4))
    X[:, 2] = rng.integers(0, 4, 2 * N)
    X[rng.random(2 * N) < 0.1, 1] = np.nan
    y = np.nan_to_num(X[:, 0] ** 2 + X[:, 1], nan=2.0) + X[:, 2] + rng.normal(size=2 * N)
    return X, y


def make_tree(X, y):
    ensemble = pytest.importorskip("sklearn.ensemble")
    return ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)


def make_forest(X, y):
    ensemble = pytest.importorskip("sklearn.ensemble")
    forest = ensemble.RandomForestRegressor(15, max_depth=6, random_state=0)
    return forest.fit(np.nan_to_num(X), y)


def make_lightgbm(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1, random_state=0)
    return model.fit(X, y, categorical_feature=[2])


def make_torch(X, y):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))


def make_function(X, y):
    return lambda rows: np.abs(np.nan_to_num(rows) @ [1.0, 0.5, 0.3, 0.0])


MAKERS = [make_tree, make_forest, make_lightgbm, make_torch, make_function]


def naive_rows(predict, X, y, background, column):
    """Base, predictions and gains row by row, one prediction at a time."""
    base = np.mean([predict(hidden[None])[0] for hidden in background])
    revealed = []
    for row in X:
        block = background.copy()
        block[:, column] = row[column]
        revealed.append(np.mean([predict(one[None])[0] for one in block]))
    revealed = np.array(revealed)
    return base, revealed, np.abs(y - base) - np.abs(y - revealed)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("make", MAKERS)
def test_a_profile_counts_like_the_tests(make, averaged, rows):
    X, y = rows
    # Only gradient boosting takes missing values here.
    X = X if make in (make_tree, make_lightgbm) else np.nan_to_num(X)
    model = make(X[:N], y[:N])
    reference = sfit.Average(X[:N], n_rows=12) if averaged else X[:N]
    arguments = {"reference": reference, "loss": "absolute_error", "random_state": 3}
    signs = sfit.feature_significance(model, X[N:], y[N:], beta=0, max_order=1, **arguments)
    permuted = sfit.feature_significance(
        model, X[N:], y[N:], test=sfit.PermutationTest(), max_order=1, **arguments
    )
    made = profiles(model, X[N:], y[N:], **arguments)
    assert [(one.feature,) for one in made] == [test.term for test in signs.tests]
    for profile in made:
        result = signs if profile.exact else permuted
        [test] = [test for test in result.tests if test.term == (profile.feature,)]
        assert (profile.n_better, profile.n_worse) == (test.n_better, test.n_worse)
        assert profile.mean_gain == pytest.approx(test.gain, rel=1e-9, abs=1e-12)
        assert profile.n_better + profile.n_worse + profile.n_same == profile.n == N
    slow = profiles(model, X[N:], y[N:], fast=False, **arguments)
    assert all(one.exact for one in slow)
    for profile, test in zip(slow, signs.tests, strict=True):
        assert (profile.n_better, profile.n_worse) == (test.n_better, test.n_worse)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("make", [make_tree, make_lightgbm, make_function])
def test_a_profile_agrees_with_a_naive_loop(make, averaged, rows):
    X, y = rows
    model = make(X[:N], y[:N])
    predict = model.predict if hasattr(model, "predict") else model
    some, target = X[N : N + 80], y[N : N + 80]
    background = X[:5] if averaged else X[:1]
    reference = sfit.Average(background) if averaged else background[0]
    made = profiles(model, some, target, reference=reference, loss="absolute_error", fast=False)
    for column, profile in enumerate(made):
        base, revealed, gain = naive_rows(predict, some, target, background, column)
        assert profile.base == pytest.approx((base,))
        known = ~np.isnan(some[:, column])
        at = dict(zip(some[known, column], revealed[known], strict=True))
        if profile.is_numeric:
            assert profile.values == tuple(sorted(at))
            assert profile.responses[0] == pytest.approx([at[value] for value in profile.values])
        else:
            wanted = [at[float(label)] for label in profile.labels]
            assert profile.responses[0] == pytest.approx(wanted)
        assert profile.n_missing == (~known).sum()
        if profile.n_missing:
            assert profile.missing_response == pytest.approx((revealed[~known][0],))
            assert profile.missing_gain[0] == pytest.approx(gain[~known].mean())
        assert profile.ribbon == pytest.approx(sorted(gain, reverse=True), abs=1e-9)
        assert profile.mean_gain == pytest.approx(gain.mean(), abs=1e-8)


def test_an_interpolated_profile_is_exact_at_its_values(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    f = make_function(X, y)
    [profile] = profiles(f, X, y, ["x0"], reference=X[:1])
    assert not profile.exact and profile.n_knots == len(profile.values) == 64
    at = np.repeat(X[:1], 64, axis=0)
    at[:, 0] = profile.values
    assert profile.responses[0] == pytest.approx(f(at))
    [few] = profiles(f, X, y, ["x2"], reference=X[:1])
    assert few.exact and few.n_knots == 0 and few.values == (0.0, 1.0, 2.0, 3.0)


def test_a_step_function_is_recorded_on_both_sides_of_its_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    tree = pytest.importorskip("sklearn.tree").DecisionTreeRegressor(max_leaf_nodes=6)
    tree.fit(X, np.sign(X[:, 0]) + np.round(X[:, 0]))
    profile = profiles(tree, X, X[:, 0])[0]
    assert profile.exact and len(profile.values) <= 12
    inner = np.interp(X[:, 0], profile.values, profile.responses[0])
    block = np.tile(X.mean(axis=0), (len(X), 1))
    block[:, 0] = X[:, 0]
    assert inner == pytest.approx(tree.predict(block))


def test_classes_and_several_outputs():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    linear = pytest.importorskip("sklearn.linear_model")
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, "yes", "no")
    model = linear.LogisticRegression().fit(X, y)
    first, second = profiles(model, X, y)
    assert (first.task, first.outputs, first.n_outputs) == ("classification", ("yes",), 1)
    assert first.direction == "rising" and first.responses[0][0] < first.base[0]
    assert second.feature == "x1"
    labels = rng.choice(list("abcdef"), 1500, p=[0.05, 0.3, 0.25, 0.2, 0.12, 0.08])
    many = profiles(linear.LogisticRegression().fit(X, labels), X, labels)[0]
    assert many.outputs == ("b", "c", "d", "e") and many.n_outputs == 6
    assert len(many.responses) == len(many.base) == 4 and many.direction == ""
    targets = X @ [[1, -1, 0], [0, 0, 1]] + rng.normal(size=(1500, 3))
    several = profiles(linear.LinearRegression().fit(X, targets), X, targets)[0]
    assert several.outputs == ("prediction 1", "prediction 2", "prediction 3")
    assert several.directions[:2] == ("rising", "falling")


def test_words_in_a_pipeline_keep_their_values():
    compose = pytest.importorskip("sklearn.compose")
    linear = pytest.importorskip("sklearn.linear_model")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    rng = np.random.default_rng(2)
    words = rng.choice(["red", "green", "blue"], 800, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame({"colour": words, "size": rng.lognormal(size=800)})
    X.loc[:19, "colour"] = None
    effect = X["colour"].map({"red": 0.0, "green": 1.0, "blue": 2.0}).fillna(5.0)
    y = (effect + X["size"]).to_numpy()
    encode = compose.make_column_transformer(
        (preprocessing.OneHotEncoder(), ["colour"]), (preprocessing.StandardScaler(), ["size"])
    )
    model = pipeline.make_pipeline(encode, linear.LinearRegression()).fit(X, y)
    colour, size = profiles(model, X, y)
    assert colour.labels == ("red", "green", "blue") and colour.values == (0.0, 1.0, 2.0)
    assert not colour.is_numeric and colour.directions == ("",)
    assert colour.counts == tuple(X["colour"].value_counts().tolist())
    red, green, blue = colour.responses[0]
    assert (green - red, blue - red) == pytest.approx((1.0, 2.0))
    assert colour.n_missing == 20
    assert colour.missing_response[0] - red == pytest.approx(5.0)
    # The user's values, not the standardised ones.
    assert size.values[0] == X["size"].min() and size.values[-1] == X["size"].max()
    assert size.direction == "rising"


def test_groups_and_columns_that_are_always_on(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    f = make_function(X, y)
    made = profiles(f, X, y, groups={"both": [0, 1]}, reference=X[:1], fast=False)
    assert [one.feature for one in made] == ["both", "x2", "x3"]
    both = made[0]
    assert both.values == both.responses == both.bin_n == () and both.directions == ("",)
    assert len(both.ribbon) == 201 and both.n_better + both.n_worse > 0
    with_x0 = profiles(f, X, y, ["x2"], always_on=["x0"], reference=X[:1], fast=False)[0]
    test = sfit.feature_significance(
        f, X, y, always_on=["x0"], reference=X[:1], beta=0, max_order=1
    ).tests[1]
    assert test.term == ("x2",) and with_x0.values == ()
    assert (with_x0.n_better, with_x0.n_worse) == (test.n_better, test.n_worse)


def test_sparse_rows_and_chosen_features(rows, monkeypatch):
    X, y = np.nan_to_num(rows[0]), rows[1]
    X[np.abs(X) < 0.7] = 0.0
    model = make_forest(X, y)
    dense = profiles(model, X, y, reference=0)
    monkeypatch.setattr("sfit._profiled.HELD_NUMBERS", 4 * len(X))  # one feature at a time
    assert profiles(model, sparse.csr_array(X), y, reference=0) == dense
    assert profiles(model, X, y, [2, "x0"], reference=0) == (dense[2], dense[0])
    assert profiles(model, X, y, "x1", reference=0) == (dense[1],)
    assert profiles(model, X, y, [], reference=0) == ()


def test_many_tiles_and_a_column_that_is_always_on():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(70_000, 3))
    y = np.sin(X[:, 0]) + X[:, 2] + rng.normal(size=len(X))

    def f(rows):
        return np.sin(rows[:, 0]) + rows[:, 2]

    arguments = {"always_on": [2], "reference": 0, "loss": "absolute_error"}
    [table] = profiles(f, X, y, [0], **arguments)
    assert not table.exact and table.n_knots == 16 * 16  # of two columns
    [profile] = profiles(f, X, y, [0], fast=False, **arguments)
    assert profile.exact
    gain = np.abs(y - X[:, 2]) - np.abs(y - f(X))
    assert (profile.n_better, profile.n_worse) == ((gain > 0).sum(), (gain < 0).sum())
    assert profile.mean_gain == pytest.approx(gain.mean(), rel=1e-6)
    assert profile.base == pytest.approx((X[:, 2].mean(),)) and profile.values == ()
    assert profile.ribbon == pytest.approx(
        np.sort(gain)[::-1][np.linspace(0, 69_999, 201).round().astype(int)]
    )


def test_equal_texts_of_different_categories_stay_apart():
    words = pd.Series([1, "1", "z", None] * 50, dtype=object)
    X = pd.DataFrame({"word": words, "x": np.arange(200.0)})

    def f(frame):
        return np.array([3.0 if isinstance(one, str) else float(one == 1) for one in frame["word"]])

    word = profiles(f, X, np.zeros(200), ["word"], reference={"word": "z", "x": 0.0})[0]
    assert word.labels == ("1", "'1'", "'z'") and word.responses == ((1.0, 3.0, 3.0),)
    assert word.missing_response == (0.0,) and word.counts == (50, 50, 50)


def test_the_target_may_be_a_column_of_the_rows():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"y": rng.normal(size=300), "a": rng.normal(size=300)})
    frame = frame.with_columns(b=pl.Series(rng.integers(0, 3, 300)))
    a, b = profiles(lambda rows: rows["a"].to_numpy() * 2, frame, "y", features=["a", "b"])
    assert a.values[0] >= frame["a"].min() and b.values == (0.0, 1.0, 2.0)
    assert a.direction == "rising" and b.n_same == 300


def test_an_ignored_feature_is_flat(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    flat = profiles(make_torch(X, y), X, y, ["x3"], loss="absolute_error")[0]
    assert flat.n_better + flat.n_worse > 0  # torch's weights use every column
    ignored = profiles(make_function(X, y), X, y, ["x3"])[0]
    assert ignored.n_same == len(X) and ignored.mean_gain == 0 and ignored.direction == ""
    assert set(ignored.responses[0]) == set(ignored.base) and set(ignored.ribbon) == {0.0}


def test_bad_arguments_are_refused(rows):
    X, y = np.nan_to_num(rows[0]), rows[1]
    f = make_function(X, y)
    for names in (["x9"], [7], [True], ["x1", "x1"], 2.5):
        with pytest.raises(ArgumentError, match="names"):
            profiles(f, X, y, names)
    with pytest.raises(ArgumentError, match="alpha"):
        profiles(f, X, y, alpha=2)
    with pytest.raises(DataError, match="X must be"):
        profiles(f, "rows.parquet", "y")


def test_profiles_survive_json(rows):
    X, y = rows
    made = profiles(make_tree(X[:N], y[:N]), X[N:], y[N:])
    for profile in made:
        stored = json.loads(json.dumps(storable(asdict(profile)), allow_nan=False))
        assert record_from(FeatureProfile, stored) == profile


finite = st.floats(-1e6, 1e6, allow_subnormal=False)
columns = hnp.arrays(np.float64, st.integers(1, 400), elements=finite | st.sampled_from([0.0, 1.0]))


@given(x=columns, data=st.data())
def test_every_row_is_counted_once(x, data):
    missing = data.draw(hnp.arrays(bool, len(x)))
    gain = np.sin(np.arange(len(x)))
    x = np.where(missing, np.nan, x)
    seen = _profile_parts.Rows(
        gain, np.power(np.nan_to_num(x)[:, None], 3), np.ones(len(x), dtype=bool)
    )
    effects = sfit._contrast.Effects(0.0, 0.0, 0.0, 0, 0)
    made = _profile_parts.profile_of("x", numbers(x), seen, np.zeros(1), ONE, effects, 0.05, 0)
    assert sum(made.bin_n) + made.n_missing == len(x)
    assert sum(made.counts) + made.n_elsewhere + made.n_missing == len(x)
    assert len(made.values) <= _profile_parts.MOST_VALUES and list(made.values) == sorted(
        made.values
    )
    assert made.responses == () or made.responses[0] == tuple(np.power(made.values, 3))
    assert made.direction in ("rising", "")  # a cube only rises
    if made.bin_n:
        total = np.dot(made.bin_n, made.bin_gain) + gain[missing].sum()
        assert total == pytest.approx(gain.sum(), abs=1e-9)
    assert made.ribbon[0] == gain.max() and made.ribbon[-1] == gain.min()


@given(response=hnp.arrays(np.float64, st.integers(2, 50), elements=st.floats(-9, 9)))
def test_direction_of_a_reflected_function(response):
    n_rows = np.arange(1, len(response) + 1)
    opposite = {"rising": "falling", "falling": "rising", "mixed": "mixed", "": ""}
    found = direction_of(response, n_rows)
    assert direction_of(-response, n_rows) == opposite[found]
    assert direction_of(response, 7 * n_rows) == found
    assert direction_of(np.sort(response), n_rows) in ("rising", "")


def test_direction_counts_the_pairs_that_a_step_separates():
    # Steps of 1 up in the middle and 1 down before the last 4 of 100 rows: weights 0.25, 0.0384.
    response, n_rows = np.array([0.0, 1.0, 0.0]), np.array([50, 46, 4])
    assert direction_of(response, n_rows) == "mixed"
    assert direction_of(response, np.array([50, 48, 2])) == "rising"
    assert direction_of(-response, np.array([50, 48, 2])) == "falling"
    assert direction_of(np.zeros(3), n_rows) == ""
    assert direction_of(np.array([1.0]), np.array([9])) == ""


def test_the_interval_of_a_mean():
    gain = np.random.default_rng(0).normal(size=40)
    mean, low, high = mean_interval(gain, 0.1)
    half = stats.norm.ppf(0.95) * stats.sem(gain)
    assert (mean, low, high) == pytest.approx((gain.mean(), gain.mean() - half, gain.mean() + half))
    assert mean_interval(gain[:1], 0.1)[1:] == (-np.inf, np.inf)


def test_rare_categories_have_no_place():
    codes = np.repeat(np.arange(200), np.arange(200, 0, -1))[::-1]
    values = categories(codes, tuple(f"c{k}" for k in range(200)), np.zeros(len(codes), bool))
    assert len(values.labels) == 120 and values.labels[0] == "c0"
    assert (values.codes == -1).sum() == np.arange(1, 81).sum()


def test_a_far_value_does_not_widen_the_bins():
    x = np.append(np.random.default_rng(0).normal(size=1000), [1e9, np.inf])
    seen = _profile_parts.Rows(np.zeros(len(x)), x[:, None], np.ones(len(x), dtype=bool))
    effects = sfit._contrast.Effects(0.0, 0.0, 0.0, 0, 0)
    made = _profile_parts.profile_of("x", numbers(x), seen, x[:1], ONE, effects, 0.05, 0)
    assert made.edges[-1] < 10 and made.n_elsewhere == 2 and made.values[-1] == 1e9
