"""Keras 3 models, on any backend."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._fingerprint import FUNCTIONS, Unseen, fingerprint_of
from sfit.models._network import (
    Layer,
    Rescale,
    Step,
    batch_norm,
    dense,
    glorot,
    in_batches,
    task_of,
)
from sfit.models._view import Dense, ModelView

layers = keras.layers
REMEDY = (
    "Turn the output into probabilities in a function, for instance sfit.models.function_model("
    "lambda rows: scipy.special.softmax(model.predict(rows, verbose=0), axis=1), "
    'task="classification").'
)

# Layers that have no effect in evaluation mode.
SILENT = (
    layers.ActivityRegularization,
    layers.AlphaDropout,
    layers.Dropout,
    layers.GaussianDropout,
    layers.GaussianNoise,
    layers.Identity,
    layers.InputLayer,
)

# Keras functions, at their default parameters.
ACTIVATIONS = {
    keras.activations.linear: "identity",
    keras.activations.relu: "relu",
    keras.activations.leaky_relu: "leaky_relu:0.2",
    keras.activations.tanh: "tanh",
    keras.activations.sigmoid: "logistic",
    keras.activations.softmax: "softmax",
    keras.activations.elu: "elu",
    keras.activations.gelu: "gelu",
    keras.activations.silu: "silu",
    keras.activations.softplus: "softplus",
}

# Layers whose kernels are drawn by Glorot's rule; all others use their own initialiser.
GLOROT = (
    layers.Conv1D,
    layers.Conv1DTranspose,
    layers.Conv2D,
    layers.Conv2DTranspose,
    layers.Conv3D,
    layers.Conv3DTranspose,
    layers.Dense,
    layers.EinsumDense,
)


# Layers that run the user's code or a model of another library.
OPAQUE = (
    layers.FlaxLayer,
    layers.JaxLayer,
    layers.Lambda,
    layers.TFSMLayer,
    layers.TorchModuleWrapper,
)


@dataclass(frozen=True, kw_only=True)
class KerasView(ModelView):
    """A Keras model, called with ``training=False``, which does not change it.

    `threads_only` if another process cannot rebuild it from its configuration: Keras finds custom
    layers, and functions in Lambda layers, only in the process that defined them.
    """

    model: Any

    @property
    def structure(self) -> Dense | None:
        """The layers, if the model is a chain of supported ones in single precision."""
        steps = _steps(self.model)
        output = "values" if self.task == "regression" else "probabilities"
        return None if steps is None else dense(steps, output, self._input_dtype)  # type: ignore[arg-type]

    def predict(self, Z: Any) -> Array:
        """Call the model in evaluation mode."""

        def forward(rows: Array) -> Array:
            with _no_gradients():
                returned = self.model(rows, training=False)
            if isinstance(returned, dict | list | tuple):
                raise ModelError(
                    f"the model returned a {type(returned).__name__}, not a tensor: pass a "
                    "function that picks the predictions, for instance sfit.models.function_model("
                    'lambda rows: model.predict(rows, verbose=0)[0], task="regression").'
                )
            values = np.asarray(keras.ops.convert_to_numpy(returned))
            # Half precision, of which NumPy does not support every format.
            return values if values.dtype == np.float64 else values.astype(np.float32)

        return in_batches(forward, Z, self._input_dtype, self.task)

    @property
    def _input_dtype(self) -> type[np.floating[Any]]:
        """The type to which the model rounds its inputs, whatever its layers compute in."""
        return np.float64 if self.model.compute_dtype == "float64" else np.float32

    def fingerprint(self) -> str | Unseen:
        """A digest of the configuration, the weights, and the code that the layers run."""
        model = self.model
        if not _has_graph(model):
            return Unseen(
                f"the code of class {type(model).__qualname__}, a model with a custom call"
            )
        parts = [*model._flatten_layers(), *getattr(model, "operations", ())]
        for part in parts:
            # Assets, such as a vocabulary, are not among the weights.
            if isinstance(part, OPAQUE) or hasattr(part, "save_assets"):
                return Unseen(f"the content of {type(part).__qualname__} {part.name!r}")
        try:
            written = model.to_json()
        except Exception as error:  # custom layers may fail with any error
            return Unseen(f"the configuration of the Keras model ({error})")
        settings = keras.backend.backend(), keras.config.epsilon(), keras.config.image_data_format()
        code = list(map(_code, parts))
        return fingerprint_of(written, self.task, settings, code, list(map(_array, model.weights)))

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Glorot-normal kernels, zero biases; other types of layers use their initialiser.

        The statistics of a Normalization layer stay, like the head of a Pipeline.
        """
        if not _has_graph(self.model):
            return super().randomize(rng)

        def again(layer: Any) -> Any:
            return type(layer).from_config(_seeded(layer.get_config(), rng))

        # Initialisers without a seed draw one from Python's global generator.
        state = random.getstate()
        try:
            copy = keras.models.clone_model(self.model, clone_function=again)
        finally:
            random.setstate(state)
        for old, new in zip(self.model._flatten_layers(), copy._flatten_layers(), strict=True):
            if isinstance(new, layers.Normalization) or not _of_keras(new):
                new.set_weights(old.get_weights())
            if isinstance(new, GLOROT) or not _of_keras(new):
                # Variables of a custom layer that are not trained may be anything: they stay.
                for variable in new.weights if _of_keras(new) else new.trainable_variables:
                    zero = "bias" in variable.name
                    # Keras puts inputs and units last, `glorot` puts them first.
                    shape = tuple(variable.shape)
                    variable.assign(np.zeros(shape) if zero else glorot(rng, shape[::-1]).T)
        _renew_scales(copy)
        return replace(self, model=copy)

    def __getstate__(self) -> dict[str, Any]:
        """Configuration and weights: Keras' pickles need h5py and recompile the model."""
        model = self.model
        return {**vars(self), "model": (type(model), model.get_config(), model.get_weights())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, config, weights = state["model"]
        model = kind.from_config(config)
        model.set_weights(weights)
        _renew_scales(model)
        vars(self).update({**state, "model": model})


def view(model: Any, loss: Any) -> ModelView | None:
    """View a Keras model; None if it is not one."""
    if not isinstance(model, keras.Model):
        return None
    if not model.built:
        raise ModelError(
            f"the Keras model {model.name!r} has no weights yet: build it, and train it."
        )
    if _has_graph(model) and (len(model.inputs) != 1 or len(model.outputs) != 1):
        raise ModelError(
            f"the Keras model {model.name!r} has {len(model.inputs)} inputs and "
            f"{len(model.outputs)} outputs, but must have one of each: pass a function "
            "rows -> predictions instead, see sfit.models.function_model."
        )
    task = "classification" if _gives_probabilities(model) else task_of(loss) or "regression"
    standard = all(map(_of_keras, model._flatten_layers()))
    return KerasView(task=task, threads_only=not standard, remedy=REMEDY, model=model)


def _has_graph(model: Any) -> bool:
    """Whether a model is Sequential or functional, not a class with a custom `call`."""
    return isinstance(model, keras.Sequential) or hasattr(model, "operations")


def _of_keras(layer: Any) -> bool:
    """Whether a layer can be found by name in any process."""
    return type(layer).__module__.startswith("keras.") and not isinstance(layer, layers.Lambda)


def _code(part: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a layer or operation, and its callable attributes.

    Keras itself wraps two methods of every layer; these do not affect predictions.
    """
    held = {name: one for name, one in vars(part).items() if callable(one)}
    return type(part), {
        name: one if isinstance(one, FUNCTIONS) else type(one)
        for name, one in held.items()
        if name not in ("build", "quantize")
    }


def _renew_scales(model: Any) -> None:
    """Recompute the scales that Normalization layers derive from their weights.

    Not for every layer with `finalize_state`: a Discretization would compute its bins from no rows.
    """
    for layer in model._flatten_layers():
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()


def _no_gradients() -> AbstractContextManager[Any]:
    if keras.backend.backend() == "torch":
        import torch

        return torch.no_grad()
    return nullcontext()


def _gives_probabilities(model: Any) -> bool:
    """Whether the last layer shows that the output is one distribution over classes."""
    last = model
    while _has_graph(last):
        sequential = isinstance(last, keras.Sequential)
        last = last.layers[-1] if sequential else last.outputs[0]._keras_history.operation
    if isinstance(last, layers.Softmax):
        return bool(last.axis in (-1, 1))
    closing = ACTIVATIONS.get(getattr(last, "activation", None), "")
    # Several sigmoids are several binary labels, not one distribution.
    single = closing == "logistic" and model.output_shape[-1] == 1
    return single or closing == "softmax"


def _steps(model: Any) -> list[Step] | None:
    """The steps of a model whose layers form a chain; None if they do not."""
    if not _has_graph(model) or not _is_chain(model):
        return None
    steps: list[Step] = []
    for layer in model.layers:
        of_layer = _steps(layer) if _has_graph(layer) else _step(layer)
        if of_layer is None:
            return None
        steps += of_layer
    return steps


def _is_chain(model: Any) -> bool:
    if isinstance(model, keras.Sequential):
        return True
    try:
        linked = [
            after.input is before.output
            for before, after in zip(model.layers, model.layers[1:], strict=False)
        ]
    except (AttributeError, ValueError):  # A layer that runs more than once has several inputs.
        return False
    # Operations of `keras.ops` are in the graph, but not among the layers.
    ends = len(model.outputs) == 1 and model.layers[-1].output is model.outputs[0]
    return all(linked) and ends and len(model.operations) == len(model.layers)


def _step(layer: Any) -> list[Step] | None:
    """A layer as steps of a chain; None if it is not supported."""
    kind = type(layer)
    if kind in SILENT:
        return []
    # Not in double precision: on torch, Keras computes every product with half the digits.
    if kind is layers.Dense and layer.compute_dtype == layer.variable_dtype == "float32":
        return _dense_layer(layer)
    if kind is layers.BatchNormalization and layer.axis in (-1, 1):
        return [_batch_norm(layer)]
    if kind is layers.Normalization and layer.axis == (-1,) and not layer.invert:
        # The layer takes the root in single precision; it subtracts first, which loses nothing.
        spread = np.maximum(np.sqrt(_array(layer.variance)), keras.config.epsilon()).ravel()
        scale = 1 / spread.astype(np.float64)
        return [Rescale(scale, -_array(layer.mean).ravel() * scale)]
    if kind is layers.Activation:
        return _activation(layer.activation)
    if kind is layers.Softmax and layer.axis in (-1, 1):
        return ["softmax"]
    if kind is layers.LeakyReLU:
        return [f"leaky_relu:{float(layer.negative_slope)}"]
    return _relu_layer(layer) if kind is layers.ReLU else None


def _dense_layer(layer: Any) -> list[Step] | None:
    weights = _array(layer.kernel)
    biases = _array(layer.bias) if layer.use_bias else np.zeros(weights.shape[1])
    activation = _activation(layer.activation)
    return None if activation is None else [Layer(weights, biases), *activation]


def _batch_norm(layer: Any) -> Rescale:
    gamma = _array(layer.gamma) if layer.scale else None
    beta = _array(layer.beta) if layer.center else None
    mean, variance = _array(layer.moving_mean), _array(layer.moving_variance)
    return batch_norm(mean, variance, layer.epsilon, gamma, beta)


def _relu_layer(layer: Any) -> list[Step] | None:
    if layer.max_value is not None or layer.threshold != 0:
        return None
    slope = float(layer.negative_slope)
    return [f"leaky_relu:{slope}" if slope else "relu"]


def _activation(activation: Any) -> list[Step] | None:
    if isinstance(activation, keras.Layer):
        return _step(activation)
    return [ACTIVATIONS[activation]] if activation in ACTIVATIONS else None


def _array(variable: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(variable))


def _seeded(config: Any, rng: np.random.Generator) -> Any:
    """A configuration in which every initialiser and every dropout has a seed from `rng`."""
    if isinstance(config, dict):
        return {
            key: int(rng.integers(2**31)) if key == "seed" else _seeded(value, rng)
            for key, value in config.items()
        }
    return [_seeded(item, rng) for item in config] if isinstance(config, list) else config
