"""The weights of scikit-learn's linear models and multi-layer perceptrons."""

from __future__ import annotations

from copy import copy
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn._loss.link import IdentityLink, LogLink
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.linear_model._glm.glm import _GeneralizedLinearRegressor
from sklearn.linear_model._stochastic_gradient import BaseSGDRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from sfit.models._network import glorot
from sfit.models._view import Dense

_ACTIVATIONS = ("identity", "logistic", "tanh", "relu")
_OUTPUTS = {"identity": "identity", "logistic": "sigmoid", "softmax": "softmax", "exp": "exp"}

_LINKS = {IdentityLink: "identity", LogLink: "exp"}


def structure(model: Any) -> Dense | None:
    """The layers of a fitted linear model or perceptron; None if they do not determine it."""
    if _is_network(model):
        return _network(model)
    output = _output(model) if _is_linear(model) else None
    if output is None:
        return None
    weights = np.atleast_2d(model.coef_).T
    biases = np.broadcast_to(np.ravel(model.intercept_), weights.shape[1:])
    return Dense(layers=((weights, biases, "identity"),), output=output)


def scores(model: Any) -> Dense | None:
    """The layer from which a linear classifier decides; None if it is another model."""
    if not (_is_linear(model) and isinstance(model, LinearClassifierMixin)):
        return None
    weights, biases = np.atleast_2d(model.coef_).T, np.ravel(model.intercept_)
    if weights.shape[1] == 1:
        halves = np.array([-0.5, 0.5])
        weights, biases = weights * halves, biases * halves
    biases = np.broadcast_to(biases, weights.shape[1:])
    return Dense(layers=((weights, biases, "identity"),), output="identity")


def randomized(model: Any, rng: np.random.Generator) -> Any | None:
    """A copy with Glorot-normal weights and zero biases, or None."""
    if _is_network(model):
        copied = copy(model)
        copied.coefs_ = [glorot(rng, w.shape).astype(w.dtype) for w in model.coefs_]
        copied.intercepts_ = [np.zeros_like(biases) for biases in model.intercepts_]
        return copied
    if not _is_linear(model):
        return None
    copied = copy(model)
    copied.coef_ = glorot(rng, model.coef_.shape).astype(model.coef_.dtype)
    scalar = np.ndim(model.intercept_) == 0
    copied.intercept_ = 0.0 if scalar else np.zeros_like(model.intercept_)
    return copied


def _uses_sklearn_methods(model: Any) -> bool:
    """Whether the model predicts with scikit-learn's methods, not with those of a subclass."""
    names = ("predict", "predict_proba", "decision_function")
    methods = (getattr_static(type(model), name, None) for name in names)
    return all(method is None or method.__module__.startswith("sklearn.") for method in methods)


def _is_network(model: Any) -> bool:
    return isinstance(model, MLPRegressor | MLPClassifier) and _uses_sklearn_methods(model)


def _is_linear(model: Any) -> bool:
    """Whether ``X @ coef_.T + intercept_`` determines the model's predictions."""
    family = LinearModel | LinearClassifierMixin | BaseSGDRegressor | _GeneralizedLinearRegressor
    # sparsify() makes coef_ a sparse matrix.
    return (
        isinstance(model, family)
        and isinstance(vars(model).get("coef_"), np.ndarray)
        and _uses_sklearn_methods(model)
    )


def _network(model: Any) -> Dense | None:
    output = _OUTPUTS.get(model.out_activation_)
    several_labels = output == "sigmoid" and model.n_outputs_ > 1
    if output is None or model.activation not in _ACTIVATIONS or several_labels:
        return None
    activations = [model.activation] * (len(model.coefs_) - 1) + ["identity"]
    return Dense(
        layers=tuple(zip(model.coefs_, model.intercepts_, activations, strict=True)), output=output
    )


def _output(model: Any) -> str | None:
    """The function from a linear score to the prediction; None if it is not supported."""
    if isinstance(model, _GeneralizedLinearRegressor):
        return _LINKS.get(type(model._base_loss.link))
    if not isinstance(model, LinearClassifierMixin):
        return "identity"
    binary = len(model.classes_) == 2
    plain = "sigmoid" if binary else "softmax"
    if isinstance(model, LinearDiscriminantAnalysis):
        return plain
    if isinstance(model, SGDClassifier):
        return "sigmoid" if binary and model.loss == "log_loss" else None
    if isinstance(model, LogisticRegression):
        # Up to scikit-learn 1.7: one-versus-rest is not a softmax, and a multinomial model with two
        # classes is a sigmoid of twice the score.
        scheme = getattr(model, "multi_class", "auto")
        if binary:
            return None if scheme == "multinomial" else plain
        return None if scheme == "ovr" or model.solver == "liblinear" else plain
    return None
