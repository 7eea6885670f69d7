"""Delta of every row when one feature is revealed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal, delta, relative_improvement
from sfit._differences import Base
from sfit.problem import Problem
from sfit.rows import every_tile

Array = npt.NDArray[Any]


def row_deltas(problem: Problem, feature: int, beta: float) -> Array:
    """One difference per row: the feature revealed, over nothing."""
    evaluation = problem.evaluation()
    nothing, alone = Reveal(frozenset()), Reveal(frozenset({feature}))
    found = []
    for tile in every_tile(problem.rows):
        base = Base(evaluation, tile, evaluation.predictions.one(tile, nothing), signed=beta == 0)
        losses = base.losses_by_row(evaluation.predictions.one(tile, alone))
        rho = relative_improvement(losses.base, losses.full)
        found.append(delta(losses.base, losses.full, rho > beta, beta))
    return np.concatenate(found)
