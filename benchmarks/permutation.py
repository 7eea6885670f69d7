"""The cost of the permutation test: time beyond the sign test, memory out of core, and tables.

    make permutation                        # writes benchmarks/PERMUTATION.md, in some minutes
    python benchmarks/permutation.py --fast --page build/PERMUTATION.md

Times are ratios within one run, the best of several turns.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

import sfit

HERE = Path(__file__).parent


# --- time ---------------------------------------------------------------------------------


def best(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Seconds of each call, the best of several turns, one after the other."""
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(turns):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


def times(n: int, p: int, turns: int) -> list[str]:
    """All first-order features of LightGBM, 1,999 permutations: passes beyond the sign test."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 20_000, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3])
    y = signal + rng.normal(size=len(X))
    trees = {"n_estimators": 200, "verbose": -1, "n_jobs": 1}
    regressor = LGBMRegressor(**trees).fit(X[:20_000], y[:20_000])
    classifier = LGBMClassifier(**trees).fit(X[:20_000], y[:20_000] > 0)
    rows, observed, reference = X[20_000:], y[20_000:], X[:20_000]
    return [
        "| model | loss | predict pass | sign test | permutation test | passes beyond the sign test |",
        "| --- | --- | --- | --- | --- | --- |",
        timed(regressor, regressor.predict, rows, observed, reference, "absolute_error", turns),
        timed(regressor, regressor.predict, rows, observed, reference, "squared_error", turns),
        timed(
            classifier, classifier.predict_proba, rows, observed > 0, reference, "log_loss", turns
        ),
    ]


def timed(
    model: Any, predict: Any, rows: Any, y: Any, reference: Any, loss: str, turns: int
) -> str:
    """One line of the table of times."""

    def test(kind: str) -> Any:
        return sfit.feature_significance(
            model, rows, y, test=kind, loss=loss, reference=reference, random_state=0
        )

    seconds = best(
        {
            "pass": lambda: predict(rows),
            "sign": lambda: test("sign"),
            "permutation": lambda: test("permutation"),
        },
        turns,
    )
    beyond = (seconds["permutation"] - seconds["sign"]) / seconds["pass"]
    return (
        f"| {type(model).__name__} | {loss} | 1 | {seconds['sign'] / seconds['pass']:.2f} | "
        f"{seconds['permutation'] / seconds['pass']:.2f} | **{beyond:.2f}** |"
    )


# --- memory -------------------------------------------------------------------------------

CHILD = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, sfit, pyarrow.parquet
from sklearn.ensemble import HistGradientBoostingRegressor
head = next(pyarrow.parquet.ParquetFile(sys.argv[1]).iter_batches(20_000)).to_pandas()
names = [name for name in head if name != "y"]
model = HistGradientBoostingRegressor(max_iter=50, random_state=0).fit(head[names], head["y"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = sfit.feature_significance(
    model, sys.argv[1], "y", features=names, test="permutation", reference=head[names], random_state=0
)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / 1024, result.run["seconds"], len(result.selected))
"""


def memory(sizes: tuple[int, ...], p: int) -> list[str]:
    """Peak memory beyond what the process held before the call, for rows in a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = [
        "| rows | MB beyond the start | seconds per million rows | found |",
        "| --- | --- | --- | --- |",
    ]
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder) / f"{n}.parquet"
            writer = None
            for start in range(0, n, 500_000):
                m = min(500_000, n - start)
                block = pd.DataFrame(
                    rng.normal(size=(m, p)).astype("float32"), columns=[f"x{j}" for j in range(p)]
                )
                block["y"] = block["x0"] + block["x1"] ** 2 + rng.normal(size=m)
                table = pa.Table.from_pandas(block, preserve_index=False)
                writer = writer or pq.ParquetWriter(path, table.schema)
                writer.write_table(table, row_group_size=100_000)
            if writer is not None:
                writer.close()
            out = subprocess.run(  # noqa: S603 - the program above
                [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
            ).stdout.split()
            path.unlink()
            lines.append(
                f"| {n:,} | {float(out[0]):.0f} | {float(out[1]) / n * 1e6:.1f} | {out[2]} of {p} |"
            )
    return lines


# --- tables -------------------------------------------------------------------------------


class Counting:
    """An opaque model that counts the rows it is asked for."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, rows: Any) -> Any:
        self.n += len(rows)
        return np.sin(np.asarray(rows)).sum(axis=1)


def predictions(sizes: tuple[int, ...]) -> list[str]:
    """Predictions asked of an opaque function per feature, the checks of the model apart."""
    lines = [
        "| rows | frozen reference | `Average`, 100 rows | every row (`fast=False`) |",
        "| --- | --- | --- | --- |",
    ]
    rng = np.random.default_rng(0)
    background = rng.normal(size=(1_000, 5))
    for n in sizes:
        X = rng.normal(size=(n, 5))
        y = np.sin(2 * X[:, 0]) + rng.normal(size=n)
        frozen, averaged = (per_feature(X, y, background, average) for average in (False, True))
        lines.append(f"| {n:,} | {frozen:,.0f} | {averaged:,.0f} | {n:,} |")
    return lines


