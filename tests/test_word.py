"""Reports as Word documents: every block, with pictures, without characters that break the file."""

import io
import re
import zipfile
from datetime import UTC, datetime

import numpy as np
import pytest
from hostile import HOSTILE, hostile_comparisons, hostile_result
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

import sfit
from sfit._export import write_word
from sfit._export._word_table import WordCell, fits, slices, widths_of
from sfit._text import printable
from sfit.exceptions import ArgumentError
from sfit.report._as_document import as_document
from sfit.report._blocks import (
    Card,
    Cards,
    Cell,
    Checklist,
    Code,
    Document,
    Facts,
    Formula,
    Items,
    Matrix,
    Picture,
    Section,
    SignOff,
    Table,
    Text,
)
from sfit.report._figures import displays

docx = pytest.importorskip("docx")
pytest.importorskip("matplotlib")

BREAK = "\u200b"
"""The invisible places where long names may break."""


class Line:
    """A small display."""

    title = "A <picture>"
    caption = "With a caption & more."
    height = 2.0

    def plot(self, ax):
        ax.plot([0, 1], [0, 1])
        return self


def wide(n):
    """A table of n columns of numbers."""
    names = tuple(f"column {place}" for place in range(n))
    row = (Cell("name"), *(Cell("0.12345") for _ in names))
    kinds = ("name", *("number" for _ in names))
    return Table("Wide", "wide", ("Name", *names), kinds, (row,) * 3, (True, False, False))


BLOCKS = (
    Text("A plain paragraph."),
    Text("The finding.", "finding"),
    Text("A note.", "note"),
    Text("A warning.", "warning"),
    Facts((("Model", "LGBMClassifier"),), "Identity"),
    Items(("first item", "second item"), "Signs of high risk"),
    Checklist((("yes", "Held out", "No overlap."), ("no", "Independent", "Rows repeat."), ("open", "Reference", "Ask."))),
    wide(3),
    Matrix("Groups", "groups", "Feature", ("young", "old"), ("AGE",), (("0.10", "0.20"),), ((True, False),), "Bold."),
    Picture(Line()),
    Cards((Card("PAY_0", "significant ***", (Text("Inside a card."), Picture(Line(), 5.0))),)),
    Code("first = 1\n    second = 2"),
    Formula("Δ = L(S) − L(all)"),
    SignOff(("Developer", "Validator")),
)  # fmt: skip
WHOLE = Document(
    "Audit & <title>",
    "made by sfit",
    (
        Section("Body", "body", BLOCKS),
        Section("Method", "method", (Text("The method."),), True),
        Section("More", "more", (Text("More."),), True),
    ),
    "footer text",
)


def opened(document, path, **about):
    write_word(document, path, **about)
    return docx.Document(path)


def xml_of(path, member="word/document.xml"):
    with zipfile.ZipFile(path) as archive:
        return archive.read(member).decode()


def text_of(file):
    """All text: paragraphs, and cells of tables."""
    return "".join(node.text or "" for node in file.element.body.iter() if node.tag.endswith("}t"))


def test_every_block_is_written(tmp_path):
    file = opened(WHOLE, tmp_path / "whole.docx")
    text = text_of(file).replace(BREAK, "")
    for words in (
        *("Audit & <title>", "made by sfit", "A plain paragraph.", "The finding.", "A note."),
        *("A warning.", "Model", "LGBMClassifier", "Identity", "first item", "Signs of high risk"),
        *("✓ yes", "✗ no", "? open", "Held out", "Rows repeat.", "0.12345", "column 2", "young"),
        *("A <picture>", "With a caption & more.", "PAY_0", "significant ***", "Inside a card."),
        *(
            "first = 1",
            "    second = 2",
            "Δ = L(S) − L(all)",
            "Developer",
            "Signature",
            "The method.",
        ),
        "Bold and shaded: significant.",
    ):
        assert words in text
    styles = {paragraph.text: paragraph.style.name for paragraph in file.paragraphs}
    assert styles["Body"] == styles["Method"] == "Heading 1"
    assert styles["The finding."] == "SfitFinding"
    assert styles["A warning."] == "SfitWarning"
    assert styles["first item"] == "List Bullet"
    assert file.styles["SfitCode"].font.name == "Courier New"
    assert len(file.inline_shapes) == 2


