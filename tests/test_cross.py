"""cross_significance: forward chaining, against a slow loop, and what must not change its result."""

import json
import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import chain as slow
from reference import permutation
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sfit
from sfit._permutations import Rematchings
from sfit.exceptions import ArgumentError, CheckpointError, DataError, ModelError, SFITError

RNG = np.random.default_rng(8)
N = 60
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=N)
CLASS = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
FEW = sfit.PermutationTest(n_permutations=99)


def order_of(seed, n=N):
    """The random order of the rows that the library draws."""
    return np.random.default_rng([seed, 3]).permutation(n).tolist()


def uniform_of(seed, fold):
    """The number that breaks ties, of all features."""
    return 1 - np.random.default_rng([seed, 3, fold, 1]).random()


def arrangements_of(seed, fold, n, size):
    """The re-matchings of a fold, as the slow test writes them."""
    own = int(np.random.default_rng([seed, 3, fold]).integers(2**63))
    met = np.concatenate(list(Rematchings(n, size, True, (own, 0, 0)).outcomes()))
    return [np.argsort(one).tolist() for one in met]


def assert_permutation(result, estimator, y, folds, seed, columns, scores):
    """All folds and the combination, by the slow test."""
    size = 100
    for test in result.tests:
        [name] = test.term
        tested = slow.predictions(estimator, X, y, folds, columns[name])
        p_values = []
        for fold, (outcomes, g) in enumerate(tested, start=2):
            ways = arrangements_of(seed, fold, len(outcomes), size)
            u = uniform_of(seed, fold)
            p_values.append(slow.fold_p(outcomes, g, ways, u, scores))
        own = result.folds[[term == (name,) for term in result.folds["term"]]]
        assert own["p_value"].tolist() == p_values
        sizes = [len(outcomes) for outcomes, _ in tested]
        assert own["n"].tolist() == sizes
        assert own["n_train"].tolist() == [sum(map(len, folds[:k])) for k in range(1, len(folds))]
        combined = slow.stouffer(p_values, sizes)
        combined = 1.0 if all(slow.is_ignored(g) for _, g in tested) else combined
        assert test.p_value == pytest.approx(combined, rel=1e-9)
        assert test.n == sum(sizes)
        loss = result.settings.loss
        matrices = [permutation.loss_matrix(loss, *one) for one in tested]
        assert test.rise == pytest.approx(permutation.rise(matrices), rel=1e-9, abs=1e-12)
        if combined == 1.0:
            continue  # nothing varies: the library gives no interval
        half = stats.t.isf(0.025, test.n - len(sizes)) * permutation.rise_se(matrices)
        assert test.ci_high - test.rise == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize(
    ("estimator", "n_folds", "seed"),
    [
        (LinearRegression(), 4, 0),
        (DecisionTreeRegressor(max_depth=2, random_state=0), 3, 1),
        (make_pipeline(StandardScaler(), Ridge()), 2, 2),
        (RandomForestRegressor(5, random_state=0), 3, 3),
    ],
    ids=["linear", "tree", "pipeline", "forest"],
)
def test_regression_equals_a_slow_loop(estimator, n_folds, seed):
    """Folds, fits, averages, re-matchings, ties, p-values, their combination, rise and interval."""
    result = sfit.cross_significance(estimator, X, Y, n_folds=n_folds, test=FEW, random_state=seed)
    folds = slow.folds_of(order_of(seed), n_folds)
    columns = {"x0": [0], "x1": [1], "x2": [2]}
    assert_permutation(result, estimator, Y, folds, seed, columns, permutation.regression_scores)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (LogisticRegression(), CLASS),
        (LogisticRegression(), THREE),
        (DecisionTreeClassifier(max_depth=2, random_state=0), CLASS),
    ],
    ids=["two", "three", "tree"],
)
def test_classification_equals_a_slow_loop(estimator, y):
    """The same with equal shares of each class in every fold."""
    result = sfit.cross_significance(estimator, X, y, n_folds=3, test=FEW, random_state=4)
    folds = slow.folds_of(order_of(4), 3, y.tolist())
    columns = {"x0": [0], "x1": [1], "x2": [2]}
    assert_permutation(result, estimator, y, folds, 4, columns, permutation.classification_scores)


