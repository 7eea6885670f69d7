"""Many features: what a first-order test takes grows with their number, not with its square.

Time is no measure here. Counted are the lines of sfit that are run (each turn of a loop is one), the
bytes held at the peak, the rows that a model is asked about, and how often the names of all columns
are listed: for some features and for four times as many.
"""

import sys
import tracemalloc
from functools import partial, wraps
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import sfit
from sfit import _engine
from sfit.problem import pose
from sfit.restrict import _cells, _direct
from sfit.rows import as_table, column_values, reveal

FOURFOLD = 4**1.15
"""What may grow at most, in proportion or little more, where features are four times as many."""
FEATURES = (400, 1_600)
PACKAGE = str(Path(sfit.__file__).parent)

SUBJECTS = ["linear array", "linear sparse", "linear frame", "logistic array", "forest array"]


def wide(kind, p, n=40):
    """A fitted model, and held-out rows and targets of p features."""
    name, data = kind.split()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100 + n, p))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(len(X))
    if data == "sparse":
        X = sp.csr_array(np.where(rng.random(X.shape) < 0.05, X, 0.0))
    elif data == "frame":
        X = pd.DataFrame(X, columns=[f"c{j}" for j in range(p)])
    if name == "logistic":
        model, y = LogisticRegression(max_iter=10), (y > 0).astype(int)
    elif name == "forest":
        model = RandomForestRegressor(5, max_leaf_nodes=8, max_features=0.2, random_state=0)
    else:
        model = Ridge()
    return model.fit(X[:100], y[:100]), X[100:], y[100:]


def growth(measured, kind):
    """How many times as much of something a test takes for four times as many features."""
    subjects = [wide(kind, p) for p in FEATURES]
    few, many = (measured(partial(sfit.feature_significance, *asked)) for asked in subjects)
    return many / few


def lines_run(call):
    """How many lines of sfit a call runs; a loop in one line counts every turn."""
    count = 0

    def inside(frame, event, argument):
        nonlocal count
        count += event == "line"
        return inside

    def anywhere(frame, event, argument):
        return inside if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(anywhere)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def peak_bytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_work_grows_with_the_features(kind):
    """Lists of partners that order 1 does not have, and columns looked for among all, were p x p."""
    assert growth(lines_run, kind) <= FOURFOLD


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", SUBJECTS)
def test_memory_grows_with_the_features(kind, monkeypatch):
    monkeypatch.setattr(_engine, "KEPT_BYTES", 0)  # never touched, but counted here
    assert growth(peak_bytes, kind) <= FOURFOLD


def test_trees_are_not_asked_about_features_that_they_never_split(monkeypatch):
    """One row for each of them was predicted, of as many columns as there are features."""
    rows = []
    ask = RandomForestRegressor.predict

    @wraps(ask)
    def counted(self, X):
        rows.append(len(X))
        return ask(self, X)

    asked = []
    for p in FEATURES:
        subject = wide("forest array", p)
        monkeypatch.setattr(RandomForestRegressor, "predict", counted)
        result = sfit.feature_significance(*subject)
        monkeypatch.undo()
        assert result.run["stages"][0]["route"] == "cells"
        asked.append(sum(rows))
        rows.clear()
    assert asked[1] - asked[0] < 400


def test_names_of_all_columns_are_not_listed_for_each(monkeypatch):
    listed = []
    of_all = nw.DataFrame.columns.fget

    def counted(self):
        listed.append(self)
        return of_all(self)

    found = []
    for p in (50, 200):
        model, X, y = wide("linear frame", p)
        X = X.assign(c7=X["c7"] > 0)  # not of one type: column by column
        with monkeypatch.context() as patched:
            patched.setattr(nw.DataFrame, "columns", property(counted))
            sfit.feature_significance(model, X, y)
        found.append(len(listed))
        listed.clear()
    assert found[1] - found[0] < 50  # a call of the model more may list them, too


def test_the_set_of_all_features_is_made_once():
    """It was made for every test that is reported."""
    features = pose(*wide("linear array", 20)).features
    assert features.everything is features.everything
    assert features.everything == frozenset(range(20))


@pytest.mark.filterwarnings("ignore:.*too few:sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("n", [3, 50, 2_000])
def test_features_never_split_are_the_base_to_the_bit(n):
    """Also where they have missing values, and where a column is always on."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400 + n, 12))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    X[::3, 8:] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4).fit(X[:400], y[:400])
    for always_on in ((), ("x1",)):
        fast, slow = (
            sfit.feature_significance(
                model, X[400:], y[400:], always_on=always_on, fast=fast, reference=0.0
            )
            for fast in (True, False)
        )
        assert fast == slow


def test_cells_in_many_calls_are_those_of_one(monkeypatch):
    asked = wide("forest array", 30, n=2_000)
    at_once = sfit.feature_significance(*asked)
    monkeypatch.setattr(_cells, "CALL_ROWS", 7)
    assert sfit.feature_significance(*asked) == at_once


def test_wide_rows_share_calls_that_fit_the_budget(monkeypatch):
    """Sides of few rows are stacked, but not beyond the memory of a call."""
    sizes = []

    def model(Z):
        sizes.append(len(Z))
        return Z[:, 0] - Z[:, 3]

    _, X, y = wide("linear array", 100)
    at_once = sfit.feature_significance(model, X, y)
    assert max(sizes) > 64
    sizes.clear()
    monkeypatch.setattr(_direct, "CALL_BYTES", 8 * 100 * 64)
    assert sfit.feature_significance(model, X, y) == at_once
    assert max(sizes) <= 64


def test_columns_of_sparse_rows_are_as_scipy_has_them():
    """Entries given twice add up, and explicit zeros are zeros."""
    data, rows, starts = [1.0, 2.0, 0.0, -3.5, np.nan], [2, 2, 0, 1, 3], [0, 2, 3, 3, 5]
    table = as_table(sp.csc_array((np.array(data), rows, starts), shape=(4, 4)))
    dense = table.toarray()
    for column in range(4):
        np.testing.assert_array_equal(column_values(table, column), dense[:, column])
    some = np.array([3, 1])
    shown = reveal(np.zeros((1, 4)), table, range(4), some)
    np.testing.assert_array_equal(shown, dense[some])
    assert shown.flags.c_contiguous


@pytest.mark.parametrize("kind", ["array", "fortran", "sparse"])
@pytest.mark.parametrize("rows", [None, np.array([4, 0, 2])])
def test_most_columns_are_revealed_as_few_are(kind, rows):
    """A table with the others frozen is what the columns make that are put in one by one."""
    X = np.random.default_rng(2).standard_normal((5, 7))
    table = {"array": X, "fortran": np.asfortranarray(X), "sparse": as_table(sp.csr_array(X))}[kind]
    reference = np.arange(7.0)[None]
    for n_shown in range(8):
        positions = [6, 2, 4, 0, 3, 1, 5][:n_shown]
        expected = np.repeat(reference, 5, axis=0)
        expected[:, positions] = X[:, positions]
        expected = expected if rows is None else expected[rows]
        np.testing.assert_array_equal(reveal(reference, table, positions, rows), expected)
    np.testing.assert_array_equal(column_values(table, 1), X[:, 1])
