"""The page of the study of dependence: sizes of sfit and of recipes that fail, and one picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfit.studies._dependence_folds import EXPECTED, POOLED
from sfit.studies._dependence_settings import LITTLE, SFIT, SIZE
from sfit.studies._page import LEVEL, error, new_figure, table, tolerated


@dataclass(frozen=True)
class Cell:
    """How often each test rejects in one setting."""

    n_sets: int
    n_rows: int
    guarantee: str
    """What sfit promises: `"exact"`, `"approximate"`, `"refused"`, or `"not offered"`."""
    rejected: dict[str, float]
    """By test."""
    expected: str = ""
    """What an independent program measured, where it did."""


@dataclass(frozen=True)
class Result:
    """Everything."""

    sizes: dict[str, dict[str, Cell]]
    """By part and setting, where nothing is there."""
    powers: dict[str, dict[str, Cell]]
    """By part and effect."""
    refusals: dict[str, str]
    """The messages with which sfit refuses, by question."""


# --- the picture --------------------------------------------------------------------------

EVERYWHERE = "feature permuted over all rows"
INDEPENDENT = "rows permuted as if independent"
WITHIN = "rows permuted within clusters"

PICTURED: tuple[tuple[str, str, str, str], ...] = (
    ("given 5 strata", "strata", "5 strata", EVERYWHERE),
    (
        "given one continuous feature",
        "blocks",
        "correlation 0.9, leans more than half, n = 200",
        EVERYWHERE,
    ),
    (
        "given three continuous features",
        "three",
        "correlation 0.8, leans more than half, n = 200",
        "nearest neighbours",
    ),
    ("clusters, x and y constant", "clusters", "50 clusters, x / y correlated 1 / 1", INDEPENDENT),
    (
        "clusters, size drives x and y",
        "clusters",
        "50 clusters of 3 to 12 rows, size drives x and y",
        INDEPENDENT,
    ),
    (
        "clusters, drift within",
        "clusters",
        "20 clusters of 20 rows, drift within clusters",
        WITHIN,
    ),
    (
        "clusters, sign test",
        "signs",
        "50 clusters, x / noise correlated 1 / 1",
        "rows counted as if independent",
    ),
    ("time series, AR(1) 0.9", "series", "AR(1) 0.9, n = 200", INDEPENDENT),
    ("orders 1 to 3, any error", "orders", "global null", "every test at .05"),
    ("small data, regressogram", "folds", "regressogram, n = 100", POOLED[1]),
)
"""Label, part, setting, recipe."""


def figures(result: Result) -> dict[str, Any]:
    """The size of sfit and of the recipe that fails, situation by situation."""
    shown = [
        (label, result.sizes[part][setting], _recipe_cell(result, part, setting), recipe)
        for label, part, setting, recipe in PICTURED
        if setting in result.sizes.get(part, {})
    ]
    figure, ax = new_figure(width=8.6, height=0.9 + 0.5 * len(shown))
    for height, (_, cell, other, recipe) in enumerate(reversed(shown)):
        limit, rate = tolerated(cell.n_sets), other.rejected[recipe]
        band = {"color": "#D55E00", "alpha": 0.16, "linewidth": 0}
        ax.fill_between([0, limit], height - 0.36, height + 0.36, **band)
        _dot(ax, rate, height, other, "#555555", "X", recipe)
        if SFIT in cell.rejected:
            ours = cell.rejected[SFIT]
            ax.plot([ours, rate], [height] * 2, color="0.85", linewidth=2, zorder=1)
            _dot(ax, ours, height, cell, "#D55E00", "o")
        else:
            ax.text(limit + 0.015, height, "sfit refuses", color="#D55E00", va="center", fontsize=8)
    ax.axvline(LEVEL, color="black", linestyle=":", linewidth=1)
    ax.set_yticks(range(len(shown)), [label for label, *_ in reversed(shown)], fontsize=9)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    ax.set_xlim(-0.02, 1.4)
    ax.set_xticks([0, 0.05, 0.25, 0.5, 0.75, 1], ["0", ".05", ".25", ".5", ".75", "1"])
    ax.set_xlabel("share of data sets in which the test rejects, though nothing is there")
    ax.set_title(
        "Level .05: sfit (circles, hollow where approximate) and recipes that fail (crosses)",
        fontsize=10.5,
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return {"sizes": figure}


def _recipe_cell(result: Result, part: str, setting: str) -> Cell:
    """The cell of the recipe: those that pool folds have more data sets than sfit."""
    return result.sizes["pooled" if part == "folds" else part][setting]


def _dot(
    ax: Any, rate: float, height: int, cell: Cell, colour: str, marker: str, text: str = ""
) -> None:
    """A share with two binomial standard errors to each side."""
    bar = 2 * error(rate, cell.n_sets)
    low, high = min(rate, bar), min(1 - rate, bar)
    style = {"color": colour, "marker": marker, "markersize": 7, "capsize": 2, "zorder": 3}
    if marker == "o" and cell.guarantee == "approximate":
        style["markerfacecolor"] = "white"
    ax.errorbar([rate], [height], xerr=[[low], [high]], linestyle="none", **style)
    if text:
        ax.text(rate + bar + 0.02, height, text, color="#555555", va="center", fontsize=8)


# --- the page -----------------------------------------------------------------------------


def page(result: Result) -> str:
    """Overview, recipes, then one section per situation."""
    parts = (_opening, _recipes, _given, _clusters, _time, _orders, _folds)
    return "\n".join(part(result) for part in parts)


def _share(cell: Cell, test: str) -> str:
    """A share and its standard error; a dash if the test did not run."""
    if test not in cell.rejected:
        return "-"
    rate = cell.rejected[test]
    return f"{rate:.3f} ± {error(rate, cell.n_sets):.3f}"


def _sizes(head: str, cells: Mapping[str, Cell], columns: Sequence[str] = ()) -> str:
    """A table of shares, one setting per line."""
    tests = columns or list(
        dict.fromkeys(test for cell in cells.values() for test in cell.rejected)
    )
    has_expected = any(cell.expected for cell in cells.values())
    lines = [
        [
            name,
            f"{cell.n_rows:,}",
            f"{cell.n_sets:,}",
            *([cell.guarantee] if SFIT in cell.rejected else []),
            *(_share(cell, test) for test in tests),
            *([cell.expected or "-"] if has_expected else []),
        ]
        for name, cell in cells.items()
    ]
    promised = ["sfit's promise"] if any(SFIT in cell.rejected for cell in cells.values()) else []
    ending = ["expected"] if has_expected else []
    return table((head, "rows", "data sets", *promised, *tests, *ending), lines)


def _all(result: Result, guarantee: str) -> list[Cell]:
    """Every setting with this promise, but not those outside the stated range."""
    return [
        cell
        for part, cells in result.sizes.items()
        for cell in cells.values()
        if cell.guarantee == guarantee and part != "strained"
    ]


def _verdict(cells: Iterable[Cell], name: str = "settings") -> str:
    """One sentence: exact settings within tolerance, and the range of approximate ones."""
    every = list(cells)
    exact = [cell for cell in every if cell.guarantee == "exact"]
    near = [cell for cell in every if cell.guarantee == "approximate"]
    texts = []
    if exact:
        inside = sum(cell.rejected[SFIT] <= tolerated(cell.n_sets) for cell in exact)
        limits = sorted({f"{tolerated(cell.n_sets):.3f}" for cell in exact})
        largest = max(cell.rejected[SFIT] for cell in exact)
        limit = " or ".join(limits)
        texts.append(
            f"**Exact**: {inside} of {len(exact)} {name} are within the tolerance of {limit} (by the number "
            f"of data sets); the largest size is {largest:.3f}."
        )
    if near:
        rates = [cell.rejected[SFIT] for cell in near]
        texts.append(
            f"**Approximate**: the measured size in {len(near)} {name} is {min(rates):.3f} to {max(rates):.3f}."
            if len(near) > 1
            else f"**Approximate**: the measured size in one setting is {rates[0]:.3f}."
        )
    return " ".join(texts)


def _opening(result: Result) -> str:
    return f"""
