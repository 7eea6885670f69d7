"""The gallery in the order of reading, from a first test to a cluster."""

from pathlib import Path

GALLERY = [
    "first_test",
    "reading_a_report",
    "audit_a_model",
    "choosing_beta",
    "hidden_interactions",
    "neural_network",
    "boosting_categories",
    "correlated_features",
    "where_it_is_used",
    "for_whom",
    "per_class",
    "few_rows",
    "selection_in_a_pipeline",
    "parquet_folder_with_dask",
]


def place(filename: str) -> int:
    """Where a script stands in the gallery; one that is not listed is an error."""
    return GALLERY.index(Path(filename).stem)
