"""Tabulated functions: exact at their knots, linear between them, and as costly for any rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestRegressor
from tiles import set_tiles

import sfit
from sfit.models._sklearn import SklearnView

FORMS = {
    "array": lambda frame: frame.to_numpy(),
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "sparse": lambda frame: sp.csr_array(frame.to_numpy()),
}


def rows(n, seed=0):
    """A continuous column, one of few values, one with gaps, and an outcome."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wide": rng.normal(size=n),
            "few": rng.integers(0, 5, size=n).astype(float),
            "gaps": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        }
    )
    y = np.sin(2 * frame["wide"]) + frame["few"] + rng.normal(size=n)
    return frame, y.to_numpy()


class Asked:
    """An opaque model that counts the rows it is asked for."""

    def __init__(self, function):
        self.function, self.n = function, 0

    def __call__(self, rows):
        rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        self.n += len(rows)
        return self.function(rows)


def smooth(rows):
    return np.sin(2 * rows[:, 0]) + rows[:, 1] ** 2 + np.nan_to_num(rows[:, 2], nan=3.0)


OPTIONS = {"test": "permutation", "random_state": 0, "reference": 0.0}


def routes(result):
    return [stage["route"] for stage in result.run["stages"]]


@pytest.mark.parametrize("average", [False, True])
def test_the_number_of_predictions_does_not_depend_on_the_number_of_rows(average):
    """64 knots of each column, each with every background row; pairs take 16 x 16."""
    asked = []
    for n in (2_000, 20_000, 200_000):
        X, y = rows(n)
        X["gaps"] = X["gaps"].fillna(0.0)  # pairs with missing values have no table
        model = Asked(smooth)
        reference = sfit.Average(X[:50]) if average else 0.0
        # 99 permutations find nothing at this level, so the same pairs are tested every time.
        few = {"test": sfit.PermutationTest(n_permutations=99), "alpha": 0.001}
        result = sfit.feature_significance(
            model, X, y, max_order=2, **OPTIONS | few | {"reference": reference}
        )
        assert set(routes(result)) == {"table"}
        asked.append(model.n)
    assert len(set(asked)) == 1


@pytest.mark.parametrize("form", FORMS)
def test_few_values_are_exact_in_every_kind_of_table(form):
    """At most 64 distinct values, the missing one among them: the model's own predictions."""
    X, y = rows(500)
    X["wide"] = X["wide"].round(1)
    X["gaps"] = X["gaps"].round(1)
    if form == "sparse":
        X["gaps"] = X["gaps"].fillna(0.0)
    fast, slow = (
        sfit.feature_significance(Asked(smooth), FORMS[form](X), y, fast=fast, **OPTIONS)
        for fast in (True, False)
    )
    assert routes(fast) == ["table"]
    assert routes(slow) == ["direct"]
    np.testing.assert_allclose(
        fast.table[["rise", "ci_low", "z", "p_value", "loss_full"]].to_numpy(dtype=float),
        slow.table[["rise", "ci_low", "z", "p_value", "loss_full"]].to_numpy(dtype=float),
        rtol=1e-9,
    )


def test_a_pair_is_bilinear():
    """A product is bilinear, so its table loses nothing but beyond the outermost knots."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(3_000, 3)), columns=list("abc"))
    y = X["a"] * X["b"] + 0.1 * rng.normal(size=3_000)
    fast, slow = (
        sfit.feature_significance(
            Asked(lambda rows: rows[:, 0] * rows[:, 1]), X, y, max_order=2, fast=fast, **OPTIONS
        )
        for fast in (True, False)
    )
    assert routes(fast) == ["table", "table"]
    pairs = [(one, other) for one, other in zip(fast.tests, slow.tests, strict=True)]
    for one, other in pairs:
        assert one.rise == pytest.approx(other.rise, abs=1e-9)
    assert fast.significant[2] == [("a", "b")]


def test_classes_are_interpolated_to_probabilities():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=3_000), "b": rng.normal(size=3_000)})
    y = (X["a"] + rng.logistic(size=3_000) > 0).astype(int)

    def probabilities(rows):
        p = 1 / (1 + np.exp(-np.asarray(rows)[:, 0] - 0.3 * np.asarray(rows)[:, 1]))
        return np.c_[1 - p, p]

    model = sfit.models.function_model(probabilities, task="classification", classes=[0, 1])
    fast, slow = (
        sfit.feature_significance(model, X, y, fast=fast, **OPTIONS) for fast in (True, False)
    )
    assert fast.selected == slow.selected == ("a",)
    assert fast.tests[0].rise == pytest.approx(slow.tests[0].rise, rel=0.01)


def test_infinite_values_take_the_outermost_prediction():
    X, y = rows(1_000)
    X.loc[3, "wide"] = np.inf
    result = sfit.feature_significance(
        Asked(lambda rows: np.clip(rows[:, 0], -2, 2) + rows[:, 1]), X, y, **OPTIONS
    )
    assert routes(result) == ["table"]
    assert "few" in result.selected


def worded(n, n_words=5, seed=0):
    """A column of words, some of them missing, and an outcome."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_words, size=n)
    words = np.array([f"word {code}" for code in range(n_words)], dtype=object)[codes]
    words[rng.random(n) < 0.05] = None
    frame = pd.DataFrame({"number": rng.normal(size=n), "word": words})
    return frame, codes / n_words + frame["number"].to_numpy() + rng.normal(size=n)


