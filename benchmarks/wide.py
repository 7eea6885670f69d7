"""Many features and few rows: time and memory of a first-order test against the number of features.

    python benchmarks/wide.py [--before CHECKOUT] [--most 40000]     # writes WIDE.md

Each measurement runs in a separate process, which makes its peak of memory clean. `--before` is a
checkout of an older commit: it is measured as well, as far as its time allows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from memory import memory, reset_peak

HERE = Path(__file__).parent
FEATURES = (2_500, 5_000, 10_000, 20_000, 40_000)
MOST_BEFORE = 5_000
"""The older commit is measured up to so many features: beyond, minutes and gigabytes."""
ROWS = (10, 1_000)
TRAIN_ROWS, INFORMATIVE, DENSITY = 200, 5, 0.01
SUBJECTS = (
    ("linear", "array"),
    ("linear", "sparse"),
    ("linear", "frame"),
    ("logistic", "array"),
    ("LightGBM", "array"),
    ("forest", "sparse"),
)
ASKED = 1.15
"""The largest exponent that was asked for, of time and of memory."""


def draw(data: str, n: int, p: int) -> tuple[Any, np.ndarray]:
    """Rows of some kind, and a target that depends on the first few features."""
    rng = np.random.default_rng(0)
    if data == "sparse":
        X = sp.random_array((n, p), density=DENSITY, rng=rng, format="lil")
        X[:, :INFORMATIVE] = rng.standard_normal((n, INFORMATIVE))
        X = X.tocsr()
        signal = X[:, :INFORMATIVE].sum(axis=1)
    else:
        X = rng.standard_normal((n, p))
        signal = X[:, :INFORMATIVE].sum(axis=1)
    if data == "frame":
        import pandas as pd

        X = pd.DataFrame(X, columns=[f"column {j}" for j in range(p)])
    return X, signal + 0.5 * rng.standard_normal(n)


def model_of(name: str) -> Any:
    """A model that fits in seconds, however many features there are."""
    if name == "linear":
        from sklearn.linear_model import Ridge

        return Ridge()
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=20)
    if name == "LightGBM":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=20, num_leaves=8, verbose=-1, n_jobs=1)
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(10, max_leaf_nodes=16, max_features=0.1, random_state=0)


def measure(name: str, data: str, n: int, p: int) -> None:
    """One test, in this process; prints what it took."""
    import sfit

    X, y = draw(data, TRAIN_ROWS + n, p)
    y = (y > 0).astype(int) if name == "logistic" else y
    model = model_of(name).fit(X[:TRAIN_ROWS], y[:TRAIN_ROWS])
    X, y = X[TRAIN_ROWS:], y[TRAIN_ROWS:]
    # Late imports are nobody's cost.
    few, _ = draw(data, TRAIN_ROWS + n, 2 * INFORMATIVE)
    sfit.feature_significance(model_of(name).fit(few[:n], y), few[:n], y)
    before = reset_peak(trim=True)
    started = time.process_time()
    result = sfit.feature_significance(model, X, y)
    seconds = time.process_time() - started
    held = None if before is None else memory("VmHWM") - before
    route = result.run["stages"][0]["route"]
    print(json.dumps({"seconds": seconds, "megabytes": held, "route": route}))


def run(name: str, data: str, n: int, p: int, checkout: Path) -> dict[str, Any]:
    """One test in a separate process, with the code of a checkout."""
    asked = [name, data, str(n), str(p)]
    command = [sys.executable, __file__, "--measure", *asked]
    # One thread: what two of them take depends on who else works on this machine.
    own = {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True, env={**os.environ, **own}
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(*asked, found, flush=True)
    return found | {"model": name, "data": data, "rows": n, "features": p}


def exponent(runs: list[dict[str, Any]], what: str) -> float:
    """Slope of the logarithm of something against that of the number of features."""
    if len(runs) < 2 or any(run[what] is None for run in runs):
        return float("nan")
    p, values = ([run[key] for run in runs] for key in ("features", what))
    return float(np.polyfit(np.log(p), np.log(values), 1)[0])


def of(runs: list[dict[str, Any]], name: str, data: str, n: int) -> list[dict[str, Any]]:
    return [r for r in runs if (r["model"], r["data"], r["rows"]) == (name, data, n)]


def growth_rows(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The exponents of every kind of test."""
    yield ["model", "rows", "route", "seconds, before", "MB, before", "**seconds**", "**MB**"]
    for name, data in SUBJECTS:
        for n in ROWS:
            own = of(after, name, data, n)
            slopes = [
                f"{exponent(runs, what):.2f}" if len(runs) > 1 else "-"
                for runs in (of(before, name, data, n), own)
                for what in ("seconds", "megabytes")
            ]
            yield [f"{name}, {data}", f"{n:,}", own[-1]["route"], *slopes]


