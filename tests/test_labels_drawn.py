"""Every picture that shows names: awkward names never get the same label.

`test_labels.py` checks the labels of all 300 sets of names. Here each display draws 34 of them,
and all 300 in the long run.
"""

import numpy as np
import pytest
from name_sets import N_SETS, name_set
from named_results import (
    made,
    made_models,
    made_part_gains,
    made_parts,
    made_profile,
    made_ranks,
)

from sfit._labels import look
from sfit._text import printable

plt = pytest.importorskip("matplotlib.pyplot")

from sfit import plotting  # noqa: E402
from sfit.plotting import (  # noqa: E402
    BuildUpDisplay,
    CoinDisplay,
    DeltaDisplay,
    ImportanceDisplay,
    InteractionDisplay,
    ModelsDisplay,
    PartGainsDisplay,
    PartsDisplay,
    RanksDisplay,
    ResponseDisplay,
    RibbonsDisplay,
    RiseDisplay,
    SignificanceBetaDisplay,
)
from sfit.plotting._build_up import LossStep  # noqa: E402

DRAWN = range(0, N_SETS, 9)
"""34 sets, of every kind: there are 8 kinds, in turn."""


def steps(names):
    sets = [(name,) for name in names[:8]] + [tuple(names[:3]), tuple(names[:2]), tuple(names)]
    found = [LossStep("found", term, 2.0 - 0.1 * k) for k, term in enumerate(sets)]
    return [LossStep("hidden", (), 2.0), *found, LossStep("all", (), 0.5)]


def delta(names):
    # pandas stores no surrogates.
    values = np.array([name.replace("\ud800", "") for name in names * 2], dtype=object)
    return DeltaDisplay(names[0], values, np.arange(len(values)) / 10)


# Made from names; how many of the names each must show, at least.
DISPLAYS = {
    "coin": lambda names: CoinDisplay(made(names)),
    "rise": lambda names: RiseDisplay(made(names, "permutation test")),
    "rise of means": lambda names: RiseDisplay(made(names, "mean test")),
    "importance": lambda names: ImportanceDisplay(made(names)),
    "beta": lambda names: SignificanceBetaDisplay(made(names)),
    "pairs": lambda names: InteractionDisplay(made(names), np.ones((len(names), len(names)))),
    "build-up": lambda names: BuildUpDisplay(steps(names), names[0]),
    "build-up of a result": lambda names: BuildUpDisplay.from_result(made(names)),
    "parts": lambda names: PartsDisplay(made_parts(names, names[:5])),
    "ranks": lambda names: RanksDisplay(made_ranks(names)),
    "models": lambda names: ModelsDisplay(made_models(names, names[:3])),
    "gains by part": lambda names: PartGainsDisplay(made_part_gains(names, names[:5])),
    "delta": delta,
    "ribbons": lambda names: RibbonsDisplay([made_profile(name, "ab") for name in names]),
    "response by category": lambda names: ResponseDisplay(made_profile(names[0], names)),
    "response of classes": lambda names: ResponseDisplay(
        made_profile(names[0], [*names[:8], "(missing)"], names[:4])
    ),
}
NO_NAMES = {"BetaCurveDisplay"}
"""A display without names of features."""


def all_axes(figure):
    return [axes for outer in figure.axes for axes in (outer, *outer.child_axes)]


def texts(axis):
    return [text for label in axis.get_ticklabels() if (text := label.get_text())]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DISPLAYS)
def test_labels_in_a_picture_are_unique(name):
    """Of the sets that are drawn in every run."""
    check_labels(name, DRAWN)


@pytest.mark.long
@pytest.mark.parametrize("name", DISPLAYS)
def test_labels_of_every_set_are_unique(name):
    """Of the other sets."""
    check_labels(name, [number for number in range(N_SETS) if number not in DRAWN])


def check_labels(name, numbers):
    """No two ticks of an axis look the same, nor two titles, nor two entries of a legend."""
    for number in numbers:
        names = name_set(number)
        display = DISPLAYS[name](names)
        display = display if hasattr(display, "ax_") else display.plot()
        seen = all_axes(display.figure_)
        # Counts, shares and numbers may repeat: names are on the left and, in a matrix, below.
        named = [texts(axes.yaxis) for axes in seen if axes.yaxis.get_ticks_position() != "right"]
        named += [texts(axes.xaxis) for axes in seen]
        named.append([title for axes in seen if (title := axes.get_title(loc="left"))])
        named += [
            [text.get_text() for text in legend.get_texts()]
            for axes in seen
            if (legend := axes.get_legend())
        ]
        for of_axis in named:
            assert len(set(map(look, of_axis))) == len(of_axis), (number, of_axis)
            assert all(printable(text) == text for text in of_axis if "\n" not in text)
        assert max(map(len, named)) >= min(len(names), 2)
        plt.close("all")


def test_every_display_is_tested():
    """A new display enters the list above."""
    drawn = {type(make(name_set(0))).__name__ for make in DISPLAYS.values()}
    assert drawn | NO_NAMES == set(plotting.__all__)


@pytest.mark.parametrize("name", [name for name in DISPLAYS if name != "delta"])
def test_tooltips_hold_full_names(name):
    """Of names that the labels shorten."""
    names = [f"{'a_long_name_' * 12}{number}" for number in range(4)]
    display = DISPLAYS[name](names)
    display = display if hasattr(display, "ax_") else display.plot()
    tips = [tip.text for tip in display.tooltips()]
    assert all(any(full in text for text in tips) for full in names)
    assert display.title and display.caption and display.height > 1


@pytest.mark.parametrize("name", DISPLAYS)
def test_awkward_names_can_be_drawn(name):
    """Dollars start no formula; what has no glyph is drawn as a box."""
    names = ["$\\frac{", "a$b$c", "_{^", "x" * 200, "\x00", "a\nb"]
    display = DISPLAYS[name](names)
    display = display if hasattr(display, "ax_") else display.plot()
    display.figure_.canvas.draw()
