import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import sfit
from models.walk import assert_same_leaves, assert_sound, assert_view, probes
from sfit.exceptions import DataError, ModelError, SFITWarning
from sfit.models import as_view

lgb = pytest.importorskip("lightgbm")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=300)
X[:, 3] = np.round(X[:, 3])
GAPS = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])]
FRAME = pd.DataFrame(GAPS, columns=["u", "v", "w", "z"])
SMALL = {"n_estimators": 6, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}


def leaf_values(booster):
    lines = re.findall(r"^leaf_value=(.*)$", booster.model_to_string(), flags=re.MULTILINE)
    return [sorted(line.split()) for line in lines]


def check_trees(view, rows):
    trees = view.structure
    assert_sound(trees, rows.shape[1])
    assert not trees.strict
    assert trees.dtype == np.float64
    points = probes(trees, rows, np.random.default_rng(1))
    assert_same_leaves(trees, points, view.booster.predict(points, pred_leaf=True))
    copied = view.randomize(np.random.default_rng(0))
    assert leaf_values(copied.booster) == leaf_values(view.booster)
    np.testing.assert_array_equal(copied.structure.threshold, trees.threshold)


@pytest.mark.parametrize("rows", [X, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"boosting_type": "dart"},
        {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1},
        {"objective": "poisson"},
        {"use_missing": False},
    ],
    ids=["plain", "dart", "forest", "poisson", "no missing"],
)
def test_regressors(rows, params):
    y = np.abs(SCORE) if params.get("objective") == "poisson" else SCORE
    model = lgb.LGBMRegressor(**SMALL, **params).fit(rows, y)
    view = as_view(model)
    assert (view.task, view.classes, view.names) == ("regression", None, None)
    assert_view(view, rows, lambda: model.predict(rows))
    check_trees(view, rows)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_classifiers(y):
    model = lgb.LGBMClassifier(**SMALL).fit(GAPS, y)
    view = as_view(model)
    assert view.classes.tolist() == sorted(set(y))
    assert_view(view, GAPS, lambda: model.predict_proba(GAPS))
    check_trees(view, GAPS)


def test_ranker_is_read_by_its_scores():
    model = lgb.LGBMRanker(**SMALL).fit(GAPS, (SCORE > 0).astype(int), group=[10] * 30)
    assert as_view(model).task == "regression"
    assert_view(as_view(model), GAPS, lambda: model.predict(GAPS))


@pytest.mark.parametrize(
    ("objective", "y", "classes"),
    [
        ("regression", SCORE, None),
        ("cross_entropy", SCORE > 0, None),
        ("binary", SCORE > 0, [0, 1]),
        ("multiclass", np.digitize(SCORE, [-1, 1]), [0, 1, 2]),
    ],
)
def test_boosters(objective, y, classes):
    params = {"objective": objective, "num_leaves": 8, "verbose": -1, "num_threads": 1}
    if objective == "multiclass":
        params["num_class"] = 3
    booster = lgb.train(params, lgb.Dataset(GAPS, y.astype(float)), 5)
    view = as_view(booster)
    assert view.task == ("regression" if classes is None else "classification")
    assert classes is None or view.classes.tolist() == classes
    two = objective == "binary"

    def own():
        raw = booster.predict(GAPS)
        return np.column_stack([1 - raw, raw]) if two else raw

    assert_view(view, GAPS, own)
    check_trees(view, GAPS)


def test_values_next_to_zero_are_zero():
    # LightGBM takes values below 1e-35 for zero, also beside its thresholds at -1e-35 and 1e-35.
    rows = np.where(RNG.uniform(size=(400, 1)) < 0.5, 0, RNG.normal(size=(400, 1)))
    y = (rows[:, 0] == 0) + 3.0 * (rows[:, 0] > 0)
    view = as_view(lgb.LGBMRegressor(**SMALL).fit(rows, y))
    zero = float(np.float32(1e-35))
    near = [np.nextafter(side * zero, towards) for side in (-1, 1) for towards in (-1, 0, 1)]
    points = np.array([*near, -zero, zero, 0, -1e-40, 1e-40, -1e-30, 1e-30, np.nan, -1, 1])[:, None]
    assert_same_leaves(view.structure, points, view.booster.predict(points, pred_leaf=True))


