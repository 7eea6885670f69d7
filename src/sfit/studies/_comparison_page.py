"""The page of the study of comparisons: sizes, intervals of ranks, power, and two pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfit.studies._comparison_parts import EACH, OVERALL, RECIPE, TREND
from sfit.studies._comparison_tests import DECIDED, MISSED, SFIT, SIGN, WRONG
from sfit.studies._page import LEVEL, error, new_figure, table, tolerated


@dataclass(frozen=True)
class Cell:
    """How often each test rejects in one setting."""

    setting: str
    n_sets: int
    n_rows: int
    guarantee: str
    """What sfit promises: `"exact"` or `"asymptotic"`."""
    rejected: dict[str, float]
    """By test."""
    effect: float = 0.0

    @property
    def ours(self) -> str:
        """The test of sfit that decides."""
        return SFIT if SFIT in self.rejected else OVERALL


@dataclass(frozen=True)
class Result:
    """Everything."""

    sizes: dict[str, list[Cell]]
    """By comparison, where nothing is there."""
    families: list[Cell]
    """Several features of one model, some with equal gains."""
    powers: dict[str, list[Cell]]
    """By comparison, for effects of several sizes."""
    n_asked: int
    """Data sets that the public functions answered as well."""
    n_agreed: int
    """Data sets in which their p-values were the same."""


# --- pictures -----------------------------------------------------------------------------

HEADS = {
    "models": "Two models",
    "gains": "A feature in two models",
    "features": "Two features",
    "interactions": "Interactions",
    "parts": "Parts",
}
SHADES = ("#F4B183", "#E0701E", "#A23B00", "#4D1C00")
"""From few rows to many."""
MARKERS = ("o", "s", "^", "D")
LAST = 0.2
"""Larger sizes stand as numbers at the end of the axis."""
PANELS = {
    "models": ("two models", "share by which the second model's mean loss is lower"),
    "gains": ("a feature in two models", "difference of the mean gains"),
    "features": ("two features", "difference of the mean gains (the larger is 1)"),
    "interactions": ("interaction", "mean loss saved beyond addition"),
    "parts": ("two parts, 80 and 20 %", "difference of the mean gains"),
    "trend": ("trend over four parts", "fall of the mean gain from first to last"),
}


def figures(result: Result) -> dict[str, Any]:
    """The sizes of all settings, and the power curves."""
    return {"sizes": _sizes_figure(result), "power": _power_figure(result)}


def _sizes_figure(result: Result) -> Any:
    """One line per setting, one marker per number of rows."""
    n_lines = sum(1 + len(_by_setting(cells)) for cells in result.sizes.values())
    figure, ax = new_figure(width=9.6, height=1.2 + 0.34 * n_lines)
    rows = sorted({cell.n_rows for cells in result.sizes.values() for cell in cells})
    ticks, height = {}, 0.0
    for part, cells in result.sizes.items():
        ax.text(-0.004, height, HEADS[part], ha="right", va="center", fontsize=9.5, weight="bold")
        for name, some in _by_setting(cells).items():
            height -= 1
            ticks[height] = f"{name} ({some[0].guarantee})"
            for cell in some:
                _marker(ax, cell, height, rows)
        height -= 1.3
    ax.axvline(LEVEL, color="black", linestyle=":", linewidth=1)
    for place, n in enumerate(rows):
        style = {"color": SHADES[place % 4], "marker": MARKERS[place % 4], "markersize": 5}
        ax.plot([], [], linestyle="none", label=f"{n:,} rows", **style)
    ax.legend(loc="lower right", fontsize=8, frameon=False)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=8.5)
    ax.set_ylim(height + 0.5, 0.8)
    ax.set_xlim(0, 0.215)
    ax.set_xticks([0, 0.05, 0.1, 0.15, LAST], ["0", ".05", ".10", ".15", ".20"])
    ax.set_xlabel("share of data sets in which sfit rejects at level .05, though means are equal")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure


def _by_setting(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each setting, in their order."""
    names = dict.fromkeys(cell.setting for cell in cells)
    return {name: [cell for cell in cells if cell.setting == name] for name in names}


