"""The page of a study: Markdown and figures, with the paper's numbers beside ours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfit.exceptions import MissingDependencyError


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table whose cells are formatted by `written`."""
    lines = [head, ["---"] * len(head), *([written(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written(value: Any) -> str:
    """The text of a cell: numbers to three significant digits, missing values as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return "-" if math.isnan(value) else f"{value:.3g}"
    return str(value)


def joined(*sections: str) -> str:
    """Sections of a page, with one blank line between them."""
    return "\n\n".join(section.strip() for section in sections)


def interval(low: float, high: float) -> str:
    """An interval, to three significant digits."""
    return f"[{low:.3g}, {high:.3g}]"


def spread(values: Sequence[float]) -> str:
    """Mean, and smallest to largest."""
    return f"{np.mean(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def times(count: int, of: int) -> str:
    """A count out of a total."""
    return f"{count}/{of}"


LEVEL = 0.05
"""The level of every test whose size is measured."""


def tolerated(n_sets: int) -> float:
    """The largest size that is accepted: .05 plus three standard errors."""
    return LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / n_sets)


def error(rate: float, n_sets: int) -> float:
    """The binomial standard error; one more success and one more failure keep it above 0."""
    share = (rate * n_sets + 1) / (n_sets + 2)
    return math.sqrt(share * (1 - share) / n_sets)


def new_figure(columns: int = 1, width: float = 6.4, height: float = 4.0) -> tuple[Any, Any]:
    """A figure and its axes, without opening a window."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            'the figures of a study need matplotlib: pip install "sfit[plot]".'
        ) from error
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, columns)


def write(folder: Path, record: Mapping[str, Any], page: str, figures: Mapping[str, Any]) -> None:
    """Write `study.json`, `study.md` and `study-<figure>.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    name = record["study"]
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    for figure_name, figure in figures.items():
        # Without the version of matplotlib, equal runs give equal files.
        path = folder / f"{name}-{figure_name}.png"
        figure.savefig(path, dpi=110, metadata={"Software": None})


def headed(title: str, body: str, run: Mapping[str, Any]) -> str:
    """The whole page: title, details of the run, and the body."""
    code = f"sfit {run['versions']['sfit']}"
    if run["commit"]:
        code += f", commit {run['commit']}"
    made = (
        f"Made by `{run['command']}` in {run['seconds']:,.0f} s "
        f"({run['threads']}, Python {run['versions']['python']}, {code})."
    )
    return f"# {title}\n\n{made}\n\n{body.strip()}\n"
