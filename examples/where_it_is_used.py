"""
Where a feature is used
=======================

**Finding:** a significant feature need not help every row: age matters to this model for the young
and for the old, and not in between.

A p-value is about the median row. The differences behind it, drawn against the values of the
feature, show for which rows the model uses it.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import sfit
from sfit.plotting import DeltaDisplay

rng = np.random.default_rng(0)
n = 8_000
X = pd.DataFrame({"age": rng.uniform(18, 80, size=n), "distance": rng.exponential(10, size=n)})
risk = 8 * np.exp(-(X["age"] - 18) / 5) + 5 * np.exp((X["age"] - 80) / 6) + 0.05 * X["distance"]
y = risk + rng.normal(scale=0.5, size=n)
train, test = slice(0, n // 2), slice(n // 2, None)
model = RandomForestRegressor(50, min_samples_leaf=10, random_state=0).fit(X[train], y[train])
result = sfit.feature_significance(model, X[test], y[test], reference=X[train])
print(result.summary())

# %%
# Above zero the model predicts a row better with its age than with the mean age.

DeltaDisplay.from_model(model, X[test], y[test], "age", reference=X[train])
