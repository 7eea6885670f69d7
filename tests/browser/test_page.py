"""The report in a real browser: headless Chromium, driven by Playwright.

Widths and themes are in `test_widths.py`, the page of a document is in `test_document.py`.
"""

import csv
import io
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

import sfit

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from chromium import Open, broken_rules
from hostile import HOSTILE, hostile_comparisons, hostile_result


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Reports of real results, as files."""
    folder = tmp_path_factory.mktemp("reports")
    X, y = sfit.simulate.interactions(4_000, random_state=0)
    mean = sfit.simulate.interactions_mean
    results = {
        "pairs": sfit.feature_significance(mean, X, y, max_order=2, beta=(0.01, 0.001)),
        "parts": sfit.feature_significance(mean, X, y, by=np.where(X["X6"] > 0, "up", "down")),
        "hostile": hostile_result(),
        "permuted": sfit.feature_significance(
            mean, X, y, test="permutation", loss="squared_error", random_state=0, max_order=2
        ),
        "nothing": sfit.feature_significance(lambda z: 0 * z[:, 0], X.to_numpy()[:99], y[:99]),
        "ranks": sfit.compare_features(mean, X, y, random_state=0),
        **hostile_comparisons(),
    }
    for name, result in results.items():
        result.to_html(folder / f"{name}.html")
    return folder, results


@pytest.fixture
def opened(browser, files):
    """Open a report by its name."""

    def make(name, **context):
        return Open(browser, files[0] / f"{name}.html", **context)

    return make


def listed(result):
    """The tests with a row in the tables: two features that change no prediction have none."""
    kept = [test for test in result.tests if test.order > 1 or test.share_moved]
    assert len(kept) == len(result.tests) - 2
    return kept


def header(page, key):
    return page.locator(f"table.sets th[data-key={key}]").first


def test_sort(opened):
    """By a click and by the keyboard; both ways; numbers as numbers; `aria-sort` tells."""
    with opened("pairs") as view:
        page = view.page
        median = header(page, "statistic")
        assert median.get_attribute("aria-sort") == "none"
        median.get_by_role("button").click()
        values = [float(v) for v in view.column("statistic")]
        assert values == sorted(values, reverse=True)
        assert median.get_attribute("aria-sort") == "descending"
        page.keyboard.press("Enter")
        values = [float(v) for v in view.column("statistic")]
        assert values == sorted(values)
        assert median.get_attribute("aria-sort") == "ascending"
        header(page, "term").get_by_role("button").click()
        assert view.column("term") == sorted(view.column("term"))
        assert median.get_attribute("aria-sort") == "none"
        header(page, "beta_max").get_by_role("button").click()
        values = view.column("beta_max")
        numbers = [float(v) for v in values if v]
        assert numbers == sorted(numbers, reverse=True)
        assert values[len(numbers) :] == [""] * (len(values) - len(numbers))


def test_filter(opened, files):
    """By name, by verdict, and both; the count is told."""
    result = files[1]["pairs"]
    with opened("pairs") as view:
        page, status = view.page, view.page.locator(".status").first
        n = len(listed(result))
        assert status.text_content() == f"{n} of {n} sets"
        page.get_by_label("Filter").first.fill("x5")
        expected = [" + ".join(t.term) for t in result.tests if "X5" in t.term]
        assert sorted(view.column("term")) == sorted(expected)
        assert status.text_content() == f"{len(expected)} of {n} sets"
        page.get_by_label("significant only").first.check()
        found = [" + ".join(t.term) for t in result.tests if "X5" in t.term and t.significant]
        assert view.column("term") == found
        page.get_by_label("Filter").first.fill("no such name")
        assert view.column("term") == []
        page.get_by_label("Filter").first.fill("")
        assert set(view.column("significant")) == {"1"}


def test_copy_as_csv(opened, files):
    """What is shown, in full precision, in the names of `result.table`, and safe to open."""
    permissions = ["clipboard-read", "clipboard-write"]
    with opened("hostile", permissions=permissions) as view:
        page = view.page
        page.get_by_label("Filter").first.fill("(")
        page.get_by_role("button", name="Copy as CSV").first.click()
        page.get_by_text("rows copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        shown = view.column("term")
    head, *rows = list(csv.reader(io.StringIO(copied, newline=""), strict=True))
    assert head[:4] == ["order", "term", "base", "statistic"]
    assert len(rows) == len(shown) > 5
    assert {len(row) for row in rows} == {len(head)}
    for row, name in zip(rows, shown, strict=True):
        assert row[1] == (f"'{name}" if name[0] in "=+-@" else name)
        for cell in row[1:3]:
            assert cell[0] not in "=+-@\t\r"
    by_name = {" + ".join(test.term): test for test in files[1]["hostile"].tests}
    plain = [row for row in rows if row[1] in by_name]
    assert plain
    for row in plain:
        test = by_name[row[1]]
        assert float(row[head.index("statistic")]) == pytest.approx(test.statistic, rel=1e-5)
        assert int(row[head.index("n_positive")]) == test.n_positive


def test_copy_without_permission(opened):
    """Where the clipboard is closed to the page, the older way is taken."""
    with opened("pairs") as view:
        view.page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('closed')); }"
        )
        view.page.get_by_role("button", name="Copy as CSV").first.click()
        view.page.get_by_text("rows copied").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme(opened, scheme):
    """As the system says at first, then as the reader chooses; a reload remembers."""
    other = "dark" if scheme == "light" else "light"
    paper = "getComputedStyle(document.body).backgroundColor"
    colors = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    with opened("pairs", color_scheme=scheme) as view:
        page = view.page
        assert page.evaluate(paper) == colors[scheme]
        page.get_by_role("button", name=f"Switch to the {other} theme").click()
        assert page.evaluate(paper) == colors[other]
        page.reload()
        assert page.evaluate(paper) == colors[other]
        page.get_by_role("button", name=f"Switch to the {scheme} theme").click()
        assert page.evaluate(paper) == colors[scheme]
        mark = "getComputedStyle(document.querySelector('svg [stroke=\"#0072b2\"]')).stroke"
        blue = {"light": "rgb(0, 114, 178)", "dark": "rgb(74, 168, 224)"}
        assert page.evaluate(mark) == blue[scheme]


def test_hostile_names_are_shown_and_do_nothing(opened):
    """No dialog, no request, no element of theirs; the names can be read."""
    with opened("hostile") as view:
        page = view.page
        page.wait_for_timeout(200)
        assert page.locator("img, iframe, object, embed").count() == 0
        assert page.locator("svg[onload], [onerror]").count() == 0
        assert HOSTILE[0] in view.column("term")
        assert HOSTILE[3] in view.column("term")


@pytest.fixture
def server():
    """A web server on this machine that keeps the paths it was asked for."""
    asked = []

    class Keep(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Keep) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", asked
        running.shutdown()


def test_the_policy_stops_what_escaping_would_miss(browser, files, tmp_path, server):
    """Markup put into the page by hand does not run: the browser refuses it, and says so."""
    address, asked = server
    html = (files[0] / "pairs.html").read_text(encoding="utf-8")
    evil = (
        "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
        "<p id=styled style='color: rgb(1, 2, 3)'>x</p>"
        f"<img src='{address}/pixel.png'><link rel=stylesheet href='{address}/style.css'>"
    )
    path = tmp_path / "evil.html"
    path.write_text(html.replace("<h1>", f"{evil}<h1>"), encoding="utf-8")
    view = Open(browser, path)
    view.page.wait_for_timeout(300)
    assert view.page.title() != "owned"
    color = view.page.evaluate("getComputedStyle(document.getElementById('styled')).color")
    assert color != "rgb(1, 2, 3)"
    assert asked == []
    assert any("Content Security Policy" in text for text in view.log)
    # Without the policy all of it happens: the test can fail.
    path.write_text(re.sub("<meta http-equiv.*?>", "", path.read_text(encoding="utf-8")))
    view.page.reload()
    view.page.wait_for_timeout(300)
    assert view.page.title() == "owned"
    assert sorted(asked) == ["/pixel.png", "/style.css"]
    view.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["pairs", "permuted", "parts", "hostile", "nothing", "ranks", "models", "months"]
)
def test_axe_finds_nothing(opened, name, scheme):
    """No accessibility rule of axe-core is broken, in either theme."""
    # axe itself needs more than the page's policy grants.
    with opened(name, color_scheme=scheme, bypass_csp=True) as view:
        assert broken_rules(view.page) == []


def test_by_keyboard_alone(opened):
    """Every control is reached by Tab, in the order of the page, and the focus can be seen."""
    with opened("nothing") as view:
        page, seen = view.page, []
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    """() => {
                        const e = document.activeElement;
                        const outlined = getComputedStyle(e).outlineStyle !== "none";
                        return e === document.body ? null
                            : [e.textContent.trim().slice(0, 24) || e.type, outlined];
                    }"""
                )
            )
            if seen[-1] is None:
                break
        names = [one[0] for one in seen if one]
        for wanted in (
            "Skip to the findings",
            "Dark",
            "search",
            "checkbox",
            "Copy as CSV",
            "Median",
        ):
            assert wanted in names
        assert names.index("search") < names.index("Copy as CSV") < names.index("Median")
        assert all(outlined for _, outlined in filter(None, seen))


def test_tooltips(opened, files):
    """Over a row of the importance plot its numbers appear, and go away."""
    with opened("pairs") as view:
        page, tip = view.page, view.page.locator("#tip")
        assert tip.is_hidden()
        page.locator("svg .tip").first.hover()
        first = max((t for t in files[1]["pairs"].tests if t.order == 1), key=lambda t: t.statistic)
        assert tip.is_visible()
        assert f"{first.n_positive:,} of {first.n:,} rows improve" in tip.text_content()
        page.mouse.move(2, 2)
        assert tip.is_hidden()


def test_without_scripts(opened, files):
    """The page is complete; controls that would do nothing are not there."""
    with opened("pairs", java_script_enabled=False) as view:
        page = view.page
        assert page.locator("table.sets tbody tr").count() == 2 * len(listed(files[1]["pairs"]))
        assert page.locator(".tools").first.is_hidden() and page.locator("#theme").is_hidden()
        assert page.locator("svg .tip title").count() > 0


def test_print_to_pdf(opened, browser):
    """Light, without controls, and nothing cut off at the right."""
    with opened("pairs", color_scheme="dark") as view:
        page = view.page
        page.get_by_role("button", name="Switch to the light theme").click()
        page.get_by_role("button", name="Switch to the dark theme").click()
        assert page.pdf(format="A4").startswith(b"%PDF")
        page.set_viewport_size({"width": 680, "height": 960})
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert page.locator(".tools").first.is_hidden() and page.locator("#theme").is_hidden()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0
        assert header(page, "statistic").inner_text() == "Median"
        assert header(page, "statistic").get_by_role("button").count() == 0
        inside = "e => e.scrollHeight <= e.clientHeight + 2"
        assert page.locator(".scroll").first.evaluate(inside)


@pytest.mark.parametrize(
    "name", ["pairs", "permuted", "parts", "hostile", "ranks", "models", "features", "months"]
)
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_overflows(opened, name, width):
    """On a phone and on a desk: the page itself never scrolls sideways."""
    with opened(name) as view:
        view.page.set_viewport_size({"width": width, "height": 800})
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert view.page.evaluate(overflow) <= 0


@pytest.mark.parametrize(
    "name", ["pairs", "permuted", "parts", "hostile", "nothing", "ranks", "models", "months"]
)
@pytest.mark.parametrize("width", [700, 900, 1200])
def test_verdicts_are_in_sight(opened, name, width):
    """The last column is not clipped: every verdict lies within the frame of its table."""
    with opened(name) as view:
        view.page.set_viewport_size({"width": width, "height": 800})
        beyond = view.page.evaluate(
            """() => [...document.querySelectorAll("table.sets .verdict")].map((cell) => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                const frame = cell.closest(".scroll").getBoundingClientRect();
                return range.getBoundingClientRect().right - frame.right;
            })"""
        )
        assert len(beyond) > 3
        assert max(beyond) <= 0


def test_a_permutation_test_is_sorted_and_copied(opened, files):
    """Its columns have the names of `result.table`; a set without z comes last."""
    permissions = ["clipboard-read", "clipboard-write"]
    with opened("permuted", permissions=permissions) as view:
        header(view.page, "z").get_by_role("button").click()
        values = view.column("z")
        numbers = [float(value) for value in values if value]
        assert numbers == sorted(numbers, reverse=True)
        assert values[len(numbers) :] == [""] * (len(values) - len(numbers)) != []
        for place, name in enumerate(("rise", "gain")):
            view.page.get_by_role("button", name="Copy as CSV").nth(place).click()
            view.page.get_by_text("rows copied").nth(place).wait_for()
            copied = view.page.evaluate("navigator.clipboard.readText()")
            rows = list(csv.DictReader(io.StringIO(copied, newline=""), strict=True))
            assert len(rows) == len(listed(files[1]["permuted"]))
            by_name = {" + ".join(t.term): getattr(t, name) for t in files[1]["permuted"].tests}
            for row in rows:
                assert float(row[name]) == pytest.approx(by_name[row["term"]], rel=1e-5, abs=1e-12)


def test_a_comparison_is_sorted_filtered_and_copied(opened, files):
    """Numbers as numbers; both names of a pair are searched; names stay text in a spreadsheet."""
    ranks = files[1]["ranks"]
    with opened("ranks", permissions=["clipboard-read", "clipboard-write"]) as view:
        page = view.page
        header(page, "mean_gain").get_by_role("button").click()
        header(page, "mean_gain").get_by_role("button").click()
        values = [float(value) for value in view.column("mean_gain")]
        assert values == sorted(values) and len(values) == 7
        assert values == pytest.approx(sorted(one.gain for one in ranks.features), abs=1e-4)
        page.get_by_label("certain only").check()
        certain = [one.feature for one in ranks.features if one.rank_low == one.rank_high]
        assert sorted(view.column("feature")) == sorted(certain) != []
        page.get_by_label("Filter").nth(1).fill("x5")
        assert page.locator(".status").nth(1).text_content() == "6 of 21 rows"
        page.get_by_role("button", name="Copy as CSV").nth(1).click()
        page.get_by_text("rows copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
    head, *rows = list(csv.reader(io.StringIO(copied, newline=""), strict=True))
    assert head[:3] == ["first", "second", "difference"] and head[-1] == "decided"
    assert {"X5"} == {name for row in rows for name in row[:2] if name == "X5"}
    by_pair = {(pair.first, pair.second): pair for pair in ranks.pairs}
    for row in rows:
        pair = by_pair[row[0], row[1]]
        assert float(row[2]) == pytest.approx(pair.difference, abs=1e-4)
        assert int(row[-1]) == (pair.larger is not None)


def test_hostile_names_of_models_do_nothing(opened):
    """Names of models are in titles, heads, notes and pictures; they are read, never run."""
    with opened("models", permissions=["clipboard-read", "clipboard-write"]) as view:
        page = view.page
        page.wait_for_timeout(200)
        assert page.locator("img, iframe, object, embed").count() == 0
        assert page.locator("svg[onload], [onerror]").count() == 0
        assert view.column("model") == [HOSTILE[1], "_not, hidden"]
        page.get_by_role("button", name="Copy as CSV").nth(1).click()
        page.get_by_text("rows copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        page.locator("svg .tip").first.hover()
        assert "mean gain" in page.locator("#tip").text_content()
    rows = list(csv.reader(io.StringIO(copied, newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1 and len(rows) == len(HOSTILE) + 1
    assert all(row[0][0] not in "=+-@\t\r" for row in rows)