class AskedForWords:
    """An opaque model of words that counts the rows it is asked for."""

    def __init__(self):
        self.n, self.words = 0, set()

    def __call__(self, rows):
        self.n += len(rows)
        words = rows["word"].astype(object).tolist()
        self.words.update(words)
        effects = [int(word.split()[1]) if "word" in str(word) else 0.5 for word in words]
        return rows["number"].to_numpy(dtype=float) + effects


@pytest.mark.parametrize("kind", ["object", "category", "array"])
def test_words_are_tabulated(kind):
    """Each word is predicted once, the missing one too; the predictions are the model's own."""
    X, y = worded(500)
    if kind == "category":
        X["word"] = X["word"].astype("category")
    model = AskedForWords()
    if kind == "array":
        X = X.to_numpy(dtype=object)
        model = lambda rows: AskedForWords()(pd.DataFrame(rows, columns=["number", "word"]))  # noqa: E731
    options = OPTIONS | {"reference": {"number": 0.0, "word": "word 0"}}
    if kind == "array":
        options["reference"] = pd.DataFrame({"x0": [0.0], "x1": ["word 0"]})
    fast, slow = (
        sfit.feature_significance(model, X, y, fast=fast, **options) for fast in (True, False)
    )
    assert routes(fast) == ["table"]
    word, direct = fast.tests[1], slow.tests[1]
    assert (word.p_value, word.rise, word.z) == pytest.approx(
        (direct.p_value, direct.rise, direct.z)
    )
    assert word.loss_full == direct.loss_full


@pytest.mark.parametrize("average", [False, True])
def test_predictions_of_words_do_not_grow_with_the_rows(average, monkeypatch):
    """Ten tiles cost as much as one: five words, the missing one and 64 numbers."""
    set_tiles(monkeypatch, 1_000)
    asked = []
    for n in (1_000, 10_000):
        X, y = worded(n)
        model = AskedForWords()
        background = worded(20, seed=1)[0]
        reference = sfit.Average(background) if average else {"number": 0.0, "word": "word 0"}
        result = sfit.feature_significance(model, X, y, **OPTIONS | {"reference": reference})
        assert routes(result) == ["table"]
        asked.append(model.n)
    assert asked[0] == asked[1]


def test_a_word_that_the_knots_miss_counts_as_hidden(monkeypatch):
    """It occurs once in many tiles: any prediction will do, and the model is not asked again."""
    set_tiles(monkeypatch, 100)
    monkeypatch.setattr("sfit._differences.SPREAD_ROWS", 50)
    X, y = worded(1_000)
    X.loc[77, "word"] = "rare"
    options = OPTIONS | {"reference": {"number": 0.0, "word": "word 0"}}
    assert 77 not in np.linspace(0, 999, 50).astype(int)
    result = sfit.feature_significance(AskedForWords(), X, y, **options)
    assert routes(result) == ["table"]
    assert result.tests[1].p_value < 0.05
    assert result.tests[1].share_moved == np.mean(~X["word"].isin(["word 0", "rare"]))


