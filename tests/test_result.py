"""Results are frozen and complete: tables, words and JSON are views of them."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import sfit
from sfit._document import sealed
from sfit._multiplicity import CORRECTIONS, adjust
from sfit._result import SetTest
from sfit._text import listed, p_relation, p_text
from sfit.exceptions import ArgumentError, DataError, SFITWarning
from sfit.simulate import interactions, interactions_mean

TABLE = [
    "order",
    "term",
    "set",
    "base",
    "statistic",
    "ci_low",
    "ci_high",
    "ci_lower",
    "p_value",
    "p_adjusted",
    "significant",
    "n_positive",
    "n",
    "beta",
    "beta_max",
]


@pytest.fixture(scope="module")
def result():
    """The perfect model of section 3, to order 2."""
    X, y = interactions(10_000, random_state=0)
    return sfit.feature_significance(
        interactions_mean, X, y, beta=(0.01, 0.001), max_order=2, correction="fdr_by"
    )


@pytest.fixture(scope="module")
def by_class():
    """A classification, part by part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + rng.logistic(size=600) > 0, "yes", "no")
    return sfit.feature_significance(LogisticRegression().fit(X, y), X, y, by="class")


@pytest.fixture(scope="module")
def few():
    """Four rows: infinite intervals, no beta_max."""
    X = np.arange(1.0, 5.0)[:, None]
    with pytest.warns(SFITWarning):
        return sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], reference=0)


def test_the_table_has_the_columns_of_the_design(result):
    """One row per set, in the order of testing, with the types one expects."""
    table = result.table
    assert list(table.columns)[: len(TABLE)] == TABLE
    assert len(table) == len(result.tests)
    assert table["term"].iloc[0] == ("X1",)
    assert table["set"].iloc[0] == "X1"
    assert table["set"].tolist() == [", ".join(term) for term in table["term"]]
    assert table["base"].iloc[0] == ()
    assert table["significant"].dtype == bool
    assert table["n_positive"].dtype.kind == table["n"].dtype.kind == "i"
    for name in ("statistic", "ci_low", "ci_high", "ci_lower", "p_value", "beta", "beta_max"):
        assert table[name].dtype == np.float64
    for row, test in zip(table.itertuples(index=False), result.tests, strict=True):
        assert row.term == test.term
        assert row.statistic == test.statistic


def test_a_changed_table_changes_no_result(result):
    """Every frame is made anew."""
    table, features = result.table, result.features
    table["p_value"] = 0.0
    features["order"] = 9
    assert result.table["p_value"].max() == 1.0
    assert result.features["order"].max() == 2


def test_features_say_when_and_through_what(result):
    """X1 and X3 alone, X2 through (X1, X2), X4 and X5 together, X6 and X7 never."""
    features = result.features.set_index("feature")
    assert features["order"].to_dict() == dict(
        zip([f"X{j}" for j in range(1, 8)], [1, 2, 1, 2, 2, 0, 0], strict=True)
    )
    assert features.loc["X2", "set"] == ("X1", "X2")
    assert features.loc["X2", "base"] == ("X1",)
    assert features.loc["X4", "set"] == features.loc["X5", "set"] == ("X4", "X5")
    alone = next(test for test in result.tests if test.term == ("X6",))
    assert features.loc["X6", "statistic"] == alone.statistic
    assert features.loc["X6", "p_adjusted"] == alone.p_adjusted
    assert result.selected == ("X1", "X2", "X3", "X4", "X5")


def test_significant_sets_by_order(result):
    """A dict from order to terms, equal to what the table says."""
    assert result.significant == {1: [("X1",), ("X3",)], 2: [("X1", "X2"), ("X4", "X5")]}
    table = result.table
    for order, terms in result.significant.items():
        rows = table[(table["order"] == order) & table["significant"]]
        assert rows["term"].tolist() == terms


