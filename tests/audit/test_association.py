"""Association of columns against SciPy and known examples; groups of features."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import contingency, spearmanr

from sfit._audit import _association
from sfit._audit._association import (
    association,
    column_of,
    correlated_groups,
    cramers_v,
    rank_correlation,
)


def strength(first, second):
    return association(column_of(first), column_of(second))


def normals(n, rho, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


def test_numbers_are_compared_by_ranks():
    x, y = normals(200, -0.6)
    value, measure = strength(x, y)
    assert measure == "rank correlation"
    assert value == pytest.approx(abs(spearmanr(x, y).statistic), rel=1e-12)
    ties = np.round(x), np.round(y)
    assert strength(*ties)[0] == pytest.approx(abs(spearmanr(*ties).statistic), rel=1e-12)


def test_missing_values_are_dropped_by_pairs():
    x, y = normals(200, 0.6)
    x[:20], y[10:30] = np.nan, np.nan
    expected = spearmanr(x, y, nan_policy="omit").statistic
    assert strength(x, y)[0] == pytest.approx(expected, rel=1e-12)


def test_categories_are_compared_by_a_table():
    """The corrected V from SciPy's uncorrected one, by the formulas of Bergsma (2013)."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=300), rng.integers(4, size=300)
    b = np.where(rng.uniform(size=300) < 0.4, a, b)
    table = contingency.crosstab(a, b).count
    v = contingency.association(table, method="cramer")
    n, (r, c) = table.sum(), table.shape
    phi2 = v**2 * min(r - 1, c - 1) - (r - 1) * (c - 1) / (n - 1)
    shrunk = min(k - (k - 1) ** 2 / (n - 1) for k in (r, c)) - 1
    assert cramers_v(a, b) == pytest.approx(math.sqrt(phi2 / shrunk))
    words = np.array(["x", "y", "z"])[a]
    assert strength(words, b) == (pytest.approx(cramers_v(a, b)), "Cramer's V")


def test_known_examples():
    same = np.repeat(["a", "b", "c"], 10)
    assert strength(same, same) == (pytest.approx(1), "Cramer's V")
    assert strength(same, np.repeat([1.0, 2.0, 3.0], 10))[0] == pytest.approx(1)
    assert strength(np.repeat(["a", "b"], 10), np.tile(["a", "b"], 10))[0] == 0
    assert strength(np.ones(30), same)[0] == 0
    assert strength(np.arange(30.0), np.arange(30.0) ** 3)[0] == pytest.approx(1)
    assert strength([], [])[0] == 0
    assert strength([1.0], [2.0])[0] == 0
    assert rank_correlation(np.full(5, np.nan), np.arange(5.0)) == 0


def test_a_table_sees_a_relation_that_ranks_do_not():
    """A protected attribute with two values that a feature follows at both ends."""
    x = np.linspace(-1, 1, 400)
    extreme = (np.abs(x) > 0.5).astype(float)
    value, measure = strength(extreme, x)
    assert measure == "Cramer's V"
    assert value > 0.85
    assert abs(spearmanr(extreme, x).statistic) < 0.01


def test_the_correction_removes_the_bias_of_many_categories():
    rng = np.random.default_rng(0)
    values = [strength(rng.integers(40, size=500).astype(str), rng.normal(size=500))[0]
              for _ in range(50)]  # fmt: skip
    table = contingency.crosstab(rng.integers(40, size=500), rng.integers(10, size=500)).count
    assert contingency.association(table) > 0.2
    assert np.mean(values) < 0.06


def test_missing_values_are_a_category():
    words = np.array(["a", "b", None] * 20, dtype=object)
    numbers = np.array([1.0, np.nan, 2.0] * 20)
    assert strength(words, numbers)[0] == pytest.approx(1)


def test_rare_categories_are_merged():
    ids = np.arange(1_000).astype(str)
    assert strength(ids, np.arange(1_000) % 7)[0] < 0.2


columns = st.lists(
    st.tuples(st.integers(-5, 5), st.sampled_from(["a", "b", "c", None]), st.integers(0, 40)),
    min_size=5,
    max_size=60,
)


@given(columns, st.randoms(use_true_random=False))
def test_invariances(rows, random):
    """The order of rows, the names of categories, and increasing transforms do not matter."""
    shuffled = rows[:]
    random.shuffle(shuffled)

    def three(some):
        numbers, words, others = zip(*some, strict=True)
        return np.array(numbers, float), np.array(words, object), np.array(others, float)

    numbers, words, others = three(rows)
    expected = [strength(numbers, others), strength(words, others), strength(words, numbers)]
    again = three(shuffled)
    renamed = np.array([None if word is None else f"new {word}" for word in words], dtype=object)
    for n, w, o in (again, (np.exp(numbers), renamed, others**3 - 7)):
        found = [strength(n, o), strength(w, o), strength(w, n)]
        for (value, measure), (other, other_measure) in zip(expected, found, strict=True):
            assert measure == other_measure
            # The square root turns a rounding error of 1e-16 into 1e-8.
            assert value == pytest.approx(other, abs=1e-7)
    assert strength(others, numbers)[0] == pytest.approx(expected[0][0], abs=1e-7)
    assert all(0 <= value <= 1 for value, _ in expected)


