"""The report of a result as one self-contained page, and as Markdown."""

from __future__ import annotations

from typing import Any

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit.compare import Comparison
from sfit.report._comparison import describe_comparison
from sfit.report._describe import describe
from sfit.report._figures import Figure, figures, figures_of_comparison, parts_side_by_side
from sfit.report._ignored import fold_ignored
from sfit.report._templates import render_markdown, render_page

MOST_PARTS_IN_FULL = 6
"""With more parts, each part gets its importance plot only, to keep the page small."""


AnyResult = SFITResult | PartitionedResult | Comparison


def as_page(result: AnyResult) -> str:
    """The whole report as HTML."""
    report = _described(result)
    for part, drawn in zip(report["parts"], _pictures(result), strict=True):
        part["figures"] = drawn if len(report["parts"]) <= MOST_PARTS_IN_FULL else drawn[:1]
    overview = parts_side_by_side(result, "all") if isinstance(result, PartitionedResult) else None
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


def _pictures(result: AnyResult) -> list[list[Figure]]:
    """The pictures of each part."""
    if isinstance(result, Comparison):
        return [figures_of_comparison(result, "p1")]
    parts = [one for _, one in result.parts] if isinstance(result, PartitionedResult) else [result]
    return [figures(part, f"p{number}") for number, part in enumerate(parts, 1)]
