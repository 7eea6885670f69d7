"""Facts about rows in every kind of table."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sfit._audit._data_facts import MOST_CLASSES, data_facts

FRAME = pd.DataFrame(
    {
        "income": [1.0, np.nan, 3.0, np.nan],
        "purpose": ["car", None, "home", "car"],
        "age": [30, 40, 50, 60],
        "approved": ["no", "yes", "yes", "yes"],
    }
)
LABELS = ("income", "purpose", "age")
CLASSES = np.array(["no", "yes"])


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


@pytest.mark.parametrize("kind", [lambda frame: frame, as_polars, as_arrow])
def test_frames_of_each_library(kind):
    frame = kind(FRAME)
    for y in ("approved", frame["approved"]):
        found = data_facts(frame, y, labels=LABELS, classes=CLASSES, name="2025")
        assert found.name == "2025"
        assert (found.n_rows, found.n_columns) == (4, 3)
        assert found.target_distribution == (("no", "25.0 % (1 row)"), ("yes", "75.0 % (3 rows)"))
        assert found.n_missing == 3
        assert found.missing_by_column == (("income", "2"), ("purpose", "1"))
        assert len(found.fingerprint) == 32
    assert data_facts(frame, "approved", labels=LABELS, classes=CLASSES).target == "approved"
    assert data_facts(FRAME, FRAME["approved"], classes=CLASSES).target == "approved"
    assert data_facts(FRAME, FRAME[["approved"]], classes=CLASSES).target == "approved"


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda a: a.astype(object)])
def test_arrays(kind):
    X = np.array([[1.0, 0.0], [np.nan, 2.0], [np.nan, 0.0]])
    found = data_facts(kind(X), np.array([1.0, 2.0, 6.0]))
    assert (found.n_rows, found.n_columns, found.target) == (3, 2, "y")
    assert found.missing_by_column == (("x0", "2"),)
    assert found.target_distribution == (
        ("minimum", "1"),
        ("5 % quantile", "1.1"),
        ("median", "2"),
        ("mean", "3"),
        ("95 % quantile", "5.6"),
        ("maximum", "6"),
    )
    assert found.period == ""
    some = data_facts(kind(X), np.array([1.0, 2.0, 6.0]), labels=("b",), positions=[1])
    assert (some.n_missing, some.n_columns) == (0, 1)


def test_several_outputs():
    y = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 60.0]])
    first, second = data_facts(np.zeros((3, 1)), y).target_distribution
    assert first[0] == "output 1"
    assert first[1].startswith("minimum 1, 5 % quantile 1.1, median 2, mean 2,")
    assert second[1].endswith("maximum 60")


def test_many_classes_are_counted_together():
    classes = np.arange(15)
    y = np.repeat(classes, classes + 1)
    found = data_facts(np.zeros((len(y), 1)), y, classes=classes).target_distribution
    assert [label for label, _ in found[:-1]] == [str(k) for k in range(5, 15)]
    assert len(found) == MOST_CLASSES + 1
    assert found[-1] == ("5 other classes", "12.5 % (15 rows)")


def test_a_class_without_rows_and_labels_of_another_type():
    found = data_facts(np.zeros((4, 1)), np.array([True] * 4), classes=np.array([0, 1]))
    assert found.target_distribution == (("0", "0.0 % (0 rows)"), ("1", "100.0 % (4 rows)"))


def test_the_period():
    dates = pd.to_datetime(["2024-03-01", "2024-01-15 10:00", "2024-02-01"], format="ISO8601")
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=dates)
    y = np.zeros(3)
    assert data_facts(X, y).period == "2024-01-15 to 2024-03-01"
    assert data_facts(X, y, period="Q1 2024").period == "Q1 2024"
    assert data_facts(X.reset_index(drop=True), y).period == ""
    assert data_facts(X.set_index(dates.to_period("D")), y).period == "2024-01-15 to 2024-03-01"
    column = pd.DataFrame({"a": [1.0, 2.0, 3.0], "opened": dates})
    column.loc[1, "opened"] = pd.NaT
    expected = "2024-02-01 to 2024-03-01 (column opened)"
    for frame in (column, as_polars(column), as_arrow(column)):
        assert data_facts(frame, y, labels=("a",)).period == expected
    assert data_facts(column.assign(opened=pd.NaT), y, labels=("a",)).period == ""


def test_the_fingerprint_changes_with_the_used_values_only():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    one = data_facts(FRAME, y, labels=LABELS).fingerprint
    assert data_facts(FRAME.copy(), y.copy(), labels=LABELS).fingerprint == one
    assert data_facts(FRAME.assign(approved="?"), y, labels=LABELS).fingerprint == one
    assert data_facts(FRAME.assign(age=[30, 40, 50, 61]), y, labels=LABELS).fingerprint != one
    assert data_facts(FRAME, y[::-1], labels=LABELS).fingerprint != one
    assert data_facts(FRAME, y, labels=LABELS[:2]).fingerprint != one
    assert data_facts(FRAME[::-1], y, labels=LABELS).fingerprint != one
    renamed = FRAME.rename(columns={"age": "years"})
    assert data_facts(renamed, y, labels=(*LABELS[:2], "years")).fingerprint != one


def test_a_wide_array_is_not_copied():
    import tracemalloc

    X = np.ones((2_000, 500))
    y = np.zeros(2_000)
    data_facts(X[:, :2], y)
    tracemalloc.start()
    data_facts(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 10
