"""The settings of the study of dependence. In each, the tested feature says nothing about y.

It says nothing beyond the given features, beyond its cluster, or beyond the past. The model uses it
all the same: its prediction from the feature is fixed, and only the rows depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from sfit.studies._dependence_tests import (
    Rng,
    Sample,
    Test,
    everywhere,
    nearest_neighbours,
    one_by_one,
    quantile_bins,
    rematched,
    shipped,
    within_clusters,
)

Array = npt.NDArray[Any]

SFIT = "sfit"


@dataclass(frozen=True)
class Case:
    """A setting: how its data sets are drawn, which tests run, and what sfit promises there."""

    n_rows: int
    draw: Callable[[Rng], Sample]
    tests: dict[str, Test]
    guarantee: str
    """`"exact"`, `"approximate"`, or `"refused"`."""
    expected: str = ""
    """What an independent program measured, where it did."""


@dataclass(frozen=True)
class Linear:
    """A model that adds up its columns."""

    coefficients: tuple[float, ...]

    def __call__(self, X: Array) -> Array:
        """Predictions of the rows."""
        return np.asarray(X, dtype=float) @ np.array(self.coefficients)


# --- given discrete features ------------------------------------------------------------


def _stratum(n: int, shares: tuple[float, ...], noise: str = "normal") -> Case:
    """Strata move x and y; within a stratum they are independent. The model leans on both."""
    k = len(shares)

    def draw(rng: Rng) -> Sample:
        stratum = rng.choice(k, size=n, p=shares).astype(float)
        level = 2 * stratum / k
        x, error = level + rng.normal(size=n), rng.normal(size=n)
        if noise == "Cauchy":
            error = rng.standard_cauchy(n)
        elif noise == "uneven":
            error = error * (0.2 + level)
        return Sample(Linear((0.5, 1 / k)), np.column_stack([x, stratum]), level + error)

    tests = {
        SFIT: shipped(given=["x1"]),
        "feature permuted over all rows": rematched(everywhere),
        "predictions permuted over all rows": rematched(everywhere, predictions=True),
    }
    return Case(n, draw, tests, "exact")


def _equal(k: int) -> tuple[float, ...]:
    return (1 / k,) * k


STRATA = {
    "2 strata": _stratum(200, _equal(2)),
    "5 strata": _stratum(200, _equal(5)),
    "20 strata": _stratum(400, _equal(20)),
    "2 strata, 95 and 5 % of the rows": _stratum(200, (0.95, 0.05)),
    "5 strata, Cauchy noise": _stratum(200, _equal(5), "Cauchy"),
    "5 strata, uneven noise": _stratum(200, _equal(5), "uneven"),
}


# --- one given continuous feature -------------------------------------------------------

LEANS = {"a little": 0.3, "more than half": 0.7, "entirely": 1.0}
"""Share of the tested feature in the model; the rest is on the given feature."""


FEW_ROWS = 1_000
"""A recipe that fails runs up to this many rows: with more it fails as well, and takes longer."""


def _proxy(n: int, correlation: float, lean: float, noise: float = 1.0) -> Case:
    """The outcome depends on the given feature w; x is a proxy of w, on which the model leans."""

    def draw(rng: Rng) -> Sample:
        w, e = rng.normal(size=(2, n))
        x = correlation * w + np.sqrt(1 - correlation**2) * e
        y = w + noise * rng.normal(size=n)
        return Sample(Linear((lean, 1 - lean)), np.column_stack([x, w]), y)

    tests = {SFIT: one_by_one(shipped(given=["x1"]))}
    if n <= FEW_ROWS:
        tests["feature permuted over all rows"] = rematched(everywhere)
    return Case(n, draw, tests, "approximate")


BLOCKS = {
    f"correlation {r}, leans {name}, n = {n:,}": _proxy(n, r, lean)
    for n, correlations, leans in (
        (200, (0.0, 0.5, 0.8, 0.9), LEANS),
        (2_000, (0.0, 0.5, 0.8, 0.9), LEANS),
        (10_000, (0.5, 0.9), {"entirely": 1.0}),
    )
    for r in correlations
    for name, lean in leans.items()
}
"""26 settings; the correlation of x and the given feature, the lean of the model on x."""

LITTLE = 0.1
"""Standard deviation of the noise of y where the blocks are expected to fail."""
STRAINED = {
    f"correlation 0.9, leans entirely, little noise, n = {n:,}": _proxy(n, 0.9, 1.0, LITTLE)
    for n in (200, 2_000)
}
"""Where the conditional laws change within a block: sfit warns."""
REFUSED = _proxy(200, 0.99, 1.0, LITTLE)
"""Where they change so much that sfit refuses."""


# --- several given continuous features --------------------------------------------------


def _three(n: int, correlation: float, lean: float) -> Case:
    """As `_proxy`, but w is the sum of three features."""

    def draw(rng: Rng) -> Sample:
        given, e = rng.normal(size=(n, 3)), rng.normal(size=n)
        w = given.sum(axis=1) / np.sqrt(3)
        x = correlation * w + np.sqrt(1 - correlation**2) * e
        y = w + rng.normal(size=n)
        rest = (1 - lean) / np.sqrt(3)
        return Sample(Linear((lean, rest, rest, rest)), np.column_stack([x, given]), y)

    tests = {
        "nearest neighbours": rematched(nearest_neighbours),
        "quantile bins": rematched(quantile_bins),
        "feature permuted over all rows": rematched(everywhere),
    }
    return Case(n, draw, tests, "refused")


THREE = {
    f"correlation {r}, leans {name}, n = {n:,}": _three(n, r, LEANS[name])
    for n, r, name in (
        (200, 0.5, "more than half"),
        (200, 0.8, "more than half"),
        (200, 0.8, "entirely"),
        (1_000, 0.8, "more than half"),
    )
}


# --- clusters ---------------------------------------------------------------------------


def _shared(rng: Rng, clusters: Array, correlation: float) -> Array:
    """Normal values with this intra-class correlation."""
    common = rng.normal(size=clusters.max() + 1)[clusters]
    own = rng.normal(size=len(clusters))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


CLUSTERED = {SFIT: shipped(clusters=True), "rows permuted as if independent": shipped()}
SIZE = 6
"""Rows in a cluster, where all have as many."""


def _clusters(
    sizes: tuple[int, ...],
    icc: tuple[float, float],
    *,
    driven: float = 0.0,
    guarantee: str = "exact",
    expected: str = "",
) -> Case:
    """Both x and y share a part within each cluster; `driven`: both also grow with its size."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    size = driven * np.repeat(np.asarray(sizes) / np.mean(sizes), sizes)

    def draw(rng: Rng) -> Sample:
        x, y = (_shared(rng, clusters, one) + size for one in icc)
        return Sample(Linear((1.0,)), x[:, None], y, clusters)

    return Case(len(clusters), draw, CLUSTERED, guarantee, expected)


