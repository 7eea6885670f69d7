"""A page in Chromium, and what every test asks of one."""

import pytest

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""Pixels by which the page itself scrolls sideways."""


class Open:
    """A page, with all that it logged and everything it asked the network for."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, **context)
        self.page = self.context.new_page()
        self.address = f"file://{path}"
        self.log, self.requests = [], []
        self.page.on("console", lambda message: self.log.append(message.text))
        self.page.on("pageerror", lambda error: self.log.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.log.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.address)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            # Whatever a test did: no error, no dialog, and nothing left the page.
            assert self.log == []
            outside = [url for url in self.requests if url not in (self.address, "data:,")]
            assert outside == []

    def column(self, key, shown_only=True):
        """Values of a column, from the top."""
        return self.page.evaluate(
            """([key, shown]) => {
                const table = document.querySelector("table.sets");
                const place = [...table.tHead.rows[0].cells].findIndex((c) => c.dataset.key === key);
                return [...table.tBodies[0].rows].filter((row) => !shown || !row.hidden)
                    .map((row) => row.cells[place].dataset.v ?? row.cells[place].textContent);
            }""",
            [key, shown_only],
        )


def broken_rules(page):
    """Rules of axe-core that the page breaks, with the element and the reason."""
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 20
    return [
        (rule["id"], node["html"][:120], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


LAYOUT = """() => {
    const shown = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    };
    const right = document.documentElement.clientWidth;
    const verdicts = [...document.querySelectorAll("table tbody .verdict")]
        .filter((cell) => cell.checkVisibility())
        .map((cell) => {
            const text = shown(cell);
            const frame = cell.closest(".scroll").getBoundingClientRect();
            return Math.max(text.right - Math.min(frame.right, right), frame.left - text.left);
        });
    // Text that sticks out of its box: names must break.
    const cut = [...document.querySelectorAll("h1, h2, h3, h4, p, dd, dt, li, th.name, td.name")]
        .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
            && getComputedStyle(e).display !== "inline")
        .map((e) => e.outerHTML.slice(0, 90));
    // The smallest letters of each picture, in pixels of the screen.
    const pictures = [...document.querySelectorAll("figure svg")].filter((e) => e.checkVisibility());
    const letters = pictures.map((svg) => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const sizes = [...svg.querySelectorAll("text")]
            .map((t) => scale * parseFloat(getComputedStyle(t).fontSize));
        return Math.min(...sizes);
    });
    // Of the two drawings of a picture, one is shown; on a phone it does not scroll.
    const figures = [...document.querySelectorAll("figure")].filter((e) => e.checkVisibility());
    const drawings = figures.map((e) => pictures.filter((svg) => e.contains(svg)).length);
    const scrolling = pictures.filter((e) => e.closest(".narrow"))
        .filter((e) => e.getBoundingClientRect().right > right).length;
    return {verdicts, cut, letters, drawings, scrolling};
}"""


def check_layout(page, smallest=7):
    """The page does not scroll sideways; verdicts are in sight, names break, labels are legible."""
    width = page.viewport_size["width"]
    assert page.evaluate(OVERFLOW) <= 0, width
    found = page.evaluate(LAYOUT)
    assert found["verdicts"] and max(found["verdicts"]) <= 0.5, width
    assert found["cut"] == [], width
    assert set(found["drawings"]) == {1} and found["scrolling"] == 0, width
    assert min(found["letters"]) >= smallest, (width, found["letters"])


def check_print(page):
    """On A4: light, nothing cut off, nothing folded, no buttons."""
    page.set_viewport_size({"width": 695, "height": 1030})
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(OVERFLOW) <= 0
    assert page.locator("button:visible, input:visible, nav:visible").count() == 0
    assert page.locator("main details:not([open])").count() == 0
    clipped = page.locator(".scroll, .drawing, pre").evaluate_all(
        "all => all.filter((e) => e.scrollHeight > e.clientHeight + 2"
        " || e.scrollWidth > e.clientWidth + 2).map((e) => e.getAttribute('aria-label'))"
    )
    assert clipped == []
