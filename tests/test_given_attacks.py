"""What a hostile review found about given features: each call is one of its reproductions."""

import numpy as np
import pandas as pd
import pytest

import sfit
from sfit.exceptions import ArgumentError

OPTIONS = {"test": "permutation", "reference": 0.0, "random_state": 0}


def test_tables_know_all_rows_that_are_sorted():
    """As many rows as a tile of own and moved rows has: knots must not come from the lowest only."""
    rng = np.random.default_rng(0)
    n = 65_536
    a, b = rng.uniform(-3, 3, n), rng.normal(size=n)
    y = b * (a > 0) + rng.normal(size=n)
    result = sfit.feature_significance(
        lambda v: np.asarray(v)[:, 1] * (np.asarray(v)[:, 0] > 0),
        np.column_stack([a, b]),
        y,
        given=["x0"],
        **OPTIONS,
    )
    assert result.selected == ("x1",)
    assert result.tests[0].rise > 0.2


def first(rows):
    return np.asarray(rows)[:, 0]


@pytest.fixture
def independent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, X[:, 0] + rng.normal(size=300)


@pytest.mark.filterwarnings("ignore:n = 2 has too few:sfit.exceptions.SFITWarning")
def test_a_tiny_part_does_not_veto_a_given_feature(independent):
    """Two rows always have a rank correlation of 1."""
    X, y = independent
    by = np.where(np.arange(300) < 2, "tiny", "large")
    result = sfit.feature_significance(first, X, y, given=["x1"], by=by, **OPTIONS)
    assert result["large"].selected == ("x0",)
    assert result["large"].tests[0].rank_correlation < 0.2
    pair = sfit.feature_significance(first, X, y, max_order=2, by=by, **OPTIONS)
    assert ("x0", "x1") in [test.term for test in pair["large"].tests]


def test_a_tiny_class_does_not_veto_a_given_feature(independent):
    X, _ = independent
    y = np.where(np.arange(300) < 2, 2, (X[:, 0] > 0).astype(int))

    def probabilities(rows):
        share = 1 / (1 + np.exp(-2 * first(rows)))
        return np.column_stack([0.98 * (1 - share), 0.98 * share, np.full(len(share), 0.02)])

    model = sfit.models.function_model(probabilities, task="classification", classes=[0, 1, 2])
    result = sfit.feature_significance(model, X, y, given=["x1"], by="class", **OPTIONS)
    assert result[1].selected == ("x0",)


@pytest.mark.parametrize("start", [0, 2**53, 1_700_000_000_000_000_000])
def test_large_whole_numbers_are_different_strata(start):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 200)
    a, y = rng.normal(size=200) + 2 * k, 3.0 * k + rng.normal(size=200)
    frame = pd.DataFrame({"a": a, "id": (start + k).astype("int64")})
    result = sfit.feature_significance(
        lambda d: np.asarray(d["a"], float), frame, y, given=["id"], **OPTIONS
    )
    assert result.tests[0].p_value > 0.1


def test_zeros_of_both_signs_are_one_stratum():
    rng = np.random.default_rng(0)
    z = np.where(np.arange(200) < 5, -0.0, 0.0)
    z[100:] = 1.0
    X = np.column_stack([rng.normal(size=200), z])
    result = sfit.feature_significance(first, X, rng.normal(size=200), given=["x1"], **OPTIONS)
    assert result.tests[0].n_fixed == 0


def test_a_constant_outcome_over_a_continuous_feature():
    """Moved rows change the losses, but a constant outcome is related to nothing."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=60)
    X = np.column_stack([0.8 * z + 0.6 * rng.normal(size=60), z])
    with pytest.warns(sfit.exceptions.SFITWarning, match="the outcome is the same"):
        result = sfit.feature_significance(
            lambda v: np.asarray(v)[:, 0] - 0.8 * np.asarray(v)[:, 1],
            X,
            np.zeros(60),
            given=["x1"],
            **OPTIONS,
        )
    assert result.tests[0].p_value == 1


def test_the_error_names_columns_that_are_always_on(independent):
    X, y = independent
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.arange(300) % 2, "z": X[:, 1]})
    with pytest.raises(ArgumentError, match=r"given=\['kind'\] and always_on=\('z',\) cannot"):
        sfit.feature_significance(
            lambda d: np.asarray(d["a"], float),
            frame,
            y,
            given=["kind"],
            always_on=["z"],
            **OPTIONS,
        )
