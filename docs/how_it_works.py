"""The pictures of how.md, from real differences.

    python docs/how_it_works.py

writes docs/images/how-*.png.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

import sfit

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREY = "#2a6fbb", "#d9822b", "0.82"
COLUMNS = ["X1", "X2", "X3", "X4"]


def masked(ax, shown, title, rows=5) -> None:
    """Rows as the model sees them: revealed columns in blue, frozen ones in grey."""
    for column, name in enumerate(COLUMNS):
        for row in range(rows):
            color = BLUE if column in shown else GREY
            ax.add_patch(plt.Rectangle((column, -row), 0.92, 0.86, color=color))
        ax.text(column + 0.46, 1.15, name, ha="center", fontsize=9)
    ax.set(xlim=(-0.1, len(COLUMNS)), ylim=(-rows + 0.6, 1.9), aspect="equal")
    ax.set_title(title, fontsize=10)
    ax.axis("off")


def contrast() -> None:
    """What is compared at first order, at second order, at a gate, and beyond the rest."""
    kinds = [
        ("first order: X1", [], [0]),
        ("second order: X1, X2\n(X1 found already)", [0], [0, 1]),
        ("gate\n(X1, X2 found)", [0, 1], [0, 1, 2, 3]),
        ('given="rest": X1', [1, 2, 3], [0, 1, 2, 3]),
    ]
    fig, axes = plt.subplots(2, 4, figsize=(9.5, 5.4), layout="constrained")
    for (title, base, full), above, below in zip(kinds, *axes, strict=True):
        masked(above, base, f"{title}\n\nbase side")
        masked(below, full, "full side")
    fig.savefig(IMAGES / "how-contrast.png", dpi=110)


def differences() -> None:
    """The differences of real rows: those that improve are counted, the median is estimated."""
    X, y = sfit.simulate.interactions(2_000, random_state=0)
    frozen = sfit.simulate.interactions_mean(np.zeros((1, 7)))
    revealed = np.zeros(X.shape)
    revealed[:, 0] = X["X1"]
    base = np.abs(y - frozen)
    full = np.abs(y - sfit.simulate.interactions_mean(revealed))
    delta = 0.99 * base - full
    result = sfit.feature_significance(
        sfit.simulate.interactions_mean, X, y, reference=0.0, features=list(X)
    )
    [test] = [test for test in result.tests if test.term == ("X1",)]
    assert test.n_positive == np.sum(delta > 0)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    better = delta > 0
    left.scatter(base[~better], full[~better], s=4, color="0.7")
    left.scatter(base[better], full[better], s=4, color=BLUE)
    left.plot([0, 15], [0, 15 * 0.99], color="0.3", linewidth=1)
    left.set(
        xlim=(0, 15),
        ylim=(0, 15),
        xlabel="loss of a row, all features frozen",
        ylabel="its loss with X1 revealed",
    )
    left.set_title("below the line: better by more than beta", loc="left", fontsize=10)
    bins = np.linspace(-6, 8, 57)
    right.hist(np.clip(delta[~better], -6, 8), bins, color="0.75")
    right.hist(np.clip(delta[better], -6, 8), bins, color=BLUE)
    right.axvline(test.statistic, color=ORANGE)
    right.axvspan(test.ci_low, test.ci_high, color=ORANGE, alpha=0.25, linewidth=0)
    right.set_title(
        f"{test.n_positive:,} of {test.n:,} rows above zero, p = {test.p_value:.1e}; "
        f"median {test.statistic:.2f}",
        loc="left",
        fontsize=10,
    )
    right.set(xlabel="difference delta of a row", ylabel="rows")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(IMAGES / "how-delta.png", dpi=110)


def coin() -> None:
    """The law of the count under the null: so many heads of a fair coin."""
    n = 200
    counts = np.arange(70, 141)
    critical = int(binom.isf(0.05, n, 0.5)) + 1
    fig, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
    rejected = counts >= critical
    ax.bar(counts[~rejected], binom.pmf(counts[~rejected], n, 0.5), color="0.75")
    ax.bar(counts[rejected], binom.pmf(counts[rejected], n, 0.5), color=ORANGE)
    ax.step(counts, binom.pmf(counts, n, 0.62), where="mid", color=BLUE)
    ax.text(84, 0.05, "the null:\na fair coin", ha="center", fontsize=9, color="0.35")
    ax.text(135, 0.05, "62 % of rows\nimprove", ha="center", fontsize=9, color=BLUE)
    ax.axvline(critical - 0.5, color=ORANGE, linewidth=1)
    ax.text(critical + 0.5, 0.062, f"from {critical} on: significant", fontsize=9, color=ORANGE)
    ax.set(xlabel=f"rows of {n} that improve", ylabel="probability", ylim=(0, 0.068))
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(IMAGES / "how-coin.png", dpi=110)


if __name__ == "__main__":
    contrast()
    differences()
    coin()
