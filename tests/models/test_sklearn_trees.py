import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as en
from sklearn import tree
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model import LinearRegression

from models.walk import assert_same_leaves, assert_sound, assert_view, probes
from sfit.exceptions import ModelError
from sfit.models import as_view

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=300)
GAPS = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
TWO = np.where(SCORE > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])]
SEVERAL = np.column_stack([SCORE, -SCORE, X[:, 3]])
FOREST = {"n_estimators": 4, "max_depth": 4, "random_state": 0}

REGRESSORS = [
    (tree.DecisionTreeRegressor(max_depth=5), X, SCORE),
    (tree.DecisionTreeRegressor(max_depth=5), GAPS, SCORE),
    (tree.DecisionTreeRegressor(max_depth=4), X, SEVERAL),
    (tree.ExtraTreeRegressor(max_depth=5, random_state=0), X, SCORE),
    (en.RandomForestRegressor(**FOREST), GAPS, SCORE),
    (en.RandomForestRegressor(**FOREST), X, SEVERAL),
    (en.ExtraTreesRegressor(**FOREST), X, SCORE),
    (en.GradientBoostingRegressor(**FOREST), X, SCORE),
    (en.GradientBoostingRegressor(**FOREST, init="zero"), X, SCORE),
]
CLASSIFIERS = [
    (tree.DecisionTreeClassifier(max_depth=4), X, THREE),
    (tree.ExtraTreeClassifier(max_depth=4, random_state=0), X, TWO),
    (en.RandomForestClassifier(**FOREST), X, THREE),
    (en.ExtraTreesClassifier(**FOREST), X, TWO),
    (en.GradientBoostingClassifier(**FOREST), X, TWO),
    (en.GradientBoostingClassifier(**FOREST), X, THREE),
]


def name(case):
    return str(case.shape) if isinstance(case, np.ndarray) else repr(case)


def members(model):
    return [model] if hasattr(model, "tree_") else list(np.ravel(model.estimators_))


def apply(model, rows):
    rows = rows.astype(np.float32)
    return np.column_stack([member.tree_.apply(rows) for member in members(model)])


def leaf_values(model):
    return [
        sorted(
            map(tuple, m.tree_.value[m.tree_.children_left < 0].reshape(-1, m.tree_.value[0].size))
        )
        for m in members(model)
    ]


@pytest.mark.parametrize(("model", "rows", "y"), REGRESSORS, ids=name)
def test_regressors(model, rows, y):
    model = model.fit(rows, y)
    view = as_view(model)
    assert_view(view, rows, lambda: model.predict(rows))
    check_trees(model, view, rows)


@pytest.mark.parametrize(("model", "rows", "y"), CLASSIFIERS, ids=name)
def test_classifiers(model, rows, y):
    model = model.fit(rows, y)
    view = as_view(model)
    assert view.classes.tolist() == sorted(set(y))
    assert_view(view, rows, lambda: model.predict_proba(rows))
    check_trees(model, view, rows)


def check_trees(model, view, rows):
    before = leaf_values(model)
    copied = view.randomize(np.random.default_rng(0)).model
    assert leaf_values(copied) == before == leaf_values(model)
    trees = view.structure
    assert_sound(trees, rows.shape[1])
    assert not trees.strict
    assert trees.dtype == np.float32
    rows = probes(trees, rows, np.random.default_rng(1), missing=np.isnan(rows).any())
    assert_same_leaves(trees, rows, apply(model, rows))
    np.testing.assert_array_equal(apply(copied, rows), apply(model, rows))


def hist_leaves(model, rows):
    """Which node each row ends in: predict with node numbers for values."""
    encoded = model._preprocess_X(rows, reset=False)
    bitsets, positions = model._bin_mapper.make_known_categories_bitsets()
    columns = []
    for predictor in (p for iteration in model._predictors for p in iteration):
        nodes = predictor.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        numbered = TreePredictor(
            nodes, predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets
        )
        columns.append(numbered.predict(encoded, bitsets, positions, 1))
    return np.column_stack(columns)


HIST = {"max_iter": 5, "max_leaf_nodes": 8, "min_samples_leaf": 5}


