"""Every view of a result shows the same caveats: summary, terminal, notebook, pages and JSON."""

import html
import io
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sfit

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
rich_console = pytest.importorskip("rich.console")
pytest.importorskip("typer")

ANSI = re.compile(r"\x1b\[[0-9;]*m")
X, Y = sfit.simulate.interactions(300, random_state=0)
MODEL = sfit.simulate.interactions_mean
HALF = np.where(X["X6"] > 0, "upper & <b>", "lower")


def feature(**options):
    return sfit.feature_significance(MODEL, X, Y, **options)


def tied():
    frame = X.assign(**{"lower_case*": 1.0, "minority": 1.0 * (np.arange(300) % 20 == 0)})

    def model(rows):
        return MODEL(rows) + 0 * rows["lower_case*"] + 3 * rows["minority"]

    return sfit.feature_significance(model, frame, model(frame), beta=0)


RESULTS = {
    "sign": lambda: sfit.feature_significance(
        MODEL, *sfit.simulate.interactions(3_000, random_state=0), max_order=2, beta=(0.01, 0.001)
    ),
    "corrected": lambda: feature(max_order=2, correction="fdr_by", test="mean", random_state=0),
    "few": lambda: sfit.feature_significance(MODEL, X[:60], Y[:60]),
    "tied": tied,
    "permutation": lambda: feature(
        test=sfit.PermutationTest(n_permutations=19), correction="holm", random_state=0
    ),
    "clusters": lambda: feature(clusters=np.arange(300) % 25),
    "by": lambda: feature(by=HALF),
    "by permutation": lambda: feature(by=HALF, test="permutation", random_state=0),
    "loco": lambda: sfit.loco_significance(LinearRegression(), X[:200], Y[:200], X[200:], Y[200:]),
    "cross": lambda: sfit.cross_significance(
        LinearRegression(), X[:150], Y[:150], n_folds=3, random_state=0
    ),
    "models": lambda: sfit.compare_models(
        {"first": MODEL, "second": lambda rows: 0 * rows["X1"]}, X[:100], Y[:100], random_state=0
    ),
    "features": lambda: sfit.compare_features(MODEL, X[:100], Y[:100], random_state=0),
    "parts": lambda: sfit.compare_parts(
        MODEL, X, Y, by=np.arange(300) % 2, clusters=np.arange(300) % 20, random_state=0
    ),
}


AUDITS = {
    "audit by group": lambda: sfit.audit(
        MODEL, X, Y, by=HALF, protected={"half": HALF}, budget=60, n_background=5, random_state=0
    ),
    "audit of a name": lambda: sfit.audit(
        lambda rows: rows["part"] + 0 * rows["_b*"],
        X[["X1"]].rename(columns={"X1": "part"}).assign(**{"_b*": 1.0, "`c`": 2.0}),
        Y,
        n_background=5,
        random_state=0,
    ),
}


@cache
def made(name):
    return {**RESULTS, **AUDITS}[name]()


def bare(text):
    """A sentence without spaces, which lines break at, and with a small first letter."""
    text = "".join(text.split())
    return text[:1].lower() + text[1:]


def on_a_terminal(result, width=80):
    from sfit.cli import _show

    written = io.StringIO()
    console = rich_console.Console(
        file=written, width=width, force_terminal=True, highlight=False, legacy_windows=False
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_show, "Console", lambda **_: console)
        _show.show_result(result)
    return ANSI.sub("", written.getvalue())


def in_notes(text):
    """The notes of a summary: from one to the next, or to the settings below them."""
    notes = re.split(r"^Note: ", text, flags=re.MULTILINE)[1:]
    return [bare(note.partition("\n\n")[0]) for note in notes]


def in_notebook(result):
    notes = re.findall(r"<p>Note: (.*?)</p>", result._repr_html_())
    return [bare(html.unescape(note)) for note in notes]


def in_markdown(result):
    text = result.to_markdown().partition("## Keep in mind")[2].partition("\n## ")[0]
    lines = [line[2:] for line in text.splitlines() if line.startswith("- ")]
    return [bare(re.sub(r"\\(.)", r"\1", line)) for line in lines]


