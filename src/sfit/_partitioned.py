"""One result per class or subgroup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sfit._document import as_written, read, save, write
from sfit._result import SFITResult


@dataclass(frozen=True)
class PartitionedResult(Mapping[Any, SFITResult]):
    """One result per class or subgroup (section 2.4): a mapping from the part to its result.

    Each part is a procedure and a family of tests of its own; the reference values are those of all
    rows.
    """

    parts: tuple[tuple[Any, SFITResult], ...]
    by: str

    def __getitem__(self, part: Any) -> SFITResult:
        for label, result in self.parts:
            if label == part:
                return result
        raise KeyError(part)

    def __iter__(self) -> Iterator[Any]:
        return (label for label, _ in self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def table(self) -> pd.DataFrame:
        """The tables of all parts, with `part` as first column."""
        return _stack([(label, result.table) for label, result in self.parts])

    @property
    def features(self) -> pd.DataFrame:
        """The features of all parts, with `part` as first column."""
        return _stack([(label, result.features) for label, result in self.parts])

    def at(self, *, alpha: float | None = None, correction: Any = "unchanged") -> PartitionedResult:
        """Decide every part again; see `SFITResult.at`."""
        parts = tuple(
            (label, result.at(alpha=alpha, correction=correction)) for label, result in self.parts
        )
        return replace(self, parts=parts)

    def summary(self) -> str:
        """The summaries of all parts, one below the other."""
        return "\n\n".join(
            f"{self.by} = {label}\n{result.summary()}" for label, result in self.parts
        )

    def __str__(self) -> str:
        return self.summary()

    def plot(self, ax: Any = None) -> Any:
        """Draw the first-order tests of all parts side by side; returns the `PartsDisplay`."""
        from sfit.plotting import PartsDisplay

        return PartsDisplay.from_result(self, ax=ax)

    def _repr_html_(self) -> str:
        from sfit.report import for_notebook

        return for_notebook(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Write a report of all parts: one page that needs nothing else."""
        from sfit.report import as_page

        return save(as_page(self), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the report of all parts as Markdown, without pictures."""
        from sfit.report import as_markdown

        return save(as_markdown(self), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the results of all parts as JSON."""
        parts = [{"part": label, **result._content()} for label, result in self.parts]
        run = self.parts[0][1].run
        return write("PartitionedResult", {"by": self.by, "parts": parts}, run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> PartitionedResult:
        """Read results from a file, or from the text that `to_json` returned."""
        content, run = read(source, "PartitionedResult")
        with as_written():
            parts = tuple((p["part"], SFITResult._from_content(p, run)) for p in content["parts"])
            return cls(parts, content["by"])


def _stack(frames: Sequence[tuple[Any, pd.DataFrame]]) -> pd.DataFrame:
    parts = [frame.assign(part=label)[["part", *frame.columns]] for label, frame in frames]
    return pd.concat(parts, ignore_index=True)
