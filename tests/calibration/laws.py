"""Laws of differences and losses: light and heavy tails, ties, zeros, dependence."""

import numpy as np
from scipy.stats import poisson

# (name, draw, median): continuous first, then with ties; the median is exact.
DIFFERENCES = {
    "uniform": (lambda rng, size: rng.uniform(-1, 1, size), 0.0),
    "normal": (lambda rng, size: rng.standard_normal(size), 0.0),
    "Laplace": (lambda rng, size: rng.laplace(size=size), 0.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), np.log(2)),
    "lognormal, sd of the log 2": (lambda rng, size: rng.lognormal(0, 2, size), 1.0),
    "Student t, 2 degrees": (lambda rng, size: rng.standard_t(2, size), 0.0),
    "Cauchy": (lambda rng, size: rng.standard_cauchy(size), 0.0),
    "Poisson, mean 1": (lambda rng, size: rng.poisson(1.0, size), poisson.median(1.0)),
    "whole numbers -2 to 2": (lambda rng, size: rng.integers(-2, 3, size), 0.0),
    "0 in nine of ten": (
        lambda rng, size: rng.choice([-1.0, 0.0, 1.0], size=size, p=[0.05, 0.9, 0.05]),
        0.0,
    ),
    "0 or 1, one half each": (lambda rng, size: rng.integers(0, 2, size).astype(float), 0.0),
}
CONTINUOUS = tuple(DIFFERENCES)[:7]


def _errors(rng, size):
    return np.abs(rng.standard_normal(size))


def _with_zeros(rng, size):
    base, full = _errors(rng, size), _errors(rng, size)
    base[rng.random(size) < 0.3] = 0.0
    full[rng.random(size) < 0.3] = 0.0
    return base, full


def _zero_one(rng, size):
    return tuple((rng.random(size) < 0.5).astype(float) for _ in range(2))


def _coarse(rng, size):
    return tuple(rng.integers(1, 4, size) / 2 for _ in range(2))


def _ignored(rng, size):
    base = _errors(rng, size)
    return base, base.copy()


def _worse(rng, size):
    base = _errors(rng, size)
    return base, base * rng.uniform(0.9, 1.5, size)


def _at_the_boundary(rng, size):
    """Each row improves by just more than 5 %, or by less, with one half."""
    base = rng.exponential(size=size) + 0.01
    return base, base * np.where(rng.random(size) < 0.5, 0.94, 0.96)


# Losses of two sides, (beta, draw): the median of (1 - beta) base - full is at most 0 in each.
LOSSES = {
    "two errors alike": (0.0, lambda rng, size: (_errors(rng, size), _errors(rng, size))),
    "two errors alike, beta 0.01": (
        0.01,
        lambda rng, size: (_errors(rng, size), _errors(rng, size)),
    ),
    "heavy tails": (
        0.0,
        lambda rng, size: tuple(np.abs(rng.standard_cauchy(size)) for _ in range(2)),
    ),
    "improvement by 5 % in half of the rows, beta 0.05": (0.05, _at_the_boundary),
    "losses of 0 on either side": (0.0, _with_zeros),
    "zero-one losses": (0.0, _zero_one),
    "losses of three values": (0.0, _coarse),
    "all losses 0": (0.0, lambda rng, size: (np.zeros(size), np.zeros(size))),
    "the feature is ignored": (0.0, _ignored),
    "the feature harms": (0.01, _worse),
}


def _alike(rng, size):
    return rng.standard_normal(size)


def _one_factor(rng, size):
    """All tests share half of the variance of each row, as contrasts over one base do."""
    return np.sqrt(0.5) * rng.standard_normal((*size[:-1], 1)) + np.sqrt(0.5) * _alike(rng, size)


def _opposite(rng, size):
    """Tests in pairs: where one has a positive row, the other has a negative one."""
    half = _alike(rng, (*size[:-1], size[-1] // 2))
    return np.concatenate([half, -half], axis=-1)


def _in_blocks(rng, size):
    """Blocks of five tests that nearly agree."""
    common = np.repeat(_alike(rng, (*size[:-1], size[-1] // 5)), 5, axis=-1)
    return np.sqrt(0.9) * common + np.sqrt(0.1) * _alike(rng, size)


def _copies(rng, size):
    """Every test is the same test."""
    return np.broadcast_to(_alike(rng, (*size[:-1], 1)), size)


# Differences of many tests on the same rows, (draws, rows, tests), each with median 0.
DEPENDENCE = {
    "independent": _alike,
    "one common factor": _one_factor,
    "pairs of opposites": _opposite,
    "blocks": _in_blocks,
    "copies": _copies,
}
