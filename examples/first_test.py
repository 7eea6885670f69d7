"""
A first test
============

**Finding:** a model of diabetes uses four of its ten measurements. The lasso had kept two more, and
these do not help by themselves.

The data ship with scikit-learn: 442 patients, ten measurements, and how far the disease went in a
year. Half of the patients fit a lasso, the other half test it.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from sklearn.model_selection import train_test_split

import sfit

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LassoCV().fit(X_train, y_train)
result = sfit.feature_significance(model, X_test, y_test, reference=X_train)
print(result.summary())

# %%
# Each line freezes all features at their training means, reveals one, and counts the patients whose
# loss falls by more than 1 % (``beta``). ``bmi`` helps 143 of 221: under the null it would be a fair
# coin, and the p-value is that of so many heads. The lasso dropped ``age``, ``s2``, ``s4`` and ``s6``:
# revealing them changes no prediction, so that they help nobody.

result.plot()

# %%
# The lasso kept ``sex`` and ``s1`` as well: a coefficient that is not zero does not yet make better
# predictions. The gate is closed, which means that all ten together predict no better than the four.

print(dict(zip(X.columns, model.coef_.round(), strict=True)))
