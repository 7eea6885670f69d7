"""Labels: two different names never look the same."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from name_sets import N_SETS, name_set

from sfit._labels import columns, labels, left_out_of_labels, look, set_label
from sfit._text import printable

WIDTHS = (8, 12, 17, 26, 60)


def check(names, width, mark="…"):
    """Every promise of `labels`."""
    found = labels(names, width, mark)
    assert list(found) == list(dict.fromkeys(names))
    assert len(set(map(look, found.values()))) == len(found)
    assert all(found.values())
    assert max(map(columns, found.values()), default=0) <= width
    assert all(printable(label) == label == label.strip() for label in found.values())
    assert labels(sorted(names, reverse=True), width, mark) == found
    looks = {name: look(printable(name)) for name in found}
    for name, label in found.items():
        others = [seen for other, seen in looks.items() if other != name]
        assert label == name or look(label) not in others


@pytest.mark.parametrize("number", range(N_SETS))
def test_labels_of_awkward_names(number):
    """300 sets of names: unique, within the width, printable, the same in any order."""
    names = name_set(number)
    for width in WIDTHS:
        check(names, width)


@pytest.mark.parametrize("number", range(N_SETS))
def test_labels_of_sets_of_awkward_names(number):
    """Single features, pairs and triples of the same names never have the same label."""
    names = name_set(number)[:12]
    found = labels(names, 12)
    terms = [term for size in (1, 2, 3) for term in combinations(names, size)]
    assert len({look(set_label(term, found)) for term in terms}) == len(terms)


awkward_text = st.text(st.sampled_from("aAbéx́_.- +|…()12\x00\u200d\xa0日$"), max_size=60)


@given(
    st.lists(st.text(max_size=40) | awkward_text, unique=True, max_size=12),
    st.integers(8, 40),
    st.sampled_from(["…", "..."]),
)
def test_labels_of_any_names(names, width, mark):
    """The same for whatever hypothesis finds."""
    check(names, width, mark)


@given(st.lists(awkward_text, unique=True, min_size=2, max_size=12), st.integers(0, 7))
def test_a_narrow_width_gives_way_to_numbers(names, width):
    """Labels stay unique; only numbers, in brackets, may be wider."""
    found = labels(names, width)
    assert len(set(map(look, found.values()))) == len(found)
    for label in found.values():
        assert columns(label) <= max(width, 1) or label.endswith(")")


@given(st.lists(st.from_regex(r"[a-z]{1,5}(_[a-z]{1,5}){0,3}", fullmatch=True), unique=True))
def test_names_that_fit_stay_as_they_are(names):
    """A plain name that fits is its own label."""
    assert labels(names, 23) == {name: name for name in names}


@pytest.mark.parametrize(
    ("names", "width", "expected", "note"),
    [
        (["age", "income"], 26, ["age", "income"], ""),
        (
            ["customer_bureau_amount_scaled", "customer_bureau_months_scaled"],
            20,
            ["…amount_scaled", "…months_scaled"],
            "begins with “customer_bureau_”,",
        ),
        (
            ["customer_bureau_amount_scaled", "customer_bureau_months_scaled"],
            9,
            ["…amount…", "…months…"],
            "begins with “customer_bureau_” and ends with “_scaled”,",
        ),
        # A number alone says nothing: the last word stays.
        ([f"a_very_long_pixel_{i}" for i in "12"], 10, ["…pixel_1", "…pixel_2"], "“a_very_long_”"),
        # Only words are left out, never their parts.
        (["incomeA" * 5, "incomeB" * 5], 9, None, ""),
        (["a" * 40 + "X" + "b" * 40, "a" * 40 + "Y" + "b" * 40], 11, ["aaaa…X…bbbb", "aaaa…Y…bbbb"], ""),
        (["a\x00", r"a\x00"], 12, [r"a\x00 (2)", r"a\x00"], ""),
        (["a", "a "], 12, ["a", "a (2)"], ""),
        (["é", "e\u0301"], 12, ["é (2)", "e\u0301 (1)"], ""),
        (["", " ", "\u3164"], 12, ["(blank) (1)", "(blank) (2)", "(blank) (3)"], ""),
        (["x²", "x2", "Age", "age"], 12, ["x²", "x2", "Age", "age"], ""),
        (["日本語" * 5], 9, ["日本…本語"], ""),
    ],
)  # fmt: skip
def test_examples(names, width, expected, note):
    """What labels look like, and what a caption says of them."""
    found = labels(names, width)
    if expected is None:
        assert all(label.startswith("inc") for label in found.values())
    else:
        assert sorted(found.values()) == sorted(expected)
    said = left_out_of_labels(names, width)
    assert note in said
    assert bool(note) == bool(said)


def test_columns_are_counted_as_a_terminal_does():
    """Two for East Asian characters, none for marks."""
    assert [columns(text) for text in ("abc", "日本", "e\u0301", "\uff46", "")] == [3, 4, 1, 2, 0]


def test_members_of_a_set_are_joined_by_plus():
    """Names that contain the sign lose the spaces around it."""
    found = labels(["a", "b", "a + b"], 20)
    assert set_label(("a", "b"), found) == "a + b"
    assert set_label(("a + b",), found) == "a+b"
