"""One case, three ways: what differs is a finding."""

from __future__ import annotations

import math
import re
import traceback
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from reference import slow
from tiles import tiles_of

import sfit
from fuzz_models.case import Case, averaged_case, draw_case, is_installed, kind_of
from fuzz_models.compare import Allowed, compare, content
from fuzz_models.kinds import CannotFitError
from fuzz_models.naive import (
    DEFAULT_LOSS,
    Naive,
    doubtful_rows,
    encode,
    frozen,
    mixes_freely,
    trace,
)
from sfit.exceptions import SFITError, SFITWarning
from sfit.rows import column_values, is_frame
from sfit.sample import prepare

LIBRARIES_OWN = (
    "__array__ implementation doesn't accept",  # Keras on torch, on NumPy 2
    "`sklearn.utils.parallel.delayed` should",  # forests in two threads: scikit-learn's own race
    "Found unknown categories in columns",  # OneHotEncoder, whoever calls it
    "Skipping features without any observed values",  # SimpleImputer
)
"""How warnings begin that libraries emit whoever calls them."""
KNOWN_WARNINGS = (
    "rows are too few for",
    "the base has a loss above zero on .* rows",
    "the trees read .* frozen dummies as 1",
    "the trees read that as the value that fewer rows have",
    "predictions depend on which rows are predicted together",
)
GIVEN_UP = "does not reproduce"
"""A network's route may be given up; cells of trees repeat the model's own predictions."""
NETWORKS = ("linear", "distances", "perceptron", "pipeline", "torch", "skorch", "keras", "onnx")

REFUSALS = (
    r"prediction for row \d+ is not finite",
    r"is not finite at",
    r"whose (mean|median|mode) is too large",
    r"is infinite in column",
    r"model's own preprocessing failed",
    r"the model failed on \d+ masked rows",
    r"below zero at",
    r"not probabilities: row \d+ has",  # GaussianNB answers [1, 1] where both densities vanish
    r"reference for column .* must be finite.*; got -?inf",  # a scaler divides by a subnormal spread
)
"""Errors that are right: the model itself gives nothing that could be tested."""


@dataclass
class Outcome:
    """What became of a case."""

    number: int
    kind: str
    status: str = "compared"
    findings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    description: str = ""
    foreign: set[str] = field(default_factory=set)
    """Warnings of other libraries while sfit ran."""


def run_case(seed: int, number: int, folder: Path, *, average: bool = False) -> Outcome:
    """Draw a case and compare its results; `average`: with another reference."""
    outcome = Outcome(number, kind_of(number))
    if not is_installed(outcome.kind):
        outcome.status = "not installed"
        return outcome
    try:
        case = draw_case(seed, number, folder)
        case = averaged_case(case, np.random.default_rng([seed, number, 1])) if average else case
    except CannotFitError as error:
        outcome.status = "cannot be fitted"
        outcome.counts[f"cannot be fitted: {outcome.kind}: {_short(str(error))}"] += 1
        return outcome
    except Exception:
        outcome.status = "not drawn"
        outcome.findings.append(f"the case cannot be drawn: {traceback.format_exc(limit=-4)}")
        return outcome
    outcome.description = case.describe()
    try:
        with tiles_of(case.tile_rows) if case.tile_rows else nullcontext():
            _compare_ways(case, outcome)
    except Exception as error:  # whatever escapes is a finding
        text = traceback.format_exc(limit=-4)
        outcome.findings.append(f"{type(error).__name__}: {str(error)[:300]}\n{text}")
    outcome.findings += [f"a warning of another library: {text}" for text in outcome.foreign]
    return outcome


