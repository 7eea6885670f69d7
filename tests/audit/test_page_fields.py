"""Every field that the page of an audit must have, one case each, with the values of the audit."""

import ast
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_tree import tree_of
from sklearn.ensemble import HistGradientBoostingClassifier

import sfit
from sfit._text import number, percent, printable, share_text

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2", reason="the extra sfit[report] is not installed")

from sfit.report._document_page import as_document_page


def rows_of_loans(n=2_400):
    """A classification problem with noise, missing values, correlated and interacting features."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "late_payments": rng.poisson(0.5, n).astype(float),
            "side": rng.normal(size=n),
            "sex": rng.integers(0, 2, n),
            "noise": rng.normal(size=n),
        }
    )
    X["limit"] = X["income"] + 0.3 * rng.normal(size=n)
    X.loc[::40, "noise"] = np.nan
    late = X["late_payments"] * (1 + (X["side"] > 0))
    logit = -1 - 1.2 * X["income"] + late + 0.5 * X["side"] + 0.5 * X["sex"]
    y = pd.Series(rng.random(n) < 1 / (1 + np.exp(-logit)), name="default").astype(int)
    return X, y


@pytest.fixture(scope="module")
def audited():
    """An audit that has everything."""
    X, y = rows_of_loans()
    half = len(X) // 2
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
    return sfit.audit(
        model.fit(X[:half], y[:half]),
        X[half:],
        y[half:],
        train=X[:half],
        by="sex",
        protected=["sex"],
        expected={"income": "-", "late_payments": "+", "side": "-"},
        title="Default of loans & <cards>",
        purpose="Decide on loans of <b>private</b> customers.",
        model_name="default_2026",
        data_name="loans <2026>",
        period="2026-01 to 2026-06",
        author="A. Validator & B. Owner",
        n_background=10,
        budget=600,
        random_state=0,
    )


@pytest.fixture(scope="module")
def page(audited):
    """Its page, as a tree."""
    return tree_of(audited.to_html())


FIELDS = {}
"""Fields of the page by name, and what each must show."""


def field(name):
    def add(check):
        FIELDS[name] = check
        return check

    return add


def section(page, key):
    return page.one("section", id=key)


def identity(page):
    return section(page, "purpose").facts


def place(page, node):
    """Where an element stands on the page."""
    return list(map(id, page.walk())).index(id(node))


def heading(page, title, level="h2"):
    """The only heading with this text."""
    [found] = [node for node in page.all(level) if node.text == title]
    return found


def table(page, title):
    """The only table with this title; its box carries the title and the name of the section."""
    [box] = [
        node
        for node in page.all("div", "scroll")
        if node.attrs["aria-label"].rpartition(", ")[0] == title
    ]
    return box.one("table")


def figure(page, title):
    """The only picture with this title."""
    [found] = [node for node in page.all("figure") if [h.text for h in node.all("h3")] == [title]]
    return found


def cards(page):
    """The cards of the features, by name, from the first."""
    return {card.one("h3").text: card for card in page.all("article", "card")}


def found(audit):
    """The significant features, the strongest first."""
    tests = sorted(audit.related.tests, key=lambda test: -test.strength)
    return [test.term[0] for test in tests if test.significant]


# --- identity -----------------------------------------------------------------------------


@field("title")
def _(audit, page):
    title = audit.settings.title
    assert page.one("h1").text == title
    [in_tab] = page.one("head").all("title")
    assert in_tab.text == title


@field("purpose")
def _(audit, page):
    assert section(page, "purpose").all("p")[0].text == audit.settings.purpose


@field("model name")
def _(audit, page):
    assert identity(page)["Model"].startswith(f"{audit.model.name}: ")


@field("model class")
def _(audit, page):
    assert f": {audit.model.kind} (" in identity(page)["Model"]
    assert section(page, "facts").facts["Class"] == audit.model.kind


@field("model library")
def _(audit, page):
    assert identity(page)["Model"].endswith(f"({audit.model.library})")
    assert section(page, "facts").facts["Library"] == audit.model.library


@field("model parameters")
def _(audit, page):
    facts = section(page, "facts").facts
    assert len(audit.model.parameters) > 10
    for name, value in audit.model.parameters:
        assert facts[name] == value


@field("model fingerprint")
def _(audit, page):
    assert len(audit.model.fingerprint) >= 32
    assert identity(page)["Model fingerprint"] == audit.model.fingerprint


@field("data name")
def _(audit, page):
    assert identity(page)["Data"].startswith(f"{audit.data.name}: ")


@field("period")
def _(audit, page):
    assert identity(page)["Period"] == audit.data.period


@field("rows")
def _(audit, page):
    assert f" {audit.data.n_rows:,} rows, " in identity(page)["Data"]
    assert f"{audit.train.n_rows:,} rows" in identity(page)["Training rows"]


@field("columns")
def _(audit, page):
    assert identity(page)["Data"].endswith(f", {audit.data.n_columns} columns")


@field("target distribution")
def _(audit, page):
    on_first_page, in_appendix = identity(page)["Target"], section(page, "facts").facts
    assert on_first_page.startswith(f"{audit.data.target}: ")
    assert len(audit.data.target_distribution) == 2
    for label, text in audit.data.target_distribution:
        assert f"{label} {text}" in on_first_page
        assert in_appendix[label] == text


@field("missing values")
def _(audit, page):
    assert audit.data.n_missing > 0
    assert identity(page)["Missing values"] == f"{audit.data.n_missing} cells"
    for column, count in audit.data.missing_by_column:
        assert section(page, "facts").facts[column] == count


@field("data fingerprint")
def _(audit, page):
    assert identity(page)["Data fingerprint"] == audit.data.fingerprint
    assert audit.data.fingerprint not in ("", audit.train.fingerprint)


@field("author")
def _(audit, page):
    assert identity(page)["Author"] == audit.settings.author
    assert audit.settings.author in page.one("p", "subtitle").text


@field("UTC time")
def _(audit, page):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", audit.settings.made)
    assert identity(page)["Made"] == audit.settings.made
    assert audit.settings.made in page.one("p", "subtitle").text


@field("sfit version")
def _(audit, page):
    assert audit.run["versions"]["sfit"] == sfit.__version__
    assert page.one("p", "subtitle").text.endswith(f"with sfit {sfit.__version__}")


@field("hash of the JSON")
def _(audit, page):
    checksum = json.loads(audit.to_json())["checksum"]
    assert identity(page)["Fingerprint of this audit"] == checksum
    assert checksum in page.one("footer").text


# --- finding and caveats ------------------------------------------------------------------


def finding(page):
    return section(page, "finding").one("p", "finding").text


def measured(metric):
    """A metric with its interval, which may be a point."""
    point = metric.ci_low == metric.ci_high
    interval = "" if point else f" ({metric.ci_low:.3g} to {metric.ci_high:.3g})"
    return f"{metric.value:.3g}{interval}"


@field("finding: performance")
def _(audit, page):
    auc = next(one for one in audit.performance if (one.side, one.name) == ("all", "AUC"))
    assert f"AUC {measured(auc)}" in finding(page)
    assert f"{audit.data.n_rows:,} held-out rows" in finding(page)
    rows = {row["The model sees"]: row for row in table(page, "Performance").rows}
    sides = {"all": "All features", "found": "Features found", "nothing": "No features"}
    heads = {"average_precision": "average precision", "log_loss": "log loss"}
    heads["brier"] = "Brier score"
    assert {one.side for one in audit.performance} == set(sides)
    for one in audit.performance:
        row = rows[sides[one.side]]
        assert row[heads.get(one.name, one.name)] == measured(one)
        assert row["Rows"] == f"{one.n:,}"


@field("finding: features")
def _(audit, page):
    names, n = found(audit), len(audit.related.feature_names)
    assert 3 < len(names) < n
    assert f"{len(names)} of its {n} features are significantly related" in finding(page)
    assert f"{', '.join(names[:-1])} and {names[-1]}" in finding(page)


@field("finding: not explained")
def _(audit, page):
    one = audit.explained
    explained = finding(page).partition("The features found account for ")[2]
    if one.share > 0.995:
        assert explained.startswith("all of what the model gains")
    else:
        assert explained.startswith(percent(round(one.share, 2)))
        assert f"{percent(round(1 - one.share, 2))} is not attributed" in explained
    low, high = (percent(round(end, 2)) for end in (max(one.ci_low, 0), one.ci_high))
    assert f"interval {low} to {high}" in explained
    verb = "still improves" if one.p_value < audit.settings.alpha else "improves only"
    assert f"{verb} {one.n_improved:,} of {one.n_units:,} {one.units}" in explained


@field("caveats on the first page")
def _(audit, page):
    listed = section(page, "caveats").one("ul", "items")
    assert place(page, heading(page, "Caveats")) < place(page, listed)
    assert place(page, listed) < place(page, page.all("figure")[0])
    assert [item.text.casefold() for item in listed.all("li")] == [
        text.casefold() for text in audit.caveats
    ]
    assert len(audit.caveats) >= 2


# --- pictures -----------------------------------------------------------------------------


@field("rise plot")
def _(audit, page):
    tips = section(page, "mechanism").all("figure")[0].tooltips
    for test in audit.related.tests:
        start = f"{test.term[0]}\nrise {number(test.rise)}, interval {number(test.ci_low)} to"
        assert any(tip.startswith(start) for tip in tips)


@field("coin plot")
def _(audit, page):
    tips = figure(section(page, "mechanism"), "How many rows each set improves").tooltips
    for test in audit.typical.tests:
        counts = f"{test.n_positive:,} of {test.n:,} rows improve"
        assert any(tip.startswith(f"{test.term[0]}\n") and counts in tip for tip in tips)


@field("build-up")
def _(audit, page):
    drawn = figure(section(page, "mechanism"), "What the found features explain")
    assert [step.kind for step in audit.build_up][:: len(audit.build_up) - 1] == ["hidden", "all"]
    for step in audit.build_up:
        named = [tip for tip in drawn.tooltips if not step.features or step.features[0] in tip]
        assert any(number(step.loss) in tip for tip in named), step
    assert any("not attributed" in text.text for text in drawn.all("text"))
    note = section(page, "mechanism").all("p", "note")[-1].text
    for loss in ("loss_hidden", "loss_found", "loss_all"):
        assert number(getattr(audit.explained, loss)) in note


# --- cards --------------------------------------------------------------------------------


@field("one card per significant feature")
def _(audit, page):
    assert list(cards(page)) == found(audit)
    tests = {test.term[0]: test for test in audit.related.tests}
    for name, card in cards(page).items():
        assert "significant" in card.one("p", "badge").text
        test = tests[name]
        interval = f"{number(test.ci_low)} to {number(test.ci_high)}"
        assert card.facts["Rise of loss"] == f"{number(test.rise)} ({interval})"


@field("card: response curve")
def _(audit, page):
    for name, card in cards(page).items():
        profile, [drawn] = audit.profile(name), card.all("figure")
        for output, base in zip(profile.outputs, profile.base, strict=True):
            assert any(f"\n{output}: " in tip and number(base) in tip for tip in drawn.tooltips)
        assert len(drawn.tooltips) > 1
        assert drawn.all("path")


@field("card: distribution")
def _(audit, page):
    for name, card in cards(page).items():
        profile, drawn = audit.profile(name), card.one("figure")
        for n in profile.bin_n:
            assert any(f"\n{n:,} rows" in tip for tip in drawn.tooltips)
        assert "rows" in [text.text for text in drawn.all("text")]


@field("card: gain by value")
def _(audit, page):
    for name, card in cards(page).items():
        profile, drawn = audit.profile(name), card.one("figure")
        bins = zip(profile.bin_gain, profile.bin_low, profile.bin_high, strict=True)
        for gain, low, high in bins:
            text = f"mean gain {number(gain)}, interval {number(low)} to {number(high)}"
            assert any(text in tip for tip in drawn.tooltips)
        better, worse = profile.n_better / profile.n, profile.n_worse / profile.n
        shown = f"{share_text(better)} predicted better, {share_text(worse)} worse"
        assert card.facts["Rows"] == f"{shown}, mean gain {number(profile.mean_gain)}"


@field("card: subgroups")
def _(audit, page):
    several = 0
    for name, card in cards(page).items():
        labels = [str(label) for label, part in audit.by_group.parts if name in part.selected]
        shown = card.facts["Groups"]
        if name == audit.by_group.by:
            assert shown.startswith("cannot be tested within its groups")
        elif len(labels) == len(audit.by_group.parts) == 2:
            assert shown == f"significant in both groups of {audit.by_group.by}"
        elif labels:
            assert shown.startswith(f"significant for {audit.by_group.by} = {', '.join(labels)}")
        else:
            assert shown == f"significant in no single group of {audit.by_group.by}"
        several += len(labels) == len(audit.by_group.parts)
    assert 0 < several < len(cards(page))


@field("card: partners")
def _(audit, page):
    pairs = [t.term for t in audit.interactions.tests if t.order == 2 and t.significant]
    assert pairs
    for name, card in cards(page).items():
        partners = {other for term in pairs if name in term for other in term if other != name}
        shown = card.facts["Partners"]
        named = set(re.split(", | and ", shown)) if partners else set()
        assert named == partners
        assert partners or shown == "no significant partner"


@field("card: expected and observed direction")
def _(audit, page):
    expected, agreeing = dict(audit.settings.expected), set()
    for name, card in cards(page).items():
        observed, shown = audit.profile(name).direction, card.facts["Direction"]
        assert shown.startswith("no single direction" if observed == "mixed" else observed)
        if name in expected:
            agrees = observed == expected[name]
            words = "as expected" if agrees else "not as expected"
            assert shown.endswith(f"; expected {expected[name]}: {words}")
            agreeing.add(agrees)
    assert agreeing == {True, False}


# --- groups, protected attributes ---------------------------------------------------------


@field("matrix of features x groups")
def _(audit, page):
    drawn = section(page, "groups").one("table", "matrix")
    by, parts = audit.by_group.by, audit.by_group.parts
    heads = [f"{by} = {label} ({part.settings.n_rows:,} rows)" for label, part in parts]
    shown = {row["Feature"]: row for row in drawn.rows}
    assert list(shown)[: len(found(audit))] == found(audit)
    marked = {
        (row.one("th").text, head)
        for row in drawn.one("tbody").all("tr")
        for head, cell in zip(heads, row.all("td"), strict=True)
        if "on" in cell.attrs.get("class", "").split()
    }
    expected = set()
    for head, (_, part) in zip(heads, parts, strict=True):
        for test in part.tests:
            [name] = test.term
            if name in shown:
                assert shown[name][head] == number(test.rise)
            expected |= {(name, head)} if test.significant else set()
    assert marked == expected != set()
    assert heading(page, f"Groups of {by}")


@field("interactions")
def _(audit, page):
    pairs = [test for test in audit.interactions.tests if test.order == 2]
    n_found = sum(test.significant for test in pairs)
    assert f"{n_found} of {len(pairs)} pairs tested" in section(page, "interactions").text
    rows = {row["Pair"]: row for row in table(page, "Pairs over the sum of their parts").rows}
    assert len(rows) == len(pairs)
    for test in pairs:
        row = rows[" + ".join(test.term)]
        assert row["Mean gain"] == number(test.mean)
        assert row["Verdict"].startswith("significant") == test.significant


@field("protected attributes")
def _(audit, page):
    rows = table(page, "Outcomes and predictions").rows
    assert len(rows) == len(audit.outcomes) == 2
    for row, one in zip(rows, audit.outcomes, strict=True):
        interval = f"{number(one.loss_low)} to {number(one.loss_high)}"
        assert list(row.values()) == [
            f"{one.attribute} = {one.label}",
            f"{one.n:,}",
            number(one.outcome),
            number(one.prediction),
            f"{number(one.loss)} ({interval})",
        ]


@field("proxies")
def _(audit, page):
    rows = table(page, "Association with protected attributes").rows
    closest = sorted(audit.proxies, key=lambda one: -one.association)[: len(rows)]
    assert len(rows) >= 3
    for row, one in zip(rows, closest, strict=True):
        assert (row["Attribute"], row["Feature"]) == (one.attribute, one.feature)
        assert row["Association"] == f"{one.association:.2f}"
        assert (row["Related to the outcome, as used"] == "yes") == one.significant


# --- limits, assumptions, definitions, sign-off -------------------------------------------


@field("smallest detectable effect")
def _(audit, page):
    able, shown = audit.detectable, section(page, "limitations").text
    assert f"correlation of {number(able.correlation)} with the outcome" in shown
    assert f"with {percent(able.power)} power" in shown
    assert f"corrected level {number(able.alpha)}" in shown
    assert f"improves {percent(round(able.probability, 3))} of the rows" in shown


def check_of(audit, page, name):
    """A line of the checklist agrees with the check of the audit."""
    check = next(check for check in audit.checks if check.name == name)
    words = {"yes": "✓ Yes", "no": "✗ No", "open": "? Open"}
    lines = section(page, "assumptions").one("ul", "checklist").all("li")
    assert len(lines) == len(audit.checks)
    [line] = [line for line in lines if line.one("strong").text == name]
    assert line.one("span", "state").text == words[check.state]
    assert line.text.endswith(f"{name} {printable(check.text)}")
    return line.text


@field("checklist: held out")
def _(audit, page):
    check_of(audit, page, "Held out")


@field("checklist: independent")
def _(audit, page):
    check_of(audit, page, "Independent rows")


@field("checklist: reference")
def _(audit, page):
    check_of(audit, page, "Reference from training rows")


@field("checklist: overlap")
def _(audit, page):
    text = check_of(audit, page, "Held out")
    assert f"None of the {audit.data.n_rows:,} rows occurs in the {audit.train.n_rows:,}" in text


@field("checklist: the others")
def _(audit, page):
    for check in audit.checks:
        check_of(audit, page, check.name)


@field("definitions")
def _(audit, page):
    facts = section(page, "definitions").facts
    for term in ("Rise", "Significant", "Not attributed", "Improves the typical row"):
        assert len(facts[term]) > 30
    assert facts["Significant"].endswith(f"is below {number(audit.settings.alpha)}.")


@field("sign-off lines")
def _(audit, page):
    people = section(page, "sign-off").one("div", "signoff").all("dl")
    roles = [person.one("dd", "role").text for person in people]
    assert roles == ["Model owner", "Validator", "Approver"]
    for person in people:
        assert [term.text for term in person.all("dt")][1:] == ["Name", "Signature", "Date"]
        assert [line.text for line in person.all("dd")][1:] == ["", "", ""]


# --- appendices ---------------------------------------------------------------------------


@field("appendix: full table")
def _(audit, page):
    rows = {
        row["Feature"]: row for row in table(section(page, "all-features"), "All features").rows
    }
    assert len(rows) == len(audit.related.tests)
    beside = {test.term: test for test in audit.typical.tests}
    for test in audit.related.tests:
        row, typical = rows[test.term[0]], beside[test.term]
        assert row["Rise"] == number(test.rise)
        assert row["Interval"] == f"{number(test.ci_low)} to {number(test.ci_high)}"
        assert row["z"] == number(test.z)
        assert float(row["Adjusted p"].lstrip("<")) == pytest.approx(test.p_adjusted, rel=0.01)
        assert row["Rows better"] == share_text(typical.n_positive / typical.n)
        assert row["Typical row"] == ("improves" if typical.significant else "no")
        assert row["Verdict"].startswith("significant") == test.significant


@field("method with formulas")
def _(audit, page):
    method = section(page, "method")
    formulas = [formula.text for formula in method.all("p", "formula")]
    assert len(formulas) == 4
    assert any(text.startswith("p = (1 + #{b") for text in formulas)
    assert any("Bin(n, 1/2)" in text for text in formulas)
    assert (
        f"{audit.settings.n_background} of the {audit.train.n_rows:,} training rows" in method.text
    )
    assert f"over all {len(audit.related.tests)} features" in method.text
    assert f"Level: {number(audit.settings.alpha)}." in method.text


@field("versions")
def _(audit, page):
    facts = section(page, "settings").facts
    assert {"sfit", "python", "numpy", "scikit-learn"} <= set(audit.run["versions"])
    for name, version in audit.run["versions"].items():
        assert facts[name] == version


@field("settings")
def _(audit, page):
    facts, settings = section(page, "settings").facts, audit.settings
    assert facts["Loss"] == settings.loss
    assert facts["Level"] == number(settings.alpha)
    assert facts["Correction"] == settings.correction
    background = f"{settings.n_background} of the {audit.train.n_rows:,} training rows"
    assert facts["Hidden features"].startswith(f"average of {background}")
    assert facts["Space of hiding"] == settings.space
    assert facts["Budget"] == settings.budget
    assert facts["Seed"] == str(settings.seed)
    rows = table(page, "Work").rows
    assert [(row["Step"], row["Status"]) for row in rows] == [
        (step.name, step.status) for step in audit.steps
    ]


@field("code to reproduce")
def _(audit, page):
    code = "".join(section(page, "reproduce").one("code").children)
    assert code == audit.settings.reproduce
    call = next(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    assert [ast.unparse(one) for one in (call.func, *call.args)] == [
        "sfit.audit",
        "model",
        "X",
        "y",
    ]
    texts = {one.arg: ast.unparse(one.value) for one in call.keywords}
    assert texts.pop("train") == "X_train"
    given = {name: ast.literal_eval(text) for name, text in texts.items()}
    settings = audit.settings
    assert given["random_state"] == settings.seed
    assert given["expected"] == dict(settings.expected)
    assert tuple(given["protected"]) == settings.protected
    assert (given["by"], given["budget"]) == (settings.by, settings.budget)
    assert given["n_background"] == settings.n_background
    for name in ("title", "purpose", "author"):
        assert given[name] == getattr(settings, name)
    assert (given["model_name"], given["data_name"]) == (audit.model.name, audit.data.name)
    assert given["period"] == audit.data.period


@field("command to reproduce")
def _(audit, page):
    """Of an audit by the command line: the words that a shell would read."""
    pytest.importorskip("typer")
    from sfit.cli._audit import command

    options = {"model": "my model.skops", "data": "test.csv", "target": "default"}
    options |= {"title": audit.settings.title, "seed": audit.settings.seed, "train": None}
    line = command(options)
    again = replace(audit, settings=replace(audit.settings, reproduce=line))
    document = again.document()
    last = as_document_page(replace(document, sections=document.sections[-1:]))
    shown = "".join(section(tree_of(last), "reproduce").one("code").children)
    assert shown == line
    assert shlex.split(shown) == [
        *("sfit", "audit", "my model.skops", "test.csv", "--target", "default"),
        *("--title", audit.settings.title, "--seed", str(audit.settings.seed)),
    ]


# --- headings and their order -------------------------------------------------------------


@field("heading: Purpose")
def _(audit, page):
    assert heading(page, "Purpose")


@field("heading: Mechanism")
def _(audit, page):
    assert place(page, heading(page, "Mechanism")) < place(page, page.all("figure")[0])


@field("heading: Signs of high risk")
def _(audit, page):
    assert heading(page, "Signs of high risk")
    items = [item.text for item in section(page, "risks").all("li")]
    expected = dict(audit.settings.expected)
    wrong = [
        name
        for name in found(audit)
        if expected.get(name, "") not in ("", audit.profile(name).direction)
    ]
    assert wrong
    verbs = {"rising": "rise", "falling": "fall"}
    for name in wrong:
        start = f"The response to {name} was expected to {verbs[expected[name]]}, but "
        assert any(item.startswith(start) for item in items)
    assert any(item.startswith("sex is a protected attribute") for item in items)
    for check in audit.checks:
        assert (check.text in items) == (check.state == "no")


@field("heading: Strengths")
def _(audit, page):
    assert heading(page, "Strengths")
    items = [item.text for item in section(page, "strengths").all("li")]
    for one in [one for one in audit.performance if one.side == "all"][:3]:
        assert any(f"{one.value:.3g} ({one.ci_low:.3g}" in item for item in items)


@field("heading: Limitations")
def _(audit, page):
    assert heading(page, "Limitations")
    assert "Significance is not causation" in section(page, "limitations").text


@field("not a reason-code engine")
def _(audit, page):
    assert "This page is not a reason-code engine" in section(page, "limitations").text


@pytest.mark.parametrize("name", FIELDS)
def test_field(name, audited, page):
    """The page shows the field, with the value of the audit."""
    FIELDS[name](audited, page)


def test_the_order_of_the_sections(audited, page):
    """From identity to sign-off, then the appendices; the contents link to all of them."""
    sections = page.one("main").all("section")
    titles = [one.one("h2").text for one in sections]
    assert titles == [
        "Purpose",
        "Finding",
        "Signs of high risk",
        "Strengths",
        "Caveats",
        "Mechanism",
        "Features",
        f"Groups of {audited.by_group.by}",
        "Interactions",
        "Protected attributes",
        "Limitations",
        "Assumptions",
        "Definitions",
        "Sign-off",
        "All features",
        "Method",
        "Model and data",
        "Settings and work",
        "Reproduce",
    ]
    appendix = ["appendix" in one.attrs.get("class", "").split() for one in sections]
    assert appendix == sorted(appendix)
    assert titles[appendix.index(True)] == "All features"
    links = [link.attrs["href"] for link in page.one("nav", "toc").all("a")]
    assert links == [f"#{one.attrs['id']}" for one in sections]


def test_the_documentation_lists_every_field():
    """In the table of fields and their tests."""
    path = Path(__file__).parents[2] / "docs" / "audit.md"
    if not path.exists():
        pytest.skip("the documentation is not here")
    listed = path.read_text(encoding="utf-8").partition("| fields: each is the name of its test")[2]
    rows = [line for line in listed.splitlines() if line.startswith("| ")][1:]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(names) == sorted(FIELDS)