def test_pictures_are_sharp_and_described(tmp_path):
    from PIL import Image

    file = opened(WHOLE, tmp_path / "whole.docx")
    [large, small] = file.inline_shapes
    about = large._inline.docPr
    assert about.get("descr") == "A <picture>. With a caption & more."
    inside = file.sections[0].page_width - 2 * file.sections[0].left_margin
    assert small.width < large.width <= inside
    with zipfile.ZipFile(tmp_path / "whole.docx") as archive:
        images = [name for name in archive.namelist() if name.endswith(".png")]
        sizes = sorted(Image.open(io.BytesIO(archive.read(name))).size for name in images)
    assert sizes == [(1000, 400), (1500, 400)]  # 5 and 7.5 inches at 200 dots


def test_a_tall_picture_fits_its_page(tmp_path):
    tall = Line()
    tall.height = 40.0
    file = opened(
        Document("t", "", (Section("s", "s", (Picture(tall),)),), ""), tmp_path / "t.docx"
    )
    assert file.inline_shapes[0].height < file.sections[0].page_height


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before, figures = mpl.rcParams.copy(), plt.get_fignums()
    with mpl.rc_context({"figure.facecolor": "black"}):
        write_word(WHOLE, tmp_path / "dark.docx")
    write_word(WHOLE, tmp_path / "light.docx")
    assert (mpl.rcParams, plt.get_fignums()) == (before, figures)
    assert (tmp_path / "dark.docx").read_bytes() == (tmp_path / "light.docx").read_bytes()


def test_paper_footer_and_properties(tmp_path):
    made = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    file = opened(WHOLE, tmp_path / "whole.docx", author="A. & B.", created=made)
    section = file.sections[0]
    assert (round(section.page_width.cm, 1), round(section.page_height.cm, 1)) == (21.0, 29.7)
    footer = xml_of(tmp_path / "whole.docx", "word/footer1.xml")
    assert "footer text" in footer
    assert 'w:instr="PAGE"' in footer
    assert 'w:instr="NUMPAGES"' in footer
    about = file.core_properties
    assert (about.title, about.author, about.comments) == ("Audit & <title>", "A. & B.", "")
    assert about.created.replace(tzinfo=UTC) == made


def test_cards_stand_beside_each_other_and_never_break(tmp_path):
    cards = tuple(
        Card(f"card {n}", "yes", (Facts((("a", "b"),)), Picture(Line(), 5.0))) for n in range(3)
    )
    file = opened(Document("t", "", (Section("s", "s", (Cards(cards),)),), ""), tmp_path / "t.docx")
    assert len(file.tables) == 2
    texts = [[cell.paragraphs[0].text for cell in table.rows[0].cells] for table in file.tables]
    assert texts == [["card 0", "card 1"], ["card 2", ""]]
    inside = file.sections[0].page_width - 2 * file.sections[0].left_margin
    for table in file.tables:
        assert len(table.rows[0].cells[0].tables) == 1  # the facts, inside the card
        assert "<w:cantSplit/>" in table._tbl.xml
    # Word refuses a cell that does not end with a paragraph.
    cells = [node for node in file.element.body.iter() if node.tag.endswith("}tc")]
    assert {node[-1].tag.split("}")[1] for node in cells} == {"p"}
    assert len(file.inline_shapes) == 3
    assert all(shape.width < inside / 2 for shape in file.inline_shapes)
    assert text_of(file).count(Line.caption) == 1  # once, below all cards


def test_long_titles_and_authors(tmp_path):
    file = opened(Document("t" * 900, "", (), ""), tmp_path / "t.docx", author="a" * 900)
    assert len(file.core_properties.title) == len(file.core_properties.author) == 255
    assert "t" * 900 in text_of(file)


def test_the_appendix_begins_on_a_new_page(tmp_path):
    file = opened(WHOLE, tmp_path / "whole.docx")
    breaks = {p.text: p.paragraph_format.page_break_before for p in file.paragraphs if p.text}
    assert breaks["Method"]
    assert not breaks["More"]
    assert not breaks["Body"]


def test_headings_of_tables_are_repeated_and_marked_rows_stand_out(tmp_path):
    opened(Document("t", "", (Section("s", "s", (wide(3),)),), ""), tmp_path / "t.docx")
    rows = re.findall(r"<w:tr>.*?</w:tr>", xml_of(tmp_path / "t.docx"), re.DOTALL)
    assert ["<w:tblHeader/>" in row for row in rows] == [True, False, False, False]
    assert ["<w:b/>" in row for row in rows] == [True, True, False, False]
    assert all("<w:cantSplit/>" in row for row in rows)
    assert rows[2].count('<w:jc w:val="right"/>') == 3


