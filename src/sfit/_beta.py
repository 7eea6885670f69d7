"""Choose beta: the smallest at which tests of random models reject at most by chance (section 2.2).

The same random models serve every beta, so each test rejects exactly while beta is below its
threshold, the c-th largest relative improvement (c: the critical count). One order statistic per
model and feature gives the rejection rate as an exact step function of beta, without a grid or a
second prediction.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfit._arguments import warn_of_order
from sfit._array import Array
from sfit._beta_choice import BetaChoice
from sfit._binomial import too_few_units
from sfit._contrast import Contrast, Question, Reveal
from sfit._measure import measure
from sfit._probe import confirm
from sfit._request import BetaRequest, Request, Subject
from sfit._resume import opened_for
from sfit._session import Session
from sfit._sign_test import SignStatistic
from sfit.exceptions import BetaError, DataError, ModelError
from sfit.sample import Sample, prepare

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
    r"""Choose beta by model randomisation: for random models, no feature should be significant.

    The result is the smallest beta at which tests of random models reject less often than alpha.

    Parameters
    ----------
    model : object
        The fitted model, as for `feature_significance`; sfit never modifies it.
    X, y : rows and observed target
        Validation rows. Do not use them for the tests afterwards.
    alpha : float, default=0.05
        Upper bound of the share of rejections among the tests of random models.
    n_models : int, default=20
        Number of random models.
    grid : sequence of floats, optional
        Betas to choose from, such as the paper's ``np.logspace(-6, -1, 6)``. By default, the exact
        smallest sufficient beta is computed.
    max_beta : float, default=0.1
        Largest acceptable beta. If a larger one is needed, an error reports the rejection curve.
    random_model : callable, optional
        ``rng -> model``, for instance a refit on shuffled `y`. By default, copies of the model with
        random parameters: networks and linear models get Glorot-normal weights and zero biases;
        trees keep their splits, and their leaf values are permuted.
    features, loss, reference, groups, always_on, fast : as in `feature_significance`
        What to test, and how.
    n_jobs : int, optional
        Number of joblib workers.
    progress : bool, default=False
        Show a progress bar per random model.
    checkpoint, checkpoint_key : as in `feature_significance`
        SQLite file from which an interrupted run resumes.
    random_state : int or Generator, optional
        Seed of the random models, and of the rows that an `Average` draws; the result records it.

    Returns
    -------
    BetaChoice
        The chosen `.beta`, the rejection rates `.curve`, and `.plot()`.

    See Also
    --------
    feature_significance : The test; ``beta="auto"`` calls this function.
    BetaChoice : The result.

    Notes
    -----
    This is the calibration of section 2.2 of the paper, without a grid. Of N tests, at most
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
    request = BetaRequest.checked(**locals())
    session = Session.of(request)
    warn_of_order(X, y, "y")
    seed = session.seed(request.random_state)
    sample = prepare(model, X, y, seed=seed, **request.subject)
    stored = opened_for(checkpoint, checkpoint_key, request.identity(), sample)
    with stored as session.checkpoint:
        return choose_on(sample, request, session)


def choose_for(
    request: Request, sample: Sample, validation: Sample | None, session: Session
) -> tuple[BetaChoice, Sample]:
    """Choose beta for a sign test; return the choice and the rows left to test."""
    test: Any = request.test
    seed = session.seed(request.random_state)
    if validation is None:
        validation, sample = set_aside(sample, test.validation_fraction, seed)
    beta_request = BetaRequest(
        **{one.name: getattr(request, one.name) for one in fields(Subject)},
        alpha=request.alpha,
        n_models=N_MODELS,
        max_beta=MAX_BETA,
        grid=None,
        random_model=test.random_model,
        fast=request.fast,
        random_state=seed,
    )
    return choose_on(validation, beta_request, session), sample


