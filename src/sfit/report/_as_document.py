"""The report of a result as a document: the same content as its page, in blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit.compare import Comparison
from sfit.plotting import PartsDisplay
from sfit.report._blocks import (
    Block,
    Cell,
    Document,
    Facts,
    Items,
    Kind,
    Picture,
    Section,
    Table,
    Text,
)
from sfit.report._comparison import describe_comparison
from sfit.report._describe import describe
from sfit.report._figures import displays

AnyResult = SFITResult | PartitionedResult | Comparison

TEST_KEYS = ("tests", "losses")
"""The names of the two tables of a test, in their order."""
MOST_PARTS_IN_FULL = 6
"""With more parts, each part has its first picture only."""

KINDS: Mapping[str, Kind] = {
    "head": "name",
    "name": "name",
    "number": "number",
    "verdict": "verdict",
}


def as_document(result: AnyResult) -> Document:
    """The report as sections of blocks; the pictures are not drawn yet."""
    report = _described(result)
    pictures = _pictures(result)
    several = len(report["parts"]) > 1
    keys = () if isinstance(result, Comparison) else TEST_KEYS
    return Document(
        title=report["title"],
        subtitle=" · ".join(f"{name} {value}" for name, value in _made_with(report["versions"])),
        sections=(
            Section("Finding", "finding", (*_sentences(report["finding"]), *_overview(result))),
            Section("Key figures", "figures", (Facts(tuple(report["figures"])),)),
            *_caveat_section(report["caveats"]),
            *(
                _part(
                    part, drawn if len(pictures) <= MOST_PARTS_IN_FULL else drawn[:1], keys, place
                )
                for place, (part, drawn) in enumerate(
                    zip(report["parts"], pictures, strict=True), int(several)
                )
            ),
            Section("How to read this", "reading", (Facts(tuple(report["reading"])),), True),
            Section("How it was made", "settings", tuple(_made(report)), True),
        ),
        footer=report["title"],
    )


def caveats_of(result: AnyResult) -> list[str]:
    """The caveats that the report of a result shows."""
    return list(_described(result)["caveats"])


def _described(result: AnyResult) -> dict[str, Any]:
    return describe_comparison(result) if isinstance(result, Comparison) else describe(result)


def _sentences(sentences: Sequence[str]) -> list[Block]:
    first, rest = sentences[:1], " ".join(sentences[1:])
    return [*(Text(one, "finding") for one in first), *([Text(rest)] if rest else [])]


def _caveat_section(caveats: Sequence[str]) -> list[Section]:
    return [Section("Keep in mind", "caveats", (Items(tuple(caveats)),))] if caveats else []


def _part(
    part: Mapping[str, Any], pictures: Sequence[Picture], keys: Sequence[str], place: int
) -> Section:
    """One part, or the whole result if it has no parts (`place` 0)."""
    suffix = f"_{place}" if place else ""
    tables = [
        _table(table, f"{keys[at] if at < len(keys) else _key(table['title'])}{suffix}")
        for at, table in enumerate(part["tables"])
    ]
    gates = [_gates(part["gates"], f"gates{suffix}")] if part["gates"] else []
    blocks = (*_sentences(part["finding"]), *pictures, *tables, *gates)
    return Section(part["label"] or "Tests", f"part{suffix}", blocks)


def _key(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_") or "table"


def _table(table: Mapping[str, Any], key: str) -> Table:
    rows = table["rows"]
    return Table(
        title=table["title"],
        key=key,
        head=tuple(column["title"] for column in table["columns"]),
        kinds=tuple(KINDS[column["kind"]] for column in table["columns"]),
        rows=tuple(
            tuple(Cell(cell["text"], cell["value"]) for cell in row["cells"]) for row in rows
        ),
        marked=tuple(row["marked"] for row in rows),
        mark=table["mark"],
        notes=tuple(table["notes"]),
        searchable=True,
    )


def _gates(gates: Sequence[Mapping[str, str]], key: str) -> Table:
    columns: dict[str, tuple[str, Kind]] = {
        "after_order": ("After order", "name"),
        "found": ("Found so far", "name"),
        "statistic": (gates[0]["estimate"], "number"),
        "n_positive": ("Rows improved", "number"),
        "p_value": ("p-value", "number"),
        "loss_found": ("Mean loss with those found", "number"),
        "loss_full": ("with all", "number"),
        "verdict": ("Gate", "verdict"),
    }
    return Table(
        title="Gates",
        key=key,
        head=tuple(title for title, _ in columns.values()),
        kinds=tuple(kind for _, kind in columns.values()),
        rows=tuple(tuple(Cell(gate[name]) for name in columns) for gate in gates),
    )


def _made(report: Mapping[str, Any]) -> list[Block]:
    """Settings, the time of each stage, the versions, and the method."""
    blocks: list[Block] = [Facts(tuple(report["settings"]))]
    if report["stages"]:
        rows = tuple(tuple(map(Cell, stage)) for stage in report["stages"])
        kinds: tuple[Kind, ...] = ("name", "name", "number")
        blocks.append(Table("Stages", "stages", ("Stage", "Route", "Time"), kinds, rows))
    if report["versions"]:
        blocks.append(Facts(tuple(report["versions"]), "Versions"))
    return [*blocks, Text(report["method"], "note")]


def _made_with(versions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in versions if pair[0] == "sfit"]


# --- pictures ---------------------------------------------------------------------------


def _overview(result: AnyResult) -> list[Block]:
    """All parts side by side."""
    return [Picture(PartsDisplay(result))] if isinstance(result, PartitionedResult) else []


def _pictures(result: AnyResult) -> list[list[Picture]]:
    """The pictures of each part."""
    if isinstance(result, Comparison):
        return [[Picture(display) for display in result.displays()]]
    parts = [one for _, one in result.parts] if isinstance(result, PartitionedResult) else [result]
    return [[Picture(display) for display in displays(part)] for part in parts]