def test_results_are_frozen(result, by_class):
    """No field of a result, a test, a gate or a part can be set."""
    for thing, name in (
        (result, "tests"),
        (result.tests[0], "p_value"),
        (result.gates[0], "is_open"),
        (result.settings, "alpha"),
        (by_class, "parts"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)
    assert hash(result) == hash(sfit.SFITResult.from_json(result.to_json()))


# ------------------------------------------------------------------------------------------- at


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("alpha", [1e-6, 0.01, 0.2])
def test_deciding_again_at_another_level(result, alpha, correction):
    """Adjusted within each order from the stored p-values; intervals stay; p < alpha strictly."""
    again = result.at(alpha=alpha, correction=correction)
    assert (again.settings.alpha, again.settings.correction) == (alpha, correction)
    for order in (1, 2):
        family = [test for test in again.tests if test.order == order]
        p = np.array([test.p_value for test in result.tests if test.order == order])
        expected = adjust(p, correction)
        np.testing.assert_array_equal([test.p_adjusted for test in family], expected)
        assert [test.significant for test in family] == (expected < alpha).tolist()
    for one, other in zip(result.tests, again.tests, strict=True):
        assert (one.ci_low, one.ci_high, one.n_positive) == (
            other.ci_low,
            other.ci_high,
            other.n_positive,
        )
    assert [gate.is_open for gate in again.gates] == [gate.p_value < alpha for gate in result.gates]


def resealed(text, old, new):
    """A document with another text in it, and the checksum of that."""
    assert old in text
    return json.dumps(sealed(json.loads(text.replace(old, new))))


def test_the_level_of_the_run_is_kept(result):
    """Of however many decisions: it is that of intervals and beta_max, in a file as well."""
    again = result.at(alpha=0.01).at(alpha=0.2)
    assert (again.settings.alpha, again.settings.run_alpha) == (0.2, 0.05)
    assert (result.settings.planned_alpha, result.settings.run_alpha) == (None, 0.05)
    assert sfit.SFITResult.from_json(again.to_json()) == again
    assert again.at(alpha=0.05) == result
    for bad in ("0", "1.5", '"0.05"'):
        forged = resealed(again.to_json(), '"planned_alpha": 0.05', f'"planned_alpha": {bad}')
        with pytest.raises(DataError, match="planned_alpha"):
            sfit.SFITResult.from_json(forged)
    before = resealed(result.to_json(), ',\n   "planned_alpha": null', "")
    assert "planned_alpha" not in before
    assert sfit.SFITResult.from_json(before) == result


def test_deciding_at_the_same_level_changes_nothing(result, by_class):
    """`at()` without arguments is the result; going there and back as well."""
    assert result.at() == result
    assert result.at(alpha=0.5, correction=None).at(alpha=0.05, correction="fdr_by") == result
    assert result.at(correction=None).settings.correction is None
    assert by_class.at() == by_class
    there = by_class.at(alpha=1e-9, correction="holm")
    assert there["yes"] == by_class["yes"].at(alpha=1e-9, correction="holm")


def test_a_first_order_decided_again_equals_a_new_run():
    """At order 1 nothing depends on the level but decisions: `at` equals asking anew."""
    X, y = interactions(3_000, random_state=1)

    def run(**options):
        return sfit.feature_significance(interactions_mean, X, y, **options)

    for options in (
        {"alpha": 0.001},
        {"correction": "holm"},
        {"alpha": 0.3, "correction": "fdr_bh"},
    ):
        again, fresh = run().at(**options), run(**options)
        assert again.significant == fresh.significant
        assert again.table["p_adjusted"].tolist() == fresh.table["p_adjusted"].tolist()


@pytest.mark.parametrize(
    "options", [{"alpha": 0}, {"alpha": 1.0}, {"alpha": -1}, {"correction": "sidak"}]
)
def test_levels_and_corrections_are_checked(result, options):
    """The same ArgumentError as in the first call."""
    with pytest.raises(ArgumentError, match=next(iter(options))):
        result.at(**options)


# ----------------------------------------------------------------------------------------- words


def test_the_summary_says_what_was_done_and_found(result):
    """Settings, one line per set, the finding in a sentence, gates and notes."""
    text = result.summary()
    assert str(result) == text
    for words in (
        "absolute_error",
        "10,000",
        "fdr_by",
        "0.01, 0.001",
        "5 of 7 features significantly improve the typical row, alone or in a set: "
        "X1, X2, X3, X4 and X5.",
        "Gate after order 1",
        "open: there is more to find",
        "Gate after order 2",
        "closed",
        "Note: ",
        "Order 1: each feature alone (7 tested, 2 significant)",
        "Order 2: pairs (20 tested, 2 significant)",
        "Verdicts are corrected (fdr_by), intervals are not.",
    ):
        assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    [line] = [line for line in text.splitlines() if line.startswith("X1 + X2")]
    assert line.split()[3] == "X1"
    assert line.endswith("***")


def test_p_values_in_words():
    """Three digits, and a bound where a float ends: never p = 0."""
    values = (1.0, 0.0123456, 0.001, 2.87e-242, 1e-300, 1e-310, 0.0)
    assert [p_text(p) for p in values] == [
        "1", "0.0123", "0.001", "2.87e-242", "1e-300", "< 1e-300", "< 1e-300",
    ]  # fmt: skip
    assert [p_relation(p) for p in (0.0123456, 0.0)] == ["p = 0.0123", "p < 1e-300"]


def test_lists_in_sentences():
    """Commas, an "and", and a count where there are many."""
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh"), 3) == "a, b, c and 5 more"


def test_the_summary_counts_what_it_leaves_out():
    """Sixty features: forty lines and a count of the others."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 60))
    result = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0])
    heading = (
        "Order 1: each feature alone (60 tested, 1 significant; 20 not listed here: see .table)"
    )
    assert heading in " ".join(result.summary().split())
    assert "1 of 60 features significantly improves the typical row: x0." in result.summary()
    none = sfit.feature_significance(lambda z: 0 * z[:, 0], X, X[:, 0])
    assert "None of 60 features significantly improves the typical row." in none.summary()


def test_the_summary_of_a_permutation_test():
    """Its own columns and words, the resolution among the facts, and never p = 0."""
    X, y = interactions(2_000, random_state=0)
    result = sfit.feature_significance(
        interactions_mean, X[1_000:], y[1_000:], test="permutation", reference=X[:1_000],
        random_state=0,
    )  # fmt: skip
    text = result.summary()
    [head] = [line for line in text.splitlines() if line.startswith("set")]
    assert head.split() == ["set", "rise", "interval", "p-value", "z", "moved"]
    assert "Smallest p: 0.0005 (resolution)" in text
    assert "Interval:   asymptotic, nominal coverage 0.9500" in text
    assert "2 of 7 features are significantly related to the outcome: X1 and X3." in text
    [line] = [line for line in text.splitlines() if line.startswith("X1 ")]
    first = result.tests[0]
    assert line.split()[1] == f"{first.rise:.4g}"
    assert line.split()[4:] == ["0.0005", f"{first.z:.4g}", "100%", "***"]
    [ignored] = [line for line in text.splitlines() if line.startswith("X6 ")]
    assert ignored.split()[-3:] == ["1", "-", "0%"]
    corrected = result.at(correction="holm").summary()
    assert "adj. p" in corrected and "0.0035" in corrected
    html = result._repr_html_()
    for name in ("rise", "interval", "z", "moved"):
        assert f"<th>{name}</th>" in html
    assert "median" not in text and "beta" not in text and "p = 0." not in text


def test_html_escapes_what_comes_from_the_user():
    """Names of features and of parts are text, never markup."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["<script>alert(1)</script>", "a&b"])

    def model(rows):
        return rows.iloc[:, 0].to_numpy()

    y = X.iloc[:, 0].to_numpy()
    html = sfit.feature_significance(model, X, y)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b" in html
    assert html.count("<tr>") == 3
    parts = sfit.feature_significance(model, X, y, by=np.where(y > 0, "<b>", "<i>"))
    assert "<b>" not in parts._repr_html_()
    assert "&lt;b&gt;" in parts._repr_html_()
    assert "<b>" in parts.summary()


def test_long_names_do_not_break_the_table():
    """Columns line up whatever the names are."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "n" * 60])
    text = sfit.feature_significance(lambda z: z["a"].to_numpy(), X, X["a"]).summary()
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("set"))
    end = lines[start].index("p-value") + len("p-value")
    assert all(line[end - 1] != " " == line[end] for line in lines[start + 2 : start + 4])
    assert max(map(len, lines)) <= 80


# ------------------------------------------------------------------------------------------ JSON


def assert_same(one, other):
    assert one == other
    assert one.to_json() == other.to_json()
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    pd.testing.assert_frame_equal(one.features, other.features, check_exact=True)


def test_json_comes_back_exactly(result, few, tmp_path):
    """From text and from a file; infinities and missing numbers too; strict JSON."""
    for one in (result, few):
        text = one.to_json(tmp_path / "result.json")
        json.loads(text, parse_constant=lambda word: pytest.fail(word))
        assert_same(sfit.SFITResult.from_json(text), one)
        assert_same(sfit.SFITResult.from_json(tmp_path / "result.json"), one)
        assert_same(sfit.SFITResult.from_json(str(tmp_path / "result.json")), one)
    again = sfit.SFITResult.from_json(few.to_json())
    assert again.tests[0].ci_low == -math.inf
    assert again.tests[0].ci_high == math.inf
    assert math.isnan(again.tests[0].beta_max)
    assert again.gates == few.gates
    assert again.settings == few.settings


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True], [1.5, 2.5]])
def test_parts_come_back_exactly(labels, tmp_path):
    """With their labels, of whatever plain type."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    part = np.asarray(labels)[(X[:, 1] > 0).astype(int)]
    result = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], by=part)
    result.to_json(tmp_path / "parts.json")
    for again in (
        sfit.PartitionedResult.from_json(result.to_json()),
        sfit.PartitionedResult.from_json(tmp_path / "parts.json"),
    ):
        assert again == result
        assert list(again) == labels
        assert list(map(type, again)) == list(map(type, labels))
        pd.testing.assert_frame_equal(again.table, result.table, check_exact=True)
        assert again[labels[1]] == result[labels[1]]


