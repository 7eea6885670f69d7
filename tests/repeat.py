"""The results of a few runs, as one line each: what must be the same wherever and however it is run.

    python tests/repeat.py [--jobs N] [--backend NAME] [--network]

Models are written out rather than fitted: fitting may depend on the machine, and is not at issue.
"""

import argparse
import warnings
from hashlib import sha256

import joblib
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

import sfit


def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3_000, 5)), columns=list("abcde"))
    X["c"] = X["c"].round(1)
    X["d"] = (X["d"] > 0.5) * 1.0
    score = 2 * X["a"] + X["b"] * X["c"] + X["d"] + 0.3 * rng.normal(size=len(X))
    return X, score.to_numpy()


def tree():
    X, y = rows()
    return DecisionTreeRegressor(max_depth=6, random_state=0).fit(X[:1_500], y[:1_500])


def logistic(frame):
    model = LogisticRegression()
    model.classes_, model.n_iter_ = np.array(["no", "yes"]), np.array([1])
    model.coef_, model.intercept_ = np.array([[2.0, 0.1, 0.3, 0.7, 0.0]]), np.array([-0.25])
    model.n_features_in_, model.feature_names_in_ = 5, np.asarray(frame.columns, dtype=object)
    return model


def network(frame):
    """Polylines at first order, updates of the first layer at second."""
    rng = np.random.default_rng(1)
    model = MLPRegressor(hidden_layer_sizes=(40, 8), max_iter=1, random_state=0)
    model.fit(frame.to_numpy(), np.zeros(len(frame)))
    model.coefs_ = [rng.normal(size=weights.shape) for weights in model.coefs_]
    model.intercepts_ = [rng.normal(size=biases.shape) for biases in model.intercepts_]
    return model


def product(frame):
    """Arithmetic of every machine: no library's exponential."""
    X = np.asarray(frame)
    return 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3]


def results(with_network):
    """One result per kind of model and question."""
    X, y = rows()
    if with_network:
        wide = pd.concat([X, X.shift(1, fill_value=0.0).add_prefix("last ")], axis=1)
        given = {"max_order": 2, "n_partners": 2, "beta": 0.001}
        yield "network", sfit.feature_significance(network(wide), wide.to_numpy(), y, **given)
        return
    label = np.where(y > 0, "yes", "no")
    order_2 = {"max_order": 2, "beta": (0.01, 0.001)}
    test = sfit.feature_significance
    yield "function", test(product, X, y, correction="fdr_by", exhaustive=True, **order_2)
    yield "tree", test(tree(), X, y, strict=True, **order_2)
    yield "linear", test(logistic(X), X, label, loss="brier", **order_2)
    yield (
        "parts",
        test(tree(), X, y, by=np.where(X["e"] > 0, "east", "west"), groups={"bc": ["b", "c"]}),
    )
    printed = sfit.SignTest(interval="asymptotic")
    yield "auto", test(tree(), X, y, beta="auto", random_state=3, test=printed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--backend", default="threading")
    parser.add_argument("--network", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with joblib.parallel_config(backend=options.backend, n_jobs=options.jobs):
        for name, result in results(options.network):
            text = result.to_json().partition('\n "run": ')[0]
            print(name, len(text), sha256(text.encode()).hexdigest()[:16])


if __name__ == "__main__":
    main()
