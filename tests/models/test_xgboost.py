import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

import sfit
from models.walk import assert_same_leaves, assert_sound, assert_view, probes
from sfit.exceptions import ModelError
from sfit.models import as_view

xgb = pytest.importorskip("xgboost")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=300)
X[RNG.uniform(size=X.shape) < 0.1] = np.nan
TWO = (SCORE > 0).astype(int)
THREE = np.digitize(SCORE, [-1, 1])
FRAME = pd.DataFrame(X, columns=["u", "v", "w", "z"])
SMALL = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}


def trees_of(booster):
    learner = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    return learner.get("gbtree", learner)["model"]["trees"]


def leaf_values(booster):
    # Of the nodes without children, those that pruning deleted have no feature number left.
    return [
        sorted(
            value
            for value, left, feature in zip(
                tree["split_conditions"], tree["left_children"], tree["split_indices"], strict=True
            )
            if left == -1 and feature < 2**31 - 1
        )
        for tree in trees_of(booster)
    ]


def check_trees(view, rows, rounds=(0, 0), names=None):
    trees = view.structure
    assert_sound(trees, rows.shape[1])
    assert trees.strict
    assert trees.dtype == np.float32
    points = probes(trees, rows, np.random.default_rng(1))
    matrix = xgb.DMatrix(points, feature_names=names)
    own = view.booster.predict(matrix, pred_leaf=True, iteration_range=rounds)
    assert_same_leaves(trees, points, own.reshape(len(points), -1))
    copied = view.randomize(np.random.default_rng(0))
    assert leaf_values(copied.booster) == leaf_values(view.booster)
    np.testing.assert_array_equal(copied.structure.threshold, trees.threshold)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (xgb.XGBRegressor(**SMALL), SCORE),
        (xgb.XGBRegressor(**SMALL, objective="count:poisson"), np.abs(SCORE)),
        (xgb.XGBRegressor(**SMALL, booster="dart", rate_drop=0.5), SCORE),
        (xgb.XGBRegressor(**SMALL, tree_method="exact", gamma=3), SCORE),
        (xgb.XGBRegressor(**SMALL), np.column_stack([SCORE, -SCORE])),
        (xgb.XGBRFRegressor(**SMALL), SCORE),
    ],
    ids=["plain", "poisson", "dart", "pruned", "outputs", "forest"],
)
def test_regressors(model, y):
    model = model.fit(X, y)
    view = as_view(model)
    assert (view.task, view.classes, view.names) == ("regression", None, None)
    assert_view(view, X, lambda: model.predict(X))
    check_trees(view, X)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kind", ["XGBClassifier", "XGBRFClassifier"])
def test_classifiers(kind, y):
    model = getattr(xgb, kind)(**SMALL).fit(X, y)
    view = as_view(model)
    assert view.classes.tolist() == sorted(set(y))
    assert_view(view, X, lambda: model.predict_proba(X))
    check_trees(view, X)


def test_softmax_in_the_estimator():
    model = xgb.XGBClassifier(**SMALL, objective="multi:softmax").fit(X, THREE)
    assert_view(as_view(model), X, lambda: model.predict_proba(X))


def test_ranker_is_read_by_its_scores():
    model = xgb.XGBRanker(**SMALL).fit(X, TWO, qid=np.repeat(np.arange(30), 10))
    assert as_view(model).task == "regression"
    assert_view(as_view(model), X, lambda: model.predict(X))


def train(objective, y, **params):
    rows = xgb.DMatrix(X, y)
    return xgb.train({"objective": objective, "max_depth": 3, "nthread": 1, **params}, rows, 5)


def columns(p):
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize(
    ("objective", "y", "own"),
    [
        ("reg:squarederror", SCORE, lambda b, d: b.predict(d)),
        ("reg:logistic", TWO, lambda b, d: b.predict(d)),
        ("survival:cox", np.abs(SCORE), lambda b, d: b.predict(d)),
        ("binary:logistic", TWO, lambda b, d: columns(b.predict(d))),
        ("binary:logitraw", TWO, lambda b, d: columns(expit(b.predict(d)))),
        ("multi:softprob", THREE, lambda b, d: b.predict(d)),
        ("multi:softmax", THREE, lambda b, d: softmax(b.predict(d, output_margin=True), axis=1)),
    ],
)
def test_boosters(objective, y, own):
    booster = train(objective, y, **({"num_class": 3} if "multi" in objective else {}))
    view = as_view(booster)
    classes = {"binary": [0, 1], "multi": [0, 1, 2]}.get(objective.partition(":")[0])
    assert view.task == ("regression" if classes is None else "classification")
    assert classes is None or view.classes.tolist() == classes
    assert_view(view, X, lambda: own(booster, xgb.DMatrix(X)))
    check_trees(view, X)


def test_hinge_has_labels_only():
    booster = train("binary:hinge", TWO)
    with pytest.raises(ModelError, match="zero_one"):
        as_view(booster)
    own = columns(booster.predict(xgb.DMatrix(X)))
    np.testing.assert_array_equal(as_view(booster, "zero_one").predict(X), own)


def test_early_stopping_is_respected_as_the_library_does():
    noise = RNG.normal(size=300)
    model = xgb.XGBRegressor(n_estimators=60, n_jobs=1, early_stopping_rounds=2)
    model.fit(X[:150], noise[:150], eval_set=[(X[150:], noise[150:])], verbose=False)
    rounds = (0, model.best_iteration + 1)
    assert rounds[1] < model.get_booster().num_boosted_rounds()
    view = as_view(model)
    assert_view(view, X, lambda: model.predict(X))
    assert len(view.structure.roots) == rounds[1]
    check_trees(view, X, rounds)
    booster = as_view(model.get_booster())
    np.testing.assert_array_equal(booster.predict(X), model.get_booster().predict(xgb.DMatrix(X)))
    assert len(booster.structure.roots) == model.get_booster().num_boosted_rounds()


