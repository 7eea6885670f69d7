"""Losses by name and parameter in every call: tests, results, checkpoints, the selector, the program."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import sfit
from sfit._losses import check_loss, choose_loss, named_loss
from sfit.exceptions import ArgumentError, DataError, ModelError

RNG = np.random.default_rng(0)
N = 800
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
MEAN = np.exp(0.3 + 0.8 * X["a"].to_numpy())
POSITIVE = RNG.gamma(2.0, MEAN / 2)
WITH_ZEROS = np.where(RNG.uniform(size=N) < 0.3, 0.0, POSITIVE)
REAL = 2 * X["a"].to_numpy() + RNG.normal(size=N)
LABELS = np.where(REAL > 0, "yes", "no")


def ensemble(rows):
    """Four members around a line, whose order depends on another feature."""
    rows = np.asarray(rows)
    shifts = np.array([-1.0, -0.3, 0.3, 1.0])
    return 2 * rows[:, :1] + shifts * (1 + 0.1 * rows[:, 1:2])


CASES = {
    "pinball:0.9": (lambda rows: 2 * np.asarray(rows)[:, 0] + 1.28, REAL),
    "huber:1.35": (LinearRegression().fit(X, REAL), REAL),
    "gamma": (GammaRegressor(alpha=0).fit(X, POSITIVE), POSITIVE),
    "tweedie:1.5": (TweedieRegressor(power=1.5, alpha=0).fit(X, WITH_ZEROS), WITH_ZEROS),
    "crps": (ensemble, REAL),
    "crps:0.1,0.3,0.7,0.9": (ensemble, REAL),
    "hinge": (LinearSVC().fit(X, LABELS), LABELS),
}


@pytest.mark.parametrize("test", ["sign", "permutation", "mean"])
@pytest.mark.parametrize("loss", CASES)
def test_every_test_runs_with_every_loss(loss, test):
    """The true feature is found, noise is not, and the result has the name of the loss."""
    model, y = CASES[loss]
    result = sfit.feature_significance(
        model, X, y, loss=loss, test=test, correction="holm", random_state=0
    )
    assert result.selected == ("a",)
    assert result.settings.loss == loss
    assert sfit.SFITResult.from_json(result.to_json()) == result
    assert result.tests[0].loss_full < result.tests[0].loss_base
    assert loss in result.summary()


@pytest.mark.parametrize("test", ["sign", "permutation"])
@pytest.mark.parametrize("loss", ["pinball:0.9", "huber:1.35", "gamma", "tweedie:1.5"])
def test_a_named_loss_decides_as_its_formula_does(loss, test):
    """The same counts, p-values and mean losses as a callable with the plain formula."""
    model, y = CASES[loss]

    def formula(y, prediction):
        return named_loss(loss).per_row(y, prediction)

    options = {"random_state": 0}
    if test == "permutation":
        options["test"] = sfit.PermutationTest(statistic="loss", n_permutations=999)
    named = sfit.feature_significance(model, X, y, loss=loss, **options)
    called = sfit.feature_significance(model, X, y, loss=formula, **options)
    for ours, theirs in zip(named.tests, called.tests, strict=True):
        assert ours.p_value == theirs.p_value
        assert ours.loss_full == pytest.approx(theirs.loss_full, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"pinball": 0.9}, "pinball:0.9"),
        ("pinball:.90", "pinball:0.9"),
        ({"pinball": np.float64(0.25)}, "pinball:0.25"),
        ({"huber": 2}, "huber:2"),
        ("huber:1e-3", "huber:0.001"),
        ({"tweedie": 1.5}, "tweedie:1.5"),
        ({"crps": [0.1, 0.5]}, "crps:0.1,0.5"),
        ({"crps": np.array([0.1, 0.5])}, "crps:0.1,0.5"),
        ({"crps": 0.5}, "crps:0.5"),
        ("crps: 0.1, 0.5", "crps:0.1,0.5"),
        ("crps", "crps"),
        ("gamma", "gamma"),
    ],
)
def test_two_spellings_of_a_loss_have_one_name(given, name):
    """That name is a spelling too, and it survives a pickle."""
    assert check_loss(given) == name
    assert named_loss(name).name == name
    loss = pickle.loads(pickle.dumps(choose_loss(given, "regression")))
    assert (loss.name, loss.family) == (name, name.partition(":")[0])


@pytest.mark.parametrize(
    "loss",
    [
        "pinball",
        "pinball:",
        "pinball:1",
        "pinball:0",
        "pinball:nan",
        "pinball:a",
        "pinball:0.1,0.9",
        {"pinball": None},
        {"pinball": "high"},
        {"pinball": [0.1, 0.9]},
        "huber",
        {"huber": 0},
        {"huber": -1.0},
        {"huber": float("inf")},
        "tweedie",
        {"tweedie": 1},
        {"tweedie": 2},
        {"crps": []},
        {"crps": [0.9, 0.1]},
        {"crps": [0.5, 0.5]},
        {"crps": [0.0, 0.5]},
        "crps:1",
    ],
    ids=str,
)
def test_a_parameter_is_checked_with_an_example(loss):
    """The message has the range, both notations, and what was given."""
    family = next(iter(loss)) if isinstance(loss, dict) else loss.partition(":")[0]
    with pytest.raises(ArgumentError) as caught:
        sfit.feature_significance(lambda rows: rows[:, 0], np.zeros((9, 1)), np.zeros(9), loss=loss)
    message = str(caught.value)
    assert f"loss {family!r} needs a parameter" in message
    assert f"loss='{family}:" in message
    assert f"loss={{'{family}': " in message
    assert repr(loss) in message


@pytest.mark.parametrize(
    "loss", ["gamma:2", {"gamma": 2}, {}, {"a": 1, "b": 2}, {3: 4}, {"mse": 1}, "mse:2", 0.9]
)
def test_an_unknown_loss_is_refused_with_all_names(loss):
    with pytest.raises(ArgumentError, match=r"'pinball:0.9'.*'crps:0.1,0.5,0.9'.*got"):
        check_loss(loss)


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        ("gamma", [1.0, 0.0, 2.0], "y is zero or less .* row 1,"),
        ("tweedie:1.5", [1.0, 2.0, -0.5], "y is below zero .* row 2,"),
    ],
)
def test_outcomes_outside_the_range_are_named(loss, y, words):
    with pytest.raises(DataError, match=words) as caught:
        sfit.feature_significance(lambda rows: np.ones(len(rows)), np.eye(3), y, loss=loss)
    assert f"loss={loss!r}" in str(caught.value)


@pytest.mark.parametrize("loss", ["gamma", "tweedie:1.5", "poisson"])
def test_predictions_that_are_not_positive_are_named(loss):
    """The row, the smallest prediction, and the remedy."""
    rows = np.arange(6.0)[:, None]
    with pytest.raises(DataError) as caught:
        sfit.feature_significance(
            lambda rows: rows[:, 0] - 2.0, rows, np.ones(6), loss=loss, reference=5.0
        )
    message = str(caught.value)
    assert "row 0" in message
    assert "positive predictions, but the smallest is -2.0" in message
    assert "log link" in message


def test_levels_and_outputs_must_agree():
    with pytest.raises(ModelError, match=r"returns 4 values per row.*names 2 levels"):
        sfit.feature_significance(ensemble, X, REAL, loss={"crps": [0.1, 0.9]})
    with pytest.raises(DataError, match=r"y has 2 columns: test one of them"):
        sfit.feature_significance(ensemble, X, np.column_stack([REAL, REAL]), loss="crps")
    with pytest.raises(ModelError, match="returns 4 values per row, but y has 1"):
        sfit.feature_significance(ensemble, X, REAL, loss="pinball:0.9")


# --- decision values ------------------------------------------------------------------------------


def hinge(decision, y):
    return np.maximum(0, 1 - np.where(y == "yes", 1, -1) * decision).mean()


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        SVC(),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
        LogisticRegression(),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_hinge_uses_decision_values(estimator):
    """The mean loss of all features revealed is that of `decision_function`; fast equals slow."""
    model = estimator.fit(X[["a"]], LABELS)
    fast, slow = (
        sfit.feature_significance(model, X[["a"]], LABELS, loss="hinge", fast=fast)
        for fast in (True, False)
    )
    pd.testing.assert_frame_equal(fast.table, slow.table, rtol=1e-9)
    expected = hinge(model.decision_function(X[["a"]]), LABELS)
    assert fast.tests[0].loss_full == pytest.approx(expected, rel=1e-9)


def test_hinge_of_several_classes():
    """One score per class; the loss is that of scikit-learn."""
    from sklearn.metrics import hinge_loss

    labels = np.digitize(REAL, [-1, 1])
    model = LinearSVC().fit(X[["a"]], labels)
    result = sfit.feature_significance(model, X[["a"]], labels, loss="hinge")
    expected = hinge_loss(labels, model.decision_function(X[["a"]]), labels=[0, 1, 2])
    assert result.tests[0].loss_full == pytest.approx(expected, rel=1e-9)
    pairs = SVC(decision_function_shape="ovo").fit(X, labels)
    with pytest.raises(ModelError, match="decision_function_shape='ovr'"):
        sfit.feature_significance(pairs, X, labels, loss="hinge")


def test_hinge_of_a_function():
    """A function returns decision values; labels may be -1 and 1."""
    model = LinearSVC().fit(X, LABELS)
    signs = np.where(LABELS == "yes", 1, -1)
    expected = sfit.feature_significance(model, X, LABELS, loss="hinge").table
    function = sfit.models.function_model(model.decision_function, "classification", [-1, 1])
    for given in (model.decision_function, function):
        found = sfit.feature_significance(given, X, signs, loss="hinge").table
        pd.testing.assert_frame_equal(found, expected)
    probabilities = sfit.models.function_model(
        lambda rows: 1 / (1 + np.exp(-2 * rows["a"])), "classification", ["no", "yes"]
    )
    sfit.feature_significance(probabilities, X, LABELS, loss="hinge")
    assert sfit.feature_significance(probabilities, X, LABELS).settings.loss == "log_loss"


def test_hinge_refuses_probabilities():
    """Of a model without decision values, of a library, and the view for the other loss."""
    forest = RandomForestClassifier(5).fit(X, LABELS)
    with pytest.raises(ModelError, match="RandomForestClassifier has no decision_function"):
        sfit.feature_significance(forest, X, LABELS, loss="hinge")
    view = sfit.models.as_view(LogisticRegression().fit(X, LABELS))
    with pytest.raises(ModelError, match=r"needs decision values.*function_model"):
        sfit.feature_significance(view, X, LABELS, loss="hinge")
    view = sfit.models.as_view(LogisticRegression().fit(X, LABELS), "hinge")
    with pytest.raises(ModelError, match=r"needs probabilities.*pass the model itself"):
        sfit.feature_significance(view, X, LABELS)
    with pytest.raises(ModelError, match="loss='zero_one' or 'hinge'"):
        sfit.feature_significance(LinearSVC().fit(X, LABELS), X, LABELS)


def test_hinge_refuses_the_probabilities_of_a_library():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=3).fit(X, LABELS == "yes")
    with pytest.raises(ModelError, match="needs decision values"):
        sfit.feature_significance(model, X, LABELS == "yes", loss="hinge")
    result = sfit.feature_significance(
        lambda rows: model.predict(rows, output_margin=True), X, LABELS == "yes", loss="hinge"
    )
    assert result.selected == ("a",)


# --- the other calls ------------------------------------------------------------------------------


def test_a_checkpoint_tells_parameters_apart(tmp_path):
    """Another quantile is another run; another spelling of it is not."""
    model = LinearRegression().fit(X, REAL)
    options = {"checkpoint": tmp_path / "run.sqlite"}
    first = sfit.feature_significance(model, X, REAL, loss={"pinball": 0.9}, **options)
    again = sfit.feature_significance(model, X, REAL, loss="pinball:0.90", **options)
    assert first == again
    with pytest.raises(sfit.exceptions.SFITError, match="loss"):
        sfit.feature_significance(model, X, REAL, loss="pinball:0.8", **options)


def test_a_checkpoint_of_refits_tells_scores_from_labels(tmp_path):
    """LOCO stores predictions for any loss; decision values are other predictions."""
    rows, options = (X[:400], LABELS[:400], X[400:], LABELS[400:]), {}
    options["checkpoint"] = tmp_path / "loco.sqlite"
    sfit.loco_significance(LinearSVC(), *rows, loss="zero_one", **options)
    with pytest.raises(sfit.exceptions.SFITError, match="decision values"):
        sfit.loco_significance(LinearSVC(), *rows, loss="hinge", **options)


@pytest.mark.parametrize("loss", [{"pinball": 0.5}, "huber:1", "hinge"])
def test_the_other_calls_take_these_losses(loss):
    """Refits, folds, comparisons, the choice of beta and the selector."""
    estimator, y = (LinearSVC(), LABELS) if loss == "hinge" else (LinearRegression(), REAL)
    name = check_loss(loss)
    half = N // 2
    model = estimator.fit(X[:half], y[:half])
    test = X[half:], y[half:]
    loco = sfit.loco_significance(estimator, X[:half], y[:half], *test, loss=loss)
    cross = sfit.cross_significance(estimator, X, y, loss=loss, random_state=0)
    parts = sfit.compare_parts(model, *test, by=np.arange(half) % 2, loss=loss, random_state=0)
    models = {"one": model, "two": estimator}
    compared = sfit.compare_models(models, *test, loss=loss, random_state=0)
    features = sfit.compare_features(model, *test, loss=loss, random_state=0)
    for result in (loco, cross, parts, compared, features):
        assert result.settings.loss == name
    sfit.choose_beta(model, *test, loss=loss, max_beta=0.9, random_state=0)
    selector = sfit.SFITSelector(estimator, loss=loss, random_state=0).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["a"]


def test_a_named_quantile_serves_a_quantile_regression():
    """The feature that only spreads the outcome matters to a high quantile, not to the median."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(0, 1, size=(1_500, 2)), columns=["spread", "noise"])
    y = (0.2 + 2 * X["spread"].to_numpy()) * rng.normal(size=1_500)
    train, test = slice(0, 500), slice(500, None)
    high, median = (
        sfit.feature_significance(
            QuantileRegressor(quantile=q, alpha=0).fit(X[train], y[train]),
            X[test],
            y[test],
            reference=X[train],
            loss={"pinball": q},
            test="mean",
            random_state=0,
        )
        for q in (0.95, 0.5)
    )
    assert high.selected == ("spread",)
    assert median.selected == ()


