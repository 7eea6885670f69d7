"""SFITSelector: scikit-learn's own checks, and its life inside pipelines and searches."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfit
from sfit import SFITSelector
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITError

pytestmark = pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")

RNG = np.random.default_rng(3)
N = 1_000
X = RNG.normal(size=(N, 4))
Y = 2 * X[:, 0] - 2 * X[:, 2] + 0.5 * RNG.normal(size=N)
CLASS = np.where(Y > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
FOUND = [True, False, True, False]


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        SFITSelector(LinearRegression()),
        SFITSelector(LogisticRegression()),
        SFITSelector(DecisionTreeClassifier(random_state=0), loss="brier"),
        SFITSelector(DecisionTreeRegressor(max_depth=3, random_state=0)),
        SFITSelector(make_pipeline(StandardScaler(), Ridge()), max_order=2),
        SFITSelector(LinearRegression(), test="sign"),
        SFITSelector(LinearRegression(), cv=2, test="sign"),
        SFITSelector(LogisticRegression(), cv=2, reference="mean"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """Every check that scikit-learn runs on its own selectors."""
    check(estimator)


def test_fits_a_clone_on_one_part_and_tests_on_the_other():
    """The result is that of the permutation test of the rows held out, averaged over the fit's."""
    selector = SFITSelector(LinearRegression(), test_size=0.4, random_state=7).fit(X, Y)
    X_fit, X_test, y_fit, y_test = train_test_split(X, Y, test_size=0.4, random_state=7)
    model = LinearRegression().fit(X_fit, y_fit)
    expected = sfit.feature_significance(
        model, X_test, y_test, test="permutation", reference=sfit.Average(X_fit), random_state=7
    )
    assert selector.result_ == expected
    np.testing.assert_array_equal(selector.estimator_.coef_, model.coef_)
    assert selector.get_support().tolist() == FOUND


@pytest.mark.parametrize(
    "test", ["sign", "permutation", sfit.SignTest(ties="drop"), sfit.PermutationTest()]
)
def test_any_test(test):
    """By name or as an object; a clone keeps it, and the result is that of the test."""
    selector = clone(SFITSelector(LinearRegression(), test=test, reference=0, random_state=7))
    selector.fit(X, Y)
    X_fit, X_test, y_fit, y_test = train_test_split(X, Y, test_size=0.5, random_state=7)
    model = LinearRegression().fit(X_fit, y_fit)
    expected = sfit.feature_significance(
        model, X_test, y_test, test=test, reference=0, random_state=7
    )
    assert selector.result_ == expected
    assert selector.get_support()[FOUND].all()


@pytest.mark.parametrize("test", ["permutation", "sign"])
def test_few_rows_are_tested_in_folds(test):
    """The result is that of `cross_significance`, and the model is fitted on all rows."""
    few, y = FRAME[:80], Y[:80]
    selector = clone(SFITSelector(LinearRegression(), cv=4, test=test, random_state=7)).fit(few, y)
    expected = sfit.cross_significance(
        LinearRegression(), few, y, n_folds=4, test=test, random_state=7
    )
    assert selector.result_ == expected
    assert selector.get_support().tolist() == [name in expected.selected for name in FRAME]
    assert selector.get_support()[FOUND].all()
    np.testing.assert_array_equal(selector.estimator_.coef_, LinearRegression().fit(few, y).coef_)
    assert selector.transform(few).shape == (80, len(expected.selected))


def test_folds_with_groups():
    """All columns of a significant group are kept."""
    selector = SFITSelector(LinearRegression(), cv=3, groups={"g": [0, 1]}, random_state=0)
    assert selector.fit(X[:90], Y[:90]).get_support().tolist()[:3] == [True, True, True]


