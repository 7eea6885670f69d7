"""
Model selection in a Pipeline
=============================

**Finding:** of 40 columns, 35 of them noise, the selector keeps the ones that matter, and the model
fitted on these predicts better. How strict it is can be searched for like any other parameter.

``SFITSelector`` is a scikit-learn transformer: it fits a clone of a model on a part of the training
rows, tests it on the rest, and keeps the features that are significant: by default those that the
permutation test finds related to the outcome.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

import sfit

X, y = make_friedman1(n_samples=3_000, n_features=40, noise=1.0, random_state=0)
model = KNeighborsRegressor(n_neighbors=10)
selector = sfit.SFITSelector(make_pipeline(SplineTransformer(), Ridge()), random_state=0)
search = GridSearchCV(
    make_pipeline(selector, model), {"sfitselector__alpha": [0.001, 0.01, 0.05]}, cv=3
).fit(X, y)
kept = search.best_estimator_["sfitselector"].get_feature_names_out()
print(search.best_params_, "keeps", list(kept))
assert list(kept) == ["x0", "x1", "x2", "x3", "x4"]

# %%
# The first five columns are the real ones. Each fold selects anew on its own training rows, so that
# the scores are honest.

scores = {
    "all 40 columns": cross_val_score(model, X, y, cv=3),
    **{
        f"selected, alpha = {alpha:g}": [
            search.cv_results_[f"split{fold}_test_score"][row] for fold in range(3)
        ]
        for row, alpha in enumerate(search.cv_results_["param_sfitselector__alpha"])
    },
}
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
for place, values in enumerate(scores.values()):
    ax.plot(values, [place] * 3, "o", color="C0", alpha=0.5)
    ax.plot(np.mean(values), place, "|", color="C1", markersize=18, markeredgewidth=2)
ax.set(yticks=range(len(scores)), xlabel="R2 on held-out folds, and its mean")
ax.set_yticklabels(scores)
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
