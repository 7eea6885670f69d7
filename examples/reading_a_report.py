"""
Reading a report
================

**Finding:** the whole finding on one page, which can be forwarded, printed and filed: 20 of 30
measurements of a tumour matter to the model by themselves, and nothing is left to find.

The data ship with scikit-learn: 569 tumours, 30 measurements each. The model is a logistic
regression on standardised columns, in a Pipeline.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfit
from sfit.plotting import SignificanceBetaDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
result = sfit.feature_significance(model, X_test, y_test, reference=X_train, correction="fdr_by")

# %%
# ``result.to_html("report.html")`` writes a page of one file: the finding in two sentences, the table
# to sort and filter, the plot, the settings and every caveat. In a notebook, and here, the result
# shows its short form.

page = result.to_html()
print(f"{len(page):,} characters, one file")
result

# %%
# How to read the plot: a dot is the median reduction of a row's loss, a bar its interval. Grey
# dots are not significant. A bar to the left of zero says that to reveal this feature *alone* does not
# help, or makes predictions worse: it makes sense to the model only beside others.
#
# How far does each finding carry, if more is asked of it than the 1 % of ``beta``?

SignificanceBetaDisplay.from_result(result)

# %%
# A reader may want another level, or another correction. Nothing is predicted again for that.

print(len(result.selected), "at 5 %, Benjamini-Yekutieli")
print(len(result.at(alpha=0.001, correction="bonferroni").selected), "at 0.1 %, Bonferroni")
print("gate after order 1: p =", round(result.gates[0].p_value, 3))
