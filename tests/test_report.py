"""The report: what it says, that it needs nothing else, and that names are only ever text."""

import base64
import hashlib
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import sfit

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from hostile import HOSTILE, hostile_result
from parsed_page import Page

from sfit._text import percent, share_text
from sfit.report._describe import describe
from sfit.report._set_tables import decimals_for


def unwrapped(text):
    """A summary, whose sentences may be broken over lines."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def rows():
    return sfit.simulate.interactions(10_000, random_state=0)


@pytest.fixture(scope="module")
def second(rows):
    return sfit.feature_significance(
        sfit.simulate.interactions_mean, *rows, max_order=2, beta=(0.01, 0.001)
    )


@pytest.fixture(scope="module")
def parts(rows):
    X, y = rows
    by = np.where(X["X6"] > 0, "above", "below")
    return sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=by)


@pytest.fixture(scope="module")
def permuted(rows):
    return sfit.feature_significance(
        sfit.simulate.interactions_mean,
        *(part[:2_000] for part in rows),
        test="permutation",
        loss="squared_error",
        reference=rows[0][2_000:],
        max_order=2,
        random_state=0,
    )


@pytest.fixture(scope="module")
def nothing():
    X = np.random.default_rng(0).normal(size=(100, 3))
    return sfit.feature_significance(lambda z: 0 * z[:, 0], X, X[:, 0])


# --- the page -------------------------------------------------------------------------------


def test_the_page_says_it_all(second, tmp_path):
    """Finding, table, gates, settings, versions, rows, time, routes, caveats, how to read."""
    path = tmp_path / "report.html"
    html = second.to_html(path)
    assert path.read_text(encoding="utf-8") == html + "\n"
    page = Page(html)
    assert page.open == []
    text = page.text
    for words in (
        "5 of 7 features significantly improve the typical row, alone or in a set: X1, X2, X3, X4 "
        "and X5.",
        "The strongest is X1: revealed to the model alone, it lowers the loss on",
        "open: there is more to find",
        "absolute_error",
        "10,000",
        f"sfit {sfit.__version__}",
        "numpy",
        "Route and time",
        "Keep in mind",
        "reference values were taken from the test rows".capitalize(),
        "How to read this",
        "Seed",
    ):
        assert words in text, words
    assert html.count("<figure>") == 4  # coins, build-up, pairs and beta
    assert len(re.findall(r'<th scope="row"', html)) == 2 * (len(second.tests) - 2)
    assert "Revealing one of these 2 features changes no prediction: X6, X7." in text


def test_nothing_comes_from_outside(second, parts):
    """No address of anything to load, no inline style, no event handler; the policy forbids all."""
    for result in (second, parts):
        html = result.to_html()
        page = Page(html)
        for tag, attrs in page.elements:
            assert "style" not in attrs and "src" not in attrs, tag
            assert not [name for name in attrs if name.startswith("on")]
            if "href" in attrs:
                assert attrs["href"].startswith("#") or attrs["href"] == "data:,"
        assert "@import" not in html and "url(http" not in html
        [policy] = [
            attrs["content"]
            for attrs in page.all("meta")
            if attrs.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        for tag in ("script", "style"):
            [inline] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy


def test_ids_are_unique_and_referred_to(second, parts):
    """Several pictures on one page: each has ids of its own."""
    for result in (second, parts):
        page = Page(result.to_html())
        ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
        assert len(set(ids)) == len(ids)
        links = [
            attrs["href"][1:] for _, attrs in page.elements if attrs.get("href", "")[:1] == "#"
        ]
        clips = [attrs["clip-path"][5:-1] for _, attrs in page.elements if "clip-path" in attrs]
        assert {*links, *clips} <= {*ids}


def test_hostile_names_are_only_ever_text():
    """Markup, formulas, quotes, control characters, text turned around: shown, never obeyed."""
    result = hostile_result()
    html = result.to_html()
    page = Page(html)
    harmless = "a body button dd defs div dl dt figcaption figure footer g h1 h2 h3 head header html input label li link main meta p path script section span strong style svg table tbody td text th thead title tr tspan ul use clippath rect pattern"
    assert {tag for tag, _ in page.elements} <= set(harmless.split())
    assert page.open == []
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert "<script>alert(1)</script>" in page.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", html)
    html.encode("utf-8")
    by = np.resize(HOSTILE, 400)
    X = np.random.default_rng(0).normal(size=(400, 2))
    parts = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0] + 1, by=by)
    again = Page(parts.to_html())
    assert len(again.all("script")) == 1 and again.open == []


def test_size_for_many_features():
    """Under 1.2 MB for 100 features and all their pairs; what is left out is counted."""
    rng = np.random.default_rng(0)
    names = [f"a_rather_long_name_of_a_feature_{number:03d}" for number in range(100)]
    X = pd.DataFrame(rng.normal(size=(300, 100)), columns=names)
    weights = np.linspace(1, 0, 100)

    def model(frame):
        return np.asarray(frame) @ weights

    y = model(X) + rng.normal(size=300)
    first = sfit.feature_significance(model, X, y)
    # All pairs, with the numbers of one of their members: the page does not predict anything.
    pairs = [
        replace(one, order=2, term=(*one.term, *other.term), significant=False)
        for one, other in combinations(first.tests, 2)
    ]
    result = replace(first, tests=(*first.tests, *pairs))
    assert len(result.tests) == 5_050
    html = result.to_html()
    assert len(html.encode()) < 1_200_000
    assert "4,450 more sets are not in this table" in html
    plain = html.replace("<wbr>", "")
    assert all(f">{name}<" in plain for name in names[:-1])
    assert f"Revealing this feature changes no prediction: {names[-1]}." in plain
    assert len(first.to_html().encode()) < 350_000


def test_equal_results_give_equal_pages(second):
    """Nothing on the page depends on the moment or on the user's style."""
    import matplotlib.pyplot as plt

    html = second.to_html()
    with plt.style.context("dark_background"):
        assert second.to_html() == html
    assert sfit.SFITResult.from_json(second.to_json()).to_html() == html
    assert plt.get_fignums() == []


