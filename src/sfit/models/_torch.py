"""torch modules."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks
from torch.nn.parameter import is_lazy

from sfit._arguments import check_choice
from sfit._array import Array
from sfit.exceptions import ArgumentError, ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.models._network import (
    Layer,
    Output,
    Step,
    batch_norm,
    dense,
    glorot,
    in_batches,
    task_of,
)
from sfit.models._view import Dense, ModelView

REMEDY = (
    'Declare what the module returns with sfit.models.torch_model(module, output="logits"), or '
    '"probabilities", or "values".'
)

# Layers that have no effect in evaluation mode.
SILENT = (nn.Identity, nn.Dropout, nn.AlphaDropout)

# Supported activations; those with parameters at their defaults only.
ACTIVATIONS: dict[type[nn.Module], str] = {
    nn.ReLU: "relu",
    nn.Tanh: "tanh",
    nn.Sigmoid: "logistic",
    nn.ELU: "elu",
    nn.GELU: "gelu",
    nn.SiLU: "silu",
    nn.Softplus: "softplus",
}
DEFAULTS = {"alpha": 1.0, "approximate": "none", "beta": 1.0, "threshold": 20.0}

SOFTMAXES: dict[type[nn.Module], str] = {nn.Softmax: "softmax", nn.LogSoftmax: "log_softmax"}

# `reset_parameters` draws from torch's global generator, so only one thread may run it.
RESETTING = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class TorchView(ModelView):
    """A torch module, as a copy in evaluation mode.

    The copy doubles the memory of the module. It allows several threads to predict without changing
    the mode, the weights or the gradients of the user's module.
    """

    module: nn.Module
    output: str

    @property
    def structure(self) -> Dense | None:
        """The layers, if the module is a chain of supported ones in single or double precision."""
        dtype = _home(self.module)[1]
        if dtype not in (torch.float32, torch.float64):
            return None
        steps = [_step(layer) for layer in _layers(self.module)]
        supported = [step for step in steps if step is not None]
        if len(supported) < len(steps):
            return None
        return dense(supported, self.output, _single_or_double(dtype))  # type: ignore[arg-type]

    def predict(self, Z: Any) -> Array:
        """Run the module in inference mode, on its device and in its float type."""
        device, dtype = _home(self.module)

        def forward(rows: Array) -> Array:
            with torch.inference_mode():
                returned = self.module(torch.from_numpy(rows).to(device, dtype))
                values: Array = self._finish(returned).cpu().numpy()
                return values

        return in_batches(forward, Z, _single_or_double(dtype), self.task)

    def fingerprint(self) -> str | Unseen:
        """A digest of all attributes of all modules, and of the global hooks."""
        if any(isinstance(layer, torch.jit.ScriptModule) for layer in self.module.modules()):
            return Unseen("the code of a TorchScript module")
        return fingerprint_of(self, _global_forward_hooks, _global_forward_pre_hooks)

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Glorot-normal weights, zero biases; other types of layers use their initialiser."""
        if next(self.module.parameters(), None) is None:
            return super().randomize(rng)
        device, _ = _home(self.module)
        # Drawing on the CPU gives the same weights on every device, and only one generator to
        # restore.
        module = copy.deepcopy(self.module).cpu()
        seed = int(rng.integers(2**63 - 1))
        with RESETTING, torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            for layer in module.modules():
                _redraw(layer, rng)
        return replace(self, module=module.to(device))

    def _finish(self, returned: Any) -> torch.Tensor:
        """Convert the module's output to values or probabilities."""
        values = as_tensor(returned)
        if self.output != "logits":
            return values
        if values.ndim == 1 or values.shape[1] == 1:
            logit = values.reshape(-1)
            # Not 1 - sigmoid(z), which loses all digits of a small probability.
            return torch.stack([torch.sigmoid(-logit), torch.sigmoid(logit)], dim=1)
        return torch.softmax(values, dim=1)


def as_tensor(returned: Any) -> torch.Tensor:
    """A module's output in single precision or better; refused if it is not a tensor."""
    if not isinstance(returned, torch.Tensor):
        raise ModelError(
            f"the module returned a {type(returned).__name__}, not a tensor: pass a function that "
            "picks the predictions, for instance sfit.models.function_model("
            'lambda rows: module(torch.tensor(rows))[0].numpy(), task="regression").'
        )
    half = returned.dtype in (torch.bfloat16, torch.float16)
    return returned.float() if half else returned


def view(model: Any, loss: Any) -> ModelView | None:
    """View a torch module; None if it is not one."""
    if not isinstance(model, nn.Module):
        return None
    unknown: Output = "probabilities" if task_of(loss) == "classification" else "values"
    return wrap(model, _ending(model) or unknown)


def wrap(module: Any, output: Output, classes: Sequence[Any] | None = None) -> TorchView:
    """View a module whose output is known."""
    if not isinstance(module, nn.Module):
        raise ArgumentError(f"module must be a torch.nn.Module; got {type(module).__name__}.")
    check_choice(output, "output", get_args(Output))
    if classes is not None and output == "values":
        raise ArgumentError("classes are for output='logits' or 'probabilities'; leave them out.")
    labels = None if classes is None else np.asarray(classes)
    if labels is not None and (labels.ndim != 1 or len(set(labels.tolist())) < len(labels)):
        raise ArgumentError(f"classes must be distinct labels; got {classes!r}.")
    copied = in_evaluation(module)
    return TorchView(
        task="regression" if output == "values" else "classification",
        classes=labels,
        threads_only=needs_threads(copied),
        remedy=REMEDY,
        module=copied,
        output=output,
    )


