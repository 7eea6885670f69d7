"""The wrapper that declares what a torch module returns; it imports torch when called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfit.exceptions import MissingDependencyError
from sfit.models._network import Output

if TYPE_CHECKING:
    from sfit.models._torch import TorchView


def torch_model(
    module: Any, output: Output = "values", classes: Sequence[Any] | None = None
) -> TorchView:
    """Declare what a torch module returns.

    Parameters
    ----------
    module : torch.nn.Module
        Accepts a tensor of rows (m, columns) and returns a tensor with one prediction per row. A
        copy of it is put in evaluation mode; your module does not change.
    output : {"values", "logits", "probabilities"}, default="values"
        The kind of output. ``"values"``: numbers of shape (m,) or (m, outputs), a regression.
        ``"logits"``: scores before a sigmoid (one column) or a softmax (several columns).
        ``"probabilities"``: one column per class, or a single column for the second of two.
    classes : sequence, optional
        The labels, in the order of the columns of the output. By default the sorted values of `y`.

    Returns
    -------
    TorchView
        To be passed as `model`.

    Notes
    -----
    A bare module passed as `model` is a classifier if it is a ``Sequential`` that ends in
    ``Sigmoid``, ``Softmax`` or ``LogSoftmax``, and a regression model otherwise. A module trained
    with ``CrossEntropyLoss`` or ``BCEWithLogitsLoss`` returns logits: wrap it.

    Examples
    --------
    >>> import numpy as np, sfit, torch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.where(rng.uniform(size=2000) < 1 / (1 + np.exp(-3 * X[:, 0])), "yes", "no")
    >>> module = torch.nn.Linear(3, 1)
    >>> with torch.no_grad():
    ...     parameters = module.weight.copy_(torch.tensor([[3.0, 0.0, 0.0]])), module.bias.zero_()
    >>> model = sfit.models.torch_model(module, output="logits", classes=["no", "yes"])
    >>> sfit.feature_significance(model, X, y).significant
    {1: [('x0',)]}
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            'torch_model needs torch: pip install "sfit[torch]".'
        ) from error
    from sfit.models._torch import wrap

    return wrap(module, output, classes)
