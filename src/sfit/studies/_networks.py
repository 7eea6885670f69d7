"""Many small networks trained at once: batched weights, one optimiser step for all of them.

Networks of one shape are stacked, so one `baddbmm` computes a layer of all of them. Adam works
element by element, and the loss of the stack is the sum of the losses of its members, so each
network takes the same steps as if trained alone, up to rounding. Each network draws its weights and
the order of its rows from its seed, stops by its validation loss, and then leaves the stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._array import Array
from sfit.exceptions import MissingDependencyError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Recipe:
    """How a network is built and trained; the defaults are those of section 3 of the paper."""

    hidden: tuple[int, ...] = (150, 50)
    loss: str = "squared_error"
    """Or `"log_loss"`: one logit, labels 0 and 1."""
    balanced: bool = False
    """Weight the rows of each class by the inverse of its frequency."""
    learning_rate: float = 1e-3
    batch_size: int = 32
    max_epochs: int = 50
    min_decrease: float = 1e-2
    """A smaller decrease of the validation loss counts as no decrease."""
    patience: int = 5
    """Epochs without a decrease after which training stops."""


@dataclass(frozen=True)
class Network:
    """A trained network with the weights of its last epoch, as in the paper's early stopping."""

    layers: tuple[tuple[Array, Array], ...]
    """Weights (inputs, units) and biases (units,) of each layer; ReLU between them."""
    epochs: int
    validation_loss: float

    def module(self) -> torch.nn.Sequential:
        """The network as an ordinary torch module."""
        torch = import_torch()
        chain: list[Any] = []
        for weights, biases in self.layers:
            linear = torch.nn.Linear(*weights.shape)
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(weights.T))
                linear.bias.copy_(torch.from_numpy(biases))
            chain += [linear, torch.nn.ReLU()]
        return torch.nn.Sequential(*chain[:-1])


def import_torch() -> Any:
    """Import torch, or raise an error that says how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError(
            'the paper\'s networks need torch: pip install "sfit[torch]".'
        ) from error
    return torch


def train(
    recipe: Recipe, X: Any, y: Any, X_valid: Any, y_valid: Any, seeds: Sequence[int]
) -> list[Network]:
    """Train one network per seed, all at once.

    `X` has shape (networks, rows, inputs) and `y` (networks, rows); the validation rows likewise.
    Each network is trained on its part of the first axis.
    """
    torch = import_torch()
    X, y, X_valid, y_valid = (
        torch.as_tensor(part, dtype=torch.float32) for part in (X, y, X_valid, y_valid)
    )
    generators = [torch.Generator().manual_seed(int(seed)) for seed in seeds]
    sizes = (X.shape[2], *recipe.hidden, 1)
    optimiser = _adam(_glorot(sizes, generators), recipe)
    weights, weights_valid = _row_weights(recipe, y, y), _row_weights(recipe, y, y_valid)
    loss = _losses(recipe.loss)

    active = list(range(len(seeds)))
    best = torch.full((len(seeds),), math.inf)
    waited = torch.zeros(len(seeds), dtype=torch.int64)
    trained: dict[int, Network] = {}
    for epoch in range(1, recipe.max_epochs + 1):
        orders = [torch.randperm(X.shape[1], generator=generators[k]) for k in active]
        rows, target, weight = (
            torch.stack([part[k][order] for k, order in zip(active, orders, strict=True)])
            for part in (X, y, weights)
        )
        for start in range(0, rows.shape[1], recipe.batch_size):
            batch = slice(start, start + recipe.batch_size)
            output = forward(_parameters(optimiser), rows[:, batch])
            by_row = loss(output, target[:, batch]) * weight[:, batch]
            optimiser.zero_grad()
            by_row.mean(dim=1).sum().backward()
            optimiser.step()

        current = torch.stack(
            [
                (loss(output, y_valid[k : k + 1]) * weights_valid[k]).mean()
                for k, output in zip(active, _outputs(optimiser, X_valid, active), strict=True)
            ]
        )
        decreased = current < best - recipe.min_decrease
        best = torch.where(decreased, current, best)
        waited = torch.where(decreased, 0, waited + 1)
        ended = (waited >= recipe.patience) | (epoch == recipe.max_epochs)
        for place in torch.nonzero(ended).ravel().tolist():
            layers = _layers(_parameters(optimiser), place)
            trained[active[place]] = Network(layers, epoch, float(current[place]))
        if ended.all():
            break
        if ended.any():
            optimiser = _without(optimiser, ~ended, recipe)
            best, waited = best[~ended], waited[~ended]
            active = [k for k, over in zip(active, ended.tolist(), strict=True) if not over]
    return [trained[k] for k in range(len(seeds))]


def forward(parameters: Sequence[torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
    """Outputs (networks, rows) of a stack of networks."""
    torch = import_torch()
    values = rows
    for place in range(0, len(parameters), 2):
        if place:
            values = torch.relu(values)
        values = torch.baddbmm(parameters[place + 1], values, parameters[place])
    return values[:, :, 0]


def _losses(name: str) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """The training loss, row by row."""
    torch = import_torch()
    if name == "squared_error":
        return lambda output, target: (output - target) ** 2
    return lambda output, target: torch.nn.functional.binary_cross_entropy_with_logits(
        output, target, reduction="none"
    )


def _row_weights(recipe: Recipe, y: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One weight per row of `target`: 1, or the inverse of the frequency of its class in `y`."""
    torch = import_torch()
    if not recipe.balanced:
        return torch.ones_like(target)
    share = y.mean(dim=1, keepdim=True)
    return torch.where(target == 1, 0.5 / share, 0.5 / (1 - share))