def frame(n=500, seed=0):
    rng = np.random.default_rng(seed)
    base, other = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "a": base,
            "noise": rng.normal(size=n),
            "b": -base + 0.1 * rng.normal(size=n),
            "c": np.exp(base),
            "d": other,
            "region": np.where(other > 0, "north", "south"),
            "north": (other > 0).astype(int),
        }
    )


def as_polars(rows):
    return pytest.importorskip("polars").from_pandas(rows)


@pytest.mark.parametrize("kind", [lambda rows: rows, as_polars])
def test_groups_of_features(kind):
    rows = frame()
    first, second = correlated_groups(kind(rows), list(rows), {"c", "region", "unknown"})
    assert first.features == ("a", "b", "c")
    assert first.significant == ("c",)
    assert first.largest == pytest.approx(1, abs=1e-6)
    assert first.smallest == pytest.approx(abs(spearmanr(rows["a"], rows["b"]).statistic), abs=1e-5)
    assert second.features == ("d", "region", "north")
    assert second.significant == ("region",)


def test_the_threshold_and_the_columns():
    rows = frame()
    assert not correlated_groups(rows[["a", "noise", "d"]], ["a", "noise", "d"])
    assert not correlated_groups(rows[["a"]], ["a"])
    x, y = normals(500, 0.6)
    pair = np.column_stack([x, y])
    assert not correlated_groups(pair, ["x", "y"])
    [found] = correlated_groups(pair, ["x", "y"], threshold=0.5)
    assert found.smallest == found.largest == pytest.approx(spearmanr(x, y).statistic, abs=1e-5)
    wide = np.column_stack([np.zeros(500), x, np.ones(500), x])
    [found] = correlated_groups(wide, ["u", "v"], positions=[1, 3])
    assert found.features == ("u", "v")
    assert correlated_groups(sp.csr_array(wide), ["u", "v"], positions=[1, 3]) == (found,)
    assert not correlated_groups(wide, ["zeros", "x", "ones"])


def test_a_chain_is_not_a_group():
    """Moving averages: neighbours have a correlation of 3/4, and those four apart have none."""
    shocks = np.random.default_rng(0).normal(size=(2_000, 23))
    chain = np.column_stack([shocks[:, k : k + 4].sum(axis=1) for k in range(20)])
    groups = correlated_groups(chain, [str(k) for k in range(20)])
    assert groups
    assert max(len(group.features) for group in groups) <= 3


def test_missing_values_in_groups():
    """Ranks within a column are nearly those of the pair's common rows."""
    rng = np.random.default_rng(0)
    x, y = normals(2_000, 0.9)
    x[rng.uniform(size=2_000) < 0.2] = np.nan
    y[rng.uniform(size=2_000) < 0.2] = np.nan
    empty = np.full(2_000, np.nan)
    table = np.column_stack([x, y, empty, rng.normal(size=2_000)])
    [found] = correlated_groups(table, ["x", "y", "empty", "noise"])
    assert found.features == ("x", "y")
    exact = spearmanr(x, y, nan_policy="omit").statistic
    assert found.largest == pytest.approx(exact, abs=0.005)


def test_many_rows_are_sampled_and_the_seed_decides(monkeypatch):
    monkeypatch.setattr(_association, "MOST_ROWS", 300)
    x, y = normals(3_000, 0.8)
    pair = np.column_stack([x, y])
    one = correlated_groups(pair, ["x", "y"], threshold=0.5, seed=1)
    assert one == correlated_groups(pair, ["x", "y"], threshold=0.5, seed=1)
    assert one != correlated_groups(pair, ["x", "y"], threshold=0.5, seed=2)
    # Five standard errors of the sample's correlation.
    assert one[0].largest == pytest.approx(spearmanr(x, y).statistic, abs=5 / math.sqrt(300))


@pytest.mark.long
def test_two_thousand_features():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(12_000, 1_000)).astype(np.float32)
    table = np.hstack([base, base + 0.3 * rng.normal(size=base.shape).astype(np.float32)])
    groups = correlated_groups(table, [str(k) for k in range(2_000)])
    assert len(groups) == 1_000
    assert {group.features for group in groups} == {(str(k), str(k + 1_000)) for k in range(1_000)}
