"""The same rows in the forms that users hold them in."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

TARGET, PART = "the target", "the part"


def possible_forms(frame: pd.DataFrame, named: bool, any_form: bool) -> list[str]:
    """The forms that can hold a frame; `any_form` says whether the model takes them all.

    They do not depend on what is installed: then no case does.
    """
    forms = ["pandas"] * 2 + (["shuffled"] * 2 if named else [])
    numeric = all(dtype.kind in "biuf" for dtype in frame.dtypes)
    if numeric and not named:
        forms += ["array", "fortran", "strided", "list"]
        forms += ["sparse"] if any_form and not np.isinf(frame.to_numpy(float)).any() else []
    if any(
        dtype.kind == "O" and not isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)
        for dtype in frame.dtypes
    ):
        return forms
    category = any(isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes)
    if not category:
        forms += ["parquet", "frames"] + (["pyarrow"] if any_form else [])
    if any_form and not category:
        forms.append("polars")
    return forms


def is_possible(form: str) -> bool:
    """Whether the library of a form is installed."""
    needs = {"parquet": "pyarrow", "pyarrow": "pyarrow", "polars": "polars"}
    return form not in needs or find_spec(needs[form]) is not None


def as_form(
    form: str,
    rng: np.random.Generator,
    frame: pd.DataFrame,
    y: Any,
    by: Any,
    folder: Path,
    pipeline: bool,
) -> tuple[Any, Any, Any, pd.DataFrame]:
    """Rows, target and parts as they are passed, and the frame that holds the very same values."""
    if form == "pandas":
        return frame, y, by, frame
    if form == "shuffled":
        return frame[list(rng.permutation(frame.columns))], y, by, frame
    if form == "polars":
        import polars

        if pipeline and any(
            frame[name].dtype.kind == "O" and frame[name].hasnans for name in frame
        ):
            return frame, y, by, frame  # its missing words are not those of pandas to an encoder
        if pipeline:
            # scikit-learn itself takes other steps for narrow numbers of polars than of pandas.
            wide = {name: float for name in frame if frame[name].dtype.kind in "biuf"}
            frame = frame.astype(wide)
        return polars.from_pandas(frame, nan_to_null=False), y, by, _with_none(frame)
    if form == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False), y, by, frame
    if form in ("parquet", "frames"):
        whole = frame.assign(**{TARGET: y})
        if by is not None and not isinstance(by, str):
            whole[PART], by = by, PART
        if form == "frames":
            cut = int(rng.integers(1, len(whole)))
            return [whole[:cut], whole[cut:]], TARGET, by, frame
        path = folder / "rows.parquet"
        whole.to_parquet(path, row_group_size=int(rng.integers(10, 100)))
        return str(path), TARGET, by, frame
    numbers = frame.to_numpy(dtype=np.result_type(*frame.dtypes, np.float32))
    frame = pd.DataFrame(numbers, columns=frame.columns)
    if form == "fortran":
        return np.asfortranarray(numbers), y, by, frame
    if form == "strided":
        wide = np.full((2 * len(numbers), 2 * numbers.shape[1]), 7.0, dtype=numbers.dtype)
        wide[::2, ::-2] = numbers
        return wide[::2, ::-2], y, by, frame
    if form == "list":
        frame = frame.astype(np.float64)
        return frame.to_numpy().tolist(), y, by, frame
    if form == "sparse":
        kept = sp.csr_array(numbers)  # -0.0 becomes 0.0
        return kept, y, by, pd.DataFrame(kept.toarray(), columns=frame.columns)
    return numbers, y, by, frame


def _with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with missing words as None, which is what polars hands to a model."""
    words = [name for name in frame if isinstance(frame[name].dtype, pd.StringDtype)]
    objects = {name: frame[name].astype(object).where(frame[name].notna(), None) for name in words}
    return frame.assign(**objects)
