"""The numbers and the settings of a result that a log of runs keeps, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sfit._export._cells import plain
from sfit._export._tables import AnyResult
from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit.compare import Comparison


def metrics_of(result: AnyResult) -> dict[str, float]:
    """The numbers of a result as a whole; those of single features are in its tables."""
    if isinstance(result, Comparison):
        grids = result.grids()
        marked = {  # "n_significant", for example
            f"n_{mark}": sum(sum(grid.marked) for grid in grids if grid.mark == mark)
            for mark in dict.fromkeys(grid.mark for grid in grids)
        }
        return {"n_rows": result.settings.n_rows, **marked}
    if isinstance(result, PartitionedResult):
        numbers: dict[str, float] = {"n_parts": len(result)}
        for label, part in result.parts:
            numbers |= {f"{name} ({label})": n for name, n in _of_result(part).items()}
        return numbers
    return _of_result(result)


def _of_result(result: SFITResult) -> dict[str, float]:
    numbers: dict[str, float] = {
        "n_rows": result.settings.n_rows,
        "n_features": len(result.feature_names),
        "n_significant_features": len(result.selected),
        "n_sets": len(result.tests),
        "n_significant_sets": sum(test.significant for test in result.tests),
    }
    if result.gates:
        last = result.gates[-1]
        numbers |= {"loss_found": last.loss_found, "loss_full": last.loss_full}
        numbers["gate_open"] = int(last.is_open)
    return numbers


def params_of(result: AnyResult) -> dict[str, str]:
    """The settings as text; those of the first part, if there are parts."""
    first = result.parts[0][1] if isinstance(result, PartitionedResult) else result
    by = {"by": result.by} if isinstance(result, PartitionedResult) else {}
    settings: Mapping[str, Any] = {**by, **asdict(first.settings)}
    of_part = ("n_rows", "n_clusters", "coverage") if by else ()
    return {name: _text(value) for name, value in settings.items() if name not in of_part}


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "none"
    text = plain(value)
    return "none" if text is None else str(text)