@pytest.mark.parametrize(
    ("options", "fit_params", "message"),
    [
        ({"cv": 3, "prefit": True}, {}, "prefit=True cannot be combined with cv=3.*[Oo]mit"),
        ({"cv": 3, "max_order": 2}, {}, "max_order=2 cannot be combined with cv=3"),
        ({"cv": 3, "strict": True}, {}, "strict=True cannot be combined with cv=3"),
        ({"cv": 3, "partners": "all"}, {}, "partners='all' cannot be combined with cv=3"),
        ({"cv": 3, "partners": ["a", "b"]}, {}, r"partners=\['a', 'b'\] cannot be combined"),
        ({"cv": 3, "n_partners": -3}, {}, "n_partners=-3 cannot be combined with cv=3"),
        ({"cv": 3, "test_size": 0.3}, {}, "test_size=0.3 cannot be combined with cv=3"),
        ({"cv": 3}, {"sample_weight": np.ones(N)}, "sample_weight cannot be combined with cv=3"),
        ({"cv": 1}, {}, "^cv must be at least 2"),
        ({"cv": 2.5}, {}, "^cv must be a whole number"),
        ({"cv": "5"}, {}, "^cv must be a whole number.*got '5'"),
        ({"cv": KFold(3)}, {}, r"^cv must be a whole number.*got KFold"),
        ({"cv": 3, "reference": "median"}, {}, "reference must be 'average' or 'mean'"),
    ],
)
def test_what_folds_cannot_do(options, fit_params, message):
    """The error names the argument and the remedy."""
    with pytest.raises(ArgumentError, match=message):
        SFITSelector(LinearRegression(), **options).fit(X, Y, **fit_params)


def test_folds_warn_once_of_indexes_in_another_order():
    """`cross_significance` warns; the selector does not repeat it."""
    y = pd.Series(Y[:90])[::-1]
    with pytest.warns(UserWarning, match="same index in another order") as caught:
        SFITSelector(LinearRegression(), cv=3).fit(FRAME[:90], y)
    assert len(caught) == 1


def test_a_feature_that_matters_to_a_minority():
    """The default keeps it, the sign test does not."""
    rng = np.random.default_rng(0)
    rows = np.c_[rng.random(2_000) < 0.1, rng.normal(size=2_000)].astype(float)
    y = 3 * rows[:, 0] + rng.normal(size=2_000)
    kept = {
        test: SFITSelector(LinearRegression(), test=test, reference=0, random_state=0).fit(rows, y)
        for test in ("permutation", "sign")
    }
    assert kept["permutation"].get_support()[0]
    assert not kept["sign"].get_support()[0]


def test_classes_are_split_in_proportion():
    """A classifier's labels are stratified, text or not."""
    rare = np.where(np.arange(N) < 12, "rare", CLASS)
    selector = SFITSelector(LogisticRegression(), random_state=0).fit(X, rare)
    assert set(selector.estimator_.classes_) == {"no", "rare", "yes"}


def test_a_class_of_one_row_is_not_stratified():
    """One row of a class cannot be in both parts: the split is then plain, and the error clear."""
    single = CLASS.astype(object)
    single[0] = "single"
    try:
        SFITSelector(LogisticRegression(), random_state=0).fit(X, single)
    except SFITError as error:
        assert "single" in str(error)  # noqa: PT017 - either outcome is right


def test_support_and_names():
    """get_support as mask and indices, names with and without a frame."""
    selector = SFITSelector(LinearRegression(), random_state=0).fit(FRAME, Y)
    assert selector.get_support().tolist() == FOUND
    assert selector.get_support(indices=True).tolist() == [0, 2]
    assert selector.get_feature_names_out().tolist() == ["a", "c"]
    assert selector.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    unnamed = SFITSelector(LinearRegression(), random_state=0).fit(X, Y)
    assert unnamed.get_feature_names_out().tolist() == ["x0", "x2"]
    assert unnamed.get_feature_names_out(list("pqrs")).tolist() == ["p", "r"]
    np.testing.assert_array_equal(unnamed.transform(X), X[:, [0, 2]])
    back = unnamed.inverse_transform(X[:, [0, 2]])
    np.testing.assert_array_equal(back[:, [0, 2]], X[:, [0, 2]])
    assert not back[:, [1, 3]].any()


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


