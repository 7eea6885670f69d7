"""The interface between sfit and a model library: views of fitted models.

A view never changes its model, and knows no statistics. `predict` receives rows as a
two-dimensional NumPy array, or as a frame of the user's library if `encode` returned one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.rows import as_numeric, as_table, is_frame

Task = Literal["regression", "classification"]


def by_class(probability: Array) -> Array:
    """Add the column of the first class if only the second of two is given."""
    if probability.ndim == 2 and probability.shape[1] == 1:
        probability = probability[:, 0]
    if probability.ndim == 1:
        return np.column_stack([1 - probability, probability])
    return probability


def scores_by_class(decision: Array) -> Array:
    """Scores of the classes; a decision value f between two classes becomes -f/2 and f/2.

    The scores then differ by f, and no digit is lost.
    """
    if decision.ndim == 2 and decision.shape[1] == 1:
        decision = decision[:, 0]
    if decision.ndim == 1:
        return np.column_stack([-decision / 2, decision / 2])
    return decision


@dataclass(frozen=True)
class Dense:
    """A feed-forward network; a linear model is one layer.

    Attributes
    ----------
    layers : tuple of (weights, biases, activation)
        Per layer: weights (inputs, units), biases (units,), and the name of the activation:
        "identity", "relu", "leaky_relu:SLOPE" (the slope below zero, as in "leaky_relu:0.01"),
        "tanh", "logistic", "elu", "gelu", "silu" or "softplus".
    output : str
        The function from the last layer to the predictions: "identity", "sigmoid", "softmax" or
        "exp".
    input_dtype : dtype or None
        The float type to which the model rounds its inputs before the first layer; None if it does
        not round them.
    dtype : dtype or None
        The float type of the model's computation, if the weights have more precision; None if it is
        the type of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sfit.models import Dense
    >>> line = Dense(((np.array([[4.0], [0.0]]), np.array([3.0]), "identity"),), "identity")
    >>> len(line.layers), line.output
    (1, 'identity')
    """

    layers: tuple[tuple[Array, Array, str], ...]
    output: str
    input_dtype: np.dtype[Any] | None = None
    dtype: np.dtype[Any] | None = None


@dataclass(frozen=True)
class Trees:
    """The splits of a tree ensemble, the nodes of all trees concatenated.

    A row goes left at a node if ``value <= threshold`` (``value < threshold`` if `strict`), with
    both rounded to `dtype` first. Node numbers are global; leaves have ``left = -1``.

    Attributes
    ----------
    roots : array of int
        The first node of each tree.
    feature, threshold, left, right : arrays, one entry per node
        The column and the threshold of each split, and its two child nodes.
    missing_left : array of bool
        Whether a missing value goes left.
    categorical : array of bool
        Whether the split tests membership in a set of categories (its threshold is unused).
    dtype : dtype
        The float type in which values and thresholds are compared.
    strict : bool
        Whether equal values go right.
    members : tuple of functions
        If the model predicts the mean of its trees, summed in their order: one function per tree,
        from an array of rows in `dtype` to predictions. Empty for any other model.

    Examples
    --------
    >>> import numpy as np
    >>> from sfit.models import Trees
    >>> stump = Trees(
    ...     roots=np.array([0]),
    ...     feature=np.array([0, -1, -1]),
    ...     threshold=np.array([0.5, 0.0, 0.0]),
    ...     left=np.array([1, -1, -1]),
    ...     right=np.array([2, -1, -1]),
    ...     missing_left=np.zeros(3, dtype=bool),
    ...     categorical=np.zeros(3, dtype=bool),
    ...     dtype=np.dtype(np.float64),
    ...     strict=False,
    ... )
    >>> int((stump.left >= 0).sum())  # one split
    1
    """

    roots: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    categorical: Array
    dtype: np.dtype[Any]
    strict: bool
    members: tuple[Callable[[Array], Array], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModelView:
    """The interface of a fitted model of any library.

    Adapters subclass it and implement `predict` and, if possible, `structure` and `randomize`.

    Attributes
    ----------
    task : {"regression", "classification"}
        The kind of prediction.
    classes : array or None
        The labels, in the order of the columns of `predict`; None for regression, or if unknown.
    names : tuple of str or None
        The columns on which the model was fitted; None if unknown.
    width : int or None
        The number of columns on which the model was fitted; None if unknown.
    categorical : frozenset of int
        Columns that the model treats as categories, though they may look numeric.
    threads_only : bool
        Whether the view cannot be sent to another process.
    remedy : str
        Advice for the user if the output does not fit the task: which wrapper to use.
    scores : bool
        Whether `predict` of a classifier returns decision values (m, classes) for the hinge loss,
        instead of probabilities.
    encoded : bool
        Whether `encode` returns other columns than the user's. Each of them is then traced to a
        column of the user by experiment; if that fails, the view from `whole` is masked instead.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import sfit
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Line(sfit.models.ModelView):
    ...     slope: float
    ...
    ...     def predict(self, Z):
    ...         return 3 + self.slope * Z[:, 0]
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> sfit.feature_significance(Line(task="regression", slope=4.0), X, y).selected
    ('X1',)
    """

    task: Task
    classes: Array | None = None
    names: tuple[str, ...] | None = None
    width: int | None = None
    categorical: frozenset[int] = frozenset()
    threads_only: bool = False
    remedy: str = ""
    scores: bool = False
    encoded: bool = False

    @property
    def structure(self) -> Dense | Trees | None:
        """The layers or splits of the model in the masked space; None if unknown."""
        return None

    def encode(self, X: Any) -> Any:
        """Convert the user's rows to the rows that are masked and passed to `predict`.

        Parameters
        ----------
        X : array or frame
            The user's rows.

        Returns
        -------
        array or frame
            By default an array if all columns are numeric, and a pandas frame otherwise.
        """
        table = as_numeric(as_table(X))
        return table.to_pandas() if is_frame(table) else table

    def predict(self, Z: Any) -> Array:
        """Predict rows.

        Parameters
        ----------
        Z : array or frame
            Rows in the form that `encode` returns.

        Returns
        -------
        array
            Predictions (m,) or (m, outputs); for classification probabilities (m, classes), or
            decision values (m, classes) if `scores`.
        """
        raise NotImplementedError

    def whole(self) -> ModelView:
        """The same model, masked in the user's columns.

        Returns
        -------
        ModelView
            A view that is not `encoded`.
        """
        return self

    def fingerprint(self) -> str | Unseen | None:
        """A text by which another process recognises the model.

        Returns
        -------
        str, Unseen or None
            By default a digest of all attributes. If something that may change predictions cannot
            be inspected, such as the user's code, an `Unseen` that names it; None gives no reason.
        """
        return fingerprint_of(self)

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """A copy with the same structure and random parameters; the model does not change.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of the random parameters.

        Returns
        -------
        ModelView
            The random model.
        """
        raise ModelError(
            f"{type(self).__name__} cannot draw a random copy of this model: pass "
            "random_model=callable(rng) -> model, for instance a refit on shuffled y."
        )