def test_parts_by_date_can_be_written():
    """Labels that JSON does not know are no reason to lose a result."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    X["day"] = pd.to_datetime(np.where(X["b"] > 0, "2024-01-01", "2024-01-02"))
    result = sfit.feature_significance(lambda z: z["a"].to_numpy(), X, X["a"], by="day")
    assert "2024-01-01" in result.summary()
    again = sfit.PartitionedResult.from_json(result.to_json())
    assert list(again.values()) == list(result.values())


def test_a_chosen_beta_comes_back_exactly():
    """With all thresholds, whether finite or not."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3))
    y = 5 + X[:, 0] + 0.1 * rng.normal(size=400)

    def random_model(rng):
        weights = rng.normal(size=3)
        return lambda z: z @ weights

    chosen = sfit.feature_significance(
        lambda z: 5 + z[:, 0],
        X,
        y,
        beta="auto",
        test=sfit.SignTest(random_model=random_model),
        random_state=1,
    )
    assert chosen.beta_choice is not None
    assert_same(sfit.SFITResult.from_json(chosen.to_json()), chosen)
    odd = replace(
        chosen.beta_choice, thresholds=((0.5, -math.inf, 0.0), (math.inf, 0.25, -0.5)), grid=(0.1,)
    )
    changed = replace(chosen, beta_choice=odd)
    again = sfit.SFITResult.from_json(changed.to_json())
    assert again.beta_choice == odd
    assert again.beta_choice.rate(0.3) == odd.rate(0.3)


