"""The naive loop: every masked table is built in pandas, and the library's own predict is asked.

The procedure is that of `reference/slow.py`. It is handed row numbers instead of values: the table
of a side holds the number of the row where a column is revealed, and -1 where it is hidden.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from reference import slow

from fuzz_models.case import Case

HIDDEN = -1
DEFAULT_LOSS = {False: "absolute_error", True: "log_loss"}


@dataclass
class Naive:
    """The masked space of a case and the predictions of its sides."""

    case: Case
    columns: pd.DataFrame
    """The rows in the masked space: the user's own columns, or those behind the Pipeline's head."""
    background: list[list[Any]]
    """The values of the hidden columns, row by row; more than one row for an averaged reference."""
    origin: list[int]
    """The user's column behind each one; -1 for a column that never moves."""
    encoded: bool
    asked: dict[tuple[bytes, frozenset[int]], np.ndarray] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    """What the library itself warns of when it predicts."""

    def ask(self, numbers: np.ndarray) -> np.ndarray:
        """Predictions for a table of row numbers."""
        shown = frozenset(np.flatnonzero(numbers[0] != HIDDEN).tolist())
        rows = numbers[:, min(shown)] if shown else np.full(len(numbers), HIDDEN)
        key = (rows.tobytes(), shown)
        if key not in self.asked:
            self.asked[key] = self._mean(
                [self._predict(self._masked(rows, shown, hidden)) for hidden in self.background]
            )
        return self.asked[key]

    @staticmethod
    def _mean(predictions: list[np.ndarray]) -> np.ndarray:
        """The mean of predictions in exact arithmetic, entry by entry."""
        first = predictions[0]
        entries = zip(*(one.astype(float).ravel().tolist() for one in predictions), strict=True)
        means = [
            entry[0] if len(set(entry)) == 1 else math.fsum(entry) / len(entry) for entry in entries
        ]
        return np.reshape(means, first.shape).astype(first.dtype)

    def _masked(self, rows: np.ndarray, shown: frozenset[int], hidden: list[Any]) -> pd.DataFrame:
        masked = {}
        for position, name in enumerate(self.columns):
            whole = self.columns[name]
            if position in shown:
                masked[name] = whole.take(rows).reset_index(drop=True)
            else:
                masked[name] = frozen(whole, hidden[position], len(rows))
        return pd.DataFrame(masked)

    def _predict(self, table: pd.DataFrame | np.ndarray) -> np.ndarray:
        case = self.case
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            if self.encoded:
                answer = case.kind.predict(case.own[-1], np.asarray(table))
            else:
                rows = np.asarray(table) if case.as_array else table
                answer = case.kind.predict(case.own, rows)
        self.heard |= {str(warning.message) for warning in heard}
        values = np.asarray(answer)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        return values if values.dtype.kind == "f" else values.astype(float)

    def noise(self, n: int) -> tuple[float, float, float, float]:
        """The largest difference between predicting n rows one at a time and in a batch.

        A batch of numbers is laid out in memory by rows and by columns, for which libraries of
        linear algebra take other steps: the least and the largest difference of all layouts. Then
        the largest prediction, and the rounding unit of its type.
        """
        shown = frozenset(range(self.columns.shape[1])) - frozenset(self.hidden)
        table = self._masked(np.arange(n), shown, self.background[0])
        layouts: list[Any] = [table]
        if not self.case.kind.exact and all(dtype.kind in "biuf" for dtype in table.dtypes):
            for order in ("C", "F"):
                numbers = np.array(table.to_numpy(), order=order)
                layouts.append(pd.DataFrame(numbers, columns=table.columns, copy=False))
        batches = [self._predict(batch) for batch in layouts]
        gaps = []
        for layout in layouts[:2]:
            alone = np.concatenate([self._predict(layout[row : row + 1]) for row in range(n)])
            gaps += [float(np.max(np.abs(batch.astype(float) - alone))) for batch in batches]
        unit = float(np.finfo(batches[0].dtype).eps)
        return min(gaps), max(gaps), float(np.max(np.abs(batches[0]))), unit

    @property
    def hidden(self) -> list[int]:
        """Columns that are never revealed."""
        return [position for position, source in enumerate(self.origin) if source < 0]

    def features(self) -> tuple[list[str], list[list[int]], list[int]]:
        """Names of the features and their columns, and the columns that are always on."""
        options, names = self.case.options, [str(name) for name in self.case.frame]
        always = {names.index(name) for name in options.get("always_on", ())}
        owner = {
            member: group
            for group, members in options.get("groups", {}).items()
            for member in members
        }
        members: dict[str, list[int]] = {}
        for source, name in enumerate(names):
            if source not in always:
                members.setdefault(owner.get(name, name), []).append(source)
        columns = [
            [c for c, source in enumerate(self.origin) if source in sources]
            for sources in members.values()
        ]
        return list(members), columns, [c for c, s in enumerate(self.origin) if s in always]

    def sfit(self, rows: np.ndarray, unit: float, e: float) -> dict[str, Any]:
        """The whole procedure on some of the rows."""
        case, options = self.case, dict(self.case.options)
        names, columns, always = self.features()
        loss = options.pop("loss")
        given = options.pop("given", ())
        partners = options.pop("partners", "all")
        if isinstance(partners, dict):
            partners = [[names.index(k) for k in partners.get(name, ())] for name in names]
        for name in ("reference", "groups", "always_on", "n_jobs"):
            options.pop(name, None)
        y = case.target if case.classes is None else np.searchsorted(case.classes, case.target)
        numbers = np.tile(rows[:, None], (1, self.columns.shape[1]))
        return slow.sfit(
            self.ask,
            numbers,
            y[rows],
            loss=DEFAULT_LOSS[case.classes is not None] if loss == "auto" else loss,
            reference=np.full(self.columns.shape[1], HIDDEN),
            columns=columns,
            always_on=always,
            given=given if given == "rest" else [names.index(name) for name in given],
            partners=None if isinstance(partners, str) else partners,
            unit=unit,
            e=e,
            **options,
        )


