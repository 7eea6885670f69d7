"""The result of `compare_parts`: the gains of features by part, their differences and trends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from sfit._document import texts
from sfit._text import fixed, listed, p_text
from sfit.compare._base import Comparison, frame_of, lost_of
from sfit.compare._grid import Grid

GUARANTEE = "exact for identically distributed gains, asymptotic for equal mean gains"
"""What the p-values of label permutations promise."""

UNNAMED = "part"
"""What parts are called if their labels have no name."""


@dataclass(frozen=True)
class PartsTest:
    """The test of one feature in all parts at once."""

    feature: str
    gain: float
    """Mean loss saved by revealing the feature, over all units."""
    smallest: str | int | bool
    """The part with the smallest mean gain."""
    largest: str | int | bool
    statistic: float
    """Weighted sum of the squared distances between the mean gains of the parts."""
    p_value: float
    p_adjusted: float
    significant: bool
    p_resolution: float
    """The smallest possible p-value."""
    n: int
    """Number of units: rows, or clusters."""
    n_fixed: int
    """Rows that keep their label in every permutation."""
    guarantee: str


@dataclass(frozen=True)
class PartGain:
    """One feature in one part: its mean gain there, and in the rest."""

    feature: str
    part: str | int | bool
    gain: float
    """Mean loss saved by revealing the feature in this part."""
    ci_low: float
    ci_high: float
    gain_rest: float
    """Mean gain in all other parts together."""
    difference: float
    """Gain of the part minus gain of the rest."""
    t: float
    """The difference divided by its standard error."""
    p_value: float | None
    """None with two parts: the test of all parts is the same."""
    p_adjusted: float | None
    significant: bool
    n: int
    """Units of the part."""
    loss_base: float
    """Mean loss of the rows of the part, without the feature."""
    loss_full: float
    n_better: int
    """Rows whose loss falls when the feature is revealed."""
    n_worse: int


@dataclass(frozen=True)
class PartTrend:
    """The trend of one feature: the change of its mean gain from the first part to the last."""

    feature: str
    slope: float
    """Change of the mean gain from one part to the next."""
    ci_low: float
    ci_high: float
    t: float
    """The slope divided by its standard error."""
    p_value: float
    p_adjusted: float
    significant: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class PartComparison(Comparison):
    r"""The result of `compare_parts`: where features are used differently.

    Attributes
    ----------
    by : str
        Name of the column or labels that divide the rows.
    features : tuple of PartsTest
        One entry per feature: all parts at once.
    gains : tuple of PartGain
        One entry per feature and part, the parts in their sorted order.
    trends : tuple of PartTrend
        One entry per feature; empty unless ``trend=True``.
    settings : ComparisonSettings
        The arguments.
    caveats : tuple of str
        Warnings for readers of this result.
    run : dict
        How the result was computed; ignored by ``==``.

    See Also
    --------
    compare_parts : The call that returns it.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> period = ["after" if row >= 2500 else "before" for row in range(5000)]
    >>> parts = sfit.compare_parts(sfit.simulate.interactions_mean, X, y, by=period, random_state=0)
    >>> parts.differing
    ()
    >>> sfit.PartComparison.from_json(parts.to_json()) == parts
    True
    """

    RECORDS: ClassVar[Mapping[str, type]] = {
        "features": PartsTest,
        "gains": PartGain,
        "trends": PartTrend,
    }

    METHOD: ClassVar[str] = (
        "Studentised permutations of the labels of the parts: E. Chung and J. P. Romano, Exact and "
        "Asymptotically Robust Permutation Tests, The Annals of Statistics 41, 2013."
    )

    by: str
    features: tuple[PartsTest, ...]
    gains: tuple[PartGain, ...]
    trends: tuple[PartTrend, ...] = ()

    @property
    def labels(self) -> tuple[Any, ...]:
        """The parts, in their sorted order."""
        return tuple(dict.fromkeys(one.part for one in self.gains))

    @property
    def differing(self) -> tuple[str, ...]:
        """Features whose mean gain differs significantly between the parts."""
        return tuple(one.feature for one in self.features if one.significant)

    @property
    def table(self) -> pd.DataFrame:
        """One row per feature: all parts at once, and the trend if it was asked for."""
        table = frame_of(self.features, PartsTest)
        if not self.trends:
            return table
        trends = frame_of(self.trends, PartTrend).drop(columns="feature")
        return table.join(trends.add_prefix("trend_"))

    @property
    def parts(self) -> pd.DataFrame:
        """One row per feature and part."""
        table = frame_of(self.gains, PartGain)
        return table.astype({"p_value": float, "p_adjusted": float})

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Use of features by {self.by}"

    def findings(self) -> list[str]:
        """Which gains differ, where, and in which direction they move.

        Returns
        -------
        list of str
            Sentences, the most important first.
        """
        n, n_parts = len(self.features), len(self.labels)
        among = f"the {n_parts} parts" + ("" if self.by == UNNAMED else f" of {self.by}")
        if self.differing:
            first = (
                f"The mean gain of {len(self.differing)} of {n} features differs between {among}: "
                f"{listed(self.differing)}."
            )
        else:
            first = f"No mean gain of {n} features differs significantly between {among}."
        sentences = [first]
        where = [one for one in self.gains if one.significant]
        if where:
            more, less = (
                [f"{one.feature} in {one.part}" for one in where if (one.difference > 0) == larger]
                for larger in (True, False)
            )
            sentences += [f"Larger than in the rest: {listed(more)}."] if more else []
            sentences += [f"Smaller than in the rest: {listed(less)}."] if less else []
        if self.trends:
            sentences.append(self._trend_sentence())
        return sentences

    def _trend_sentence(self) -> str:
        moving = [one for one in self.trends if one.significant]
        rising, falling = (
            [one.feature for one in moving if (one.slope > 0) == up] for up in (True, False)
        )
        first, last = self.labels[0], self.labels[-1]
        said = [
            f"{verb} for {listed(names)}"
            for verb, names in (("rises", rising), ("falls", falling))
            if names
        ]
        if not said:
            return f"No mean gain rises or falls significantly from {first} to {last}."
        return f"From {first} to {last} the mean gain {' and '.join(said)}."

    def grids(self) -> list[Grid]:
        """All parts at once, the trend, and each part.

        Returns
        -------
        list of Grid
            Tables of text.
        """
        return [self._overall_grid(), *([self._trend_grid()] if self.trends else []), self._grid()]

    def _overall_grid(self) -> Grid:
        return Grid(
            "All parts at once",
            ("Feature", "Mean gain", "Smallest in", "Largest in", "p", "p adjusted"),
            tuple(
                (
                    one.feature,
                    fixed(one.gain, 4),
                    "–" if one.smallest == one.largest else str(one.smallest),
                    "–" if one.smallest == one.largest else str(one.largest),
                    p_text(one.p_value),
                    p_text(one.p_adjusted),
                )
                for one in self.features
            ),
            tuple(one.significant for one in self.features),
            lost=lost_of(self.features, self.settings),
        )

    def _trend_grid(self) -> Grid:
        return Grid(
            "Trend over the parts",
            ("Feature", "Slope", "Low", "High", "p", "p adjusted"),
            tuple(
                (
                    one.feature,
                    fixed(one.slope, 4),
                    fixed(one.ci_low, 4),
                    fixed(one.ci_high, 4),
                    p_text(one.p_value),
                    p_text(one.p_adjusted),
                )
                for one in self.trends
            ),
            tuple(one.significant for one in self.trends),
            lost=lost_of(self.trends, self.settings),
        )

    def _grid(self) -> Grid:
        return Grid(
            "Each part and the rest",
            (
                "Feature",
                "Part",
                "n",
                "Mean gain",
                "Low",
                "High",
                "Rest",
                "Difference",
                "p adjusted",
            ),
            tuple(
                (
                    one.feature,
                    str(one.part),
                    f"{one.n:,}",
                    fixed(one.gain, 4),
                    fixed(one.ci_low, 4),
                    fixed(one.ci_high, 4),
                    fixed(one.gain_rest, 4),
                    fixed(one.difference, 4),
                    "-" if one.p_adjusted is None else p_text(one.p_adjusted),
                )
                for one in self.gains
            ),
            tuple(one.significant for one in self.gains),
            n_names=2,
            note="" if len(self.labels) > 2 else "With two parts, the test above compares them.",
            lost=lost_of(self.gains, self.settings),
        )

    def reading(self) -> list[tuple[str, str]]:
        """The terms of the tables and their meanings.

        Returns
        -------
        list of (str, str)
            Pairs of a term and its meaning.
        """
        units = self.settings.units
        return [
            (
                "Mean gain",
                "By how much the mean loss falls when the feature is revealed. A cluster counts "
                "once, with its mean. The interval is asymptotic, and holds for one mean at a "
                "time."
                if units == "clusters"
                else "By how much the mean loss falls when the feature is revealed. The interval "
                "is asymptotic, and holds for one mean at a time.",
            ),
            (
                "p",
                f"The share of permutations of the labels of the {units} that separate the mean "
                "gains at least as far, in units of their standard errors. The p-value is exact if "
                "the gains of all parts have the same distribution. If only their means are equal, "
                "it is asymptotic: valid for large parts, whatever their variances.",
            ),
            (
                "p adjusted",
                "After the correction over all features, and over all parts where each part is "
                "compared with the rest.",
            ),
            *(
                [
                    (
                        "Slope",
                        "The change of the mean gain from one part to the next, in the sorted "
                        "order of the parts, by least squares over the means of the parts.",
                    )
                ]
                if self.trends
                else []
            ),
            (
                "What a difference means",
                "The model gains more from the feature in one part than in another. The reason may "
                "be the feature, the outcome or other features: parts also differ in these.",
            ),
        ]

    def check(self) -> None:
        """Raise ValueError if the fields of a stored result contradict each other."""
        names = [one.feature for one in self.features]
        order = [(one.feature, one.part) for one in self.gains]
        n_parts = len(self.labels)
        if not names or len(set(names)) != len(names) or n_parts < 2:
            raise ValueError("features must be distinct, and there must be at least two parts")
        if order != [(name, part) for name in names for part in self.labels]:
            raise ValueError("gains must list every part of every feature once, in the same order")
        if self.trends and [one.feature for one in self.trends] != names:
            raise ValueError("features and trends do not belong together")
        if any(one.p_value is None for one in self.gains) != (n_parts == 2):
            raise ValueError("each part has a p-value if and only if there are more than two")

    def displays(self) -> list[Any]:
        """The gains by part, in one picture.

        Returns
        -------
        list of PartGainsDisplay
            Not drawn yet.
        """
        from sfit.plotting import PartGainsDisplay

        return [PartGainsDisplay(self)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean gain of each feature in each part, with its interval.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        PartGainsDisplay
            The display, drawn.
        """
        from sfit.plotting import PartGainsDisplay

        return PartGainsDisplay(self).plot(ax=ax)

    @classmethod
    def _stored_fields(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        [by] = texts([content["by"]])
        return super()._stored_fields({**content, "by": [by]}) | {"by": by}
