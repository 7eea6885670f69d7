"""Displays as SVG for a page: without styles and scripts, with tooltips."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._set_tests import AnySetTest, sign_tests
from sfit._text import number
from sfit._words import Words, at_level, nonadditive, words_of
from sfit.compare import Comparison
from sfit.exceptions import MissingDependencyError
from sfit.plotting import (
    BetaCurveDisplay,
    ImportanceDisplay,
    InteractionDisplay,
    PartsDisplay,
    SignificanceBetaDisplay,
)
from sfit.plotting._style import sentence, short_set

WIDTH = 11.0
"""Inches of a figure as wide as the page."""

SVG = "http://www.w3.org/2000/svg"
PIXELS_PER_POINT = 96 / 72
LINK = "{http://www.w3.org/1999/xlink}href"

Tips = dict[str, str]
"""The text of the tooltip of each mark, by the id of the mark."""


class Figure(NamedTuple):
    """A picture with its title and caption."""

    title: str
    caption: str
    svg: str


def figures(result: SFITResult, name: str) -> list[Figure]:
    """The pictures of one result; `name` makes their ids unique within a page."""
    if not result.tests:
        return []
    pictures = [importance(result, f"{name}-importance")]
    if any(len(test.term) == 2 for test in result.tests):
        pictures.append(_pairs(result, f"{name}-pairs"))
    if not all(math.isnan(test.beta_max) for test in sign_tests(result.tests)):
        pictures.append(_beta_max(result, f"{name}-carries"))
    if result.beta_choice is not None:
        pictures.append(_choice(result, f"{name}-choice"))
    return pictures


def importance(result: SFITResult, name: str, width: float = WIDTH) -> Figure:
    """The importance plot."""
    display, words = ImportanceDisplay(result), words_of(result)
    with _canvas(width, display.height) as ax:
        display.plot(ax)
        tips: Tips = {}
        for axes, tests in zip(display.axes_, display.shown, strict=True):
            _cover_rows(axes, range(len(tests)), tests, words, tips)
        return Figure(
            "Importance",
            f"{words.effect.capitalize()} with its {words.interval}. Filled and coloured: "
            "significant. Hollow and grey: not significant.",
            _svg(ax.figure, name, tips, f"{words.estimate.capitalize()} and interval of each set"),
        )


def parts_side_by_side(result: PartitionedResult, name: str, width: float = WIDTH) -> Figure:
    """The parts of a partitioned result."""
    display, words = PartsDisplay(result), words_of(result.parts[0][1])
    with _canvas(width, display.height) as ax:
        display.plot(ax)
        tips: Tips = {}
        for axes, (_, tests) in zip(display.axes_, display.drawn(), strict=True):
            rows = [display.features.index(test.term[0]) for test in tests]
            _cover_rows(axes, rows, tests, words, tips)
        return Figure(
            "Parts side by side",
            "Each feature alone, by part, on a common scale. Filled and coloured: significant.",
            _svg(ax.figure, name, tips, "First-order tests of all parts"),
        )


def figures_of_comparison(comparison: Comparison, name: str, width: float = WIDTH) -> list[Figure]:
    """The pictures of a comparison; `name` makes their ids unique within a page."""
    pictures = []
    for place, display in enumerate(comparison.displays(), 1):
        with _canvas(width, display.height) as ax:
            display.plot(ax)
            tips: Tips = {}
            for tip in display.tooltips():
                _cover(tip.axes, tip.corner, 1, tip.transform, tip.text, tips)
            svg = _svg(ax.figure, f"{name}-{place}", tips, display.title)
            pictures.append(Figure(display.title, display.caption, svg))
    return pictures


def _pairs(result: SFITResult, name: str) -> Figure:
    display, words = InteractionDisplay(result), words_of(result)
    with _canvas(*display.size) as ax:
        display.plot(ax)
        tips: Tips = {}
        for (row, column), test in display.shown.items():
            text = sentence(test, words)
            if display.additive:
                text += f"\nmean gain {number(test.gain)}, {nonadditive(test)} of that of the pair"
            _cover(ax, (column - 0.5, row - 0.5), 1, ax.transData, text, tips)
        effect = words.effect.capitalize()
        if display.additive:
            effect = "Mean gain over the additive prediction from its parts, and the share of the "
            effect += "gain of the pair that this is,"
        return Figure(
            "Interactions" if display.additive else "Pairs",
            f"{effect} for each pair tested; significant pairs are filled and bold.",
            _svg(ax.figure, name, tips, "Pairs of features as a matrix"),
        )


def _beta_max(result: SFITResult, name: str) -> Figure:
    display, level = SignificanceBetaDisplay(result), at_level(result.settings)
    with _canvas(WIDTH, display.height) as ax:
        display.plot(ax)
        tips: Tips = {}
        for row, test in enumerate(display.shown):
            text = f"{short_set(test.term, len(test.term))}\nsignificant{level} below beta = "
            _cover(
                ax,
                (0, row - 0.5),
                1,
                ax.get_yaxis_transform(),
                f"{text}{test.beta_max:.3g}",
                tips,
            )
        return Figure(
            "How robust the findings are to beta",
            f"Each set is significant{level}, without a correction, for every beta below its "
            "point.",
            _svg(ax.figure, name, tips, "Largest beta at which each set is significant"),
        )


def _choice(result: SFITResult, name: str) -> Figure:
    with _canvas(0.65 * WIDTH, 3.6) as ax:
        BetaCurveDisplay.from_result(result, ax=ax)
        return Figure(
            "How beta was chosen",
            "Share of rejected tests among random models, against beta. The smallest beta with a "
            "share below alpha was chosen.",
            _svg(ax.figure, name, {}, "Rejection rate of random models against beta"),
        )


@contextmanager
def _canvas(width: float, height: float) -> Iterator[Any]:
    """Axes of a figure that pyplot does not manage, in matplotlib's default style."""
    try:
        import matplotlib.figure
        import matplotlib.style
    except ImportError as error:
        raise MissingDependencyError(
            'reports need matplotlib and Jinja2: pip install "sfit[report]".'
        ) from error
    look = {"svg.fonttype": "none", "svg.hashsalt": "sfit", "axes.linewidth": 0.6}
    with matplotlib.style.context(["default", look]), warnings.catch_warnings():
        # The browser draws names in other scripts, and has the fonts for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield matplotlib.figure.Figure(figsize=(width, height), layout="constrained").subplots()


