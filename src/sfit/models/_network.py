"""Code shared by the network adapters: batches of rows, folding into `Dense`, Glorot draws.

It uses NumPy only, so the adapters of torch, Keras and ONNX can all import it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sfit._array import Array
from sfit._losses import named_loss
from sfit.exceptions import ModelError
from sfit.models._view import Dense, Task, by_class

BATCH_ROWS = 16_384
"""Rows per forward pass: fixed, so a prediction does not depend on the machine's memory."""

Output = Literal["values", "logits", "probabilities"]
"""The output of a network: numbers, scores before sigmoid or softmax, or probabilities."""


def task_of(loss: Any) -> Task | None:
    """The task that a loss belongs to; None for "auto" and for a custom loss."""
    return None if _is_open(loss) else named_loss(loss).task  # type: ignore[return-value]


def needs_scores(loss: Any) -> bool:
    """Whether a loss needs decision values instead of probabilities."""
    return not _is_open(loss) and named_loss(loss).output == "scores"


def _is_open(loss: Any) -> bool:
    return callable(loss) or (isinstance(loss, str) and loss == "auto")


def in_batches(forward: Callable[[Array], Any], Z: Any, dtype: Any, task: Task) -> Array:
    """Predictions of `forward`, called with one batch of rows of type `dtype` at a time."""
    rows = Z.toarray() if sp.issparse(Z) else np.asarray(Z)
    parts = []
    # No rows still make one (empty) call, which determines the number of outputs.
    for start in range(0, max(len(rows), 1), BATCH_ROWS):
        batch = rows[start : start + BATCH_ROWS]
        try:
            # A fresh array in row order: torch refuses negative strides and read-only memory.
            values = np.array(batch, dtype=dtype, order="C")
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"the model accepts numbers only, and not every column of X is numeric ({error}): "
                "encode the others first, for instance in a scikit-learn Pipeline."
            ) from error
        parts.append(_as_prediction(np.asarray(forward(values)), len(values), task))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _as_prediction(values: Array, rows: int, task: Task) -> Array:
    """Turn one column into a vector; in classification it is the second of two classes."""
    if values.ndim not in (1, 2) or len(values) != rows:
        raise ModelError(
            f"the model must return one prediction per row, of shape ({rows},) or "
            f"({rows}, outputs); got shape {values.shape}."
        )
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return by_class(values) if task == "classification" else values


def glorot(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Glorot-normal weights of shape (units, inputs, *kernel), in either order of the first two.

    A vector counts as the weights of one unit, a number as one weight.
    """
    units, inputs, *kernel = (*shape, 1, 1)
    return rng.normal(scale=math.sqrt(2 / ((units + inputs) * math.prod(kernel))), size=shape)


@dataclass(frozen=True)
class Layer:
    """A fully connected step: ``z @ weights + biases``, weights of shape (inputs, units)."""

    weights: Array
    biases: Array


@dataclass(frozen=True)
class Rescale:
    """A step by column, ``z * scale + shift``: batch normalisation in evaluation mode."""

    scale: Array
    shift: Array


Step = Layer | Rescale | str
"""A string is the name of an activation; "softmax" is allowed at the end of a network only."""


def batch_norm(mean: Array, variance: Array, epsilon: float, gamma: Any, beta: Any) -> Rescale:
    """Batch normalisation in evaluation mode; `gamma` and `beta` may be None."""
    scale = 1 / np.sqrt(variance.astype(np.float64) + epsilon)
    scale = scale if gamma is None else scale * gamma
    return Rescale(scale, -mean * scale + (0.0 if beta is None else beta))


def dense(steps: Iterable[Step], output: Output, input_dtype: npt.DTypeLike) -> Dense | None:
    """A chain of steps as `Dense`; None if it cannot be expressed as one.

    `output` is the kind of output of the chain, `input_dtype` the type its inputs are rounded to. A
    final sigmoid or softmax of probabilities, and the final log-softmax of logits, become the
    output of the `Dense`.
    """
    chain, link = _without_link(list(steps), output)
    layers = _fold(chain)
    dtype = next((step.weights.dtype for step in chain if isinstance(step, Layer)), None)
    if (
        layers is None
        or dtype not in (np.float32, np.float64)
        or any(activation.endswith("softmax") for *_, activation in layers)
    ):
        return None
    single = layers[-1][1].size == 1
    if output == "logits":
        link = "sigmoid" if single else "softmax"
    # `Dense` cannot express one column of probabilities without a sigmoid, or many with one.
    if output == "probabilities" and single != (link == "sigmoid"):
        return None
    return Dense(layers=layers, output=link, input_dtype=np.dtype(input_dtype), dtype=dtype)


def _without_link(chain: list[Step], output: Output) -> tuple[list[Step], str]:
    """The chain without the final activation that becomes the link, and the link."""
    last = chain[-1] if chain and isinstance(chain[-1], str) else ""
    if output == "probabilities" and last in ("logistic", "softmax"):
        return chain[:-1], "sigmoid" if last == "logistic" else "softmax"
    if output == "logits" and last == "log_softmax":
        return chain[:-1], "identity"
    return chain, "identity"


def _fold(steps: Iterable[Step]) -> tuple[tuple[Array, Array, str], ...] | None:
    """Layers with every rescaling folded into the layer before it or, failing that, after it.

    The folded weights stay in float64: with a large mean, weights rounded to single precision would
    lose the digits that a normalisation of the inputs keeps.
    """
    layers: list[tuple[Array, Array, str]] = []
    waiting: Rescale | None = None
    for step in steps:
        if isinstance(step, Layer):
            weights, biases = step.weights.astype(np.float64), step.biases.astype(np.float64)
            if waiting is not None:
                biases = biases + np.broadcast_to(waiting.shift, len(weights)) @ weights
                weights = np.broadcast_to(waiting.scale, len(weights))[:, None] * weights
                waiting = None
            layers.append((weights, biases, "identity"))
        elif isinstance(step, Rescale):
            if waiting is not None:
                waiting = Rescale(
                    waiting.scale * step.scale, waiting.shift * step.scale + step.shift
                )
            elif layers and layers[-1][2] == "identity":
                weights, biases, _ = layers[-1]
                if step.shift.size not in (1, biases.size):
                    return None
                layers[-1] = (weights * step.scale, biases * step.scale + step.shift, "identity")
            else:
                waiting = step
        elif step != "identity":
            if waiting is not None or not layers or layers[-1][2] != "identity":
                return None
            layers[-1] = (*layers[-1][:2], step)
    return None if waiting is not None or not layers else tuple(layers)


def computed_in(network: Dense, dtype: npt.DTypeLike) -> Dense:
    """Set the type that the network computes in: its weights may be stored in less precision."""
    stored = network.layers[0][0].dtype if network.dtype is None else network.dtype
    return replace(network, dtype=np.result_type(stored, dtype))