def _marker(ax: Any, cell: Cell, height: float, rows: Sequence[int]) -> None:
    """A size with two standard errors to each side, or a number at the end of the axis."""
    place, rate = rows.index(cell.n_rows), cell.rejected[cell.ours]
    at = height + 0.2 - 0.4 * place / max(1, len(rows) - 1)
    style = {"color": SHADES[place % 4], "markersize": 4.5, "linestyle": "none"}
    if rate > LAST:
        ax.plot([LAST], [at], marker=">", **style)
        ax.text(LAST + 0.003, at, f"{rate:.2f}", fontsize=7.5, va="center")
        return
    bar = 2 * error(rate, cell.n_sets)
    ends = [[min(rate, bar)], [bar]]
    ax.errorbar([rate], [at], xerr=ends, marker=MARKERS[place % 4], elinewidth=1, **style)


def _power_figure(result: Result) -> Any:
    """One panel per comparison; a line per number of rows."""
    figure, _ = new_figure(width=9.6, height=5.8)
    figure.clear()
    axes = figure.subplots(2, 3, sharey=True).ravel()
    for ax, (part, (head, label)) in zip(axes, PANELS.items(), strict=True):
        cells = result.powers[part]
        for place, n in enumerate(dict.fromkeys(cell.n_rows for cell in cells)):
            some = [cell for cell in cells if cell.n_rows == n]
            effects = [cell.effect for cell in some]
            style = {"color": SHADES[place % 4], "marker": MARKERS[place % 4], "markersize": 4}
            ours = [cell.rejected[_deciding(part)] for cell in some]
            ax.plot(effects, ours, label=f"{n:,} rows", **style)
            if SIGN in some[0].rejected:
                median = [cell.rejected[SIGN] for cell in some]
                ax.plot(effects, median, color=SHADES[place % 4], linestyle=":", linewidth=1.2)
        ax.axhline(LEVEL, color="black", linestyle=":", linewidth=0.8)
        ax.set_title(head, fontsize=10)
        ax.set_xlabel(label, fontsize=8.5)
        ax.set_ylim(-0.02, 1.03)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    for ax in axes[::3]:
        ax.set_ylabel("share of data sets that reject")
    lines, names = axes[0].get_legend_handles_labels()
    figure.legend(lines, names, fontsize=9, frameon=False, loc="outside lower center", ncols=3)
    return figure


def _deciding(part: str) -> str:
    return {"parts": OVERALL, "trend": TREND}.get(part, SFIT)


# --- the page -----------------------------------------------------------------------------


def page(result: Result) -> str:
    """Overview, then one section per comparison."""
    parts = (_opening, _models, _features, _parts, _interactions, _power)
    return "\n".join(part(result) for part in parts)


def _share(cell: Cell, test: str) -> str:
    """A share and its standard error; a dash if the test did not run."""
    if test not in cell.rejected:
        return "-"
    rate = cell.rejected[test]
    return f"{rate:.3f} ± {error(rate, cell.n_sets):.3f}"


def _sizes(cells: Sequence[Cell], tests: Sequence[str]) -> str:
    """A table of shares, one setting and number of rows per line."""
    lines = [
        [
            cell.setting,
            f"{cell.n_rows:,}",
            f"{cell.n_sets:,}",
            cell.guarantee,
            *(_share(cell, test) for test in tests),
        ]
        for cell in cells
    ]
    return table(("setting", "rows", "data sets", "sfit's promise", *tests), lines)


def _range(rates: Sequence[float]) -> str:
    """The smallest and the largest of some shares."""
    return f"{min(rates):.3f} to {max(rates):.3f}"


