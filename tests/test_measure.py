"""Workers of any number and kind give the same bits; nothing is modified, nothing asked twice."""

import json
import os
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits
from tiles import set_tiles

import sfit
from sfit._measure import rounds
from sfit.exceptions import DataError, ModelError


def result_bytes(result):
    """The part of the JSON that must be equal to the byte."""
    return json.dumps(json.loads(result.to_json())["result"]).encode()


def assert_identical(*results):
    for other in results[1:]:
        assert other == results[0]
        assert result_bytes(other) == result_bytes(results[0])


@pytest.fixture(scope="module")
def rows():
    """Rows of a binary classification, for models of three families."""
    return make_classification(
        n_samples=2_000, n_features=6, n_informative=4, n_redundant=0, random_state=0
    )


MODELS = {
    "network": MLPClassifier(hidden_layer_sizes=(16,), max_iter=2_000, tol=1e-2, random_state=0),
    "forest": RandomForestClassifier(n_estimators=20, max_depth=5, random_state=0),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("by", [None, "class"])
def test_threads_give_the_bits_of_one_worker(rows, name, by, monkeypatch):
    """Two threads, four, and one; in tiles of 300 rows, to order 2."""
    X, y = rows
    model = MODELS[name].fit(X, y)
    set_tiles(monkeypatch, 300)
    options = {"max_order": 2, "beta": 0.001, "by": by, "exhaustive": True}
    assert_identical(
        *(sfit.feature_significance(model, X, y, n_jobs=n_jobs, **options) for n_jobs in (1, 2, 4))
    )


@pytest.mark.parametrize("name", MODELS)
def test_processes_give_the_bits_of_one_worker(rows, name):
    """loky workers through joblib's own configuration."""
    X, y = rows
    model = MODELS[name].fit(X, y)
    with threadpool_limits(1):
        here = sfit.feature_significance(model, X, y, max_order=2, beta=0.001, n_jobs=1)
        with joblib.parallel_config(backend="loky", n_jobs=2):
            there = sfit.feature_significance(model, X, y, max_order=2, beta=0.001)
    assert_identical(here, there)


def test_processes_and_several_tiles(tmp_path):
    """More rows than a tile holds, in processes that are really others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140_000, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X))

    def model(z):
        (tmp_path / str(os.getpid())).touch()
        return z[:, 0] + z[:, 1] * z[:, 2]

    options = {"max_order": 2, "reference": 0.0}
    here = sfit.feature_significance(model, X, y, n_jobs=1, **options)
    assert [file.name for file in tmp_path.iterdir()] == [str(os.getpid())]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = sfit.feature_significance(model, X, y, **options)
    assert_identical(here, there)
    assert len(list(tmp_path.iterdir())) > 1


def test_a_forest_that_sums_in_threads_gives_the_same_bits():
    """With n_jobs of its own a forest adds its trees in any order: it is asked with one thread."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=3_000)
    forest = RandomForestRegressor(n_estimators=60, max_depth=6, n_jobs=4, random_state=0).fit(X, y)
    alone = RandomForestRegressor(n_estimators=60, max_depth=6, random_state=0).fit(X, y)
    expected = sfit.feature_significance(alone, X, y, max_order=2)
    assert_identical(
        expected, *(sfit.feature_significance(forest, X, y, max_order=2) for _ in range(4))
    )
    assert forest.n_jobs == 4


# -------------------------------------------------------------------------------- nothing modified


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def test_read_only_rows_and_models_stay_as_they_are(rows):
    """Arrays that cannot be written to are enough; the model is the same afterwards."""
    X, y = read_only(rows[0]), read_only(rows[1])
    for model in MODELS.values():
        model.fit(X, y)
        before = joblib.hash(model), joblib.hash(X), joblib.hash(y)
        sfit.feature_significance(model, X, y, max_order=2, by="class", reference=X)
        sfit.feature_significance(model, read_only(X[::2].astype(np.float32)), y[::2])
        sfit.feature_significance(model, np.asfortranarray(X), y, given="rest")
        assert (joblib.hash(model), joblib.hash(X), joblib.hash(y)) == before


def test_choosing_beta_leaves_the_model_alone(rows):
    """Random models are copies: weights and leaves of the fitted one do not move."""
    X, y = rows
    for name in ("network", "logistic"):
        model = MODELS[name].fit(X, y)
        before = joblib.hash(model)
        sfit.choose_beta(model, X, y, n_models=3, max_beta=1.0, random_state=0)
        assert joblib.hash(model) == before


def test_a_model_that_writes_to_its_array_changes_nothing(rows, monkeypatch):
    """It gets rows of its own every time: same result as the well-behaved one, X untouched."""
    X, y = rows[0].copy(), rows[1].astype(float)
    before = X.copy()
    set_tiles(monkeypatch, 700)

    def polite(z):
        return 1 / (1 + np.exp(-z[:, 0] * z[:, 1]))

    def rude(z):
        answer = polite(z)
        z[:] = np.nan
        return answer

    options = {"max_order": 2, "beta": 0.0, "exhaustive": True}
    expected = sfit.feature_significance(polite, X, y, **options)
    assert_identical(expected, sfit.feature_significance(rude, X, y, **options))
    np.testing.assert_array_equal(X, before)


def test_a_model_that_writes_to_its_frame_changes_nothing():
    """Assigning to columns, in pandas's own ways, reaches neither X nor later calls."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(3_000, 3)), columns=list("abc"))
    before, y = X.copy(), X["a"].to_numpy() + rng.normal(size=3_000)

    def polite(z):
        return z["a"].to_numpy() * 2 + z["b"].to_numpy()

    def rude(z):
        answer = polite(z).copy()
        z.loc[:, "b"] = 7.0
        z["a"] = 0.0
        z.iloc[:, 2] = np.nan
        return answer

    options = {"max_order": 2, "beta": 0.0, "exhaustive": True}
    expected = sfit.feature_significance(polite, X, y, **options)
    assert_identical(expected, sfit.feature_significance(rude, X, y, **options))
    pd.testing.assert_frame_equal(X, before)


def test_a_model_that_answers_in_one_buffer_is_understood():
    """Predictions that the next call overwrites must not be the ones that are kept."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3_000, 3))
    y = X[:, 0] + rng.normal(size=3_000)
    buffer = np.empty(20_000)

    def fresh(z):
        return 2 * z[:, 0] + z[:, 1]

    def reused(z):
        buffer[: len(z)] = fresh(z)
        return buffer[: len(z)]

    options = {"max_order": 2, "exhaustive": True}
    assert_identical(
        sfit.feature_significance(fresh, X, y, **options),
        sfit.feature_significance(reused, X, y, **options),
    )


# -------------------------------------------------------------------------------- how often asked


def test_each_side_is_predicted_once():
    """At orders 1 and 2, exhaustive: every distinct set of shown columns has one call over n."""
    rng = np.random.default_rng(4)
    n = 5_000
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    calls = Counter()

    def counted(z):
        if len(z) == n:
            calls[tuple(np.flatnonzero((z != z[0]).any(axis=0)).tolist())] += 1
        return z[:, 0] + z[:, 1] * z[:, 2]

    result = sfit.feature_significance(
        counted, X, y, max_order=2, exhaustive=True, strict=True, n_jobs=1
    )
    shown = {tuple(["x0", "x1", "x2", "x3"].index(name) for name in t.term) for t in result.tests}
    assert set(calls) >= shown
    assert set(calls.values()) == {1}
    # Beside the sets tested only what the gates reveal: all columns, and those found.
    assert len(calls) <= len(shown) + 1 + len(result.gates)


def test_parts_share_their_predictions():
    """Three parts cost as many rows as the whole."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4_000, 3))
    y = X[:, 0] + rng.normal(size=4_000)
    seen = []

    def counted(z):
        seen.append(len(z))
        return z[:, 0] + 0.5 * z[:, 1]

    sfit.feature_significance(counted, X, y)
    whole = sum(seen)
    seen.clear()
    sfit.feature_significance(counted, X, y, by=np.arange(4_000) % 3)
    assert sum(seen) <= whole


def test_a_dummy_costs_two_rows():
    """60,000 rows of a dummy: no call is asked for more than the 64 that measure rounding."""
    rng = np.random.default_rng(6)
    X = (rng.uniform(size=(60_000, 2)) < 0.3).astype(float)
    y = X[:, 0] + rng.normal(size=60_000)
    seen = []

    def counted(z):
        seen.append(len(z))
        return z[:, 0] + z[:, 1]

    result = sfit.feature_significance(counted, X, y, max_order=2)
    assert max(seen) <= 64
    assert sum(seen) < 300
    assert result.tests[0].significant


# -------------------------------------------------------------------------------- what goes wrong


def test_a_late_fault_names_its_row(monkeypatch):
    """A prediction that is not finite, and a loss, far behind the probe: the row's own number."""
    set_tiles(monkeypatch, 1_000)
    X = np.random.default_rng(7).normal(size=(5_000, 2))
    X[4_321, 0] = 99.0
    y = X[:, 0]

    def fails(z):
        return np.where(z[:, 0] == 99.0, np.nan, z[:, 0])

    with pytest.raises(ModelError, match=r"row 4321 is not finite with \('x0',\)"):
        sfit.feature_significance(fails, X, y, reference=0)

    def loss(y, prediction):
        return np.where(y == 99.0, np.inf, np.abs(y - prediction))

    with pytest.raises(DataError, match=r"not finite at 1 row\(s\); the first is row 4321"):
        sfit.feature_significance(lambda z: z[:, 0], X, y, loss=loss, reference=0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_inside_the_model_is_told_with_what_was_asked(n_jobs):
    """ModelError, chained to the model's own exception."""
    X = np.random.default_rng(8).normal(size=(100, 2))

    def broken(z):
        raise RuntimeError("out of order")

    with pytest.raises(ModelError, match="RuntimeError: out of order") as caught:
        sfit.feature_significance(broken, X, X[:, 0], n_jobs=n_jobs)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("order", ["worst rows first", "best rows first"])
def test_rows_in_the_order_of_their_improvement(order, monkeypatch):
    """The first tile brackets wrongly for all others; the answer is that of one tile all the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2))
    y = X[:, 0] + rng.normal(size=12_000)
    improvement = np.abs(y) - np.abs(y - X[:, 0])
    rows = np.argsort(improvement if order == "worst rows first" else -improvement)
    asked = {"reference": 0.0, "beta": 0.01}
    whole = sfit.feature_significance(lambda Z: Z[:, 0], X[rows], y[rows], **asked)
    set_tiles(monkeypatch, 3_000)
    tiled = sfit.feature_significance(lambda Z: Z[:, 0], X[rows], y[rows], **asked)
    assert_identical(whole, tiled)
    assert whole.tests[0].beta_max > 0


@given(st.integers(1, 200), st.integers(1, 40))
def test_rounds_ask_for_every_stretch_once_and_give_all_workers_one_at_first(n, n_workers):
    sizes = []
    asked = []
    for some in rounds(n, n_workers, ordered=False):
        sizes.append(len(some))
        asked += some
    assert sorted(asked) == list(range(n))
    assert sizes[0] == min(n, n_workers)
    assert all(size <= 3 * sum(sizes[:k]) for k, size in enumerate(sizes) if k)
    in_order = [number for some in rounds(n, n_workers, ordered=True) for number in some]
    assert in_order == list(range(n))


@pytest.mark.parametrize("n", [1_000, 1_006])
def test_the_bar_never_passes_its_end(n, capsys):
    """Seven sevenths of these rows are more than all of them: work is counted in whole numbers."""
    X = np.random.default_rng(0).normal(size=(n, 112))
    sfit.feature_significance(lambda rows: rows[:, 0], X, X[:, 0], progress=True)
    shown = capsys.readouterr().err
    assert "100%" in shown and "1.0" in shown.rpartition("100%")[2]