def test_groups_equal_a_slow_loop():
    """The columns of a group are revealed together."""
    result = sfit.cross_significance(
        LinearRegression(), X, Y, n_folds=3, test=FEW, groups={"g": ["x0", 2]}, random_state=5
    )
    assert result.feature_names == ("g", "x1")
    folds = slow.folds_of(order_of(5), 3)
    columns = {"g": [0, 2], "x1": [1]}
    assert_permutation(
        result, LinearRegression(), Y, folds, 5, columns, permutation.regression_scores
    )


@pytest.mark.parametrize(
    ("estimator", "y", "loss", "beta"),
    [
        (LinearRegression(), Y, "absolute_error", 0.0),
        (LinearRegression(), Y, "squared_error", 0.01),
        (DecisionTreeRegressor(max_depth=2, random_state=0), Y, "absolute_error", 0.05),
        (LogisticRegression(), CLASS, "log_loss", 0.01),
    ],
    ids=["linear", "squared", "tree", "classes"],
)
def test_the_sign_test_equals_a_slow_loop(estimator, y, loss, beta):
    """Counts, median and interval are those of the differences of all folds."""
    result = sfit.cross_significance(
        estimator, X, y, n_folds=3, test="sign", loss=loss, beta=beta, random_state=6
    )
    folds = slow.folds_of(order_of(6), 3)
    bases = slow.predictions(estimator, X, y, folds, [])
    for column, test in enumerate(result.tests):
        tested = slow.predictions(estimator, X, y, folds, [column])
        expected = slow.sign_test(tested, bases, loss, beta, 0.05)
        assert {name: getattr(test, name) for name in ("n", "n_positive")} == {
            name: expected[name] for name in ("n", "n_positive")
        }
        for name in ("p_value", "statistic", "ci_low", "ci_high"):
            assert getattr(test, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name
        own = result.folds[[term == test.term for term in result.folds["term"]]]
        assert own["n_positive"].sum() == test.n_positive


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_rows_that_do_not_move_are_dropped(n_folds):
    """A tree ignores features; only rows that move count, and beta_max bounds significance."""
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    options = {"test": sfit.SignTest(ties="drop"), "n_folds": n_folds, "random_state": 1}
    strong = 3 * np.sign(X[:, 0]) + 0.1 * Y
    result = sfit.cross_significance(tree, X, strong, **options)
    assert any(test.n < result.settings.n_rows for test in result.tests)
    [first, *_] = result.tests
    assert first.significant
    for share, expected in [(0.999, True), (1.001, False)]:
        beta = share * first.beta_max
        again = sfit.cross_significance(tree, X, strong, **options, beta=beta)
        assert again.tests[0].significant == expected


@settings(max_examples=15)
@given(st.permutations(["a", "b", "c"]), st.integers(0, 3))
def test_the_order_of_the_features_does_not_matter(names, seed):
    """Neither uniform numbers nor re-matchings depend on a feature."""
    options = {"n_folds": 3, "test": FEW, "random_state": seed}
    one = sfit.cross_significance(Ridge(), FRAME, Y, **options)
    other = sfit.cross_significance(Ridge(), FRAME[names], Y, **options)
    by_name = {test.term: test for test in other.tests}
    for test in one.tests:
        assert by_name[test.term].p_value == test.p_value
        assert by_name[test.term].rise == pytest.approx(test.rise, abs=1e-12)


@pytest.mark.parametrize("test", [FEW, "sign"])
def test_workers_change_nothing(test):
    """Models fitted side by side give the same bytes."""
    options = {"test": test, "random_state": 0}
    tree = DecisionTreeRegressor(random_state=0)
    one = sfit.cross_significance(tree, X, Y, **options)
    for n_jobs in (2, -1):
        assert sfit.cross_significance(tree, X, Y, **options, n_jobs=n_jobs) == one


def test_rows_of_any_kind_give_the_same_result():
    """Arrays, sparse matrices, frames with any names."""
    options = {"test": FEW, "random_state": 0}
    one = sfit.cross_significance(Ridge(solver="lsqr"), X, Y, **options)
    for rows in (sp.csr_matrix(X), FRAME, FRAME.rename(columns={"a": "b", "b": "a"})):
        other = sfit.cross_significance(Ridge(solver="lsqr"), rows, Y, **options)
        assert [t.p_value for t in other.tests] == [t.p_value for t in one.tests]


def test_uniform_numbers():
    """Neither 0 nor the draw that seeds the fold's permutations, and another in each fold."""
    from sfit._folds import fold_seed, uniform

    drawn = [uniform(seed, fold) for seed in range(20) for fold in range(2, 12)]
    assert all(0 < u <= 1 for u in drawn)
    assert len(set(drawn)) == len(drawn)
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert abs(uniform(0, 2) - (1 - fold_seed(0, 2) / 2**63)) > 1e-6


def test_features_choose_the_columns():
    """By name or number; the others are not fitted on."""
    options = {"test": FEW, "random_state": 0}
    result = sfit.cross_significance(Ridge(), X, Y, features=[0, 2], **options)
    assert result.feature_names == ("x0", "x2")
    named = sfit.cross_significance(Ridge(), FRAME, Y, features=["a", "c"], **options)
    assert named.feature_names == ("a", "c")
    assert named.tests[0].rise == pytest.approx(result.tests[0].rise)


def test_text_and_categories():
    """A Pipeline is tested on its original columns."""
    frame = FRAME.assign(kind=np.where(X[:, 1] > 0, "up", "down"))
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    result = sfit.cross_significance(
        make_pipeline(encode, Ridge()), frame, Y, test=FEW, random_state=0
    )
    assert result.feature_names == ("a", "b", "c", "kind")
    assert result.selected[0] == "a"


def test_lightgbm():
    """Any library with scikit-learn's interface."""
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=5, verbose=-1, n_jobs=1)
    result = sfit.cross_significance(booster, FRAME, CLASS, n_folds=3, random_state=0)
    assert "a" in result.selected


