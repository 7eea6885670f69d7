"""Rows in both sets are counted whatever the format of the files."""

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sfit._audit._overlap import Overlap, overlap
from sfit.exceptions import DataError

rng = np.random.default_rng(0)


def frame(n, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "amount": rng.normal(size=n),
            "count": rng.integers(10**6, size=n),
            "flag": rng.uniform(size=n) < 0.5,
            "city": rng.choice(["Bern", "Köln", "Ulm"], size=n),
            "grade": pd.Categorical(rng.integers(3, size=n)),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(90, size=n), "D"),
        }
    )
    rows.loc[:3, "amount"] = np.nan
    rows.loc[2:5, "city"] = None
    return rows


TRAIN, HELD = frame(300, 1), frame(200, 2)
MIXED = pd.concat([HELD, TRAIN[:7]], ignore_index=True)
LABELS = tuple(TRAIN.columns)


def test_shared_rows_are_counted():
    assert overlap(HELD, TRAIN, LABELS) == Overlap(200, 0, 0, 300, 0)
    assert overlap(MIXED, TRAIN, LABELS) == Overlap(207, 7, 0, 300, 0)


def test_columns_are_matched_by_name_and_only_used_ones_count():
    other = TRAIN[list(reversed(LABELS))].assign(id=1)
    assert overlap(MIXED, other, LABELS).n_shared == 7
    changed = TRAIN.assign(amount=0.0)
    assert overlap(MIXED, changed, LABELS).n_shared == 0
    assert overlap(MIXED, changed, LABELS[1:]).n_shared == 7


def as_csv(rows):
    return pd.read_csv(io.StringIO(rows.to_csv(index=False)))


def as_text(rows):
    return rows.assign(city=rows["city"].astype(object), grade=rows["grade"].astype(str))


def as_floats(rows):
    return rows.assign(count=rows["count"].astype(float), flag=rows["flag"].astype(int))


def as_nullable(rows):
    return rows.convert_dtypes()


def as_polars(rows):
    polars = pytest.importorskip("polars")
    return polars.from_pandas(rows.assign(grade=rows["grade"].astype(int)))


def as_arrow(rows):
    return pytest.importorskip("pyarrow").Table.from_pandas(rows, preserve_index=False)


@pytest.mark.parametrize(
    "kind", [as_csv, as_text, as_floats, as_nullable, as_polars, as_arrow, lambda rows: rows]
)
def test_types_of_files_do_not_matter(kind):
    found = overlap(MIXED, kind(TRAIN), LABELS)
    assert (found.n_shared, found.n_repeated, found.n_training_repeated) == (7, 0, 0)
    assert overlap(kind(MIXED), TRAIN, LABELS).n_shared == 7
    assert overlap(kind(MIXED), kind(TRAIN), LABELS).n_shared == 7


def test_single_precision():
    train = rng.normal(size=(50, 3))
    assert overlap(train[:5].astype(np.float32), train, ["a", "b", "c"]).n_shared == 5
    assert overlap(train[:5], train.astype(np.float32), ["a", "b", "c"]).n_shared == 5


def test_arrays_and_sparse_matrices():
    train = rng.integers(0, 3, size=(40, 3)).astype(float) * rng.normal(size=(40, 3))
    for kind in (np.asarray, sp.csr_array, lambda a: pd.DataFrame(a, columns=list("abc"))):
        found = overlap(kind(train[:4]), train, list("abc"))
        assert found.n_shared == 4
    assert overlap(train[:4, [2]], train, ["c"]).n_shared <= 4
    assert overlap(train[:4], train, ["c"], positions=[2]).n_shared == 4


def test_zero_and_missing_values():
    held = np.array([[0.0, np.nan], [-0.0, 1.0]])
    train = np.array([[-0.0, -np.nan], [0.0, 1.0]])
    assert overlap(held, train, ["a", "b"]).n_shared == 2
    words = pd.DataFrame({"a": [None, "x"]}), pd.DataFrame({"a": [np.nan, "y"]})
    assert overlap(*words, ["a"]).n_shared == 1
    empty = pd.DataFrame({"a": [None, None]}), pd.DataFrame({"a": [np.nan, 1.0]})
    assert overlap(*empty, ["a"]).n_shared == 2


def test_columns_do_not_cancel():
    """A hash that ignores the order of columns would call these rows equal."""
    assert overlap(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]]), ["a", "b"]).n_shared == 0
    assert overlap(np.array([[1.0, 1.0]]), np.array([[2.0, 2.0]]), ["a", "b"]).n_shared == 0


def test_few_combinations_repeat_by_chance():
    """Both sets are draws from 200 combinations: the expected number is near the observed one."""
    train, held = rng.integers(0, 200, size=(300, 1)), rng.integers(0, 200, size=(400, 1))
    found = overlap(held, train, ["a"])
    assert found.n_repeated > 250
    # 400 rows with probability 0.78 each: five standard deviations.
    assert abs(found.n_shared - found.expected) < 5 * np.sqrt(400 * 0.78 * 0.22) + 10


def test_empty_tables():
    assert overlap(HELD[:0], TRAIN, LABELS).n_shared == 0
    assert overlap(HELD, TRAIN[:0], LABELS) == Overlap(200, 0, 0, 0, 0)
    assert overlap(HELD, TRAIN[:0], LABELS).expected == 0


def test_missing_columns_are_named():
    with pytest.raises(DataError, match=r"train lacks 1 of the columns.*'city'"):
        overlap(HELD, TRAIN.drop(columns="city"), LABELS)
    with pytest.raises(DataError, match="train has 1 columns, but the model uses 2"):
        overlap(np.zeros((3, 2)), np.zeros((3, 1)), ["a", "b"])


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=15),
       st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=15))  # fmt: skip
def test_counts_agree_with_a_loop(held, train):
    def rows(pairs):
        return pd.DataFrame(
            {"n": [float(n) for n, _ in pairs], "w": np.array([w for _, w in pairs], dtype=object)}
        )

    found = overlap(rows(held), rows(train), ["n", "w"])
    assert found.n_shared == sum(pair in train for pair in held)
    assert found.n_repeated == sum(held.count(pair) > 1 for pair in held)
    assert found.n_training_repeated == sum(train.count(pair) > 1 for pair in train)
