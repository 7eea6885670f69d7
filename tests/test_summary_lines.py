"""Summaries fit 80 columns, whatever the names and numbers, and lose neither a set nor a verdict."""

import math
import re
import unicodedata
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from name_sets import N_SETS, name_set

import sfit
from sfit._layout import WIDTH, Field, Names, fact_lines, laid_out, wrapped
from sfit._summary import MOST_ROWS
from sfit.compare import Grid
from sfit.compare._grid import grid_lines

NUMBERS = (
    0.0,
    1e-300,
    -1e-300,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
    -0.0123456789,
    1234.5,
)


def width(text):
    """Columns that a terminal needs: two for wide characters, none for marks and joiners."""
    return sum(
        0
        if unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def flat(text):
    return " ".join(text.split())


def too_wide(text, limit=WIDTH):
    return [line for line in text.splitlines() if width(line) > limit]


@pytest.fixture(scope="module")
def kinds():
    """One small result of each test."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))

    def of(**options):
        return sfit.feature_significance(
            lambda z: z[:, 0], X, X[:, 0] + rng.normal(size=60), reference=0, **options
        )

    return {
        "sign": of(),
        "permutation": of(test="permutation", random_state=0),
        "mean": of(test="mean", random_state=0),
    }


def made(result, names, max_order, changes, correction=None, n_base=0):
    """A result with these names: all sets up to an order, with the numbers of `changes`."""
    estimate = {"sign": "statistic", "permutation": "rise", "mean": "mean"}
    key = next(key for key in estimate.values() if hasattr(result.tests[0], key))
    changes = {key if name == "estimate" else name: value for name, value in changes.items()}
    tests = [
        replace(
            result.tests[0],
            order=order,
            term=term,
            base=tuple(name for name in names if name not in term)[:n_base],
            **changes,
        )
        for order in range(1, max_order + 1)
        for term in combinations(names, order)
    ]
    settings = replace(result.settings, correction=correction, max_order=max_order)
    return replace(
        result,
        tests=tuple(tests),
        gates=(),
        feature_names=tuple(names),
        settings=settings,
        caveats=(),
    )


def rows_of(text):
    """The lines of the tables of a summary, by order: between a rule and a blank line or a rule."""
    blocks = re.findall(r"^-+\n(.*?)(?=^=+$|^$)", text, re.DOTALL | re.MULTILINE)
    return [block.splitlines() for block in blocks]


names_of_features = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=220),
        st.sampled_from(["a", "名前" * 60, "common_prefix_" + "x" * 80, "\x1b[2J", "e\u0301" * 50]),
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


@given(
    names=names_of_features,
    kind=st.sampled_from(["sign", "permutation", "mean"]),
    max_order=st.integers(1, 3),
    estimate=st.sampled_from(NUMBERS),
    ends=st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
    p_values=st.sampled_from(
        [(0.0, 0.0), (1e-300, 1.0), (0.0123, 0.0499), (0.04, 0.2), (1.0, 1.0)]
    ),
    correction=st.sampled_from([None, "holm"]),
    n_base=st.integers(0, 4),
)
def test_any_summary_fits(
    kinds, names, kind, max_order, estimate, ends, p_values, correction, n_base
):
    """At most 80 columns; every set is there with its p-value and verdict, and told from others."""
    p, adjusted = p_values if correction else (p_values[0],) * 2
    changes = {
        "estimate": estimate,
        "ci_low": ends[0],
        "ci_high": ends[1],
        "p_value": p,
        "p_adjusted": adjusted,
        "significant": adjusted < 0.05,
    }
    result = made(kinds[kind], names, max_order, changes, correction, n_base)
    text = result.summary()
    assert not too_wide(text)
    mark = ("***" if adjusted < 0.001 else "*") if adjusted < 0.05 else "(c)" if p < 0.05 else ""
    mark = mark if correction or adjusted < 0.05 else ""
    orders = sorted({test.order for test in result.tests})
    tables = rows_of(text)
    assert len(tables) == len(orders)
    shown = f"{adjusted:.3g}" if adjusted >= 1e-300 else "< 1e-300"
    for order, rows in zip(orders, tables, strict=True):
        n = math.comb(len(names), order)
        assert len(rows) == n
        # All numbers are the same: two equal rows would be two sets with one label.
        assert len(set(rows)) == n
        assert all(row.endswith(mark) and f" {shown}" in row for row in rows)
        assert f"Order {order}: " in text and f"({n} tested, " in flat(text)
    for limit in (60, 120):
        assert not too_wide("\n".join(line.text for line in result._lines(limit)), limit)


@pytest.mark.parametrize("number", range(0, N_SETS, 4))
def test_labels_are_unique_in_every_table(kinds, number):
    """Two different features, or pairs, never look the same in a table."""
    names = name_set(number)
    result = made(kinds["sign"], names, 2, {})
    text = result.summary()
    assert not too_wide(text)
    for order, rows in enumerate(rows_of(text), 1):
        assert len(set(rows)) == len(rows) == min(math.comb(len(names), order), MOST_ROWS)


def test_what_is_listed_and_what_is_counted_add_up(kinds):
    """The heading of each order counts its sets, those found, and those not listed."""
    names = [f"x{place}" for place in range(60)]
    text = made(kinds["permutation"], names, 2, {"significant": False}).summary()
    counts = re.findall(r"Order (\d): .*?\((\S+) tested, none significant; (\S+) not", flat(text))
    assert counts == [("1", "60", "20"), ("2", "1,770", "1,730")]
    assert [len(rows) for rows in rows_of(text)] == [MOST_ROWS, MOST_ROWS]
    assert "Order 1: each feature alone" in text and "Order 2: pairs (" in text


def test_the_base_stands_in_the_heading_or_beside_the_set(kinds):
    """ "29 others" for a long base; names for a short one, beside each set if they differ."""
    names = [f"feature_{place}" for place in range(30)]
    rest = made(kinds["sign"], names, 1, {}, n_base=29).summary()
    assert "Order 1: each feature, over 29 others (30 tested" in rest
    assert "over" not in rest.partition("Order 1")[2].splitlines()[1]
    differ = made(kinds["sign"], names[:3], 1, {}, n_base=2).summary()
    assert re.search(r"^set +over +median", differ, re.MULTILINE)
    assert re.search(r"^feature_0  feature_1 and feature_2 ", differ, re.MULTILINE)
    one = kinds["sign"].tests[0]
    given = replace(kinds["sign"], tests=(replace(one, base=("x1",)),))
    assert "Order 1: each feature, over x1 (1 tested" in given.summary()
    pair = replace(one, order=2, term=("x0", "x1"), base=("x0", "x1", "g"))
    additive = replace(kinds["sign"], tests=(pair,))
    assert "Order 2: pairs, over their parts and g (1 tested" in additive.summary()


def test_sets_lost_to_the_correction_are_marked(kinds):
    """p below alpha, adjusted p not: marked in every view, and never without a correction."""
    lost = {"p_value": 0.04, "p_adjusted": 0.08, "significant": False}
    result = made(kinds["mean"], ["a", "b"], 1, lost, "holm")
    text = flat(result.summary())
    legend = "Verdicts are corrected (holm), intervals are not. (c): p below 0.05 before the correction only."
    assert legend in text and [row[-3:] for row in rows_of(result.summary())[0]] == ["(c)", "(c)"]
    assert "2 sets are significant at level 0.05 without the correction only: a and b." in text
    assert legend in result._repr_html_() and result._repr_html_().count("<td>(c)</td>") == 2
    found = result.at(correction=None)
    assert found.selected == ("a", "b") and "(c)" not in found.summary()
    assert not any("correction only" in caveat for caveat in found.caveats)
    assert found.at(correction="holm").caveats == result.caveats
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    for page in (result.to_html(), result.to_markdown()):
        assert page.count("not after correction") == 2
        assert "are corrected" in page
    assert "not after correction" not in found.to_html()


@given(st.text(st.characters(codec="utf-8"), max_size=400), st.integers(12, 90))
def test_wrapping_keeps_every_character(text, limit):
    """Lines fit, and what was wrapped reads as before."""
    text = text.replace("\n", " ")
    lines = wrapped(text, limit, "  ")
    assert all(width(line) <= limit for line in lines)
    assert "".join("".join(lines).split(" ")) == "".join(text.split(" "))


@given(
    heads=st.lists(st.text("abc 名", max_size=60), min_size=3, max_size=6),
    cells=st.lists(st.text("0123456789.-", min_size=1, max_size=10), min_size=2, max_size=4),
    first=st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=4, unique=True),
)
def test_any_grid_fits(heads, cells, first):
    """Heads and names are shortened, and dispensable columns dropped; other cells are complete."""
    head = ("Name", *dict.fromkeys((*heads[:2], "Median", "Low", "High")))
    rows = tuple((name, *(cells[i % len(cells)] for i in range(len(head) - 1))) for name in first)
    grid = Grid("A title " * 30, head, rows, (True,) * len(rows), note="long " * 50)
    lines = [line.text for line in grid_lines(grid)]
    assert not [line for line in lines if width(line) > WIDTH]
    marked = [line for line in lines if line.startswith("* ")]
    assert len(set(marked)) == len(marked) == len(first)
    assert all(cells[0] in line for line in marked)


def test_a_set_that_does_not_fit_takes_several_lines():
    """The members of a large set are cut each for itself, and none is dropped."""
    term = tuple(f"a_long_name_of_feature_{place}" for place in range(9))
    laid = laid_out([Names("set", [term])], [Field("p", ["0.05"]), Field("z", ["1"], drop=1)], 40)
    [lines] = laid.rows
    assert len(lines) > 1 and all(len(line) <= 40 for line in lines)
    joined = " ".join(line.partition("  ")[0] for line in lines)
    assert len(set(joined.split(" + "))) == 9 and "0.05" in lines[0]


def test_facts_stand_in_two_columns_if_they_fit():
    """Otherwise in one, with long texts wrapped below their beginning."""
    assert fact_lines([("a", "1"), ("b", "2")], 80) == ["a:          1    b:          2"]
    assert fact_lines([("a", "1"), ("b", "word " * 20)], 40)[:3] == [
        "a:          1",
        "b:          word word word word word",
        "            word word word word word",
    ]
