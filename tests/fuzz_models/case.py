"""One case: a model, rows, options, and how the model's own library predicts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfit
from fuzz_models import zoo_boosters, zoo_networks, zoo_sklearn
from fuzz_models.forms import as_form, is_possible, possible_forms
from fuzz_models.kinds import CannotFitError, Kind
from fuzz_models.options import draw_options, draw_reference
from fuzz_models.rows import draw_frame, draw_score, spoil

KINDS: dict[str, Kind] = {**zoo_sklearn.KINDS, **zoo_boosters.KINDS, **zoo_networks.KINDS}

CYCLE = (*KINDS, "lightgbm", "xgboost", "catboost", "pipeline", "histogram", "torch", "function")
"""The kind of each case, by its number: it must not depend on what is installed."""


@dataclass
class Case:
    """What is passed to sfit, and what the naive loop works with."""

    name: str
    kind: Kind
    model: Any
    own: Any
    """The model as the naive loop asks it."""
    frame: pd.DataFrame
    """The rows under test, in the order of the model's columns."""
    as_array: bool
    """Whether the model was fitted on an array."""
    target: np.ndarray
    classes: np.ndarray | None
    rows: Any
    y: Any
    by: Any
    labels: np.ndarray | None
    """The part of each row."""
    options: dict[str, Any]
    form: str
    tile_rows: int | None

    def describe(self) -> str:
        """The case in one line."""
        types = ",".join(str(dtype) for dtype in self.frame.dtypes)
        options = {
            name: "data" if isinstance(value, pd.DataFrame) else value
            for name, value in self.options.items()
        }
        inner = getattr(self.own, "module", self.own)
        text = " ".join(str(inner).split())[:300]
        return (
            f"{self.name}: {text}; {self.form} {self.frame.shape} [{types}]"
            f"{' by' if self.by is not None else ''} tiles={self.tile_rows} {options}"
        )


def kind_of(number: int) -> str:
    """The kind of model of a case."""
    return CYCLE[number % len(CYCLE)]


def is_installed(kind: str) -> bool:
    """Whether the libraries of a kind can be imported."""
    return all(map(find_spec, KINDS[kind].needs))


def draw_case(seed: int, number: int, folder: Path) -> Case:
    """The case of a seed and a number."""
    rng = np.random.default_rng([seed, number])
    name = kind_of(number)
    kind = KINDS[name]
    task = str(rng.choice(kind.tasks))
    n_fit, n = 80, int(np.exp(rng.uniform(np.log(30), np.log(400))))
    width = int(rng.integers(1, 7))
    train_and_test = draw_frame(rng, n_fit + n, width, kind.takes)
    target, classes = draw_target(rng, draw_score(rng, train_and_test), n_fit, task, name)
    train, test = train_and_test[:n_fit], train_and_test[n_fit:].reset_index(drop=True)
    numeric = all(dtype.kind in "biuf" for dtype in train.dtypes)
    on_array = numeric and (
        kind.fitted_on == "array" or (kind.fitted_on == "either" and rng.uniform() < 0.5)
    )
    if kind.takes.missing and rng.uniform() < 0.5:
        train = _with_gaps(rng, train)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        own = _fitted(kind, rng, train.to_numpy() if on_array else train, target[:n_fit], task)
    model = own.for_sfit() if hasattr(own, "for_sfit") else own
    test = spoil(rng, test, kind.takes, _thresholds(model, list(test.columns)))
    y = target[n_fit:]
    if task in ("regression", "outputs") and rng.uniform() < 0.15:
        y = y.astype(rng.choice(["float32", "int64"]))
    labels = None
    if rng.uniform() < 0.15:
        labels = rng.integers(0, 3, size=n)
    by: Any = labels
    if classes is not None and rng.uniform() < 0.1:
        by, labels = "class", np.searchsorted(classes, y)
    forms = possible_forms(test, named=not on_array and name != "function", any_form=kind.any_form)
    form = str(rng.choice(forms))
    if (y.ndim == 2 and form in ("parquet", "frames")) or not is_possible(form):
        form = "pandas"
    hard = kind.hard and classes is not None and not hasattr(model, "predict_proba")
    options = draw_options(rng, [str(column) for column in test], task, hard)
    rows, passed_y, passed_by, frame = as_form(form, rng, test, y, by, folder, name == "pipeline")
    options["reference"] = draw_reference(rng, frame, train, by_position=form != "shuffled")
    stored = form in ("parquet", "frames")
    tile = int(rng.choice([16, 50, 200])) if rng.uniform() < (0.8 if stored else 0.3) else None
    return Case(
        name, kind, model, own, frame, on_array, y, classes, rows, passed_y, passed_by, labels,
        options, form, tile,
    )  # fmt: skip


def averaged_case(case: Case, rng: np.random.Generator) -> Case:
    """The same case, with hidden features averaged over a few finite rows."""
    numbers = case.frame.select_dtypes(["number", "bool"]).astype(float)
    finite = np.flatnonzero(~np.isinf(numbers).any(axis=1))
    if not len(finite):
        return case
    rows = rng.choice(finite, size=int(rng.integers(1, 6)))
    background = case.frame.iloc[rows].reset_index(drop=True)
    return replace(case, options=case.options | {"reference": sfit.Average(background)})


def _fitted(kind: Kind, rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    try:
        return kind.fit(rng, X, target, task)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        raise CannotFitError(f"{type(error).__name__}: {error}") from error


def draw_target(
    rng: np.random.Generator, score: np.ndarray, n_fit: int, task: str, name: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """What was observed, for each task, and the classes in sorted order."""
    if task == "regression":
        return score, None
    if task == "outputs":
        return np.column_stack([score, np.sin(score)]), None
    if task == "counts":
        return rng.poisson(np.exp(np.clip(score, -2, 2))).astype(float), None
    n_classes = int(rng.integers(2, 4))
    numbers = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    # Every class among the rows to fit and the rows to test: not all models know their classes.
    for start in (0, n_fit):
        numbers[start : start + 4 * n_classes] = np.repeat(range(n_classes), 4)
    if name in zoo_sklearn.KINDS and rng.uniform() < 0.3:
        names = np.array(["no", "perhaps", "yes"])
        return names[numbers], names[:n_classes]
    return numbers, np.arange(n_classes)


def _with_gaps(rng: np.random.Generator, train: pd.DataFrame) -> pd.DataFrame:
    train = train.copy()
    for name in train:
        if train[name].dtype == np.float64 and rng.uniform() < 0.5:
            train.loc[rng.uniform(size=len(train)) < 0.1, name] = np.nan
    return train


def _thresholds(model: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The splits of a tree model by column: values to put into the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            structure = sfit.models.as_view(model, "zero_one").structure
        except (sfit.exceptions.SFITError, ValueError):
            return {}
    if not isinstance(structure, sfit.models.Trees):
        return {}
    inner = structure.left >= 0
    feature, threshold = structure.feature[inner], structure.threshold[inner].astype(float)
    return {name: threshold[feature == j] for j, name in enumerate(names) if (feature == j).any()}
