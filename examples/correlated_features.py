"""
Correlated features: LOCO against SFIT
======================================

**Finding:** two features that matter equally and say almost the same are each missed by LOCO half
of the time, and by SFIT never.

Section 1 of the paper: ``Y = 2 + X1 + X2 + noise`` with a correlation of 0.85. LOCO refits without a
feature; the other one then stands in for it. SFIT asks what the fitted model does with each of them.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LinearRegression

import sfit

REPEATS = 20
found = {"LOCO": [0, 0], "SFIT": [0, 0]}
for seed in range(REPEATS):
    X, y = sfit.simulate.correlated(2_000, random_state=seed)
    train, test = slice(0, 1_000), slice(1_000, None)
    model = LinearRegression().fit(X[train], y[train])
    results = {
        "LOCO": sfit.loco_significance(LinearRegression(), X[train], y[train], X[test], y[test]),
        "SFIT": sfit.feature_significance(model, X[test], y[test], reference=X[train]),
    }
    for method, result in results.items():
        for column, name in enumerate(["X1", "X2"]):
            found[method][column] += name in result.selected
print(found, "of", REPEATS)

# %%
# Both answers are right, to different questions. LOCO: would another model do as well without it?
# SFIT: does this model use it? Who has to explain, or audit, a fitted model asks the second one.

fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
for place, counts in enumerate(found.values()):
    bars = ax.barh([place - 0.18, place + 0.18], counts, height=0.32, color=["C0", "C1"])
    ax.bar_label(bars, labels=["X1", "X2"], padding=3)
ax.set(yticks=range(len(found)), xlim=(0, REPEATS * 1.1))
ax.set_yticklabels(found)
ax.set_xlabel(f"found in so many of {REPEATS} repeats")
ax.spines[["top", "right"]].set_visible(False)

# %%
# The same over 3,000 repeats is in :doc:`/paper/correlation`.

assert found["SFIT"] == [REPEATS, REPEATS]
