"""Records of an audit beside the results of its tests: frozen, and stored as JSON."""

from __future__ import annotations

from dataclasses import dataclass

Pairs = tuple[tuple[str, ...], ...]
"""Labels and their texts."""


@dataclass(frozen=True)
class ModelFacts:
    """Which model was audited."""

    name: str
    kind: str
    """The class of the model, such as "LGBMClassifier"."""
    library: str
    """The library and its version, such as "lightgbm 4.6.0"; empty for a plain function."""
    task: str
    classes: tuple[str, ...]
    parameters: tuple[tuple[str, ...], ...]
    """Pairs of a name and a value, as text."""
    fingerprint: str
    """A digest of everything that can change a prediction; empty if there is none."""
    unseen: str
    """Why there is no fingerprint; empty if there is one."""


@dataclass(frozen=True)
class DataFacts:
    """Which rows were used."""

    name: str
    period: str
    """The first and the last date, or what the user says; empty if unknown."""
    n_rows: int
    n_columns: int
    target: str
    """The name of the target; "y" if it has none."""
    target_distribution: tuple[tuple[str, ...], ...]
    """Pairs of a label and a text: the share of each class, or quantiles."""
    n_missing: int
    """Missing cells in the columns that the model uses."""
    missing_by_column: tuple[tuple[str, ...], ...]
    """Pairs of a column and the number of its missing cells, the most first."""
    fingerprint: str


@dataclass(frozen=True)
class Metric:
    """One figure of performance on the audited rows, with its interval."""

    side: str
    """The features that the model sees: "all", "found" or "nothing"; ", same rows" for a sample."""
    name: str
    """Such as "AUC", "log_loss" or "R2"."""
    value: float
    ci_low: float
    ci_high: float
    n: int
    """Rows behind the figure."""
    higher_is_better: bool
    reason: str = ""
    """Why the value or its interval is NaN, as a sentence; empty if both are numbers."""


@dataclass(frozen=True)
class BuildUpStep:
    """The mean loss after one more set of features is revealed."""

    kind: str
    """"hidden" (nothing revealed), "found" (a set is added), or "all" (everything revealed)."""
    features: tuple[str, ...]
    """The features that this step adds."""
    loss: float


@dataclass(frozen=True)
class Explained:
    """How much of what the model gains over no features the features found account for.

    All figures come from the same rows, drawn at random if there are many.
    """

    n: int
    share: float
    """Share of the gain of all features over none; NaN if the model gains nothing."""
    ci_low: float
    ci_high: float
    n_improved: int
    """Units that all features together predict better than the features found."""
    n_units: int
    """Rows, or clusters if rows depend on each other."""
    units: str
    """"rows" or "clusters"."""
    p_value: float
    """Sign test of these units: is anything left to find?"""
    loss_hidden: float
    loss_found: float
    loss_all: float


@dataclass(frozen=True)
class Detectable:
    """The smallest effects that the tests find four times out of five."""

    power: float
    alpha: float
    """The strictest level that a single p-value may have to meet after the correction."""
    correlation: float
    """Permutation test: of the outcome with the prediction from one feature."""
    probability: float
    """Sign test: share of rows that a feature improves."""


@dataclass(frozen=True)
class CorrelatedGroup:
    """Features that move together, so a test of one says little about the others."""

    features: tuple[str, ...]
    smallest: float
    """Smallest association between a member and its nearest fellow member."""
    largest: float
    significant: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the group as one feature."""
        return " + ".join(self.features)


@dataclass(frozen=True)
class Proxy:
    """How closely a feature follows a protected attribute."""

    attribute: str
    feature: str
    association: float
    measure: str
    """"rank correlation" or "Cramer's V"."""
    significant: bool
    """Whether the audit found that the model uses the feature."""


@dataclass(frozen=True)
class GroupOutcome:
    """Predictions and losses for one value of a protected attribute."""

    attribute: str
    label: str
    n: int
    outcome: float
    """Mean outcome: of the target, or of the indicator of the last class."""
    prediction: float
    loss: float
    loss_low: float
    loss_high: float


@dataclass(frozen=True)
class Check:
    """One assumption: whether it holds, as far as the audit can tell."""

    name: str
    state: str
    """"yes", "no" or "open" (only the reader can tell)."""
    text: str


@dataclass(frozen=True)
class Step:
    """One piece of the audit's work."""

    name: str
    status: str
    """"done", "part" or "left out"."""
    reason: str
    """Why it was left out, or which part was done; empty if all of it was done."""
    expected: float
    """Seconds expected before it began."""
    seconds: float