FLOATS = st.floats(allow_nan=True, allow_infinity=True)
WORDS = st.text(max_size=5) | st.sampled_from(["nan", "inf", "-inf", "null", '"'])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=FLOATS, b=FLOATS, c=FLOATS, name=WORDS, count=st.integers(1, 10**12))
def test_any_number_and_any_name_comes_back(few, a, b, c, name, count):
    """Doubles to the last bit, words that look like numbers as words."""
    effects = {"loss_base": a, "loss_full": b, "share_moved": 0.5, "n_better": 0, "n_worse": count}
    test = SetTest(
        **effects, order=1, term=(name,), base=(), statistic=a, ci_low=b, ci_high=c, ci_lower=a,
        p_value=0.5, p_adjusted=0.5, significant=False, n_positive=count, n=count, beta=0.01,
        beta_max=b,
    )  # fmt: skip
    result = replace(few, tests=(test,), feature_names=(name,))
    again = sfit.SFITResult.from_json(result.to_json())
    assert again == result
    assert again.feature_names == (name,)
    for one, other in zip(
        (a, b, c),
        (again.tests[0].statistic, again.tests[0].ci_low, again.tests[0].ci_high),
        strict=True,
    ):
        assert one == other or (math.isnan(one) and math.isnan(other))


def test_how_it_was_run_is_kept_apart(result):
    """`run` differs from run to run and is no part of equality."""
    document = json.loads(result.to_json())
    assert set(document) == {"schema_version", "kind", "result", "run", "checksum"}
    assert document["run"]["versions"]
    other = replace(result, run={"seconds": -1.0})
    assert other == result
    assert json.loads(other.to_json())["result"] == document["result"]
    assert replace(result, feature_names=()) != result
    assert result != "a result"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"schema_version": 2}',
        '{"schema_version": 99, "kind": "SFITResult", "result": {}, "run": {}}',
        '{"schema_version": 2, "kind": "PartitionedResult", "result": {}, "run": {}}',
        '{"schema_version": 2, "kind": "SFITResult"}',
        '{"schema_version": 2, "kind": "SFITResult", "result": {}, "run": {}}',
        '{"schema_version": 2, "kind": "SFITResult", "result": [], "run": {}}',
    ],
)
def test_json_of_something_else_is_refused(text, tmp_path):
    """A DataError, from text and from a file."""
    with pytest.raises(DataError):
        sfit.SFITResult.from_json(text)
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(DataError):
        sfit.SFITResult.from_json(tmp_path / "other.json")


