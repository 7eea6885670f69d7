"""Protected attributes: possible proxies, and outcomes by group."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from sfit._audit._protected import MOST_GROUPS, group_outcomes, mean_interval, proxies

rng = np.random.default_rng(0)
N = 400
SEX = np.where(rng.uniform(size=N) < 0.4, "f", "m")
FRAME = pd.DataFrame(
    {
        "height": rng.normal(size=N) + 2 * (SEX == "m"),
        "noise": rng.normal(size=N),
        "title": np.where(SEX == "f", "Ms", "Mr"),
        "sex": SEX,
    }
)


def test_proxies_are_sorted_by_association():
    found = proxies("sex", SEX, FRAME, list(FRAME), {"height"})
    assert [proxy.feature for proxy in found] == ["title", "height", "noise"]
    assert [proxy.significant for proxy in found] == [False, True, False]
    assert {proxy.measure for proxy in found} == {"Cramer's V"}
    assert found[0].association == pytest.approx(1)
    assert found[1].association > 0.5 > 0.15 > found[2].association
    [noise] = proxies("sex", SEX, FRAME, ["noise"], positions=[1])
    assert noise == found[2]


def test_a_numeric_attribute_is_compared_by_ranks():
    age = FRAME["height"] ** 3
    found = proxies("age", age, FRAME[["height", "noise"]], ["height", "noise"])
    assert found[0].measure == "rank correlation"
    assert found[0].association == pytest.approx(1)


def outcomes(values, task="regression", y=None, prediction=None, losses=None, **options):
    n = len(values)
    y = np.arange(n, dtype=float) if y is None else y
    prediction = y + 1 if prediction is None else prediction
    losses = np.arange(n, dtype=float) if losses is None else losses
    return group_outcomes("attribute", values, y, prediction, losses, task, **options)


def test_outcomes_of_words():
    losses = np.array([1.0, 2.0, 3.0, 7.0, 9.0])
    found = outcomes(np.array(["b", "a", "a", "b", None], dtype=object), losses=losses)
    assert [(one.label, one.n, one.loss) for one in found] == [
        ("a", 2, 2.5),
        ("b", 2, 4.0),
        ("missing", 1, 9.0),
    ]
    assert [one.outcome for one in found] == [1.5, 1.5, 4]
    assert [one.prediction for one in found] == [2.5, 2.5, 5]
    margin = t.isf(0.025, 1) * np.std([2.0, 3.0], ddof=1) / math.sqrt(2)
    assert (found[0].loss_low, found[0].loss_high) == pytest.approx((2.5 - margin, 2.5 + margin))
    assert math.isnan(found[2].loss_low)


def test_classification_counts_the_last_class():
    y = np.array([0, 1, 2, 2])
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0, 0, 1], [0.5, 0.5, 0]])
    [found] = outcomes(np.ones(4), "classification", y, p)
    assert (found.outcome, found.prediction) == (0.5, pytest.approx(0.4))
    [found] = outcomes(np.ones(4), "classification", y % 2, p[:, 2])
    assert (found.outcome, found.prediction) == (0.25, pytest.approx(0.4))


def test_several_outputs_are_averaged():
    y = np.arange(8.0).reshape(4, 2)
    [found] = outcomes(np.ones(4), y=y, prediction=2 * y)
    assert (found.outcome, found.prediction) == (3.5, 7)


def test_numbers_are_cut_into_quartiles():
    found = outcomes(np.arange(100) + 10_000)
    assert [(one.label, one.n) for one in found] == [
        ("10000 to 10024", 25),
        ("10025 to 10049", 25),
        ("10050 to 10074", 25),
        ("10075 to 10099", 25),
    ]
    close = outcomes(1 + np.arange(100) * 1e-9)
    assert len({one.label for one in close}) == 4
    few = outcomes(np.array([2020.0, 2021.0, np.nan, 2020.0]))
    assert [(one.label, one.n) for one in few] == [("2020", 2), ("2021", 1), ("missing", 1)]
    ties = outcomes(np.concatenate([np.zeros(80), np.arange(1.0, 21.0)]))
    assert [(one.label, one.n) for one in ties] == [("0", 80), ("1 to 20", 20)]


def test_rare_words_are_merged():
    words = np.repeat([f"w{k:02d}" for k in range(30)], np.arange(30, 0, -1))
    found = outcomes(words)
    assert len(found) == MOST_GROUPS
    assert [one.label for one in found[:-1]] == [f"w{k:02d}" for k in range(MOST_GROUPS - 1)]
    assert found[-1].label == "other values"
    assert sum(one.n for one in found) == len(words)
    with_missing = np.concatenate([words.astype(object), [None]])
    assert len(outcomes(with_missing)) == MOST_GROUPS
    assert len(outcomes(words[words < "w12"])) == MOST_GROUPS


def test_units_widen_the_interval():
    losses = np.repeat(rng.normal(size=50), 20)
    units = np.repeat([f"u{k}" for k in range(50)], 20)
    [rows] = outcomes(np.ones(1_000), losses=losses)
    [clusters] = outcomes(np.ones(1_000), losses=losses, units=units)
    expected = t.isf(0.025, 49) * losses[::20].std(ddof=1) / math.sqrt(50)
    assert clusters.loss_high - clusters.loss == pytest.approx(expected)
    assert rows.loss_high - rows.loss < expected / 3


def test_the_interval_covers_the_mean():
    """Exponential losses: the t interval of 200 of them covers nearly 95 %."""
    repeats = 1_000
    covered = 0
    for _ in range(repeats):
        low, high = mean_interval(rng.exponential(size=200), np.arange(200), 0.05)
        covered += low <= 1 <= high
    assert abs(covered / repeats - 0.94) < 0.01 + 3 * math.sqrt(0.05 * 0.95 / repeats)