def test_frames_and_arrays_are_interchangeable():
    named, plain = (xgb.XGBRegressor(**SMALL).fit(rows, SCORE) for rows in (FRAME, X))
    assert as_view(named).names == ("u", "v", "w", "z")
    for model in (named, plain, named.get_booster(), plain.get_booster()):
        view = as_view(model)
        for rows in (FRAME, X, np.asfortranarray(X)):
            np.testing.assert_array_equal(view.predict(view.encode(rows)), named.predict(FRAME))
    check_trees(as_view(named), X, names=list(FRAME))
    assert plain.get_booster().feature_names is None


def test_categories_of_a_frame():
    frame = FRAME.assign(k=pd.Categorical(RNG.choice(["p", "q", "r", "s"], size=300)))
    frame.insert(0, "n", pd.Categorical(RNG.choice([10, 20, 30], size=300)))
    y = SCORE + 3 * frame["k"].isin(["q", "s"]) - 2 * (frame["n"] == 20)
    model = xgb.XGBRegressor(**SMALL, enable_categorical=True, max_cat_to_onehot=1).fit(frame, y)
    for view in (as_view(model), as_view(model.get_booster())):
        assert view.categorical == {0, 5}
        assert_view(view, frame, lambda: model.predict(frame))
    trees = view.structure
    assert set(trees.feature[trees.categorical]) == {0, 5}
    assert_same_leaves(trees, frame.to_numpy(object), model.apply(frame))


def test_categories_of_an_array():
    rows = X.copy()
    rows[:, 1] = RNG.choice([3.0, 5.0, 7.0, 11.0], size=300)
    y = SCORE + 3 * np.isin(rows[:, 1], [5, 11])
    types = ["float", "c", "float", "float"]
    model = xgb.XGBRegressor(**SMALL, feature_types=types, max_cat_to_onehot=1).fit(rows, y)
    view = as_view(model)
    assert view.categorical == {1}
    assert_view(view, rows, lambda: model.predict(rows))
    assert_same_leaves(view.structure, rows, model.apply(rows))
    # In a frame, the column may well be a category; its codes are not what the model knows.
    frame = pd.DataFrame(rows, columns=list("abcd")).astype({"b": "category"})
    np.testing.assert_array_equal(view.predict(view.encode(frame)), model.predict(rows))


def test_another_missing_value():
    rows = np.nan_to_num(X, nan=-99.0)
    model = xgb.XGBRegressor(**SMALL, missing=-99.0).fit(rows, SCORE)
    view = as_view(model)
    assert view.structure is None
    assert_view(view, rows, lambda: model.predict(rows))


def test_linear_booster():
    rows = np.nan_to_num(X)
    for data in (rows, pd.DataFrame(rows, columns=list("abcd"))):
        model = xgb.XGBRegressor(n_estimators=5, booster="gblinear", n_jobs=1).fit(data, SCORE)
        view = as_view(model)
        assert view.structure is None
        assert_view(view, data, lambda: model.predict(data), random=False)  # noqa: B023
        with pytest.raises(ModelError, match="random_model"):
            view.randomize(np.random.default_rng(0))


def test_vector_leaves_have_splits_and_no_random_copy():
    y = np.column_stack([SCORE, -SCORE])
    model = xgb.XGBRegressor(**SMALL, multi_strategy="multi_output_tree").fit(X, y)
    view = as_view(model)
    assert_view(view, X, lambda: model.predict(X), random=False)
    points = probes(view.structure, X, np.random.default_rng(1))
    assert_same_leaves(view.structure, points, model.apply(points).reshape(len(points), -1))
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_random_copies_keep_the_number_of_threads():
    view = as_view(xgb.XGBRegressor(**SMALL).fit(X, SCORE)).randomize(np.random.default_rng(0))
    config = json.loads(view.booster.save_config())
    assert config["learner"]["generic_param"]["nthread"] == "1"


def test_refusals():
    with pytest.raises(ModelError, match="not fitted"):
        as_view(xgb.XGBRegressor())
    labels = np.column_stack([SCORE > 0, SCORE > 1]).astype(int)
    with pytest.raises(ModelError, match="function_model"):
        as_view(xgb.XGBClassifier(**SMALL).fit(X, labels))


def test_other_models_are_not_taken():
    from sfit.models import _xgboost

    assert _xgboost.view(sys, "auto") is None


class Second(xgb.XGBRegressor):
    """A model of the user's: its booster learned the first column, and it predicts the second."""

    def predict(self, X, **options):
        return np.asarray(X)[:, 1]


def test_a_class_that_predicts_its_own_way_is_asked_itself():
    """The booster alone would be another model, without a word."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = Second(n_estimators=2).fit(X, X[:, 0])
    for fast in (True, False):
        assert sfit.feature_significance(model, X, X[:, 1], fast=fast).selected == ("x1",)
    patched = xgb.XGBRegressor(n_estimators=2).fit(X, X[:, 0])
    patched.predict = lambda rows: np.asarray(rows)[:, 1]
    assert sfit.feature_significance(patched, X, X[:, 1]).selected == ("x1",)