def test_the_estimator_and_the_global_random_state_are_untouched():
    """Only clones are fitted."""
    tree = DecisionTreeRegressor(random_state=0)
    before = dict(vars(tree))
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    sfit.cross_significance(tree, X, Y, test=FEW)
    assert dict(vars(tree)) == before
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_a_seed_is_drawn_and_recorded():
    """Repeated with the recorded seed, the result is the same."""
    one = sfit.cross_significance(Ridge(), X, Y, test=FEW)
    assert sfit.cross_significance(Ridge(), X, Y, test=FEW, random_state=one.settings.seed) == one


def test_every_row_is_in_one_fold():
    """Unshuffled folds are runs of rows, and only the rows before a fold are fitted on."""

    seen = []

    class Spy(LinearRegression):
        def fit(self, X, y):
            seen.append(np.asarray(X)[:, 0].tolist())
            return super().fit(X, y)

    numbered = np.column_stack([np.arange(23.0), RNG.normal(size=23)])
    sfit.cross_significance(
        Spy(), numbered, RNG.normal(size=23), shuffle=False, n_folds=4, test=FEW
    )
    assert seen == [list(range(6)), list(range(12)), list(range(18))]


@pytest.mark.parametrize("seed", range(5))
def test_classes_have_equal_shares(seed):
    """No fold has two rows more of a class than another; sizes too."""
    from sfit._folds import cut

    labels = np.random.default_rng(seed).choice(["a", "b", "c"], 47, p=[0.6, 0.3, 0.1])
    folds = cut(47, 5, seed, labels)
    assert sorted(np.concatenate(folds).tolist()) == list(range(47))
    for label in "abc":
        counts = [int((labels[fold] == label).sum()) for fold in folds]
        assert max(counts) - min(counts) <= 1
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_the_folds_of_the_sign_test_do_not_see_the_outcome():
    """Only the permutation test is exact given all outcomes."""

    shares = set()

    class Spy(LogisticRegression):
        def fit(self, X, y):
            shares.add(float(np.mean(y)))
            return super().fit(X, y)

    for seed in range(6):
        sfit.cross_significance(Spy(), X, CLASS, n_folds=2, test="sign", random_state=seed)
    assert len(shares) > 1


