"""Rows for every case, made from uniform draws and plain arithmetic: the same bits everywhere."""

from functools import cache

import numpy as np
import pandas as pd

NUMBERS = ["a", "b", "c", "d", "e"]
MIXED = ["a", "b", "gap", "city", "level"]
CITIES = np.array(["lima", "oslo", "rome"], dtype=object)
TRAIN_SEED = 1


@cache
def rows(n: int = 800, seed: int = 2) -> pd.DataFrame:
    """Five numbers, one with gaps, two categories; targets of every kind, and a part.

    `a` and `d` matter alone, `b` and `c` only together, `e` not at all.
    """
    u = np.random.Generator(np.random.PCG64(seed)).random((n, 25))
    # The sum of three uniform draws is nearly normal; its variance is 1 after scaling.
    a, b, c, d, e, gap, noise = (2 * (u[:, k] + u[:, k + 7] + u[:, k + 14] - 1.5) for k in range(7))
    city = np.floor(3 * u[:, 21]).astype(int)
    level = np.floor(5 * u[:, 22]).astype(int)
    value = 2 * a + 2.5 * b * c + d * d + 0.2 * level + 0.5 * noise
    table = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})
    table["gap"] = np.where(u[:, 24] < 0.1, np.nan, gap)
    table["city"] = CITIES[city]
    table["level"] = level
    table["value"] = value
    table["other"] = a - d + 0.5 * e * b + 0.3 * noise
    table["mixed"] = 2 * a + np.where(u[:, 24] < 0.1, 2.0, gap) + 1.5 * (city == 1) + 0.3 * noise
    table["label"] = np.where(value > 1.0, "yes", "no")
    table["kind"] = np.where(value > 2.5, "high", np.where(value > 0.0, "mid", "low"))
    table["count"] = np.floor(1 + (a > 0) * 3 + 2 * u[:, 23]).astype(int)
    table["part"] = np.where(u[:, 23] < 0.4, "east", "west")
    return table


def numbers(target: str = "value", n: int = 800, seed: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """The five numbers, and a target."""
    table = rows(n, seed)
    return table[NUMBERS], table[target].to_numpy()


def mixed(target: str = "mixed", n: int = 800, seed: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, some of them missing, a column of words and one of small whole numbers."""
    table = rows(n, seed)
    return table[MIXED].copy(), table[target].to_numpy()


def categories(
    target: str = "mixed", n: int = 800, seed: int = 2
) -> tuple[pd.DataFrame, np.ndarray]:
    """The same with the words as a pandas category."""
    X, y = mixed(target, n, seed)
    X["city"] = pd.Categorical(X["city"], categories=list(CITIES))
    return X, y


@cache
def wide(n: int = 600, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Thirty columns, of which four matter: enough for updates of a network's first layer."""
    X = 4 * np.random.Generator(np.random.PCG64(seed)).random((n, 30)) - 2
    return X, 2 * X[:, 0] - X[:, 7] + X[:, 11] * X[:, 23] + 0.2 * X[:, 29]
