"""How a Word document looks: paper, fonts, styles and the footer."""

from __future__ import annotations

from typing import Any, NamedTuple

from sfit.exceptions import MissingDependencyError

FONT = "Calibri"
MONOSPACE = "Courier New"
INK = "1F2937"
FAINT = "5B6472"
ACCENT = "1F4E79"


class Page(NamedTuple):
    """A4 paper: its size and margins in inches."""

    width: float
    height: float
    margin: float = 0.75

    @property
    def inside(self) -> float:
        """The width between the margins."""
        return self.width - 2 * self.margin


PORTRAIT = Page(8.27, 11.69)
LANDSCAPE = Page(11.69, 8.27)


def new_file() -> Any:
    """An empty document with our styles."""
    try:
        import docx
    except ImportError as error:
        raise MissingDependencyError(
            'Word files need python-docx: pip install "sfit[word]".'
        ) from error
    file = docx.Document()
    lay_out(file.sections[0], PORTRAIT)
    styles = file.styles
    _letter(styles["Normal"], 10, INK)
    styles["Normal"].paragraph_format.space_after = docx.shared.Pt(6)
    for name, size, color in (
        ("Title", 24, ACCENT),
        ("Subtitle", 10, FAINT),
        ("Heading 1", 15, ACCENT),
        ("Heading 2", 12, ACCENT),
        ("Heading 3", 10.5, INK),
        ("List Bullet", 10, INK),
    ):
        _letter(styles[name], size, color)
    _add(styles, "SfitFinding", 12, INK, bold=True, after=6)
    _add(styles, "SfitVerdict", 10, INK, bold=True, after=4, keep=True)
    _add(styles, "SfitNote", 8.5, FAINT, after=8)
    _add(styles, "SfitWarning", 10, "7A4A00", after=6, shade="FFF4D6")
    _add(styles, "SfitCell", 8, INK)
    _add(styles, "SfitSpace", 4, INK, after=2)
    _add(styles, "SfitPicture", 10, INK, after=2, keep=True)
    _add(styles, "SfitCode", 8.5, INK, after=8, font=MONOSPACE, shade="F3F4F6")
    _add(styles, "SfitFormula", 10.5, INK, after=4, font="Cambria Math", indent=0.3)
    return file


def _letter(style: Any, size: float, color: str, font: str = FONT) -> None:
    """The letters of a style, whatever the theme says."""
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    style.font.name, style.font.size = font, Pt(size)
    style.font.color.rgb = RGBColor.from_string(color)
    fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
    for key in list(fonts.attrib):
        if key.endswith("Theme"):
            del fonts.attrib[key]
    for script in ("w:ascii", "w:hAnsi", "w:cs", "w:eastAsia"):
        fonts.set(qn(script), font)


def _add(
    styles: Any,
    name: str,
    size: float,
    color: str,
    *,
    font: str = FONT,
    bold: bool = False,
    after: float = 0,
    indent: float = 0,
    shade: str = "",
    keep: bool = False,
) -> None:
    """A style of paragraphs."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls
    from docx.shared import Inches, Pt

    style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = styles["Normal"]
    _letter(style, size, color, font)
    style.font.bold = bold
    form = style.paragraph_format
    form.space_before, form.space_after = Pt(0), Pt(after)
    form.left_indent, form.keep_with_next = Inches(indent), keep
    if shade:
        fill = f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{shade}"/>'
        properties = style.element.get_or_add_pPr()
        properties.insert_element_before(parse_xml(fill), "w:spacing", "w:ind", "w:jc")


def lay_out(section: Any, page: Page) -> None:
    """The paper of a section."""
    from docx.enum.section import WD_ORIENT
    from docx.shared import Inches

    upright = page.height > page.width
    section.orientation = WD_ORIENT.PORTRAIT if upright else WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = Inches(page.width), Inches(page.height)
    section.left_margin = section.right_margin = Inches(page.margin)
    section.top_margin = section.bottom_margin = Inches(page.margin)


def page_numbers(file: Any, text: str) -> None:
    """The footer of every page: a text, and the number of the page."""
    paragraph = file.sections[0].footer.paragraphs[0]
    paragraph.style = file.styles["SfitNote"]
    paragraph.add_run(f"{text}  ·  page " if text else "page ")
    _field(paragraph, "PAGE")
    paragraph.add_run(" of ")
    _field(paragraph, "NUMPAGES")


def _field(paragraph: Any, name: str) -> None:
    """A number that Word computes."""
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    paragraph._p.append(
        parse_xml(
            f'<w:fldSimple {nsdecls("w")} w:instr="{name}"><w:r><w:t>1</w:t></w:r></w:fldSimple>'
        )
    )
