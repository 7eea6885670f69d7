"""A result in a notebook: its table, and the importance plot if matplotlib is installed."""

from __future__ import annotations

from importlib.util import find_spec

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._summary import as_html, escaped
from sfit._text import printable

WIDTH = 7.0


def for_notebook(result: SFITResult | PartitionedResult) -> str:
    """HTML that follows the notebook's style, light or dark."""
    if isinstance(result, PartitionedResult):
        tables = [
            f"<h4>{escaped(printable(f'{result.by} = {label}'))}</h4>{as_html(part)}"
            for label, part in result.parts
        ]
        return "".join([_picture(result), *tables])
    return as_html(result) + _picture(result)


def _picture(result: SFITResult | PartitionedResult) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from sfit.report._figures import importance, parts_side_by_side

    if isinstance(result, PartitionedResult):
        return parts_side_by_side(result, "sfit-parts", WIDTH).svg
    return importance(result, "sfit-importance", WIDTH).svg if result.tests else ""
