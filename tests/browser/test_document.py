"""The page of a document in a real browser: every block, every width, every theme, and paper."""

import csv
import io
import re
import zlib

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from chromium import Open, broken_rules, check_layout, check_print
from hostile import HOSTILE
from made_document import long_names, made_document

from sfit._text import printable
from sfit.report._document_page import as_document_page

WIDTHS = (360, 768, 1180, 1920)
SIZES = (7, 40, 300)
CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pages of made-up documents, as files."""
    folder = tmp_path_factory.mktemp("documents")
    documents = {str(n): made_document(n, n_cards=min(n, 12)) for n in SIZES}
    documents["hostile"] = made_document(16, n_cards=10, hostile=True)
    for name, document in documents.items():
        (folder / f"{name}.html").write_text(as_document_page(document), encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*map(str, SIZES), "hostile"])
def test_every_width(browser, files, name, scheme):
    """Nothing overflows, verdicts are in sight, labels can be read, and cards stand side by side."""
    papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    with Open(browser, files / f"{name}.html", color_scheme=scheme) as view:
        page = view.page
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == papers[scheme]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            check_layout(page)
            columns = page.locator(".cards").evaluate(
                "e => getComputedStyle(e).gridTemplateColumns.split(' ').length"
            )
            assert columns == {360: 1, 768: 2, 1180: 3, 1920: 3}[width]
            assert page.locator(".toc details").evaluate("e => e.open") == (width == 1920)


def test_the_first_screen(browser, files):
    """Title, model, data, finding and caveats are seen without scrolling."""
    with Open(browser, files / "40.html") as view:
        page = view.page
        page.set_viewport_size({"width": 1180, "height": 1000})
        for text in ("Audit of the default model", "LGBMClassifier", "9,000", "12 of 40 features"):
            assert page.get_by_text(text).first.bounding_box()["y"] < 1000
        assert page.locator(".warning").first.bounding_box()["y"] < 1000


@pytest.mark.parametrize("width", [360, 1180, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, files, width, scheme):
    """No rule of axe-core is broken."""
    with Open(browser, files / "hostile.html", color_scheme=scheme, bypass_csp=True) as view:
        view.page.set_viewport_size({"width": width, "height": 900})
        assert broken_rules(view.page) == []


def test_hostile_text_is_shown_and_does_nothing(browser, files):
    """No dialog, no request, no element of theirs, in any block."""
    with Open(browser, files / "hostile.html") as view:
        page = view.page
        page.wait_for_timeout(200)
        assert page.locator("img, iframe, object, embed, b").count() == 0
        assert page.locator("svg[onload], [onerror]").count() == 0
        text = page.locator("body").inner_text()
        assert all(printable(name) in view.column("feature") for name in HOSTILE)
        assert text.count(HOSTILE[0]) > 8


def test_matrix_scrolls_in_its_own_box(browser, files):
    """Names stay in sight while the groups scroll."""
    with Open(browser, files / "40.html") as view:
        page = view.page
        for width in (360, 768):
            page.set_viewport_size({"width": width, "height": 900})
            box = page.locator(".scroll:has(table.matrix)")
            name = box.locator("tbody th").first
            before = name.bounding_box()["x"]
            box.evaluate("e => { e.scrollLeft = 200; }")
            scrolled = box.evaluate("e => e.scrollLeft")
            assert (scrolled > 0) == (width == 360)
            assert name.bounding_box()["x"] == pytest.approx(before, abs=1)
            assert (
                box.locator("td.on").first.evaluate("e => getComputedStyle(e).fontWeight") == "600"
            )


def test_sort_filter_and_copy(browser, files):
    """The searchable table; names stay text in a spreadsheet."""
    with Open(browser, files / "hostile.html", permissions=CLIPBOARD) as view:
        page = view.page
        assert page.locator("table.sets").count() == 1
        page.locator("table.sets th[data-key=rows_improved] button").click()
        shares = [int(share) for share in view.column("rows_improved")]
        assert shares == sorted(shares, reverse=True)
        page.get_by_label("significant only").check()
        assert len(view.column("feature")) == 10
        page.get_by_role("button", name="Copy as CSV").click()
        page.get_by_text("rows copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
    head, *rows = list(csv.reader(io.StringIO(copied, newline=""), strict=True))
    assert head[0] == "feature" and head[-1] == "verdict"
    assert len(rows) == 10 and all(row[0][0] not in "=+-@\t\r" for row in rows)
    assert {row[-1] for row in rows} == {"1"}


def test_code_is_copied_verbatim(browser, files):
    """By the button, also where the clipboard is closed to the page."""
    with Open(browser, files / "40.html", permissions=CLIPBOARD) as view:
        page = view.page
        page.get_by_role("button", name="Copy", exact=True).click()
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("pre code").text_content()
        assert copied.startswith("import sfit\n\n") and "``` & <b>" in copied


def test_checks_and_signatures(browser, files):
    """A state is a symbol and a word; a signature has its three lines."""
    with Open(browser, files / "40.html") as view:
        page = view.page
        states = page.locator(".checklist .state").all_text_contents()
        assert set(states) == {"✓ Yes", "✗ No", "? Open"}
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            for width in (360, 1180):
                page.set_viewport_size({"width": width, "height": 900})
                lines = page.locator(".signoff dl").first.locator("dd:not(.role)")
                widths = [box["width"] for box in (line.bounding_box() for line in lines.all())]
                assert len(widths) == 3 and min(widths) > 60
                borders = lines.evaluate_all(
                    "all => all.map((e) => getComputedStyle(e).borderBottomWidth)"
                )
                assert "0px" not in borders


def test_contents_and_keyboard(browser, files):
    """Every section is linked; every control and every box that scrolls is reached by Tab."""
    with Open(browser, files / "7.html") as view:
        page = view.page
        page.set_viewport_size({"width": 1920, "height": 900})
        sections = page.locator("main > section").evaluate_all("all => all.map((e) => e.id)")
        links = page.locator(".toc a").evaluate_all("all => all.map((e) => e.hash.slice(1))")
        assert links == sections
        page.locator(".toc a").nth(3).press("Enter")
        assert page.evaluate("location.hash") == f"#{sections[3]}"
        page.evaluate("document.activeElement.blur()")
        page.goto(view.address)
        reached = set()
        for _ in range(120):
            page.keyboard.press("Tab")
            key = page.evaluate(
                """() => {
                    const e = document.activeElement;
                    const all = [...document.querySelectorAll("*")];
                    return e === document.body ? -1 : all.indexOf(e);
                }"""
            )
            if key == -1:
                break
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            reached.add(key)
        wanted = page.evaluate(
            """() => {
                const all = [...document.querySelectorAll("*")];
                return all.filter((e) => e.matches("button, input, a, [tabindex='0']")
                    && e.checkVisibility()).map((e) => all.indexOf(e));
            }"""
        )
        assert set(wanted) <= reached


def test_theme_button(browser, files):
    """The reader's choice beats the system's setting, and paper stays white."""
    with Open(browser, files / "7.html", color_scheme="light") as view:
        page = view.page
        page.get_by_role("button", name="Switch to the dark theme").click()
        paper = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(paper) == "rgb(20, 23, 27)"
        page.emulate_media(media="print")
        assert page.evaluate(paper) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", [*map(str, SIZES), "hostile"])
def test_on_paper(browser, files, name):
    """Light, with every caveat, row and signature, without buttons."""
    with Open(browser, files / f"{name}.html", color_scheme="dark") as view:
        check_print(view.page)
        for part in (".warning", ".checklist", ".signoff", ".card", ".matrix", "pre"):
            assert view.page.locator(part).first.is_visible()


def test_four_pages_before_the_appendix(browser, files):
    """On A4 with 40 features and 12 cards: the appendix begins on page 5 at the latest."""
    with Open(browser, files / "40.html") as view:
        everything = pages_of(view.page.pdf(format="A4", prefer_css_page_size=True))
        view.page.evaluate("for (const e of document.querySelectorAll('.appendix')) e.remove()")
        body = pages_of(view.page.pdf(format="A4", prefer_css_page_size=True))
        view.page.reload()
        view.page.emulate_media(media="print")
        breaks = view.page.locator("section.appendix").evaluate_all(
            "all => all.map((e) => getComputedStyle(e).breakBefore)"
        )
    assert body <= 4
    assert everything > body
    assert breaks[0] == "page" and "page" not in breaks[1:]


def pages_of(pdf):
    """Number of pages, also of a PDF whose objects are packed into compressed streams."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    text = pdf
    for stream in streams:
        try:
            text += zlib.decompress(stream)
        except zlib.error:
            continue
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", text))


def test_size(files):
    """Below 1.5 MB for 300 long-named features, all of them in the table."""
    html = (files / "300.html").read_text(encoding="utf-8")
    assert len(html.encode()) < 1_500_000
    plain = html.replace("<wbr>", "")
    assert all(f">{name}</th>" in plain for name in long_names(300))
