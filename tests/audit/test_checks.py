"""The checklist: states and sentences."""

import math

import numpy as np
import pytest

from sfit._audit._checks import checklist, neighbour_correlation
from sfit._audit._data_facts import data_facts
from sfit._audit._overlap import Overlap
from sfit._audit._ranges import Outside

rng = np.random.default_rng(0)
COMPLETE = data_facts(rng.normal(size=(100, 3)), np.arange(100.0))
CLEAN = Overlap(9_000, 0, 0, 21_000, 0)
LOSSES = rng.exponential(size=9_000)


def checks(**changes):
    settings = {
        "data": COMPLETE,
        "losses": LOSSES,
        "overlap": CLEAN,
        "outside": (),
        "constant": (),
        "empty_classes": (),
        "n_clusters": 0,
        "row_order": False,
        "smallest_correlation": 0.03,
        "level": 0.05,
    }
    return {check.name: check for check in checklist(**(settings | changes))}


def one(name, **changes):
    found = checks(**changes)[name]
    assert found.text.endswith(".")
    assert "  " not in found.text
    return found.state, found.text


def test_all_checks():
    found = checks()
    assert list(found) == [
        "Held out",
        "Independent rows",
        "Reference from training rows",
        "Enough rows",
        "No missing values",
        "Every class occurs",
        "Every feature varies",
        "Within the range of training",
    ]
    assert {check.state for name, check in found.items() if name != "Independent rows"} == {"yes"}
    assert "Every class occurs" not in checks(empty_classes=None)


def test_held_out():
    state, text = one("Held out", overlap=None)
    assert (state, "train=" in text) == ("open", True)
    state, text = one("Held out")
    assert (state, text.startswith("None of the 9,000 rows occurs in the 21,000")) == ("yes", True)
    state, text = one("Held out", overlap=Overlap(9_000, 120, 15, 21_000, 0))
    assert state == "no"
    assert "120 of the 9,000 rows also occur in the 21,000 training rows" in text
    assert "leave these rows out" in text
    assert "15 audited rows equal another audited row." in text


@pytest.mark.parametrize(
    ("shared", "repeated", "training_repeated", "state"),
    [
        (1, 0, 0, "no"),
        (100, 0, 210, "open"),  # 90 are expected
        (300, 0, 210, "no"),
        (20, 18, 0, "open"),  # duplicates were removed from the training set
        (0, 18, 0, "yes"),
    ],
)
def test_rows_that_repeat_by_chance(shared, repeated, training_repeated, state):
    found, text = one(
        "Held out", overlap=Overlap(9_000, shared, repeated, 21_000, training_repeated)
    )
    assert found == state
    assert ("by chance" in text) == (shared > 1)


def test_independent_rows():
    state, text = one("Independent rows")
    assert (state, "within chance" in text) == ("open", True)
    walk = np.convolve(LOSSES, np.ones(5), "same")
    state, text = one("Independent rows", losses=walk)
    assert (state, "clusters=" in text) == ("no", True)
    assert one("Independent rows", losses=walk, n_clusters=50)[0] == "yes"
    assert one("Independent rows", losses=walk, row_order=True)[0] == "yes"
    state, text = one("Independent rows", losses=np.ones(50))
    assert (state, "do not vary" in text) == ("open", True)


def test_the_bound_of_neighbours_holds_for_independent_rows():
    """A one-sided bound of three standard errors: at most 0.2 % of 2,000 data sets."""
    above = 0
    for _ in range(2_000):
        correlation, bound = neighbour_correlation(rng.standard_cauchy(size=300) ** 2)
        above += correlation > bound
    assert above <= 2_000 * 0.00135 + 3 * math.sqrt(2_000 * 0.00135)


def test_the_correlation_of_neighbours():
    series = rng.normal(size=20_000)
    series[1:] += series[:-1]
    correlation, _ = neighbour_correlation(series)
    assert correlation == pytest.approx(6 / math.pi * math.asin(0.25), abs=5 / math.sqrt(20_000))
    assert math.isnan(neighbour_correlation(np.arange(2.0))[0])


def test_reference():
    assert one("Reference from training rows")[0] == "yes"
    state, text = one("Reference from training rows", overlap=None)
    assert (state, "approximate" in text) == ("no", True)


def test_enough_rows():
    state, text = one("Enough rows")
    assert state == "yes"
    assert "With 100 rows" in text
    assert "0.03 (0.09\N{NO-BREAK SPACE}% of the variance)" in text
    state, text = one("Enough rows", smallest_correlation=0.2)
    assert state == "no"
    assert "at least 620 independent rows" in text
    state, text = one("Enough rows", smallest_correlation=math.nan)
    assert (state, "too few" in text) == ("no", True)
    state, text = one("Enough rows", n_clusters=12)
    assert (state, "100 rows in 12 clusters" in text) == ("no", True)
    assert one("Enough rows", n_clusters=300)[0] == "yes"


def test_missing_values():
    X = rng.normal(size=(100, 3))
    X[:20, 1] = np.nan
    state, text = one("No missing values", data=data_facts(X, np.arange(100.0)))
    assert (state, "20 of 300 values" in text, "All are values of x1" in text) == (
        "open",
        True,
        True,
    )
    X[:5, 0] = np.nan
    text = one("No missing values", data=data_facts(X, np.arange(100.0)))[1]
    assert "2 features have missing values, x1 the most (20 rows)." in text


def test_classes_and_constant_features():
    state, text = one("Every class occurs", empty_classes=("gold", "lead"))
    assert (state, "the class gold and lead" in text) == ("no", True)
    state, text = one("Every feature varies", constant=("a",))
    assert (state, text.startswith("a has one value")) == ("no", True)
    assert one("Every feature varies", constant=("a", "b"))[1].startswith("a and b have one value")


def test_the_range_of_training():
    name = "Within the range of training"
    state, text = one(name, overlap=None)
    assert (state, "train=" in text) == ("open", True)
    few = [Outside("age", 1, 0.001)]
    state, text = one(name, outside=few)
    assert (state, "age (1 row, 0.1\N{NO-BREAK SPACE}%)" in text) == ("yes", True)
    many = [Outside(f"f{k}", 30 - k, 0.3) for k in range(5)]
    state, text = one(name, outside=many)
    assert state == "no"
    assert "and 2 other features." in text
    assert "extrapolates" in text