def one_hot(n_categories, rng, n=4_000):
    """Dummies of a feature that does not matter, one that does, and a target."""
    zones = rng.integers(n_categories, size=n)
    X = np.column_stack([np.eye(n_categories)[zones], rng.normal(size=n)])
    return X, 2 * X[:, -1] + rng.normal(size=n)


def test_frozen_dummies_read_as_one_are_reported(recwarn):
    """LightGBM splits next to 0; histogram boosting halfway, where a mean is as good as 0."""
    X, y = one_hot(8, np.random.default_rng(0))
    groups = {"zone": range(8)}
    model = lgb.LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1).fit(X, y)
    with pytest.warns(
        SFITWarning, match=r"read 8 frozen dummies as 1, but no row has more than 1 .*zone"
    ):
        sfit.feature_significance(model, X, y, groups=groups)
    recwarn.clear()
    sfit.feature_significance(model, X, y, groups=groups, reference="median")
    sfit.feature_significance(model, X, y, always_on=range(8))
    halfway = HistGradientBoostingRegressor(max_iter=30).fit(X, y)
    sfit.feature_significance(halfway, X, y, groups=groups)
    assert not [str(told.message) for told in recwarn if told.category is SFITWarning]


def test_early_stopping_is_respected_as_the_library_does():
    noise = RNG.normal(size=300)
    model = lgb.LGBMRegressor(**{**SMALL, "n_estimators": 60})
    stop = [lgb.early_stopping(2, verbose=False)]
    model.fit(X[:150], noise[:150], eval_X=(X[150:],), eval_y=(noise[150:],), callbacks=stop)
    assert 0 < model.best_iteration_ < 60
    view = as_view(model)
    assert_view(view, X, lambda: model.predict(X))
    assert len(view.structure.roots) == model.best_iteration_


def test_a_booster_is_cut_at_its_best_iteration():
    booster = lgb.LGBMRegressor(**SMALL).fit(GAPS, SCORE).booster_
    booster.best_iteration = 3
    view = as_view(booster)
    assert_view(view, GAPS, lambda: booster.predict(GAPS))
    assert len(view.structure.roots) == 3
    check_trees(view, GAPS)


def test_frames_and_arrays_are_interchangeable():
    named, plain = (lgb.LGBMRegressor(**SMALL).fit(rows, SCORE) for rows in (FRAME, GAPS))
    assert as_view(named).names == as_view(named.booster_).names == ("u", "v", "w", "z")
    for model in (named, plain, named.booster_, plain.booster_):
        view = as_view(model)
        for rows in (FRAME, GAPS, np.asfortranarray(GAPS)):
            np.testing.assert_array_equal(view.predict(view.encode(rows)), named.predict(FRAME))


CATS = {"cat_smooth": 1, "min_data_per_group": 1}


def test_categories_of_a_frame():
    frame = FRAME.assign(k=pd.Categorical(RNG.choice(["p", "q", "r", "s"], size=300)))
    frame.insert(0, "n", pd.Categorical(RNG.choice([10, 20, 30], size=300)))
    y = SCORE + 3 * frame["k"].isin(["q", "s"]) - 2 * (frame["n"] == 20)
    model = lgb.LGBMRegressor(**SMALL, **CATS).fit(frame, y)
    for view in (as_view(model), as_view(model.booster_)):
        assert view.categorical == {0, 5}
        assert_view(view, frame, lambda: model.predict(frame))
    trees = view.structure
    assert set(trees.feature[trees.categorical]) == {0, 5}
    assert_same_leaves(trees, frame.to_numpy(object), model.predict(frame, pred_leaf=True))