def test_the_program_takes_parameters(tmp_path):
    """`--loss pinball:0.9`, and a message with an example where the parameter is missing."""
    pytest.importorskip("typer")
    skops = pytest.importorskip("skops.io")
    from typer.testing import CliRunner

    from sfit.cli._app import app

    model = LinearRegression().fit(X, REAL)
    skops.dump(model, tmp_path / "model.skops")
    X.assign(y=REAL).to_csv(tmp_path / "rows.csv", index=False)
    call = ["test", str(tmp_path / "model.skops"), str(tmp_path / "rows.csv"), "-t", "y"]
    ended = CliRunner().invoke(app, [*call, "--loss", "pinball:0.90"])
    assert ended.exit_code == 0, ended.output
    assert "pinball:0.9" in ended.output
    ended = CliRunner().invoke(app, [*call, "--loss", "pinball"])
    assert isinstance(ended.exception, ArgumentError)
    assert "loss='pinball:0.9'" in str(ended.exception)


@pytest.mark.parametrize("loss", ["crps", "hinge", "pinball:0.8", "tweedie:1.5"])
def test_the_permutation_test_keeps_its_level(loss):
    """Outcomes that do not depend on the features: rejections beyond alpha are binomial noise."""
    rng = np.random.default_rng(5)
    alpha, runs, n = 0.2, 150, 40
    models = {"crps": ensemble, "hinge": lambda rows: rows[:, 0] + rows[:, 1]}
    model = models.get(loss, lambda rows: np.exp(rows[:, 0]))
    rejected = 0
    for _ in range(runs):
        X = rng.normal(size=(n, 2))
        y = rng.choice([-1, 1], size=n) if loss == "hinge" else rng.gamma(2.0, size=n)
        result = sfit.feature_significance(
            model,
            X,
            y,
            loss=loss,
            reference=0,
            alpha=alpha,
            test=sfit.PermutationTest(statistic="loss", n_permutations=99),
            random_state=int(rng.integers(2**32)),
        )
        rejected += result.tests[0].p_value < alpha
    # Five standard errors of the number of rejections.
    assert rejected < runs * alpha + 5 * np.sqrt(runs * alpha * (1 - alpha))
    assert rejected > 0
