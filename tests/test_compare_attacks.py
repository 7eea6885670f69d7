"""Hostile uses of comparisons, each of which once gave a wrong answer."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import function_model

NAMES = ["a", "b", "c"]


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=NAMES)
    return X, X["a"].to_numpy() + rng.normal(size=n)


def first_column(rows):
    return np.asarray(rows)[:, 0]


def second_column(rows):
    return np.asarray(rows)[:, 1]


def chance(rows):
    p = 1 / (1 + np.exp(-first_column(rows)))
    return np.column_stack([p, 1 - p])


def test_equal_probabilities_of_other_classes_are_not_equal_predictions():
    X, y = frame()
    labels = np.where(y > 0, "high", "low")
    right = function_model(chance, task="classification", classes=["high", "low"])
    wrong = function_model(chance, task="classification", classes=["low", "high"])
    found = sfit.compare_models({"right": right, "wrong": wrong}, X, labels, random_state=0)
    p = chance(X)
    losses = [-np.log(np.where(labels == name, p[:, 0], p[:, 1])) for name in ("high", "low")]
    [whole] = found.models
    assert whole.better == "right"
    assert [whole.loss_first, whole.loss_second] == pytest.approx([one.mean() for one in losses])
    assert whole.difference == pytest.approx((losses[0] - losses[1]).mean())
    assert found.features[0].used_more_by == "right"


def test_the_same_model_with_its_classes_in_another_order_is_the_same_model():
    X, y = frame()
    labels = np.where(y > 0, "high", "low")
    one = function_model(chance, task="classification", classes=["high", "low"])
    two = function_model(
        lambda rows: chance(rows)[:, ::-1], task="classification", classes=["low", "high"]
    )
    found = sfit.compare_models({"one": one, "two": two}, X, labels, random_state=0)
    assert {record.p_value for record in (*found.models, *found.features)} == {1.0}


def test_an_array_whose_columns_the_models_call_differently():
    X, y = frame()
    models = {
        "by name": LinearRegression().fit(X, y),
        "by position": LinearRegression().fit(X.to_numpy(), y),
    }
    with pytest.raises(DataError, match=r"column 0 is 'a' in 'by name' and 'x0' in 'by position'"):
        sfit.compare_models(models, X.to_numpy(), y)
    found = sfit.compare_models(models, X, y, random_state=0)
    assert [one.feature for one in found.features] == NAMES
    assert all(one.p_value == 1 and one.missing_in is None for one in found.features)


def test_numbers_name_the_columns_of_an_array_not_of_the_union():
    X, y = frame()
    columns = {"one": [2, 0], "two": [1, 0]}

    def compared(**options):
        models = {"one": first_column, "two": first_column}
        result = sfit.compare_models(
            models, X.to_numpy(), y, features=columns, random_state=0, **options
        )
        return {record.feature: record.missing_in for record in result.features}

    assert compared() == {"x2": "two", "x0": None, "x1": "one"}
    assert compared(always_on=[0]) == {"x2": "two", "x1": "one"}
    assert compared(always_on=[2]) == {"x0": None, "x1": "one"}
    assert compared(groups={"both": [1, 2]}) == {"both": None, "x0": None}


def test_frames_with_numbers_as_names():
    X, y = frame()
    X.columns = [5, 0, 1]
    found = sfit.compare_models(
        {"one": first_column, "two": first_column},
        X,
        y,
        features={"one": [5, 1], "two": [1, 0]},
        always_on=[0],
        random_state=0,
    )
    assert [one.feature for one in found.features] == ["5", "1"]
    assert found.settings.always_on == ("0",)


def test_features_from_a_generator_serve_every_model():
    X, y = frame()
    models = {"one": first_column, "two": second_column}
    expected = sfit.compare_models(models, X, y, features=NAMES, random_state=0)
    for features in ((name for name in NAMES), {name: iter(NAMES) for name in models}):
        assert sfit.compare_models(models, X, y, features=features, random_state=0) == expected


def test_reference_values_without_names_for_models_with_other_columns():
    X, y = frame()
    models = {"one": first_column, "two": first_column}
    for features in (
        {"one": ["a", "b"], "two": ["a", "c"]},
        {"one": ["a", "b"], "two": ["b", "a"]},
    ):
        with pytest.raises(ArgumentError, match="reference has values without names"):
            sfit.compare_models(models, X, y, features=features, reference=[1.0, 2.0])


def test_a_series_of_reference_values_holds_the_columns_of_all_models():
    X, y = frame()
    models = {"one": LinearRegression().fit(X, y), "two": LinearRegression().fit(X[["a"]], y)}
    values = X.mean() + 1
    by_series = sfit.compare_models(models, X, y, reference=values, random_state=0)
    assert by_series == sfit.compare_models(models, X, y, reference=dict(values), random_state=0)


def test_a_feature_that_neither_of_two_models_has_is_not_compared():
    X, y = frame()
    models = {
        "one": LinearRegression().fit(X[["a"]], y),
        "two": LinearRegression().fit(X[["a", "b"]], y),
        "three": LinearRegression().fit(X[["a", "c"]], y),
    }
    found = sfit.compare_models(models, X, y, random_state=0)
    compared = [(one.second, one.feature, one.missing_in) for one in found.features]
    assert compared == [
        ("two", "a", None),
        ("two", "b", "one"),
        ("three", "a", None),
        ("three", "c", "one"),
    ]
    assert sfit.ModelComparison.from_json(found.to_json()) == found
    with pytest.raises(ArgumentError, match="every feature of 'one' and 'two'"):
        sfit.compare_models(models, X, y, given=["a", "b"])


def test_findings_about_several_models_say_which_two_they_compare():
    X, y = frame(400)
    X["b"] = y + 0.1 * X["b"]
    models = {"one": first_column, "two": second_column, "three": lambda rows: np.zeros(len(rows))}
    sentences = sfit.compare_models(models, X, y, reference=0.0, random_state=0).findings()
    assert "two gains more from b than one does." in sentences
    assert "one gains more from a than two does." in sentences
    assert "one gains more from a than three does." in sentences


def test_settings_hold_the_columns_of_all_models():
    X, y = frame()
    models = {"one": LinearRegression().fit(X[["a", "b"]], y), "two": LinearRegression().fit(X, y)}
    found = sfit.compare_models(
        models, X, y, always_on=["c"], reference={"a": 0.0, "b": 0.0}, random_state=0
    )
    assert found.settings.always_on == ("c",)
    assert found.settings.reference_origin == "test rows"


@pytest.mark.parametrize("n", [5, 10, 20, 30])
def test_ranks_at_an_absurd_level(n):
    X, y = frame(n)
    found = sfit.compare_features(
        lambda rows: first_column(rows) + 0.2 * second_column(rows),
        X,
        y,
        alpha=0.99,
        random_state=0,
    )
    assert all(one.rank_low <= one.rank <= one.rank_high for one in found.features)
    assert sfit.FeatureComparison.from_json(found.to_json()) == found


def test_names_of_models_and_their_tasks_are_checked_before_any_work():
    with pytest.raises(ArgumentError, match="got the name 1, which is no string"):
        sfit.compare_models({1: first_column, "two": first_column}, None, None)
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return chance(rows)

    classes = function_model(counted, task="classification", classes=["high", "low"])
    with pytest.raises(ModelError, match="'one' is a regression model"):
        sfit.compare_models({"one": first_column, "two": classes}, "no file", "y")
    assert not calls


def test_the_losses_of_clusters_are_means_over_clusters():
    """Many small clusters prefer one model, most of the rows the other."""
    sizes = np.repeat([1, 120], [60, 2])
    clusters = np.repeat(np.arange(62), sizes)
    X = np.repeat(np.repeat([[1.0], [-1.0]], [60, 2], axis=0), sizes, axis=0)
    models = {
        "of clusters": lambda rows: np.where(rows[:, 0] > 0, 1.0, 3.0),
        "of rows": lambda rows: np.where(rows[:, 0] > 0, 2.0, 1.0),
    }
    options = {"reference": 0.0, "random_state": 0}
    found = sfit.compare_models(models, X, np.zeros(300), clusters=clusters, **options)
    [whole] = found.models
    assert whole.better == "of clusters"
    assert [whole.loss_first, whole.loss_second] == pytest.approx([66 / 62, 122 / 62])
    assert whole.loss_first - whole.loss_second == pytest.approx(whole.difference)
    [gain] = found.features
    assert gain.gain_second - gain.gain_first == pytest.approx(gain.difference)
    wide = "\n".join(line.text for line in found._lines(200))
    assert "Better clusters" in wide
    assert "Better rows" not in wide
    result = sfit.feature_significance(
        models["of rows"], X, np.zeros(300), clusters=clusters, test="mean", **options
    )
    [test] = result.tests
    assert test.loss_base - test.loss_full == pytest.approx(test.mean)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.filterwarnings("ignore:.*clusters are few")
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_losses_that_cannot_be_added_up_are_refused(clustered):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y, clusters = np.zeros(60), np.arange(60) // 3 if clustered else None

    def huge(rows):
        return 1.7e308 * (rows[:, 0] > 0)

    options = {"reference": -1.0, "clusters": clusters, "random_state": 0}
    with pytest.raises(DataError, match="too large to be added up"):
        sfit.compare_models({"huge": huge, "other": first_column}, X, y, **options)
    with pytest.raises(DataError, match="too large to be added up"):
        sfit.compare_features(huge, X, y, **options)
    with pytest.raises(DataError, match="too large to be added up"):
        sfit.feature_significance(huge, X, y, test="mean", **options)


def test_p_values_are_not_below_their_resolution():
    X, y = frame(4)
    for seed in range(20):
        models = sfit.compare_models(
            {"one": first_column, "two": second_column}, X, y, reference=0.0, random_state=seed
        )
        assert min(one.p_value for one in (*models.models, *models.features)) >= 2 / 16
        pairs = sfit.compare_features(first_column, X, y, reference=0.0, random_state=seed).pairs
        assert min(min(one.p_first, one.p_second) for one in pairs) >= 1 / 16


def test_a_level_that_needs_too_many_flips_is_refused_before_any_work():
    X, y = frame(20)
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return first_column(rows)

    with pytest.raises(ArgumentError, match=r"alpha=1e-09 compares .* raise alpha"):
        sfit.compare_models({"one": counted, "two": first_column}, X, y, alpha=1e-9)
    with pytest.raises(ArgumentError, match=r"alpha=1e-09 compares .* raise alpha"):
        sfit.compare_features(counted, X, y, alpha=1e-9)
    assert not calls


@pytest.mark.parametrize("clustered", [False, True])
def test_the_mean_test_refuses_too_many_flips_before_the_first_tile(clustered):
    X, y = frame(5_000)
    clusters = np.arange(5_000) // 50 if clustered else None
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return first_column(rows)

    with pytest.raises(ArgumentError, match="more than 10,000,000"):
        sfit.feature_significance(
            counted, X, y, test="mean", alpha=1e-9, clusters=clusters, fast=False
        )
    assert max(calls) <= 1_000  # probes only


def test_rows_of_a_part_in_a_regular_order_do_not_share_few_slots():
    """A panel of 512 members: the rows of one have four places modulo 2,048."""
    rng = np.random.default_rng(0)
    n = 512 * 24
    X = rng.normal(size=(n, 1))
    result = sfit.feature_significance(
        first_column,
        X,
        X[:, 0] + 0.1 * rng.normal(size=n),
        test="mean",
        by=np.where(np.arange(n) % 512, "others", "one"),
        reference=0.0,
        random_state=0,
    )
    [test] = result["one"].tests
    assert test.p_resolution <= 1 / 2000
    assert test.significant


def test_an_average_of_probabilities_is_only_nearly_additive_and_the_result_says_so():
    X, y = frame(300)
    labels = y > 0
    model = LogisticRegression().fit(X, labels)
    options = {"test": "mean", "interaction": "additive", "max_order": 2, "exhaustive": True}
    average = sfit.Average(X, n_rows=10)

    def warned(model, y, reference):
        result = sfit.feature_significance(
            model, X, y, reference=reference, random_state=0, **options
        )
        return any("only nearly additive" in text for text in result.caveats)

    assert warned(model, labels, average)
    assert not warned(model, labels, X)
    assert not warned(LinearRegression().fit(X, y), y, average)


def test_the_program_explains_comparisons(capsys):
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    run = import_module("sfit.cli").run
    assert run(["compare"]) == 0
    seen = capsys.readouterr()
    assert "Commands:\n  models" in seen.out and not seen.err


def test_a_model_with_random_predictions_is_not_the_other_model():
    X, y = frame(300)
    rng = np.random.default_rng(0)

    def noisy(rows):
        return first_column(rows) + 3 * rng.normal(size=len(rows))

    with pytest.warns(sfit.exceptions.SFITWarning, match="model 'noisy': .* from call to call"):
        found = sfit.compare_models(
            {"calm": first_column, "noisy": noisy}, X, y, reference=0.0, random_state=0
        )
    [whole] = found.models
    assert whole.better == "calm"
    assert whole.loss_first == pytest.approx(np.abs(y - first_column(X)).mean())
    assert whole.loss_second > 2 * whole.loss_first
