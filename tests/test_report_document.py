"""A document as a page and as Markdown: every block is there, and every text is only text."""

import base64
import hashlib
import html
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from hostile import HOSTILE
from made_document import Bars, long_names, made_document
from parsed_page import Page

from sfit._text import printable
from sfit.report._blocks import (
    Cell,
    Code,
    Document,
    Facts,
    Items,
    Picture,
    Section,
    Table,
    Text,
)
from sfit.report._document_page import as_document_markdown, as_document_page
from sfit.report._templates import breakable


@pytest.fixture(scope="module")
def document():
    return made_document(16, n_cards=10)


@pytest.fixture(scope="module")
def page(document):
    return Page(as_document_page(document))


def texts_of(value):
    """Every text within a block, but the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, Picture):
        yield from (value.display.title, value.display.caption)
    elif hasattr(value, "__dataclass_fields__"):
        for one in fields(value):
            if one.name not in ("key", "kinds", "role", "value"):
                yield from texts_of(getattr(value, one.name))


def with_blocks(*blocks):
    return Document("Title", "Subtitle", (Section("Section", "section", blocks),), "Footer")


def test_every_text_is_on_the_page(document, page):
    """Title, headings, sentences, cells, verdicts, code: nothing of the document is left out."""
    assert page.open == []
    for text in texts_of(document):
        if text not in ("yes", "no", "open"):
            assert " ".join(text.split()) in page.text, text
    for words in ("✓ Yes", "✗ No", "? Open"):
        assert words in page.text


def test_every_text_is_in_markdown(document):
    """The same texts, escaped; code is verbatim, and tables keep their shape."""
    markdown = as_document_markdown(document)
    plain = re.sub(r"\\(?=[\\`*_{}\[\]<>()#+!|~$&])", "", markdown)
    for text in texts_of(document):
        if text not in ("yes", "no", "open", "Role"):
            assert text in plain, text
    tables = re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert 'audit.to_html("audit.html")  # ``` & <b>\n````' in markdown


def test_the_page_needs_nothing_else(page, document):
    """One script and one style with their hashes; nothing is loaded; ids are unique."""
    source = as_document_page(document)
    for tag, attrs in page.elements:
        assert "style" not in attrs and "src" not in attrs, tag
        assert not [name for name in attrs if name.startswith("on")]
        if "href" in attrs:
            assert attrs["href"].startswith("#") or attrs["href"] == "data:,"
    [policy] = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    for tag in ("script", "style"):
        [inline] = re.findall(rf"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    links = [attrs["href"][1:] for _, attrs in page.elements if attrs.get("href", "")[:1] == "#"]
    clips = [attrs["clip-path"][5:-1] for _, attrs in page.elements if "clip-path" in attrs]
    assert len(set(ids)) == len(ids)
    assert {*links, *clips} <= {*ids}


def test_hostile_text_is_only_ever_text():
    """In every block of both formats."""
    document = made_document(16, n_cards=10, hostile=True)
    source = as_document_page(document)
    page = Page(source)
    assert page.open == []
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not {"img", "iframe", "b"} & {tag for tag, _ in page.elements}
    assert not [a for _, a in page.elements if "onload" in a or "onerror" in a]
    assert page.text.count(printable(HOSTILE[0])) > 20
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", source)
    markdown = as_document_markdown(document)
    code = as_document_markdown(with_blocks(Code("<script>")))
    assert "<script" not in markdown.replace(r"\<script", "")
    assert "```\n<script>\n```" in code


@given(st.text(max_size=40))
def test_breaks_add_nothing(text):
    """Without its breaks, the escaped text is the text."""
    marked = str(breakable(text))
    assert html.unescape(marked.replace("<wbr>", "")) == html.unescape(html.escape(text))
    assert "<" not in marked.replace("<wbr>", "")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("pay_delay_2", ["pay_", "delay_", "2"]),
        ("model.input.age", ["model.", "input.", "age"]),
        ("monthlyIncome", ["monthly", "Income"]),
        ("0.0123", ["0.0123"]),
        ("1e-06", ["1e-06"]),
        ("−1.5", ["−1.5"]),
        ("__init__", ["__", "init__"]),
        ("GDP", ["GDP"]),
    ],
)
def test_where_names_break(name, parts):
    """After underscores, within dotted names and in camelCase; never within a number."""
    assert str(breakable(name)).split("<wbr>") == parts


def test_cells_sort_by_their_value():
    """A value if there is one; else the number that the cell shows; else its text."""
    rows = ((Cell("a"), Cell("1,234.5"), Cell("55 %", "0.55"), Cell("–"), Cell("n. a.")),)
    heads, kinds = ("Name", "Sum", "Share", "None", "Text"), ("name", *["number"] * 4)
    source = as_document_page(with_blocks(Table("T", "t", heads, kinds, rows)))
    values = [cell.get("data-v") for cell in Page(source).all("td")]
    assert values == ["1234.5", "0.55", "", None]


def test_small_blocks():
    """Without titles, rows or items a block is still well-formed."""
    blocks = (
        Text("plain"),
        Items(()),
        Facts(()),
        Table("", "t", ("Name",), ("name",), ()),
        Table("", "t", ("Name",), ("name",), (), searchable=True),
    )
    page = Page(as_document_page(with_blocks(*blocks)))
    assert page.open == []
    assert "plain" in page.text
    assert "# Title" in as_document_markdown(with_blocks(*blocks))


def test_a_wide_picture_is_drawn_again_for_a_phone():
    """Unless its labels leave no room: then the wide one scrolls."""
    wide = as_document_page(with_blocks(Picture(Bars("Bars", long_names(3)))))
    assert wide.count("<svg ") == 2 and 'class="narrow"' in wide
    small = as_document_page(with_blocks(Picture(Bars("Bars", long_names(3)), width=3.5)))
    assert small.count("<svg ") == 1

    class LongLabels(Bars):
        def plot(self, ax):
            super().plot(ax)
            ax.set_yticks(range(len(self.names)), [2 * name for name in self.names])

    crowded = as_document_page(with_blocks(Picture(LongLabels("Bars", long_names(3)))))
    assert crowded.count("<svg ") == 1 and 'class="narrow"' not in crowded


def test_equal_documents_give_equal_pages(document):
    """Nothing on the page depends on the moment."""
    assert as_document_page(document) == as_document_page(document)


def test_names_stand_above_their_rows_on_a_phone():
    """The names are at the left edge, above the bars; text below the axes fits the picture."""
    from matplotlib.figure import Figure

    from sfit.report._drawing import NARROW, _LabelsAbove

    class Explained(Bars):
        def plot(self, ax):
            super().plot(ax)
            ax.set_xlabel("share of rows that are predicted better " * 3, fontsize="small")
            ax.legend([ax.patches[0]], ["better"], loc="upper left", bbox_to_anchor=(0, -0.3))

    display = Explained("Bars", long_names(8))
    above = _LabelsAbove(display)
    figure = Figure(figsize=(NARROW, above.height), layout="constrained")
    above.plot(figure.subplots())
    figure.draw_without_rendering()
    axes = display.ax
    assert above.moved and not any(label.get_visible() for label in axes.get_yticklabels())
    for text, bar in zip(axes.texts, axes.patches, strict=True):
        name, mark = text.get_window_extent(), bar.get_window_extent()
        assert name.y0 >= mark.y1 - 1 and name.x0 >= 0 and name.x1 <= figure.bbox.width
    below = axes.xaxis.label.get_window_extent()
    assert below.x0 >= 0 and below.x1 <= figure.bbox.width
    assert axes.get_legend().get_window_extent().y1 <= below.y0 + 1


def test_numbers_are_no_names():
    """A picture whose axes hold numbers, or names on both, has no drawing for phones."""

    class Curve(Bars):
        def plot(self, ax):
            ax.plot([0, 1, 2], [0.0, -0.5, 1e-6])

    class Matrix(Bars):
        def plot(self, ax):
            ax.imshow([[0, 1], [1, 0]])
            ax.set_xticks([0, 1], ["a", "b"])
            ax.set_yticks([0, 1], ["a", "b"])

        def tooltips(self):
            return []

    Curve.tooltips = Matrix.tooltips
    for kind in (Curve, Matrix):
        page = as_document_page(with_blocks(Picture(kind("Title", long_names(2)))))
        assert page.count("<svg ") == 1


def test_wrapped_lines_are_joined_and_sentences_are_not():
    """A long line without a full stop goes on; a short one, or a sentence, ends."""
    from sfit.report._drawing import _joined

    long = "share of rows predicted better by more than 1 % when the model sees"
    assert _joined([long, "the set", "15 more sets are not shown."]) == [
        f"{long} the set",
        "15 more sets are not shown.",
    ]
    assert _joined(["mean loss", "the axis does not begin at 0"]) == [
        "mean loss",
        "the axis does not begin at 0",
    ]
    assert _joined([f"{long}.", "x"]) == [f"{long}.", "x"]
    assert _joined([]) == []
