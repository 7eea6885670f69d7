"""Bad arguments of `power` and `rows_needed`."""

import numpy as np
import pytest
from bad_input import assert_refused

import sfit
from sfit.exceptions import ArgumentError

NOT_NUMBERS = {"text": "0.6", "none": None, "list": [0.6], "complex": 0.6j, "nan": np.nan}


@pytest.mark.parametrize("value", [0, -1, 1.5, "10", None, True, np.nan, [10]], ids=repr)
def test_power_refuses_n(value):
    """The number of rows is a whole number of at least 1."""
    assert_refused(lambda: sfit.power(value, 0.6), ArgumentError, ["n must", repr(value)])


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), -0.1, 1.1, True], ids=repr)
def test_power_refuses_a_probability(value):
    """A probability is a number between 0 and 1."""
    words = ["probability", repr(value)]
    assert_refused(lambda: sfit.power(10, value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(value), ArgumentError, words)


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), 0, 1, True], ids=repr)
def test_power_refuses_a_level(value):
    """A level is a number strictly between 0 and 1."""
    words = ["alpha", repr(value)]
    assert_refused(lambda: sfit.power(10, 0.6, value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(0.6, value), ArgumentError, words)


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), 0.01, 1, True], ids=repr)
def test_rows_needed_refuses_a_power(value):
    """The wanted power is a number between alpha and 1."""
    words = ["power", repr(value)]
    assert_refused(lambda: sfit.rows_needed(0.6, 0.05, value), ArgumentError, words)


def test_rows_needed_refuses_half():
    """At 1/2 no number of rows suffices."""
    assert_refused(lambda: sfit.rows_needed(0.5), ArgumentError, ["probability", "0.5"])


@pytest.mark.parametrize("value", ["0.6", [0.6], 0.6j, np.nan, -1.1, 1.1, True], ids=repr)
def test_power_refuses_a_correlation(value):
    """A correlation is a number between -1 and 1."""
    words = ["correlation", repr(value)]
    assert_refused(lambda: sfit.power(10, correlation=value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(correlation=value), ArgumentError, words)


@pytest.mark.parametrize("value", [0, -0.5, 1e-9])
def test_rows_needed_refuses_no_correlation(value):
    """Without a positive correlation, or with next to none, no number of rows suffices."""
    assert_refused(lambda: sfit.rows_needed(correlation=value), ArgumentError, ["correlation", "0"])


def test_power_refuses_two_effects_and_none():
    """The effect says which test is meant."""
    words = ["probability", "sign test", "correlation", "permutation test", "0.6", "0.1"]
    assert_refused(lambda: sfit.power(10, 0.6, correlation=0.1), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(0.6, correlation=0.1), ArgumentError, words)
    assert_refused(lambda: sfit.power(10), ArgumentError, ["probability=None", "correlation=None"])
    assert_refused(sfit.rows_needed, ArgumentError, ["probability=None", "correlation=None"])


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), 0, 0.5, -1, np.inf, True], ids=repr)
def test_power_refuses_a_cluster_size(value):
    """At least one row per cluster."""
    words = ["cluster_size", "from 1", repr(value)]
    assert_refused(lambda: sfit.power(10, 0.6, cluster_size=value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(0.6, cluster_size=value), ArgumentError, words)


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), -0.1, 1.1, True], ids=repr)
def test_power_refuses_an_icc(value):
    """An intra-class correlation is a number between 0 and 1."""
    words = ["icc", repr(value)]
    assert_refused(lambda: sfit.power(10, 0.6, icc=value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(0.6, icc=value), ArgumentError, words)