KINDS = {
    "list": X.tolist(),
    "float32": X.astype(np.float32),
    "sparse": sp.csr_array(X),
    "numbered-columns": pd.DataFrame(X),
    "odd-index": FRAME.set_index(np.arange(N)[::-1]),
}


@pytest.mark.parametrize("rows", KINDS.values(), ids=KINDS)
def test_kinds_of_rows(rows):
    """The same columns are kept whatever holds the rows."""
    selector = SFITSelector(LinearRegression(), random_state=0).fit(rows, Y)
    assert selector.get_support().tolist() == FOUND
    assert selector.transform(rows).shape == (N, 2)


def test_polars():
    """polars frames in, and with set_output out."""
    selector = SFITSelector(LinearRegression(), random_state=0).set_output(transform="polars")
    kept = selector.fit_transform(as_polars(FRAME), Y)
    assert kept.columns == ["a", "c"]


class Foreign(RegressorMixin, BaseEstimator):
    """An estimator that takes missing values without saying so, as CatBoost's do."""

    def fit(self, X, y):
        self.inner_ = HistGradientBoostingRegressor(max_iter=30).fit(np.asarray(X), y)
        return self

    def predict(self, X):
        return self.inner_.predict(np.asarray(X))


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [make_pipeline(SimpleImputer(), LinearRegression()), Foreign()],
    ids=["pipeline", "foreign"],
)
def test_missing_values_are_transformed_as_they_were_fitted(estimator, frame):
    """What fit took, transform takes; without any in fit, it is as the estimator says."""
    gaps = X.copy()
    gaps[::50] = np.nan
    rows = pd.DataFrame(gaps, columns=list("abcd")) if frame else gaps
    selector = SFITSelector(estimator, random_state=0).fit(rows, Y)
    np.testing.assert_array_equal(selector.transform(rows), gaps[:, FOUND])
    with pytest.raises(ValueError, match="NaN"):
        selector.fit(rows[1:50], Y[1:50]).transform(rows)


def test_set_output_pandas():
    """Frames come out with their names, dtypes and index."""
    frame = FRAME.astype({"c": np.float32}).set_index(np.arange(N) + 10)
    selector = SFITSelector(LinearRegression(), random_state=0).set_output(transform="pandas")
    kept = selector.fit_transform(frame, Y)
    pd.testing.assert_frame_equal(kept, frame[["a", "c"]])


def test_pipeline():
    """Between a scaler and a model, with the score of the model on the features kept."""
    pipeline = make_pipeline(
        StandardScaler(), SFITSelector(LinearRegression(), random_state=0), Ridge()
    )
    pipeline.fit(FRAME, Y)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["a", "c"]
    assert pipeline.score(FRAME, Y) > 0.9
    assert cross_val_score(pipeline, X, Y, cv=2).min() > 0.9