class Constant(RegressorMixin, BaseEstimator):
    """Ignores all columns."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_feature_that_all_models_ignore():
    """Its p-value is 1, not a combination of coins."""
    for seed in range(10):
        result = sfit.cross_significance(Constant(), X, Y, test=FEW, random_state=seed)
        for test in result.tests:
            assert (test.p_value, test.rise) == (1.0, 0.0)
            assert np.isnan(test.z)


def test_what_the_result_says():
    """Settings, summary, table, folds, JSON, another level."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    result = sfit.cross_significance(Ridge(), FRAME, Y, random_state=0, correction="holm")
    assert result.settings.n_folds == 5
    assert result.settings.n_rows == N - N // 5
    assert result.settings.averaged
    summary = result.summary()
    assert "forward chaining" in summary
    assert "5, the first only fitted on" in summary
    assert "Smallest p" not in summary
    assert sfit.SFITResult.from_json(result.to_json()) == result
    assert len(result.folds) == 4 * 3
    assert result.folds.columns[:2].tolist() == ["fold", "term"]
    assert result.at(alpha=0.01).settings.n_folds == 5
    page = result.to_markdown()
    assert "at least one of the models" in page
    assert "Stouffer" in page
    assert "resolution" not in page
    document = json.loads(result.to_json())
    assert {one["fold"] for one in document["result"]["fold_tests"]} == {2, 3, 4, 5}
    sign = sfit.cross_significance(Ridge(), FRAME, Y, random_state=0, test="sign")
    assert "counted together" in sign.to_markdown()
    assert sfit.SFITResult.from_json(sign.to_json()) == sign


def test_other_results_have_no_folds():
    """The table is empty, and JSON does not mention folds' tests."""
    model = Ridge().fit(X, Y)
    result = sfit.feature_significance(model, X, Y)
    assert result.folds.empty
    assert "fold_tests" not in result.to_json()


def test_corrections():
    """Decisions follow the adjusted p-values."""
    plain = sfit.cross_significance(Ridge(), X, Y, random_state=0)
    holm = sfit.cross_significance(Ridge(), X, Y, random_state=0, correction="holm")
    assert plain.at(correction="holm") == holm


@pytest.mark.parametrize("reference", ["mean", 0, 0.5])
def test_references(reference):
    """Frozen at the means of the rows before the fold, or at a number."""
    result = sfit.cross_significance(Ridge(), X, Y, reference=reference, random_state=0, test=FEW)
    assert not result.settings.averaged
    assert result.settings.reference_origin == "given"
    assert result.selected[0] == "x0"


# --- checkpoints ----------------------------------------------------------------------------------


class Stops(DecisionTreeRegressor):
    """Fails at its n-th fit, as a machine may."""

    fits = 0
    last = 10**9

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits > type(self).last:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.mark.parametrize("test", [FEW, "sign", sfit.SignTest(ties="drop")])
@pytest.mark.parametrize("seed", [3, None])
def test_an_interrupted_run_resumes(tmp_path, test, seed):
    """Finished folds are not fitted again, and the result has the same bytes."""
    path = tmp_path / "run.sqlite"
    options = {"test": test, "random_state": seed, "checkpoint": path, "checkpoint_key": "k"}
    estimator = Stops(max_depth=3, random_state=0)
    Stops.fits, Stops.last = 0, 2
    with pytest.raises(KeyboardInterrupt):
        sfit.cross_significance(estimator, X, Y, **options)
    Stops.fits, Stops.last = 0, 10**9
    resumed = sfit.cross_significance(estimator, X, Y, **options)
    assert Stops.fits == 2
    again = sfit.cross_significance(estimator, X, Y, **options)
    assert Stops.fits == 2
    options = {"test": test, "random_state": resumed.settings.seed}
    whole = sfit.cross_significance(
        DecisionTreeRegressor(max_depth=3, random_state=0), X, Y, **options
    )
    contents = {json.dumps(json.loads(one.to_json())["result"]) for one in (resumed, again, whole)}
    assert len(contents) == 1


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    """Other rows, another estimator, other options."""
    path = tmp_path / "run.sqlite"
    options = {"test": FEW, "random_state": 0, "checkpoint": path}
    sfit.cross_significance(Ridge(), X, Y, **options)
    for estimator, rows, changed in [
        (Ridge(2.0), X, {}),
        (Ridge(), X + 1, {}),
        (Ridge(), X, {"n_folds": 4}),
        (Ridge(), X, {"random_state": 1}),
        (Ridge(), X, {"groups": {"g": [0, 1]}}),
        (Ridge(), X, {"reference": "mean"}),
        (Ridge(), X, {"shuffle": False}),
        (Ridge(), X, {"test": "sign"}),
    ]:
        with pytest.raises(CheckpointError, match="another run"):
            sfit.cross_significance(estimator, rows, Y, **{**options, **changed})


