"""A display drawn for a page: as wide as the page, and again for a phone."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from sfit.plotting._style import LINE_HEIGHT
from sfit.report._figures import WIDTH, render

NARROW = 4.6
"""Inches of a picture that a phone shows without scrolling, its letters not much reduced."""

HEAVY = 100_000
"""Characters of a picture that is not worth sending twice; a phone scrolls it."""

ROOM_ABOVE = 1.5
"""Height of a row with its label above it, relative to one with its label at the left."""

PER_INCH = 15
"""Characters in an inch of a line below an axis."""

LONG_LINE = 50
"""A longer line below an axis may have been wrapped."""

NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-−+]?\d+)?\s*%?|\$.*\$|")
"""A label that is no name; matplotlib writes powers of ten between dollar signs."""


class Drawing(NamedTuple):
    """A picture with its title and caption."""

    title: str
    caption: str
    svg: str
    narrow: str
    """The picture for a phone; empty if the other one fits, or has to scroll."""
    captioned: bool = True


def draw(display: Any, name: str, width: float = WIDTH) -> Drawing:
    """Draw a display; `name` makes the ids unique within the page."""
    wide = render(display, name, width)
    twice = width > NARROW and len(wide.svg) < HEAVY
    return Drawing(*wide, _narrow(display, f"{name}-narrow") if twice else "")


def _narrow(display: Any, name: str) -> str:
    """The picture for a phone; empty if that has no room or no named rows: the wide one scrolls."""
    above = _LabelsAbove(display)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied")
        try:
            svg = render(above, name, NARROW).svg
        except UserWarning:
            return ""
    return svg if above.moved else ""


class _LabelsAbove:
    """A display with the names of its rows above the rows, because there is no room beside them.

    It has no tooltips: a phone has nothing to point with.
    """

    def __init__(self, display: Any) -> None:
        self.display = display
        self.title, self.caption = display.title, display.caption
        self.height = ROOM_ABOVE * display.height
        self.moved = False

    def plot(self, ax: Any) -> None:
        self.display.plot(ax)
        for axes in _visible(ax.figure.axes):
            if _names(axes.yaxis) and not _names(axes.xaxis):
                _move_labels(axes)
                self.moved = True
        ax.figure.draw_without_rendering()
        _wrap_labels([axes for axes in _visible(ax.figure.axes) if axes.get_xlabel()])

    def tooltips(self) -> list[Any]:
        return []


def _visible(all_axes: list[Any]) -> Iterator[Any]:
    """Axes and the axes within them, but those that are switched off."""
    for axes in all_axes:
        if axes.axison:
            yield axes
        yield from _visible(axes.child_axes)


def _names(axis: Any) -> list[Any]:
    """The ticks with labels at the left or at the bottom, if the labels are names."""
    ticks = [tick for tick in axis.get_major_ticks() if tick.label1.get_visible()]
    labels = [tick.label1.get_text() for tick in ticks]
    return [] if all(NUMBER.fullmatch(label) for label in labels) else ticks


def _move_labels(axes: Any) -> None:
    for tick in _names(axes.yaxis):
        axes.text(
            0,
            tick.get_loc() - 0.33,
            tick.label1.get_text(),
            transform=axes.get_yaxis_transform(),
            va="bottom",
            fontsize="small",
            parse_math=False,
        )
        tick.label1.set_visible(False)


def _wrap_labels(labelled: list[Any]) -> None:
    """Wrap the text below axes: to the figure, or to the axes if there is text beside it."""
    boxes = [axes.get_window_extent() for axes in labelled]
    for axes, box in zip(labelled, boxes, strict=True):
        beside = [one for one in boxes if one is not box and one.y0 < box.y1 and box.y0 < one.y1]
        inches = box.width / axes.figure.dpi if beside else 0.9 * NARROW
        old = axes.get_xlabel().splitlines()
        width = max(20, round(PER_INCH * inches))
        wrapped = [textwrap.wrap(line, width, break_on_hyphens=False) for line in _joined(old)]
        new = [line for lines in wrapped for line in lines]
        axes.xaxis.label.set_text("\n".join(new))
        legend = axes.get_legend()
        if legend is not None and legend.get_window_extent().y1 < box.y0:
            _lower(legend, LINE_HEIGHT * (len(new) - len(old)))


def _joined(lines: list[str]) -> list[str]:
    """Undo the wrapping for a wide picture: a long line without a full stop goes on in the next."""
    joined: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if len(before) > LONG_LINE and not before.endswith("."):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _lower(legend: Any, inches: float) -> None:
    """Move a legend that stands below the text."""
    from matplotlib.transforms import IdentityTransform, ScaledTranslation, TransformedBbox

    down = ScaledTranslation(0, -inches, legend.figure.dpi_scale_trans)
    place = TransformedBbox(legend.get_bbox_to_anchor(), down)
    legend.set_bbox_to_anchor(place, IdentityTransform())