def test_grid_search_over_beta():
    """Parameters of the selector and of its estimator can be searched."""
    pipeline = Pipeline(
        [
            ("selector", SFITSelector(Ridge(), test="sign", random_state=0)),
            ("model", LinearRegression()),
        ]
    )
    grid = {"selector__beta": [0.0, 0.05], "selector__estimator__alpha": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    assert search.best_score_ > 0.9
    assert search.best_estimator_["selector"].get_support().tolist()[0]
    assert (search.cv_results_["mean_test_score"] > 0.5).all()


def test_clone_and_parameters():
    """Constructor arguments are kept as they are; a clone is unfitted and equal."""
    groups, beta = {"g": ["a"]}, np.array([0.01])
    selector = SFITSelector(LinearRegression(), test="sign", groups=groups, beta=beta, prefit=False)
    assert selector.get_params(deep=False)["groups"] is groups
    assert selector.get_params()["estimator__fit_intercept"] is True
    copy = clone(selector)
    assert copy.get_params(deep=False)["groups"] == groups
    with pytest.raises(NotFittedError):
        copy.get_support()
    assert clone(clone(selector).fit(FRAME, Y)).get_params(deep=False)["groups"] == groups


def test_fit_leaves_the_estimator_alone():
    """The estimator passed stays unfitted; read-only rows are enough."""
    estimator = LinearRegression()
    rows, y = X.copy(), Y.copy()
    rows.flags.writeable = y.flags.writeable = False
    SFITSelector(estimator, random_state=0, max_order=2).fit(rows, y).transform(rows)
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("fitted_on", [X, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize("rows", [X, FRAME], ids=["array", "frame"])
def test_prefit(fitted_on, rows):
    """A fitted model is tested on all rows and not fitted again, with names or without."""
    model = LinearRegression().fit(fitted_on, Y)
    selector = SFITSelector(model, prefit=True, random_state=0).fit(rows, Y)
    assert selector.estimator_ is model
    assert (selector.result_.table["n"] == N).all()
    assert selector.get_support().tolist() == FOUND


def test_prefit_function():
    """Any model that feature_significance takes, a plain function too."""
    selector = SFITSelector(
        lambda rows: 2 * rows[:, 0] - rows[:, 2], prefit=True, random_state=0
    ).fit(X, Y)
    assert selector.get_support().tolist() == FOUND


def test_prefit_with_columns_in_another_order():
    """A model with names finds its columns, and the mask follows the rows."""
    model = LinearRegression().fit(FRAME[["a", "b", "c"]], Y)
    selector = SFITSelector(model, prefit=True, random_state=0)
    selector.fit(FRAME[["d", "c", "b", "a"]], Y)
    assert selector.get_support().tolist() == [False, True, False, True]


GROUPS = {
    "positions": (X, {"g": [0, 1]}),
    "numpy-positions": (X, {"g": np.array([0, 1])}),
    "names": (FRAME, {"g": ["a", "b"]}),
    "made-up-names": (X, {"g": ["x0", "x1"]}),
    "own-name": (FRAME, {"a": ["a", "b"]}),
    "numbered-name": (FRAME, {1: ["a", "b"]}),
}


@pytest.mark.parametrize(("rows", "groups"), GROUPS.values(), ids=GROUPS)
def test_groups(rows, groups):
    """All columns of a group that was found are kept."""
    selector = SFITSelector(LinearRegression(), groups=groups, random_state=0).fit(rows, Y)
    assert selector.get_support().tolist() == [True, True, True, False]


@pytest.mark.parametrize(("rows", "group"), [(X, "x0"), (X, 0), (FRAME, "a")])
def test_a_group_of_one_column(rows, group):
    """A single name need not be in a list, and is no list of letters."""
    selector = SFITSelector(LinearRegression(), groups={"g": group}, random_state=0).fit(rows, Y)
    assert selector.get_support().tolist() == FOUND


def test_nothing_selected():
    """No feature is kept: scikit-learn's warning, and no column."""
    selector = SFITSelector(LinearRegression(), test="sign", beta=1.0, random_state=0).fit(X, Y)
    assert not selector.get_support().any()
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (N, 0)


def test_sets_found_at_order_two_are_kept():
    """Features that matter only together are selected at max_order=2."""
    y = X[:, 0] * X[:, 1]
    estimator = RandomForestRegressor(20, max_depth=8, random_state=0)
    options = {"test": "sign", "reference": "mean", "random_state": 0}
    first = SFITSelector(estimator, **options).fit(X, y)
    second = SFITSelector(estimator, **options, max_order=2, strict=True).fit(X, y)
    assert first.get_support().sum() < 2
    assert second.get_support().tolist() == [True, True, False, False]


def test_sets_found_at_order_two_are_kept_by_the_permutation_test():
    """With the other feature at 0, each feature alone gives a constant prediction."""
    options = {"prefit": True, "reference": 0, "random_state": 0}
    for max_order, kept in ((1, []), (2, [0, 1])):
        selector = SFITSelector(lambda z: z[:, 0] * z[:, 1], max_order=max_order, **options)
        selector.fit(X, X[:, 0] * X[:, 1] + X[:, 3])
        assert np.flatnonzero(selector.get_support()).tolist() == kept


def test_beta_auto_is_reproducible():
    """One random_state settles the split and the random models."""
    noise = RNG.normal(size=N)
    selectors = [
        SFITSelector(LinearRegression(), test="sign", beta="auto", random_state=4).fit(
            X, 100 * noise + Y
        )
        for _ in range(2)
    ]
    assert selectors[0].result_ == selectors[1].result_
    assert selectors[0].result_.beta_choice.seed == 4


@pytest.mark.parametrize("random_state", [None, 3, np.random.RandomState(0), np.int64(3), 2**40])
def test_random_states(random_state):
    """Whatever scikit-learn takes as random_state, and numbers of any size."""
    selector = SFITSelector(LinearRegression(), random_state=random_state).fit(X, Y)
    # One split in ten keeps a noise feature at this level.
    assert selector.get_support()[FOUND].all()


def test_generator_as_random_state():
    """NumPy's generators, which train_test_split itself refuses."""
    selector = SFITSelector(LinearRegression(), random_state=np.random.default_rng(0)).fit(X, Y)
    assert selector.get_support()[FOUND].all()


# --- metadata ----------------------------------------------------------------------------


class Weighed(RegressorMixin, BaseEstimator):
    """Least squares that remembers what it was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.sample_weight_, self.note_ = sample_weight, note
        self.model_ = LinearRegression().fit(X, y, sample_weight)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.model_.predict(X)


WEIGHTS = np.arange(N, dtype=float)


def rows_fitted(seed):
    return train_test_split(np.arange(N), test_size=0.5, random_state=seed)[0]


def test_weights_the_plain_way():
    """Without routing, parameters of fit go to the estimator, cut to its rows."""
    selector = SFITSelector(Weighed(), random_state=5)
    selector.fit(X, Y, sample_weight=WEIGHTS, note="as it is")
    np.testing.assert_array_equal(selector.estimator_.sample_weight_, WEIGHTS[rows_fitted(5)])
    assert selector.estimator_.note_ == "as it is"


def test_weights_the_plain_way_in_a_pipeline():
    """A pipeline passes them with the name of the step."""
    pipeline = Pipeline([("selector", SFITSelector(Weighed(), random_state=5)), ("end", Ridge())])
    pipeline.fit(X, Y, selector__sample_weight=WEIGHTS)
    given = pipeline["selector"].estimator_.sample_weight_
    np.testing.assert_array_equal(given, WEIGHTS[rows_fitted(5)])


def test_weights_by_routing():
    """With metadata routing, what the estimator requests reaches it, through a pipeline too."""
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Weighed().set_fit_request(sample_weight=True, note=False)
        selector = SFITSelector(estimator, random_state=5).fit(X, Y, sample_weight=WEIGHTS)
        np.testing.assert_array_equal(selector.estimator_.sample_weight_, WEIGHTS[rows_fitted(5)])
        last = Ridge().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(SFITSelector(estimator, random_state=5), last)
        pipeline.fit(X, Y, sample_weight=WEIGHTS)
        given = pipeline[0].estimator_.sample_weight_
        np.testing.assert_array_equal(given, WEIGHTS[rows_fitted(5)])


def test_weights_nobody_asked_for():
    """With routing, metadata that is not requested is refused by scikit-learn."""
    with sklearn.config_context(enable_metadata_routing=True):
        selector = SFITSelector(Weighed(), random_state=5)
        with pytest.raises(ValueError, match="sample_weight"):
            selector.fit(X, Y, sample_weight=WEIGHTS)


def test_weights_of_a_prefit_model():
    """Nothing is fitted, so that weights would be silently lost: refused."""
    selector = SFITSelector(LinearRegression().fit(X, Y), prefit=True)
    with pytest.raises(ArgumentError, match=r"sample_weight.*prefit=True"):
        selector.fit(X, Y, sample_weight=WEIGHTS)


# --- bad input ---------------------------------------------------------------------------

BAD = {
    "class": (ArgumentError, ["estimator", "instance"], {"estimator": LinearRegression}),
    "function": (ArgumentError, ["estimator", "prefit=True"], {"estimator": len}),
    "number": (ArgumentError, ["estimator", "3"], {"estimator": 3}),
    "none": (ArgumentError, ["estimator", "None"], {"estimator": None}),
    "prefit-unfitted": (ModelError, ["not fitted"], {"prefit": True}),
    "prefit-text": (ArgumentError, ["prefit", "'no'"], {"prefit": "no"}),
    "test_size-zero": (ArgumentError, ["test_size", "between 0 and 1"], {"test_size": 0}),
    "test_size-count": (ArgumentError, ["test_size", "between 0 and 1"], {"test_size": 2}),
    "test_size-text": (ArgumentError, ["test_size", "'a'"], {"test_size": "a"}),
    "test_size-none": (ArgumentError, ["test_size", "None"], {"test_size": None}),
    "random_state": (ArgumentError, ["random_state", "'a'"], {"random_state": "a"}),
    "alpha": (ArgumentError, ["alpha"], {"alpha": 3}),
    "beta": (ArgumentError, ["beta"], {"test": "sign", "beta": "x"}),
    "beta-of-the-sign-test": (ArgumentError, ["beta=0.01", "test='sign'"], {"beta": 0.01}),
    "test": (ArgumentError, ["test", "'median'", "'permutation'"], {"test": "median"}),
    "max_order": (ArgumentError, ["max_order"], {"max_order": 0}),
    "correction": (ArgumentError, ["correction"], {"correction": "x"}),
    "reference": (ArgumentError, ["reference"], {"reference": "max"}),
    "partners": (ArgumentError, ["partners"], {"partners": "x"}),
    "n_partners": (ArgumentError, ["n_partners"], {"n_partners": 0}),
    "groups-unknown": (ArgumentError, ["groups['g']", "'z'"], {"groups": {"g": ["z"]}}),
    "groups-list": (ArgumentError, ["groups", "list"], {"groups": [["x0"]]}),
    "strict": (ArgumentError, ["strict"], {"strict": "no"}),
    "n_jobs": (ArgumentError, ["n_jobs"], {"n_jobs": 0}),
    "loss": (ArgumentError, ["loss"], {"loss": "mse"}),
    "y-none": (DataError, ["y"], {"y": None}),
    "y-short": (DataError, ["y has 5"], {"y": Y[:5]}),
    "y-long": (DataError, [f"y has {2 * N}"], {"y": np.r_[Y, Y]}),
    "y-name": (ArgumentError, ["y", "'c'"], {"X": FRAME, "y": "c"}),
    "y-nan": (ModelError, ["NaN"], {"y": Y * np.nan}),
    "X-none": (DataError, ["X", "NoneType"], {"X": None}),
    "X-1d": (ModelError, ["1D"], {"X": X[:, 0]}),
    "X-no-rows": (DataError, ["0 rows"], {"X": X[:0], "y": Y[:0]}),
    "X-one-row": (DataError, ["1 rows"], {"X": X[:1], "y": Y[:1]}),
    "X-nan": (ModelError, ["NaN"], {"X": X * np.nan}),
}


@pytest.mark.parametrize(("error", "words", "changes"), BAD.values(), ids=BAD)
def test_bad_input(error, words, changes):
    """Each fault is one error of the tree that names what is wrong."""
    settings = {"estimator": LinearRegression(), "random_state": 0, **changes}
    rows, y = settings.pop("X", X), settings.pop("y", Y)
    selector = SFITSelector(**settings)
    with pytest.raises(SFITError) as caught:
        selector.fit(rows, y)
    assert type(caught.value) is error, repr(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_lazy_frames_are_refused():
    """Rows must be in memory."""
    with pytest.raises(DataError, match="LazyFrame"):
        SFITSelector(LinearRegression()).fit(as_polars(FRAME).lazy(), Y)