def test_a_damaged_checkpoint_is_refused(tmp_path):
    """A changed byte is noticed."""
    path = tmp_path / "run.sqlite"
    options = {"test": FEW, "random_state": 0, "checkpoint": path}
    sfit.cross_significance(Ridge(), X, Y, **options)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE finished SET data = substr(data, 1, length(data) - 1) WHERE tile = 3")
    file.close()
    with pytest.raises(CheckpointError, match="damaged"):
        sfit.cross_significance(Ridge(), X, Y, **options)


def test_progress_counts_models(capsys):
    """One step per model."""
    sfit.cross_significance(Ridge(), X, Y, test=FEW, progress=True)
    assert "4/4" in capsys.readouterr().err


# --- bad input ------------------------------------------------------------------------------------


class Silent(Ridge):
    """Refuses to be fitted: arguments are checked first."""

    def fit(self, X, y):
        raise AssertionError("fitted before the arguments were checked")


BAD = [
    ({"n_folds": 1}, ArgumentError, "n_folds must be at least 2"),
    ({"n_folds": 0}, ArgumentError, "n_folds must be a whole number"),
    ({"n_folds": 2.5}, ArgumentError, "n_folds must be a whole number"),
    ({"n_folds": 31}, DataError, "n_folds=31 needs at least 62 rows.*n_samples=60.*fewer folds"),
    ({"shuffle": 1}, ArgumentError, "shuffle must be True or False"),
    ({"test": "bootstrap"}, ArgumentError, "test must be 'sign', 'permutation'"),
    ({"beta": 0.01}, ArgumentError, "beta=0.01 belongs to the sign test"),
    ({"test": "sign", "beta": "auto"}, ArgumentError, "beta='auto'.*Pass a number"),
    ({"test": "sign", "beta": [0.1]}, ArgumentError, "beta must lie between 0 and 1"),
    ({"test": "sign", "beta": 2}, ArgumentError, "beta must lie between 0 and 1"),
    ({"test": sfit.SignTest(validation=(X, Y))}, ArgumentError, "validation is used only"),
    ({"test": sfit.SignTest(random_model=len)}, ArgumentError, "random_model is used only"),
    ({"reference": "median"}, ArgumentError, "reference must be 'average' or 'mean'.*'median'"),
    ({"reference": X}, ArgumentError, "reference must be 'average' or 'mean'"),
    ({"reference": np.nan}, ArgumentError, "reference must be 'average' or 'mean'"),
    ({"loss": "log_loss"}, ArgumentError, "loss='log_loss' is for classification"),
    ({"loss": "pinned"}, ArgumentError, "loss must be one of"),
    ({"alpha": 0}, ArgumentError, "alpha must lie strictly between"),
    ({"correction": "sidak"}, ArgumentError, "correction must be one of"),
    ({"groups": {"g": ["z"]}}, ArgumentError, r"groups\['g'\] names 'z'"),
    ({"features": ["z"]}, ArgumentError, "features names 'z'"),
    ({"n_jobs": 0}, ArgumentError, "n_jobs"),
    ({"progress": 1}, ArgumentError, "progress must be True or False"),
    ({"random_state": -1}, ArgumentError, "random_state"),
    ({"y": Y[:-1]}, DataError, "y and X must have the same number of rows"),
    ({"X": X[:0], "y": Y[:0]}, DataError, "X must have rows and columns"),
    ({"X": "rows.parquet"}, SFITError, "rows.parquet"),
    ({"estimator": Ridge}, ArgumentError, "estimator must be an instance"),
    ({"estimator": len}, ArgumentError, "estimator must be an instance"),
    ({"y": np.where(np.arange(N) == 33, np.nan, Y)}, DataError, "y is missing.*first is row 33"),
    ({"y": Y, "loss": "poisson"}, DataError, "y"),
    ({"checkpoint": 3}, ArgumentError, "checkpoint must be the path"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_refused_before_anything_is_fitted(bad, error, message):
    """Each error names the argument and the remedy."""
    call = {"estimator": Silent(), "X": X, "y": Y, **bad}
    with pytest.raises(error, match=message):
        sfit.cross_significance(**call)


def test_rows_in_files_are_refused(tmp_path):
    """Models are fitted on rows in memory."""
    pytest.importorskip("pyarrow")
    FRAME.assign(y=Y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        ArgumentError, match=r"X must hold the rows in memory.*feature_significance"
    ):
        sfit.cross_significance(Silent(), tmp_path / "rows.parquet", "y")


class Uninterested(LogisticRegression):
    """Fails at once if it is fitted."""

    def fit(self, X, y):
        raise RuntimeError("fitted")


def test_a_class_that_the_first_model_cannot_know():
    """The error names the class and the remedies."""
    rare = np.where(np.arange(N) == 3, "rare", np.where(CLASS, "yes", "no"))
    message = "no row of class 'rare': use fewer folds, or merge rare classes"
    refused = {}
    for test in ("permutation", "sign"):
        texts = []
        for seed in range(20):
            try:
                sfit.cross_significance(Uninterested(), X, rare, test=test, random_state=seed)
            except DataError as error:
                texts.append(str(error))
            except ModelError:
                pass  # the class was in the first fold
        refused[test] = texts
        assert texts
        assert all(message in text for text in texts)
    assert not any("shuffle=True" in text for text in refused["permutation"])
    assert all("test='permutation' and shuffle=True" in text for text in refused["sign"])


WORDS = np.where(CLASS, "yes", "no").astype(object)
AT_33 = np.arange(N) == 33


@pytest.mark.parametrize("test", ["permutation", "sign"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(AT_33, None, WORDS), "^y is missing at 1 .*row 33"),
        (np.where(AT_33, np.nan, CLASS), "^y is missing at 1 .*row 33"),
        (pd.Series(np.where(AT_33, None, WORDS)), "^y is missing at 1 .*row 33"),
        (np.where(AT_33, 1, WORDS), "^y must hold labels of one type"),
        (np.column_stack([CLASS, CLASS]), "^y must hold one label per row"),
    ],
    ids=["None", "NaN", "series", "mixed", "two columns"],
)
def test_bad_labels_are_refused_before_anything_is_fitted(y, message, test):
    """The error is about y, not about a fold or a fit."""
    with pytest.raises(DataError, match=message):
        sfit.cross_significance(Uninterested(), X, y, test=test)


def test_two_folds_cannot_be_fewer():
    """The remedy is then more rows."""
    with pytest.raises(DataError, match=r"n_folds=2 needs at least 4 rows.*n_samples=3: use more"):
        sfit.cross_significance(Silent(), X[:3], Y[:3], n_folds=2)
    with pytest.raises(ModelError, match=r"rows before fold 2.*too few, use more rows"):
        sfit.cross_significance(Uninterested(), X, CLASS, n_folds=2)
    rare = np.where(np.arange(N) == N - 1, "rare", WORDS.astype(str))
    with pytest.raises(DataError, match=r"'rare': use more rows, or merge"):
        sfit.cross_significance(Uninterested(), X, rare, n_folds=2, shuffle=False)


def test_a_failing_fit_names_the_fold():
    """Few rows may be too few for the estimator."""

    class Fussy(Ridge):
        def fit(self, X, y):
            if len(X) < 20:
                raise ValueError("at least 20 rows, please")
            return super().fit(X, y)

    with pytest.raises(
        ModelError, match=r"could not be fitted on the 12 rows before fold 2.*fewer"
    ):
        sfit.cross_significance(Fussy(), X, Y, test=FEW)


def test_an_error_about_a_row_says_that_it_counts_within_the_fold():
    """A loss that fails is found in the fold."""

    def fails(y, prediction):
        return np.full(len(y), np.nan)

    with pytest.raises(DataError, match=r"fold 2, whose rows are numbered from 0: loss 'fails'"):
        sfit.cross_significance(Ridge(), X, Y, loss=fails)


def test_randomised_p_values_have_no_lower_bound():
    """Two tested rows have two permutations, but p can be below 1/2 and below alpha."""
    options = {"n_folds": 2, "test": FEW, "correction": "holm"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [
            sfit.cross_significance(Ridge(), X[:4], Y[:4], **options, random_state=seed)
            for seed in range(60)
        ]
    for result in results:
        assert not any("too few permutations" in text for text in result.caveats)
        assert not any("no p-value" in text for text in result.caveats)
        assert not any("no p-value" in text for text in result.at(alpha=1e-6).caveats)
        assert {test.p_resolution for test in result.tests} == {0.0}
        assert sfit.SFITResult.from_json(result.to_json()) == result
    assert min(test.p_value for result in results for test in result.tests) < 0.05


def test_too_few_rows_for_the_sign_test_are_told():
    """Its p-values are not randomised."""
    with pytest.warns(UserWarning, match="2 rows are too few"):
        result = sfit.cross_significance(Ridge(), X[:4], Y[:4], n_folds=2, test="sign")
    assert any("2 rows are too few" in text for text in result.caveats)


# --- size and power -------------------------------------------------------------------------------


def test_size_and_power():
    """Least squares with 20 columns and 100 rows: noise is rejected at the level, x0 often.

    STATISTICS.md has size .049 and power .61. The tolerances are those of this many repetitions.
    """
    repetitions, p_values = 40, []
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, 100])
        rows = rng.normal(size=(100, 20))
        y = 0.3 * rows[:, 0] + rng.normal(size=100)
        result = sfit.cross_significance(LinearRegression(), rows, y, random_state=seed)
        p_values.append([test.p_value for test in result.tests])
    rejected = np.array(p_values) < 0.05
    n = 19 * repetitions
    assert abs(rejected[:, 1:].mean() - 0.05) <= 3 * np.sqrt(0.0475 / n)
    assert abs(rejected[:, 0].mean() - 0.61) <= 3 * np.sqrt(0.61 * 0.39 / repetitions)
    # Not only at the level: the p-values of noise are uniform.
    assert stats.kstest(np.ravel(np.array(p_values)[:, 1:]), "uniform").pvalue > 1e-3