def _walks(n_clusters: int, size: int) -> Case:
    """Both x and y drift within each cluster, independently of each other: visits of patients."""
    clusters = np.repeat(np.arange(n_clusters), size)

    def draw(rng: Rng) -> Sample:
        x, y = rng.normal(size=(2, n_clusters, size)).cumsum(axis=2).reshape(2, -1)
        return Sample(Linear((1.0,)), x[:, None], y, clusters)

    tests = CLUSTERED | {"rows permuted within clusters": rematched(within_clusters)}
    return Case(len(clusters), draw, tests, "exact")


_ICC = {"0.5 / 0.5": (0.5, 0.5), "1 / 0.5": (1.0, 0.5), "1 / 1": (1.0, 1.0)}
_EXPECTED = {50: (".045 (rows .12)", ".052 (.18)", ".050 (.27)")}
_EXPECTED[200] = (".035 (rows .12)", ".055 (.22)", ".045 (.29)")
_UNEQUAL = tuple(range(3, 13)) * 5

CLUSTERS = {
    f"{n} clusters, x / y correlated {name}": _clusters((SIZE,) * n, icc, expected=expected)
    for n in (50, 200)
    for (name, icc), expected in zip(_ICC.items(), _EXPECTED[n], strict=True)
} | {
    "50 clusters of 3 to 12 rows": _clusters(_UNEQUAL, (0.5, 0.5), expected=".045"),
    "50 clusters of 3 to 12 rows, size drives x and y": _clusters(
        _UNEQUAL, (0.5, 0.5), driven=2.0, expected=".04 (rows 1.0)"
    ),
    "40 clusters of 5 to 44 rows, no size twice": _clusters(
        tuple(range(5, 45)), (0.5, 0.5), guarantee="approximate", expected=".04 to .075"
    ),
    "20 clusters of 20 rows, drift within clusters": _walks(20, 20),
}


def _boundary(n_clusters: int, icc: tuple[float, float]) -> Case:
    """The sign test at its boundary: revealing x makes a cluster better or worse, equally often."""
    clusters = np.repeat(np.arange(n_clusters), SIZE)

    def draw(rng: Rng) -> Sample:
        x, noise = (_shared(rng, clusters, one) for one in icc)
        # Given x, the noise is symmetric: so is |y| - |y - x|.
        return Sample(Linear((1.0,)), x[:, None], x / 2 + noise, clusters)

    tests = {
        SFIT: shipped("sign", clusters=True),
        "rows counted as if independent": shipped("sign"),
    }
    return Case(len(clusters), draw, tests, "exact")


SIGNS = {
    f"{n} clusters, x / noise correlated {name}": _boundary(n, icc)
    for n in (50, 200)
    for name, icc in _ICC.items()
}


# --- time -------------------------------------------------------------------------------


def _series(n: int, memory: float, expected: str) -> Case:
    """Two stationary AR(1) series, independent of each other."""

    def draw(rng: Rng) -> Sample:
        steps = rng.normal(size=(2, n)) * np.sqrt(1 - memory**2)
        steps[:, 0] = rng.normal(size=2)
        x, y = lfilter([1.0], [1.0, -memory], steps, axis=1)
        return Sample(Linear((1.0,)), x[:, None], y)

    tests = {SFIT: shipped(row_order="time"), "rows permuted as if independent": shipped()}
    return Case(n, draw, tests, "approximate", expected)


SERIES = {
    f"AR(1) {memory}, n = {n:,}": _series(n, memory, f".03 to .06 (rows {rows})")
    for n in (200, 1_000)
    for memory, rows in ((0.5, ".11"), (0.9, ".3"), (0.98, ".39"))
}


PARTS: dict[str, dict[str, Case]] = {
    "strata": STRATA,
    "blocks": BLOCKS,
    "strained": STRAINED,
    "three": THREE,
    "clusters": CLUSTERS,
    "signs": SIGNS,
    "series": SERIES,
}
