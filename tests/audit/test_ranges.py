"""Constant features, and values that training never saw."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sfit._audit._ranges import Outside, constant_features, outside_training

ROWS = pd.DataFrame(
    {
        "income": [1.0, 2.0, np.nan, 9.0],
        "city": ["Ulm", "Bern", None, "Rom"],
        "one": [3, 3, 3, 3],
        "none": [np.nan] * 4,
        "word": ["x"] * 4,
        "gap": [1.0, 1.0, np.nan, 1.0],
    }
)


def as_polars(rows):
    return pytest.importorskip("polars").from_pandas(rows)


def as_arrow(rows):
    return pytest.importorskip("pyarrow").Table.from_pandas(rows)


@pytest.mark.parametrize("kind", [lambda rows: rows, as_polars, as_arrow])
def test_constant_features(kind):
    assert constant_features(kind(ROWS), list(ROWS)) == ("one", "none", "word")
    assert constant_features(kind(ROWS), ["gap", "word"], [5, 4]) == ("word",)


def test_constant_columns_of_arrays():
    array = np.array([[0.0, 1.0, -0.0], [0.0, 2.0, 0.0]])
    for kind in (np.asarray, sp.csr_array):
        assert constant_features(kind(array), ["a", "b", "c"]) == ("a", "c")
    assert constant_features(np.empty((0, 2)), ["a", "b"]) == ()


def test_values_outside_training():
    train = pd.DataFrame({"city": ["Ulm", "Bern"], "income": [1.5, 5.0]})
    found = outside_training(ROWS, train, ["income", "city"])
    # Missing values are new, because the training rows have none.
    assert found == (Outside("income", 3, 0.75), Outside("city", 2, 0.5))
    train.loc[2] = [None, np.nan]
    found = outside_training(ROWS, train, ["income", "city"])
    assert found == (Outside("income", 2, 0.5), Outside("city", 1, 0.25))


def test_types_do_not_matter():
    train = pd.DataFrame({"grade": pd.Categorical([1, 2, 3]), "flag": [True, False, True]})
    held = pd.DataFrame({"grade": ["1", "4"], "flag": [0, 1]})
    assert outside_training(held, train, ["grade", "flag"]) == (Outside("grade", 1, 0.5),)
    single = np.array([[0.1], [0.2]], dtype=np.float32)
    assert outside_training(single, single.astype(float), ["a"]) == ()
    assert outside_training(np.array([[0.1], [0.2]]), single, ["a"]) == ()


def test_nothing_is_known_of_empty_training():
    assert outside_training(ROWS, ROWS[:0], list(ROWS)) == ()
    empty = pd.DataFrame({"a": [np.nan, np.nan]})
    assert outside_training(pd.DataFrame({"a": [1.0, np.nan]}), empty, ["a"]) == (
        Outside("a", 1, 0.5),
    )
