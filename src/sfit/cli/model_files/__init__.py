"""Model files as model objects, safe by default.

`_formats` recognises a file by its content. Formats that hold data (`_data_formats`) are first
read, checked and tried out in another process under limits (`_rehearsal`), then in this one.
Formats that hold a program (`_programs`) are refused unless the user allows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfit.cli.model_files._data_formats import DATA_FORMATS, find_library, read
from sfit.cli.model_files._formats import FORMATS, recognise
from sfit.cli.model_files._programs import PROGRAMS
from sfit.cli.model_files._rehearsal import rehearsed
from sfit.exceptions import ModelError, SFITError

__all__ = ["load_model"]


def load_model(path: str | Path, *, trust: Sequence[str] = (), allow_pickle: bool = False) -> Any:
    """Read a model file of any supported format.

    Parameters
    ----------
    path : str or Path
        The file.
    trust : sequence of str
        Types to load from a skops file in addition to those on sfit's list.
    allow_pickle : bool, default=False
        Whether to read files that can run any program on loading.

    Returns
    -------
    object
        A model that `sfit.feature_significance` takes.
    """
    path = Path(path)
    if path.is_dir():
        raise ModelError(f"{str(path)!r} is a folder; pass a model file: {FORMATS}.")
    if not path.is_file():
        raise ModelError(f"there is no model file {str(path)!r}.")
    kind = recognise(path)
    if kind in PROGRAMS and not allow_pickle:
        raise ModelError(
            f"{str(path)!r} is {PROGRAMS[kind].name}: such a file can run any program on loading. "
            "If you trust its author, add --allow-pickle; or save the model as .skops or .onnx."
        )
    try:
        if kind in PROGRAMS:
            return PROGRAMS[kind].read(path)
        with rehearsed(kind, path, trust):
            # The import is as slow here as in the other process, so both run at once.
            find_library(kind)
        return read(kind, path, trust)
    except SFITError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        name = (PROGRAMS.get(kind) or DATA_FORMATS[kind]).name
        raise ModelError(
            f"{str(path)!r} cannot be read as {name}, or is damaged ({reason}): save the model "
            "again."
        ) from error
