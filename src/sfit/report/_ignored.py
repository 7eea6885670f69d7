"""Features that change no prediction: one line below the first table, and no rows."""

from __future__ import annotations

from typing import Any

Table = dict[str, Any]


def fold_ignored(tables: list[Table]) -> list[Table]:
    """Tables of the same sets without the single features that move no row.

    Sets stay, because they can move no row although each member does. If nothing else is in the
    tables, everything stays.
    """
    ignored = {place for table in tables for place in _ignored(table)}
    if not ignored or len(ignored) == len(tables[0]["rows"]):
        return tables
    names = [_cells(tables[0]["rows"][place])["term"]["text"] for place in sorted(ignored)]
    title = (
        "Revealing this feature changes no prediction"
        if len(names) == 1
        else f"Revealing one of these {len(names):,} features changes no prediction"
    )
    first, *others = (
        table | {"rows": [row for place, row in enumerate(table["rows"]) if place not in ignored]}
        for table in tables
    )
    return [first | {"folded": {"title": title, "names": names}}, *others]


def _ignored(table: Table) -> list[int]:
    if not any(column["key"] == "share_moved" for column in table["columns"]):
        return []
    return [
        place
        for place, row in enumerate(table["rows"])
        if not row["marked"]
        and _cells(row)["order"]["value"] == "1"
        and _cells(row)["share_moved"]["value"] == "0"
    ]


def _cells(row: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {cell["key"]: cell for cell in row["cells"]}
