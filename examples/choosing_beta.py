"""
Choosing beta
=============

**Finding:** a network fitted on few rows makes some use of noise. Random copies of it say how large
an improvement has to be to count, and then only the two real features remain.

``beta`` is the smallest relative improvement of the loss that counts. Without it the test is exact
and still disappoints: an over-fitted model really does use noise a little, and with enough rows any
trace is significant.
"""

import matplotlib.pyplot as plt
from sklearn.neural_network import MLPRegressor

import sfit
from sfit.plotting import SignificanceBetaDisplay

X, y = sfit.simulate.interactions(21_000, random_state=0)
train, validation, test = slice(0, 1_000), slice(1_000, 11_000), slice(11_000, None)
model = MLPRegressor(
    hidden_layer_sizes=(50, 50),
    batch_size=100,
    learning_rate_init=5e-3,
    max_iter=300,
    random_state=0,
)
model.fit(X[train], y[train])

bare = sfit.feature_significance(model, X[test], y[test], beta=0.0, reference=X[train])
print("beta = 0 finds", bare.selected)

# %%
# ``choose_beta`` draws 20 copies of the network with random weights, which know nothing, and takes
# the smallest beta at which fewer than 5 % of their tests reject (section 2.2 of the paper).

choice = sfit.choose_beta(model, X[validation], y[validation], reference=X[train], random_state=0)
result = sfit.feature_significance(model, X[test], y[test], beta=choice.beta, reference=X[train])
print(f"beta = {choice.beta:.4f} finds", result.selected)

# %%
# Left: the share of the tests of random networks that reject, as beta grows. Right: up to which beta
# each feature of the real network stays significant (``beta_max`` in the table).

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
choice.plot(ax=left)
SignificanceBetaDisplay.from_result(result).plot(ax=right)
