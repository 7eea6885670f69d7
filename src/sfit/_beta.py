"""beta from the data: the smallest at which random models find no more than chance (section 2.2).

With the same random models at every beta, a test of theirs rejects exactly while beta is below its
threshold, the c-th largest relative improvement (c: the critical count). One selection per model
and feature gives the rejection rate as an exact step function of beta: no grid, and no second
prediction.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._arguments import (
    as_seed,
    check_callable,
    check_flag,
    check_grid,
    check_jobs,
    check_level,
    check_unit,
    check_whole,
    warn_of_order,
)
from sfit._checkpoint import Checkpoint
from sfit._contrast import Contrast, Reveal
from sfit._engine import gather
from sfit._probe import confirm
from sfit._result import BetaChoice
from sfit._resume import opened_for
from sfit._sign_test import Ranks, ranks, too_few_rows
from sfit._tally import Question
from sfit.exceptions import BetaError, DataError, ModelError, SFITWarning
from sfit.problem import Problem, pose

Array = npt.NDArray[Any]
RandomModel = Callable[[np.random.Generator], Any]

N_MODELS = 20
MAX_BETA = 0.1


def choose_beta(
    model: Any,
    X: Any,
    y: Any,
    *,
    alpha: float = 0.05,
    n_models: int = N_MODELS,
    grid: Sequence[float] | None = None,
    max_beta: float = MAX_BETA,
    random_model: RandomModel | None = None,
    features: Sequence[Any] | None = None,
    loss: Any = "auto",
    reference: Any = "mean",
    groups: Any = None,
    always_on: Sequence[Any] = (),
    fast: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> BetaChoice:
    r"""Choose beta by model randomisation: random models should find nothing.

    Parameters
    ----------
    model : object
        The fitted model, as for `feature_significance`; it is never changed.
    X, y : rows and what was observed
        Validation rows: not those that are tested later.
    alpha : float, default=0.05
        The share of rejections among the tests of random models must stay below it.
    n_models : int, default=20
        Number of random models.
    grid : sequence of floats, optional
        Betas to choose from, such as the paper's ``np.logspace(-6, -1, 6)``. By default the exact
        smallest sufficient beta.
    max_beta : float, default=0.1
        A larger beta is not accepted: then there is an error that shows the curve.
    random_model : callable, optional
        ``rng -> model``, for instance a refit on shuffled `y`. By default copies of the model with
        random parameters: networks and linear models get Glorot-normal weights and zero biases,
        trees keep their splits and have their leaf values permuted.
    features, loss, reference, groups, always_on, fast : as in `feature_significance`
        What is tested, and how.
    n_jobs : int, optional
        Number of joblib workers.
    progress : bool, default=False
        Show a progress bar per random model.
    checkpoint, checkpoint_key : as in `feature_significance`
        A file to go on from, where a run was killed.
    random_state : int or Generator, optional
        What the random models are drawn with; the seed is recorded in the result.

    Returns
    -------
    BetaChoice
        With `.beta`, `.curve` and `.plot()`.

    Notes
    -----
    Section 2.2 of the paper, without its grid. Of N tests at most
    :math:`\lceil \alpha N \rceil - 1` may reject. A test rejects while beta is below the c-th
    largest :math:`\rho_i = 1 - L_i(\{j\}) / L_i(\{\})`, so beta is the
    :math:`\lceil \alpha N \rceil`-th largest of these thresholds, or 0 if that is negative. On
    fresh random models the expected rate is at most :math:`(M \alpha + 1) / (M + 1)` for M models.

    Examples
    --------
    >>> import numpy as np, sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> model = LinearRegression().fit(X[:2000], y[:2000])
    >>> choice = sfit.choose_beta(model, X[2000:], y[2000:], random_state=0)
    >>> choice.n_models, choice.rate(choice.beta) < 0.05
    (20, True)
    """
    alpha = check_level(alpha, "alpha")
    check_whole(n_models, "n_models")
    max_beta = check_unit(max_beta, "max_beta")
    check_jobs(n_jobs)
    check_flag(progress, "progress")
    check_flag(fast, "fast")
    check_callable(random_model, "random_model")
    seed = as_seed(random_state)
    admitted = None if grid is None else check_grid(grid)
    warn_of_order(X, y, "y")
    problem = pose(
        model,
        X,
        y,
        features=features,
        loss=loss,
        reference=reference,
        groups=groups,
        always_on=always_on,
    )
    told = {
        "loss": loss,
        "alpha": alpha,
        "fast": fast,
        "n_models": n_models,
        "random_model": random_model,
        "random_state": None if random_state is None else seed,
    }
    with opened_for(checkpoint, checkpoint_key, told, problem) as saved:
        if saved is not None and random_state is None:
            seed = saved.first_drawn("seed", seed)
        return choose_on(
            problem,
            alpha=alpha,
            n_models=n_models,
            grid=admitted,
            max_beta=max_beta,
            random_model=random_model,
            seed=seed,
            fast=fast,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=saved,
        )


def choose_on(
    problem: Problem,
    *,
    alpha: float,
    n_models: int,
    grid: tuple[float, ...] | None,
    max_beta: float,
    random_model: RandomModel | None,
    seed: int,
    fast: bool,
    n_jobs: int | None,
    progress: bool,
    checkpoint: Checkpoint | None = None,
) -> BetaChoice:
    """Choose beta on the rows of a problem that is posed already."""
    problem = replace(problem, rows=problem.rows.undivided())
    n = len(problem.rows)
    for warning in too_few_rows(n, alpha):
        warnings.warn(f"choosing beta: {warning}", SFITWarning, stacklevel=3)
    level = ranks(n, alpha)
    thresholds = tuple(
        _thresholds(drawn, level, fast, n_jobs, progress, f"random model {number}", checkpoint)
        for number, drawn in enumerate(_random_problems(problem, random_model, n_models, seed), 1)
    )
    choice = BetaChoice(
        beta=smallest_sufficient(np.ravel(thresholds), alpha, grid),
        alpha=alpha,
        thresholds=thresholds,
        feature_names=problem.features.names,
        n_rows=n,
        grid=grid,
        seed=seed,
    )
    if not choice.beta <= max_beta:
        asked = {0.0, max_beta, *(b for b in np.logspace(-6, -1, 6) if b < max_beta)}
        curve = ", ".join(f"{choice.rate(b):.3f} at {b:.3g}" for b in sorted(asked))
        raise BetaError(
            f"no beta up to max_beta={max_beta:g} keeps the share of rejections of {n_models} "
            f"random models below alpha={alpha:g}; it is {curve}. "
            + (f"The smallest sufficient beta is {choice.beta:.3g}. " if grid is None else "")
            + "Raise max_beta in sfit.choose_beta and test with the beta that it returns, or with "
            "a number of your own; or use more validation rows, or another random_model."
        )
    return choice


def smallest_sufficient(
    thresholds: Array, alpha: float, grid: tuple[float, ...] | None = None
) -> float:
    """Smallest beta at which fewer than alpha of the tests reject; infinite if none of the grid is.

    A test rejects while beta < its threshold. The count is settled in rational arithmetic, with
    alpha as it is written: 7 of 140 tests are not below 0.05.
    """
    allowed = math.ceil(Fraction(repr(float(alpha))) * len(thresholds)) - 1
    exact = max(0.0, float(np.sort(thresholds)[::-1][allowed]))
    if grid is None:
        return exact
    return min((beta for beta in grid if beta >= exact), default=math.inf)


def set_aside(problem: Problem, fraction: float, seed: int) -> tuple[Problem, Problem]:
    """Split the rows at random: some to choose beta on, the others to test."""
    n = len(problem.rows)
    shuffled = np.random.default_rng([seed, 1]).permutation(n)
    first = round(fraction * n)
    if not 0 < first < n:
        raise DataError(f"{n} rows cannot be split into validation and test rows.")
    held_out, tested = (
        problem.subset(np.sort(numbers)) for numbers in (shuffled[:first], shuffled[first:])
    )
    sizes = tested.rows.sizes()
    if 0 in sizes:
        empty = tested.rows.parts[sizes.index(0)]
        raise DataError(f"no test rows are left in part {empty!r}: pass validation=(X, y).")
    return held_out, tested


def _random_problems(
    problem: Problem, random_model: RandomModel | None, n_models: int, seed: int
) -> Iterator[Problem]:
    for child in np.random.SeedSequence(seed).spawn(n_models):
        rng = np.random.default_rng(child)
        if random_model is None:
            yield replace(problem, view=problem.view.randomize(rng))
        else:
            try:
                model = random_model(rng)
            except Exception as error:
                raise ModelError(f"random_model failed: {type(error).__name__}: {error}") from error
            yield problem.for_model(model)


def _thresholds(
    problem: Problem,
    level: Ranks,
    fast: bool,
    n_jobs: int | None,
    progress: bool,
    label: str,
    checkpoint: Checkpoint | None,
) -> tuple[float, ...]:
    """For each feature, the beta from which on it is no longer significant; 0 if it never is."""
    rows = problem.rows
    if checkpoint is not None:
        confirm(checkpoint, problem, label)
    nothing = Reveal(frozenset())
    questions = [
        Question(Contrast(term, nothing, Reveal(term)), 0, len(rows), level, only_beta_max=True)
        for term in (frozenset({feature}) for feature in range(len(problem.features.names)))
    ]
    # At some beta above 0 these losses will be scaled: they must not be negative.
    evaluation = replace(problem.evaluation(fast), nonnegative=True)
    evidence = gather(
        evaluation,
        rows,
        questions,
        n_jobs=n_jobs,
        progress=progress,
        label=label,
        checkpoint=checkpoint,
    )
    return tuple(0.0 if math.isnan(one.beta_max) else one.beta_max for one in evidence)