def _rounded(rng, n):
    """Ties in the columns, and skewed outcomes."""
    return np.round(rng.normal(size=(n, 3))), rng.exponential(size=n)


def _rare(rng, n):
    """Rare dummies, and outcomes with heavy tails."""
    return (rng.random((n, 3)) < 0.1).astype(float), rng.standard_cauchy(size=n)


def _events(rng, n):
    """One row in five is an event."""
    return rng.normal(size=(n, 3)), (rng.random(n) < 0.2).astype(int)


@pytest.mark.long
@pytest.mark.parametrize(
    ("estimator", "draw"),
    [
        (KNeighborsRegressor(1), _rounded),
        (DecisionTreeRegressor(random_state=0), _rare),
        (DecisionTreeClassifier(max_depth=3, random_state=0), _events),
    ],
    ids=["nearest row", "grown tree", "rare events"],
)
def test_size_on_nasty_nulls(estimator, draw):
    """Over-fitted models, ties, rare values and skewed outcomes: never above the level."""
    repetitions, rejected = 300, []
    for seed in range(repetitions):
        rows, y = draw(np.random.default_rng([seed, 60]), 60)
        result = sfit.cross_significance(estimator, rows, y, test=FEW, random_state=seed)
        rejected += [test.significant for test in result.tests]
    # The three columns share their outcomes: count them as if they were one.
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.0475 / repetitions)


@pytest.mark.long
@pytest.mark.parametrize(
    ("estimator", "effect", "power"),
    [
        (DecisionTreeRegressor(max_depth=3, random_state=0), 0.5, 0.88),
        (
            make_pipeline(
                KBinsDiscretizer(5, encode="onehot-dense", subsample=None), LinearRegression()
            ),
            0.45,
            0.80,
        ),
    ],
    ids=["tree", "regressogram"],
)
def test_power(estimator, effect, power):
    """The order of what STATISTICS.md states, at 100 rows."""
    repetitions, found = 200, 0
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, 101])
        rows = rng.normal(size=(100, 2))
        y = effect * rows[:, 0] + rng.normal(size=100)
        result = sfit.cross_significance(estimator, rows, y, random_state=seed)
        found += result.tests[0].significant
    assert found / repetitions >= power - 0.06 - 3 * np.sqrt(power * (1 - power) / repetitions)