def test_a_run_that_says_anything(second):
    """How a result came about is not checked when it is read: odd entries do no harm."""
    odd = {
        "seconds": "<b>",
        "stages": [3, {"stage": "<i>", "route": None, "seconds": "x"}],
        "versions": {"<u>": ["1"]},
    }
    for run in (odd, {"stages": "abc", "versions": 7}, {}):
        page = Page(replace(second, run=run).to_html())
        assert not {"b", "i", "u"} & {tag for tag, _ in page.elements}
        assert ("Time unknown" in page.text) == (run is odd)


def test_three_orders_and_many_parts_fit_on_a_page():
    """A third order has axes and a colour of its own; of many parts the importance is drawn."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2_000, 3))

    def product(z):
        return z[:, 0] * z[:, 1] * z[:, 2]

    third = sfit.feature_significance(product, X, product(X), reference=0, max_order=3)
    html = third.to_html()
    assert "Order 3: sets of 3" in html and "#9922ee" in html[html.index("<svg ") :]
    parts = sfit.feature_significance(product, X, product(X), by=np.resize(np.arange(10), 2_000))
    page = parts.to_html()
    assert page.count("<figure>") == 11
    assert page.count('class="label"') == 10


def test_marks_have_tooltips(second):
    """Every row of the coin plot tells its numbers; the picture is named for readers."""
    html = second.to_html()
    first = html[html.index("<svg ") : html.index("</svg>")]
    assert first.count("<title>") == len(second.tests)
    assert "rows improve, p = " in first
    assert 'role="img" aria-label="How many rows each set improves"' in first
    assert "style" not in first


def test_ignored_features_are_one_line(rows):
    """Only single features that move no row; sets and significant features keep their rows."""
    X, y = (part[:2_000] for part in rows)
    many = X.assign(**{f"unused_{place}": X["X1"] for place in range(20)})

    def model(frame):
        return sfit.simulate.interactions_mean(frame[list(X)])

    result = sfit.feature_significance(model, many, y)
    page = Page(result.to_html())
    names = ["X6", "X7", *(f"unused_{place}" for place in range(20))]
    line = f"Revealing one of these 22 features changes no prediction {', '.join(names)}."
    assert line in page.text
    assert len(page.all("details")) == 1
    assert sum(attrs.get("scope") == "row" for attrs in page.all("th")) == 2 * 5
    assert "22 features changes no prediction: X6, X7" in result.to_markdown()
    # Where every feature is ignored, the table is all there is to say.
    constant = sfit.feature_significance(lambda z: 0 * z[:, 0], np.eye(30), np.ones(30))
    assert "no prediction" not in Page(constant.to_html()).text
    # Each member alone moves nothing, the pair does: it stays in the table.
    Z = X.to_numpy()[:, :3]
    product = sfit.feature_significance(
        lambda z: z[:, 0] * z[:, 1], Z, Z[:, 0] * Z[:, 1], reference=0, max_order=2, exhaustive=True
    )
    page = Page(product.to_html())
    assert "Revealing one of these 3 features changes no prediction" in page.text
    assert sum(attrs.get("scope") == "row" for attrs in page.all("th")) == 2 * 3


# --- the finding ----------------------------------------------------------------------------


def test_findings_of_other_results(nothing, parts, rows):
    """Nothing found, parts, the rest given, refits: two sentences each."""
    first, second = describe(nothing)["finding"]
    assert first == "None of 3 features significantly improves the typical row."
    assert "on 0 of 100 rows, and 59 would be needed." in second
    with pytest.warns(sfit.exceptions.SFITWarning, match="too few"):
        few = sfit.feature_significance(lambda Z: Z[:, 0], np.eye(4), np.eye(4)[0])
    near = describe(few)["finding"][1]
    assert near.endswith("even an improvement on all rows would not be enough.")
    second = describe(nothing.at(correction="bonferroni"))["finding"][1]
    assert "on 0 of 100 rows, and its p-value of 1 is 1 after the correction." in second
    assert describe(parts)["finding"] == [
        "X1 and X3 significantly improve the typical row in all 2 parts by part.",
        "No feature is significant in only some of them.",
    ]
    X, y = rows
    rest = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, given="rest")
    assert "revealed to the model on top of all others, it lowers" in describe(rest)["finding"][1]
    loco = sfit.loco_significance(LinearRegression(), X[:500], y[:500], X[500:900], y[500:900])
    assert "fitting with it lowers the loss on" in describe(loco)["finding"][1]
    assert "Nothing" not in loco.to_html()


def test_a_fall_below_beta_is_not_told_as_none():
    """All rows improve, by less than counts: the sentence says how much would."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    result = sfit.feature_significance(
        lambda z: 0.001 * z[:, 0], X, X[:, 0], loss="absolute_error", reference=0
    )
    text = describe(result)["finding"][1].replace("\N{NO-BREAK SPACE}", " ")
    assert "the loss falls by more than 1 % on 0 of 500 rows" in text


