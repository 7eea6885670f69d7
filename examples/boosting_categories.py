"""
Gradient boosting with categories
=================================

**Finding:** LightGBM splits more often on a category that means nothing than on one that matters.
Beyond the other features it predicts no better with it.

Sales depend on the region (4 levels) and on the price. ``batch`` has 60 levels and plays no part; so
many levels give many chances to split.
"""

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sfit

rng = np.random.default_rng(0)
n = 8_000
X = pd.DataFrame(
    {
        "price": rng.gamma(4.0, 2.0, size=n),
        "region": pd.Categorical(rng.choice(["north", "east", "south", "west"], size=n)),
        "batch": pd.Categorical(rng.integers(60, size=n)),
    }
)
level = X["region"].map({"north": -3.0, "east": -1.0, "south": 1.0, "west": 3.0}).astype(float)
y = 20 + level - 0.8 * X["price"] + rng.normal(scale=1.5, size=n)
train, test = slice(0, n // 2), slice(n // 2, None)
model = lightgbm.LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1).fit(X[train], y[train])

# %%
# Categories go in as they are. A hidden category is frozen at its most frequent level, which is no
# middle: the base is then off for most rows, and whatever moves predictions may look useful. So ask
# what each feature adds to all the others, ``given="rest"``: there everything else is as observed.

result = sfit.feature_significance(model, X[test], y[test], reference=X[train], given="rest")
print(result.summary())

# %%

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 2.8), layout="constrained")
left.barh(["batch", "region"], model.feature_importances_[[2, 1]], color="0.6")
left.set_title("LightGBM: number of splits", loc="left", fontsize="medium")
result.plot(ax=right)

# %%
# The number of splits says how often the model asked for the batch; the test says that the answers
# did not help on rows it had not seen. With dummies instead of categories, hidden columns are frozen
# at their means, and ``groups`` reveals the dummies of a category together.

assert model.feature_importances_[2] > model.feature_importances_[1]
assert result.selected == ("price", "region")