def _verdict(cells: Sequence[Cell]) -> str:
    """Two sentences: exact settings and the tolerance; asymptotic ones by the number of rows."""
    texts = []
    exact = [cell for cell in cells if cell.guarantee == "exact"]
    if exact:
        rates = [cell.rejected[cell.ours] for cell in exact]
        limits = sorted({f"{tolerated(cell.n_sets):.3f}" for cell in exact})
        inside = sum(cell.rejected[cell.ours] <= tolerated(cell.n_sets) for cell in exact)
        texts.append(
            f"**Exact**: {inside} of {len(exact)} sizes are at most {' or '.join(limits)}, which is .05 plus three standard "
            f"errors; the largest is {max(rates):.3f}."
        )
    near = [cell for cell in cells if cell.guarantee == "asymptotic"]
    if near:
        by_rows = [
            f"{max(c.rejected[c.ours] for c in near if c.n_rows == n):.3f} with {n:,} rows"
            for n in sorted({cell.n_rows for cell in near})
        ]
        texts.append(f"**Asymptotic**: the largest size is {', '.join(by_rows)}.")
    return " ".join(texts)


def _opening(result: Result) -> str:
    every = [cell for cells in result.sizes.values() for cell in cells]
    return f"""
Do comparisons keep their level? In every setting below the two means that a comparison compares are equal, and everything else differs:
predictions, variances, skewness, sizes. A test of level .05 should reject in 5 % of the data sets.

![Sizes of all comparisons, by setting and number of rows](comparisons-sizes.png)

Bars are two binomial standard errors; a number stands beside markers beyond .20. {_verdict(every)}

The exact promise holds at every number of rows. The asymptotic promise needs more rows the more skewed the differences are: a model that is wrong
in one row of twenty has 2 or 3 such rows among 50, and no test of a mean can learn much from these. Look at the differences: if a few
rows hold most of their spread, do not trust a p-value near the level.

Each data set has a known function as its model, squared loss, and reference 0. The library's own tests of sign flips and label permutations
gave the p-values of all data sets. The public functions were asked about {result.n_asked:,} of these data sets as well, and gave the same p-values in
{result.n_agreed:,}. A number after ± is one binomial standard error.
"""


def _models(result: Result) -> str:
    models, gains = result.sizes["models"], result.sizes["gains"]
    worst = max(cell.rejected[SIGN] for cell in models)
    return f"""
## Two models: `compare_models`

### Whole models with equal mean loss

Each model knows another column of y, which makes the differences symmetric. Or the errors of one model are normal, and those of the other have
constant size. Or one model is exactly right in most rows and far off in the others, and its rival is a little wrong in all rows: the differences are skewed.

{_sizes(models, (SFIT, SIGN))}

{_verdict(models)} The sign test asks about the median difference, which is another null hypothesis: with skewed differences it rejects in up to
{worst:.0%} of the data sets, although the mean losses are equal. It is right to reject: one model does predict more rows better. `compare_models` reports it
as `p_sign`, and never decides by it.

### One feature with equal mean gains in two models

The outcome is x plus noise. One model predicts x / 2, the other 3 x / 2: both gain as much over 0.

{_sizes(gains, (SFIT, SIGN))}

{_verdict(gains)}
"""