def test_parts_that_differ():
    """What is significant in some parts only is told with the parts."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1_000, 2)), columns=["a", "b"])
    group = np.resize(["u", "v"], 1_000)

    def model(frame):
        return frame["a"].to_numpy() + 2 * frame["b"].to_numpy() * frame["in_v"].to_numpy()

    frame = X.assign(in_v=(group == "v").astype(float))
    parts = sfit.feature_significance(
        model, frame, model(frame), by=group, always_on=["in_v"], reference=0
    )
    first, second = describe(parts)["finding"]
    assert first.startswith("a significantly improves the typical row in all 2 parts")
    assert second == "Significant in only some of them: b (v)."
    html = parts.to_html()
    assert html.count('class="label"') == 2
    assert Page(html).open == []


def test_settings_and_reading_are_those_of_all_parts(rows):
    """All rows, and a coverage that every part has."""
    X, y = rows
    by = np.where(np.arange(len(X)) < 9, "few", "most")
    parts = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=by)
    assert [part.tests[0].n for part in parts.values()] == [9, 9_991]
    said = describe(parts)
    settings, reading = dict(said["settings"]), dict(said["reading"])
    assert settings["Rows"] == "10,000"
    assert settings["Interval"] == "exact, coverage at least 95 %"
    covers = "with probability at least 95\N{NO-BREAK SPACE}%, for any data"
    assert covers in reading["Median and interval"]
    assert dict(describe(parts["few"])["settings"])["Interval"] == "exact, coverage 0.9609"


def test_caveats_are_those_that_apply(second, nothing, rows):
    """Derived from the result, and only then."""

    def caveats(result):
        return " ".join(describe(result)["caveats"])

    X, y = rows
    model = sfit.simulate.interactions_mean
    few = caveats(sfit.feature_significance(model, X[:60], y[:60], reference=X))
    assert "60 rows are few: 37 of them must improve" in few
    assert "taken from the test rows" not in few
    assert "taken from the test rows" in caveats(second)
    assert "without a correction" in caveats(second)
    assert "without a correction" not in caveats(second.at(correction="fdr_by"))
    assert "not proven interactions" in caveats(second)
    one = sfit.feature_significance(model, X, y, reference=X)
    assert "The gate after order 1 is open" in caveats(one)
    assert "rows are few" not in caveats(one) and "interactions" not in caveats(one)
    constant = sfit.feature_significance(
        lambda frame: model(frame) + 0 * frame["c"].to_numpy(), X.assign(c=1.0), y
    )
    assert "Constant over these rows" in caveats(constant)
    assert "Ties:" not in caveats(one)
    tied = sfit.feature_significance(lambda z: 0 * z[:, 0], np.eye(300)[:, :2], np.ones(300))
    assert "Ties: several rows change by exactly the median for x0 and x1" in caveats(tied)
    printed = sfit.SignTest(interval="asymptotic")
    with pytest.warns(sfit.exceptions.SFITWarning, match="too few"):
        alone = sfit.feature_significance(model, X[:1], y[:1], reference=X, test=printed)
    assert alone.tests[0].ci_low == alone.tests[0].ci_high
    assert "Ties:" not in caveats(alone)


def test_an_interval_that_holds_zero_is_explained():
    """One-sided test, two-sided interval: the page says why both can be."""
    signs = np.r_[np.ones(59), -np.ones(41)]
    X = np.c_[np.ones(100), np.zeros(100)] * signs[:, None]
    result = sfit.feature_significance(
        lambda z: np.abs(z[:, 0]) * 0.5, X, signs + 0.0, reference=0, beta=0
    )
    [test] = [test for test in result.tests if test.term == ("x0",)]
    assert test.significant and test.ci_low <= 0
    [caveat] = [text for text in describe(result)["caveats"] if "disagree" in text]
    assert "For 1 set the p-value and the interval disagree about zero" in caveat
    assert "the test is one-sided" in caveat


def test_every_order_is_read_with_its_own_beta(second, nothing, rows):
    """What counts as an improvement is told by order where it differs, and once where not."""

    def rows_improved(result):
        text = dict(describe(result)["reading"])["Rows improved"]
        return text.partition(". ")[0].replace("\N{NO-BREAK SPACE}", " ")

    fall = "Rows whose loss falls by more than 1 %"
    assert rows_improved(second) == f"{fall} at order 1, by more than 0.1 % at order 2"
    assert rows_improved(nothing) == fall
    assert rows_improved(replace(second, tests=second.tests[:1])) == fall
    model = sfit.simulate.interactions_mean
    plain = sfit.feature_significance(model, *rows, max_order=2, beta=(0.01, 0))
    assert rows_improved(plain) == f"{fall} at order 1, by any amount at order 2"
    assert rows_improved(sfit.feature_significance(model, *rows, beta=0)) == "Rows whose loss falls"


def test_beta_max_is_told_with_its_level(rows):
    """Decided at another alpha, verdicts and beta_max are of two levels: the page says of which."""

    def told(result):
        said = describe(result)
        return [
            dict(said["settings"])["alpha"],
            dict(said["reading"])["beta max"].partition(":")[0],
            "significant at alpha = 0.05, without" in result.to_html(),
        ]

    run = sfit.feature_significance(sfit.simulate.interactions_mean, *rows)
    below = "without a correction, for every beta below this number"
    assert told(run) == ["0.05", f"The set stays significant, {below}", False]
    again = run.at(alpha=0.9)
    assert told(again) == [
        "0.9 (beta_max at alpha = 0.05)",
        f"The set stays significant at alpha = 0.05, {below}",
        True,
    ]
    assert "0.9 (beta_max at alpha = 0.05)" in again.summary()
    assert told(again.at(alpha=0.05, correction="holm"))[0] == "0.05"


# --- the permutation test ---------------------------------------------------------------------


def keys(table):
    return [column["key"] for column in table["columns"]]


def test_a_permutation_test_is_told_in_its_own_words(permuted):
    """Rise, z and resolution are explained; nothing is said of medians, beta or improved rows."""
    said = describe(permuted)
    first, second = said["finding"]
    assert first.startswith("5 of 7 features are significantly related to the outcome, alone or in")
    assert second.startswith("The strongest is X3: the mean loss rises by ")
    assert "(asymptotic 95\N{NO-BREAK SPACE}% interval" in second
    assert dict(said["figures"])["smallest p possible"] == "0.0005"
    reading = dict(said["reading"])
    assert {"Significant", "What is compared", "Rise and interval", "p-value", "z"} <= set(reading)
    assert "No p-value can be below the resolution, 0.0005." in reading["p-value"]
    assert "It is exact for any model and loss, if the rows are independent" in reading["p-value"]
    assert "column Guarantee says approximate" in reading["p-value"]  # X2 over X1, which was found
    assert "independent of the outcome" in reading["What is compared"]
    settings = dict(said["settings"])
    assert settings["Smallest p"] == "0.0005 (resolution)"
    assert settings["Interval"] == "asymptotic, nominal coverage 0.9500"
    assert settings["Seed"] == "0"
    text = Page(permuted.to_html()).text
    for words in ("median", "Median", "beta", "improve", "p = 0,", "p = 0:"):
        assert words not in text, words
    assert "How much worse predictions become when taken from another row" in permuted.to_html()
    assert permuted.to_html().count("<figure>") == 2


def test_the_columns_are_those_of_the_test(permuted, second):
    """Each test has its own columns, and both describe losses and rows; keys are of `table`."""
    tests, effects = describe(permuted)["parts"][0]["tables"]
    names = ["order", "term", "base", "rise", "ci_low", "ci_high", "p_value", "z", "guarantee"]
    assert keys(tests) == [*names, "significant"]
    assert set(names) <= set(permuted.table.columns)
    assert keys(describe(second)["parts"][0]["tables"][0])[3:] == [
        "statistic", "ci_low", "ci_high", "p_value", "n_positive", "share", "beta_max",
        "significant",
    ]  # fmt: skip
    for result in (permuted, second):
        _, effects = describe(result)["parts"][0]["tables"]
        assert keys(effects)[3:] == [
            "loss_base", "loss_full", "gain", "share_moved", "n_better", "n_worse",
        ]  # fmt: skip
        for row in effects["rows"]:
            cells = {cell["key"]: cell["value"] for cell in row["cells"]}
            term = next(c["text"] for c in row["cells"] if c["key"] == "term")
            [test] = [one for one in result.tests if " + ".join(one.term) == term]
            for name in keys(effects)[3:]:
                assert float(cells[name]) == pytest.approx(getattr(test, name), rel=1e-5)


def test_a_permutation_test_that_finds_nothing():
    """The nearest miss is told by its p-value; a feature the model ignores has no z."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    options = {"test": "permutation", "reference": 0, "random_state": 0}
    result = sfit.feature_significance(lambda z: z[:, 0] * 0.1, X, y, **options)
    said = describe(result)
    assert said["finding"][0] == "None of 3 features is significantly related to the outcome."
    p = result.tests[0].p_value
    assert said["finding"][1] == (
        f"The closest is x0: its p-value of {p:.3g} is not below alpha = 0.05."
    )
    near = describe(result.at(correction="bonferroni"))["finding"][1]
    assert (
        near
        == f"The closest is x0: its p-value of {p:.3g} is {min(3 * p, 1):.3g} after the correction."
    )
    caveats = " ".join(said["caveats"])
    assert "150 rows are few: the test misses weaker effects" in caveats
    assert "For x1 and x2 the loss does not depend on the row" in caveats
    cells = {c["key"]: c for c in said["parts"][0]["tables"][0]["rows"][-1]["cells"]}
    assert (cells["z"]["text"], cells["z"]["value"]) == ("–", "")


