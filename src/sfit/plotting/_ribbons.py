"""All rows of each feature, sorted by how much the feature improves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._arguments import check_whole
from sfit._array import Array
from sfit._labels import labels, left_out_of_labels
from sfit._profiled import profiles as profiles_of
from sfit._text import number, printable, share_text
from sfit.exceptions import ArgumentError
from sfit.plotting._style import (
    BLUE,
    DRAWABLE,
    GREY,
    LONGEST_NAME,
    ORANGE,
    Tooltip,
    axes_or_new,
    explain,
    name_ticks,
    over_row,
    plain_frame,
)

if TYPE_CHECKING:
    from sfit._profile import FeatureProfile

MOST_FEATURES = 25
ROW_HEIGHT = 0.36
"""Height of a ribbon with its gap, in inches."""
RIBBON = 0.8
"""Height of a ribbon without its gap, as a share of that."""


class RibbonsDisplay:
    """All rows of each feature, sorted from the most improved to the most worsened.

    Each ribbon is one feature. Rows in the blue part, at the left, are predicted better when the
    model sees the feature, rows in the orange part worse. Heights are square roots of the loss that
    is saved or added, on one scale for all features.

    Parameters
    ----------
    profiles : sequence of FeatureProfile
        The profiles of the features.
    max_features : int, default=25
        Number of features to draw, from the largest mean gain; the others are counted.

    Attributes
    ----------
    shown : list of FeatureProfile
        The features drawn, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    better_, worse_ : list of artists
        For each feature, the areas of better and of worse rows.
    bands_ : tuple of artists
        The pale bands behind better and behind worse rows.
    lines_
        The lines below the ribbons.
    counts_ : list of str
        The texts at the right.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import RibbonsDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> display = RibbonsDisplay.from_model(sfit.simulate.interactions_mean, X, y, fast=False)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][:2]
    ['X3', 'X1']
    >>> display.counts_[0]
    '62 % better, 38 % worse'
    """

    def __init__(
        self, profiles: Sequence[FeatureProfile], max_features: int = MOST_FEATURES
    ) -> None:
        check_whole(max_features, "max_features")
        if not profiles:
            raise ArgumentError("profiles must hold the profile of at least one feature.")
        ordered = sorted(profiles, key=lambda profile: -profile.mean_gain)
        self.shown = ordered[:max_features]
        self.hidden = ordered[max_features:]

    @classmethod
    def from_profiles(
        cls,
        profiles: Sequence[FeatureProfile],
        *,
        max_features: int = MOST_FEATURES,
        ax: Any = None,
    ) -> RibbonsDisplay:
        """Draw profiles; see `RibbonsDisplay` and `plot`.

        Parameters
        ----------
        profiles : sequence of FeatureProfile
            The profiles of the features.
        max_features : int, default=25
            Number of features to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        RibbonsDisplay
            The display, drawn.
        """
        return cls(profiles, max_features).plot(ax=ax)

    @classmethod
    def from_model(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[Any] | None = None,
        loss: str | Callable[[Any, Any], Any] = "auto",
        reference: Any = "mean",
        groups: Mapping[str, Sequence[Any]] | None = None,
        always_on: Sequence[Any] = (),
        fast: bool = True,
        random_state: Any = None,
        max_features: int = MOST_FEATURES,
        ax: Any = None,
    ) -> RibbonsDisplay:
        """Reveal each feature alone and draw the change of the loss of every row.

        Parameters
        ----------
        model, X, y : as in `feature_significance`
            The fitted model, and held-out rows in memory.
        features, loss, reference, groups, always_on : as in `feature_significance`
            Arguments of its first-order test.
        fast : bool, default=True
            A model without a known structure, and trees averaged over background rows, are
            predicted at a few values and interpolated between them. False: every row is predicted.
        random_state : int or Generator, optional
            Seed of the rows that an `Average` draws, as in `feature_significance`.
        max_features : int, default=25
            Number of features to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        RibbonsDisplay
            The display, drawn.
        """
        made = profiles_of(
            model,
            X,
            y,
            features=features,
            loss=loss,
            reference=reference,
            groups=groups,
            always_on=always_on,
            fast=fast,
            random_state=random_state,
        )
        return cls(made, max_features).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "Which share of the rows each feature helps, and how much"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        text = (
            "All rows of each feature, from the most improved to the most worsened. Blue, at the "
            "left: the loss saved when the model sees the feature. Orange, at the right: the loss "
            "added. Heights are square roots of the losses, on one scale for all features. Pale "
            "bands show the shares of better and worse rows."
        )
        n = sum(not profile.exact for profile in self.shown)
        which = "all features" if n == len(self.shown) else f"{n} of {len(self.shown)} features"
        return text + f" Predictions for {which} are interpolated between a few values." * (n > 0)

    @property
    def height(self) -> float:
        """Inches that the ribbons need."""
        return 0.95 + ROW_HEIGHT * len(self.shown) + 0.15 * bool(self.hidden)

    def plot(self, ax: Any = None) -> RibbonsDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        RibbonsDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 7.6, self.height)
        self.figure_ = ax.figure
        self.better_: list[Any] = []
        self.worse_: list[Any] = []
        # Every other rank is enough for a picture, and halves its size on a page.
        heights = [_roots(profile.ribbon)[::2] for profile in self.shown]
        largest = max(np.abs(one).max() for one in heights) or 1.0
        for row, one in enumerate(heights):
            at = np.linspace(0.0, 1.0, len(one)) if len(one) > 1 else np.array([0.0, 1.0])
            height = RIBBON * np.broadcast_to(one, len(at)) / largest
            foot = row + RIBBON / 2
            for areas, color, part in (
                (self.better_, BLUE, np.maximum(height, 0.0)),
                (self.worse_, ORANGE, np.maximum(-height, 0.0)),
            ):
                # The vertical axis points down.
                area = ax.fill_between(at, foot, foot - part, color=color, linewidth=0, zorder=2)
                areas.append(area)
        self._draw_shares(ax)
        self._label(ax)
        return self

    def _draw_shares(self, ax: Any) -> None:
        """Pale bands behind the better and the worse rows, and a line below them."""
        feet = [row + RIBBON / 2 for row in range(len(self.shown))]
        better = [profile.n_better / profile.n for profile in self.shown]
        worse = [profile.n_worse / profile.n for profile in self.shown]
        look = {"height": RIBBON, "linewidth": 0, "alpha": 0.2}
        rows = range(len(self.shown))
        self.bands_ = (
            ax.barh(rows, better, color=BLUE, **look),
            ax.barh(rows, worse, left=[1 - share for share in worse], color=ORANGE, **look),
        )
        self.lines_ = ax.hlines(feet, 0, 1, color=GREY, linewidth=0.8)

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each ribbon, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            over_row(self.ax_, row, _sentence(profile)) for row, profile in enumerate(self.shown)
        ]

    def _label(self, ax: Any) -> None:
        rows = range(len(self.shown))
        names = [profile.feature for profile in (*self.shown, *self.hidden)]
        found = labels(names, LONGEST_NAME)
        name_ticks(ax.yaxis, rows, [found[profile.feature] for profile in self.shown])
        self.counts_ = [_counts(profile) for profile in self.shown]
        for row, text in zip(rows, self.counts_, strict=True):
            ax.text(1.015, row, text, va="center", fontsize="small")
        ax.set_ylim(len(self.shown) - 0.45, -0.55)
        ax.set_xlim(0, 1)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0 %", "25 %", "50 %", "75 %", "100 %"])
        ax.grid(axis="x", linewidth=0.5, alpha=0.4)
        ax.set_axisbelow(True)
        n = len(self.hidden)
        more = f"{n:,} more feature{'s are' if n > 1 else ' is'} not shown." if n else ""
        ends = left_out_of_labels(names, LONGEST_NAME)
        explain(ax, "share of the rows, the most improved first", more, ends)
        plain_frame(ax)


def _roots(gains: Sequence[float]) -> Array:
    """Signed square roots of gains: a few rows would flatten all others."""
    gain = np.clip(np.asarray(gains, dtype=np.float64), -DRAWABLE, DRAWABLE)
    return np.asarray(np.sign(gain) * np.sqrt(np.abs(gain)))


def _counts(profile: FeatureProfile) -> str:
    """How many rows are better and worse."""
    if profile.n_same == profile.n:
        return "no row changes"
    shares = {
        "better": profile.n_better,
        "same": profile.n_same,
        "worse": profile.n_worse,
    }
    return ", ".join(
        f"{share_text(rows / profile.n, 0).replace('%', ' %')} {kind}"
        for kind, rows in shares.items()
        if rows or kind != "same"
    )


def _sentence(profile: FeatureProfile) -> str:
    most, least = profile.ribbon[0], profile.ribbon[-1]
    how = "" if profile.exact else f"\ninterpolated between {profile.n_knots:,} values"
    return (
        f"{printable(profile.feature)}\n"
        f"{profile.n_better:,} rows better, {profile.n_same:,} the same, {profile.n_worse:,} worse"
        f"\nmean gain {number(profile.mean_gain)}, of single rows {number(least)} to "
        f"{number(most)}{how}"
    )