def frozen(column: pd.Series, value: Any, n: int) -> pd.Series:
    """A column of one value, in the type of the column where that holds it."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Series([value] * n, dtype=column.dtype)
    if column.dtype == object or column.dtype.kind not in "biuf":
        return pd.Series([value] * n, dtype=column.dtype)
    made = np.full(n, value, dtype=np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = made.astype(column.dtype)
    return pd.Series(own if np.array_equal(own, made, equal_nan=True) else made)


def trace(head: Any, frame: pd.DataFrame, encoded: np.ndarray) -> list[int]:
    """The user's column behind each encoded one, by shuffling each column on all rows."""
    origin = np.full(encoded.shape[1], -1)
    rng = np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(len(frame))
        for position, name in enumerate(frame):
            mixed = frame.copy()
            mixed[name] = frame[name].take(order).reset_index(drop=True)
            moved = (~same_values(encode(head, mixed), encoded)).any(axis=0)
            origin[moved] = position
    return [int(source) for source in origin]


def encode(head: Any, frame: pd.DataFrame) -> np.ndarray:
    """The rows behind the head of a Pipeline."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = head.transform(frame.copy())
    made = np.asarray(made.toarray() if hasattr(made, "toarray") else made)
    return made if made.dtype.kind == "f" else made.astype(float)


def mixes_freely(head: Any, frame: pd.DataFrame, encoded: np.ndarray, origin: list[int]) -> bool:
    """Whether mixing the columns of two rows and encoding can change places, on all rows."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        order = rng.permutation(len(frame))
        swapped = np.flatnonzero(rng.uniform(size=frame.shape[1]) < 0.5)
        mixed = frame.copy()
        for position in swapped:
            name = frame.columns[position]
            mixed[name] = frame[name].take(order).reset_index(drop=True)
        expected = np.where(np.isin(origin, swapped), encoded[order], encoded)
        if not same_values(encode(head, mixed), expected).all():
            return False
    return True


def same_values(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal but for rounding; missing equals missing."""
    return np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


# --- which rows lie within rounding of the threshold ---------------------------------------


def doubtful_rows(
    losses: Any,
    base: np.ndarray,
    full: np.ndarray,
    beta: float,
    unit: float,
    e: float,
    layouts: float,
) -> tuple[int, float]:
    """How many rows rounding could move over the threshold, and by how much it could move a delta.

    A prediction p of a side is known up to t = 2 max(unit |p|, unit m, e, layouts), m the median of
    |p| over the rows and `layouts` what the layout of the rows in memory changes. Two predictions apart by less than half of the tolerance max(8 unit |p|, 4 e) count as
    the same, and such a row is never in doubt. Up to twice the tolerance it is in doubt wherever
    delta = (1 - beta) base - full may be above 0. Beyond, it is in doubt if moving its predictions
    by t each, one output or all, could bring delta from one side of 0 to the other.
    """
    base, full = np.atleast_2d(base.T).T.astype(float), np.atleast_2d(full.T).T.astype(float)
    t_base, t_full = (_known_up_to(p, unit, max(e, layouts)) for p in (base, full))
    middle_b, spread_b = _spread(losses, base, t_base)
    middle_f, spread_f = _spread(losses, full, t_full)
    delta = (1 - beta) * middle_b - middle_f
    moves = (1 - beta) * spread_b + spread_f + 4e-16 * (np.abs(middle_b) + np.abs(middle_f))
    same = np.maximum(8 * unit * np.maximum(np.abs(base), np.abs(full)), 4 * e)
    # The output that is furthest apart decides; where the tolerance is 0 so must be the gap.
    apart = np.max(np.abs(base - full) / np.where(same > 0, same, np.inf), axis=1)
    doubtful = (np.abs(delta) <= moves) | ((apart <= 2.0) & (delta > -moves))
    return int((doubtful & (apart >= 0.5)).sum()), float(moves.max())


def _known_up_to(p: np.ndarray, unit: float, e: float) -> np.ndarray:
    size = np.maximum(np.abs(p), np.median(np.abs(p)))
    return 2 * np.maximum(unit * size, e)


def _spread(losses: Any, p: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses at p, and the furthest that they move when one or all outputs move by t."""
    shape = (lambda values: values[:, 0]) if p.shape[1] == 1 else (lambda values: values)
    middle = losses(shape(p))
    furthest = np.zeros(len(p))
    moves: Sequence[np.ndarray] = [np.eye(p.shape[1])[k] for k in range(p.shape[1])]
    for move in [*moves, np.ones(p.shape[1])]:
        for sign in (-1.0, 1.0):
            furthest = np.maximum(furthest, np.abs(losses(shape(p + sign * t * move)) - middle))
    return middle, furthest