def test_a_reference_from_the_test_rows_is_not_called_exact(rows):
    """Neither test is exact then, and the page says so."""
    X, y = (part[:500] for part in rows)
    for test, term in (("sign", "Rows improved"), ("permutation", "p-value")):
        for reference, exact in ((None, False), (rows[0], True)):
            result = sfit.feature_significance(
                sfit.simulate.interactions_mean,
                X,
                y,
                test=test,
                reference="mean" if reference is None else reference,
                random_state=0,
            )
            text = dict(describe(result)["reading"])[term]
            assert ("It is exact for any model" in text) == exact
            assert ("It is not exact here" in text) == (not exact)


def test_a_p_value_and_an_interval_that_disagree_are_counted(permuted):
    """Only the p-value decides; at another level the interval keeps that of the run."""
    wrong = [replace(test, ci_low=-1.0) for test in permuted.tests if test.significant]
    odd = replace(permuted, tests=(*wrong, *(t for t in permuted.tests if not t.significant)))
    n = len(wrong) + sum(not t.significant and t.ci_low > 0 for t in permuted.tests)
    words = f"or {n} sets the p-value and the interval disagree about zero"
    [caveat] = [text for text in describe(odd)["caveats"] if "disagree" in text]
    assert words in caveat and "only the p-value decides" in caveat
    assert words in unwrapped(odd.summary())
    again = unwrapped(odd.at(alpha=0.01).summary())
    assert "The interval is that of the run at alpha = 0.05" in again
    alpha = dict(describe(odd.at(alpha=0.01))["settings"])["alpha"]
    assert alpha == "0.01 (intervals at alpha = 0.05)"


