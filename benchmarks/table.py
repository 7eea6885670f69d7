"""The records of a run, looked up by size and method."""

from __future__ import annotations

from typing import Any

from cases import NETWORKS

Size = tuple[str, str, int, int]  # kind, model, rows, features
Record = dict[str, Any]

PEERS = ("permutation_importance", "hidimstat PFI", "hidimstat LOCO", "shap", "sage")
METHODS = ("ours", "plain loop", *PEERS)


class Table:
    """Answers questions about the records; what was not measured is None."""

    def __init__(self, results: dict[str, Any]):
        self.plan = results["sizes"]
        self.records: list[Record] = results["records"]
        self.by_key = {(*_size(record), record["method"]): record for record in self.records}

    def find(self, size: Size, method: str, *, failed: bool = False) -> Record | None:
        record = self.by_key.get((*size, method))
        return record if record and (failed or "error" not in record) else None

    def passes(self, size: Size, method: str) -> float | None:
        record = self.find(size, method)
        return record["passes"] if record else None

    def seconds(self, size: Size, method: str) -> float | None:
        record = self.find(size, method)
        return record["seconds"] if record else None

    def ours(self, size: Size, what: str = "passes") -> float | None:
        """The better of the default and two workers."""
        found = [self.find(size, method) for method in ("ours", "ours, n_jobs=2")]
        return min((record[what] for record in found if record), default=None)

    def whole(self, size: Size) -> float | None:
        """Ours with the gate."""
        return self.ours(size, "whole")

    def sizes(self, kind: str) -> list[Size]:
        """Sizes of a kind in the order they were measured, those that were left out too."""
        return list(dict.fromkeys(_size(r) for r in self.records if r["kind"] == kind))

    def models(self) -> list[str]:
        return list(dict.fromkeys(model for _, model, _, _ in self.sizes("first order")))

    def middle_features(self, model: str) -> int:
        return self.plan["network_features"] if model in NETWORKS else self.plan["features"][1]

    def central(self) -> list[Size]:
        """Each model at the middle number of rows and features."""
        rows = self.plan["rows"][1]
        sizes = [("first order", m, rows, self.middle_features(m)) for m in self.models()]
        return [size for size in sizes if self.find(size, "ours")]

    def growth(self, model: str, what: str, method: str) -> list[tuple[int, float]]:
        """(rows or features, seconds), the other held at its middle."""
        fixed = {"rows": self.middle_features(model), "features": self.plan["rows"][1]}[what]
        points = []
        for size in self.sizes("first order"):
            _, name, rows, features = size
            at, other = (rows, features) if what == "rows" else (features, rows)
            seconds = self.seconds(size, method)
            if name == model and other == fixed and seconds:
                points.append((at, seconds))
        return sorted(points)

    def failures(self) -> list[Record]:
        errors = (record for record in self.records if "error" in record)
        return [record for record in errors if not record["error"].startswith("does not apply")]

    def why_not(self, size: Size) -> str:
        record = self.find(size, "all", failed=True)
        return record["error"] if record and "error" in record else "not measured"


def _size(record: Record) -> Size:
    return record["kind"], record["model"], record["rows"], record["features"]