def _cover_rows(
    ax: Any, rows: Iterable[int], tests: Iterable[AnySetTest], words: Words, tips: Tips
) -> None:
    for row, test in zip(rows, tests, strict=True):
        _cover(ax, (0, row - 0.5), 1, ax.get_yaxis_transform(), sentence(test, words), tips)


def _cover(ax: Any, corner: Any, width: float, transform: Any, text: str, tips: Tips) -> None:
    """An invisible rectangle with a tooltip: easier to hit than a mark."""
    from matplotlib.patches import Rectangle

    key = f"tip-{len(tips)}"
    tips[key] = text
    ax.add_patch(Rectangle(corner, width, 1, transform=transform, fill=False, linewidth=0, gid=key))


def _svg(figure: Any, name: str, tips: Tips, label: str) -> str:
    """The figure as an SVG element without style and script.

    Matplotlib's styles become attributes, because the page's policy forbids inline styles; black
    becomes the colour of the surrounding text; ids start with `name`.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())  # noqa: S314 - just written by matplotlib
    for element in list(root):
        if element.tag == f"{{{SVG}}}metadata":
            root.remove(element)
    for element in root.iter():
        for child in list(element):
            if child.tag == f"{{{SVG}}}style":
                element.remove(child)
        _plain_attributes(element)
        key = element.get("id", "")
        if key in tips:
            element.set("class", "tip")
            element.set("pointer-events", "all")
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = tips[key]
            element.insert(0, title)
    _prefix_ids(root, name)
    left, top, width, height = map(float, str(root.get("viewBox")).split())
    root.attrib = {
        "viewBox": f"{left:g} {top:g} {width:g} {height:g}",
        "width": f"{width * PIXELS_PER_POINT:.0f}",
        "height": f"{height * PIXELS_PER_POINT:.0f}",
        "role": "img",
        "aria-label": label,
        "font-family": "inherit",
        "fill": "currentColor",
    }
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace("<svg ", f'<svg xmlns="{SVG}" ', 1)


def _plain_attributes(element: Any) -> None:
    """Styles as attributes; links without a namespace; black as the colour of the text."""
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            size = re.search(r"([\d.]+)px", value)
            element.set("font-size", size.group(1) if size else "10")
            if re.search(r"\b(bold|700)\b", value):
                element.set("font-weight", "bold")
        elif name and name != "font-family":
            element.set(name, value)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK))
    for name in ("fill", "stroke"):
        if element.get(name) in ("#000000", "black"):
            element.set(name, "currentColor")


def _prefix_ids(root: Any, name: str) -> None:
    """Keep only ids that something refers to, and prefix them with `name`."""
    used: dict[str, str] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            for in_url, in_link in re.findall(r"url\(#([^)]+)\)|^#(.+)$", value):
                used.setdefault(in_url or in_link, f"{name}-{len(used)}")
            if key in ("clip-path", "href"):
                element.set(key, re.sub(r"#([^)]+)", lambda m: f"#{used[m.group(1)]}", value))
    for element in root.iter():
        key = element.attrib.pop("id", None)
        if key in used:
            element.set("id", used[key])