def test_ties_that_are_dropped_are_told(rows):
    """Every place that counts rows says of which; the rows tested are all rows."""
    X, y = rows
    clipped = X.assign(X3=X["X3"].clip(lower=1))
    result = sfit.feature_significance(
        sfit.simulate.interactions_mean,
        clipped,
        y,
        test=sfit.SignTest(ties="drop"),
        reference={"X3": 1.0},
    )
    said = describe(result)
    assert "the typical row that they move" in said["finding"][0]
    assert dict(said["figures"])["test rows"] == "10,000"
    assert dict(said["settings"])["Ties"] == "dropped"
    assert "among those whose prediction moves" in dict(said["reading"])["Rows improved"]
    [test] = [test for test in result.tests if test.term == ("X3",)]
    assert test.n < 3_000
    assert f"{test.n_positive} of {test.n}" in result.summary()


def test_gates_tell_mean_losses(second):
    """The features found against all features, beside the verdict."""
    [gate, *_] = second.gates
    cells = describe(second)["parts"][0]["gates"][0]
    assert (cells["loss_found"], cells["loss_full"]) == (
        f"{gate.loss_found:.4g}",
        f"{gate.loss_full:.4g}",
    )
    losses = f"Mean loss {gate.loss_found:.4g} with those found, {gate.loss_full:.4g} with all."
    assert losses in unwrapped(second.summary())
    assert cells["loss_found"] in second.to_markdown()


