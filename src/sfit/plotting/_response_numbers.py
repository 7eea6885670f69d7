"""The response along the numbers of a feature: panels above each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit.plotting._response_panels import (
    COLORS,
    MARKERS,
    MISSING,
    STYLES,
    Area,
    Panels,
    add_legend,
    draw_gains,
    hollow,
    notes,
    response_limits,
    response_name,
)
from sfit.plotting._style import GREY, explain, short

if TYPE_CHECKING:
    from sfit._profile import FeatureProfile

FEW_POINTS = 12
"""At most this many values are marked by points."""
MOST_SIGNS = 44
"""Most characters of the names of all ticks at values."""
BOXES = {
    True: [(0, 0.46, 1, 0.54), (0, 0.32, 1, 0.11), (0, 0, 1, 0.28)],
    False: [(0, 0.2, 1, 0.8), (0, 0, 1, 0.16)],
}
"""Left, bottom, width and height of the panels, with and without gains."""


def by_number(ax: Any, profile: FeatureProfile, gains: bool) -> Panels:
    """The response, the rows and the gains above each other, with one horizontal axis."""
    ax.set_axis_off()
    axes = [ax.inset_axes(box) for box in BOXES[gains]]
    low, high = _window(profile)
    apart = high + 0.09 * (high - low)
    panels = Panels(axes, _columns(profile, low, high, apart))
    _draw_curves(panels, profile, low, high, apart)
    _draw_rows(panels, profile, high - low, apart)
    if gains:
        at = [*profile.bin_values, *[apart] * bool(profile.n_missing)]
        draw_gains(panels, profile, np.clip(at, low, apart), len(profile.bin_n), True)
        axes[2].set_ylabel("gain", fontsize="small")
        axes[2].locator_params(axis="y", nbins=4)
        axes[2].tick_params(labelsize="small")
    pad = (0.025 if profile.edges else 0.06) * (high - low)
    end = apart + 0.025 * (high - low) if profile.n_missing else high
    for panel in axes:
        panel.set_xlim(low - pad, end + pad)
        panel.spines[["top", "right"]].set_visible(False)
        if profile.n_missing:
            panel.axvline((high + apart) / 2, color=GREY, linewidth=0.6, linestyle=":")
    _name_numbers(panels, profile, low, high, apart)
    explain(axes[-1], short(profile.feature), *notes(profile))
    axes[-1].xaxis.label.set(parse_math=False)
    return panels


def _window(profile: FeatureProfile) -> tuple[float, float]:
    """The range of values to draw."""
    ends = profile.edges or profile.values
    low, high = ends[0], ends[-1]
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _columns(profile: FeatureProfile, low: float, high: float, apart: float) -> list[Area]:
    """The areas of the bins, which meet halfway between their values, and of missing values."""
    at = np.clip(profile.bin_values, low, high)
    ends = [low, *((at[1:] + at[:-1]) / 2).tolist(), high]
    areas = [
        Area(
            k,
            ends[k],
            ends[k + 1],
            True,
            [float(np.interp(at[k], profile.values, one)) for one in profile.responses],
        )
        for k in range(len(at))
        if ends[k] < ends[k + 1]
    ]
    if profile.n_missing:
        middle = (high + apart) / 2
        areas.append(Area(-1, middle, 2 * apart - middle, True, profile.missing_response, True))
    return areas


def _draw_curves(
    panels: Panels, profile: FeatureProfile, low: float, high: float, apart: float
) -> None:
    ax, x = panels.axes[0], np.asarray(profile.values)
    # Where the curve leaves the window, it ends at the edge.
    inside = np.concatenate([[max(low, x[0])], x[(x > low) & (x < high)], [min(high, x[-1])]])
    inside = np.unique(inside)
    drawn = [np.interp(inside, x, response) for response in profile.responses]
    few = len(x) <= FEW_POINTS
    for k, (curve, base) in enumerate(zip(drawn, profile.base, strict=True)):
        color = COLORS[k]
        panels.base.append(ax.axhline(base, color=color, linewidth=1, linestyle="--", alpha=0.8))
        look = {"marker": MARKERS[k], "markersize": 4.5, "linewidth": 0.8} if few else {}
        panels.lines.append(
            ax.plot(inside, curve, **{"color": color, "linestyle": STYLES[k], **look})[0]
        )
    for k, response in enumerate(profile.missing_response):
        panels.missing.append(hollow(ax, apart, response, k))
    ax.set_ylim(
        *response_limits([*profile.base, *profile.missing_response, *np.ravel(drawn)], profile)
    )
    ax.set_ylabel(response_name(profile), fontsize="small", parse_math=False)
    ax.locator_params(axis="y", nbins=5)
    ax.tick_params(labelsize="small")
    if len(profile.base) == 1:
        ax.annotate(
            "base",
            (1, profile.base[0]),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize="x-small",
        )
    add_legend(panels, profile)


def _draw_rows(panels: Panels, profile: FeatureProfile, width: float, apart: float) -> None:
    ax = panels.axes[1]
    look = {"color": GREY, "alpha": 0.7, "linewidth": 0}
    if profile.edges:
        sizes, places = np.diff(profile.edges), profile.edges[:-1]
        panels.rows = ax.bar(places, profile.counts, sizes, align="edge", **look)
    else:
        gap = min(np.diff(profile.values).min(initial=width), width / 12)
        panels.rows = ax.bar(profile.values, profile.counts, 0.8 * gap, **look)
    if profile.n_missing:
        ax.bar([apart], [profile.n_missing], width / 40, **look)
    ax.set_yticks([])
    ax.set_ylabel("rows", fontsize="small", rotation=0, ha="right", va="center")


def _name_numbers(
    panels: Panels, profile: FeatureProfile, low: float, high: float, apart: float
) -> None:
    """Ticks at the values, if they are few, else at round numbers; the last panel names them."""
    from matplotlib.ticker import MaxNLocator

    ticks: Sequence[float] = profile.values
    texts = list(map(_tick_text, ticks))
    if len(ticks) > FEW_POINTS or sum(map(len, texts)) > MOST_SIGNS:
        last = high - 0.04 * (high - low) if profile.n_missing else high
        ticks = [tick for tick in MaxNLocator(6).tick_values(low, high) if low <= tick <= last]
        texts = list(map(_tick_text, ticks))
    if profile.n_missing:
        ticks, texts = [*ticks, apart], [*texts, MISSING]
    for panel in panels.axes:
        panel.set_xticks(ticks, labels=[])
    panels.axes[-1].set_xticks(ticks, labels=texts, fontsize="small")


def _tick_text(value: float) -> str:
    text = f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.6g}"
    return text.replace("-", "\N{MINUS SIGN}")
