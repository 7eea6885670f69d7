"""The result of `compare_models`: differences of losses, and of the gains of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from sfit._text import fixed, listed, number, p_relation, p_text, printable
from sfit.compare._base import Comparison, frame_of, lost_of
from sfit.compare._grid import Grid


@dataclass(frozen=True)
class PairedDifference:
    """The paired comparison of two models; positive differences favour the second."""

    first: str
    second: str
    difference: float
    """Mean difference; with clusters, the mean over clusters."""
    ci_low: float
    ci_high: float
    p_value: float
    """Two-sided paired test of the null hypothesis that the mean difference is 0."""
    p_adjusted: float
    significant: bool
    median: float
    median_low: float
    median_high: float
    p_sign: float
    """Two-sided sign test that positive and negative differences are equally likely.

    Zeros do not count. Without any, the null hypothesis is that the median difference is 0.
    """
    n: int
    """Units: rows or clusters."""
    n_positive: int
    """Units with a positive difference."""
    n_negative: int


@dataclass(frozen=True)
class ModelDifference(PairedDifference):
    """Two whole models: the loss of the first minus the loss of the second."""

    loss_first: float
    loss_second: float

    @property
    def better(self) -> str | None:
        """The model with the significantly smaller mean loss; None: undecided."""
        if not self.significant:
            return None
        return self.second if self.difference > 0 else self.first


@dataclass(frozen=True)
class GainDifference(PairedDifference):
    """One feature in two models: its gain in the second minus its gain in the first."""

    feature: str
    gain_first: float
    gain_second: float
    missing_in: str | None
    """The model that does not have the feature; its gain there is 0. None: both have it."""

    @property
    def used_more_by(self) -> str | None:
        """The model that gains significantly more from the feature; None: undecided."""
        if not self.significant:
            return None
        return self.second if self.difference > 0 else self.first


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelComparison(Comparison):
    r"""The result of `compare_models`.

    Attributes
    ----------
    names : tuple of str
        The models; every other model is compared with the first.
    models : tuple of ModelDifference
        One entry per other model: the whole models.
    features : tuple of GainDifference
        One entry per other model and feature; a feature that neither of two models has is not
        compared.
    settings : ComparisonSettings
        The arguments.
    caveats : tuple of str
        Warnings for readers of this result.
    run : dict
        How the result was computed; ignored by ``==``.

    See Also
    --------
    compare_models : The call that returns it.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X, y = sfit.simulate.interactions(6000, random_state=0)
    >>> models = {
    ...     "champion": LinearRegression().fit(X[:4000], y[:4000]),
    ...     "challenger": HistGradientBoostingRegressor(random_state=0).fit(X[:4000], y[:4000]),
    ... }
    >>> compared = sfit.compare_models(
    ...     models, X[4000:], y[4000:], reference=X[:4000], random_state=0
    ... )
    >>> compared.models[0].better
    'challenger'
    >>> [one.feature for one in compared.features if one.used_more_by == "challenger"]
    ['X2', 'X3']
    >>> sfit.ModelComparison.from_json(compared.to_json()) == compared
    True
    """

    RECORDS: ClassVar[Mapping[str, type]] = {"models": ModelDifference, "features": GainDifference}
    METHOD: ClassVar[str] = (
        "Paired tests of mean differences by random sign flips: J. P. Romano, On the Behavior of "
        "Randomization Tests Without a Group Invariance Assumption, Journal of the American "
        "Statistical Association 85, 1990."
    )

    names: tuple[str, ...]
    models: tuple[ModelDifference, ...]
    features: tuple[GainDifference, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per model that is compared with the first."""
        return frame_of(self.models, ModelDifference)

    @property
    def features_table(self) -> pd.DataFrame:
        """One row per model and feature."""
        return frame_of(self.features, GainDifference)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Comparison of {listed(self.names)}"

    def findings(self) -> list[str]:
        """Which model predicts better, and which features they use differently.

        Returns
        -------
        list of str
            One sentence each.
        """
        return [sentence for one in self.models for sentence in self._findings_about(one)]

    def _findings_about(self, one: ModelDifference) -> list[str]:
        sentences = [_verdict(one)]
        of_pair = [gain for gain in self.features if gain.second == one.second]
        for name, other in ((one.second, one.first), (one.first, one.second)):
            more = [gain for gain in of_pair if gain.used_more_by == name]
            gained = [gain.feature for gain in more if max(gain.gain_first, gain.gain_second) > 0]
            lost = [gain.feature for gain in more if gain.feature not in gained]
            if gained:
                gains = f"{printable(name)} gains more from {listed(gained)}"
                sentences.append(f"{gains} than {printable(other)} does.")
            if lost:
                loses = f"{printable(other)} loses more by {listed(lost)}"
                sentences.append(f"{loses} than {printable(name)} does.")
        if not any(gain.significant for gain in of_pair):
            sentences.append("No feature gains significantly more in one of them.")
        return sentences

    def grids(self) -> list[Grid]:
        """The whole models, and the features of each pair.

        Returns
        -------
        list of Grid
            Tables of text.
        """
        head = ("Model", "Loss", "Loss of the first", "Difference", "Low", "High", "p")
        units = self.settings.units
        whole = Grid(
            f"Mean loss, compared with {self.names[0]}",
            (*head, "Median", "p (sign)", f"Better {units}", f"Worse {units}"),
            tuple(
                (
                    one.second,
                    fixed(one.loss_second, 4),
                    fixed(one.loss_first, 4),
                    *_paired_cells(one),
                    f"{one.n_positive:,}",
                    f"{one.n_negative:,}",
                )
                for one in self.models
            ),
            tuple(one.significant for one in self.models),
            note=f"Differences are the loss of {printable(self.names[0])} minus that of the other "
            "model: positive if the other model is better.",
            lost=lost_of(self.models, self.settings),
        )
        return [whole, *(self._features_grid(one.second) for one in self.models)]

    def gains_of(self, second: str) -> list[GainDifference]:
        """The features of one pair of models.

        Parameters
        ----------
        second : str
            The model that is compared with the first.

        Returns
        -------
        list of GainDifference
            Significant ones first, then by the size of the difference.
        """
        return sorted(
            (one for one in self.features if one.second == second),
            key=lambda one: (not one.significant, -abs(one.difference)),
        )

    def _features_grid(self, second: str) -> Grid:
        first, rows = self.names[0], self.gains_of(second)
        head = ("Feature", f"Gain in {first}", f"Gain in {second}", "Difference", "Low", "High")
        missing = [one for one in rows if one.missing_in is not None]
        lacking = "".join(
            f" {printable(name)} does not have "
            f"{listed([one.feature for one in missing if one.missing_in == name])}."
            for name in dict.fromkeys(one.missing_in for one in missing)
        )
        return Grid(
            f"Gains of the features, {first} and {second}",
            (*head, "p", "Median", "p (sign)"),
            tuple(
                (
                    one.feature,
                    fixed(one.gain_first, 4),
                    fixed(one.gain_second, 4),
                    *_paired_cells(one),
                )
                for one in rows
            ),
            tuple(one.significant for one in rows),
            note=f"Differences are the gain in {printable(second)} minus the gain in "
            f"{printable(first)}.{lacking}",
            lost=lost_of(rows, self.settings),
        )

    def reading(self) -> list[tuple[str, str]]:
        """The terms of the tables and their meanings.

        Returns
        -------
        list of (str, str)
            Terms and their meanings.
        """
        units = self.settings.units
        return [
            (
                "Gain",
                "By how much the mean loss of a model falls when the feature is revealed to it. A "
                "model that hides its features at a poor place can gain much from one; compare "
                "gains only under a reference that suits both models.",
            ),
            (
                "p",
                f"The two-sided paired test of the mean difference over the same {units}, by sign "
                "flips. It is exact if the differences are symmetric about zero, and asymptotic "
                "otherwise. The correction is within the models, and within the features.",
            ),
            ("Low, High", "Asymptotic interval of the mean difference, not corrected."),
            (
                "p (sign)",
                "The two-sided sign test of the median difference, not corrected. It is exact, but "
                "asks another question: whether one model is better on more than half of the "
                f"{units} that differ. {units.capitalize()} without a difference are left out, so "
                "it can reject at a median of 0. It decides nothing here.",
            ),
        ]

    def check(self) -> None:
        """Raise ValueError if the fields of a stored result contradict each other."""
        others = [one.second for one in self.models]
        if [*self.names[:1], *others] != list(self.names) or len(set(self.names)) < 2:
            raise ValueError("names and models do not belong together")
        pairs = {(one.second, one.feature) for one in self.features}
        if len(pairs) < len(self.features) or not {name for name, _ in pairs} <= set(others):
            raise ValueError("features do not belong to these models")
        if any(one.first != self.names[0] for one in (*self.models, *self.features)):
            raise ValueError("not all models are compared with the first")

    def displays(self) -> list[Any]:
        """One picture for each model that is compared with the first.

        Returns
        -------
        list of ModelsDisplay
            Not drawn yet.
        """
        from sfit.plotting import ModelsDisplay

        return [ModelsDisplay(self, name) for name in self.names[1:]]

    def plot(self, ax: Any = None, model: str | None = None) -> Any:
        """Draw the gains of the features in two models, and the differences with their intervals.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.
        model : str, optional
            The model to draw beside the first; by default, the second.

        Returns
        -------
        ModelsDisplay
            The display, drawn.
        """
        from sfit.plotting import ModelsDisplay

        return ModelsDisplay(self, model).plot(ax=ax)


def _verdict(one: ModelDifference) -> str:
    """Which of two models predicts better, in one sentence."""
    losses = {one.first: one.loss_first, one.second: one.loss_second}
    if one.better is None:
        better, worse = one.second, one.first
        verdict = (
            f"{printable(better)} and {printable(worse)} do not differ significantly in mean loss:"
        )
    else:
        better, worse = one.better, one.first if one.better == one.second else one.second
        verdict = f"{printable(better)} predicts better than {printable(worse)}: mean loss"
    return (
        f"{verdict} {number(losses[better])} against {number(losses[worse])} "
        f"({p_relation(one.p_adjusted)})."
    )


def _paired_cells(one: PairedDifference) -> tuple[str, ...]:
    return (
        fixed(one.difference, 4),
        fixed(one.ci_low, 4),
        fixed(one.ci_high, 4),
        p_text(one.p_adjusted),
        fixed(one.median, 4),
        p_text(one.p_sign),
    )
