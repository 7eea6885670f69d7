"""A result in MLflow: metrics and settings of a run, tables, JSON and the page as artifacts."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from sfit._export._cells import looks_like_formula, plain
from sfit._text import shortened
from sfit.exceptions import ArgumentError, MissingDependencyError

LONGEST_NAME = 120
LONGEST_VALUE = 500
"""Characters of a setting; old servers of MLflow refuse longer ones."""
RUN_ID = "MLFLOW_RUN_ID"


class Logged(Protocol):
    """Anything that can be logged: an audit, or a result."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by name."""

    def metrics(self) -> dict[str, float]:
        """The most important numbers, by name."""

    def params(self) -> dict[str, str]:
        """The settings, by name."""

    def to_json(self, path: str | Path | None = None) -> str:
        """The whole result as JSON."""

    def to_html(self, path: str | Path | None = None) -> str:
        """The page."""


def log_to_mlflow(result: Logged, prefix: Any = "sfit") -> str:
    """Log to the active run, or to a new one that is then ended; the id of the run."""
    if not isinstance(prefix, str) or re.fullmatch(r"[A-Za-z0-9][\w-]*", prefix, re.ASCII) is None:
        raise ArgumentError(
            f"prefix must be a word of letters, digits, _ and -, such as 'sfit'; got {prefix!r}."
        )
    try:
        import mlflow
    except ImportError as error:
        raise MissingDependencyError('MLflow is missing: pip install "sfit[mlflow]".') from error
    # Everything is made before the run begins: a failure leaves no half-logged run.
    files = {"report.html": result.to_html(), "result.json": result.to_json()}
    tables = result.tables()
    for name, frame in zip(mlflow_names(tables), tables.values(), strict=True):
        files[f"tables/{name}.csv"] = _csv(frame)
    metrics = {name: float(value) for name, value in _named(result.metrics(), prefix).items()}
    params = {name: str(value) for name, value in _named(result.params(), prefix).items()}
    with _run(mlflow) as run_id:
        client = mlflow.MlflowClient()
        _log_params(client, run_id, params, prefix)
        for name, value in metrics.items():
            if math.isfinite(value):  # not every store of MLflow can hold the others
                client.log_metric(run_id, name, value)
        for name, text in files.items():
            client.log_text(run_id, text, f"{prefix}/{name}")
    return run_id


def _log_params(client: Any, run_id: str, params: Mapping[str, str], prefix: str) -> None:
    """Log the settings; MLflow never changes one that a run already has."""
    before = client.get_run(run_id).data.params
    texts = {name: shortened(text, LONGEST_VALUE, "...") for name, text in params.items()}
    changed = [name for name, text in texts.items() if before.get(name, text) != text]
    if changed:
        raise ArgumentError(
            f"run {run_id} already holds another result with prefix={prefix!r}: its "
            f"{changed[0]!r} is {before[changed[0]]!r}, not {texts[changed[0]]!r}. Pass another "
            "prefix, or log to another run."
        )
    for name, text in texts.items():
        client.log_param(run_id, name, text)


@contextmanager
def _run(mlflow: Any) -> Iterator[str]:
    """The id of the active run, or of a new one; the environment stays as it was."""
    active = mlflow.active_run()
    if active is not None:
        yield active.info.run_id
        return
    # MLflow resumes the run that this variable names, and then forgets the variable.
    resumed = os.environ.get(RUN_ID)
    try:
        with mlflow.start_run() as run:
            yield run.info.run_id
    finally:
        if resumed is not None:
            os.environ[RUN_ID] = resumed


def _named(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    names = mlflow_names(values)
    return {f"{prefix}.{name}": value for name, value in zip(names, values.values(), strict=True)}


def mlflow_names(names: Iterable[str]) -> list[str]:
    """Names that MLflow accepts: letters, digits, `_`, `-` and `.`, unique in any case."""
    taken: set[str] = set()
    valid = []
    for name in names:
        clean = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.") or "unnamed"
        unique, number = shortened(clean, LONGEST_NAME, "..."), 1
        while unique.casefold() in taken:
            number += 1
            ending = f"-{number}"
            unique = shortened(clean, LONGEST_NAME - len(ending), "...") + ending
        taken.add(unique.casefold())
        valid.append(unique)
    return valid


def _csv(frame: pd.DataFrame) -> str:
    """A table as CSV, whose texts no spreadsheet takes for formulas."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_safe(str(plain(name))) for name in frame.columns])
    for row in frame.itertuples(index=False, name=None):
        writer.writerow([_cell(value) for value in row])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    text = plain(value)
    is_number = isinstance(value, float)  # -inf is a number, and not a formula
    return text if is_number or not isinstance(text, str) else _safe(text)


def _safe(text: str) -> str:
    return f"'{text}" if looks_like_formula(text) else text
