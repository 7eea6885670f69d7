"""One result per class or subgroup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sfit._document import blame_document, brief, read, write
from sfit._layout import WIDTH, Line, wrapped
from sfit._reported import Reported
from sfit._result import SFITResult
from sfit._set_tests import GateTest
from sfit._summary_lines import Bars, as_lines, caveat_lines
from sfit._text import listed, printable


@dataclass(frozen=True)
class PartitionedResult(Reported, Mapping[Any, SFITResult]):
    r"""One result per class or subgroup (section 2.4): a mapping from the part to its result.

    Each part has its own procedure and family of tests; the reference values are those of all rows.

    Attributes
    ----------
    parts : tuple of (label, SFITResult)
        The parts, in the order of their labels.
    by : str
        Name of the column or labels that divide the rows.

    See Also
    --------
    feature_significance : The call that returns it, with `by`.
    compare_parts : Test whether the parts differ.

    Notes
    -----
    Part g uses the differences :math:`\Delta_i` of its held-out rows,
    :math:`i \in \mathcal{D}_2^{(g)}` (section 2.4 of the paper).

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(10_000, random_state=0)
    >>> half = ["upper" if value > 0 else "lower" for value in X["X6"]]
    >>> parts = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=half)
    >>> {label: part.selected for label, part in parts.items()}
    {'lower': ('X1', 'X3'), 'upper': ('X1', 'X3')}
    >>> parts.table.groupby("part")["significant"].sum().to_dict()
    {'lower': 2, 'upper': 2}
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
    def _names(self) -> tuple[str, ...]:
        """The name of each part: what divides the rows, and the value that the part has."""
        return tuple(printable(f"{self.by} = {label}") for label, _ in self.parts)

    @property
    def titles(self) -> tuple[str, ...]:
        """The name and the number of rows of each part."""
        sizes = (result.settings for _, result in self.parts)
        return tuple(
            f"{name} ({size.n_rows:,} {'row' if size.n_rows == 1 else 'rows'})"
            for name, size in zip(self._names, sizes, strict=True)
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """The caveats of all parts, each once; those that not all parts share name their parts."""
        parts_of: dict[str, list[str]] = {}
        for name, (_, result) in zip(self._names, self.parts, strict=True):
            for caveat in result.caveats:
                parts_of.setdefault(caveat, []).append(name)
        return tuple(
            caveat if len(names) == len(self.parts) else f"{listed(names, 4)}: {caveat}"
            for caveat, names in parts_of.items()
        )

    @property
    def table(self) -> pd.DataFrame:
        """The tables of all parts, with `part` as first column."""
        return _stack([(label, result.table) for label, result in self.parts])

    @property
    def features(self) -> pd.DataFrame:
        """The features of all parts, with `part` as first column."""
        return _stack([(label, result.features) for label, result in self.parts])

    @property
    def gates(self) -> dict[Any, tuple[GateTest, ...]]:
        """The gates of each part: after each order, whether the other features improve further."""
        return {label: result.gates for label, result in self.parts}

    def at(self, *, alpha: float | None = None, correction: Any = "unchanged") -> PartitionedResult:
        """Decide every part again; see `SFITResult.at`.

        Parameters
        ----------
        alpha : float, optional
            The new level.
        correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, optional
            The new correction, within each part.

        Returns
        -------
        PartitionedResult
            The same evidence, decided again.
        """
        parts = tuple(
            (label, result.at(alpha=alpha, correction=correction)) for label, result in self.parts
        )
        return replace(self, parts=parts)

    def summary(self) -> str:
        """The summaries of all parts, one below the other.

        Returns
        -------
        str
            As `SFITResult.summary`, each below the title of its part; the caveats of all parts are
            last.
        """
        return "\n".join(line.text for line in self._lines())

    def _lines(self, width: int = WIDTH, bars: Bars | None = None) -> list[Line]:
        """The parts, each below its title, and the caveats of all parts."""
        lines = []
        for title, (_, result) in zip(self.titles, self.parts, strict=True):
            lines += [Line(line, "title") for line in wrapped(title, width)]
            lines += [*as_lines(result, width, bars), Line("")]
        return [*lines, *caveat_lines(self.caveats, width)] if self.caveats else lines[:-1]

    def plot(self, ax: Any = None) -> Any:
        """Draw the first-order tests of all parts side by side.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        PartsDisplay
            The display, drawn.
        """
        from sfit.plotting import PartsDisplay

        return PartsDisplay.from_result(self, ax=ax)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the results of all parts as JSON.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The JSON.
        """
        return write("PartitionedResult", self._content(), self.parts[0][1].run, path)

    def _content(self) -> dict[str, Any]:
        parts = [{"part": label, **result._content()} for label, result in self.parts]
        return {"by": self.by, "parts": parts}

    @classmethod
    def from_json(cls, source: str | Path) -> PartitionedResult:
        """Read results from a file, or from the text that `to_json` returned.

        Parameters
        ----------
        source : path or str
            The file, or the JSON itself.

        Returns
        -------
        PartitionedResult
            Equal to the result that was written.
        """
        content, run = read(source, "PartitionedResult")
        with blame_document():
            return cls._from_content(content, run)

    @classmethod
    def _from_content(cls, content: Mapping[str, Any], run: dict[str, Any]) -> PartitionedResult:
        parts = tuple((p["part"], SFITResult._from_content(p, run)) for p in content["parts"])
        by, labels = content["by"], [label for label, _ in parts]
        if not isinstance(by, str):
            raise TypeError(f"by must be text, not {brief(by)}")
        if not labels or not all(isinstance(label, str | int | float) for label in labels):
            raise TypeError(
                f"parts need plain labels, and there must be at least one: {brief(labels)}"
            )
        return cls(parts, by)


def _stack(frames: Sequence[tuple[Any, pd.DataFrame]]) -> pd.DataFrame:
    parts = [frame.assign(part=label)[["part", *frame.columns]] for label, frame in frames]
    return pd.concat(parts, ignore_index=True)
