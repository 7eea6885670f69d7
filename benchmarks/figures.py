"""Two figures: what each method costs by model, and how ours grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from table import METHODS, Table

MARKS = dict(zip(METHODS, "soD^vP*X", strict=False))


def draw(results: dict[str, Any], folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    draw_passes(Table(results), folder / "passes.png")
    draw_growth(Table(results), folder / "growth.png")


def draw_passes(table: Table, path: Path) -> None:
    """One line per model, one mark per method, on a logarithmic scale."""
    import matplotlib.pyplot as plt

    sizes = table.central()
    figure, ax = plt.subplots(figsize=(9, 0.5 * len(sizes) + 1.8), layout="constrained")
    for method, mark in MARKS.items():
        cost = {
            line: table.whole(size) if method == "ours" else table.passes(size, method)
            for line, size in enumerate(reversed(sizes))
        }
        points = [(passes, line) for line, passes in cost.items() if passes]
        if points:
            ours = method == "ours"
            ax.scatter(*zip(*points, strict=True), marker=mark, label=method, s=90 if ours else 45,
                       color="black" if ours else None, zorder=3 if ours else 2)  # fmt: skip
    labels = [f"{model}\n{rows:,} x {features}" for _, model, rows, features in reversed(sizes)]
    ax.set_yticks(range(len(sizes)), labels, fontsize=8)
    ax.axvline(1, color="grey", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("passes: multiples of one prediction of all rows (ours: with the gate)")
    ax.grid(axis="x", alpha=0.3)
    if sizes:
        figure.legend(loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_growth(table: Table, path: Path) -> None:
    """Seconds of ours against rows and against features; dotted: in proportion."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    for ax, what in zip(axes, ("rows", "features"), strict=True):
        lowest = None
        for number, model in enumerate(table.models()):
            points = table.growth(model, what, "ours")
            if len(points) > 1:
                style = {"marker": "o", "color": f"C{number}", "label": model}
                ax.plot(*zip(*points, strict=True), **style)
                lowest = min(lowest or points, points, key=lambda at: at[0][1])
        if lowest:
            (x, y), (last, _) = lowest[0], lowest[-1]
            ax.plot([x, last], [y, y * last / x], ":", color="grey", label="in proportion")
        ax.set(xscale="log", yscale="log", xlabel=what)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds, without the gate")
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
