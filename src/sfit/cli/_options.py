"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help=".skops .onnx .json .ubj .txt .cbm .keras")
]
DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="Held-out rows: .csv .csv.gz .parquet")
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="NAME", help="Column to predict.")]
Features = Annotated[
    str | None, typer.Option(metavar="A,B", help="Columns of the model [as fitted, else all].")
]
Classes = Annotated[
    str | None, typer.Option(metavar="A,B", help="Labels, if the model file has none.")
]
Loss = Annotated[str, typer.Option(metavar="NAME", help="log_loss, brier, pinball:0.9, ...")]
Alpha = Annotated[float, typer.Option(metavar="P", help="Level of every test.")]
Group = Annotated[
    list[str], typer.Option(metavar="NAME=A,B", help="Columns revealed together; repeat.")
]
Reference = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="mean, median, mode, number, FILE, average:FILE [mean].",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Resume from this file if the run is stopped.")
]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Workers; -1: all cores.")]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Seed of all random draws [drawn, and reported].")
]
Trust = Annotated[
    list[str], typer.Option(metavar="TYPE", help="Load this type from a .skops file; repeat.")
]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Load pickle, joblib and torch files you trust.")
]
Correction = Annotated[
    str | None, typer.Option(metavar="NAME", help="fdr_by, fdr_bh, holm or bonferroni.")
]
Given = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Test beyond these features, or beyond the 'rest'."),
]
Clusters = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column that names the cluster of dependent rows."),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML report.")]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
