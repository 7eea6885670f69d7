"""What the results of all comparisons share: settings, caveats, JSON, text.

A comparison describes itself as sentences and grids of text. Summary, page, Markdown and program
are views of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from sfit._document import blame_document, read, record_from, storable, texts, write
from sfit._layout import WIDTH, Line, wrapped
from sfit._reported import Reported
from sfit._summary_lines import caveat_lines
from sfit._text import listed, number, printable
from sfit.compare._grid import Grid, grid_lines


@dataclass(frozen=True)
class ComparisonSettings:
    """The arguments of a comparison, as far as they can be stored as text and numbers."""

    n_rows: int
    n_clusters: int | None
    """Number of clusters, which are the units; None: every row is a unit."""
    loss: str
    alpha: float
    correction: str | None
    reference: str
    reference_origin: str
    given: tuple[str, ...]
    always_on: tuple[str, ...]
    seed: int
    n_draws: int
    """Random flips or permutations, the observed one included."""

    @property
    def units(self) -> str:
        """What the tests count."""
        return "rows" if self.n_clusters is None else "clusters"


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Reported, ABC):
    """A frozen result; every kind of comparison adds its records."""

    RECORDS: ClassVar[Mapping[str, type]] = {}
    """The fields that hold records, and the type of these."""

    METHOD: ClassVar[str]
    """How the tests work and who described them, for the last line of the page."""

    settings: ComparisonSettings
    caveats: tuple[str, ...] = ()
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        """Equal if everything but `run` is equal; NaN equals NaN."""
        if type(other) is not type(self):
            return NotImplemented
        return bool(storable(self._content()) == storable(other._content()))

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.settings))

    # --- what a kind of comparison says about itself ---------------------------------------

    @property
    @abstractmethod
    def title(self) -> str:
        """The heading of the page."""

    @abstractmethod
    def findings(self) -> list[str]:
        """The finding in sentences, the most important first.

        Returns
        -------
        list of str
            One sentence each.
        """

    @abstractmethod
    def grids(self) -> list[Grid]:
        """The tables, the most important first.

        Returns
        -------
        list of Grid
            Tables of text.
        """

    @abstractmethod
    def reading(self) -> list[tuple[str, str]]:
        """The terms of the tables and their meanings; which guarantee holds is one of them.

        Returns
        -------
        list of (str, str)
            Terms and their meanings.
        """

    @abstractmethod
    def displays(self) -> list[Any]:
        """The pictures of the page, not drawn yet; see `sfit.plotting`."""

    def check(self) -> None:
        """Raise ValueError if the fields of a stored result contradict each other."""

    # --- views -----------------------------------------------------------------------------

    def facts(self) -> list[tuple[str, str]]:
        """The settings in a few words.

        Returns
        -------
        list of (str, str)
            Labels and texts.
        """
        s = self.settings
        given = "the rest" if s.given == ("rest",) else listed(s.given)
        return [
            ("Rows", f"{s.n_rows:,}"),
            *([] if s.n_clusters is None else [("Clusters", f"{s.n_clusters:,}")]),
            ("Loss", printable(s.loss)),
            ("alpha", number(s.alpha)),
            ("Correction", s.correction or "none"),
            *([("Given", given)] if s.given else []),
            ("Reference", printable(f"{s.reference} ({s.reference_origin})")),
            ("Draws", f"{s.n_draws:,}"),
            ("Seed", str(s.seed)),
        ]

    def summary(self) -> str:
        """The result as text, for a terminal or a notebook.

        Returns
        -------
        str
            The findings, the tables, the caveats and the settings, in lines of at most 80 columns.
        """
        return "\n".join(line.text for line in self._lines())

    def _lines(self, width: int = WIDTH) -> list[Line]:
        """The summary, in lines of at most `width` columns."""
        facts = "; ".join(f"{name}: {text}" for name, text in self.facts())
        lines = [
            Line(line, "" if place else "title")
            for place, sentence in enumerate(self.findings())
            for line in wrapped(printable(sentence), width)
        ]
        for grid in self.grids():
            lines += [Line(""), *grid_lines(grid, width)]
        lines += [Line(""), *caveat_lines(self.caveats, width)] if self.caveats else []
        return [*lines, Line(""), *(Line(line, "dim") for line in wrapped(facts, width))]

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the result as JSON; the part `result` is identical, byte for byte, for equal runs.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The JSON.
        """
        return write(type(self).__name__, self._content(), self.run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a result from a file, or from the text that `to_json` returned.

        Parameters
        ----------
        source : path or str
            The file, or the JSON itself.

        Returns
        -------
        Comparison
            Equal to the result that was written.
        """
        content, run = read(source, cls.__name__)
        with blame_document():
            result = cls(
                settings=record_from(ComparisonSettings, content["settings"]),
                caveats=texts(content["caveats"]),
                run=run,
                **cls._stored_fields(content),
            )
            result.check()
            return result

    @classmethod
    def _stored_fields(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that this kind of comparison adds: records, and lists of names."""
        shared = {one.name for one in fields(Comparison)}
        own = [one.name for one in fields(cls) if one.name not in shared]
        return {
            name: (
                tuple(record_from(cls.RECORDS[name], one) for one in content[name])
                if name in cls.RECORDS
                else texts(content[name])
            )
            for name in own
        }

    def _content(self) -> dict[str, Any]:
        return {
            one.name: (
                [asdict(record) for record in getattr(self, one.name)]
                if one.name in self.RECORDS
                else asdict(self.settings)
                if one.name == "settings"
                else getattr(self, one.name)
            )
            for one in fields(self)
            if one.name != "run"
        }


def frame_of(records: Sequence[Any], kind: type) -> pd.DataFrame:
    """One row per record, one column per field."""
    names = [one.name for one in fields(kind)]
    rows = [tuple(getattr(record, name) for name in names) for record in records]
    return pd.DataFrame(rows, columns=names)


def lost_of(records: Sequence[Any], settings: ComparisonSettings) -> tuple[bool, ...]:
    """Whether each record is significant only without the correction."""
    return tuple(
        settings.correction is not None
        and not one.significant
        and one.p_value is not None
        and one.p_value < settings.alpha
        for one in records
    )
