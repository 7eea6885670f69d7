"""The tables of a result as frames: all numbers, unrounded, under one name each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._set_tests import GateTest
from sfit.compare import Comparison
from sfit.report._as_document import caveats_of

AnyResult = SFITResult | PartitionedResult | Comparison


def tables_of(result: AnyResult) -> dict[str, pd.DataFrame]:
    """Every table of a result, the most important first; tables without rows are left out."""
    if isinstance(result, Comparison):
        tables = {
            name: _frame(getattr(result, name), kind) for name, kind in result.RECORDS.items()
        }
        settings = asdict(result.settings)
    elif isinstance(result, PartitionedResult):
        tables = {
            "tests": result.table,
            "features": result.features,
            "gates": _gates_of_parts(result),
        }
        settings = {"by": result.by, **_settings_of_parts(result)}
    else:
        tables = {
            "tests": result.table,
            "features": result.features,
            "gates": _frame(result.gates, GateTest),
            "folds": result.folds,
        }
        settings = asdict(result.settings)
    tables["settings"] = pd.DataFrame(list(settings.items()), columns=["setting", "value"])
    tables["caveats"] = pd.DataFrame({"caveat": caveats_of(result)}, dtype=object)
    return {name: frame for name, frame in tables.items() if len(frame)}


def _frame(records: Sequence[Any], kind: type) -> pd.DataFrame:
    names = [one.name for one in fields(kind)]
    rows = [tuple(getattr(record, name) for name in names) for record in records]
    return pd.DataFrame(rows, columns=names)


def _gates_of_parts(result: PartitionedResult) -> pd.DataFrame:
    """The gates of all parts, with `part` as first column, as in the other tables."""
    frames = [_frame(part.gates, GateTest) for _, part in result.parts]
    labels = [
        label for (label, _), frame in zip(result.parts, frames, strict=True) for _ in frame.index
    ]
    stacked = pd.concat(frames, ignore_index=True)
    stacked.insert(0, "part", pd.Series(labels, dtype=object))
    return stacked


def _settings_of_parts(result: PartitionedResult) -> dict[str, Any]:
    """The settings that all parts share; those that differ as one entry per part."""
    of_parts = [(label, asdict(part.settings)) for label, part in result.parts]
    settings: dict[str, Any] = {}
    for name, first in of_parts[0][1].items():
        if all(one[name] == first for _, one in of_parts):
            settings[name] = first
        else:
            settings |= {f"{name} ({label})": one[name] for label, one in of_parts}
    return settings