def _glorot(sizes: Sequence[int], generators: Sequence[torch.Generator]) -> list[torch.Tensor]:
    """Glorot-uniform weights (networks, inputs, units) and zero biases (networks, 1, units)."""
    torch = import_torch()
    parameters: list[Any] = []
    for inputs, units in pairwise(sizes):
        bound = math.sqrt(6 / (inputs + units))
        drawn = [torch.rand(inputs, units, generator=generator) for generator in generators]
        parameters += [(2 * torch.stack(drawn) - 1) * bound]
        parameters += [torch.zeros(len(generators), 1, units)]
    return parameters


def _adam(parameters: Sequence[torch.Tensor], recipe: Recipe) -> torch.optim.Adam:
    torch = import_torch()
    moved = [parameter.requires_grad_() for parameter in parameters]
    # Fused: one pass over memory per step. With many networks the optimiser would dominate.
    return torch.optim.Adam(moved, lr=recipe.learning_rate, betas=(0.9, 0.999), fused=True)


def _parameters(optimiser: torch.optim.Adam) -> list[torch.Tensor]:
    return optimiser.param_groups[0]["params"]


def _outputs(
    optimiser: torch.optim.Adam, rows: torch.Tensor, active: Sequence[int]
) -> Iterator[torch.Tensor]:
    """Outputs of each network on its rows; one network at a time, to limit the memory."""
    torch = import_torch()
    with torch.no_grad():
        for place, k in enumerate(active):
            network = [parameter[place : place + 1] for parameter in _parameters(optimiser)]
            yield forward(network, rows[k : k + 1])


def _layers(parameters: Sequence[torch.Tensor], place: int) -> tuple[tuple[Array, Array], ...]:
    arrays = [np.array(parameter.detach()[place]) for parameter in parameters]
    return tuple((arrays[i], arrays[i + 1][0]) for i in range(0, len(arrays), 2))


def _without(optimiser: torch.optim.Adam, kept: torch.Tensor, recipe: Recipe) -> torch.optim.Adam:
    """An optimiser of the kept networks only, with their weights and Adam's state."""
    before = _parameters(optimiser)
    after = _adam([parameter.detach()[kept] for parameter in before], recipe)
    for old, new in zip(before, _parameters(after), strict=True):
        state = optimiser.state[old]
        after.state[new] = {
            name: value if name == "step" else value[kept] for name, value in state.items()
        }
    return after