def per_feature(X: Any, y: Any, background: Any, average: bool) -> float:
    """Predictions that three more features cost, divided by three."""
    asked = []
    for p in (2, 5):
        model = Counting()
        sfit.feature_significance(
            model,
            X[:, :p],
            y,
            test="permutation",
            reference=sfit.Average(background[:, :p]) if average else np.zeros(p),
            random_state=0,
        )
        asked.append(model.n)
    return (asked[1] - asked[0]) / 3


def _hinge(u: Any) -> Any:
    return np.maximum(u - 0.9, 0) * 10


SHAPES: dict[str, tuple[Callable[[Any], Any], str, float]] = {
    "linear .15": (ndtri, "normal", 0.15),
    "linear .3": (ndtri, "normal", 0.3),
    "step on 5 %": (lambda u: 1.0 * (u > 0.95), "normal", 0.9),
    "step on 20 %": (lambda u: 1.0 * (u > 0.8), "normal", 0.5),
    "step in the middle": (lambda u: 1.0 * ((u > 0.45) & (u < 0.55)), "normal", 0.75),
    "hinge on 10 %": (_hinge, "normal", 1.3),
    "square": (lambda u: np.square(ndtri(u)) - 1, "normal", 0.2),
    "wave": (lambda u: np.sin(12 * u), "normal", 0.3),
    "fast wave": (lambda u: np.sin(60 * u), "normal", 0.3),
    "saw": (lambda u: 8 * u % 1 - 0.5, "normal", 0.7),
    "skewed": (lambda u: np.exp(ndtri(u)) - 1.65, "normal", 0.1),
    "positive in 3 %": (ndtri, "rare", 0.9),
    "positive in 10 %": (ndtri, "common", 0.55),
    "Cauchy noise": (ndtri, "cauchy", 0.4),
    "lognormal y": (ndtri, "lognormal", 0.3),
    "counts": (ndtri, "counts", 0.2),
}
"""Name, the function of a uniform column, the outcome, and the strength."""

OUTCOMES: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda rng, eta: eta + rng.normal(size=eta.shape),
    "cauchy": lambda rng, eta: eta + rng.standard_cauchy(eta.shape),
    "lognormal": lambda rng, eta: np.exp(eta + rng.normal(size=eta.shape)),
    "counts": lambda rng, eta: rng.poisson(np.exp(eta)).astype(float),
    "rare": lambda rng, eta: (rng.random(eta.shape) < expit(eta - 3.5)).astype(float),
    "common": lambda rng, eta: (rng.random(eta.shape) < expit(eta - 2.2)).astype(float),
}


def power_lost(repeats: int, n: int = 400) -> list[str]:
    """Power of tables and of every row, on the same data, with the same permutations."""
    lines = ["| setting | every row | tables of 64 values | lost |", "| --- | --- | --- | --- |"]
    lost = []
    for name, (shape, outcome, strength) in SHAPES.items():
        rng = np.random.default_rng(0)
        u = rng.random(n * repeats)
        y = OUTCOMES[outcome](rng, 0.6 * strength * shape(u))
        by = np.repeat(np.arange(repeats), n)
        rates = []
        for fast in (False, True):
            hits = []
            # Parts share one table, so every repetition gets a separate call.
            for repetition in range(repeats):
                rows = by == repetition
                result = sfit.feature_significance(
                    lambda rows, shape=shape: shape(
                        np.clip(np.asarray(rows)[:, 0], 1e-9, 1 - 1e-9)
                    ),
                    u[rows, None],
                    y[rows],
                    test=sfit.PermutationTest(n_permutations=199),
                    reference=0.5,
                    random_state=repetition,
                    fast=fast,
                )
                hits.append(result.tests[0].p_value <= 0.05)
            rates.append(float(np.mean(hits)))
        lost.append(rates[0] - rates[1])
        lines.append(f"| {name} | {rates[0]:.3f} | {rates[1]:.3f} | {lost[-1]:+.3f} |")
    lines.append(f"| **mean of {len(SHAPES)}** | | | **{np.mean(lost):+.3f}** |")
    return lines


# --- page ---------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--page", type=Path, default=HERE / "PERMUTATION.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    fast = options.fast
    n, p = (10_000, 10) if fast else (100_000, 50)
    repeats = 10 if fast else 200
    parts = [
        "# The permutation test",
        "",
        "Written by `make permutation` (`python benchmarks/permutation.py`), one thread.",
        "",
        f"## Time: {n:,} rows, {p} features, 1,999 permutations",
        "",
        "Everything in passes of the model's own `predict` over the rows, best of several turns.",
        "",
        *times(n, p, 2 if fast else 4),
        "",
        "## Memory: rows in a Parquet file, 10 features",
        "",
        *memory((100_000, 200_000) if fast else (500_000, 5_000_000), 10),
        "",
        "## Predictions asked of an opaque function, per feature",
        "",
        *predictions((2_000, 4_000) if fast else (10_000, 100_000, 1_000_000)),
        "",
        f"## Power lost by tables: 400 rows, {repeats} data sets for each setting",
        "",
        "Both columns see the same data and permutations. The standard error of a power is at most "
        f"{0.5 / repeats**0.5:.3f}; that of a difference is much smaller.",
        "",
        *power_lost(repeats),
        "",
    ]
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text("\n".join(parts), encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.page}: done, peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
