"""The profile of a feature: its restricted function, its values, and the gain of every row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FeatureProfile:
    """How a model uses one feature, revealed alone: by its value, and over all rows.

    Attributes
    ----------
    feature : str
        The feature, or the group of columns.
    n : int
        Number of rows.
    is_numeric : bool
        Whether the values are numbers. False for categories and for groups of columns.
    labels : tuple of str
        The categories, the most frequent first; empty for numbers. At most 120.
    values : tuple of float
        Values at which the responses are given: ascending, and at most 120. For categories, their
        positions in `labels`. Empty if the prediction is not a function of one column: for a group
        of columns, and if `always_on` columns vary.
    task : {"regression", "classification"}
        Whether responses are predictions or probabilities.
    outputs : tuple of str
        What the model predicts: "prediction", or the classes shown. For two classes, only the
        second. For more, the four most frequent.
    n_outputs : int
        Number of outputs of the model; 1 for two classes.
    responses : tuple of tuples of float
        For each output, the restricted function at each of `values`: the prediction with only this
        feature revealed. Empty if `values` is.
    base : tuple of float
        For each output, the prediction with every feature hidden. If `always_on` columns vary, its
        mean.
    directions : tuple of str
        For each output, the direction of its restricted function; see the notes.
    edges : tuple of float
        Edges of the bins of `counts`. Empty if `counts` belongs to `values`.
    counts : tuple of int
        Rows between consecutive edges; or rows with each of `values`, if these are categories or at
        most 30 different numbers.
    n_missing : int
        Rows without a value.
    missing_response : tuple of float
        For each output, the prediction if the value is missing; empty if none is.
    missing_gain : tuple of float
        Mean gain of the rows without a value and the ends of its interval; empty if there are none.
    bin_values, bin_n : tuple of float, tuple of int
        The median value of each bin, and its rows. For categories, their positions in `labels`.
    bin_gain, bin_low, bin_high : tuple of float
        Mean gain of each bin with its asymptotic interval. The gain of a row is the loss saved when
        the feature is revealed.
    ribbon : tuple of float
        Gains of the rows from the largest to the smallest, at 201 evenly spaced ranks, or of every
        row if there are fewer.
    n_better, n_worse : int
        Rows whose loss is smaller, and larger, when the feature is revealed.
    loss_base, mean_gain : float
        Mean loss with every feature hidden, and the mean gain.
    alpha : float
        The intervals have level 1 - alpha.
    n_knots : int
        Number of values that the model predicted, if predictions of other rows are interpolated
        between them; 0 if the prediction of every row is exact.

    Notes
    -----
    `sfit._profile_parts.direction_of` defines the direction: "rising" or "falling" if at least
    90 % of the steps of the function go that way, each weighted by the pairs of rows that it
    separates; else "mixed". A flat function and one of categories have none: an empty text.
    """

    feature: str
    n: int
    is_numeric: bool
    labels: tuple[str, ...]
    values: tuple[float, ...]
    task: str
    outputs: tuple[str, ...]
    n_outputs: int
    responses: tuple[tuple[float, ...], ...]
    base: tuple[float, ...]
    directions: tuple[str, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    n_missing: int
    missing_response: tuple[float, ...]
    missing_gain: tuple[float, ...]
    bin_values: tuple[float, ...]
    bin_n: tuple[int, ...]
    bin_gain: tuple[float, ...]
    bin_low: tuple[float, ...]
    bin_high: tuple[float, ...]
    ribbon: tuple[float, ...]
    n_better: int
    n_worse: int
    loss_base: float
    mean_gain: float
    alpha: float
    n_knots: int

    @property
    def exact(self) -> bool:
        """Whether the prediction of every row is the model's; else some are interpolated."""
        return self.n_knots == 0

    @property
    def n_same(self) -> int:
        """Rows whose loss is the same when the feature is revealed."""
        return self.n - self.n_better - self.n_worse

    @property
    def n_elsewhere(self) -> int:
        """Rows that `counts` does not cover: beyond the edges, or of rare categories."""
        return self.n - self.n_missing - sum(self.counts) if self.values else 0

    @property
    def direction(self) -> str:
        """The direction of the restricted function of the only output; else empty."""
        return self.directions[0] if len(self.directions) == 1 else ""
