"""Which pairs interact? Prints the tables of interactions.md and draws its picture.

python docs/interactions.py
"""

from pathlib import Path

import numpy as np
from lightgbm import LGBMRegressor
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor

import sfit
from sfit.plotting import InteractionDisplay

ADDITIVE = {"max_order": 2, "interaction": "additive", "exhaustive": True}
TRAIN = 30_000
MODELS = {
    "network": MLPRegressor(hidden_layer_sizes=(150, 50), max_iter=60, random_state=0),
    "LightGBM": LGBMRegressor(n_estimators=400, verbose=-1, n_jobs=1, random_state=0),
    "forest": RandomForestRegressor(n_estimators=100, min_samples_leaf=5, random_state=0),
}


def pairs(result):
    """The pairs by falling mean gain over their parts."""
    return sorted((t for t in result.tests if t.order == 2), key=lambda t: -t.gain)


def process(image):
    """The process of the paper: the two products against the 19 other pairs."""
    X, y = sfit.simulate.interactions(TRAIN + 10_000, random_state=0)
    print("| model | (X4, X5) | (X1, X2) | largest of the other 19 | significant |")
    print("| --- | --- | --- | --- | --- |")
    for name, model in MODELS.items():
        model.fit(X[:TRAIN], y[:TRAIN])
        result = sfit.feature_significance(
            model,
            X[TRAIN:],
            y[TRAIN:],
            reference=X[:TRAIN],
            beta=(0.01, 0.001),
            correction="holm",
            **ADDITIVE,
        )
        first, second, third, *_ = pairs(result)
        assert (first.term, second.term) == (("X4", "X5"), ("X1", "X2"))
        shares = [f"{test.gain:.3f} ({test.share_nonadditive:.0%})" for test in (first, second)]
        found = ", ".join(f"({', '.join(term)})" for term in result.significant[2])
        other = f"{third.gain:.3f} ({', '.join(third.term)})"
        print(f"| {name} | {' | '.join(shares)} | {other} | {found} |")
        if name == "LightGBM":
            InteractionDisplay.from_result(result).figure_.savefig(image, dpi=110)


def additive_models():
    """Models without interactions: sets that move no prediction at all, at any order and beta."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5)) * [1, 1, 100, 1, 0.01] + [0, 5, 2000, 0, 0]

    def line(rows):
        return 10 * rows[:, 0] + 0.5 * rows[:, 1]

    odds = X[:, 0] + 0.02 * (X[:, 2] - 2000) + np.abs(X[:, 3])
    y = (rng.uniform(size=len(X)) < expit(odds)).astype(int)
    logistic = LogisticRegression(C=100, max_iter=2000).fit(X[:10_000], y[:10_000])
    cases = {
        "10 x1 + 0.5 x2, the true function": (line, line(X) + rng.normal(size=len(X))),
        "logistic regression": (logistic, y),
    }
    print("\n| model | sets of 2 to 5 features | sets that move a prediction |")
    print("| --- | --- | --- |")
    for name, (model, outcome) in cases.items():
        result = sfit.feature_significance(
            model,
            X[10_000:],
            outcome[10_000:],
            reference=X[:10_000],
            beta=0.0,
            **ADDITIVE | {"max_order": 5},
        )
        sets = [test for test in result.tests if test.order > 1]
        print(f"| {name} | {len(sets)} | {sum(test.share_moved > 0 for test in sets)} |")


if __name__ == "__main__":
    process(Path(__file__).parent / "images" / "interactions.png")
    additive_models()
