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
