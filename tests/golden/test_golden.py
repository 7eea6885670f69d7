"""Every number of the statistics against R: `golden.R` made the tables beside this file.

The tables name R's version in their first line. R is not needed to run these tests.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import sfit
from sfit import power, rows_needed
from sfit._binomial import p_value, ranks
from sfit._losses import LOSSES
from sfit._multiplicity import adjust

FOLDER = Path(__file__).parent
FEATURES = ["a", "b", "c", "d"]
TARGETS = {"absolute_error": "value", "log_loss": "label", "poisson": "count"}


def numbers(name):
    """One of R's tables, every double read back exactly."""
    return pd.read_csv(FOLDER / f"{name}.csv", comment="#", engine="python")


def test_p_values_are_those_of_binom_test():
    """One-sided binomial tests, up to a million rows, down to the smallest doubles."""
    table = numbers("p_values")
    ours = p_value(table["n_positive"].to_numpy(), table["n"].to_numpy())
    np.testing.assert_allclose(ours, table["p_value"], rtol=1e-11, atol=1e-300)
    assert len(table) > 150
    assert table["p_value"].min() < 1e-250


def test_ranks_are_those_of_pbinom():
    """Ranks, critical counts and coverage, exactly: at levels that are attained, too."""
    for row in numbers("levels").itertuples():
        exact = ranks(row.n, row.alpha, "exact")
        expected = (0, 0) if row.k < 0 else (1 + row.k, row.n - row.k)
        assert (exact.low, exact.high) == expected, row
        assert (exact.lower, exact.critical) == (row.lower, row.critical), row
        assert exact.coverage == pytest.approx(row.coverage, rel=1e-11)
        asymptotic = ranks(row.n, row.alpha, "asymptotic")
        assert (asymptotic.low, asymptotic.high) == (row.asymptotic_low, row.asymptotic_high), row


def test_power_is_that_of_pbinom():
    """Probabilities of a rejection, below, at and above one half."""
    for row in numbers("power").itertuples():
        ours = power(row.n, row.probability, row.alpha)
        assert ours == pytest.approx(row.power, rel=1e-9, abs=1e-300), row


def test_rows_needed_are_found_by_looking_at_every_n():
    """The last shortfall among 4,000 numbers of rows, plus one."""
    for row in numbers("rows_needed").itertuples():
        assert rows_needed(row.probability, row.alpha, row.power) == row.rows, row


@pytest.mark.parametrize("correction", ["fdr_by", "fdr_bh", "holm", "bonferroni"])
def test_adjusted_p_values_are_those_of_p_adjust(correction):
    """Ties, zeros, ones and a family of one included."""
    for _, family in numbers("adjusted").groupby("family"):
        ours = adjust(family["p"].to_numpy(), correction)
        np.testing.assert_allclose(ours, family[correction], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in LOSSES if name in numbers("losses")])
def test_losses_are_those_of_glm_families(name):
    """Deviance residuals of R's Gaussian, Poisson and binomial families."""
    table = numbers("losses")
    prediction = table["prediction"].to_numpy()
    if LOSSES[name].task == "classification":
        y, prediction = table["classes"].to_numpy(), np.column_stack([1 - prediction, prediction])
    else:
        y = table["counts"].to_numpy(dtype=float)
    ours = LOSSES[name].per_row(y, prediction)
    # A deviance is a difference of numbers near 1, which lose their last digit.
    np.testing.assert_allclose(ours, table[name], rtol=1e-12, atol=1e-15)


def model_of(loss):
    """The model that R fitted: its coefficients and its link."""
    fitted = numbers("coefficients").set_index(["loss", "name"]).loc[loss, "value"]

    def predict(rows):
        columns = {name: rows[name].to_numpy() for name in FEATURES}
        columns |= {"(Intercept)": 1.0, "a:b": columns["a"] * columns["b"]}
        linear = sum(fitted[name] * columns[name] for name in fitted.index)
        return {"absolute_error": np.asarray, "log_loss": expit, "poisson": np.exp}[loss](linear)

    if loss != "log_loss":
        return predict
    return sfit.models.function_model(predict, task="classification", classes=[0, 1])


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("beta", [0.0, 0.01, 0.05])
def test_the_whole_procedure_is_what_r_makes_of_its_own_fits(loss, beta):
    """Algorithms 1 and 2 on lm and glm: counts exactly, all else to twelve digits or so."""
    rows = numbers("rows")
    result = sfit.feature_significance(
        model_of(loss), rows[FEATURES], rows[TARGETS[loss]],
        loss=loss, beta=beta, max_order=2, correction="fdr_by",
    )  # fmt: skip
    tests, gates = (
        table[(table["loss"] == loss) & (table["beta"] == beta)]
        for table in (numbers("tests"), numbers("gates"))
    )
    assert len(result.tests) == len(tests)
    for ours, theirs in zip(result.tests, tests.itertuples(), strict=True):
        assert (ours.order, " ".join(ours.term)) == (theirs.order, theirs.term)
        assert (" ".join(ours.base) or "-") == theirs.base
        assert ours.n_positive == theirs.n_positive
        assert ours.significant == (theirs.p_adjusted < 0.05)
        for name in ("statistic", "ci_low", "ci_high", "ci_lower", "beta_max"):
            expected = pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-12, nan_ok=True)
            assert getattr(ours, name) == expected, (ours.term, name)
        assert ours.p_value == pytest.approx(theirs.p_value, rel=1e-11)
        assert ours.p_adjusted == pytest.approx(theirs.p_adjusted, rel=1e-11)
    found = [(gate.after_order, list(gate.found), gate.n_positive) for gate in result.gates]
    assert found == [(g.after_order, g.found.split(), g.n_positive) for g in gates.itertuples()]
