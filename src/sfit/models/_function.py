"""Any callable ``rows -> predictions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfit.exceptions import ArgumentError
from sfit.models._view import Array, ModelView, Task, two_columns


@dataclass(frozen=True, kw_only=True)
class FunctionView(ModelView):
    """A plain function; it sees the user's own kind of rows, and nothing is known of its inside."""

    function: Callable[[Any], Any]

    def encode(self, X: Any) -> Any:
        """Rows stay as the user has them."""
        return X

    def predict(self, Z: Any) -> Array:
        """Ask the function; one probability per row is that of the second of two classes."""
        prediction = np.asarray(self.function(Z))
        if self.task == "regression":
            return prediction
        return two_columns(prediction)


def function_model(
    f: Callable[[Any], Any],
    task: Task = "regression",
    classes: Sequence[Any] | None = None,
) -> FunctionView:
    """Say what a plain function predicts.

    Parameters
    ----------
    f : callable
        ``f(rows)`` returns one prediction per row: numbers of shape (m,) or (m, outputs) for
        regression; for classification probabilities (m, classes), or (m,) for the second of two.
        It is handed rows of the kind that the test is given: arrays, or frames with names.
    task : {"regression", "classification"}, default="regression"
        What the function predicts.
    classes : sequence, optional
        The labels, in the order of the columns of the predictions. By default the sorted values of
        `y`.

    Returns
    -------
    FunctionView
        To be passed as `model`.

    Notes
    -----
    A bare callable passed as `model` is one of regression, unless the loss is one of
    classification.

    Examples
    --------
    >>> import numpy as np, sfit
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.where(rng.uniform(size=2000) < expit(3 * X[:, 0]), "yes", "no")
    >>> model = sfit.models.function_model(
    ...     lambda rows: expit(3 * rows[:, 0]), task="classification", classes=["no", "yes"]
    ... )
    >>> sfit.feature_significance(model, X, y).significant
    {1: [('x0',)]}
    """
    if not callable(f):
        raise ArgumentError(f"f must be callable; got {f!r}.")
    if task not in ("regression", "classification"):
        raise ArgumentError(f"task must be 'regression' or 'classification'; got {task!r}.")
    if classes is not None and task == "regression":
        raise ArgumentError("classes are for task='classification'; leave them out here.")
    labels = None if classes is None else np.asarray(classes)
    if labels is not None and (labels.ndim != 1 or len(set(labels.tolist())) < len(labels)):
        raise ArgumentError(f"classes must be distinct labels; got {classes!r}.")
    return FunctionView(task=task, classes=labels, function=f)
