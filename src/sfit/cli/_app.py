"""The commands. Each reads its files, calls the library, and prints the result."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from sfit.cli import _inputs
from sfit.cli._audit import audit
from sfit.cli._compare import compare
from sfit.cli._options import (
    AllowPickle,
    Alpha,
    Checkpoint,
    Classes,
    Clusters,
    Correction,
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
from sfit.cli._text import say
from sfit.exceptions import ArgumentError

app = typer.Typer(
    name="sfit",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Test which features a fitted model uses: exact p-values on held-out rows, no refitting."""
    if version:
        from sfit import __version__

        print(f"sfit {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command(
    "test",
    epilog="""\b
Examples:
  sfit test model.skops test.csv -t y --reference train.csv --test permutation
  sfit test model.onnx 'rows/*.parquet' -t y --order 2 --beta 0.01,0.001
  sfit test model.cbm test.csv -t y --order 2 --interaction additive --exhaustive
  sfit test model.txt test.csv -t sold --classes no,yes --by SEX --report out.html""",
)
def run_test(
    model: ModelFile,
    data: DataFile,
    target: Target,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    test: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="sign (typical row), permutation (any relation), mean [sign].",
            show_default=False,
        ),
    ] = "sign",
    alpha: Alpha = 0.05,
    beta: Annotated[
        str | None,
        typer.Option(metavar="B", help="Sign test: auto, or numbers, one per order [0.01]."),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="Sign test: keep or drop rows that do not move [keep]."),
    ] = None,
    n_permutations: Annotated[
        str | None, typer.Option(metavar="N", help="Permutation test: auto, or a number [auto].")
    ] = None,
    statistic: Annotated[
        str | None, typer.Option(metavar="NAME", help="Permutation test: auto or loss [auto].")
    ] = None,
    n_flips: Annotated[
        str | None, typer.Option(metavar="N", help="Mean test: auto, or a number [auto].")
    ] = None,
    order: Annotated[int, typer.Option(metavar="N", help="Test sets of up to N features.")] = 1,
    partners: Annotated[
        str, typer.Option(metavar="P", help="auto, all, or N per feature.")
    ] = "auto",
    interaction: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="additive: test sets over the sum of their parts."),
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Test sets of features already found, too.")
    ] = False,
    correction: Correction = None,
    alpha_by_order: Annotated[
        str | None,
        typer.Option(metavar="A", help="Errors over all orders: auto, or levels, one per order."),
    ] = None,
    reference: Reference = "mean",
    group: Group = [],  # noqa: B006  (typer makes a new list for each call)
    given: Given = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="One test per value of a column, or 'class'.")
    ] = None,
    clusters: Clusters = None,
    row_order: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Permutation test: time, if rows follow each other."),
    ] = None,
    report: Report = None,
    json: Json = None,
    checkpoint: Checkpoint = None,
    jobs: Jobs = None,
    seed: Seed = None,
    trust: Trust = [],  # noqa: B006
    allow_pickle: AllowPickle = False,
    debug: Debug = False,
) -> None:
    """Test which features the fitted MODEL uses, on the held-out rows DATA."""
    chosen = _inputs.check_test(
        test,
        beta=beta,
        ties=ties,
        n_permutations=n_permutations,
        statistic=statistic,
        n_flips=n_flips,
    )
    arguments: dict[str, Any] = {
        "features": _inputs.names(features),
        "loss": loss,
        "alpha": alpha,
        "beta": None if beta is None else _inputs.betas(beta),
        "max_order": order,
        "correction": correction,
        "alpha_by_order": None if alpha_by_order is None else _inputs.levels(alpha_by_order),
        "groups": _inputs.groups(group),
        "given": _inputs.given(given),
        "by": by,
        "clusters": clusters,
        "row_order": row_order,
        "interaction": interaction,
        "exhaustive": exhaustive,
        "checkpoint": checkpoint,
        "checkpoint_key": _inputs.checkpoint_key(checkpoint, model),
        "n_jobs": jobs,
        "random_state": seed,
        "progress": sys.stderr.isatty(),
        **_inputs.partners(partners),
    }
    _inputs.check_writable(report, json)
    arguments["test"] = _inputs.make_test(test, chosen)
    view, rows = _inputs.load(
        model, data, target, classes=classes, loss=loss, trust=trust, allow_pickle=allow_pickle
    )
    from sfit import feature_significance
    from sfit.cli._data import explained
    from sfit.cli._show import show_result, write_result

    arguments["reference"] = _inputs.reference(reference)
    with explained(rows, data):
        result: Any = feature_significance(view, rows, target, **arguments)
    show_result(result)
    write_result(result, report, json)


