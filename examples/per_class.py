"""
Per class
=========

**Finding:** each digit is recognised by pixels of its own: what the model uses for a 0 is not what
it uses for a 1.

The digits ship with scikit-learn: 1,797 pictures of 8 x 8 pixels. ``by="class"`` runs a test for the
pictures of each digit; the losses are computed once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfit

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")
result = sfit.feature_significance(
    model, X_test, y_test, by="class", correction="fdr_by", reference=X_train
)
for digit, part in result.items():
    print(f"{digit}: {len(part.selected)} of 64 pixels, on {part.tests[0].n} pictures")

# %%
# Above, the mean picture of each digit; below, the pixels that are significant for it. To reveal such
# a pixel helps the pictures of that digit: ink where a digit has it, and its absence where others do.

fig, axes = plt.subplots(2, 10, figsize=(11, 2.6), layout="constrained")
for above, below, (digit, part) in zip(*axes, result.items(), strict=True):
    found = np.zeros(64)
    for test in part.tests:
        found[int(test.term[0].removeprefix("x"))] = test.significant
    above.imshow(X_train[y_train == digit].mean(axis=0).reshape(8, 8), cmap="Greys")
    below.imshow(found.reshape(8, 8), cmap="Blues", vmin=0, vmax=1.4)
    above.set_title(digit)
    for ax in (above, below):
        ax.set(xticks=[], yticks=[])