@pytest.mark.parametrize("content", ["[1, 2]", "not JSON", "3"])
def test_a_file_of_something_else_is_refused(content, tmp_path):
    """Whatever the file holds."""
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(DataError):
        sfit.SFITResult.from_json(tmp_path / "other.json")


# ----------------------------------------------------------------------------------------- parts


def test_parts_are_a_mapping(by_class):
    """Labels to results, in sorted order; unknown labels are a KeyError."""
    assert list(by_class) == ["no", "yes"]
    assert len(by_class) == 2
    assert "yes" in by_class
    assert isinstance(by_class["no"], sfit.SFITResult)
    with pytest.raises(KeyError):
        by_class["perhaps"]
    assert dict(by_class) == dict(by_class.items())
    assert by_class.by == "class"


def test_tables_of_parts_have_the_part_first(by_class):
    """Stacked, part by part."""
    for view in ("table", "features"):
        whole = getattr(by_class, view)
        assert whole.columns[0] == "part"
        for label in by_class:
            rows = whole[whole["part"] == label].drop(columns="part").reset_index(drop=True)
            pd.testing.assert_frame_equal(rows, getattr(by_class[label], view), check_exact=True)
    assert list(by_class.table.columns[1 : len(TABLE) + 1]) == TABLE
    assert by_class.summary().count("Feature significance") == 2
    assert "class = no" in by_class.summary()
    assert str(by_class) == by_class.summary()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("two\nlines", r"two\nlines"),
        ("a\r\tb", r"a\r\tb"),
        ("\x1b[2Jclear", r"\x1b[2Jclear"),
        ("\u2028line", r"\u2028line"),
        ("\u202eback", r"\u202eback"),
        ("thin\u2009space", "thin space"),
        (
            "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646",
            "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646",
        ),
    ],
)
def test_names_take_one_line(name, shown):
    """Whatever is in a name of a feature or a part, its line in a summary is one line."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=60), "plain": 1.0})
    y, part = X[name] + 0.1 * rng.normal(size=60), np.repeat([name, "other"], 30)
    plain = sfit.feature_significance(lambda Z: Z.iloc[:, 0], X.set_axis(["x", "plain"], axis=1), y)
    result = sfit.feature_significance(lambda Z: Z[name], X, y)
    assert result.selected == (name,)
    text = result.summary()
    assert shown in text and len(text.splitlines()) == len(plain.summary().splitlines())
    parts = sfit.feature_significance(lambda Z: Z[name], X, y, by=part).summary()
    assert f"by = {shown}" in parts.splitlines() or f"part = {shown}" in parts
    assert shown in result._repr_html_()


def test_the_gates_of_all_parts(by_class):
    """By label, as each part has them."""
    assert list(by_class.gates) == ["no", "yes"]
    assert all(by_class.gates[label] == part.gates for label, part in by_class.items())
    assert len(by_class.gates["no"]) == 1