@pytest.mark.parametrize("rows", [X, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_histogram_regressor(rows, loss):
    y = SCORE if loss == "squared_error" else np.abs(SCORE)
    model = en.HistGradientBoostingRegressor(**HIST, loss=loss).fit(rows, y)
    view = as_view(model)
    assert_view(view, rows, lambda: model.predict(rows))
    trees = view.structure
    assert_sound(trees, 4)
    assert trees.dtype == np.float64
    points = probes(trees, rows, np.random.default_rng(1))
    assert_same_leaves(trees, points, hist_leaves(model, points))


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_histogram_classifier(y):
    model = en.HistGradientBoostingClassifier(**HIST).fit(GAPS, y)
    view = as_view(model)
    assert view.classes.tolist() == sorted(set(y))
    assert_view(view, GAPS, lambda: model.predict_proba(GAPS))
    trees = view.structure
    points = probes(trees, GAPS, np.random.default_rng(1))
    assert_same_leaves(trees, points, hist_leaves(model, points))
    copied = view.randomize(np.random.default_rng(0)).model
    for old, new in zip(np.ravel(model._predictors), np.ravel(copied._predictors), strict=True):
        leaf = old.nodes["is_leaf"] == 1
        assert sorted(old.nodes["value"][leaf]) == sorted(new.nodes["value"][leaf])
        np.testing.assert_array_equal(old.nodes["value"][~leaf], new.nodes["value"][~leaf])


def test_histogram_splits_are_told_in_the_users_columns():
    # Categories in columns 1 and 3: scikit-learn itself sees the columns in the order 1, 3, 0, 2.
    rows = GAPS.copy()
    rows[:, 1] = RNG.integers(0, 6, size=300)
    rows[:, 3] = RNG.choice([2.0, 5.0, 7.0], size=300)
    y = X[:, 0] + 3 * np.isin(rows[:, 1], [1, 4]) + 2 * (rows[:, 3] == 5) - X[:, 2]
    model = en.HistGradientBoostingRegressor(**HIST, categorical_features=[1, 3]).fit(rows, y)
    view = as_view(model)
    assert view.categorical == {1, 3}
    assert_view(view, rows, lambda: model.predict(rows))
    trees = view.structure
    assert_sound(trees, 4)
    split = trees.left >= 0
    assert set(trees.feature[split]) == {0, 1, 2, 3}
    np.testing.assert_array_equal(trees.categorical[split], np.isin(trees.feature[split], [1, 3]))
    points = probes(trees, rows, np.random.default_rng(1))
    assert_same_leaves(trees, points, hist_leaves(model, points))


def test_histogram_with_categories_in_a_frame():
    frame = pd.DataFrame(X[:, :3], columns=["u", "v", "w"])
    frame.insert(1, "kind", pd.Categorical(RNG.choice(["p", "q", "r"], size=300)))
    y = SCORE + 2 * (frame["kind"] == "q")
    model = en.HistGradientBoostingRegressor(**HIST).fit(frame, y)
    view = as_view(model)
    assert view.names == ("u", "kind", "v", "w")
    assert view.categorical == {1}
    assert_view(view, frame, lambda: model.predict(frame))
    trees = view.structure
    assert set(trees.feature[trees.categorical]) == {1}
    assert_same_leaves(trees, frame.to_numpy(object), hist_leaves(model, frame))


def test_a_single_leaf_stays_as_it_is():
    model = tree.DecisionTreeRegressor().fit(X, np.ones(300))
    view = as_view(model)
    assert len(view.structure.left) == 1
    copied = view.randomize(np.random.default_rng(0))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        en.GradientBoostingRegressor(**FOREST, init=LinearRegression()),
        en.BaggingRegressor(n_estimators=2),
        en.AdaBoostRegressor(n_estimators=2),
        en.VotingRegressor([("tree", tree.DecisionTreeRegressor())]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_more_than_trees_has_no_structure(model):
    model = model.fit(X, SCORE)
    view = as_view(model)
    assert view.structure is None
    assert_view(view, X, lambda: model.predict(X), random=False)
    with pytest.raises(ModelError, match="random_model"):
        view.randomize(np.random.default_rng(0))


def test_a_subclass_that_predicts_in_its_own_way_has_no_structure():
    class Rounded(en.RandomForestRegressor):
        def predict(self, X):
            return np.round(X[:, 0] + super().predict(X))

    assert as_view(Rounded(**FOREST).fit(X, SCORE)).structure is None
