"""The UCI credit default data of section 4: their sources and their two encodings."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from sfit.exceptions import DataError

FILE = "uci_credit_default.csv.gz"
OPENML_ID = 42477
CLASS_COUNTS = (23_364, 6_636)

CONTINUOUS = (
    "LIMIT_BAL",
    "AGE",
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)
PAYMENTS = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
COLUMNS = (
    "LIMIT_BAL",
    "SEX",
    "EDUCATION",
    "MARRIAGE",
    "AGE",
    *PAYMENTS,
    *CONTINUOUS[2:],
)
TARGET = "default"

# The documented codes of the categorical variables; the names are those of the paper's Table 4.
# No payment is nine months late, and none is one month late in May or April (PAY_5, PAY_6).
MONTHS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
LATE = {code: f"payment_delay_for_{word}_month" for code, word in enumerate(MONTHS, 1)}
LABELS: dict[str, dict[int, str]] = {
    "SEX": {1: "male", 2: "female"},
    "EDUCATION": {1: "graduate_school", 2: "university", 3: "high_school", 4: "others"},
    "MARRIAGE": {1: "married", 2: "single", 3: "others"},
    **{
        name: {-1: "pay_duly"}
        | {code: label for code, label in LATE.items() if code > 1 or name not in PAYMENTS[4:]}
        for name in PAYMENTS
    },
}
# Codes that occur but are not documented, and the documented codes usually substituted for them.
MERGED: dict[str, dict[int, int]] = {
    "EDUCATION": {0: 4, 5: 4, 6: 4},
    "MARRIAGE": {0: 3},
    **{name: {-2: -1, 0: -1} for name in PAYMENTS},
}
ENCODINGS = {
    "A": "undocumented codes give zeros in all dummies of their variable",
    "B": "undocumented codes are merged with documented ones",
}


def load() -> pd.DataFrame:
    """The 23 variables and the target, from the folder `SFIT_DATA` or from OpenML.

    scikit-learn downloads from OpenML once and caches the data.
    """
    folder = os.environ.get("SFIT_DATA")
    frame = _from_openml() if folder is None else _from_folder(Path(folder))
    counts = tuple(frame[TARGET].value_counts().reindex([0, 1], fill_value=0))
    if counts != CLASS_COUNTS:
        raise DataError(
            f"these are not the credit default data: expected {CLASS_COUNTS} rows without and with "
            f"default; got {counts}."
        )
    strange = [
        name
        for name, labels in LABELS.items()
        if not frame[name].isin([*labels, *MERGED.get(name, {})]).all()
    ]
    if strange or not frame["AGE"].between(21, 79).all():
        raise DataError(
            "these are not the credit default data: unknown codes or ages in "
            f"{', '.join(strange or ['AGE'])}."
        )
    return frame


def _from_folder(folder: Path) -> pd.DataFrame:
    path = folder / FILE
    if not path.is_file():
        raise DataError(
            f"SFIT_DATA={str(folder)!r} holds no {FILE}: put it there, or unset SFIT_DATA to "
            f"download the data from OpenML (id {OPENML_ID})."
        )
    frame = pd.read_csv(path)
    missing = [name for name in (*COLUMNS, TARGET) if name not in frame]
    if missing:
        raise DataError(f"{path} lacks the columns {missing}.")
    return frame[[*COLUMNS, TARGET]]


def _from_openml() -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=OPENML_ID, as_frame=True, parser="auto", n_retries=1)
    except Exception as error:
        raise DataError(
            f"the credit default data could not be downloaded from OpenML (id {OPENML_ID}): "
            f"{type(error).__name__}: {error}. Set SFIT_DATA to a folder that holds {FILE} (UCI "
            "data set 350, doi:10.24432/C55S3H, its target column named 'default')."
        ) from error
    # OpenML's copy has UCI's variables in UCI's order, named as in its spreadsheet.
    names = [str(name).lower() for name in fetched.data]
    if names != [f"x{place}" for place in range(1, len(COLUMNS) + 1)]:
        raise DataError(
            f"OpenML {OPENML_ID} was expected to have the columns x1 to x{len(COLUMNS)}; got {names}."
        )
    # Codes may come as categories.
    frame = fetched.data.set_axis(list(COLUMNS), axis=1).astype(float)
    return frame.assign(**{TARGET: fetched.target.astype(int)})


def encode(frame: pd.DataFrame, encoding: str) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """The 75 columns of one encoding, and the columns of each of the 23 variables."""
    parts, groups = [], {}
    for name in COLUMNS:
        if name in CONTINUOUS:
            parts.append(frame[[name]].astype(float))
            groups[name] = [name]
            continue
        codes = frame[name].astype(int)
        if encoding == "B":
            codes = codes.replace(MERGED.get(name, {}))
        dummies = pd.DataFrame(
            {
                f"{name}_{label}": (codes == code).astype(float)
                for code, label in LABELS[name].items()
            }
        )
        parts.append(dummies)
        groups[name] = [str(column) for column in dummies]
    return pd.concat(parts, axis=1), groups
