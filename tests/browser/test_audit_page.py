"""The page of a real audit in Chromium: every width, both themes, paper, and many features."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import sfit

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from chromium import Open, broken_rules, check_layout, check_print
from made_document import long_names
from test_document import pages_of

from sfit._audit._document import MOST_CARDS

WIDTHS = (360, 768, 1180, 1920)
SIZES = (7, 40, 300)


def audit_of(n_features):
    """A logistic regression: many features are significant, two move together, some are unused."""
    rng = np.random.default_rng(n_features)
    # The permutation test of many features takes many permutations, so they get fewer rows.
    n_rows, n_test = (3_500, 2_000) if n_features <= 40 else (1_300, 300)
    names = [*long_names(n_features - 1), "sex"]
    X = pd.DataFrame(rng.normal(size=(n_rows, n_features)), columns=names)
    X[names[1]] = X[names[0]] + 0.2 * X[names[1]]
    X[names[-1]] = rng.integers(1, 3, n_rows)
    n_used = min(n_features // 2, 24)
    X.loc[:, names[2:n_used]] += 0.6 * rng.normal(size=(n_rows, 1))
    logit = X[names[:n_used]].sum(axis=1)
    y = pd.Series((logit + rng.logistic(size=n_rows) > 0).astype(int), name="default")
    model = LogisticRegression(C=0.05, max_iter=500).fit(X[n_test:], y[n_test:])
    model.coef_[0, int(0.8 * n_features) : -1] = 0
    return sfit.audit(
        model,
        X[:n_test],
        y[:n_test],
        train=X[n_test:],
        by=names[-1] if n_features <= 40 else None,
        protected=[names[-1]],
        expected={names[0]: "+", names[2]: "-"},
        title="Audit of the default model of customer accounts",
        purpose="Decide which customers get a larger limit on their account.",
        model_name="default-2026",
        data_name="Accounts of the second half of 2025",
        author="A. Validator",
        n_background=2,
        budget=120 if n_features <= 40 else None,
        random_state=0,
    )


@pytest.fixture(scope="module")
def audits():
    return {n: audit_of(n) for n in SIZES}


@pytest.fixture(scope="module")
def files(audits, tmp_path_factory):
    """The pages, as files, by the number of features."""
    folder = tmp_path_factory.mktemp("audits")
    for n, audit in audits.items():
        audit.to_html(folder / f"{n}.html")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("n", SIZES)
def test_every_width(browser, files, audits, n, scheme):
    """Verdicts are in sight, nothing scrolls sideways, names break, and labels can be read."""
    papers = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    with Open(browser, files / f"{n}.html", color_scheme=scheme) as view:
        page = view.page
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == papers[scheme]
        policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
        assert "default-src 'none'" in policy
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            check_layout(page)
            verdicts = page.locator("table.sets tbody .verdict")
            assert verdicts.count() == n
            assert verdicts.first.is_visible()
            last = verdicts.last.bounding_box()
            assert last["x"] >= 0 and last["x"] + last["width"] <= width
        marked = view.column("verdict")
        assert sum("significant" in text for text in marked) == len(audits[n].selected)


@pytest.mark.parametrize("width", [360, 1180])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, files, width, scheme):
    """No rule of axe-core is broken, with every section that an audit can have."""
    with Open(browser, files / "40.html", color_scheme=scheme, bypass_csp=True) as view:
        view.page.set_viewport_size({"width": width, "height": 900})
        assert broken_rules(view.page) == []


@pytest.mark.parametrize("n", SIZES)
def test_on_paper(browser, files, audits, n):
    """Light, with every caveat, check and signature, without buttons, and nothing cut off."""
    with Open(browser, files / f"{n}.html", color_scheme="dark") as view:
        check_print(view.page)
        page = view.page
        caveats = page.locator("#caveats ul.items li")
        assert caveats.count() == len(audits[n].caveats) > 0
        for parts in (caveats, page.locator(".checklist li"), page.locator(".signoff dl")):
            assert all(part.is_visible() for part in parts.all())


def test_four_pages_before_the_appendix(browser, files, audits):
    """On A4 with 40 features, as many cards as the body shows, groups, pairs and proxies."""
    assert len(audits[40].selected) > MOST_CARDS
    with Open(browser, files / "40.html") as view:
        page = view.page
        everything = pages_of(page.pdf(format="A4", prefer_css_page_size=True))
        assert page.locator("section:not(.appendix) .card").count() == MOST_CARDS
        page.evaluate("for (const e of document.querySelectorAll('.appendix, footer')) e.remove()")
        body = pages_of(page.pdf(format="A4", prefer_css_page_size=True))
        page.reload()
        page.emulate_media(media="print")
        breaks = page.locator("section.appendix").evaluate_all(
            "all => all.map((e) => getComputedStyle(e).breakBefore)"
        )
    assert breaks[0] == "page"
    assert body < everything
    assert body <= 4


def test_the_first_screen(browser, files, audits):
    """Title, model, data and finding are seen without scrolling."""
    with Open(browser, files / "40.html") as view:
        page = view.page
        page.set_viewport_size({"width": 1180, "height": 1000})
        model, data = audits[40].model, audits[40].data
        for text in (audits[40].settings.title, model.kind, data.name, data.fingerprint):
            assert page.get_by_text(text).first.bounding_box()["y"] < 1000
        assert page.locator("p.finding").bounding_box()["y"] < 1000


def test_size(files, audits):
    """Below 1.5 MB for 300 long-named features, all of them in the table, by their full names."""
    html = (files / "300.html").read_text(encoding="utf-8")
    assert len(html.encode()) < 1_500_000
    plain = html.replace("<wbr>", "")
    assert all(f">{name}</th>" in plain for name in audits[300].related.feature_names)
    assert len(audits[300].related.tests) == 300
    assert len(audits[300].selected) > 18


def test_ignored_features_take_one_line(browser, files, audits):
    """Features without effect on any prediction take one sentence, which counts them."""
    audit = audits[300]
    ignored = [test.term[0] for test in audit.related.tests if test.share_moved == 0]
    with Open(browser, files / "300.html") as view:
        text = view.page.locator("#features").text_content()
        assert len(ignored) == 59
        assert re.findall(r"The model ignores these (\d+) features", text) == [str(len(ignored))]
        assert ignored[0] in text
        assert view.page.locator("#features > p").count() <= 4