def test_categories_are_restored_from_the_model_file(tmp_path):
    """A file holds words and numbers; the model knows which categories they are."""
    frame = FRAME.assign(k=pd.Categorical(RNG.choice(["p", "q", "r", "s"], size=300)))
    frame.insert(0, "n", pd.Categorical(RNG.choice([10, 20, 30], size=300)))
    y = SCORE + 3 * frame["k"].isin(["q", "s"]) - 2 * (frame["n"] == 20)
    model = lgb.LGBMRegressor(**SMALL, **CATS).fit(frame, y)
    model.booster_.save_model(tmp_path / "model.txt")
    loaded = lgb.Booster(model_file=tmp_path / "model.txt")
    plain = frame.astype({"k": object, "n": int})
    options = {"reference": "mode", "max_order": 2}
    expected = sfit.feature_significance(model, frame, y, **options)
    for fitted in (model, loaded):
        assert sfit.feature_significance(fitted, plain, y, **options) == expected
    unseen = plain.assign(k=plain["k"].replace("p", "new"))
    missing = frame.assign(k=frame["k"].where(frame["k"] != "p"))
    np.testing.assert_array_equal(
        as_view(loaded).predict(as_view(loaded).encode(unseen)), model.predict(missing)
    )
    wrong = plain.assign(n=plain["n"].astype(str))
    with pytest.raises(DataError, match=r"column 'n' has none of the categories.*\[10, 20, 30\]"):
        sfit.feature_significance(loaded, wrong, y)


def test_ordered_categories_are_thresholds_on_codes_that_rows_do_not_show():
    order = pd.CategoricalDtype(["low", "mid", "top"], ordered=True)
    frame = FRAME.assign(k=pd.Series(RNG.choice(order.categories, size=300), dtype=order))
    y = SCORE + 3 * (frame["k"] == "top")
    model = lgb.LGBMRegressor(**SMALL).fit(frame, y)
    view = as_view(model)
    assert view.structure is None
    assert_view(view, frame, lambda: model.predict(frame))


def test_categories_of_an_array():
    rows = GAPS.copy()
    rows[:, 1] = RNG.choice([3.0, 5.0, 7.0, 11.0], size=300)
    y = SCORE + 3 * np.isin(rows[:, 1], [5, 11])
    model = lgb.LGBMRegressor(**SMALL, **CATS).fit(rows, y, categorical_feature=[1])
    view = as_view(model)
    assert view.categorical == {1}
    assert_view(view, rows, lambda: model.predict(rows))
    assert_same_leaves(view.structure, rows, model.predict(rows, pred_leaf=True))
    frame = pd.DataFrame(rows, columns=list("abcd")).astype({"b": "category"})
    np.testing.assert_array_equal(view.predict(view.encode(frame)), model.predict(rows))


def test_zero_as_missing_has_no_structure():
    model = lgb.LGBMRegressor(**SMALL, zero_as_missing=True).fit(GAPS, SCORE)
    view = as_view(model)
    assert view.structure is None
    assert_view(view, GAPS, lambda: model.predict(GAPS))


def test_linear_trees_have_no_structure():
    model = lgb.LGBMRegressor(**SMALL, linear_tree=True).fit(X, SCORE)
    view = as_view(model)
    assert view.structure is None
    assert_view(view, X, lambda: model.predict(X), random=False)
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_a_single_leaf_stays_as_it_is():
    model = lgb.LGBMRegressor(**{**SMALL, "min_child_samples": 1000}).fit(X, SCORE)
    view = as_view(model)
    assert set(view.structure.left) == {-1}
    copied = view.randomize(np.random.default_rng(0))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))


def squared(y, prediction):
    return prediction - y, np.ones_like(y)


def test_refusals_and_remedies():
    with pytest.raises(ModelError, match="not fitted"):
        as_view(lgb.LGBMRegressor())
    model = lgb.LGBMClassifier(**SMALL, objective=squared).fit(X, TWO)
    with pytest.raises(ModelError, match="function_model"):
        as_view(model)
    model = lgb.LGBMClassifier(**SMALL, objective="multiclassova").fit(X, THREE)
    assert "function_model" in as_view(model).remedy
