"""Fitted models of the study of power and size: three classes of models, and five real data sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPRegressor

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.studies import _credit_data
from sfit.studies._power_size_tests import Task

Rng = np.random.Generator

# --- three classes of models on simulated rows --------------------------------------------

TRUE = ("linear", "step on 10 %", "square", "dummy 5 %")
N_NOISE = 6


def draw(n: int, rng: Rng) -> tuple[Array, Array]:
    """Four features that matter, each in its way, and six that do not."""
    X = rng.normal(size=(n, len(TRUE) + N_NOISE))
    X[:, 3] = rng.random(n) < 0.05
    step = X[:, 1] > 1.2816  # 10 % of the rows
    effect = 0.35 * X[:, 0] + 1.2 * step + 0.35 * X[:, 2] ** 2 + 2.0 * X[:, 3]
    return X, effect + rng.normal(size=n)


def lightgbm(seed: int, kind: str = "LGBMRegressor", **options: Any) -> Any:
    """LightGBM as it comes, on one thread."""
    import lightgbm

    fixed = {"n_jobs": 1, "verbose": -1, "random_state": seed, "deterministic": True}
    return getattr(lightgbm, kind)(**(fixed | options))


MODELS: dict[str, Callable[[int], Any]] = {
    # By default a leaf holds 20 rows: as many as have the dummy.
    "LightGBM": lambda seed: lightgbm(seed, min_child_samples=5),
    "forest": lambda seed: RandomForestRegressor(n_estimators=100, random_state=seed),
    "network": lambda seed: MLPRegressor(
        hidden_layer_sizes=(50, 25), max_iter=200, random_state=seed
    ),
}
NEEDS_LIGHTGBM = ("LightGBM", "breast cancer, LightGBM", "UCI credit, LightGBM")


def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that need no LightGBM, where it is missing."""
    missing = () if find_spec("lightgbm") else NEEDS_LIGHTGBM
    return tuple(name for name in names if name not in missing)


def fitted(model: str, n_train: int, n_test: int, seed: int) -> Task:
    """One fit, and what is to be tested."""
    rng = np.random.default_rng([seed, 4])
    X, y = draw(n_train + n_test, rng)
    train = X[:n_train], y[:n_train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 200 epochs are enough to over-fit 400 rows
        made = MODELS[model](seed).fit(*train)
    return Task(made, X[n_train:], y[n_train:], "absolute_error", train[0], seed, train=train)


# --- five real data sets ------------------------------------------------------------------


@dataclass(frozen=True)
class DataSet:
    """A data set, its model and its loss."""

    load: Callable[[], tuple[Array, Array]]
    model: Callable[[int], Any]
    loss: str


def _binary(name: str, positive: Callable[[Array], Array]) -> Callable[[], tuple[Array, Array]]:
    def load() -> tuple[Array, Array]:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, positive(y).astype(int)

    return load


def _credit() -> tuple[Array, Array]:
    frame = _credit_data.load()
    target = frame[_credit_data.TARGET].to_numpy(int)
    return frame.drop(columns=_credit_data.TARGET).to_numpy(float), target


def _classifier(seed: int) -> Any:
    return lightgbm(seed, "LGBMClassifier")


def _forest_classifier(seed: int) -> Any:
    return RandomForestClassifier(n_estimators=100, random_state=seed)


DATA: dict[str, DataSet] = {
    "diabetes, forest": DataSet(
        lambda: datasets.load_diabetes(return_X_y=True),
        lambda seed: RandomForestRegressor(n_estimators=100, random_state=seed),
        "absolute_error",
    ),
    "breast cancer, LightGBM": DataSet(
        _binary("breast_cancer", lambda y: y == 1), _classifier, "log_loss"
    ),
    "wine, class 1 against the rest, forest": DataSet(
        _binary("wine", lambda y: y == 1), _forest_classifier, "log_loss"
    ),
    "digits from 5 on, forest": DataSet(
        _binary("digits", lambda y: y >= 5), _forest_classifier, "log_loss"
    ),
    "UCI credit, LightGBM": DataSet(_credit, _classifier, "log_loss"),
}
N_ADDED = 10
"""Noise columns beside the features of a real data set."""


def unavailable(name: str) -> str | None:
    """Why a data set cannot be used here; None where it can."""
    if name not in installed((name,)):
        return "LightGBM is not installed"
    try:
        DATA[name].load()
    except DataError as error:
        return str(error)
    return None


def split(name: str, seed: int) -> Task:
    """One split in half, with noise columns added, and a model fitted to one half."""
    data = DATA[name]
    X, y = data.load()
    rng = np.random.default_rng([seed, 5])
    X = np.column_stack([X, rng.normal(size=(len(X), N_ADDED))])
    order = rng.permutation(len(X))
    test, train = np.split(order, [len(X) // 2])
    rows = X[train], y[train]
    model = data.model(seed).fit(*rows)
    return Task(model, X[test], y[test], data.loss, rows[0], seed, train=rows, correction="fdr_by")