A p-value is worth as much as the exchange of rows behind it. In every setting below the tested feature says nothing about the outcome,
beyond what is given, and the model uses it all the same. A test of level .05 should reject in 5 % of the data sets.

![The size of sfit and of a recipe that fails, by situation](dependence-sizes.png)

Bars are two binomial standard errors; each band ends at .05 + 3 sqrt(.0475 / data sets), the largest size that is accepted.
Beside each cross is the name of the recipe.

{_verdict([*_all(result, "exact"), *_all(result, "approximate")])} This range leaves out the
settings that were made to strain the approximation over a given continuous feature, whose size is {_range(result, "strained")}:
[see below](#one-continuous-feature-sorted-blocks).

All answers of sfit come from the public functions, at alpha = .05 and with 499 permutations unless stated. A number after ± is one binomial standard error.
Expected numbers were measured by an independent program before this one was written; it does not state all its settings, ours are in
`studies/_dependence_settings.py`. Small pilot runs chose settings in which the recipes fail, and effects near the expected power; so these
settings say that a recipe can fail, not how often it does in practice.
"""


# --- recipes that fail ----------------------------------------------------------------------

RECIPES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        EVERYWHERE,
        ("strata", "blocks"),
        "x is exchanged between rows with different given values, so its relation to the given features is lost; "
        "the model predicts worse for that reason alone",
        "`given=[...]`: within strata, or in sorted blocks of one continuous feature",
    ),
    (
        "predictions permuted over all rows",
        ("strata",),
        "the part of the prediction that comes from the given features moves too, and that part is right",
        "the same",
    ),
    (
        "nearest neighbours",
        ("three",),
        "in three dimensions even the nearest rows are far apart, and five times as many rows hardly help",
        "no valid test is known: sfit refuses. Give one feature, or discrete ones, or none",
    ),
    (
        "quantile bins",
        ("three",),
        "the same: bins that hold a few rows are wide",
        "the same",
    ),
    (
        INDEPENDENT,
        ("clusters", "series"),
        "rows of a cluster, or neighbours in time, repeat each other: there is less information than rows",
        '`clusters=...` or `row_order="time"`',
    ),
    (
        WITHIN,
        ("clusters",),
        "holds only if the rows of a cluster have no order: where x and y drift, neighbours repeat each other; a "
        "feature that is constant within clusters has no power at all",
        "`clusters=...` exchanges whole clusters",
    ),
    (
        "rows counted as if independent",
        ("signs",),
        "the binomial distribution of the sign test needs independent rows",
        "`clusters=...` counts clusters",
    ),
    (
        "every test at .05",
        ("orders",),
        "25 tests have 25 chances",
        '`alpha_by_order="auto"`',
    ),
    (
        POOLED[0],
        ("pooled",),
        "two rows of different folds meet twice: each helps to fit the model that predicts the other",
        "`cross_significance`: each model is fitted on earlier folds only",
    ),
    (POOLED[1], ("pooled",), "the same: the folds are not independent", "the same"),
)
"""Recipe, parts in which it runs, why it fails, what to do instead."""


def _measured(result: Result, recipe: str, parts: Sequence[str]) -> list[str]:
    """The range of sizes of a recipe, how many are above the tolerance, and its worst setting."""
    cells = [
        (cell.rejected[recipe], name, cell)
        for part in parts
        for name, cell in result.sizes.get(part, {}).items()
        if recipe in cell.rejected
    ]
    rates = [rate for rate, *_ in cells]
    worst = next(name for rate, name, _ in cells if rate == max(rates))
    above = sum(rate > tolerated(cell.n_sets) for rate, _, cell in cells)
    size = f"{min(rates):.2f} to {max(rates):.2f}" if len(rates) > 1 else f"{rates[0]:.2f}"
    return [size, f"{above} of {len(rates)}", worst]


def _range(result: Result, part: str) -> str:
    """The sizes of sfit in one part."""
    rates = [f"{cell.rejected[SFIT]:.3f}" for cell in result.sizes[part].values()]
    return " and ".join(rates)


def _recipes(result: Result) -> str:
    lines = [
        [recipe, *_measured(result, recipe, parts), why, instead]
        for recipe, parts, why, instead in RECIPES
    ]
    head = ("recipe", "size at level .05", "above", "worst setting", "why", "instead")
    return f"""
## Recipes that fail

Each of these looks right and was measured here. None is in the library. Most hold their size in some settings, but nothing in their output
says which settings these are. "Above" counts the settings in which the size is above .05 + 3 sqrt(.0475 / data sets).

{table(head, lines)}

The t-test of permutation importance over its permutations fails as well: see [power and size](power-and-size.md).
"""


# --- situations -----------------------------------------------------------------------------


def _given(result: Result) -> str:
    sizes = result.sizes
    return f"""
## Given features

### Discrete: within strata

Strata move both the feature and the outcome; within a stratum they are independent. The model leans on both.

{_sizes("setting", sizes["strata"])}

{_verdict(sizes["strata"].values())}

### One continuous feature: sorted blocks

The outcome is the given feature plus noise of equal variance. The tested feature has this correlation with the given one, and the model leans on it instead:
0.3 of the way ("a little"), 0.7 ("more than half") or entirely.

{_sizes("setting", sizes["blocks"])}

{_verdict(sizes["blocks"].values())} Expected: .015 to .085.

Where the outcome has hardly any noise (standard deviation {LITTLE}) and the model leans on a close proxy, the given feature varies too much within a block. sfit warns if the
rank correlation is above .8 and refuses above .95; this is why:

{_sizes("setting", sizes["strained"])}

Expected for correlation .9 and little noise, which is not stated: .31 with 200 rows, .08 with 2,000.

### Three continuous features: refused

The same with three given features, of which the outcome needs the sum. No exchange of rows is known to be valid, so sfit refuses.

{_sizes("setting", sizes["three"])}

What sfit says instead:

{_messages(result)}
"""


def _messages(result: Result) -> str:
    return "\n".join(f"- {question}: *{text}*" for question, text in result.refusals.items())


def _clusters(result: Result) -> str:
    sizes = result.sizes
    return f"""
## Clusters

Numbers after "correlated" are the intra-class correlations of the feature and the outcome; equal clusters have {SIZE} rows. Whole clusters are exchanged among
clusters of equal size. A size that occurs once is paired with its neighbour, which is approximate.

{_sizes("permutation test", sizes["clusters"])}

{_verdict(sizes["clusters"].values())}

The sign test counts clusters. Here its null hypothesis holds with equality: revealing the feature makes a cluster better or worse with equal probability. Counts
are discrete, so the size at this boundary is .032 for 50 clusters and .038 for 200. It is lower where x is constant within clusters and the noise is not ("1 / 0.5"): there about 3 % of
the clusters have a mean difference of exactly 0, which does not count as an improvement.

{_sizes("sign test", sizes["signs"])}

{_verdict(sizes["signs"].values())}
"""


def _time(result: Result) -> str:
    cells = result.sizes["series"]
    return f"""
## Time

Two stationary series, independent of each other; `row_order="time"` shifts one against the other.

{_sizes("series", cells)}

{_verdict(cells.values(), "series")}
"""


def _orders(result: Result) -> str:
    sizes, powers = result.sizes["orders"], result.powers["orders"]
    return f"""
## Orders 1 to 3

Five features with three values each, all used by the model, alone, in pairs and in triples; all sets of one to three features are tested with the default number of permutations. Members found
earlier define strata. The share of data sets in which *anything* is rejected that is not there:

{_sizes("setting", sizes)}

{_verdict(sizes.values())} Expected, with eight features and 1,000 rows: .018 (global null), .037 (partial null).
Holm's correction within each order bounds the error of each order, not that of all three; with so few data sets its size here cannot be told from .05.

What the guarantee costs: y depends on x0, on the product x1 x2 and on the product x2 x3 x4. The share of data sets in which each effect is found (the
other two columns do not control their errors over all orders):

{_sizes("effect", powers)}
"""


def _folds(result: Result) -> str:
    sizes, powers = result.sizes["folds"], result.powers["folds"]
    lines = [[name, *pair] for name, pair in EXPECTED.items()]
    return f"""
## Small data

Five folds. `cross_significance` fits each model on the folds before the one that it is tested on. A half split fits on half of the rows and tests on the other half.

{_sizes("size", sizes)}

{_verdict(sizes.values())}

{_sizes("power", powers)}

Pooling fails by little, so it was measured again, with more data sets. Here predictions are permuted within each fold; permuted over all rows they did not
reject too often in a pilot run.

{_sizes("size", result.sizes["pooled"])}

Expected at 100 rows, size / power. The effects are not stated, ours were chosen near this power:

{table(("", "forward chaining", "half split"), lines)}

A rejection by forward chaining says that the feature is related to the outcome through at least one of the four models.
"""