app.command(
    "audit",
    epilog="""\b
Examples:
  sfit audit model.skops test.csv -t y --train train.csv --report audit.html
  sfit audit model.txt test.csv -t sold --classes no,yes --train train.csv --protected SEX
  sfit audit model.onnx test.csv -t y --train train.csv --budget '300 passes' --expect AGE=+""",
)(audit)
app.add_typer(compare)


@app.command()
def beta(
    model: ModelFile,
    data: DataFile,
    target: Target,
    features: Features = None,
    classes: Classes = None,
    loss: Loss = "auto",
    alpha: Alpha = 0.05,
    models: Annotated[int, typer.Option(metavar="N", help="Number of random models.")] = 20,
    max_beta: Annotated[float, typer.Option(metavar="B", help="Largest beta accepted.")] = 0.1,
    reference: Reference = "mean",
    group: Group = [],  # noqa: B006
    checkpoint: Checkpoint = None,
    jobs: Jobs = None,
    seed: Seed = None,
    trust: Trust = [],  # noqa: B006
    allow_pickle: AllowPickle = False,
    debug: Debug = False,
) -> None:
    """Choose beta for MODEL on validation rows, so that random copies of it find nothing."""
    arguments: dict[str, Any] = {
        "features": _inputs.names(features),
        "loss": loss,
        "alpha": alpha,
        "n_models": models,
        "max_beta": max_beta,
        "groups": _inputs.groups(group),
        "checkpoint": checkpoint,
        "checkpoint_key": _inputs.checkpoint_key(checkpoint, model),
        "n_jobs": jobs,
        "random_state": seed,
        "progress": sys.stderr.isatty(),
    }
    view, rows = _inputs.load(
        model, data, target, classes=classes, loss=loss, trust=trust, allow_pickle=allow_pickle
    )
    from sfit import choose_beta
    from sfit.cli._show import show_beta

    arguments["reference"] = _inputs.reference(reference)
    show_beta(choose_beta(view, rows, target, **arguments))


@app.command()
def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="JSON written by sfit.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write: .html, .md, .docx, .xlsx or .tex [beside RESULT, as .html].",
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Turn a stored result into a page, or into a file for Word, Excel or LaTeX."""
    file = result.with_suffix(".html") if out is None else out
    write = _inputs.writer(file)
    _inputs.check_writable(file)
    getattr(_inputs.stored_result(result), write)(file)
    say(f"Wrote {file}.")


@app.command()
def power(
    rows: Annotated[int, typer.Option(metavar="N", help="Number of held-out rows.")],
    test: Annotated[
        str, typer.Option(metavar="NAME", help="sign or permutation [sign].", show_default=False)
    ] = "sign",
    alpha: Alpha = 0.05,
    cluster_size: Annotated[
        float, typer.Option(metavar="M", help="Mean number of rows per cluster.")
    ] = 1.0,
    icc: Annotated[
        float, typer.Option(metavar="R", help="Intra-class correlation within clusters.")
    ] = 0.0,
    debug: Debug = False,
) -> None:
    """Show the power of a test with this many rows."""
    _inputs.check_name(test, ("sign", "permutation"))
    from sfit._arguments import check_whole
    from sfit.cli._show import show_power

    check_whole(rows, "--rows")
    show_power(rows, test, alpha=alpha, cluster_size=cluster_size, icc=icc)


@app.command()
def demo(debug: Debug = False) -> None:
    """Fit a model on the paper's example, and test it up to pairs (takes seconds)."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    from sfit import feature_significance, simulate
    from sfit.cli._show import show_result

    print("Y = 3 + 4 X1 + X1 X2 + 3 X3^2 + 2 X4 X5 + noise; X6 and X7 have no effect.")
    print("A boosting model, fitted on 30,000 rows and tested on 10,000:\n")
    sys.stdout.flush()
    X, y = simulate.interactions(40_000, random_state=0)
    train, held_out = slice(0, 30_000), slice(30_000, None)
    model = HistGradientBoostingRegressor(max_iter=400, random_state=0).fit(X[train], y[train])
    show_result(
        feature_significance(
            model,
            X[held_out],
            y[held_out],
            reference=X[train],
            max_order=2,
            beta=(0.01, 0.001),
            strict=True,
        )
    )


def _studies() -> tuple[str, ...]:
    return tuple(import_module("sfit.studies").NAMES)


@app.command()
def reproduce(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", help="Its name.", autocompletion=_studies)
    ],
    fast: Annotated[bool, typer.Option("--fast", help="A small version; takes seconds.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for tables and figures.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Reproduce a study of the paper, and print its findings."""
    if study not in _studies():
        raise ArgumentError(f"STUDY must be one of {', '.join(_studies())}; got {study!r}.")
    report = import_module("sfit.studies").run(study, fast=fast, out=out)
    if report is not None:
        print(report)