def in_evaluation(module: nn.Module) -> nn.Module:
    """A copy of a module in evaluation mode; refused if it cannot predict or be copied."""
    # torch.compile returns a wrapper that cannot be pickled.
    module = getattr(module, "_orig_mod", module)
    if any(is_lazy(tensor) for tensor in (*module.parameters(), *module.buffers())):
        raise ModelError(
            "the module has lazy layers that are not initialised: run it once, and train it."
        )
    for layer in module.modules():
        if isinstance(layer, _BatchNorm) and layer.running_mean is None:
            raise ModelError(
                f"{layer} has no running statistics, so the prediction of a row depends on the "
                "other rows of its batch: train it with track_running_stats=True."
            )
    try:
        # Without gradients: a script would record the copy of its parameters in a graph.
        with torch.no_grad():
            copied = copy.deepcopy(module)
    except Exception as error:
        raise ModelError(
            f"the module cannot be copied ({error}): pass a function rows -> predictions instead, "
            "see sfit.models.function_model."
        ) from error
    for parameter in copied.parameters():
        parameter.grad = None
        parameter.requires_grad_(False)
    return copied.eval()


def needs_threads(module: nn.Module) -> bool:
    """Whether only threads will do: scripts cannot be pickled, a device should hold one copy."""
    return isinstance(module, torch.jit.ScriptModule) or _home(module)[0].type != "cpu"


def _home(module: nn.Module) -> tuple[torch.device, torch.dtype]:
    """Device and type of the first floating-point tensor of a module."""
    for tensors in (module.parameters(), module.buffers()):
        for tensor in tensors:
            if tensor.is_floating_point():
                return tensor.device, tensor.dtype
    return torch.device("cpu"), torch.float32


def _single_or_double(dtype: torch.dtype) -> type[np.floating[Any]]:
    """The NumPy type of the rows; torch rounds them further for shorter types."""
    return np.float64 if dtype == torch.float64 else np.float32


def _layers(module: Any) -> list[Any]:
    """The layers of nested Sequentials in execution order, without those that have no effect."""
    plain = isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
    if plain and not _hooked(module):
        # Not `module.children()`, which lists a repeated layer only once.
        return [layer for child in module for layer in _layers(child)]
    return [] if type(module) in SILENT and not _hooked(module) else [module]


def _hooked(layer: nn.Module) -> bool:
    """Whether hooks run with the layer (as for the older weight_norm and spectral_norm)."""
    return bool(layer._forward_hooks or layer._forward_pre_hooks)


def _ending(module: nn.Module) -> Output | None:
    """The kind of output that the last layer implies; None if it implies nothing."""
    layers = _layers(module)
    last: Any = layers[-1] if layers else None
    if type(last) in SOFTMAXES and last.dim in (1, -1, None):
        return "probabilities" if type(last) is nn.Softmax else "logits"
    if type(last) is nn.Sigmoid:
        units = [layer.out_features for layer in layers if isinstance(layer, nn.Linear)]
        # Several sigmoids are several binary labels, not one distribution.
        return None if units and units[-1] > 1 else "probabilities"
    return None


def _step(layer: Any) -> Step | None:
    """A layer as a step of a chain; None if it is not supported."""
    kind = type(layer)
    if _hooked(layer):
        return None
    if kind is nn.Linear:
        weights = _array(layer.weight).T
        biases = np.zeros(weights.shape[1]) if layer.bias is None else _array(layer.bias)
        return Layer(weights, biases)
    if kind is nn.BatchNorm1d:
        gamma = None if layer.weight is None else _array(layer.weight)
        beta = None if layer.bias is None else _array(layer.bias)
        mean, variance = _array(layer.running_mean), _array(layer.running_var)
        return batch_norm(mean, variance, layer.eps, gamma, beta)
    if kind is nn.LeakyReLU:
        return f"leaky_relu:{layer.negative_slope}"
    if kind in SOFTMAXES:
        return SOFTMAXES[kind] if layer.dim in (1, -1, None) else None
    plain = all(getattr(layer, name, value) == value for name, value in DEFAULTS.items())
    return ACTIVATIONS.get(kind) if plain else None


def _array(tensor: Any) -> Array:
    values: Array = tensor.detach().cpu().numpy()
    return values


def _redraw(layer: nn.Module, rng: np.random.Generator) -> None:
    """Draw a layer's direct parameters in place, so tied parameters stay tied."""
    for reset in ("reset_parameters", "_reset_parameters"):
        if hasattr(layer, reset) and not isinstance(layer, nn.Linear | _ConvNd):
            try:
                getattr(layer, reset)()
            except Exception as error:  # custom layers may fail with any error
                raise ModelError(
                    f"{reset}() of {type(layer).__name__} failed ({error}), so no random copy of "
                    "the module can be drawn: give its arguments defaults, or pass "
                    "random_model=callable(rng) -> model, for instance a refit on shuffled y."
                ) from error
            return
    for name, parameter in layer.named_parameters(recurse=False):
        if "bias" in name:
            parameter.zero_()
        elif parameter.is_floating_point():
            parameter.copy_(torch.from_numpy(np.asarray(glorot(rng, tuple(parameter.shape)))))
