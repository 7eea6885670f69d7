"""The result of an audit: frozen, complete, stored as JSON. Page, text and tables are views."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from sfit._audit._records import (
    BuildUpStep,
    Check,
    CorrelatedGroup,
    DataFacts,
    Detectable,
    Explained,
    GroupOutcome,
    Metric,
    ModelFacts,
    Proxy,
    Step,
)
from sfit._document import blame_document, read, record_from, save, storable, texts, write
from sfit._partitioned import PartitionedResult
from sfit._profile import FeatureProfile
from sfit._reported import Reported
from sfit._result import SFITResult

KIND = "Audit"


@dataclass(frozen=True)
class AuditSettings:
    """The arguments of an audit, as far as they can be stored as text and numbers."""

    title: str
    purpose: str
    author: str
    made: str
    """When the audit began, in UTC."""
    reproduce: str
    """The command or code that repeats the audit."""
    loss: str
    alpha: float
    correction: str
    n_background: int
    reference: str
    reference_origin: str
    space: str
    always_on: tuple[str, ...]
    by: str
    """The name of the groups of rows; empty if there are none."""
    n_clusters: int | None
    protected: tuple[str, ...]
    expected: tuple[tuple[str, ...], ...]
    """Pairs of a feature and the direction that was expected of it."""
    budget: str
    """Such as "60 passes"; empty: no limit."""
    seconds_per_pass: float
    seed: int
    base_prediction: float
    """Mean prediction with every feature hidden; NaN for several classes or outputs."""
    base_error: float
    """Standard error of `base_prediction`, over draws of background rows."""
    mean_prediction: float
    """Mean prediction of the audited rows."""


@dataclass(frozen=True, eq=False)
class Audit(Reported):
    """Everything that an audit found out about a model; made by `audit`.

    Attributes
    ----------
    settings : AuditSettings
        Title, purpose, author, time and arguments.
    model : ModelFacts
        The class, library, parameters and fingerprint of the model.
    data : DataFacts
        Name, size, period, target, missing values and fingerprint of the held-out rows.
    train : DataFacts or None
        The same of the training rows, if they were given.
    performance : tuple of Metric
        Performance with all features, with those found and with none, each with an interval.
    related : SFITResult
        Permutation test of every feature, with averaged references.
    typical : SFITResult or None
        Sign test of every feature: does it improve the typical row? None if left out.
    by_group : PartitionedResult or None
        The permutation test in every group of `by`.
    interactions : SFITResult or None
        Mean test of pairs of features over the sum of their parts, within the budget.
    group_tests : SFITResult or None
        Permutation test of correlated groups of features as one, within the budget.
    profiles : tuple of FeatureProfile
        Response curve, values and gains of every significant feature, the strongest first.
    build_up : tuple of BuildUpStep
        Mean loss with nothing revealed, with each found feature added, and with all.
    explained : Explained or None
        How much of the model's gain the features found account for.
    correlated : tuple of CorrelatedGroup
        Features that move together.
    proxies, outcomes : tuple of Proxy, tuple of GroupOutcome
        Features that follow a protected attribute; predictions and losses by its values.
    detectable : Detectable
        The smallest effects that the tests could have found.
    checks : tuple of Check
        Assumptions, and whether they hold.
    steps : tuple of Step
        The work that was done, and what was left out.
    caveats : tuple of str
        What a reader must know; every view shows them.
    run : dict
        Versions, time and warnings; ignored by ``==``, as are `steps`.

    See Also
    --------
    audit : The call that returns it.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> audit = sfit.audit(
    ...     sfit.simulate.interactions_mean, X[2000:], y[2000:], train=X[:2000], random_state=0
    ... )
    >>> audit.selected
    ('X1', 'X3')
    >>> sfit.Audit.from_json(audit.to_json()) == audit
    True
    """

    RECORDS: ClassVar[Mapping[str, type]] = {
        "performance": Metric,
        "profiles": FeatureProfile,
        "build_up": BuildUpStep,
        "correlated": CorrelatedGroup,
        "proxies": Proxy,
        "outcomes": GroupOutcome,
        "checks": Check,
        "steps": Step,
    }
    """The fields that hold several records, and their types."""
    SINGLE: ClassVar[Mapping[str, type]] = {
        "settings": AuditSettings,
        "model": ModelFacts,
        "data": DataFacts,
        "train": DataFacts,
        "explained": Explained,
        "detectable": Detectable,
    }
    """The fields that hold one record or None."""
    RESULTS: ClassVar[Mapping[str, type]] = {
        "related": SFITResult,
        "typical": SFITResult,
        "by_group": PartitionedResult,
        "interactions": SFITResult,
        "group_tests": SFITResult,
    }
    """The fields that hold the result of a test or None."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        ("train", "typical", "by_group", "interactions", "group_tests", "explained")
    )
    """The fields that may be None."""

    settings: AuditSettings
    model: ModelFacts
    data: DataFacts
    train: DataFacts | None
    performance: tuple[Metric, ...]
    related: SFITResult
    typical: SFITResult | None
    by_group: PartitionedResult | None
    interactions: SFITResult | None
    group_tests: SFITResult | None
    profiles: tuple[FeatureProfile, ...]
    build_up: tuple[BuildUpStep, ...]
    explained: Explained | None
    correlated: tuple[CorrelatedGroup, ...]
    proxies: tuple[Proxy, ...]
    outcomes: tuple[GroupOutcome, ...]
    detectable: Detectable
    checks: tuple[Check, ...]
    steps: tuple[Step, ...]
    caveats: tuple[str, ...]
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        """Equal if all but `run`, `steps` and times is equal; NaN equals NaN."""
        if not isinstance(other, Audit):
            return NotImplemented
        return bool(self._timeless() == other._timeless())

    def _timeless(self) -> Any:
        """Everything that does not depend on when and how fast the audit ran."""
        content = replace(self, settings=self._timeless_settings, steps=())._content()
        for name in self.RESULTS:
            content[name] = None if content[name] is None else content[name]["content"]
        return storable(content)

    @property
    def _timeless_settings(self) -> AuditSettings:
        return replace(self.settings, made="", seconds_per_pass=0.0)

    def __hash__(self) -> int:
        return hash((self._timeless_settings, self.related))

    @property
    def selected(self) -> tuple[str, ...]:
        """The features that are related to the outcome as the model uses them."""
        return self.related.selected

    @property
    def fingerprint(self) -> str:
        """The checksum of the JSON, which identifies this audit."""
        return str(json.loads(self.to_json())["checksum"])

    def profile(self, feature: str) -> FeatureProfile | None:
        """The profile of a feature; None if it has none.

        Parameters
        ----------
        feature : str
            Its name.

        Returns
        -------
        FeatureProfile or None
            Response curve, values and gains.
        """
        return next((one for one in self.profiles if one.feature == feature), None)

    # --- views -----------------------------------------------------------------------------

    def summary(self) -> str:
        """The audit as text for a terminal: the finding, the features and the caveats.

        Returns
        -------
        str
            Lines of at most 80 characters.
        """
        from sfit._audit._text import as_text

        return as_text(self)

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by name.

        Returns
        -------
        dict of str to DataFrame
            Features, performance, and whatever else the audit holds.
        """
        from sfit._audit._tables import tables_of

        return tables_of(self)

    def metrics(self) -> dict[str, float]:
        """The numbers that describe the audit as a whole, for MLflow.

        Returns
        -------
        dict of str to float
            Performance, numbers of features, and the share of the gain explained.
        """
        from sfit._audit._tables import metrics_of

        return metrics_of(self)

    def params(self) -> dict[str, str]:
        """The settings as text, for MLflow.

        Returns
        -------
        dict of str to str
            Names and texts.
        """
        return {name: str(value) for name, value in asdict(self.settings).items() if value}

    def document(self) -> Any:
        """The page as sections of plain blocks, which HTML, Markdown and Word render.

        Returns
        -------
        Document
            See `sfit.report._blocks`.
        """
        from sfit._audit._document import document_of

        return document_of(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Write the page: self-contained, to read, print, sign and file.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The page.
        """
        from sfit.report._document_page import as_document_page

        return save(as_document_page(self.document()), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the page as Markdown, without pictures.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The page.
        """
        from sfit.report._document_page import as_document_markdown

        return save(as_document_markdown(self.document()), path)

    def to_docx(self, path: str | Path) -> None:
        """Write the page as a Word document, with the pictures, the author and the time.

        Parameters
        ----------
        path : path
            File to write; its name ends in ``.docx``.
        """
        from sfit._export import write_word

        try:
            made = datetime.strptime(self.settings.made, "%Y-%m-%d %H:%M:%S UTC")
        except ValueError:  # the JSON of an audit may say something else
            created = None
        else:
            created = made.replace(tzinfo=UTC)
        write_word(self.document(), path, author=self.settings.author, created=created)

    def _repr_html_(self) -> str:
        from sfit._audit._notebook import for_notebook

        return for_notebook(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the audit as JSON, with the results it was made from.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The JSON.
        """
        return write(KIND, self._content(), self.run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Audit:
        """Read an audit from a file, or from the text that `to_json` returned.

        Parameters
        ----------
        source : path or str
            The file, or the JSON itself.

        Returns
        -------
        Audit
            Equal to the audit that was written.
        """
        content, run = read(source, KIND)
        with blame_document():
            stored = {name: restored(name, content[name]) for name in _names()}
            _check_lengths(stored)
            return cls(**stored, caveats=texts(content["caveats"]), run=run)

    def _content(self) -> dict[str, Any]:
        stored = {name: stored_value(name, getattr(self, name)) for name in _names()}
        return {**stored, "caveats": self.caveats}


def _names() -> list[str]:
    """The fields of an audit that are stored, but for the caveats."""
    return [one.name for one in fields(Audit) if one.name not in ("caveats", "run")]


def stored_value(name: str, value: Any) -> Any:
    """A field of an audit, as JSON stores it."""
    if value is None:
        return None
    if name in Audit.RESULTS:
        return {"content": value._content(), "run": storable(_run_of(value))}
    if name in Audit.SINGLE:
        return asdict(value)
    return [asdict(record) for record in value]


def restored(name: str, stored: Any) -> Any:
    """A field of an audit, from what JSON stores."""
    if stored is None:
        if name not in Audit.OPTIONAL:
            raise ValueError(f"{name} is missing")
        return None
    if name in Audit.RESULTS:
        return Audit.RESULTS[name]._from_content(stored["content"], stored["run"])  # type: ignore[attr-defined]
    if name in Audit.SINGLE:
        return record_from(Audit.SINGLE[name], stored)
    return tuple(record_from(Audit.RECORDS[name], record) for record in stored)


def _check_lengths(stored: Mapping[str, Any]) -> None:
    """Refuse pairs of another length than two, and curves whose values and responses differ."""
    settings, model, data = stored["settings"], stored["model"], stored["data"]
    pairs = *settings.expected, *model.parameters, *data.target_distribution
    if any(len(pair) != 2 for pair in (*pairs, *data.missing_by_column)):
        raise ValueError("a pair must hold two texts")
    for profile in stored["profiles"]:
        lengths = {len(one) for one in profile.responses}
        if lengths - {len(profile.values)} or (profile.labels and lengths - {len(profile.labels)}):
            raise ValueError(f"the curve of {profile.feature!r} is incomplete")


def _run_of(result: Any) -> Any:
    return result.run if isinstance(result, SFITResult) else result.parts[0][1].run
