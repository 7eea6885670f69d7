"""
Hidden interactions
===================

**Finding:** two features that do nothing by themselves are found together, because the gate says
that something is left.

The outcome depends on whether ``a`` and ``b`` have the same sign. Neither alone tells anything about
it, so that a test of one feature at a time must find nothing, and does.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import sfit
from sfit.plotting import InteractionDisplay

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(10_000, 5)), columns=list("abcde"))
right = rng.uniform(size=len(X)) < 0.9
y = np.where((X["a"] * X["b"] > 0) == right, "same", "different")
train, test = slice(0, 5_000), slice(5_000, None)
model = HistGradientBoostingClassifier(random_state=0).fit(X[train], y[train])
print(f"accuracy {model.score(X[test], y[test]):.2f}")

# %%
# One feature at a time: nothing. But the gate, which compares the model with all features to the
# model with those found, is open. It has a p-value of its own.

alone = sfit.feature_significance(model, X[test], y[test], reference=X[train])
print(alone.significant, "more to find:", alone.remainder)

# %%
# So go on to pairs. Paths of the trees tell which features the model combines: they are tried first.

result = sfit.feature_significance(model, X[test], y[test], reference=X[train], max_order=2)
print(result.summary())

# %%

InteractionDisplay.from_result(result, model=model, X=X[test], y=y[test])

# %%
# Had there been an interaction of three, the gate after the second order would be open still.

assert result.significant == {1: [], 2: [("a", "b")]}
assert not result.remainder
