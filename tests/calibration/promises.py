"""The promises, one function each: many settings, vectors of draws, the package's own functions."""

import warnings
from itertools import product

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

import sfit
from calibration.laws import CONTINUOUS, DEPENDENCE, DIFFERENCES, LOSSES
from calibration.verdict import of_counts, of_mean
from sfit import power, rows_needed
from sfit._beta import smallest_sufficient
from sfit._binomial import p_value, ranks
from sfit._contrast import delta, relative_improvement
from sfit._multiplicity import adjust

NUMBERS = 2_000_000
"""Numbers that are drawn together."""

SAMPLES = (6, 7, 10, 17, 25, 50, 100, 500, 1_000, 5_000)
"""Numbers of rows at which intervals are tried."""


def generator(*names):
    """A generator of its own for each setting: results do not depend on which others run."""
    return np.random.default_rng([ord(letter) for name in names for letter in str(name)])


def batches(draws, width):
    """Sizes of batches whose draws fit into memory."""
    together = max(1, NUMBERS // width)
    return [min(together, draws - start) for start in range(0, draws, together)]


def size_on_differences(draws):
    """Rejections when the median of the differences is 0, or the largest that H0 admits."""
    promise = "type I error at most alpha, differences"
    for (law, (draw, median)), n in product(DIFFERENCES.items(), (6, 20, 50, 200, 1_000)):
        rng = generator(promise, law, n)
        positive = [
            np.count_nonzero(draw(rng, (batch, n)) > median, axis=1) for batch in batches(draws, n)
        ]
        p = p_value(np.concatenate(positive), n)
        for alpha in (0.01, 0.05, 0.2):
            count, setting = int(np.sum(p < alpha)), f"{law}, n = {n}, alpha = {alpha}"
            yield of_counts(promise, setting, count, draws, "<=", alpha)
            if law in CONTINUOUS:
                true_size = power(n, 0.5, alpha)
                yield of_counts("size as computed", setting, count, draws, "=", true_size)


def size_on_losses(draws):
    """The same from the losses of two sides, through rho and delta."""
    promise = "type I error at most alpha, losses"
    for (law, (beta, draw)), n in product(LOSSES.items(), (20, 200, 1_000)):
        rng = generator(promise, law, n)
        positive = []
        for batch in batches(draws, n):
            base, full = draw(rng, (batch, n))
            rho = relative_improvement(base, full)
            counted = np.count_nonzero(rho > beta, axis=1)
            differences = delta(base, full, rho > beta, beta)
            np.testing.assert_array_equal(counted, np.count_nonzero(differences > 0, axis=1))
            positive.append(counted)
        p = p_value(np.concatenate(positive), n)
        for alpha in (0.01, 0.05, 0.2):
            count, setting = int(np.sum(p < alpha)), f"{law}, n = {n}, alpha = {alpha}"
            yield of_counts(promise, setting, count, draws, "<=", alpha)


def size_of_the_whole_call(draws):
    """`feature_significance` itself, on a model that uses features which have nothing to do with y.

    One feature per run counts: the tests of a run share their rows.
    """
    promise = "type I error at most alpha, feature_significance"
    for loss, alpha in product(("absolute_error", "squared_error"), (0.05, 0.2)):
        rng, count = generator(promise, loss, alpha), 0
        runs = draws // 40
        for _ in range(runs):
            X, y = rng.standard_normal((100, 2)), rng.standard_normal(100)
            weight = 0.02 * rng.standard_normal()
            result = sfit.feature_significance(
                lambda rows, weight=weight: weight * rows[:, 0],
                X, y, loss=loss, alpha=alpha, beta=0.0, reference=0,
            )  # fmt: skip
            count += result.tests[0].significant
        setting = f"{loss}, 100 rows, alpha = {alpha}"
        yield of_counts(promise, setting, count, runs, "<=", alpha)


def coverage(draws):
    """The exact interval and the one-sided bound against the true median."""
    for (law, (draw, median)), n in product(DIFFERENCES.items(), SAMPLES):
        rng = generator("coverage", law, n)
        # The largest samples are drawn less often.
        n_draws = min(draws, 40 * NUMBERS // n)
        levels = {alpha: ranks(n, alpha, "exact") for alpha in (0.05, 0.2)}
        covered, bounded = dict.fromkeys(levels, 0), dict.fromkeys(levels, 0)
        for batch in batches(n_draws, n):
            ordered = np.sort(draw(rng, (batch, n)), axis=1)
            for alpha, level in levels.items():
                low, high = ordered[:, level.low - 1], ordered[:, level.high - 1]
                covered[alpha] += int(np.sum((low <= median) & (median <= high)))
                bounded[alpha] += int(np.sum(ordered[:, level.lower - 1] <= median))
        for alpha, level in levels.items():
            setting = f"{law}, n = {n}, alpha = {alpha}"
            yield of_counts(
                "coverage of the exact interval at least nominal",
                setting, covered[alpha], n_draws, ">=", 1 - alpha,
            )  # fmt: skip
            yield of_counts(
                "coverage of the one-sided bound at least nominal",
                setting, bounded[alpha], n_draws, ">=", 1 - alpha,
            )  # fmt: skip
            if law in CONTINUOUS:
                yield of_counts(
                    "coverage as reported", setting, covered[alpha], n_draws, "=", level.coverage
                )


def false_discoveries(draws):
    """Benjamini and Yekutieli under every dependence; Holm's chance of any false one."""
    n, m, alpha, n_draws = 60, 20, 0.1, draws // 4
    for (name, draw), true in product(DEPENDENCE.items(), (0, 5, 10)):
        rng = generator("discoveries", name, true)
        shift = np.where(np.arange(m) % 4 < true // 5, 0.6, 0.0)
        null = shift == 0
        shares, any_false = [], 0
        for batch in batches(n_draws, n * m):
            positive = np.count_nonzero(draw(rng, (batch, n, m)) + shift > 0, axis=1)
            for p in p_value(positive, n):
                found = adjust(p, "fdr_by") < alpha
                shares.append(np.sum(found & null) / max(1, np.sum(found)))
                any_false += bool(np.any((adjust(p, "holm") < alpha) & null))
        setting = f"{name}, {m - int(null.sum())} of {m} features matter, alpha = {alpha}"
        yield of_mean("false discovery rate at most alpha (BY)", setting, shares, alpha)
        yield of_counts(
            "any false discovery at most alpha (Holm)", setting, any_false, n_draws, "<=", alpha
        )


def beta_on_exchangeable_thresholds(draws):
    """Rejections of a fresh model at the beta that M others chose, straight from thresholds.

    A model's tests may agree completely: then the bound is nearly attained.
    """
    for n_models, features, share, alpha in product((5, 20), (1, 7), (0.0, 0.5, 1.0), (0.05, 0.2)):
        setting = f"{n_models} models, {features} features, agreement {share}, alpha = {alpha}"
        rng = generator("thresholds", setting)
        common = rng.lognormal(size=(draws, n_models + 1, 1))
        own = rng.lognormal(size=(draws, n_models + 1, features))
        thresholds = np.where(rng.random((draws, n_models + 1, 1)) < share, common, own)
        rates = [
            np.mean(each[-1] > smallest_sufficient(each[:-1].ravel(), alpha)) for each in thresholds
        ]
        bound = (n_models * alpha + 1) / (n_models + 1)
        yield of_mean("choose_beta on a fresh model, thresholds", setting, rates, bound)


def beta_on_fresh_models(draws):
    """`choose_beta` itself, then as many random models that it has not seen, on the same rows."""
    alpha, n_models, runs = 0.05, 20, draws // 400
    bound = (n_models * alpha + 1) / (n_models + 1)
    kinds = {
        "linear model": LinearRegression(),
        "network": MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0),
        "boosted trees": HistGradientBoostingRegressor(max_iter=5),
    }
    for kind, model in kinds.items():
        rng, rates = generator("fresh", kind), []
        X, y = sfit.simulate.interactions(400 * (runs + 1), random_state=0)
        X, y = X.to_numpy(), np.asarray(y) - np.mean(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a network that stops early serves as well
            model.fit(X[:400], y[:400])
        for run in range(1, runs + 1):
            rows = slice(400 * run, 400 * (run + 1))
            seeds = rng.integers(2**32, size=2)
            chosen, fresh = (
                sfit.choose_beta(
                    model, X[rows], y[rows],
                    alpha=alpha, n_models=n_models, max_beta=1.0, random_state=int(seed),
                )
                for seed in seeds
            )  # fmt: skip
            rates.append(fresh.rate(chosen.beta))
        setting = f"{kind}, {n_models} models, 400 rows, alpha = {alpha}"
        yield of_mean("choose_beta on fresh models", setting, rates, bound)


def power_curves(draws):
    """Rejections among simulated tests against `power`, and at the rows that `rows_needed` says."""
    for n, probability, alpha in product((10, 50, 200, 1_000), np.arange(40, 100, 5), (0.01, 0.05)):
        share = probability / 100
        setting = f"n = {n}, P(delta > 0) = {share:.2f}, alpha = {alpha}"
        rng = generator("power", setting)
        positive = [
            np.count_nonzero(rng.random((batch, n)) < share, axis=1) for batch in batches(draws, n)
        ]
        count = int(np.sum(p_value(np.concatenate(positive), n) < alpha))
        expected = power(n, share, alpha)
        yield of_counts("power as computed", setting, count, draws, "=", expected)
    for share, wanted in product((0.55, 0.6, 0.75), (0.5, 0.8, 0.95)):
        n = rows_needed(share, power=wanted)
        rng = generator("rows", share, wanted)
        count = int(np.sum(p_value(rng.binomial(n, share, size=draws), n) < 0.05))
        setting = f"P(delta > 0) = {share}, {n} rows"
        yield of_counts("power with rows_needed rows", setting, count, draws, ">=", wanted)


PROMISES = (
    size_on_differences,
    size_on_losses,
    size_of_the_whole_call,
    coverage,
    false_discoveries,
    beta_on_exchangeable_thresholds,
    beta_on_fresh_models,
    power_curves,
)