def test_parts_of_a_permutation_test(rows):
    """The overview speaks of relations, and draws rises."""
    X, y = (part[:2_000] for part in rows)
    by = np.where(X["X6"] > 0, "above", "below")
    parts = sfit.feature_significance(
        sfit.simulate.interactions_mean,
        X,
        y,
        test="permutation",
        loss="squared_error",
        reference=rows[0][2_000:],
        by=by,
        random_state=0,
    )
    assert describe(parts)["finding"][0].endswith(
        "are significantly related to the outcome in all 2 parts by part."
    )
    html = parts.to_html()
    assert "rise of the mean loss when predictions come from other rows" in html
    assert Page(html).open == []
    n = parts["above"].settings.n_rows
    assert f"## part = above \\({n:,} rows\\)" in parts.to_markdown()


def test_each_page_names_its_method(second, permuted, rows):
    """The paper, the permutation test, or LOCO."""
    X, y = rows
    loco = sfit.loco_significance(LinearRegression(), X[:500], y[:500], X[500:900], y[500:900])
    assert "Method: E. Horel and K. Giesecke" in Page(second.to_html()).text
    assert "Method: a permutation test" in Page(permuted.to_html()).text
    assert "Method: LOCO, J. Lei" in Page(loco.to_html()).text


# --- numbers and words ------------------------------------------------------------------------


def test_numbers_of_a_column_have_the_same_decimals(second):
    """So that they line up; a true minus sign."""
    rows = describe(second)["parts"][0]["tables"][0]["rows"]
    texts = [cell["text"] for row in rows for cell in row["cells"] if cell["key"] == "statistic"]
    decimals = {len(text.partition(".")[2]) for text in texts if "e" not in text}
    assert len(decimals) == 1
    assert any(text.startswith("−") for text in texts)
    assert "-" not in "".join(texts)
    assert [decimals_for(v) for v in ([1.0], [123.0], [0.05], [0.0], [1e-12], [np.inf])] == [
        2,
        0,
        4,
        2,
        6,
        2,
    ]


