"""Which sets the permutation test can test over features that are already revealed.

Predictions may be re-matched only among rows that agree in every revealed feature. So what the base
of a contrast reveals decides: nothing, or discrete features with few combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sfit._contrast import Contrast, Term
from sfit._features import Features
from sfit.rows import Rows, every_tile, strata_of

MOST_STRATA = 20
"""Largest number of distinct combinations of discrete features."""

NAMES = 6
"""Sets that a sentence names; it counts the others."""

REMEDY = (
    "Use test='sign', which can be asked over any features; give discrete features with at most "
    f"{MOST_STRATA} combinations of values; or ask another question, without these features."
)

TOO_MANY = (
    f"rows are re-matched only if they agree in every given feature, and more than {MOST_STRATA} "
    "distinct combinations leave too few such rows. Merge rare values in the data and fit the "
    f"model to these. {REMEDY}"
)

NO_TEST = (
    "hardly any rows agree in features that take many values, and no valid permutation test is "
    "known without a model of the features (Shah and Peters 2020: no test of conditional "
    f"independence is valid for all continuous distributions). {REMEDY}"
)


DEPENDENT = (
    "rows that depend on each other change places as whole clusters, or along time, which moves "
    "given features with them. Use test='sign', with clusters if need be; or ask another question, "
    "without these features."
)


class Kind(Enum):
    """What some revealed columns are together."""

    STRATA = "strata"
    """Few distinct combinations."""
    WORDS = "words"
    """Many distinct combinations of columns that have few values, or that cannot be ordered."""
    CONTINUOUS = "continuous"
    """One numeric column with many values."""
    SEVERAL = "several"
    """Columns with many values, and more than one column."""


@dataclass(frozen=True)
class Conditions:
    """What the bases of contrasts reveal; looks at the rows once for each new set of columns."""

    features: Features
    rows: Rows
    categorical: frozenset[int]
    """Columns whose numbers are categories without an order."""
    dependent: bool = False
    """Whether rows depend on each other, within clusters or in time."""
    kinds: dict[tuple[int, ...], Kind] = field(default_factory=dict)

    def refusals(self, contrasts: Sequence[Contrast]) -> list[str | None]:
        """For each contrast, why no valid permutation test is known; None if there is one."""
        bases = [contrast.base.visible(self.features.everything) for contrast in contrasts]
        if self.dependent:
            return [self.refusal_of(base) for base in bases]
        self._look({tuple(self.features.shown(base)) for base in bases} - {()})
        return [self.refusal_of(base) for base in bases]

    def refusal_of(self, base: Term) -> str | None:
        """Why no valid permutation test over some features is known; None if there is one."""
        columns = tuple(self.features.shown(base))
        if not columns:
            return None
        if self.dependent:
            return DEPENDENT
        if columns not in self.kinds:
            self._look([columns])
        kind = self.kinds[columns]
        if kind is Kind.STRATA:
            return None
        return TOO_MANY if kind is Kind.WORDS else NO_TEST

    def _look(self, wanted: Iterable[tuple[int, ...]]) -> None:
        """Count the distinct combinations of some columns, and of each column by itself."""
        singles = {(column,) for columns in wanted for column in columns}
        pending = {columns for columns in {*wanted, *singles} if columns not in self.kinds}
        names: dict[tuple[int, ...], set[int]] = {columns: set() for columns in pending}
        for tile in every_tile(self.rows) if pending else ():
            for columns in sorted(pending):
                strata = strata_of(tile.X, columns, MOST_STRATA)
                if strata is not None:
                    names[columns].update(strata.names.tolist())
                if strata is None or len(names[columns]) > MOST_STRATA:
                    pending.discard(columns)
            if not pending:
                break
        for columns in sorted(names, key=len):
            self.kinds[columns] = Kind.STRATA if columns in pending else self._many(columns)

    def _many(self, columns: tuple[int, ...]) -> Kind:
        """The kind of columns with more combinations than strata are allowed."""
        if len(columns) == 1:
            [column] = columns
            unordered = column in self.categorical or np.isnan(self.features.spans[column][0])
            return Kind.WORDS if unordered else Kind.CONTINUOUS
        kinds = {self.kinds[column,] for column in columns}
        return Kind.SEVERAL if Kind.CONTINUOUS in kinds else Kind.WORDS


def not_tested(features: Features, left_out: Sequence[tuple[Contrast, str]]) -> list[str]:
    """Sentences about sets that were left out, one for each reason."""
    by_reason: dict[str, list[str]] = {}
    for contrast, reason in left_out:
        base = features.named(contrast.base.visible(features.everything))
        text = f"{' and '.join(features.named(contrast.term))} over {' and '.join(base)}"
        by_reason.setdefault(reason, []).append(text)
    texts = []
    for reason, sets in by_reason.items():
        more = f" and {len(sets) - NAMES} more" if len(sets) > NAMES else ""
        texts.append(f"not tested: {', '.join(sets[:NAMES])}{more}: {reason}")
    return texts