def choose_on(sample: Sample, request: BetaRequest, session: Session) -> BetaChoice:
    """Choose beta on all rows of a prepared sample."""
    seed = session.seed(request.random_state)
    sample = replace(sample, rows=sample.rows.undivided())
    n = len(sample.rows)
    session.warn(*(f"choosing beta: {text}" for text in too_few_units(n, request.alpha)))
    drawn = _random_samples(sample, request.random_model, request.n_models, seed)
    thresholds = tuple(
        _thresholds(one, request, session, f"random model {number}")
        for number, one in enumerate(drawn, 1)
    )
    choice = BetaChoice(
        beta=smallest_sufficient(np.ravel(thresholds), request.alpha, request.grid),
        alpha=request.alpha,
        thresholds=thresholds,
        feature_names=sample.features.names,
        n_rows=n,
        grid=request.grid,
        seed=seed,
    )
    if not choice.beta <= request.max_beta:
        raise BetaError(_no_beta(choice, request.max_beta))
    return choice


def _no_beta(choice: BetaChoice, max_beta: float) -> str:
    """Error message: no beta suffices, with the rejection curve."""
    betas = {0.0, max_beta, *(b for b in np.logspace(-6, -1, 6) if b < max_beta)}
    curve = ", ".join(f"{choice.rate(b):.3f} at {b:.3g}" for b in sorted(betas))
    return (
        f"no beta up to max_beta={max_beta:g} keeps the share of rejections of {choice.n_models} "
        f"random models below alpha={choice.alpha:g}; the share is {curve}. "
        + (f"The smallest sufficient beta is {choice.beta:.3g}. " if choice.grid is None else "")
        + "Raise max_beta in sfit.choose_beta and test with the beta it returns, or pass a number "
        "as beta; or use more validation rows, or another random_model."
    )


def smallest_sufficient(
    thresholds: Array, alpha: float, grid: tuple[float, ...] | None = None
) -> float:
    """Smallest beta at which a share below alpha of the tests rejects; infinite beyond the grid.

    A test rejects while beta < its threshold. The allowed count is computed in rational arithmetic
    from the decimal digits of alpha: 7 of 140 tests are not below 0.05.
    """
    allowed = math.ceil(Fraction(repr(float(alpha))) * len(thresholds)) - 1
    exact = max(0.0, float(np.sort(thresholds)[::-1][allowed]))
    if grid is None:
        return exact
    return min((beta for beta in grid if beta >= exact), default=math.inf)


def set_aside(sample: Sample, fraction: float, seed: int) -> tuple[Sample, Sample]:
    """Split the rows at random into rows for choosing beta and rows to test."""
    n = len(sample.rows)
    shuffled = np.random.default_rng([seed, 1]).permutation(n)
    first = round(fraction * n)
    if not 0 < first < n:
        raise DataError(f"{n} rows cannot be split into validation and test rows.")
    held_out, tested = (
        sample.subset(np.sort(row_ids)) for row_ids in (shuffled[:first], shuffled[first:])
    )
    sizes = tested.rows.sizes()
    if 0 in sizes:
        empty = tested.rows.parts[sizes.index(0)]
        raise DataError(f"no test rows are left in part {empty!r}: pass validation=(X, y).")
    return held_out, tested


def _random_samples(
    sample: Sample, random_model: RandomModel | None, n_models: int, seed: int
) -> Iterator[Sample]:
    for child in np.random.SeedSequence(seed).spawn(n_models):
        rng = np.random.default_rng(child)
        if random_model is None:
            yield replace(sample, view=sample.view.randomize(rng))
        else:
            try:
                model = random_model(rng)
            except Exception as error:
                raise ModelError(f"random_model failed: {type(error).__name__}: {error}") from error
            yield sample.for_model(model)


def _thresholds(
    sample: Sample, request: BetaRequest, session: Session, label: str
) -> tuple[float, ...]:
    """For each feature, the smallest beta at which it is not significant (possibly 0)."""
    if session.checkpoint is not None:
        confirm(session.checkpoint, sample, label)
    nothing, n = Reveal(frozenset()), len(sample.rows)
    terms = [frozenset({feature}) for feature in range(len(sample.features.names))]
    questions = [Question(Contrast(term, nothing, Reveal(term)), 0, n) for term in terms]
    # A beta above 0 scales these losses, so they must not be negative.
    evaluation = replace(sample.evaluation(request.fast, session.warn), nonnegative=True)
    statistic = SignStatistic(request.alpha, only_beta_max=True)
    evidence = measure(evaluation, questions, label, statistic=statistic, session=session)
    return tuple(0.0 if math.isnan(one.beta_max) else one.beta_max for one in evidence)