def test_per_cent_are_all_or_none_only_where_they_are():
    """Rounding makes neither 100 % of less nor 0 % of more."""
    shares = {0.95: "95", 0.95011: "95", 0.9999: "99.99", 1 - 1e-9: "99.9999999", 1.0: "100"}
    for share, text in {**shares, 0.0: "0", 1e-9: "1e-07"}.items():
        assert percent(share) == f"{text}\N{NO-BREAK SPACE}%"
    X = np.random.default_rng(0).normal(size=(4_000, 2))
    result = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], alpha=1e-5, reference=0)
    assert "with probability 99.999" in dict(describe(result)["reading"])["Median and interval"]
    assert "(99.999" in describe(result)["finding"][1]
    assert "coverage above 0.9999" in result.summary()
    some = [replace(result.tests[0], n_positive=count) for count in (0, 1, 2_000, 3_999, 4_000)]
    [part] = describe(replace(result, tests=tuple(some)))["parts"]
    listed = part["tables"][0]["rows"]
    shares = [c["text"] for row in listed for c in row["cells"] if c["key"] == "share"]
    assert shares == ["0.0 %", "< 0.1 %", "50.0 %", "> 99.9 %", "100.0 %"]
    whole = [share_text(share, decimals=0) for share in (0.0, 0.001, 0.5, 0.999, 1.0)]
    assert whole == ["0%", "< 1%", "50%", "> 99%", "100%"]


def test_p_values_that_end_a_float():
    """Every page and picture says what they are below, as the summary does."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    result = sfit.feature_significance(lambda rows: rows[:, 0], X, X[:, 0], reference=0)
    assert result.tests[0].p_value == 0
    [first, _] = describe(result)["parts"][0]["tables"][0]["rows"]
    assert {cell["key"]: cell["text"] for cell in first["cells"]}["p_value"] == "< 1e-300"
    assert "rows improve, p &lt; 1e-300: significant" in result.to_html()
    assert "< 1e-300" in result.to_markdown()
    for text in (result.summary(), result.to_html(), result.to_markdown()):
        assert "p = 0," not in text and "p = 0:" not in text


# --- Markdown and notebooks -------------------------------------------------------------------


def test_markdown_has_the_table_and_escapes(second, parts, tmp_path):
    """One row per set; bars, stars and brackets of names do not break it."""
    path = tmp_path / "report.md"
    text = second.to_markdown(path)
    assert path.read_text(encoding="utf-8") == text + "\n"
    tests, effects = text.partition("## Mean losses and rows")[::2]
    for part in (tests, effects.partition("## ")[0]):
        rows = [line for line in part.splitlines() if line.startswith("| ")]
        assert len(rows) == len(second.tests) - 2 + 2  # without two ignored features; the heads
        assert len({line.count("|") for line in rows}) == 1
    assert r"significant \*\*\*" in text
    hostile = hostile_result().to_markdown()
    assert "<script" not in hostile.replace(r"\<script", "")
    n = parts["above"].settings.n_rows
    assert f"## part = above \\({n:,} rows\\)" in parts.to_markdown()


def test_the_notebook_shows_table_and_plot(second, parts):
    """Both, without a style or script, in the notebook's own colours."""
    html = second._repr_html_()
    assert html.count("<table>") == 2 and html.count("<svg ") == 1
    assert "currentColor" in html and "<style" not in html and "<script" not in html
    assert Page(html).open == []
    both = parts._repr_html_()
    assert (both.count("<table>"), both.count("<svg ")) == (2, 1)
    assert "<script" not in hostile_result()._repr_html_()


def test_without_the_extras(monkeypatch, second):
    """Without matplotlib a notebook still shows the table; a page says what to install."""
    import builtins
    import importlib.util

    from sfit.exceptions import MissingDependencyError
    from sfit.report import _templates

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] in ("matplotlib", "jinja2"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    found = importlib.util.find_spec
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(
        "sfit.report._notebook.find_spec",
        lambda name: None if name == "matplotlib" else found(name),
    )
    _templates._environment.cache_clear()
    assert "<svg" not in second._repr_html_()
    with pytest.raises(MissingDependencyError, match=r"pip install \"sfit\[report\]\""):
        second.to_html()
    with pytest.raises(MissingDependencyError, match=r"pip install \"sfit\[plot\]\""):
        second.plot()
