"""An estimator that is no library's own: what a user might have in a module of theirs."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class Shifted(RegressorMixin, BaseEstimator):
    """Predicts one."""

    def fit(self, X, y):
        self.shift_ = 1.0
        return self

    def predict(self, X):
        return np.full(len(X), self.shift_)
