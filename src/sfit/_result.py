"""What a test found: frozen, complete, and enough to decide again at another level.

Tables, summaries and JSON are views; nothing here predicts anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfit import _summary
from sfit._arguments import check_choice, check_level, check_unit
from sfit._multiplicity import CORRECTIONS, adjust
from sfit.exceptions import ArgumentError, DataError

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SetTest:
    """The test of one set of features; the fields are the columns of `SFITResult.table`."""

    order: int
    term: tuple[str, ...]
    base: tuple[str, ...]
    statistic: float
    ci_low: float
    ci_high: float
    ci_lower: float
    p_value: float
    p_adjusted: float
    significant: bool
    n_positive: int
    n: int
    beta: float
    beta_max: float


@dataclass(frozen=True)
class GateTest:
    """Is anything left to find? All features revealed, over those found so far, at beta = 0."""

    after_order: int
    found: tuple[str, ...]
    statistic: float
    p_value: float
    n_positive: int
    n: int
    is_open: bool


@dataclass(frozen=True)
class Settings:
    """How the test was asked for, as far as it can be written down."""

    test: str
    loss: str
    alpha: float
    beta: tuple[float, ...]
    max_order: int
    correction: str | None
    interval: str
    coverage: float
    reference: str
    reference_origin: str
    space: str
    given: tuple[str, ...]
    always_on: tuple[str, ...]
    partners: str
    n_partners: int | None
    exhaustive: bool
    strict: bool


@dataclass(frozen=True)
class BetaChoice:
    """The beta that random models call for, and how they do.

    Attributes
    ----------
    beta : float
        The smallest sufficient beta (the smallest of the grid, where one was given).
    alpha : float
        The level that the rejection rate must stay below.
    thresholds : tuple of tuple of float
        For each random model and feature, the beta from which on its test no longer rejects.
    feature_names : tuple of str
        The features, in the order of the thresholds.
    n_rows : int
        Number of validation rows.
    grid : tuple of float or None
        The betas that were admitted; None: all.
    seed : int
        What the random models were drawn with.
    """

    beta: float
    alpha: float
    thresholds: tuple[tuple[float, ...], ...]
    feature_names: tuple[str, ...]
    n_rows: int
    grid: tuple[float, ...] | None
    seed: int

    @property
    def n_models(self) -> int:
        """Number of random models."""
        return len(self.thresholds)

    @property
    def curve(self) -> pd.DataFrame:
        """The step function: `rate` of the tests reject from this `beta` on, up to the next."""
        steps = np.unique(np.append(0.0, np.ravel(self.thresholds)))
        return pd.DataFrame({"beta": steps, "rate": [self.rate(beta) for beta in steps]})

    def rate(self, beta: float) -> float:
        """Share of (model, feature) tests that reject at some beta."""
        check_unit(beta, "beta")
        return float(np.mean(np.asarray(self.thresholds) > beta))

    def plot(self, ax: Any = None) -> Any:
        """Draw the rejection rate of random models against beta; returns the display."""
        from sfit.plotting import BetaCurveDisplay

        return BetaCurveDisplay(self).plot(ax=ax)


@dataclass(frozen=True, eq=False)
class SFITResult:
    """The result of `feature_significance` or `loco_significance`.

    Attributes
    ----------
    tests : tuple of SetTest
        One entry per set of features tested, in the order of testing.
    gates : tuple of GateTest
        After each order: is anything left to find?
    feature_names : tuple of str
        The features under test.
    settings : Settings
        What was asked for.
    caveats : tuple of str
        What a reader of this result should know: constant columns, few rows, and the like.
    beta_choice : BetaChoice or None
        How beta was chosen, for ``beta="auto"``.
    run : dict
        How the result came about (versions, time, routes); not part of what is compared.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> result.significant
    {1: [('X1',), ('X3',)]}
    """

    tests: tuple[SetTest, ...]
    gates: tuple[GateTest, ...]
    feature_names: tuple[str, ...]
    settings: Settings
    caveats: tuple[str, ...] = ()
    beta_choice: BetaChoice | None = None
    run: dict[str, Any] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        """Equal when all that was found is; NaN equals NaN, and how it was computed is left out."""
        if not isinstance(other, SFITResult):
            return NotImplemented
        return bool(_storable(self._content()) == _storable(other._content()))

    def __hash__(self) -> int:
        return hash((self.feature_names, self.settings, len(self.tests)))

    @property
    def table(self) -> pd.DataFrame:
        """One row per set tested."""
        columns = [field.name for field in fields(SetTest)]
        rows = [tuple(getattr(test, name) for name in columns) for test in self.tests]
        return pd.DataFrame(rows, columns=columns)

    @property
    def features(self) -> pd.DataFrame:
        """One row per feature: at which order it became significant (0: not), and through what.

        A feature that was not found shows its own first-order test. Statistics of different orders
        have different bases and must not be compared.
        """
        rows = []
        for name, (order, test) in self._found_through().items():
            shown = test if test is not None else self._alone(name)
            rows.append(
                {
                    "feature": name,
                    "order": order,
                    "set": shown.term if shown else (),
                    "base": shown.base if shown else (),
                    "statistic": shown.statistic if shown else math.nan,
                    "ci_low": shown.ci_low if shown else math.nan,
                    "ci_high": shown.ci_high if shown else math.nan,
                    "p_adjusted": shown.p_adjusted if shown else math.nan,
                }
            )
        return pd.DataFrame(rows)

    @property
    def significant(self) -> dict[int, list[tuple[str, ...]]]:
        """Significant sets by order."""
        found: dict[int, list[tuple[str, ...]]] = {}
        for test in self.tests:
            found.setdefault(test.order, [])
            if test.significant:
                found[test.order].append(test.term)
        return found

    @property
    def selected(self) -> tuple[str, ...]:
        """Every feature found, at whatever order, in the order of the columns."""
        return tuple(name for name, (order, _) in self._found_through().items() if order)

    @property
    def remainder(self) -> bool:
        """Whether the last gate is open: there is more to find than was found."""
        return bool(self.gates) and self.gates[-1].is_open

    def at(self, *, alpha: float | None = None, correction: Any = "unchanged") -> SFITResult:
        """Decide again from the stored counts, at another level or with another correction.

        Nothing is predicted anew: the sets are those planned at the original level, and intervals,
        `ci_lower` and `beta_max` keep the level they were computed at.

        Parameters
        ----------
        alpha : float, optional
            The new level.
        correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, optional
            The new correction.

        Returns
        -------
        SFITResult
            The same evidence, decided anew.
        """
        alpha = self.settings.alpha if alpha is None else alpha
        unchanged = isinstance(correction, str) and correction == "unchanged"
        correction = self.settings.correction if unchanged else correction
        check_level(alpha, "alpha")
        check_choice(correction, "correction", CORRECTIONS)
        tests = []
        for order in dict.fromkeys(test.order for test in self.tests):
            family = [test for test in self.tests if test.order == order]
            adjusted = adjust(np.asarray([test.p_value for test in family]), correction)
            tests += [
                replace(test, p_adjusted=float(p), significant=bool(p < alpha))
                for test, p in zip(family, adjusted, strict=True)
            ]
        gates = tuple(replace(gate, is_open=gate.p_value < alpha) for gate in self.gates)
        settings = replace(self.settings, alpha=alpha, correction=correction)
        return replace(self, tests=tuple(tests), gates=gates, settings=settings)

    def summary(self) -> str:
        """The result as text, for a terminal or a notebook."""
        return _summary.as_text(self)

    def __str__(self) -> str:
        return self.summary()

    def plot(self, ax: Any = None) -> Any:
        """Draw the medians and intervals of all sets; returns the `ImportanceDisplay`."""
        from sfit.plotting import ImportanceDisplay

        return ImportanceDisplay.from_result(self, ax=ax)

    def _repr_html_(self) -> str:
        from sfit.report import for_notebook

        return for_notebook(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Write a report: one page that needs nothing else, to read, sort, print and forward."""
        from sfit.report import as_page

        return _save(as_page(self), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the report as Markdown, without pictures."""
        from sfit.report import as_markdown

        return _save(as_markdown(self), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the result as JSON; the part `result` is equal to the byte for equal runs."""
        return _write("SFITResult", self._content(), self.run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> SFITResult:
        """Read a result from a file, or from the text that `to_json` returned."""
        content, run = _read(source, "SFITResult")
        with _as_written():
            return cls._from_content(content, run)

    def _content(self) -> dict[str, Any]:
        return {
            "feature_names": self.feature_names,
            "settings": asdict(self.settings),
            "tests": [asdict(test) for test in self.tests],
            "gates": [asdict(gate) for gate in self.gates],
            "caveats": self.caveats,
            "beta_choice": None if self.beta_choice is None else asdict(self.beta_choice),
        }

    @classmethod
    def _from_content(cls, content: Mapping[str, Any], run: dict[str, Any]) -> SFITResult:
        chosen = content["beta_choice"]
        return cls(
            tests=tuple(_revived(SetTest, test) for test in content["tests"]),
            gates=tuple(_revived(GateTest, gate) for gate in content["gates"]),
            feature_names=_texts(content["feature_names"]),
            settings=_revived(Settings, content["settings"]),
            caveats=_texts(content["caveats"]),
            beta_choice=None if chosen is None else _revived(BetaChoice, chosen),
            run=run,
        )

    def _found_through(self) -> dict[str, tuple[int, SetTest | None]]:
        """The order at which each feature was found, and the strongest set it was found through."""
        found: dict[str, tuple[int, SetTest | None]] = dict.fromkeys(self.feature_names, (0, None))
        for test in self.tests:
            for name in test.term if test.significant else ():
                order, best = found[name]
                if order == 0 or (
                    best is not None
                    and order == test.order
                    and (test.p_adjusted, -test.n_positive) < (best.p_adjusted, -best.n_positive)
                ):
                    found[name] = test.order, test
        return found

    def _alone(self, name: str) -> SetTest | None:
        return next((test for test in self.tests if test.term == (name,)), None)


@dataclass(frozen=True)
class PartitionedResult(Mapping[Any, SFITResult]):
    """One result per class or subgroup (section 2.4): a mapping from the part to its result.

    Each part is a procedure and a family of tests of its own; the reference values are those of all
    rows.
    """

    parts: tuple[tuple[Any, SFITResult], ...]
    by: str

    def __getitem__(self, part: Any) -> SFITResult:
        for label, result in self.parts:
            if label == part:
                return result
        raise KeyError(part)

    def __iter__(self) -> Iterator[Any]:
        return (label for label, _ in self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def table(self) -> pd.DataFrame:
        """The tables of all parts, with `part` as first column."""
        return _stack([(label, result.table) for label, result in self.parts])

    @property
    def features(self) -> pd.DataFrame:
        """The features of all parts, with `part` as first column."""
        return _stack([(label, result.features) for label, result in self.parts])

    def at(self, *, alpha: float | None = None, correction: Any = "unchanged") -> PartitionedResult:
        """Decide every part again; see `SFITResult.at`."""
        parts = tuple(
            (label, result.at(alpha=alpha, correction=correction)) for label, result in self.parts
        )
        return replace(self, parts=parts)

    def summary(self) -> str:
        """The summaries of all parts, one below the other."""
        return "\n\n".join(
            f"{self.by} = {label}\n{result.summary()}" for label, result in self.parts
        )

    def __str__(self) -> str:
        return self.summary()

    def plot(self, ax: Any = None) -> Any:
        """Draw the first-order tests of all parts side by side; returns the `PartsDisplay`."""
        from sfit.plotting import PartsDisplay

        return PartsDisplay.from_result(self, ax=ax)

    def _repr_html_(self) -> str:
        from sfit.report import for_notebook

        return for_notebook(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Write a report of all parts: one page that needs nothing else."""
        from sfit.report import as_page

        return _save(as_page(self), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Write the report of all parts as Markdown, without pictures."""
        from sfit.report import as_markdown

        return _save(as_markdown(self), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the results of all parts as JSON."""
        parts = [{"part": label, **result._content()} for label, result in self.parts]
        run = self.parts[0][1].run
        return _write("PartitionedResult", {"by": self.by, "parts": parts}, run, path)

    @classmethod
    def from_json(cls, source: str | Path) -> PartitionedResult:
        """Read results from a file, or from the text that `to_json` returned."""
        content, run = _read(source, "PartitionedResult")
        with _as_written():
            parts = tuple((p["part"], SFITResult._from_content(p, run)) for p in content["parts"])
            return cls(parts, content["by"])


def _stack(frames: Sequence[tuple[Any, pd.DataFrame]]) -> pd.DataFrame:
    parts = [frame.assign(part=label)[["part", *frame.columns]] for label, frame in frames]
    return pd.concat(parts, ignore_index=True)


def _write(kind: str, content: dict[str, Any], run: dict[str, Any], path: str | Path | None) -> str:
    document = {"schema_version": SCHEMA_VERSION, "kind": kind, "result": content, "run": run}
    return _save(json.dumps(_storable(document), indent=1, allow_nan=False), path)


def _save(text: str, path: str | Path | None) -> str:
    if path is not None:
        try:
            Path(path).write_text(text + "\n", encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"path {path!r} cannot be written ({error}): name a file in a folder that exists."
            ) from error
    return text


def _read(source: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts `result` and `run` of a document, from a file or from text."""
    if not isinstance(source, str | PathLike):
        raise DataError(f"expected a path, or JSON written by to_json; got {source!r}.")
    text = str(source)
    try:
        if isinstance(source, PathLike) or not text.lstrip().startswith("{"):
            text = Path(source).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        shown = text if len(text) < 100 else f"{text[:97]}..."
        raise DataError(f"{shown!r} is no JSON written by to_json: {error}.") from error
    head = document if isinstance(document, dict) else {}
    if head.get("schema_version") != SCHEMA_VERSION or head.get("kind") != kind:
        raise DataError(
            f"expected a {kind} of schema version {SCHEMA_VERSION}; got {head.get('kind')!r} of "
            f"version {head.get('schema_version')!r}."
        )
    result, run = head.get("result"), head.get("run")
    if not isinstance(result, dict) or not isinstance(run, dict):
        raise DataError(f"this {kind} lacks its part 'result' or 'run': it was not written whole.")
    return result, run


@contextmanager
def _as_written() -> Iterator[None]:
    """What is missing or of another kind in a document is the document's fault."""
    try:
        yield
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"this was not written by to_json, or was changed: {error!r}.") from error


# JSON has no infinities and no NaN; written as text they come back exactly.
_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_NUMERIC = {
    field.name
    for owner in (SetTest, GateTest, Settings, BetaChoice)
    for field in fields(owner)
    if "float" in str(field.type)
}


def _storable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    if isinstance(value, np.generic):
        return _storable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return _WORDS.get(value, "nan")
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# How each kind of field is written; what is neither was not written by us.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
}


def _is_kind(value: Any, kind: str) -> bool:
    if " | " in kind:
        return any(_is_kind(value, one) for one in kind.split(" | "))
    if kind.startswith("tuple["):
        inner = kind.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, tuple) and all(_is_kind(item, inner) for item in value)
    return _KINDS[kind](value)


def _revived(owner: type[Any], stored: Mapping[str, Any]) -> Any:
    """A dataclass as it was: lists are tuples, words in numeric fields are numbers."""
    made = owner(**{name: _as_it_was(value, name in _NUMERIC) for name, value in stored.items()})
    for about in fields(owner):
        value = getattr(made, about.name)
        if not _is_kind(value, str(about.type)):
            raise TypeError(f"{about.name} must be {about.type}, not {value!r}")
    return made


def _texts(stored: Any) -> tuple[str, ...]:
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise TypeError(f"expected a list of texts, not {stored!r}")
    return tuple(stored)


def _as_it_was(value: Any, numeric: bool) -> Any:
    if isinstance(value, list):
        return tuple(_as_it_was(item, numeric) for item in value)
    return _NUMBERS.get(value, value) if numeric and isinstance(value, str) else value
