"""The responses to the categories of a feature: one row each, panels beside each other."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from sfit._labels import distinct, labels
from sfit.plotting._response_panels import (
    COLORS,
    MARKERS,
    MISSING,
    MOST_CATEGORIES,
    Area,
    Panels,
    add_legend,
    draw_gains,
    hollow,
    notes,
    response_limits,
    response_name,
)
from sfit.plotting._style import GREY, explain, name_ticks, short

if TYPE_CHECKING:
    from sfit._profile import FeatureProfile

ROW_HEIGHT = 0.21
"""Height of a category, in inches."""
LONGEST_CATEGORY = 24
"""Columns of the label of a category."""
BOXES = {
    True: [(0, 0, 0.47, 1), (0.5, 0, 0.19, 1), (0.73, 0, 0.27, 1)],
    False: [(0, 0, 0.75, 1), (0.8, 0, 0.2, 1)],
}
"""Left, bottom, width and height of the panels, with and without gains."""


def height_of(profile: FeatureProfile) -> float:
    """Inches that the categories need."""
    n_rows = min(len(profile.labels), MOST_CATEGORIES) + bool(profile.n_missing)
    return 1.1 + ROW_HEIGHT * max(3, n_rows) + 0.2 * (len(profile.outputs) > 1)


def by_category(ax: Any, profile: FeatureProfile, gains: bool) -> Panels:
    """The response, the rows and the gains beside each other, with one row per category."""
    ax.set_axis_off()
    axes = [ax.inset_axes(box) for box in BOXES[gains]]
    n = min(len(profile.labels), MOST_CATEGORIES)
    found = labels(profile.labels, LONGEST_CATEGORY)
    names = [found[label] for label in profile.labels[:n]]
    counts = list(profile.counts[:n])
    responses = [list(one[:n]) for one in profile.responses]
    if profile.n_missing:
        names.append(MISSING)
        counts.append(profile.n_missing)
        responses = [
            [*one, response]
            for one, response in zip(responses, profile.missing_response, strict=True)
        ]
    names = distinct(names)
    areas = [
        Area(k, k - 0.5, k + 0.5, False, [one[k] for one in responses], is_missing=k == n)
        for k in range(len(names))
    ]
    panels = Panels(axes, areas)
    _draw_responses(panels, profile, responses, n)
    _draw_rows(panels, counts)
    if gains:
        draw_gains(panels, profile, range(len(names)), n, False)
        axes[2].set_xlabel("mean gain", fontsize="small")
        axes[2].locator_params(axis="x", nbins=3)
    for panel in axes:
        panel.set_ylim(len(names) - 0.4, -0.6)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(labelsize="small")
        shown = names if panel is axes[0] else [""] * len(names)
        name_ticks(panel.yaxis, range(len(names)), shown)
        panel.grid(axis="y", linewidth=0.5, alpha=0.4)
        panel.set_axisbelow(True)
    return panels


def _draw_responses(
    panels: Panels, profile: FeatureProfile, responses: list[list[float]], n: int
) -> None:
    """The prediction of each category, and hollow, of missing values; lines from the base."""
    ax = panels.axes[0]
    ax.set_xlim(*response_limits([*profile.base, *chain(*responses)], profile))
    for k, (one, base) in enumerate(zip(responses, profile.base, strict=True)):
        panels.base.append(ax.axvline(base, color=COLORS[k], linewidth=1, linestyle="--"))
        if len(responses) == 1:
            ax.hlines(range(len(one)), base, one, color=COLORS[k], linewidth=1)
        points = ax.plot(one[:n], range(n), MARKERS[k], color=COLORS[k], markersize=4.5)
        panels.lines.append(points[0])
        panels.missing.extend(hollow(ax, missing, n, k) for missing in one[n:])
    ax.locator_params(axis="x", nbins=5)
    explain(ax, response_name(profile), *notes(profile))
    ax.xaxis.label.set(parse_math=False)
    above = 18 if len(responses) > 1 else 6
    ax.set_title(short(profile.feature), loc="left", fontsize="medium", pad=above, parse_math=False)
    add_legend(panels, profile)


def _draw_rows(panels: Panels, counts: list[int]) -> None:
    ax = panels.axes[1]
    panels.rows = ax.barh(range(len(counts)), counts, height=0.66, color=GREY, alpha=0.7)
    ax.bar_label(panels.rows, [f"{n:,}" for n in counts], padding=2, fontsize="x-small")
    ax.set_xlim(0, 1.8 * max(counts))
    ax.set_xticks([])
    ax.set_xlabel("rows", fontsize="small")
