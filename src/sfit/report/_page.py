"""The report of a result as one self-contained page, and as Markdown."""

from __future__ import annotations

from typing import Any

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit.compare import Comparison
from sfit.plotting import PartsDisplay
from sfit.report._comparison import describe_comparison
from sfit.report._describe import describe
from sfit.report._drawing import Drawing, draw
from sfit.report._figures import displays
from sfit.report._ignored import fold_ignored
from sfit.report._templates import render_markdown, render_page

MOST_PARTS_IN_FULL = 6
"""With more parts, each part gets its importance plot only, to keep the page small."""


AnyResult = SFITResult | PartitionedResult | Comparison


def as_page(result: AnyResult) -> str:
    """The whole report as HTML."""
    report = _described(result)
    most = None if len(report["parts"]) <= MOST_PARTS_IN_FULL else 1
    for part, drawn in zip(report["parts"], _pictures(result, most), strict=True):
        part["figures"] = drawn
    overview = draw(PartsDisplay(result), "all") if isinstance(result, PartitionedResult) else None
    return render_page("page.html.jinja", {**report, "overview": overview})


def as_markdown(result: AnyResult) -> str:
    """The report as Markdown, without pictures."""
    return render_markdown("page.md.jinja", _described(result))


def _described(result: AnyResult) -> dict[str, Any]:
    if isinstance(result, Comparison):
        return describe_comparison(result)
    report = describe(result)
    for part in report["parts"]:
        part["tables"] = fold_ignored(part["tables"])
    return report


def _pictures(result: AnyResult, most: int | None) -> list[list[Drawing]]:
    """The first pictures of each part; all of them if `most` is None."""
    if isinstance(result, Comparison):
        parts = [list(result.displays())]
    elif isinstance(result, PartitionedResult):
        parts = [displays(part) for _, part in result.parts]
    else:
        parts = [displays(result)]
    return [
        [draw(display, f"p{number}-{place}") for place, display in enumerate(part[:most], 1)]
        for number, part in enumerate(parts, 1)
    ]
