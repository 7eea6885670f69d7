"""The report on phones, tablets and desks, light, dark and on paper, with few and many features."""

import re

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from chromium import Open, broken_rules, check_layout, check_print
from made_document import long_names
from made_results import made_parts, made_result

WIDTHS = (360, 768, 1180, 1920)
SIZES = (7, 40, 300)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Reports of made-up results, as files; by the number of features."""
    folder = tmp_path_factory.mktemp("reports")
    for n in SIZES:
        made_result(n).to_html(folder / f"{n}.html")
    made_parts(7).to_html(folder / "parts.html")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*map(str, SIZES), "parts"])
def test_every_width(browser, files, name, scheme):
    """Nothing overflows, every verdict is in sight, and labels can be read."""
    with Open(browser, files / f"{name}.html", color_scheme=scheme) as view:
        for width in WIDTHS:
            view.page.set_viewport_size({"width": width, "height": 900})
            check_layout(view.page)


@pytest.mark.parametrize("n", SIZES)
def test_on_paper(browser, files, n):
    """Light, with all rows and caveats, without buttons, and nothing cut off."""
    with Open(browser, files / f"{n}.html", color_scheme="dark") as view:
        check_print(view.page)
        assert view.page.get_by_text("is nearly constant.").is_visible()


@pytest.mark.parametrize("width", [360, 1180])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, files, width, scheme):
    """No rule of axe-core is broken, stacked or not."""
    for name in ("40", "parts"):
        with Open(browser, files / f"{name}.html", color_scheme=scheme, bypass_csp=True) as view:
            view.page.set_viewport_size({"width": width, "height": 900})
            assert broken_rules(view.page) == []


@pytest.mark.parametrize("n", SIZES)
def test_significant_rows_first_and_ignored_ones_in_a_line(browser, files, n):
    """The rows that count are on top; the rest is one line with every name."""
    with Open(browser, files / f"{n}.html") as view:
        verdicts = view.column("significant")
        assert verdicts == sorted(verdicts, reverse=True)
        assert verdicts.count("1") == n // 4
        ignored = [name for place, name in enumerate(long_names(n)) if place >= 0.7 * n]
        assert len(verdicts) == n - len(ignored)
        text = view.page.locator("main").text_content()
        assert f"Revealing one of these {len(ignored)} features changes no prediction" in text
        assert all(name in text for name in ignored)


def test_breaks_change_no_text(browser, files):
    """Names break where the reader expects it; a copy is the name."""
    with Open(browser, files / "7.html") as view:
        page = view.page
        page.set_viewport_size({"width": 360, "height": 900})
        name = long_names(7)[0]
        cell = page.locator("table.sets tbody th").first
        assert cell.locator("wbr").count() == name.count("_")
        cell.evaluate("e => getSelection().selectAllChildren(e)")
        assert page.evaluate("getSelection().toString()").strip() == name
        assert view.column("term")[0] == name
        lines = cell.evaluate(
            """(e) => {
                const range = document.createRange();
                const tops = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => {
                    range.selectNodeContents(n);
                    return range.getClientRects().length;
                });
                return tops;
            }"""
        )
        assert set(lines) == {1}, "a word was broken, although there was an underscore to break at"


def test_stacked_rows_sort_and_filter(browser, files):
    """On a phone the heads are buttons above the rows, and every number has its label."""
    with Open(browser, files / "40.html") as view:
        page = view.page
        page.set_viewport_size({"width": 360, "height": 900})
        head = page.locator("table.sets th[data-key=p_value] button").first
        assert head.is_visible()
        head.click()
        values = [float(value) for value in view.column("p_value")]
        assert values == sorted(values, reverse=True)
        page.get_by_label("significant only").first.check()
        assert len(view.column("term")) == 10
        rows = page.locator("table.sets").first.locator("tbody tr:visible")
        assert rows.count() == 10
        label = "e => getComputedStyle(e, '::before').content"
        assert rows.first.locator("td[data-v]").nth(1).evaluate(label) == '"Median"'


def test_parts_say_value_and_group(browser, files):
    """Each heading and link names the group and its value; no two headings are the same."""
    with Open(browser, files / "parts.html") as view:
        page = view.page
        links = page.get_by_role("navigation").get_by_role("link").all_text_contents()
        assert [re.sub(r"\W+", " ", link).strip()[:5] for link in links] == ["sex 1", "sex 2"]
        headings = page.locator("h2, h3").all_text_contents()
        assert len(set(headings)) == len(headings)
        for heading in page.locator(".part h3").all_text_contents():
            assert "sex = " in heading
        page.get_by_role("navigation").get_by_role("link").nth(1).press("Enter")
        assert page.evaluate("location.hash") == "#part-2"


def test_size(files):
    """Below 1.5 MB for 300 long-named features."""
    assert (files / "300.html").stat().st_size < 1_500_000