def cost_rows(
    before: list[dict[str, Any]], after: list[dict[str, Any]], what: str
) -> Iterator[list[str]]:
    """Seconds or MB of every test; before and after where both are known."""
    sizes = sorted({run["features"] for run in after})
    yield ["model", "rows", *(f"{p:,}" for p in sizes)]
    for name, data in SUBJECTS:
        for n in ROWS:
            old = {run["features"]: run[what] for run in of(before, name, data, n)}
            new = {run["features"]: run[what] for run in of(after, name, data, n)}
            cells = [
                f"{shown(old[p])} → **{shown(new[p])}**" if p in old else f"**{shown(new[p])}**"
                for p in sizes
            ]
            yield [f"{name}, {data}", f"{n:,}", *cells]


def shown(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def table(rows: Iterator[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(before: list[dict[str, Any]], after: list[dict[str, Any]], commit: str) -> str:
    """What was measured; every verdict is computed."""
    slopes = [
        exponent(of(after, name, data, n), what)
        for name, data in SUBJECTS
        for n in ROWS
        for what in ("seconds", "megabytes")
    ]
    steepest = max(slope for slope in slopes if not np.isnan(slope))
    older = (
        f"Before the arrow, commit {commit}, up to {max(r['features'] for r in before):,} features; "
        "behind it, "
        if before
        else "Of "
    )
    return TEXT.format(
        command="python benchmarks/wide.py" + (" --before CHECKOUT" if before else ""),
        python=platform.python_version(),
        train=TRAIN_ROWS,
        density=100 * DENSITY,
        older=older,
        steepest=steepest,
        verdict="within" if steepest <= ASKED else "outside",
        asked=ASKED,
        growth=table(growth_rows(before, after)),
        seconds=table(cost_rows(before, after, "seconds")),
        megabytes=table(cost_rows(before, after, "megabytes")),
    )


TEXT = """# Wide data

First-order tests of many features: `{command}` (Python {python}, one thread). Each figure is a process of
its own. Models are fitted on {train} rows; sparse rows hold {density:.0f} % of their values, frames are pandas'.
{older}the code of this page.

- Seconds are those of the processor in one call of `feature_significance`, the gate included.
- MB are the peak beyond what the process held before the call, which is the model, the rows and the libraries.
- The steepest growth is to the power {steepest:.2f} of the number of features, {verdict} the {asked} that were asked for.

## Growth

The exponents of time and of memory in the number of features.

{growth}

## Seconds, by number of features

{seconds}

## MB, by number of features

{megabytes}

A function that nothing is known of, `fast=False`, and `given="rest"` are not here: the model itself predicts all rows
for each feature, and a row has as many values as there are features. Time grows with the square of them.
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path)
    parser.add_argument("--most", type=int, default=FEATURES[-1])
    parser.add_argument("--measure", nargs=4)
    options = parser.parse_args()
    if options.measure:
        name, data, n, p = options.measure
        warnings.simplefilter("ignore")
        measure(name, data, int(n), int(p))
        return
    before, after, commit = [], [], ""
    if options.before:
        git = ["git", "-C", str(options.before), "rev-parse", "--short=7", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    for p in (p for p in FEATURES if p <= options.most):
        for name, data in SUBJECTS:
            for n in ROWS:
                after.append(run(name, data, n, p, HERE.parent))
                if options.before and p <= MOST_BEFORE:
                    before.append(run(name, data, n, p, options.before))
    (HERE / "WIDE.md").write_text(page(before, after, commit), encoding="utf-8")


if __name__ == "__main__":
    main()
