"""What a test must provide, and what it sees of a tile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from sfit._array import Array
from sfit._contrast import Contrast, Losses, Question
from sfit._set_tests import AnySetTest, GateTest


class Predicted(Protocol):
    """The full side of a contrast on the rows of a tile."""

    def by_row(self) -> Array:
        """One prediction per row."""


class Strata(Protocol):
    """Rows that agree in some columns."""

    @property
    def codes(self) -> Array:
        """The stratum of each row, numbered in order of appearance."""

    @property
    def names(self) -> Array:
        """A number for each stratum, the same in every tile."""

    @property
    def blocks(self) -> Array | None:
        """The block of each own row, -1 in a stratum, -2 if it stays; None: rows do not move.

        Own rows that move are followed in the tile by three copies of them, moved by 1, 2 and 3
        places within their blocks.
        """


class Scored(NamedTuple):
    """One tile, seen by a statistic that answers a question."""

    position: int
    """Position of the question among those of the task."""
    question: Question
    losses: Losses
    """Losses of both sides, of the rows of the part.

    Entries may stand for several rows (`losses.counts`), as they do for trees and classes. All
    questions of a tile share the losses of the base, which cannot be written to.
    """
    y: Array
    """Outcomes of all rows of the tile."""
    full: Predicted
    """Predictions of the full side for all rows of the tile."""
    rows: Array | None
    """The rows of the part, as a mask; None: all rows of the tile."""
    tile: int
    """Number of the tile."""
    is_ignored: Callable[[], bool]
    """Whether the full side equals the base on the whole tile, but for rounding."""
    strata: Callable[[], Strata | None]
    """All rows of the tile by the values that the base reveals; None if it reveals nothing."""
    clusters: Array | None = None
    """Number of the cluster of each row of the tile; None: every row is a unit."""


class Statistic(Protocol):
    """Turns the losses of a contrast into evidence: tally tiles, merge, conclude.

    A focus limits what a tally must keep. It narrows as tiles are processed and only saves memory:
    the evidence does not depend on it. The focus of a statistic that keeps everything is None.
    """

    @property
    def ordered(self) -> bool:
        """Whether tallies hold sums of floats, which must be added in the order of the tiles."""

    @property
    def any_function(self) -> bool:
        """Whether the engine may replace predictions by a table of a few of them.

        True only if the test is exact for any function of the revealed values. If in doubt, False.
        """

    @property
    def by_row(self) -> bool:
        """Whether losses must have one entry per row, and must not be counted."""

    @property
    def has_gates(self) -> bool:
        """Whether all features can be tested over those found.

        If so, evidence has `estimate` and `n_positive`.
        """

    def n_numbers(self, question: Question) -> int:
        """Roughly how many numbers a tally holds; 0 if that does not limit memory."""

    def start(self, attempt: int) -> Any:
        """The focus of the first tile; `attempt` counts inconclusive passes."""

    def tally(self, scored: Iterable[Scored], focus: Sequence[Any]) -> dict[int, Any]:
        """The tallies of one tile, by the positions of the questions."""

    def merge(self, question: Question, tallies: Sequence[Any], focus: Any) -> Any:
        """The tally of several tiles; tallies come in tile order."""

    def refocus(self, focus: Any, seen: Any) -> Any:
        """The focus of the next tiles, given the merged tally so far."""

    def conclude(self, question: Question, seen: Any) -> Any:
        """The evidence of all tiles; None requests another pass."""

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""


class Test(Statistic, Protocol):
    """A statistic that a procedure decides with."""

    @property
    def name(self) -> str:
        """The name of the test in a result."""

    @property
    def alpha(self) -> float:
        """The level of the test."""

    @property
    def interval(self) -> str:
        """The kind of interval: "exact" or "asymptotic"."""

    def n_bases(self, order: int) -> int:
        """Over how many bases a true null hypothesis about one set may be tested.

        It counts only what can happen while no earlier rejection is false.
        """

    def p_values(self, evidence: Sequence[Any]) -> Array:
        """The p-value of each piece of evidence."""

    def weakest(self, evidence: Sequence[Any], p_values: Array) -> tuple[int, Any]:
        """Of several contrasts that a set must pass, the position and evidence to report."""

    def record(
        self,
        contrast: Contrast,
        term: tuple[str, ...],
        base: tuple[str, ...],
        evidence: Any,
        p: float,
        adjusted: float,
    ) -> Any:
        """The reported test of a set."""

    def coverage(self, n: int) -> float:
        """Coverage of the interval of n units."""

    def too_few(self, n: int) -> tuple[str, ...]:
        """Caveats about a number of units that is too small for this level."""

    def caveats(self, evidence: Sequence[Any], loss: str) -> tuple[str, ...]:
        """Caveats about the evidence of the first order, which are also warnings."""

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about what the test cannot see; `given`: whether features are given."""
