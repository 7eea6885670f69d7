"""The mean loss, from everything hidden to the full model, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sfit._arguments import check_whole
from sfit._labels import JOIN, distinct, labels, left_out_of_labels, set_label
from sfit._text import number, printable, share_text
from sfit.exceptions import ArgumentError
from sfit.plotting._orders import label_width
from sfit.plotting._style import (
    BLUE,
    GREY,
    ORANGE,
    ROW_HEIGHT,
    Tooltip,
    axes_or_new,
    line_width,
    lines_of,
    name_ticks,
    over_row,
    plain_frame,
    write_below,
)

if TYPE_CHECKING:
    from sfit._result import SFITResult

MOST_STEPS = 12
WIDTH = 7.0
"""Inches of a new figure."""
MOST_NAMES = 3
"""Members of a set that a label names; the others are counted."""

SMALLEST_RANGE = 0.02
"""The range of the axis is at least this share of the loss."""
HIDDEN, REST, FULL = "everything hidden", "not attributed", "the full model"
"""Labels of the rows that are not found sets."""


class Step(Protocol):
    """The mean loss after one more set of features is revealed."""

    @property
    def kind(self) -> str:
        """The start ("hidden"), a set that is added ("found"), or everything ("all")."""

    @property
    def features(self) -> tuple[str, ...]:
        """What this step adds; at the start, what is always revealed."""

    @property
    def loss(self) -> float:
        """The mean loss after the step."""


class LossStep(NamedTuple):
    """A step of a result."""

    kind: str
    features: tuple[str, ...]
    loss: float


class _Row(NamedTuple):
    """One row of the picture: a mean loss, or a step between two."""

    label: str
    text: str
    """The label with full names."""
    start: float
    end: float
    kind: str
    """"total", "found" or "rest"."""


class BuildUpDisplay:
    """The mean loss with everything hidden, one step per found set, and the full model.

    A bar reaches from the mean loss before a step to that after it. The last, hatched bar is not
    attributed to any set: the full model has it, and the found sets do not. This is the difference
    that a gate tests. A step that raises the loss is orange and points to the right.

    Parameters
    ----------
    steps : sequence of objects with `kind`, `features` and `loss`
        Steps in order: the first of kind "hidden", then any number of kind "found", and the last of
        kind "all". The features of the first are always revealed.
    loss : str
        The name of the loss.
    max_steps : int, default=12
        Number of found sets to draw; the last ones are merged if there are more.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure drawn on.
    bars_ : list of artists
        The steps, from the top.
    points_ : list of artists
        The mean losses at the start and at the end.
    texts_ : list of artists
        The numbers beside the bars.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import BuildUpDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> display = BuildUpDisplay.from_result(result)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['everything hidden', 'X1 + X3', 'not attributed', 'the full model']
    """

    def __init__(self, steps: Sequence[Step], loss: str, max_steps: int = MOST_STEPS) -> None:
        check_whole(max_steps, "max_steps")
        kinds = [step.kind for step in steps]
        if kinds != ["hidden", *["found"] * (len(kinds) - 2), "all"]:
            raise ArgumentError(
                "steps must begin with one of kind 'hidden', continue with steps of kind 'found', "
                f"and end with one of kind 'all'; got the kinds {kinds!r}."
            )
        if not all(math.isfinite(step.loss) for step in steps):
            raise ArgumentError(
                f"steps must have finite losses; got {[step.loss for step in steps]!r}."
            )
        self.loss = loss
        self.first, *self.found, self.last = steps
        self.max_steps = max_steps

    @classmethod
    def from_result(
        cls, result: SFITResult, *, max_steps: int = MOST_STEPS, ax: Any = None
    ) -> BuildUpDisplay:
        """Draw a result that has gates: one step per order, with all sets found at that order.

        Parameters
        ----------
        result : SFITResult
            The result to draw.
        max_steps : int, default=12
            Number of steps to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        BuildUpDisplay
            The display, drawn.
        """
        return cls(steps_of(result), result.settings.loss, max_steps).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "What the found features explain"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        start = "with everything hidden" if not self.first.features else "at the start"
        text = (
            f"Mean loss ({printable(self.loss)}) {start}, after each found set is revealed, and of "
            "the full model. The hatched step is not attributed to a found set."
        )
        if any(row.kind != "total" and row.end > row.start for row in self._rows()):
            text += " An orange bar that points to the right raises the loss."
        return text

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        return 1.0 + 1.15 * ROW_HEIGHT * len(self._rows())

    def plot(self, ax: Any = None) -> BuildUpDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        BuildUpDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, WIDTH, self.height)
        self.figure_ = ax.figure
        self.bars_: list[Any] = []
        self.points_: list[Any] = []
        self.texts_: list[Any] = []
        rows = self._rows()
        low, high = min(r.end for r in rows), max(r.end for r in rows)
        # Steps that hardly change the loss must look small.
        width = max(high - low, SMALLEST_RANGE * max(abs(low), abs(high))) or 1.0
        for place, row in enumerate(rows):
            if place:
                ax.vlines(row.start, place - 1, place, color=GREY, linewidth=0.8, zorder=0)
            if row.kind == "total":
                self.points_ += ax.plot(row.end, place, "D", color=BLUE, markersize=6)
                ax.lines[-1].set_clip_on(False)
            else:
                self._draw_step(ax, place, row)
            self.texts_.append(
                ax.annotate(
                    self._number(row),
                    (max(row.start, row.end), place),
                    xytext=(9, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
            )
        left = high - 1.06 * width
        ax.set_xlim(left, high + 0.24 * width)
        ax.ticklabel_format(axis="x", useOffset=False)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        name_ticks(ax.yaxis, range(len(rows)), [row.label for row in rows])
        cut = "the axis does not begin at 0" if left > 0 else ""
        what = f"mean loss ({printable(self.loss)})"
        ends = left_out_of_labels(self._names(), self._width)
        width_of_lines = line_width(WIDTH, [row.label for row in rows])
        write_below(ax, lines_of(what, cut, ends, width=width_of_lines))
        ax.locator_params(axis="x", nbins=6)
        plain_frame(ax)
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            over_row(
                self.ax_,
                place,
                f"{row.text}\n{self._number(row)}"
                + (f"\nmean loss {number(row.end)}" if row.kind != "total" else ""),
            )
            for place, row in enumerate(self._rows())
        ]

    def _names(self) -> list[str]:
        steps = (self.first, *self.found)
        return list(dict.fromkeys(name for step in steps for name in step.features))

    @property
    def _labels(self) -> dict[str, str]:
        return labels(self._names(), self._width)

    @property
    def _width(self) -> int:
        return label_width(min(max((len(s.features) for s in self.found), default=1), MOST_NAMES))

    def _rows(self) -> list[_Row]:
        """The start, the found sets, the rest, and the full model, from the top."""
        start, full = self.first.loss, self.last.loss
        first = _Row(HIDDEN, HIDDEN, start, start, "total")
        if self.first.features:
            label = f"only {_some(self.first.features, self._labels)}"
            first = first._replace(label=label, text=f"only {_full(self.first.features)} revealed")
        rows, before = [], start
        for label, text, loss in self._sets():
            rows.append(_Row(label, text, before, loss, "found"))
            before = loss
        kept = distinct([row.label for row in rows], (first.label, REST, FULL))
        found = [row._replace(label=label) for row, label in zip(rows, kept, strict=True)]
        rest = _Row(REST, f"{REST} to a found set", before, full, "rest")
        return [first, *found, rest, _Row(FULL, FULL, full, full, "total")]

    def _sets(self) -> list[tuple[str, str, float]]:
        """The label, the full names and the loss after each found set; the last ones as one."""
        n_own = len(self.found) if len(self.found) <= self.max_steps else self.max_steps - 1
        sets = [
            (_some(step.features, self._labels), _full(step.features), step.loss)
            for step in self.found[:n_own]
        ]
        if more := self.found[n_own:]:
            text = ", ".join(_full(step.features) for step in more)
            sets.append((f"{len(more):,} more sets", text, more[-1].loss))
        return sets

    def _draw_step(self, ax: Any, place: int, row: _Row) -> None:
        rises = row.end > row.start
        color = ORANGE if rises else BLUE
        hatched = row.kind == "rest"
        self.bars_ += ax.barh(
            place,
            row.end - row.start,
            left=row.start,
            height=0.62,
            facecolor="none" if hatched else color,
            edgecolor=color,
            hatch="/////" if hatched else None,
            linewidth=0.8,
        )
        # The direction of a step is visible without its colour.
        if row.end != row.start:
            ax.plot(row.end, place, ">" if rises else "<", color=color, markersize=7, clip_on=False)

    def _number(self, row: _Row) -> str:
        if row.kind == "total":
            return number(row.end)
        change, whole = row.end - row.start, self.first.loss - self.last.loss
        signed = f"{'+' if change > 0 else '−' if change < 0 else ''}{number(abs(change))}"
        if whole <= 0:
            return signed
        share = -change / whole
        of = f"{'−' if share < 0 else ''}{share_text(abs(share), 0)}"
        return f"{signed} ({of.replace('%', ' %').replace('  ', ' ')})"


def steps_of(result: SFITResult) -> list[LossStep]:
    """The steps that a result knows: one per order at which something was found."""
    if not result.gates or not result.tests:
        raise ArgumentError(
            f"result must have gates, whose losses the steps are; a {result.settings.test} of "
            "this kind has none. Test with test='sign' or test='mean', and without given='rest'."
        )
    first = result.tests[0]
    steps = [LossStep("hidden", first.base, first.loss_base)]
    known: set[str] = set()
    for gate in result.gates:
        if new := tuple(name for name in gate.found if name not in known):
            steps.append(LossStep("found", new, gate.loss_found))
            known.update(new)
    return [*steps, LossStep("all", (), result.gates[-1].loss_full)]


def _full(names: Sequence[str]) -> str:
    """The full names of a set."""
    return JOIN.join(map(printable, names))


def _some(names: Sequence[str], labels_of: dict[str, str]) -> str:
    """The label of a set; of many members, the first ones."""
    if len(names) <= MOST_NAMES:
        return set_label(names, labels_of)
    kept = MOST_NAMES - 1
    return f"{set_label(names[:kept], labels_of)} + {len(names) - kept} more"
