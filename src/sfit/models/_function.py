"""Any callable ``rows -> predictions``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit._arguments import check_choice
from sfit._array import Array
from sfit.exceptions import ArgumentError
from sfit.models._fingerprint import Unseen
from sfit.models._view import ModelView, Task, by_class, scores_by_class
from sfit.rows import plain_array


@dataclass(frozen=True, kw_only=True)
class FunctionView(ModelView):
    """A plain function of unknown structure, called with rows of the user's type."""

    function: Callable[[Any], Any]

    def encode(self, X: Any) -> Any:
        """Return the rows unchanged."""
        return X

    def fingerprint(self) -> Unseen:
        """Unseen: the function's code cannot be inspected."""
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return Unseen(f"the code of the function {name}")

    def predict(self, Z: Any) -> Array:
        """Call the function; one number per row belongs to the second of two classes."""
        prediction = plain_array(self.function(Z))
        if self.task == "regression":
            return prediction
        return scores_by_class(prediction) if self.scores else by_class(prediction)


def function_model(
    f: Any,
    task: Task = "regression",
    classes: Sequence[Any] | None = None,
) -> FunctionView:
    """Declare what a plain function predicts.

    Parameters
    ----------
    f : callable
        ``f(rows)`` returns one prediction per row: numbers of shape (m,) or (m, outputs) for
        regression; for classification probabilities (m, classes), or (m,) for the second of two;
        for the hinge loss decision values instead, of the same shapes.
        It receives rows of the same type as `X` of the test: arrays, or frames with column names.
    task : {"regression", "classification"}, default="regression"
        The kind of prediction.
    classes : sequence, optional
        The labels, in the order of the columns of the predictions. By default the sorted values of
        `y`.

    Returns
    -------
    FunctionView
        To be passed as `model`.

    Notes
    -----
    A bare callable passed as `model` is a regression model, unless the loss is for classification.

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
    if not callable(f) or isinstance(f, type):
        raise ArgumentError(f"f must be callable, rows -> predictions; got {f!r}.")
    check_choice(task, "task", ("regression", "classification"))
    if classes is not None and task == "regression":
        raise ArgumentError("classes are for task='classification'; leave them out here.")
    labels = None if classes is None else _labels(classes)
    return FunctionView(task=task, classes=labels, function=f)


def _labels(classes: Any) -> Array:
    """Class labels as an array; labels of different types stay different."""
    try:
        given = [] if isinstance(classes, str | bytes | Set | Mapping) else list(classes)
        labels = np.empty(len(given), dtype=object)
        labels[:] = given
        usable = len(set(given)) == len(given) > 1 and not pd.isna(labels).any()
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"classes must be distinct labels; got {classes!r}.") from error
    if not usable:
        raise ArgumentError(f"classes must be two or more distinct labels; got {classes!r}.")
    return np.asarray(given) if len(set(map(type, given))) == 1 else labels