def test_wide_tables_turn_the_page(tmp_path):
    sections = (
        Section("Narrow", "n", (Text("t"), wide(3), wide(12), wide(12), Text("after"))),
        Section("Wide first", "w", (wide(12),)),
    )
    file = opened(Document("t", "", sections, ""), tmp_path / "t.docx")
    shapes = [section.page_width > section.page_height for section in file.sections]
    assert shapes == [False, True, False, True]
    # A heading stands on the page of its table.
    body = [node.tag.split("}")[1] for node in file.element.body]
    assert body[-1] == "sectPr"
    headings = [p for p in file.paragraphs if p.text == "Wide first"]
    assert headings[0]._p.getprevious().find(".//{*}sectPr") is not None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), min_size=1, max_size=60))
def test_slices_hold_every_column_once_and_fill_the_page(columns):
    head = [WordCell(f"c{place}", right) for place, (right, _) in enumerate(columns)]
    rows = [head, [WordCell("x" * n, right) for right, n in columns]]
    found = list(slices(rows, 9.0))
    assert [cell.text for some in found for cell in some[0][1:]] == [cell.text for cell in head[1:]]
    for some in found:
        assert some[0][0] == head[0]
        assert fits(some, 9.0) or len(some[0]) <= 2
        widths = widths_of(some, 9.0)
        assert len(widths) == len(some[0])
        assert sum(widths) == pytest.approx(9.0)
        assert min(widths) > 0


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=50))
def test_any_text_can_be_written(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.docx"
    cell = Table("t", "t", (text,), ("name",), ((Cell(text),),), (), "m", (text,))
    blocks = (
        Text(text),
        Facts(((text, text),), text),
        Items((text,)),
        cell,
        Code(text),
        Formula(text),
    )
    file = opened(Document(text, text, (Section(text, "s", blocks),), text), path, author=text)
    assert printable(text) in text_of(file).replace(BREAK, "") or not text.strip() or BREAK in text


def test_hostile_names_are_only_text(tmp_path):
    hostile_result().to_docx(tmp_path / "hostile.docx")
    file = docx.Document(tmp_path / "hostile.docx")
    text = text_of(file).replace(BREAK, "")
    for name in HOSTILE:
        assert printable(name) in text
    assert "<script" not in xml_of(tmp_path / "hostile.docx")
    for compared in hostile_comparisons().values():
        compared.to_docx(tmp_path / "compared.docx")
        assert docx.Document(tmp_path / "compared.docx").inline_shapes


def test_the_document_of_a_result_holds_what_its_page_holds():
    pytest.importorskip("jinja2")
    X, y = sfit.simulate.interactions(2000, random_state=0)
    model = LinearRegression().fit(X, y)
    result = sfit.feature_significance(
        model, X, y, max_order=2, beta="auto", exhaustive=True, random_state=0
    )
    document = as_document(result)
    blocks = [block for section in document.sections for block in section.blocks]
    page = result.to_markdown().replace("\\", "")
    for block in blocks:
        for text in (
            [block.text] if isinstance(block, Text) else
            block.items if isinstance(block, Items) else
            [one for pair in block.pairs for one in pair] if isinstance(block, Facts) else
            [cell.text for row in block.rows for cell in row] if isinstance(block, Table) else []
        ):  # fmt: skip
            assert text in page or text == result.document().sections[-1].blocks[-1].text
    titles = [block.display.title for block in blocks if isinstance(block, Picture)]
    assert titles == [display.title for display in displays(result)]
    assert len(titles) > 2
    assert [section.appendix for section in document.sections] == [False] * 4 + [True] * 2
    half = np.where(X["X6"] > 0, "upper", "lower")
    parts = as_document(sfit.feature_significance(model, X, y, by=half))
    titles = [section.title for section in parts.sections if section.key.startswith("part")]
    assert [title.split(" (")[0] for title in titles] == ["part = lower", "part = upper"]


def test_equal_results_are_equal_files(tmp_path):
    X, y = sfit.simulate.interactions(500, random_state=0)
    result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    result.to_docx(tmp_path / "a.docx")
    sfit.SFITResult.from_json(result.to_json()).to_docx(tmp_path / "b.docx")
    assert (tmp_path / "a.docx").read_bytes() == (tmp_path / "b.docx").read_bytes()


@pytest.mark.parametrize("name", ["no/such/folder/a.docx", "a.doc", "a", ".", "a\x00.docx"])
def test_a_path_that_cannot_be_written_is_refused(name, tmp_path):
    with pytest.raises(ArgumentError, match="path"):
        write_word(WHOLE, tmp_path / name)
