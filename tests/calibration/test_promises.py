"""Every promise on few draws; and that a broken one would be seen."""

import numpy as np
import pytest

from calibration import promises
from calibration.verdict import of_counts, of_mean
from sfit._binomial import p_value

QUICK = [one for one in promises.PROMISES if one is not promises.beta_on_fresh_models]


def assert_holds(promise, draws):
    verdicts = list(promise(draws))
    assert verdicts
    assert [verdict for verdict in verdicts if not verdict.holds] == []


@pytest.mark.parametrize("promise", QUICK, ids=lambda promise: promise.__name__)
def test_promises_hold(promise):
    """No setting shows what would happen once in a million if the promise held."""
    assert_holds(promise, 1_000)


@pytest.mark.long
def test_fresh_random_models_stay_within_the_bound():
    """The same for `choose_beta`, which runs many models."""
    assert_holds(promises.beta_on_fresh_models, 4_000)


def test_a_test_that_counts_ties_as_positive_would_be_seen(monkeypatch):
    """The tolerance hides nothing: p-values of one count too many break the level."""
    monkeypatch.setattr(promises, "p_value", lambda count, n: p_value(count + 1, n))
    broken = {v.setting for v in promises.size_on_differences(1_000) if not v.holds}
    assert any("n = 20," in setting for setting in broken)


def test_an_interval_that_is_one_rank_too_narrow_would_be_seen(monkeypatch):
    """Ranks moved inwards by one, at small n, cover too little."""
    ranks = promises.ranks

    def narrow(n, alpha, interval):
        level = ranks(n, alpha, interval)
        return level._replace(low=level.low + 1, high=level.high - 1)

    monkeypatch.setattr(promises, "ranks", narrow)
    monkeypatch.setattr(promises, "SAMPLES", (10,))
    broken = {v.promise for v in promises.coverage(1_000) if not v.holds}
    assert broken == {"coverage of the exact interval at least nominal", "coverage as reported"}


def test_benjamini_yekutieli_without_its_factor_would_be_seen(monkeypatch):
    """Unadjusted p-values make too many false discoveries."""
    monkeypatch.setattr(promises, "adjust", lambda p, method: p)
    assert not all(verdict.holds for verdict in promises.false_discoveries(1_000))


def test_a_beta_of_one_test_too_few_would_be_seen(monkeypatch):
    """The threshold that one more model may exceed is too small."""
    monkeypatch.setattr(
        promises, "smallest_sufficient", lambda thresholds, alpha: float(np.median(thresholds))
    )
    verdicts = list(promises.beta_on_exchangeable_thresholds(1_000))
    assert not all(verdict.holds for verdict in verdicts)


def test_verdicts_know_their_own_error():
    """60 of 1,000 may be 5 %, 90 may not; below a lower bound the other way round."""
    assert of_counts("", "", 60, 1_000, "<=", 0.05).holds
    assert not of_counts("", "", 90, 1_000, "<=", 0.05).holds
    assert of_counts("", "", 10, 1_000, "<=", 0.05).holds
    assert not of_counts("", "", 10, 1_000, "=", 0.05).holds
    assert not of_counts("", "", 900, 1_000, ">=", 0.95).holds
    assert of_counts("", "", 0, 1_000, "<=", 0.0).holds
    assert of_mean("", "", [0.0, 0.1, 0.2, 0.1], 0.09).holds
    assert not of_mean("", "", [0.2, 0.21, 0.19, 0.2] * 9, 0.1).holds
    assert not of_mean("", "", [0.2, 0.2], 0.1).holds
