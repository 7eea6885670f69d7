"""
What the model uses for a subgroup
==================================

**Finding:** a credit model uses the postcode of applicants without a credit history, and of nobody
else.

The applicants are generated. Where there is a history, it decides; where there is none, income and
the postcode's default rate do. One applicant in four has no history.
"""

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

import sfit

rng = np.random.default_rng(0)
n = 24_000
X = pd.DataFrame(
    {
        "history": rng.normal(size=n),
        "income": rng.normal(size=n),
        "postcode_rate": rng.normal(size=n),
        "age": rng.uniform(20, 70, size=n),
    }
)
new = rng.uniform(size=n) < 0.25
X.loc[new, "history"] = np.nan
score = np.where(new, 1.2 * X["income"] - 1.8 * X["postcode_rate"], 2.5 * X["history"])
y = np.where(rng.uniform(size=n) < expit(score), "repaid", "default")
train, test = slice(0, n // 2), slice(n // 2, None)
model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[train], y[train])

everyone = sfit.feature_significance(model, X[test], y[test], reference=X[train])
print("everyone:", everyone.selected)

# %%
# ``by`` takes a column, or one label per row. The reference values stay those of all applicants.
# ``given=["history"]`` reveals the history on both sides of every comparison: what does the model use
# *beyond* it? Without that the frozen history of a mean applicant would stand in for the missing one.

group = np.where(new[test], "no history", "history")
result = sfit.feature_significance(
    model, X[test], y[test], by=group, given=["history"], reference=X[train]
)
for part, own in result.items():
    print(f"{part}: {own.selected}")

# %%

result.plot()
