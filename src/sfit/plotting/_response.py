"""The restricted function of one feature, the density of its values, and the gain by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfit._profiled import profiles
from sfit._text import number, printable
from sfit.exceptions import ArgumentError
from sfit.plotting._response_categories import by_category, height_of
from sfit.plotting._response_numbers import by_number
from sfit.plotting._response_panels import MISSING, Area
from sfit.plotting._style import Tooltip, axes_or_new, short

if TYPE_CHECKING:
    from sfit._profile import FeatureProfile


class ResponseDisplay:
    """The prediction with only one feature revealed, along the values of that feature.

    The dashed line is the base, the prediction with every feature hidden. Below the response are
    the number of rows by value and, coloured by sign, the mean gain with its asymptotic interval:
    the loss saved when the model sees the feature. Categories are rows of the picture, the most
    frequent first. Missing values stand apart.

    Parameters
    ----------
    profile : FeatureProfile
        The profile of the feature. A group of several columns has no response.
    gains : bool, default=True
        Whether to draw the mean gain by value.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        The axes of the response, of the rows and of the gains.
    lines_, base_ : list of artists
        For each output, its response and its base.
    rows_
        The bars of the rows by value.
    points_, intervals_
        The gains and their intervals; None without gains.
    missing_ : list of artists
        For each output, the prediction for missing values; empty if no value is missing.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import ResponseDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> display = ResponseDisplay.from_model(sfit.simulate.interactions_mean, X, y, "X1")
    >>> display.profile.direction
    'rising'
    >>> len(display.axes_)
    3
    """

    def __init__(self, profile: FeatureProfile, gains: bool = True) -> None:
        if not profile.values:
            raise ArgumentError(
                f"profile: {profile.feature!r} has no response curve. A group of several columns "
                "has none, nor has a column without values, nor any feature if always_on columns "
                "vary. Draw RibbonsDisplay instead."
            )
        self.profile = profile
        self.gains = gains

    @classmethod
    def from_profile(
        cls, profile: FeatureProfile, *, gains: bool = True, ax: Any = None
    ) -> ResponseDisplay:
        """Draw a profile; see `ResponseDisplay` and `plot`.

        Parameters
        ----------
        profile : FeatureProfile
            The profile of the feature.
        gains : bool, default=True
            Whether to draw the mean gain by value.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        ResponseDisplay
            The display, drawn.
        """
        return cls(profile, gains).plot(ax=ax)

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
        reference: Any = "mean",
        groups: Mapping[str, Sequence[Any]] | None = None,
        always_on: Sequence[Any] = (),
        fast: bool = True,
        random_state: Any = None,
        gains: bool = True,
        ax: Any = None,
    ) -> ResponseDisplay:
        """Reveal one feature and draw the predictions.

        Parameters
        ----------
        model, X, y : as in `feature_significance`
            The fitted model, and held-out rows in memory.
        feature : str or int
            A feature, by name (by position, if X has no names).
        features, loss, alpha, reference, groups, always_on : as in `feature_significance`
            Arguments of its first-order test. Intervals of gains have level 1 - alpha.
        fast : bool, default=True
            A model without a known structure, and trees averaged over background rows, are
            predicted at a few values and interpolated between them. False: every row is predicted.
        random_state : int or Generator, optional
            Seed of the rows that an `Average` draws, as in `feature_significance`.
        gains : bool, default=True
            Whether to draw the mean gain by value.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        ResponseDisplay
            The display, drawn.
        """
        [profile] = profiles(
            model,
            X,
            y,
            [feature],
            features=features,
            loss=loss,
            alpha=alpha,
            reference=reference,
            groups=groups,
            always_on=always_on,
            fast=fast,
            random_state=random_state,
        )
        return cls(profile, gains).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return f"{short(self.profile.feature)}: how the model responds to it"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        profile = self.profile
        what = "Probability" if profile.task == "classification" else "Prediction"
        texts = [
            f"{what} with only this feature revealed. Dashed: with every feature hidden. Grey: the "
            "number of rows."
        ]
        if self.gains:
            texts.append(
                "Gain: the mean loss saved when the model sees the feature, with its asymptotic "
                f"{number(100 * (1 - profile.alpha))} % interval."
            )
        if profile.n_outputs > len(profile.outputs):
            kind = "classes" if profile.task == "classification" else "outputs"
            texts.append(f"{len(profile.outputs)} of {profile.n_outputs:,} {kind} are shown.")
        if not profile.exact:
            texts.append(f"Interpolated between {profile.n_knots:,} values.")
        return " ".join(texts)

    @property
    def height(self) -> float:
        """Inches that the panels need."""
        if self.profile.is_numeric:
            return 3.2 if self.gains else 2.6
        return height_of(self.profile)

    @property
    def widest(self) -> float:
        """Inches beyond which a page should not widen the picture."""
        return 7.0

    def plot(self, ax: Any = None) -> ResponseDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; the panels get inset axes.

        Returns
        -------
        ResponseDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 6.0, self.height)
        self.figure_ = ax.figure
        draw = by_number if self.profile.is_numeric else by_category
        panels = draw(ax, self.profile, self.gains)
        self.axes_, self._areas = panels.axes, panels.areas
        self.lines_, self.base_, self.missing_ = panels.lines, panels.base, panels.missing
        self.rows_, self.points_, self.intervals_ = panels.rows, panels.points, panels.intervals
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each bin or category, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            Tooltip(axes, (0, 0), area.transform(axes), self._sentence(area))
            for axes in self.axes_
            for area in self._areas
        ]

    def _sentence(self, area: Area) -> str:
        profile = self.profile
        if area.is_missing:
            n, (gain, low, high) = profile.n_missing, profile.missing_gain
            value = MISSING
        else:
            k = area.bin
            n, gain = profile.bin_n[k], profile.bin_gain[k]
            low, high = profile.bin_low[k], profile.bin_high[k]
            value = number(profile.bin_values[k])
            value = f"about {value}" if profile.is_numeric else printable(profile.labels[k])
        triples = zip(profile.outputs, area.responses, profile.base, strict=True)
        responses = [
            f"{printable(output)}: {number(response)}, base {number(base)}"
            for output, response, base in triples
        ]
        return "\n".join(
            [
                f"{printable(profile.feature)}: {value}",
                *responses,
                f"{n:,} row{'s' * (n != 1)}, mean gain {number(gain)}, interval {number(low)} to "
                f"{number(high)}",
            ]
        )
