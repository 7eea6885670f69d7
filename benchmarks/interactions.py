"""The cost of an additive base: all pairs with `interaction="additive"`, beside plain pairs.

    OMP_NUM_THREADS=1 python benchmarks/interactions.py        # writes benchmarks/INTERACTIONS.md
    OMP_NUM_THREADS=1 python benchmarks/interactions.py --fast --page build/INTERACTIONS.md

Both runs test every feature and every pair (`exhaustive=True`). Times are processor seconds of one
thread, the best of several turns, one after the other.
"""

from __future__ import annotations

import argparse
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfit

HERE = Path(__file__).parent
TRAIN = 20_000


def models(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Any, bool]]:
    """A name, a fitted model, and whether it predicts classes."""
    import torch
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(hidden_layer_sizes=[64], max_iter=10, random_state=0)
    trees = {"n_estimators": 200, "verbose": -1, "n_jobs": 1}
    yield "LGBMRegressor", LGBMRegressor(**trees).fit(X, y), False
    yield "LGBMClassifier", LGBMClassifier(**trees).fit(X, y > 0), True
    yield "MLPRegressor, 64 units", network.fit(X, y), False
    torch.manual_seed(0)
    layers = torch.nn.Linear(X.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    yield "torch, 64 units", torch.nn.Sequential(*layers), False


def both_orders(model: Any, X: Any, y: Any, reference: Any, interaction: str | None) -> Any:
    """Processor seconds of a run with all pairs, and the route of the pairs."""
    started = time.process_time()
    result = sfit.feature_significance(
        model,
        X,
        y,
        reference=reference,
        max_order=2,
        beta=0.001,
        exhaustive=True,
        interaction=interaction,
    )
    seconds = time.process_time() - started
    [stage] = [stage for stage in result.run["stages"] if stage["stage"] == "order 2"]
    return seconds, stage["route"]


def table(n: int, width: int, turns: int) -> list[str]:
    """One line per model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(TRAIN + n, width))
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + rng.normal(size=len(X))
    lines = [
        "| model | route | plain pairs | additive | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, model, classes in models(X[:TRAIN], y[:TRAIN]):
        observed = (y > 0) if classes else y
        seconds = {None: np.inf, "additive": np.inf}
        for _ in range(turns):
            for kind in seconds:
                spent, route = both_orders(model, X[TRAIN:], observed[TRAIN:], X[:TRAIN], kind)
                seconds[kind] = min(seconds[kind], spent)
        plain, additive = seconds.values()
        lines.append(
            f"| {name} | {route} | {plain:.1f} s | {additive:.1f} s | **{additive / plain:.2f}** |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="a small version; takes seconds")
    parser.add_argument("--page", type=Path, default=HERE / "INTERACTIONS.md")
    options = parser.parse_args()
    n, width, turns = (2_000, 8, 1) if options.fast else (100_000, 20, 3)
    warnings.simplefilter("ignore")
    commit = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    said = subprocess.run(commit, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    page = [
        "# Interactions",
        "",
        f"Written by `python benchmarks/interactions.py`, one thread, on commit {said or 'unknown'}.",
        "",
        f"All {width * (width - 1) // 2} pairs of {width} features on {n:,} rows, `exhaustive=True`, order 1 and gates",
        'included: processor seconds of plain pairs and of `interaction="additive"`, the best of several turns.',
        "",
        *table(n, width, turns),
    ]
    options.page.parent.mkdir(parents=True, exist_ok=True)
    options.page.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
