"""
An audit in one call
====================

**Finding:** six of ten measurements account for 97 % of what a boosted model of diabetes gains
(interval 89 % to 105 %), and 221 patients are too few to rule out the other four. One page says both.

The data ship with scikit-learn: 442 patients, ten measurements, and the progress of the disease
a year later. Half of the patients are held out.
"""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import train_test_split

import sfit
from sfit.plotting import BuildUpDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = GradientBoostingRegressor(n_estimators=60, max_depth=2, random_state=0)
model.fit(X_train, y_train)

audit = sfit.audit(
    model,
    X_test,
    y_test,
    train=X_train,
    protected=["sex"],
    expected={"bmi": "+", "bp": "+"},
    title="Progress of diabetes",
    purpose="Find patients whose disease will progress fast.",
    random_state=0,
)

# %%
# ``audit.to_html("audit.html")`` writes the page to read, print and sign. The summary has its finding,
# its signs of risk and what was left out.

print(audit.summary())

# %%
# The loss falls from the prediction with every feature hidden to that of the full model. The hatched
# step is what the features found do not explain.

BuildUpDisplay(audit.build_up, audit.settings.loss).plot()

# %%
# The checklist of assumptions. "Open" is for people to answer, "no" is a sign of risk.

for check in audit.checks:
    print(f"{check.state:>5}: {check.name}")

assert set(audit.selected) == {"bmi", "bp", "s3", "s4", "s5", "s6"}
assert round(audit.explained.share, 2) == 0.97
assert [check.state for check in audit.checks if check.name == "Enough rows"] == ["no"]
