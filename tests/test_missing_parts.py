"""Rows whose label `by` is missing are a part of their own, called "missing"."""

import numpy as np
import pandas as pd
import pytest

import sfit
from sfit.exceptions import ArgumentError, DataError

N = 400
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
Y = X["a"].to_numpy() + 0.5 * RNG.normal(size=N)
GONE = np.arange(N) % 4 == 0
NAMES = np.where(np.arange(N) % 2 == 0, "even", "odd")


def model(rows):
    return np.asarray(rows)[:, 0]


def significance(rows=X, target=Y, **options):
    return sfit.feature_significance(model, rows, target, reference=0, **options)


LABELS = {
    "none": np.where(GONE, None, NAMES),
    "nan": np.where(GONE, np.nan, NAMES.astype(object)),
    "both": np.where(GONE, np.where(np.arange(N) % 8 == 0, None, np.nan), NAMES),
    "text": pd.Series(NAMES, dtype="string").mask(GONE),
    "categories": pd.Series(NAMES).mask(GONE).astype("category"),
    "floats": np.where(GONE, np.nan, np.arange(N) % 2),
    "whole": pd.Series(np.arange(N) % 2, dtype="Int64").mask(GONE),
    "truth": pd.Series(np.arange(N) % 2 == 0, dtype="boolean").mask(GONE),
    "dates": pd.Series(pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N) % 2, "D")).mask(
        GONE
    ),
}


@pytest.mark.parametrize("kind", LABELS)
def test_missing_labels_are_the_last_part(kind):
    """The part equals a test of its rows alone; the others are as without these rows."""
    labels = LABELS[kind]
    missing = np.asarray(pd.isna(pd.Series(labels)))
    parts = significance(by=labels)
    assert list(parts)[-1] == "missing"
    assert parts["missing"].settings.n_rows == missing.sum()
    assert parts["missing"].table.equals(significance(X[missing], Y[missing]).table)
    known = pd.Series(labels)[~missing]
    without = significance(X[~missing], Y[~missing], by=known.to_numpy())
    assert list(parts)[:-1] == list(without)
    for label, part in without.items():
        assert parts[label].table.equals(part.table)
    assert sfit.PartitionedResult.from_json(parts.to_json()) == parts


def test_missing_labels_everywhere():
    assert list(significance(by=np.full(N, np.nan))) == ["missing"]


@pytest.mark.parametrize("kind", ["none", "floats", "dates", "text", "truth"])
def test_missing_labels_in_files_and_frames(kind, tmp_path):
    """In pieces of which some have no missing label, and some nothing else."""
    pytest.importorskip("pyarrow")
    order = np.argsort(GONE, kind="stable")
    rows = X.assign(y=Y, part=pd.Series(LABELS[kind]))
    rows = rows.iloc[order].reset_index(drop=True)
    held = significance(rows[["a", "b"]], rows["y"], by=rows["part"])
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=90)
    frames = [rows[:100], rows[100:250], rows[250:350], rows[350:]]
    for source in (rows, tmp_path / "rows.parquet", frames):
        found = significance(source, "y", by="part", features=["a", "b"])
        assert list(found) == list(held)
        for label, part in held.items():
            assert found[label].table.equals(part.table)


def test_a_label_of_that_name_is_refused():
    """Rows of two kinds would share a part."""
    labels = np.where(GONE, None, "missing")
    with pytest.raises(DataError, match="rename the label"):
        significance(by=labels)
    assert list(significance(by=np.where(GONE, "missing", "known"))) == ["known", "missing"]


def test_parts_with_missing_labels_are_compared():
    """As one more part; it has no place in a trend."""
    options = {"by": LABELS["floats"], "random_state": 0}
    compared = sfit.compare_parts(model, X, Y, **options)
    assert compared.labels == (0.0, 1.0, "missing")
    with pytest.raises(ArgumentError, match="no place in an order"):
        sfit.compare_parts(model, X, Y, trend=True, **options)
