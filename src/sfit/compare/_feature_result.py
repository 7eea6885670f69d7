"""The result of `compare_features`: gains, the ranks that they can have, and all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from sfit._text import fixed, listed, p_text
from sfit.compare._base import Comparison, frame_of
from sfit.compare._grid import Grid


@dataclass(frozen=True)
class FeatureRank:
    """The gain of one feature, and the ranks that it can have."""

    feature: str
    gain: float
    """Mean loss saved by revealing the feature; with clusters, the mean over clusters."""
    ci_low: float
    ci_high: float
    rank: int
    """1 is the largest gain."""
    rank_low: int
    """1 plus the number of features whose mean gain is surely larger."""
    rank_high: int
    """The number of all features less those whose mean gain is surely smaller."""
    n_better: int
    """Rows whose loss falls when the feature is revealed."""
    n_worse: int


@dataclass(frozen=True)
class FeaturePair:
    """Two features: by how much the gain of the first exceeds that of the second."""

    first: str
    second: str
    difference: float
    """Mean gain of the first minus that of the second."""
    ci_low: float
    ci_high: float
    p_first: float
    """Of the null hypothesis that the mean gain of the first is not larger."""
    p_second: float
    """Of the null hypothesis that the mean gain of the second is not larger."""
    p_first_adjusted: float
    p_second_adjusted: float
    larger: str | None
    """The feature whose mean gain is significantly larger; None: undecided."""
    median: float
    """Median of the differences."""
    median_low: float
    median_high: float
    p_sign: float
    """Two-sided sign test that positive and negative differences are equally likely.

    Zeros do not count. Without any, the null hypothesis is that the median difference is 0.
    """
    n_first: int
    """Units that gain more from the first."""
    n_second: int


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureComparison(Comparison):
    r"""The result of `compare_features`: which ranks are certain.

    Attributes
    ----------
    features : tuple of FeatureRank
        One entry per feature, the largest gain first.
    pairs : tuple of FeaturePair
        One entry per pair of features.
    settings : ComparisonSettings
        The arguments.
    caveats : tuple of str
        Warnings for readers of this result.
    run : dict
        How the result was computed; ignored by ``==``.

    See Also
    --------
    compare_features : The call that returns it.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> ranks = sfit.compare_features(sfit.simulate.interactions_mean, X, y, random_state=0)
    >>> ranks.table[["feature", "rank_low", "rank_high"]].head(2).values.tolist()
    [['X3', 1, 1], ['X1', 2, 2]]
    >>> sfit.FeatureComparison.from_json(ranks.to_json()) == ranks
    True
    """

    RECORDS: ClassVar[Mapping[str, type]] = {"features": FeatureRank, "pairs": FeaturePair}
    METHOD: ClassVar[str] = (
        "Paired tests of mean differences by random sign flips (J. P. Romano, On the Behavior of "
        "Randomization Tests Without a Group Invariance Assumption, Journal of the American "
        "Statistical Association 85, 1990), and ranks from pairs that Holm's correction decides."
    )

    features: tuple[FeatureRank, ...]
    pairs: tuple[FeaturePair, ...]

    @property
    def table(self) -> pd.DataFrame:
        """One row per feature, the largest gain first."""
        return frame_of(self.features, FeatureRank)

    @property
    def pairs_table(self) -> pd.DataFrame:
        """One row per pair of features."""
        return frame_of(self.pairs, FeaturePair)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return "Which features matter more"

    def findings(self) -> list[str]:
        """How many ranks are certain, and who leads.

        Returns
        -------
        list of str
            One sentence each.
        """
        certain = [one for one in self.features if one.rank_low == one.rank_high]
        n_decided = sum(pair.larger is not None for pair in self.pairs)
        leaders = [one.feature for one in self.features if one.rank_low == 1]
        lead = (
            f"{listed(leaders)} has the largest mean gain."
            if len(leaders) == 1
            else f"The largest mean gain belongs to one of {len(leaders)}: {listed(leaders)}."
        )
        return [
            f"{lead} {len(certain)} of {len(self.features)} ranks are certain.",
            f"{n_decided:,} of {len(self.pairs):,} pairs are decided, with a probability of at "
            f"most {self.settings.alpha:g} that any decision is wrong.",
        ]

    def grids(self) -> list[Grid]:
        """The features by rank, and the pairs.

        Returns
        -------
        list of Grid
            Tables of text.
        """
        ranks = Grid(
            "Features by mean gain",
            ("Feature", "Mean gain", "Low", "High", "Rank", "Possible ranks"),
            tuple(
                (
                    one.feature,
                    fixed(one.gain, 4),
                    fixed(one.ci_low, 4),
                    fixed(one.ci_high, 4),
                    str(one.rank),
                    _range(one.rank_low, one.rank_high),
                )
                for one in self.features
            ),
            tuple(one.rank_low == one.rank_high for one in self.features),
            mark="certain",
        )
        pairs = Grid(
            "Pairs of features",
            ("First", "Second", "Difference", "Low", "High", "p", "Median", "p (sign)"),
            tuple(
                (
                    pair.first,
                    pair.second,
                    fixed(pair.difference, 4),
                    fixed(pair.ci_low, 4),
                    fixed(pair.ci_high, 4),
                    p_text(min(pair.p_first_adjusted, pair.p_second_adjusted)),
                    fixed(pair.median, 4),
                    p_text(pair.p_sign),
                )
                for pair in self.pairs
            ),
            tuple(pair.larger is not None for pair in self.pairs),
            n_names=2,
            mark="decided",
            lost=tuple(
                pair.larger is None and min(pair.p_first, pair.p_second) < self.settings.alpha
                for pair in self.pairs
            ),
        )
        return [ranks, pairs]

    def reading(self) -> list[tuple[str, str]]:
        """The terms of the tables and their meanings.

        Returns
        -------
        list of (str, str)
            Terms and their meanings.
        """
        alpha = self.settings.alpha
        return [
            (
                "Mean gain",
                "By how much the mean loss falls when the feature is revealed. Its interval is "
                "asymptotic, and holds for one feature at a time.",
            ),
            (
                "Possible ranks",
                "From 1 plus the number of features whose mean gain is surely larger, to the "
                "number of features less those whose mean gain is surely smaller. All intervals "
                f"together hold with a probability of at least {1 - alpha:g}.",
            ),
            (
                "p",
                "The smaller of two one-sided p-values of the paired test of the mean, after "
                "Holm's correction over both directions of all pairs. It is exact if the "
                f"differences of the {self.settings.units} are symmetric about zero, and "
                "asymptotic otherwise.",
            ),
            (
                "p (sign)",
                "The two-sided sign test of the median difference, not corrected. It is exact, but "
                "asks another question: if differences are skewed, the median can differ from 0 "
                f"while the means are equal. It leaves out {self.settings.units} without a "
                "difference, so it can reject at a median of 0. It decides nothing here.",
            ),
        ]

    def check(self) -> None:
        """Raise ValueError if the fields of a stored result contradict each other."""
        names = [one.feature for one in self.features]
        m = len(names)
        if not names or len(set(names)) != m or len(self.pairs) != m * (m - 1) // 2:
            raise ValueError("features and pairs do not belong together")
        if any(not 1 <= one.rank_low <= one.rank <= one.rank_high <= m for one in self.features):
            raise ValueError("a rank lies outside its interval")

    def displays(self) -> list[Any]:
        """The gains and the ranks, in one picture.

        Returns
        -------
        list of RanksDisplay
            Not drawn yet.
        """
        from sfit.plotting import RanksDisplay

        return [RanksDisplay(self)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the gains with their intervals, and the ranks that each feature can have.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        RanksDisplay
            The display, drawn.
        """
        from sfit.plotting import RanksDisplay

        return RanksDisplay(self).plot(ax=ax)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
