"""The commands that compare models, features, and parts of the rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
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
    Given,
    Group,
    Jobs,
    Json,
    Loss,
    ModelFile,
    Reference,
    Report,
    Seed,
    Target,
    Trust,
)
from sfit.exceptions import ArgumentError

compare = typer.Typer(
    name="compare",
    help="Compare two models, the features of a model, or parts of the rows.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

FirstModel = Annotated[
    str, typer.Argument(metavar="CHAMPION", help=".skops .onnx .json .ubj .txt .cbm .keras")
]
SecondModel = Annotated[
    str, typer.Argument(metavar="CHALLENGER", help="Another model of the same target.")
]
HolmByDefault = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="holm, bonferroni, fdr_by, fdr_bh or none [holm].",
        show_default=False,
    ),
]


@compare.command(
    epilog="""\b
Examples:
  sfit compare models old.skops new.skops test.csv -t y --reference train.csv
  sfit compare models a.txt b.onnx 'rows/*.parquet' -t sold --names old,new --report out.html""",
)
def models(
    champion: FirstModel,
    challenger: SecondModel,
    data: DataFile,
    target: Target,
    names: Annotated[
        str | None, typer.Option(metavar="A,B", help="Names of the models [those of the files].")
    ] = None,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    alpha: Alpha = 0.05,
    correction: HolmByDefault = "holm",
    reference: Reference = "mean",
    group: Group = [],  # noqa: B006  (typer makes a new list for each call)
    given: Given = None,
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
    """Find the better model, and who gains more from a feature."""
    options, files = locals(), (champion, challenger)
    called = names_of(names, files)

    def call(views: list[Any], *rows: Any, **arguments: Any) -> Any:
        from sfit import compare_models

        return compare_models(dict(zip(called, views, strict=True)), *rows, **arguments)

    run(call, files, options, correction=_inputs.correction(correction))


@compare.command(
    epilog="""\b
Examples:
  sfit compare features model.skops test.csv -t y --reference train.csv
  sfit compare features model.onnx 'rows/*.parquet' -t y --given rest --report out.html""",
)
def features(
    model: ModelFile,
    data: DataFile,
    target: Target,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    alpha: Alpha = 0.05,
    reference: Reference = "mean",
    group: Group = [],  # noqa: B006
    given: Given = None,
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
    """Compare all pairs of features, and find the certain ranks."""
    options = locals()

    def call(views: list[Any], *rows: Any, **arguments: Any) -> Any:
        from sfit import compare_features

        return compare_features(views[0], *rows, **arguments)

    run(call, (model,), options)


@compare.command(
    epilog="""\b
Examples:
  sfit compare parts model.skops test.csv -t y --by SEX --reference train.csv
  sfit compare parts model.onnx 'rows/*.parquet' -t y --by month --trend --report out.html""",
)
def parts(
    model: ModelFile,
    data: DataFile,
    target: Target,
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Column that divides the rows, or 'class'.")
    ],
    trend: Annotated[
        bool, typer.Option("--trend", help="Test for a trend over the parts, in sorted order.")
    ] = False,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    alpha: Alpha = 0.05,
    correction: HolmByDefault = "holm",
    reference: Reference = "mean",
    group: Group = [],  # noqa: B006
    given: Given = None,
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
    """Compare the gains of features between parts of the rows."""
    options = locals()

    def call(views: list[Any], *rows: Any, **arguments: Any) -> Any:
        from sfit import compare_parts

        return compare_parts(views[0], *rows, **arguments)

    run(call, (model,), options, by=by, trend=trend, correction=_inputs.correction(correction))


def names_of(names: str | None, files: tuple[str, str]) -> list[str]:
    """What the models are called: as asked, else as their files, with folders if necessary."""
    if names is None:
        stems = [Path(file).stem for file in files]
        called = stems if len({*stems}) == len(stems) else list(files)
        if len({*called}) == len(called):
            return called
        raise ArgumentError(f"CHAMPION and CHALLENGER are the same file: {files[0]!r}.")
    called = _inputs.names(names) or []
    if len({*called}) != len(files) or len(called) != len(files):
        raise ArgumentError(f"--names must be two different names, such as old,new; got {names!r}.")
    return called


def run(
    call: Callable[..., Any], files: Sequence[str], options: Mapping[str, Any], **own: Any
) -> None:
    """Compare the models of these files; print the result, and write what was asked for."""
    arguments = {
        "features": _inputs.names(options["features"]),
        "loss": options["loss"],
        "alpha": options["alpha"],
        "groups": _inputs.groups(options["group"]),
        "given": _inputs.given(options["given"]),
        "clusters": options["clusters"],
        "checkpoint": options["checkpoint"],
        "checkpoint_key": _inputs.checkpoint_key(options["checkpoint"], *files),
        "n_jobs": options["jobs"],
        "random_state": options["seed"],
        "progress": sys.stderr.isatty(),
        **own,
    }
    written = options["report"], options["json"]
    _inputs.check_writable(*written)
    views, rows = _inputs.load_all(
        files,
        options["data"],
        options["target"],
        **{name: options[name] for name in ("classes", "loss", "trust", "allow_pickle")},
    )
    from sfit.cli._data import explained
    from sfit.cli._show import show_result, write_result

    arguments["reference"] = _inputs.reference(options["reference"])
    with explained(rows, options["data"]):
        result = call(views, rows, options["target"], **arguments)
    show_result(result)
    write_result(result, *written)