def _compare_ways(case: Case, outcome: Outcome) -> None:
    results = {}
    for fast in (True, False):
        results[fast] = _sfit(case, fast, outcome)
    refused = {way: value for way, value in results.items() if isinstance(value, SFITError)}
    if refused:
        _compare_refusals(results, outcome)
        return
    if case.kind.exact and content(results[True]) != content(results[False]):
        outcome.findings.append("fast=True and fast=False differ")
    options = {
        name: case.options[name]
        for name in ("loss", "reference", "groups", "always_on")
        if name in case.options
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = prepare(case.model, case.rows, case.y, by=case.by, **options)
        e = sample.evaluation(fast=False).noise
    naive = make_naive(case, sample, outcome)
    outcome.findings += check_reference(naive)
    n_probe = min(8 if case.kind.exact else 64, len(case.frame), case.tile_rows or len(case.frame))
    least, most, size, unit = naive.noise(n_probe)
    rounding = 0.0 if case.kind.exact else 4 * unit * size
    if not (1 - 1e-6) * least - rounding <= e <= (1 + 1e-6) * most + rounding:
        outcome.findings.append(f"noise of the model {e:.3g}, naive {least:.3g} to {most:.3g}")
    for label, rows in _parts(case):
        expected = naive.sfit(rows, unit, e)
        names = naive.features()[0]
        for fast, result in results.items():
            part = result if label is None else result[label]
            outcome.findings += compare(
                f"fast={fast}{'' if label is None else f' part {label}'}",
                part,
                expected,
                names,
                _doubts(naive, rows, unit, e, most),
                Allowed(case.kind.exact, fast and case.name in NETWORKS),
                outcome.counts,
            )
    # What the library warns of when the naive loop asks it is its own business.
    outcome.foreign -= naive.heard


def _sfit(case: Case, fast: bool, outcome: Outcome) -> Any:
    """The result of sfit, or the error with which it refuses; warnings are looked through."""
    options = dict(case.options)
    options["test"] = sfit.SignTest(interval=options.pop("interval"))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = sfit.feature_significance(
                case.model, case.rows, case.y, by=case.by, fast=fast, **options
            )
        except SFITError as error:
            result = error
    for warning in heard:
        text = str(warning.message)
        if any(text.startswith(own) for own in LIBRARIES_OWN):
            continue
        kind = _short(text)
        if not issubclass(warning.category, SFITWarning):
            outcome.foreign.add(text)
        elif GIVEN_UP in text and case.name in NETWORKS:
            outcome.counts["routes of networks given up"] += 1
        elif not any(re.search(known, text) for known in KNOWN_WARNINGS) or (
            case.kind.exact and "predicted together" in text
        ):
            outcome.findings.append(f"fast={fast}: unknown warning: {text[:300]}")
        else:
            outcome.counts[f"warning: {kind}"] += 1
    return result


def _compare_refusals(results: dict[bool, Any], outcome: Outcome) -> None:
    outcome.status = "refused"
    outcome.foreign.clear()  # a model that fails may well warn first
    kinds = {type(value).__name__ for value in results.values()}
    error = next(value for value in results.values() if isinstance(value, SFITError))
    if len(kinds) > 1:
        outcome.findings.append(
            f"one way refuses, the other does not: {type(error).__name__}: {str(error)[:400]}"
        )
    if not any(re.search(known, str(error)) for known in REFUSALS):
        outcome.findings.append(f"unknown refusal: {type(error).__name__}: {str(error)[:400]}")
    outcome.counts[f"refused: {_short(str(error))}"] += 1


def make_naive(case: Case, sample: Any, outcome: Outcome) -> Naive:
    """The masked space of the naive loop; where it lies is checked on all rows."""
    rows = sample.features.reference
    by_column = [column_values(rows, position).tolist() for position in range(rows.shape[1])]
    if is_frame(rows):
        # The very objects: `column_values` turns numbers into doubles.
        native = rows.to_pandas()
        by_column = [[native[name].iloc[k] for k in range(len(native))] for name in native]
    background = [list(row) for row in zip(*by_column, strict=True)]
    if sample.features.space == "original":
        # A column has one type on all sides: libraries may compute in it.
        frame = case.frame.copy()
        for name, values in zip(case.frame, by_column, strict=True):
            types = [frozen(case.frame[name], value, 1).dtype for value in values]
            other = [dtype for dtype in types if dtype != case.frame[name].dtype]
            frame[name] = frame[name].astype(other[0]) if other else frame[name]
        return Naive(case, frame, background, list(range(frame.shape[1])), encoded=False)
    head = case.own[:-1]
    encoded = encode(head, case.frame)
    origin = trace(head, case.frame, encoded)
    if not mixes_freely(head, case.frame, encoded, origin):
        outcome.findings.append("masked behind the head, though its columns interact")
    return Naive(case, pd.DataFrame(encoded), background, origin, encoded=True)


def check_reference(naive: Naive) -> list[str]:
    """Whether the frozen values are those that were asked for; numbers of the user's columns only."""
    found = []
    asked = naive.case.options["reference"]
    if isinstance(asked, sfit.Average):
        return _check_background(naive, asked.data)
    for position, name in enumerate(naive.columns):
        column, got = naive.columns[name], naive.background[0][position]
        if column.dtype.kind not in "biuf" or isinstance(got, str) or pd.isna(got):
            continue
        numbers = column.to_numpy(dtype=float)
        numbers = numbers[~np.isnan(numbers)]
        categorical = position in getattr(naive.case.model, "_sfit_categorical", ())
        how = asked
        if isinstance(asked, dict) and not naive.encoded:
            how = asked.get(str(name), "mean")
        if not isinstance(how, str) or categorical or not len(numbers):
            continue
        want = {
            "mean": lambda v=numbers: math.fsum(v) / len(v),
            "median": lambda v=numbers: float(np.median(v)),
            "mode": lambda v=numbers: _mode(v),
        }[how]()
        size = max(abs(want), float(np.abs(numbers).max()))
        single = column.dtype == np.float32
        # Means are summed in another order; middles of two values are rounded to the column's type.
        room = 6e-8 * size + 1e-45 if single else 1e-14 * size
        room = 0.0 if how == "mode" else room
        modes = (want, _mode(numbers))  # columns of categories take their mode
        if not any(abs(float(got) - value) <= room for value in modes):
            found.append(f"reference {how} of {name!r} is {got!r}, naive {want!r}")
    return found


def _check_background(naive: Naive, given: pd.DataFrame) -> list[str]:
    """Whether the hidden values are those of the given rows."""
    rows = pd.DataFrame(encode(naive.case.own[:-1], given)) if naive.encoded else given
    found = []
    for position, name in enumerate(rows):
        for k, want in enumerate(rows[name]):
            got = naive.background[k][position]
            same = (pd.isna(got) and pd.isna(want)) or got == want
            if not same and not (naive.encoded and math.isclose(got, want, rel_tol=1e-9)):
                found.append(f"background row {k} has {got!r} in {name!r}, given {want!r}")
    return found


def _mode(values: np.ndarray) -> float:
    """The most frequent value, by its bits: -0.0 is not 0.0."""
    counted = Counter((value, math.copysign(1.0, value)) for value in values.tolist())
    most = max(counted.values())
    return min(value for (value, _), count in counted.items() if count == most)


def _parts(case: Case) -> list[tuple[Any, np.ndarray]]:
    everything = np.arange(len(case.frame))
    if case.labels is None:
        return [(None, everything)]
    if isinstance(case.by, str) and case.by == "class":
        assert case.classes is not None
        labels = case.classes[case.labels]
    else:
        labels = case.labels
    return [(label, everything[labels == label]) for label in np.unique(labels).tolist()]


def _doubts(naive: Naive, rows: np.ndarray, unit: float, e: float, layouts: float) -> Any:
    """The rows that rounding could move, for the features of two sides."""
    case = naive.case
    names, columns, always = naive.features()
    loss = case.options["loss"]
    loss = DEFAULT_LOSS[case.classes is not None] if loss == "auto" else loss
    y = case.target if case.classes is None else np.searchsorted(case.classes, case.target)

    def losses(prediction: np.ndarray) -> np.ndarray:
        if loss == "zero_one":
            # The distance of the right class to the best other one decides; rounding moves both.
            truth = prediction[np.arange(len(rows)), y[rows]]
            others = prediction.copy()
            others[np.arange(len(rows)), y[rows]] = -np.inf
            return np.asarray(others.max(axis=1) >= truth, dtype=float)
        if loss == "poisson":
            prediction = np.maximum(prediction, 1e-300)
        return np.asarray(slow.losses(loss, y[rows], prediction))

    def predictions(shown: set[str]) -> np.ndarray:
        visible = {
            *always,
            *(c for j, name in enumerate(names) if name in shown for c in columns[j]),
        }
        numbers = np.full((len(rows), naive.columns.shape[1]), -1)
        for position in visible:
            numbers[:, position] = rows
        return naive.ask(numbers)

    def doubts(base: set[str], full: set[str], beta: float) -> tuple[int, float]:
        if case.kind.exact and loss in ("absolute_error", "squared_error", "zero_one"):
            return 0, 0.0
        with np.errstate(all="ignore"):
            sides = predictions(base), predictions(full)
            return doubtful_rows(losses, *sides, beta, unit, e, layouts)

    return doubts


def _short(text: str) -> str:
    """A message without its numbers and names."""
    return re.sub(r"\d[\d.,e+-]*|'[^']*'", "_", text)[:70]
