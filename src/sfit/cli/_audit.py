"""The command that audits a model: everything at once, in one document."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfit.cli import _inputs
from sfit.cli._options import (
    AllowPickle,
    Alpha,
    Checkpoint,
    Classes,
    Clusters,
    DataFile,
    Debug,
    Features,
    Group,
    Jobs,
    Json,
    Loss,
    ModelFile,
    Report,
    Seed,
    Target,
    Trust,
)
from sfit.exceptions import ArgumentError

Text = Annotated[str | None, typer.Option(metavar="TEXT", help="For the first page.")]


def audit(
    context: typer.Context,
    model: ModelFile,
    data: DataFile,
    target: Target,
    train: Annotated[
        str | None, typer.Option(metavar="FILE", help="Training rows: .csv .csv.gz .parquet")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Groups: the values of a column, or 'class'.")
    ] = None,
    protected: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns with protected attributes.")
    ] = None,
    expect: Annotated[
        list[str], typer.Option(metavar="NAME=+", help="Expected direction, + or -; repeat.")
    ] = [],  # noqa: B006  (typer makes a new list for each call)
    budget: Annotated[
        str | None,
        typer.Option(metavar="B", help="Seconds, or '60 passes'; pairs run only within it."),
    ] = None,
    title: Text = None,
    purpose: Text = None,
    author: Text = None,
    model_name: Text = None,
    data_name: Text = None,
    period: Text = None,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    alpha: Alpha = 0.05,
    group: Group = [],  # noqa: B006
    clusters: Clusters = None,
    report: Report = None,
    json: Json = None,
    checkpoint: Checkpoint = None,
    jobs: Jobs = None,
    seed: Seed = None,
    trust: Trust = [],  # noqa: B006
    allow_pickle: AllowPickle = False,
    debug: Debug = False,
) -> None:
    """Audit the fitted MODEL on the held-out rows DATA, and write a page to sign."""
    arguments: dict[str, Any] = {
        "by": by,
        "clusters": clusters,
        "protected": _inputs.names(protected) or (),
        "expected": expected(expect),
        "budget": budget,
        "title": title,
        "purpose": purpose,
        "author": author,
        "model_name": model_name or Path(model).name,
        "data_name": data_name or Path(data).name,
        "period": period,
        "features": _inputs.names(features),
        "loss": loss,
        "alpha": alpha,
        "groups": _inputs.groups(group),
        "checkpoint": checkpoint,
        "checkpoint_key": _inputs.checkpoint_key(checkpoint, model),
        "n_jobs": jobs,
        "random_state": seed,
        "progress": sys.stderr.isatty(),
    }
    _inputs.check_writable(report, json)
    from sfit.cli._data import explained, read_rows

    view, rows = _inputs.load(
        model, data, target, classes=classes, loss=loss, trust=trust, allow_pickle=allow_pickle
    )
    rows = read_rows(rows) if isinstance(rows, str) else rows
    arguments["train"] = None if train is None else read_rows(train)
    from sfit import audit as audit_model
    from sfit.cli._show import show_result, write_result

    with explained(rows, data):
        result = audit_model(view, rows, target, **arguments)
    code = command({**context.params, "seed": result.settings.seed})
    result = replace(result, settings=replace(result.settings, reproduce=code))
    show_result(result)
    write_result(result, report, json)


def command(options: dict[str, Any]) -> str:
    """The command line that repeats an audit with these options."""
    words = ["sfit", "audit", options["model"], options["data"]]
    for name, value in options.items():
        if name in ("model", "data", "json", "jobs", "checkpoint", "debug") or value in (None, []):
            continue
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] if value else []
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [flag, str(one)]
    return shlex.join(words)


def expected(texts: list[str]) -> dict[str, str]:
    """Expected directions, each written as NAME=+ or NAME=-."""
    directions: dict[str, str] = {}
    for text in texts:
        name, equals, direction = text.rpartition("=")
        if not equals or not name or direction not in ("+", "-"):
            raise ArgumentError(f"--expect must look like NAME=+ or NAME=-; got {text!r}.")
        directions[name] = direction
    return directions
