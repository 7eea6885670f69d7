"""Loss reduction by one feature, along the values of that feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sfit._arguments import as_seed, check_level
from sfit._array import Array
from sfit._binomial import ranks
from sfit._labels import labels
from sfit._row_deltas import deltas_by_value
from sfit.exceptions import ArgumentError
from sfit.plotting._style import (
    BLUE,
    GREY,
    LONGEST_NAME,
    axes_or_new,
    explain,
    name_ticks,
    plain_frame,
    short,
)

MOST_POINTS = 2_000
MOST_BINS = 20
MOST_CATEGORIES = 20
FEWEST_IN_BIN = 30


class DeltaDisplay:
    """Reduction of the loss of every row, against the value of one feature.

    Dots are rows; the line is their median in bins of equal numbers of rows, with its interval.
    Above zero the model predicts better with the feature than without it.

    Parameters
    ----------
    name : str
        The feature.
    values : array of shape (n,)
        Its value in each row: numbers or categories.
    delta : array of shape (n,)
        Reduction of the loss in each row.
    alpha : float, default=0.05
        The intervals have level 1 - alpha.

    Attributes
    ----------
    bins : pandas.DataFrame
        One row per bin or category: `value` (its middle), `median`, `ci_low`, `ci_high`, `n`.
    ax_, figure_
        The axes and the figure drawn on.
    points_, line_, band_, zero_
        The dots (None for categories), the medians, their intervals, and the line at zero.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import DeltaDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> display = DeltaDisplay.from_model(sfit.simulate.interactions_mean, X, y, feature="X1")
    >>> bool(display.bins["median"].iloc[0] > 1)  # X1 far from its mean: it matters
    True
    """

    def __init__(self, name: str, values: Any, delta: Any, alpha: float = 0.05) -> None:
        alpha = check_level(alpha, "alpha")
        self.name = name
        self.values, self.delta = np.asarray(values), np.asarray(delta, dtype=np.float64)
        if self.values.shape != self.delta.shape or self.delta.ndim != 1 or not len(self.delta):
            raise ArgumentError(
                "values and delta must hold one entry per row; got shapes "
                f"{self.values.shape} and {self.delta.shape}."
            )
        self.alpha = alpha
        self.is_numeric = self.values.dtype.kind in "biuf"
        self.n_missing = int(np.sum(pd.isna(self.values))) if self.is_numeric else 0
        if self.is_numeric:
            self.values = self.values.astype(np.float64)
            few = len(np.unique(self.values[~np.isnan(self.values)])) <= MOST_BINS
            groups = self._by_value() if few else self._by_rank()
        else:
            groups = self._by_category()
        bins = [(value, *self._median(self.delta[rows]), len(rows)) for value, rows in groups]
        self.bins = pd.DataFrame(bins, columns=["value", "median", "ci_low", "ci_high", "n"])

    @classmethod
    def from_model(
        cls,
        model: Any,
        X: Any,
        y: Any,
        feature: Any,
        *,
        features: Sequence[Any] | None = None,
        loss: str | Callable[[Any, Any], Any] = "auto",
        alpha: float = 0.05,
        beta: float = 0.01,
        reference: Any = "mean",
        always_on: Sequence[Any] = (),
        random_state: Any = None,
        ax: Any = None,
    ) -> DeltaDisplay:
        """Reveal one feature and draw the change of the loss of every row.

        Parameters
        ----------
        model, X, y : as in `feature_significance`
            The fitted model, and held-out rows in memory.
        feature : str or int
            A column of X, by name (by position, if X has no names).
        features, loss, alpha, beta, reference, always_on : as in `feature_significance`
            Arguments of its first-order test.
        random_state : int or Generator, optional
            Seed of the rows that an `Average` draws, as in `feature_significance`.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        DeltaDisplay
            The display, drawn.
        """
        name, values, delta = deltas_by_value(
            model,
            X,
            y,
            feature,
            beta,
            features=features,
            loss=loss,
            reference=reference,
            always_on=always_on,
            seed=as_seed(random_state),
        )
        return cls(name, values, delta, alpha).plot(ax=ax)

    def plot(self, ax: Any = None) -> DeltaDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        DeltaDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 6.4, 4.0)
        self.figure_ = ax.figure
        bins = self.bins
        low, high = self._limits()
        ends = np.clip(bins[["ci_low", "ci_high"]].to_numpy(), low, high).T
        self.zero_ = ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        self.points_ = None
        if self.is_numeric:
            drawn = _spread(self.values, MOST_POINTS)
            self.points_ = ax.scatter(
                self.values[drawn], self.delta[drawn], s=4, color=GREY, alpha=0.35, linewidths=0
            )
            at = bins["value"].to_numpy(dtype=np.float64)
            self.band_ = ax.fill_between(at, *ends, color=BLUE, alpha=0.25, linewidth=0)
            [self.line_] = ax.plot(at, bins["median"], color=BLUE, marker="o", markersize=3.5)
        else:
            at = np.arange(len(bins))
            self.band_ = ax.vlines(at, *ends, color=BLUE, linewidth=1.8)
            [self.line_] = ax.plot(at, bins["median"], "o", color=BLUE, markersize=5)
            name_ticks(
                ax.xaxis,
                range(len(bins)),
                list(labels(bins["value"], LONGEST_NAME).values()),
                rotation=40,
                ha="right",
            )
        ax.set_ylim(low, high)
        explain(ax, short(self.name), self._note(low, high))
        ax.xaxis.label.set(parse_math=False, fontsize="medium")
        ax.set_ylabel("reduction of the loss")
        ax.set_title(
            f"{short(self.name)}: where the model uses it",
            loc="left",
            fontsize="medium",
            parse_math=False,
        )
        plain_frame(ax)
        ax.spines["left"].set_visible(True)
        return self

    def _median(self, delta: Array) -> tuple[float, float, float]:
        level = ranks(len(delta), self.alpha, "exact")
        ordered = np.sort(delta)
        low = ordered[level.low - 1] if level.low else -np.inf
        high = ordered[level.high - 1] if level.high else np.inf
        return float(np.median(ordered)), float(low), float(high)

    def _by_value(self) -> list[tuple[Any, Array]]:
        present = np.unique(self.values[~np.isnan(self.values)])
        return [(value, np.flatnonzero(self.values == value)) for value in present]

    def _by_rank(self) -> list[tuple[Any, Array]]:
        """Bins of equal numbers of rows; equal values stay together."""
        present = np.flatnonzero(~np.isnan(self.values))
        n_bins = max(1, min(MOST_BINS, len(present) // FEWEST_IN_BIN))
        edges = np.unique(np.quantile(self.values[present], np.linspace(0, 1, n_bins + 1)[1:-1]))
        bin_ids = np.searchsorted(edges, self.values[present], side="left")
        bins = [present[bin_ids == bin_id] for bin_id in np.unique(bin_ids)]
        return [(float(np.median(self.values[rows])), rows) for rows in bins]

    def _by_category(self) -> list[tuple[Any, Array]]:
        """The most frequent categories; missing values count as one."""
        labels = pd.Series(self.values).astype(object).where(~pd.isna(self.values), "missing")
        kept = labels.astype(str)
        frequent = kept.value_counts(sort=True).index[:MOST_CATEGORIES]
        return [(value, np.flatnonzero(kept == value)) for value in frequent]

    def _limits(self) -> tuple[float, float]:
        """A range of most rows and all medians: outliers must not flatten the picture."""
        rows = np.quantile(self.delta, [0.02, 0.98]) if self.is_numeric else np.zeros(1)
        ends = self.bins[["median", "ci_low", "ci_high"]].to_numpy().ravel()
        both = np.concatenate([rows, ends[np.isfinite(ends)], [0.0]])
        pad = 0.05 * (both.max() - both.min()) or 1.0
        return float(both.min() - pad), float(both.max() + pad)

    def _note(self, low: float, high: float) -> str:
        notes = []
        if self.is_numeric:
            outside = int(((self.delta < low) | (self.delta > high)).sum())
            if outside:
                notes.append(f"{outside:,} rows lie outside the picture.")
            if self.n_missing:
                notes.append(f"{self.n_missing:,} rows have no value.")
        else:
            others = len(self.delta) - int(self.bins["n"].sum())
            if others:
                notes.append(f"{others:,} rows of rarer categories are not shown.")
        return " ".join(notes)


def _spread(values: Array, most: int) -> Array:
    """At most `most` rows, evenly spread over the ranks of their values."""
    ordered = np.argsort(values, kind="stable")
    ordered = ordered[~np.isnan(values[ordered])]
    if len(ordered) <= most:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, most).astype(np.intp)]
