"""The seam between sfit and a model library: what a view of a fitted model can do.

A view never changes the model it looks at, and knows no statistics. Rows come to `predict` as a
two-dimensional NumPy array, or as the user's own kind of frame where `encode` kept one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfit.exceptions import ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.rows import as_table, is_frame, numbers

Array = npt.NDArray[Any]
Task = Literal["regression", "classification"]


def by_class(probability: Array) -> Array:
    """Probabilities of two classes from those of the second, where only these are given."""
    if probability.ndim == 2 and probability.shape[1] == 1:
        probability = probability[:, 0]
    if probability.ndim == 1:
        return np.column_stack([1 - probability, probability])
    return probability


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
        What turns the last layer into predictions: "identity", "sigmoid", "softmax" or "exp".
    input_dtype : dtype or None
        The float type that the model rounds its inputs to before the first layer; None where they
        enter as they are.
    dtype : dtype or None
        The float type that the model computes in, where the weights hold more digits than that;
        None where it is the type of the weights.

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

    A row goes left at a node when ``value <= threshold`` (``value < threshold`` where `strict`),
    both rounded to `dtype` first. Node numbers are global; leaves have ``left = -1``.

    Attributes
    ----------
    roots : array of int
        The first node of each tree.
    feature, threshold, left, right : arrays, one entry per node
        What is asked, and where a row goes then.
    missing_left : array of bool
        Whether a missing value goes left.
    categorical : array of bool
        Whether the split asks for membership in a set of categories (its threshold means nothing).
    dtype : dtype
        The float type that values and thresholds are compared in.
    strict : bool
        Whether equal values go right.
    members : tuple of functions
        Where the model predicts the mean of its trees, summed in their order: what each of them
        predicts for an array of rows in `dtype`. Empty for any other model.

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
    """What sfit needs of a fitted model, whatever library it comes from.

    Adapters subclass this, give `predict`, and where they can `structure` and `randomize`.

    Attributes
    ----------
    task : {"regression", "classification"}
        What the model predicts.
    classes : array or None
        The labels, in the order of the columns of `predict`; None for regression, or if unknown.
    names : tuple of str or None
        The columns the model was fitted on, where it remembers them.
    width : int or None
        How many columns the model was fitted on, where it remembers.
    categorical : frozenset of int
        Columns that the model itself treats as categories, though they may look like numbers.
    threads_only : bool
        Whether the view cannot be sent to another process.
    remedy : str
        What the user can do when the output is not what the task asks for: the wrapper to use.
    encoded : bool
        Whether `encode` makes other columns than the user's: each is then traced to its own by
        trying, and the model of `whole` is masked where that fails.

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
    encoded: bool = False

    @property
    def structure(self) -> Dense | Trees | None:
        """The inside of the model in the masked space, where it is known."""
        return None

    def encode(self, X: Any) -> Any:
        """From the user's rows to the rows that are masked and handed to `predict`.

        Parameters
        ----------
        X : array or frame
            The user's rows.

        Returns
        -------
        array or frame
            By default an array where all columns are numbers, and a pandas frame otherwise.
        """
        table = numbers(as_table(X))
        return table.to_pandas() if is_frame(table) else table

    def predict(self, Z: Any) -> Array:
        """Ask the model.

        Parameters
        ----------
        Z : array or frame
            Rows as `encode` returned them.

        Returns
        -------
        array
            Predictions (m,) or (m, outputs); for classification probabilities (m, classes).
        """
        raise NotImplementedError

    def whole(self) -> ModelView:
        """The same model, masked in the user's own columns.

        Returns
        -------
        ModelView
            One that is not `encoded`.
        """
        return self

    def fingerprint(self) -> str | Unseen | None:
        """A text by which another process knows the model again.

        Returns
        -------
        str, Unseen or None
            By default a digest of all attributes. Where something that may change predictions
            cannot be seen, such as code of the user, it says what; None says nothing.
        """
        return fingerprint_of(self)

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """A copy with the same structure and random parameters; the model is left as it is.

        Parameters
        ----------
        rng : numpy.random.Generator
            What the parameters are drawn with.

        Returns
        -------
        ModelView
            The random model.
        """
        raise ModelError(
            f"{type(self).__name__} does not know how to draw a random copy of this model: pass "
            "random_model=callable(rng) -> model, for instance a refit on shuffled y."
        )
