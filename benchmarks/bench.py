"""What first-order SFIT costs, as a multiple of one predict pass over the same rows.

    make bench        # writes benchmarks/RESULTS.md

Every figure is a ratio measured in this one run, each time the best of several repeats: the plain
loop of Algorithm 1 (one pass per feature, then SciPy's binomial test and NumPy's median), ours with
`fast=False`, ours, and scikit-learn's permutation importance on the same model and rows.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

import sfit

OUT = Path(__file__).with_name("RESULTS.md")


def process(rng, n, p):
    """Rows with linear, curved and interacting features, and noise."""
    X = rng.normal(size=(n, p))
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + rng.normal(size=n)
    return X, y


def torch_network(p, hidden):
    """A ReLU network in single precision, with the weights it was born with."""
    import torch

    torch.manual_seed(0)
    sizes, layers = [p, *hidden], []
    for inputs, units in pairwise(sizes):
        layers += [torch.nn.Linear(inputs, units), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))


def tree_models(X, y):
    """Name and fitted model, for each library."""
    import catboost
    import lightgbm
    import xgboost

    yield "LightGBM", lightgbm.LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=2).fit(X, y)
    yield "histogram boosting", HistGradientBoostingRegressor(random_state=0).fit(X, y)
    forest = RandomForestRegressor(100, min_samples_leaf=5, n_jobs=2, random_state=0)
    yield "random forest", forest.fit(X, y)
    yield "XGBoost", xgboost.XGBRegressor(n_estimators=100, n_jobs=2).fit(X, y)
    cat = catboost.CatBoostRegressor(
        iterations=200, verbose=0, thread_count=2, allow_writing_files=False
    )
    yield "CatBoost", cat.fit(X, y)


def best(call, repeats):
    """Smallest time of several calls, and the last answer."""
    times, answer = [], None
    for _ in range(repeats):
        started = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - started)
    return min(times), answer


def plain_loop(predict, X, y, beta=0.01):
    """Algorithm 1 as it is printed: one masked data set per feature."""
    n, p = X.shape
    masked = np.zeros_like(X)
    base = (1 - beta) * np.abs(y - predict(masked))
    found = []
    for j in range(p):
        masked = np.zeros_like(X)
        masked[:, j] = X[:, j]
        delta = base - np.abs(y - predict(masked))
        np.median(delta)
        if binomtest(int((delta > 0).sum()), n, alternative="greater").pvalue < 0.05:
            found.append(j)
    return found


def first_order(result):
    """Seconds of a result's first order: everything but the gate, which is a full pass itself."""
    gate = sum(s["seconds"] for s in result.run["stages"] if s["stage"] == "gate")
    return result.run["seconds"] - gate


def measure(name, model, X, y, repeats, peers):
    """One row of the table."""
    predict = sfit.models.as_view(model).predict
    own = model.predict if hasattr(model, "predict") else predict
    one_pass, _ = best(lambda: own(X), repeats)
    loop, _ = best(lambda: plain_loop(own, X, y), 1)
    _, slow = best(lambda: sfit.feature_significance(model, X, y, reference=0.0, fast=False), 1)
    results = [sfit.feature_significance(model, X, y, reference=0.0) for _ in range(repeats)]
    ours = min(map(first_order, results))
    whole = min(result.run["seconds"] for result in results)
    peer = "-"
    if peers and hasattr(model, "predict"):
        seconds, _ = best(lambda: permutation_importance(model, X, y, n_repeats=5), 1)
        peer = f"{seconds / one_pass:.0f}"
    counts = zip(slow.tests, results[0].tests, strict=True)
    apart = max(abs(a.n_positive - b.n_positive) for a, b in counts)
    same = "every bit" if slow == results[0] else f"counts within {apart}"
    route = results[0].run["stages"][0]["route"]
    row = (
        f"| {name} | {len(X):,} x {X.shape[1]} | {route} | {one_pass:.3f} s | "
        f"{loop / one_pass:.1f} | {first_order(slow) / one_pass:.1f} | **{ours / one_pass:.2f}** | "
        f"{whole / one_pass:.2f} | {loop / ours:.0f} | {peer} | {same} |"
    )
    print(row, flush=True)
    return row


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    started = time.perf_counter()
    rows = []
    X, y = process(rng, options.rows, 50)
    X_train, y_train = process(rng, 20_000, 50)
    run = {"repeats": options.repeats, "peers": not options.no_peers}
    for name, model in tree_models(X_train, y_train):
        rows.append(measure(name, model, X, y, **run))
    rows.append(measure("least squares", LinearRegression().fit(X_train, y_train), X, y, **run))
    mlp = MLPRegressor(hidden_layer_sizes=(100, 50, 30), max_iter=5, random_state=0)
    rows.append(measure("scikit-learn MLP 100-50-30", mlp.fit(X_train, y_train), X, y, **run))
    for n, hidden in ((options.rows, (512, 256)), (options.rows // 10, (100, 50, 30))):
        X, y = process(rng, n, 75)
        network = torch_network(75, hidden)
        name = f"torch {'-'.join(map(str, hidden))}"
        rows.append(measure(name, network, X.astype(np.float32), y, **run))
    X, y = process(rng, options.rows, 50)
    weights = rng.normal(size=(50, 64))

    def opaque(block):
        return np.tanh(block @ weights).sum(axis=1)

    rows.append(measure("an opaque function", opaque, X, y, **run))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    text = HEADER.format(
        command=" ".join(["python benchmarks/bench.py", *sys.argv[1:]]),
        seconds=time.perf_counter() - started,
        peak=peak,
        python=platform.python_version(),
    )
    OUT.write_text(text + "\n".join(rows) + "\n" + FOOTER, encoding="utf-8")


HEADER = """# Speed

First-order SFIT on 50 or 75 features, in passes: multiples of ONE prediction of all rows by the model's
own `predict`, in one run on two cores (`{command}`, {seconds:.0f} s, Python {python}; peak memory of the whole
run {peak:.1f} GB). Each figure is the best of several repeats of a noisy machine: read them as sizes.

| model | rows x features | route | one pass | plain loop | ours, `fast=False` | **ours** | ours with the gate | loop / ours | permutation importance | equal to `fast=False` |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

FOOTER = """
"ours" is the whole call in one thread (checks, reading the model's structure, all tests, intervals,
`beta_max`) without the gate; the gate reveals all features, so it costs one pass by itself, and the next
column has it. "plain loop" is Algorithm 1 as printed, medians but no intervals; "permutation importance"
is scikit-learn's with 5 repeats, which has no test.
"""


if __name__ == "__main__":
    main()