def on_the_page(result):
    """The page may add places where a long word can break."""
    lists = re.findall(r'<ul class="caveats">(.*?)</ul>', result.to_html(), re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", "".join(lists), re.DOTALL)
    return [bare(html.unescape(item.replace("<wbr>", ""))).replace("\u200b", "") for item in items]


def in_json(result):
    content = json.loads(result.to_json())["result"]
    if "parts" not in content or "by" not in content:
        return list(map(bare, content["caveats"]))
    names = [f"{content['by']} = {part['part']}" for part in content["parts"]]
    every = dict.fromkeys(text for part in content["parts"] for text in part["caveats"])
    holders = {
        text: [n for n, p in zip(names, content["parts"], strict=True) if text in p["caveats"]]
        for text in every
    }
    return [
        bare(text if len(of) == len(names) else f"{' and '.join(of)}: {text}")
        for text, of in holders.items()
    ]


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_every_view_shows_the_same_caveats(name):
    """Sentence by sentence, and in the same order."""
    result = made(name)
    expected = list(map(bare, result.caveats))
    assert expected and len(set(expected)) == len(expected)
    assert in_notes(result.summary()) == expected
    assert in_notes(on_a_terminal(result)) == in_notes(on_a_terminal(result, 120)) == expected
    assert in_notebook(result) == expected
    assert in_markdown(result) == expected
    assert on_the_page(result) == expected
    assert in_json(result) == expected
    again = type(result).from_json(result.to_json())
    assert again.caveats == result.caveats and again == result


def under_the_heading(text, start):
    """The items of an audit's list of caveats: up to the next heading or an empty line."""
    block = text.partition(start)[2].lstrip("\n").partition("\n\n")[0]
    return re.split(r"^- ", block, flags=re.MULTILINE)[1:]


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("name", AUDITS)
def test_every_view_of_an_audit_shows_the_same_caveats(name):
    """Sentence by sentence, and in the same order; a terminal shows the summary."""
    audit = made(name)
    expected = list(map(bare, audit.caveats))
    assert expected and len(set(expected)) == len(expected)
    assert list(map(bare, under_the_heading(audit.summary(), "\nCaveats\n"))) == expected
    assert in_notebook(audit) == expected
    markdown = under_the_heading(audit.to_markdown(), "\n### Caveats\n")
    assert [bare(re.sub(r"\\(.)", r"\1", text)) for text in markdown] == expected
    page = audit.to_html().partition("<h3>Caveats</h3>")[2].partition("</ul>")[0]
    items = re.findall(r"<li>(.*?)</li>", page, re.DOTALL)
    assert [bare(html.unescape(item.replace("<wbr>", ""))) for item in items] == expected
    assert in_json(audit) == expected
    assert type(audit).from_json(audit.to_json()).caveats == audit.caveats


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_a_terminal_shows_the_summary_of_an_audit(capsys):
    """Whatever its width."""
    from sfit.cli import _show

    console = rich_console.Console(file=io.StringIO(), width=120, force_terminal=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_show, "Console", lambda **_: console)
        _show.show_result(made("audit by group"))
    assert capsys.readouterr().out == made("audit by group").summary() + "\n"


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_the_results_have_many_kinds_of_caveats():
    """The test above sees the caveats of the run and those that follow from the result."""
    texts = " ".join(text for name in RESULTS for text in made(name).caveats)
    for words in (
        "reference values were taken from the test rows",
        "constant over these rows",
        "rows are few",
        "clusters are few",
        "disagree about zero",
        "without the correction only",
        "without a correction",
        "interval is a single point",
        "gate after order 1 is open",
        "not proven interactions",
        "no p-value of order 1 can be below",
        "part = upper & <b>: ",
    ):
        assert words in texts, words


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.parametrize("name", ["sign", "corrected", "few", "tied", "permutation", "clusters"])
def test_deciding_again_renews_the_caveats(name):
    """Back at the first level and correction, they are the first ones; in between, those due."""
    result = made(name)
    settings = result.settings
    for alpha, correction in ((0.2, None), (0.001, "bonferroni")):
        other = result.at(alpha=alpha, correction=correction)
        assert other.at(alpha=settings.alpha, correction=settings.correction) == result
        lost = [t for t in other.tests if not t.significant and t.p_value < alpha]
        assert any("correction only" in text for text in other.caveats) == bool(lost)
        assert any("is open" in text for text in other.caveats) == other.remainder


def test_a_closed_gate_is_not_reported_once_it_is_open():
    """What was said about a decision is said again of the new decision only."""
    result = feature(reference=X)
    [gate] = result.gates
    closed = replace(gate, p_value=0.03, is_open=False, loss_found=result.tests[0].loss_base)
    result = replace(result.at(alpha=0.01), gates=(closed,), caveats=("kept",))
    assert sum(text.startswith("the gate is closed") for text in result.caveats) == 1
    other = result.at(alpha=0.05)
    assert not any(text.startswith("the gate is closed") for text in other.caveats)
    assert any("the gate after order 1 is open" in text for text in other.caveats)
    assert other.caveats[0] == "kept"


def test_a_caveat_that_begins_with_a_name_keeps_its_letters():
    """Pages begin sentences with a capital letter, but names are not theirs to change."""
    frame = X.rename(columns={"X1": "age"})

    def model(rows):
        return MODEL(rows.rename(columns={"age": "X1"}))

    result = sfit.feature_significance(model, frame, Y)
    result = replace(result, caveats=("age lowers the mean loss.", "ages ago.", "no rows."))
    page = html.unescape(result.to_html())
    for text in ("<li>age lowers", "<li>Ages ago.", "<li>No rows."):
        assert text in page
