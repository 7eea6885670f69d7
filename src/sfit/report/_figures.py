"""Displays as SVG for a page: without styles and scripts, with tooltips."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._set_tests import sign_tests
from sfit.compare import Comparison
from sfit.exceptions import MissingDependencyError
from sfit.plotting import (
    BetaCurveDisplay,
    BuildUpDisplay,
    CoinDisplay,
    InteractionDisplay,
    PartsDisplay,
    RiseDisplay,
    SignificanceBetaDisplay,
)
from sfit.plotting._build_up import steps_of
from sfit.plotting._style import Tooltip

WIDTH = 11.0
"""Inches of a figure as wide as the page."""

SVG = "http://www.w3.org/2000/svg"
PIXELS_PER_POINT = 96 / 72
LINK = "{http://www.w3.org/1999/xlink}href"

COORDINATES = ("d", "x", "y", "width", "height", "transform")
LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
COMMAND = re.compile(r"\s*([A-Za-z])\s*")
"""A command of a path, with the spaces around it."""

Tips = dict[str, str]
"""The text of the tooltip of each mark, by the id of the mark."""


class Figure(NamedTuple):
    """A picture with its title and caption."""

    title: str
    caption: str
    svg: str


def render(display: Any, name: str, width: float = WIDTH) -> Figure:
    """Draw a display for a page; `name` makes the ids unique within the page.

    A display has a title, a caption, a height in inches, `plot(ax)` and `tooltips()`. It is as wide
    as `width`, or as its own `widest` if it has that and it is less.
    """
    with _canvas(min(width, getattr(display, "widest", width)), display.height) as ax:
        display.plot(ax)
        tips = {f"tip-{number}": tip for number, tip in enumerate(display.tooltips())}
        for key, tip in tips.items():
            _cover(tip, key)
        texts = {key: tip.text for key, tip in tips.items()}
        svg = _svg(ax.figure, name, texts, display.title)
    return Figure(display.title, display.caption, svg)


def figures(result: SFITResult, name: str) -> list[Figure]:
    """The pictures of one result."""
    return [render(one, f"{name}-{place}") for place, one in enumerate(displays(result), 1)]


def figures_of_comparison(comparison: Comparison, name: str, width: float = WIDTH) -> list[Figure]:
    """The pictures of a comparison."""
    displays = enumerate(comparison.displays(), 1)
    return [render(display, f"{name}-{place}", width) for place, display in displays]


def importance(result: SFITResult, name: str, width: float = WIDTH) -> Figure:
    """The first picture of a result."""
    return render(displays(result)[0], name, width)


def parts_side_by_side(result: PartitionedResult, name: str, width: float = WIDTH) -> Figure:
    """The parts of a partitioned result."""
    return render(PartsDisplay(result), name, width)


def displays(result: SFITResult) -> list[Any]:
    """The pictures of one result, not drawn yet; those of the most general interest first."""
    if not result.tests:
        return []
    signs = sign_tests(result.tests)
    pictures: list[Any] = [CoinDisplay(result) if signs else RiseDisplay(result)]
    if result.gates:
        pictures.append(BuildUpDisplay(steps_of(result), result.settings.loss))
    if any(len(test.term) == 2 for test in result.tests):
        pictures.append(InteractionDisplay(result))
    if not all(math.isnan(test.beta_max) for test in signs):
        pictures.append(SignificanceBetaDisplay(result))
    if result.beta_choice is not None:
        pictures.append(BetaCurveDisplay(result.beta_choice))
    return pictures


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


def _cover(tip: Tooltip, key: str) -> None:
    """An invisible rectangle with a tooltip, above all marks: easier to hit than each of them."""
    from matplotlib.patches import Rectangle

    area = Rectangle(tip.corner, 1, 1, transform=tip.transform, fill=False, linewidth=0, gid=key)
    tip.axes.add_patch(area).set_zorder(1_000)


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
    _without_groups(root)
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
    for name in COORDINATES:
        if name in element.attrib:
            element.set(name, LONG_NUMBER.sub(_rounded, element.attrib[name]))
    if "d" in element.attrib:
        element.set("d", COMMAND.sub(r"\1", element.attrib["d"]).strip())


def _rounded(number: re.Match[str]) -> str:
    """A coordinate to a tenth of a point, which the eye does not see: half the size of a page."""
    return f"{float(number.group()):.1f}".removesuffix(".0")


def _without_groups(element: Any) -> None:
    """Replace groups that say nothing about their members by these; drop the indentation."""
    children = []
    for child in element:
        _without_groups(child)
        is_bare = child.tag == "g" and not child.attrib
        children += list(child) if is_bare else [child]
    if children or element.tag != "text":
        element[:] = children
        element.text = element.text if element.text and element.text.strip() else None
    for child in children:
        child.tail = None


def _prefix_ids(root: Any, name: str) -> None:
    """Keep only ids that something refers to, and prefix them with `name`."""
    used: dict[str, str] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            for in_url, in_link in re.findall(r"url\(#([^)]+)\)|^#(.+)$", value):
                used.setdefault(in_url or in_link, f"{name}-{len(used)}")
            if key == "href" or value.startswith("url(#"):
                element.set(key, re.sub(r"#([^)]+)", lambda m: f"#{used[m.group(1)]}", value))
    for element in root.iter():
        key = element.attrib.pop("id", None)
        if key in used:
            element.set("id", used[key])