def test_more_than_64_words_are_predicted_directly():
    """They have no order to interpolate along: each distinct word of a tile is predicted."""
    X, y = worded(2_000, n_words=100)
    model = AskedForWords()
    options = OPTIONS | {"reference": {"number": 0.0, "word": "word 0"}}
    sfit.feature_significance(model, X[["word"]].assign(number=0.0), y, **options)
    assert 101 <= model.n < 1_000


def test_averages_of_trees_are_tabulated_where_that_is_cheaper(monkeypatch):
    """A deep forest has hundreds of cells per background row. The sign test stays exact."""
    asked = []

    def counting(view, Z, predict=SklearnView._predict):
        asked.append(len(Z))
        return predict(view, Z)

    monkeypatch.setattr(SklearnView, "_predict", counting)
    X, y = rows(7_000)
    X = X[["wide", "few"]].assign(other=np.random.default_rng(1).normal(size=7_000))
    model = RandomForestRegressor(30, random_state=0).fit(X[:1_000], y[:1_000])
    average = sfit.Average(X[:1_000], n_rows=20)
    totals = []
    for n in (2_000, 6_000):
        asked.clear()
        result = sfit.feature_significance(
            model, X[1_000:][:n], y[1_000:][:n], **OPTIONS | {"reference": average}
        )
        assert routes(result) == ["cells and table"]  # a column of five values has few cells
        assert result.selected == ("wide", "few")
        totals.append(sum(asked))
    assert totals[0] == totals[1] < 3 * 64 * 20 + 1_000
    exact, slow = (
        sfit.feature_significance(
            model, X[1_000:3_000], y[1_000:3_000], reference=average, fast=fast, random_state=0
        )
        for fast in (True, False)
    )
    assert routes(exact)[0] == "cells"
    assert exact == slow


def test_the_sign_test_has_no_tables():
    X, y = rows(500)
    model = Asked(smooth)
    result = sfit.feature_significance(model, X, y, reference=0.0)
    assert set(routes(result)) == {"direct"}


def test_a_row_at_which_the_model_fails_is_named():
    X, y = rows(500)

    def model(rows):
        rows = np.asarray(rows)
        return np.where(np.nan_to_num(rows[:, 0]) == X["wide"].max(), np.nan, rows[:, 0])

    with pytest.raises(sfit.exceptions.ModelError, match=f"row {X['wide'].argmax()} is not finite"):
        sfit.feature_significance(model, X, y, **OPTIONS)


def test_knots_come_from_all_rows(monkeypatch):
    """The first tile holds one value of the column, and another no missing value."""
    set_tiles(monkeypatch, 100)
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    x[:100] = 0.0
    x[-3] = np.nan
    y = np.where(np.nan_to_num(x) > 1, 1.0, 0.0) + 0.5 * rng.normal(size=500)
    fast, slow = (
        sfit.feature_significance(
            lambda rows: 1.0 * (np.nan_to_num(np.asarray(rows)[:, 0]) > 1),
            x[:, None],
            y,
            fast=fast,
            **OPTIONS,
        ).tests[0]
        for fast in (True, False)
    )
    assert fast.p_value == slow.p_value == 1 / 2_000
    assert fast.share_moved == pytest.approx(slow.share_moved, abs=0.05)


def test_values_that_many_rows_share_leave_their_knots_to_others():
    """85 % zeros: of 64 knots, one is zero."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(5_000) < 0.85, 0.0, rng.uniform(1, 30, size=5_000))
    asked = []

    def model(rows):
        asked.append(np.unique(np.asarray(rows)[:, 0]))
        return np.sin(np.asarray(rows)[:, 0])

    sfit.feature_significance(model, x[:, None], x + rng.normal(size=5_000), **OPTIONS)
    assert max(map(len, asked[-1:])) == 64


def test_the_same_bits_from_files_and_in_other_processes(tmp_path):
    pytest.importorskip("pyarrow")
    import joblib

    X, y = rows(3_000)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    model = sfit.models.function_model(smooth_of_frame, task="regression")
    one = sfit.feature_significance(model, X, y, **OPTIONS)
    stored = sfit.feature_significance(
        model, str(tmp_path / "rows.parquet"), "y", features=list(X), **OPTIONS
    )
    with joblib.parallel_config(backend="loky"):
        others = sfit.feature_significance(model, X, y, n_jobs=2, **OPTIONS)
    assert one == stored == others


def smooth_of_frame(rows):
    return smooth(np.asarray(rows))