def _features(result: Result) -> str:
    pairs, families = result.sizes["features"], result.families
    lines = [
        [
            cell.setting,
            f"{cell.n_rows:,}",
            f"{cell.n_sets:,}",
            _share(cell, WRONG),
            _share(cell, MISSED),
            f"{1 - cell.rejected[MISSED]:.3f}",
            f"{10 * cell.rejected[DECIDED]:.2f}",
        ]
        for cell in families
    ]
    head = (
        "setting",
        "rows",
        "data sets",
        "a wrong pair",
        "a wrong interval",
        "coverage of all ranks",
        "pairs decided, of 10",
    )
    lowest = min(1 - cell.rejected[MISSED] for cell in families)
    limit = 1 - max(tolerated(cell.n_sets) for cell in families)
    return f"""
## Two features: `compare_features`

### A pair with equal mean gains

The outcome is the sum of both columns and noise, and the model knows that. A dummy that is rarely 1 gains much in few rows.

{_sizes(pairs, (SFIT, SIGN))}

{_verdict(pairs)}

### Several features, and intervals of ranks

Five features with mean gains of 1 (five times), of 1 or 0.5 ("two groups"), or of 1, 0.8, 0.6, 0.4 and 0.2 ("different"). A pair is wrong if it is decided,
but the mean gains are equal or the other way round. An interval of ranks is wrong if it misses one of the ranks that a feature and its equals share: five equal
features have ranks 1 to 5 each. All answers come from `compare_features`.

{table(head, lines)}

All five intervals together cover the true ranks in at least {lowest:.1%} of the data sets; with this many data sets, {limit:.1%} or more is accepted for a level
of 95 %.
"""


def _parts(result: Result) -> str:
    cells = result.sizes["parts"]
    recipes = [cell.rejected[RECIPE] for cell in cells if cell.guarantee == "asymptotic"]
    small, large = (
        _range([cell.rejected[RECIPE] for cell in cells if cell.setting.endswith(ending)])
        for ending in ("small one noisy", "large one noisy")
    )
    return f"""
## Parts: `compare_parts`

Two parts with 80 and 20 % of the rows, or four with 40, 30, 20 and 10 %. The mean gain is 1 in all of them; the noise of a part decides how much its gains vary.

{_sizes(cells, (OVERALL, EACH, TREND, RECIPE))}

{_verdict(cells)} With two parts, the trend is the same test as all parts at once.

The last column is the reason to studentise. The recipe permutes the same labels, but compares sums of squares between the parts that are not divided by
their standard errors. With equal mean gains and unequal variances it rejects in {_range(recipes)} of the data sets: far too often if the
small one of two parts is noisy ({small}), and hardly ever if the large one is ({large}).
`compare_parts` does not offer it. Expected for such a setting: .33 without and .058 with studentisation.
"""


def _interactions(result: Result) -> str:
    cells = result.sizes["interactions"]
    return f"""
## Interactions: `interaction="additive"`, `test="mean"`

The model is x1 + x2 + c x1 x2; the null hypothesis is that it improves no mean loss over the additive prediction x1 + x2. Without interaction in the model
nothing moves. If the model has an interaction and the outcome has none, the model predicts *worse* than the additive base. On the boundary of the null hypothesis
the model has twice the interaction of the outcome, and gains exactly nothing on average.

{_sizes(cells, (SFIT, SIGN))}

{_verdict(cells)}
"""


def _power(result: Result) -> str:
    chosen = sorted({cell.n_rows for cells in result.powers.values() for cell in cells})
    n = chosen[len(chosen) // 2]
    tables = []
    for parts in (tuple(PANELS)[:4], tuple(PANELS)[4:]):
        effects = sorted({cell.effect for part in parts for cell in result.powers[part]})
        lines = []
        for part in parts:
            found = {cell.effect: cell for cell in result.powers[part] if cell.n_rows == n}
            rates = [f"{found[effect].rejected[_deciding(part)]:.2f}" for effect in effects]
            lines.append([*PANELS[part], *rates])
        tables.append(table(("comparison", "effect", *(f"{one:g}" for one in effects)), lines))
    n_sets = min(cell.n_sets for cells in result.powers.values() for cell in cells)
    return f"""
## Power

![Power of each comparison against the size of the effect](comparisons-power.png)

Solid lines: the comparison; dotted lines: the sign test of the median beside it. The noise has variance 1, and effects are in units of the loss: mean gains near 1.
With {n:,} rows:

{tables[0]}

{tables[1]}

Standard errors are at most {error(0.5, n_sets):.3f}. With an effect of 0 the powers are sizes.
"""
