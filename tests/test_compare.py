"""Comparisons of models and of features against an independent, slow implementation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.paired import masked, mean_test
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from tiles import tiles_of

import sfit
from sfit.exceptions import ArgumentError, CheckpointError, DataError, ModelError
from sfit.simulate import interactions

NAMES = ["a", "b", "c", "d"]
REFERENCE = dict(zip(NAMES, [0.1, -0.2, 0.3, 0.0], strict=True))


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=NAMES)
    y = X["a"] + X["b"] ** 2 / 2 + rng.normal(size=n)
    return X, y.to_numpy()


def first_model(rows):
    rows = np.asarray(rows)
    return 0.9 * rows[:, 0] + 0.4 * rows[:, 1] ** 2


def second_model(rows):
    rows = np.asarray(rows)
    return 0.7 * rows[:, 0] + 0.1 * rows[:, 2] + 0.3 * rows[:, 1]


def losses(model, X, y, shown):
    return np.abs(y - model(masked(X.to_numpy(), list(REFERENCE.values()), shown)))


def gain(model, X, y, column):
    return losses(model, X, y, []) - losses(model, X, y, [column])


def mean(values, clusters):
    """The mean over rows, or over the means of clusters."""
    return values.mean() if clusters is None else pd.Series(values).groupby(clusters).mean().mean()


def agrees(record, expected, difference="difference"):
    for name in ("p_value", "n", "n_positive", "n_negative"):
        assert getattr(record, name) == expected[name], name
    assert record.p_sign == pytest.approx(expected["p_sign"], rel=1e-10)
    assert getattr(record, difference) == pytest.approx(expected["mean"], rel=1e-10, abs=1e-14)
    for name in ("median", "median_low", "median_high", "ci_low", "ci_high"):
        if name in expected:
            assert getattr(record, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [3, 60, 301])
def test_two_models(n, clustered):
    X, y = frame(n)
    clusters = np.arange(n) % (n // 3) if clustered else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sfit.compare_models(
            {"one": first_model, "two": second_model},
            X,
            y,
            reference=REFERENCE,
            clusters=clusters,
            random_state=5,
        )
    size, alpha = found.settings.n_draws, found.settings.alpha
    everywhere = range(4)
    one, two = (losses(model, X, y, everywhere) for model in (first_model, second_model))
    [whole] = found.models
    agrees(whole, mean_test(one - two, alpha, 5, size, clusters))
    assert whole.loss_first == pytest.approx(mean(one, clusters))
    assert whole.loss_second == pytest.approx(mean(two, clusters))
    assert [record.feature for record in found.features] == NAMES
    for column, record in enumerate(found.features):
        one, two = (gain(model, X, y, column) for model in (first_model, second_model))
        agrees(record, mean_test(two - one, alpha, 5, size, clusters))
        assert record.gain_first == pytest.approx(mean(one, clusters), rel=1e-9)
        assert record.gain_second == pytest.approx(mean(two, clusters), rel=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("rest", [False, True])
def test_features(clustered, rest):
    n = 120
    X, y = frame(n, 1)
    clusters = np.arange(n) // 2 if clustered else None
    found = sfit.compare_features(
        first_model,
        X,
        y,
        reference=REFERENCE,
        clusters=clusters,
        given="rest" if rest else (),
        random_state=7,
    )
    size, alpha = found.settings.n_draws, found.settings.alpha

    def gains(column):
        others = [one for one in range(4) if one != column]
        shown = (others, range(4)) if rest else ([], [column])
        return losses(first_model, X, y, shown[0]) - losses(first_model, X, y, shown[1])

    by_pair = {(pair.first, pair.second): pair for pair in found.pairs}
    for j, first in enumerate(NAMES):
        for k in range(j + 1, 4):
            pair = by_pair[first, NAMES[k]]
            expected = mean_test(gains(j) - gains(k), alpha, 7, size, clusters)
            assert pair.p_first == expected["p_above"]
            assert pair.p_second == expected["p_below"]
            assert pair.p_sign == pytest.approx(expected["p_sign"], rel=1e-10)
            assert (pair.n_first, pair.n_second) == (expected["n_positive"], expected["n_negative"])
            assert pair.difference == pytest.approx(expected["mean"], rel=1e-9, abs=1e-12)
            for name in ("median", "median_low", "median_high", "ci_low", "ci_high"):
                close = pytest.approx(expected[name], rel=1e-9, abs=1e-12)
                assert getattr(pair, name) == close, name
    for record in found.features:
        mean = mean_test(gains(NAMES.index(record.feature)), alpha, 7, 1_000, clusters)["mean"]
        assert record.gain == pytest.approx(mean, rel=1e-9, abs=1e-12)
        better = [pair for pair in found.pairs if pair.larger not in (None, record.feature)]
        sure = [pair for pair in better if record.feature in (pair.first, pair.second)]
        assert record.rank_low == 1 + len(sure)
        worse = [pair for pair in found.pairs if pair.larger == record.feature]
        assert record.rank_high == 4 - len(worse)
        assert record.rank_low <= record.rank <= record.rank_high


def test_holm_over_both_directions_of_all_pairs():
    X, y = frame(80, 2)
    found = sfit.compare_features(second_model, X, y, reference=REFERENCE, random_state=0)
    raw = [p for pair in found.pairs for p in (pair.p_first, pair.p_second)]
    m = len(raw)
    assert m == 4 * 3
    order, running, adjusted = np.argsort(raw, kind="stable"), 0.0, [0.0] * m
    for place, at in enumerate(order):
        running = max(running, (m - place) * raw[at])
        adjusted[at] = min(1.0, running)
    seen = [p for pair in found.pairs for p in (pair.p_first_adjusted, pair.p_second_adjusted)]
    assert seen == pytest.approx(adjusted, abs=1e-15)


@given(st.integers(0, 10**6), st.integers(2, 40))
@settings(max_examples=20)
def test_exchanging_the_models_changes_the_signs(seed, n):
    X, y = frame(n, seed)
    options = {"reference": REFERENCE, "random_state": seed, "correction": None}
    one = sfit.compare_models({"a": first_model, "b": second_model}, X, y, **options)
    two = sfit.compare_models({"b": second_model, "a": first_model}, X, y, **options)
    for here, there in zip((*one.models, *one.features), (*two.models, *two.features), strict=True):
        assert here.difference == pytest.approx(-there.difference, abs=1e-14)
        assert (here.p_value, here.p_sign) == (there.p_value, there.p_sign)
        assert (here.n_positive, here.n_negative) == (there.n_negative, there.n_positive)


def test_a_model_equals_itself_and_its_copies():
    X, y = interactions(3_000, random_state=0)
    forest = RandomForestRegressor(20, max_depth=6, random_state=0).fit(X[:1000], y[:1000])
    found = sfit.compare_models(
        {"forest": forest, "function": lambda rows: forest.predict(rows)},
        X[1000:],
        y[1000:],
        reference=X[:1000],
        random_state=0,
    )
    # One goes by cells, the other row by row: nothing may differ.
    assert [one.p_value for one in (*found.models, *found.features)] == [1.0] * 8
    assert all(one.n_positive == one.n_negative == 0 for one in found.features)


def test_float32_and_float64_copies_are_the_same_model():
    X, y = interactions(2_000, random_state=0)
    line = LinearRegression().fit(X[:1000], y[:1000])

    def rounded(rows):
        return line.predict(rows).astype(np.float32)

    found = sfit.compare_models(
        {"double": line, "single": rounded}, X[1000:], y[1000:], reference=X[:1000], random_state=0
    )
    assert found.models[0].p_value == 1.0
    assert not any(one.significant for one in found.features)


def test_a_feature_that_one_model_lacks():
    X, y = interactions(3_000, random_state=0)
    train = slice(0, 1000)
    models = {
        "all": LinearRegression().fit(X[train], y[train]),
        "without": LinearRegression().fit(X[train].drop(columns="X1"), y[train]),
    }
    found = sfit.compare_models(models, X[1000:], y[1000:], reference=X[train], random_state=0)
    by_name = {one.feature: one for one in found.features}
    assert list(by_name) == list(X.columns)
    assert by_name["X1"].missing_in == "without"
    assert by_name["X1"].gain_second == 0 < by_name["X1"].gain_first
    assert by_name["X1"].used_more_by == "all"
    assert by_name["X2"].missing_in is None
    assert "without does not have X1" in " ".join(found.summary().split())


def test_arguments_may_name_columns_of_one_model_only():
    X, y = interactions(1_000, random_state=0)
    models = {
        "all": LinearRegression().fit(X, y),
        "two": LinearRegression().fit(X[["X1", "X2"]], y),
    }
    found = sfit.compare_models(
        models,
        X,
        y,
        reference={"X1": 0.0, "X7": 1.0},
        groups={"pair": ["X2", "X3"], "other": ["X4", "X5"]},
        always_on=["X6"],
        given=["X7"],
        random_state=0,
    )
    assert [one.feature for one in found.features] == ["X1", "pair", "other"]
    assert {one.feature: one.missing_in for one in found.features}["other"] == "two"
    with pytest.raises(ArgumentError, match="always_on names 'X9'"):
        sfit.compare_models(models, X, y, always_on=["X9"])


def test_classification_and_more_than_two_models():
    X, y = interactions(3_000, random_state=1)
    labels = np.where(y > np.median(y), "high", "low")
    train = slice(0, 1500)
    models = {
        "logistic": LogisticRegression().fit(X[train], labels[train]),
        "boosting": HistGradientBoostingClassifier(random_state=0).fit(X[train], labels[train]),
        "narrow": LogisticRegression().fit(X[train][["X1", "X3"]], labels[train]),
    }
    found = sfit.compare_models(models, X[1500:], labels[1500:], reference=X[train], random_state=0)
    assert found.names == ("logistic", "boosting", "narrow")
    assert [one.second for one in found.models] == ["boosting", "narrow"]
    assert len(found.features) == 14
    assert found.models[0].better == "boosting"
    chance = np.array([models["logistic"].classes_.tolist().index(one) for one in labels[1500:]])
    proba = models["logistic"].predict_proba(X[1500:])[np.arange(1500), chance]
    assert found.models[0].loss_first == pytest.approx(-np.log(proba).mean())


@pytest.mark.parametrize("clusters", [None, "group"])
def test_any_storage_workers_and_checkpoint_give_the_same_bits(tmp_path, clusters):
    pytest.importorskip("pyarrow")
    X, y = interactions(2_500, random_state=3)
    network = MLPRegressor(hidden_layer_sizes=(8,), max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough fit will do
        network.fit(X[:1000], y[:1000])
    forest = RandomForestRegressor(10, max_depth=5, random_state=0).fit(X[:1000], y[:1000])
    held = X[1000:].assign(target=y[1000:], group=np.arange(1500) % 70)
    path = tmp_path / "rows.parquet"
    held.to_parquet(path, row_group_size=400)
    reference = X[:1000]

    def both(rows, **options):
        options |= {"reference": reference, "clusters": clusters, "random_state": 1}
        options |= {"features": list(X.columns)}
        return [
            sfit.compare_models({"a": network, "b": forest}, rows, "target", **options),
            sfit.compare_features(network, rows, "target", **options),
        ]

    with tiles_of(256):
        expected = both(held)
        assert both(path) == expected
        assert both(held, n_jobs=2) == expected
        for kind, result in zip(("models", "features"), expected, strict=True):
            file = tmp_path / f"{kind}.sqlite"
            options = {"reference": reference, "clusters": clusters, "random_state": 1}
            options |= {"features": list(X.columns), "checkpoint": file}
            model = {"a": network, "b": forest} if kind == "models" else network
            call = sfit.compare_models if kind == "models" else sfit.compare_features
            assert call(model, held, "target", **options) == result
            assert call(model, held, "target", **options) == result
            with pytest.raises(CheckpointError):
                call(model, held, "target", **options | {"loss": "squared_error"})


def test_json_round_trip_and_damage(tmp_path):
    X, y = frame(50)
    models = {"one": first_model, "two": second_model}
    for result in (
        sfit.compare_models(models, X, y, random_state=0),
        sfit.compare_features(first_model, X, y, random_state=0),
    ):
        kind = type(result)
        path = tmp_path / "result.json"
        text = result.to_json(path)
        assert kind.from_json(path) == kind.from_json(text) == result
        assert hash(kind.from_json(text)) == hash(result)
        with pytest.raises(DataError):
            kind.from_json(text.replace("50", "51", 1))
        assert result != "another"
    with pytest.raises(DataError, match="expected a FeatureComparison"):
        sfit.FeatureComparison.from_json(sfit.compare_models(models, X, y).to_json())


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([first_model, second_model], "models must map names"),
        ({"one": first_model}, "at least two models; got 1"),
        ({1: first_model, 2: second_model}, "models must map names"),
    ],
)
def test_models_are_checked_first(models, message):
    with pytest.raises(ArgumentError, match=message):
        sfit.compare_models(models, None, None)


def test_models_of_different_tasks():
    X, y = frame(60)
    models = {
        "line": LinearRegression().fit(X, y),
        "classes": LogisticRegression().fit(X, y > 0),
    }
    with pytest.raises(ModelError, match="'line' is a regression model"):
        sfit.compare_models(models, X, y > 0)


def test_errors_name_the_model():
    X, y = frame(60)
    models = {"good": first_model, "bad": lambda rows: np.full(len(rows), np.nan)}
    with pytest.raises(ModelError, match="bad"):
        sfit.compare_models(models, X, y)
    with pytest.raises(ArgumentError, match="'worse', which is not one of the models"):
        sfit.compare_models({"a": first_model, "b": second_model}, X, y, features={"worse": ["a"]})


def test_too_few_and_too_many_features():
    X, y = frame(60)
    with pytest.raises(ArgumentError, match="at least two to compare; got 1"):
        sfit.compare_features(first_model, X, y, given=["a", "b", "c"])
    wide = np.zeros((20, 201))
    with pytest.raises(ArgumentError, match="at most 200 can be compared, but there are 201"):
        sfit.compare_features(lambda rows: rows[:, 0], wide, np.zeros(20))
    with pytest.raises(ArgumentError, match="none is left"):
        sfit.compare_features(first_model, X, y, given=NAMES)


def test_the_size_of_both_tests_under_their_nulls():
    """Equal mean losses; symmetric differences: the paired test is exact, so is the sign test."""
    rng = np.random.default_rng(0)
    repeats, alpha, n = 400, 0.05, 40
    rejected = np.zeros(2)
    for seed in range(repeats):
        X = rng.normal(size=(n, 2))
        y = rng.normal(size=n)

        def one(rows):
            return 0.5 * np.sin(3 * rows[:, 0])

        def two(rows):
            return 0.5 * np.sin(3 * rows[:, 1])

        found = sfit.compare_models(
            {"one": one, "two": two}, X, y, reference=0.0, alpha=alpha, random_state=seed
        )
        rejected += found.models[0].p_value < alpha, found.models[0].p_sign < alpha
    assert (rejected / repeats <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / repeats)).all()
