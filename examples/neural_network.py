"""
A neural network
================

**Finding:** of seven inputs a network uses two by themselves and three in pairs, and it does not
touch the two that are noise.

The rows are those of section 3 of the paper: ``Y = 3 + 4 X1 + X1 X2 + 3 X3^2 + 2 X4 X5``, with
``X6`` and ``X7`` playing no part. The network never saw this formula; the test asks what it learned.
"""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

import sfit
from sfit.plotting import InteractionDisplay

X_train, y_train = sfit.simulate.interactions(20_000, random_state=0)
X_test, y_test = sfit.simulate.interactions(10_000, random_state=1)
model = MLPRegressor(
    hidden_layer_sizes=(100, 50),
    batch_size=500,
    learning_rate_init=5e-3,
    max_iter=30,
    random_state=0,
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # a few epochs are enough here
    model.fit(X_train, y_train)

# %%
# ``max_order=2`` goes on to pairs while the gate is open: while the model predicts better with all
# features than with those found. Pairs have small effects, so the second ``beta`` is smaller, and
# ``strict`` asks that a pair improve on each of its members.

result = sfit.feature_significance(
    model, X_test, y_test, reference=X_train, max_order=2, beta=(0.01, 0.001), strict=True
)
print(result.summary())

# %%
# Left: the median reduction of the loss by each pair, the significant ones filled. Right: how
# strongly the weights of the first layer tie two features, ``|W|^T |W|``, which tells the test where
# to look first (``partners="auto"``, Figure 1 of the paper).

InteractionDisplay.from_result(result, model=model, X=X_test, y=y_test)

# %%
# What is found are *sets*. (X1, X4) and (X1, X5) are among them: beside X1 the network makes a little use
# of X4 or X5 alone, by less than a hundredth of the loss of X1. Their ``beta_max`` says so.

assert result.selected == ("X1", "X2", "X3", "X4", "X5")
