"""
Few rows
========

**Finding:** with 120 patients, forward chaining finds more features of a decision tree than a half
split does, and neither finds the two columns of noise.

A test needs rows that the model has not seen. With few rows, setting half of them aside leaves a poor
model and a weak test. ``cross_significance`` cuts the rows into five folds instead. Each fold but the
first is tested on a model that was fitted on the folds before it, so almost every row is tested.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import sfit

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
X = X.assign(noise1=rng.normal(size=len(X)), noise2=rng.normal(size=len(X)))
tree = DecisionTreeRegressor(max_depth=3, random_state=0)

few = rng.choice(len(X), 120, replace=False)
result = sfit.cross_significance(tree, X.iloc[few], y.iloc[few], correction="holm", random_state=0)
print(result.summary())

# %%
# A significant feature is related to the outcome through at least one of the four models. The folds
# show which: each p-value is exact given the folds before it, so they can be combined.

strongest = min(result.tests, key=lambda test: test.p_value).term
folds = result.folds
print(folds[folds["term"] == strongest][["fold", "n_train", "n", "estimate", "p_value"]])

# %%
# One sample of 120 patients may be lucky. Fifteen samples, each tested in both ways:

found = {"forward chaining": dict.fromkeys(X, 0), "half split": dict.fromkeys(X, 0)}
for sample in range(15):
    rows = np.random.default_rng(sample).choice(len(X), 120, replace=False)
    X_few, y_few = X.iloc[rows], y.iloc[rows]
    chain = sfit.cross_significance(tree, X_few, y_few, correction="holm", random_state=sample)
    model = tree.fit(X_few[:60], y_few[:60])
    half = sfit.feature_significance(
        model,
        X_few[60:],
        y_few[60:],
        test="permutation",
        reference=sfit.Average(X_few[:60]),
        correction="holm",
        random_state=sample,
    )
    for way, of_way in (("forward chaining", chain), ("half split", half)):
        for name in of_way.selected:
            found[way][name] += 1

totals = {way: sum(counts.values()) for way, counts in found.items()}
print(totals)
assert totals["forward chaining"] > totals["half split"]
assert all(counts["noise1"] == counts["noise2"] == 0 for counts in found.values())

fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for shift, (way, counts) in zip((-0.2, 0.2), found.items(), strict=True):
    ax.barh(np.arange(len(counts)) + shift, list(counts.values()), height=0.4, label=way)
ax.set(
    yticks=range(X.shape[1]),
    yticklabels=X.columns,
    xlabel="samples of fifteen in which it is found",
)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
