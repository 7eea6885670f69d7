"""How the permutation test may re-match rows over features that are already revealed.

What the base of a contrast reveals decides. Nothing: all rows. Discrete features with few
combinations: rows that agree in all of them. One continuous feature: rows that are neighbours when
sorted by it, of which only the other features move. No valid test is known for anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from sfit._array import Array
from sfit._contrast import Contrast, Question, Term
from sfit._features import Features
from sfit.rows import HeldRows, Rows, column_numbers, column_of, every_tile, strata_of
from sfit.rows._blocks import BlockRows, held_rows
from sfit.rows._distinct import value_codes

MOST_STRATA = 20
"""Largest number of distinct combinations of discrete features."""

NAMES = 6
"""Sets that a sentence names; it counts the others."""

REMEDY = (
    "Use test='sign' or test='mean', which can be asked over any features; give discrete features "
    f"with at most {MOST_STRATA} combinations of values, or one continuous feature alone; or ask "
    "another question, without these features."
)

TOO_MANY = (
    f"rows are re-matched only if they agree in every given feature, and more than {MOST_STRATA} "
    "distinct combinations leave too few such rows. Merge rare values in the data and fit the "
    f"model to these. {REMEDY}"
)

NO_TEST = (
    "hardly any rows agree in several features of which one takes many values, and no valid "
    "permutation test is known without a model of the features (Shah and Peters 2020: no test of "
    f"conditional independence is valid for all continuous distributions). {REMEDY}"
)

TOO_CLOSE = 0.95
"""Largest rank correlation of a set with a continuous given feature."""

CORRELATION_ROWS = 30
"""Fewest rows of a part that show a correlation; two rows always have one of 1."""

BLOCK_CELLS = 2**27
"""Largest number of rows times columns of rows that are sorted by a continuous given feature."""


DEPENDENT = (
    "rows that depend on each other change places as whole clusters, or along time, which moves "
    "given features with them. Use test='sign' or test='mean', with clusters if need be; or ask "
    "another question, without these features."
)


class Kind(Enum):
    """The kind of some revealed columns, taken together."""

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
    """The kinds of columns that bases reveal; each new set of columns is looked up once."""

    features: Features
    rows: Rows
    categorical: frozenset[int]
    """Columns whose numbers are categories without an order."""
    by_class: bool = False
    """Whether the parts are classes: then all rows are re-matched for every part."""
    dependent: bool = False
    """Whether rows depend on each other, within clusters or in time."""
    kinds: dict[tuple[int, ...], Kind] = field(default_factory=dict)
    correlations: dict[tuple[Term, int], tuple[float, ...]] = field(default_factory=dict)
    """Rank correlation of a set with a column, for each part of the rows."""

    def refusals(self, contrasts: Sequence[Contrast]) -> list[str | None]:
        """For each contrast, why no valid permutation test is known; None if there is one."""
        everything = self.features.everything
        bases = [contrast.base.visible(everything) for contrast in contrasts]
        if self.dependent:
            return [self.refusal_of(base) for base in bases]
        self._look({tuple(self.features.shown(base)) for base in bases} - {()})
        reasons = []
        for contrast, base in zip(contrasts, bases, strict=True):
            reason, column = self.refusal_of(base), self.sorted_by(contrast)
            if reason is None and column is not None:
                closest = max(self.correlations_of(contrast.term - base, column))
                reason = self._too_close(column) if closest > TOO_CLOSE else None
            reasons.append(reason)
        return reasons

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
        if kind is Kind.CONTINUOUS:
            most = BLOCK_CELLS // len(self.features.spans)
            if len(self.rows) <= most:
                return None
            return (
                f"a continuous given feature needs all rows in memory, and {len(self.rows):,} rows "
                f"are more than {most:,}, the largest number for {len(self.features.spans):,} "
                f"columns. Use fewer rows. {REMEDY}"
            )
        return TOO_MANY if kind is Kind.WORDS else NO_TEST

    def sorted_by(self, contrast: Contrast) -> int | None:
        """The continuous column that the base reveals alone; None if it reveals anything else."""
        columns = tuple(self.features.shown(contrast.base.visible(self.features.everything)))
        return columns[0] if self.kinds.get(columns) is Kind.CONTINUOUS else None

    def block_rows(self, column: int, seed: int) -> BlockRows:
        """The rows sorted by a column, with their moved copies."""
        return BlockRows(self._held, column, seed, with_parts=not self.by_class)

    def correlations_of(self, moved: Term, column: int) -> tuple[float, ...]:
        """Largest rank correlation of the features that move with a column, for each part.

        A column without an order has the largest correlation that any order gives it.
        """
        if (moved, column) not in self.correlations:
            rows, given, parts = self._held, self._numbers(column), self._rows_of_parts()
            largest = np.zeros(len(parts))
            for feature in moved:
                for other in self.features.columns[feature]:
                    values = None if other in self.categorical else self._numbers(other)
                    if values is None:
                        codes = value_codes(column_of(rows.table, other))
                        found = [_rank_ratio(codes[part], given[part]) for part in parts]
                    else:
                        found = [_rank_correlation(values[part], given[part]) for part in parts]
                    largest = np.maximum(largest, found)
            self.correlations[moved, column] = tuple(largest.tolist())
        return self.correlations[moved, column]

    def _rows_of_parts(self) -> list[Array]:
        """The rows that show the correlations of each part: all rows, if its own are too few."""
        rows = self._held
        everywhere = np.ones(len(rows), dtype=bool)
        if rows.part is None:
            return [everywhere]
        parts = [rows.part == number for number in range(len(rows.parts))]
        few = [self.by_class or np.count_nonzero(part) < CORRELATION_ROWS for part in parts]
        return [everywhere if alone else part for part, alone in zip(parts, few, strict=True)]

    def _numbers(self, column: int) -> Any:
        """The values of a column over all rows; None if it is not numeric."""
        return column_numbers(self._held.table, column)

    def closeness(
        self, questions: Sequence[Question], column: int
    ) -> dict[tuple[Term, int], float]:
        """Rank correlation of the set of each question, in its part, with a column."""
        found = {}
        for question in questions:
            contrast = question.contrast
            moved = contrast.term - contrast.base.visible(self.features.everything)
            of_parts = self.correlations_of(moved, column)
            found[contrast.term, question.part] = of_parts[question.part]
        return found

    @cached_property
    def _held(self) -> HeldRows:
        return held_rows(self.rows)

    def _too_close(self, column: int) -> str:
        [name] = [
            name
            for name, columns in zip(self.features.names, self.features.columns, strict=True)
            if column in columns
        ] or ["always_on"]
        return (
            f"a rank correlation above {TOO_CLOSE} with {name!r}: neighbours in {name!r} still "
            "differ in it too much, and the test would reject true null hypotheses. Use "
            "test='sign', or ask without the given feature."
        )

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


def _rank_correlation(a: Array, b: Array) -> float:
    """Spearman's correlation without its sign; missing values are left out."""
    present = ~(np.isnan(a) | np.isnan(b))
    return _correlation(rankdata(a[present]), rankdata(b[present]))


def _rank_ratio(codes: Array, b: Array) -> float:
    """Correlation of the ranks of b with their means by code."""
    present = ~np.isnan(b)
    codes, ranks = codes[present], rankdata(b[present])
    counts = np.maximum(np.bincount(codes), 1)
    return _correlation((np.bincount(codes, ranks) / counts)[codes], ranks)


def _correlation(a: Array, b: Array) -> float:
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(abs(np.corrcoef(a, b)[0, 1]))


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
