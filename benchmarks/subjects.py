"""What is measured on: rows of a simulated process, and a fitted model of each kind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

TREES = ("LightGBM", "histogram boosting", "random forest", "XGBoost", "CatBoost")
CATEGORIES = (2, 3, 4, 7, 10, 15, 20)  # 61 dummies, as many as in the credit data of the paper
NUMERIC = 14
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


@dataclass(frozen=True)
class Subject:
    """A fitted model with all that the methods need to know of it."""

    name: str
    model: Any  # what ours is given
    predict: Callable[[Any], Any]  # one pass, as the model's user would write it
    estimator: Any  # what the peers are given
    refits: bool
    train: tuple[Any, Any]
    fit_seconds: float
    draw: Callable[[int], tuple[Any, Any]]  # fresh rows of the same process

    @property
    def classifies(self) -> bool:
        return self.name == "logistic regression"

    @property
    def reference(self) -> Any:
        return self.train[0].mean(axis=0)

    def loss(self, y: Any, prediction: Any) -> Any:
        """Loss of each row: the one that ours takes by default."""
        if not self.classifies:
            return np.abs(y - np.ravel(prediction))
        return -np.log(np.clip(prediction[np.arange(len(y)), y], 1e-15, None))


class Predictor(RegressorMixin, BaseEstimator):
    """A function in the clothes of an estimator, for peers that ask for one."""

    def __init__(self, function=None, features=None):
        self.function = function
        self.features = features

    @property
    def n_features_in_(self):
        return self.features

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.ravel(self.function(X))


def subject(name: str, features: int, *, one_hot: bool = False, train_rows: int) -> Subject:
    """A model of the named kind, fitted to its own rows."""
    rng = np.random.default_rng(0)
    single = name.startswith("torch")

    def draw(n: int) -> tuple[Any, Any]:
        X = dummies(rng, n) if one_hot else rng.normal(size=(n, features))
        numeric = X[:, -NUMERIC:] if one_hot else X
        signal = numeric[:, 0] + numeric[:, 1] * numeric[:, 2] + np.sin(numeric[:, 3])
        if one_hot:
            signal = signal + X[:, 0] - 2 * X[:, 5]
        y = signal + rng.normal(size=n)
        if name == "logistic regression":
            y = (y > 0).astype(int)
        return X.astype(np.float32) if single else X, y

    # The same work for every number of features: fits are no part of what is measured.
    X, y = draw(min(train_rows, 50 * train_rows // width(features, one_hot)))
    model = unfitted(name, X.shape[1])
    own = hasattr(model, "fit")
    started = time.perf_counter()
    if own:
        model.fit(X, y)
    seconds = time.perf_counter() - started
    predict = own_predict(name, model)
    return Subject(
        name=name,
        model=model,
        predict=predict,
        estimator=model if own else Predictor(predict, X.shape[1]),
        refits=own,
        train=(X, y),
        fit_seconds=seconds,
        draw=draw,
    )


def width(features: int, one_hot: bool) -> int:
    return sum(CATEGORIES) + NUMERIC if one_hot else features


def dummies(rng: Any, n: int) -> Any:
    """The dummies of all categories, then the numeric columns."""
    X = np.zeros((n, width(0, one_hot=True)))
    start = 0
    for size in CATEGORIES:
        X[np.arange(n), start + rng.integers(size, size=n)] = 1.0
        start += size
    X[:, start:] = rng.normal(size=(n, NUMERIC))
    return X


def unfitted(name: str, features: int) -> Any:
    """Each library is imported only where its model is asked for: imports take memory too."""
    if name == "LightGBM":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=THREADS)
    if name == "histogram boosting":
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(random_state=0)
    if name == "random forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(100, min_samples_leaf=5, n_jobs=THREADS, random_state=0)
    if name == "XGBoost":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=100, n_jobs=THREADS)
    if name == "CatBoost":
        from catboost import CatBoostRegressor

        options = {"verbose": 0, "thread_count": THREADS, "allow_writing_files": False}
        return CatBoostRegressor(iterations=200, **options)
    if name == "scikit-learn MLP 100-50-30":
        from sklearn.neural_network import MLPRegressor

        return MLPRegressor(hidden_layer_sizes=(100, 50, 30), max_iter=5, random_state=0)
    if name == "logistic regression":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()
    if name == "opaque callable":
        return opaque(features)
    return network(features, [int(units) for units in name.removeprefix("torch ").split("-")])


def network(inputs: int, hidden: list[int]) -> Any:
    """A ReLU network in single precision, with the weights it was born with."""
    import torch

    torch.manual_seed(0)
    layers: list[Any] = []
    for before, units in pairwise([inputs, *hidden]):
        layers += [torch.nn.Linear(before, units), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(hidden[-1], 1))


def opaque(features: int) -> Callable[[Any], Any]:
    """A function that nothing is known of."""
    weights = np.random.default_rng(1).normal(size=(features, 64)) / np.sqrt(features)

    def function(rows: Any) -> Any:
        return np.tanh(rows @ weights).sum(axis=1)

    return function


def own_predict(name: str, model: Any) -> Callable[[Any], Any]:
    if name == "logistic regression":
        return model.predict_proba
    if name.startswith("torch"):
        # Ours asks a module in batches; the plain loop and the pass get the same good treatment.
        from sfit.models import as_view

        return as_view(model).predict
    return getattr(model, "predict", model)
