"""Leave one covariate out (Lei et al. 2018): the paper's yardstick, with a refit per feature.

The base side is the model fitted anew without the feature, the full side the model with all of
them, and beta is 0; the sign test and the interval are those of SFIT.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy.typing as npt
from joblib import delayed, effective_n_jobs, parallel_config

from sfit._arguments import check_choice, check_flag, check_jobs, check_level, warn_of_order
from sfit._contrast import Contrast, Evidence, Refit, Reveal, Side
from sfit._engine import gather
from sfit._features import group_columns, positions_of
from sfit._jobs import workers
from sfit._losses import check_loss
from sfit._multiplicity import CORRECTIONS, adjust
from sfit._payload import share
from sfit._procedure import set_test
from sfit._progress import progress_bar
from sfit._refits import (
    ALL_FEATURES,
    HeldTest,
    Kept,
    Refits,
    StoredTest,
    check_same,
    check_shape,
    fit,
    held_test,
    keep,
    leave_out,
    predictions_of,
    recall,
)
from sfit._result import Settings, SFITResult
from sfit._resume import opened
from sfit._sign_test import INTERVALS, p_value, ranks, too_few_rows
from sfit._tally import Question
from sfit._versions import versions
from sfit.exceptions import ArgumentError, SFITWarning
from sfit.problem import pose
from sfit.restrict import Restricted, SidePredictions
from sfit.rows import as_table, as_vector, column_names, select_columns
from sfit.rows._store import open_store

Array = npt.NDArray[Any]


def loco_significance(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    features: Sequence[Any] | None = None,
    loss: str | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    correction: str | None = None,
    interval: str = "exact",
    groups: Mapping[str, Sequence[Any]] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
) -> SFITResult:
    r"""Test each feature by leaving it out and fitting anew.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Cloned and fitted on all features, and once more without each of them.
    X_train, y_train : rows and what was observed
        What the models are fitted on.
    X_test, y_test : rows and what was observed
        Held-out rows to compare the losses on. They may be read from files or in frames, as for
        `feature_significance`: then `y_test` is the name of a column, and `X_train` has names.
    features : sequence of names, optional
        The columns to use; by default all.
    loss, alpha, correction, interval, groups : as in `feature_significance`
        How the losses are compared.
    n_jobs : int, optional
        Number of joblib workers that refit side by side.
    progress : bool, default=False
        Show a progress bar over the refits.
    checkpoint, checkpoint_key : as in `feature_significance`
        Of each model its predictions of the test rows are kept,
        not the model: all differences follow from them, for any loss and level. A run that goes on
        keeps what was finished and fits only what is missing, so that the estimator need not be
        seeded; it is known again by its class and parameters. An estimator that gives the same
        model at every fit, and another one than before, is refused.

    Returns
    -------
    SFITResult
        One first-order test per feature; its base is all the other features.

    Notes
    -----
    With :math:`\mu_{-j}` the model fitted without feature j, the differences are
    :math:`\Delta_i = L(Y_i, \mu_{-j}(X_i)) - L(Y_i, \mu(X_i))`: Table 2 of the paper. The answer is
    about the estimator as much as about the model: a feature can be found, or missed, by the luck
    of two trainings, and of two correlated features each hides the other.

    References
    ----------
    .. [1] J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani and L. Wasserman, "Distribution-Free
       Predictive Inference for Regression", JASA 113(523), 1094-1111, 2018.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> result = sfit.loco_significance(LinearRegression(), X[:1000], y[:1000], X[1000:], y[1000:])
    >>> result.significant
    {1: [('X1',)]}
    """
    started = time.perf_counter()
    alpha = check_level(alpha, "alpha")
    check_choice(correction, "correction", CORRECTIONS)
    check_choice(interval, "interval", INTERVALS)
    check_jobs(n_jobs)
    check_flag(progress, "progress")
    warn_of_order(X_train, y_train, "y_train", "X_train")
    warn_of_order(X_test, y_test, "y_test", "X_test")
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit") and hasattr(estimator, "get_params")
    ):
        raise ArgumentError(
            "estimator must be an instance of a scikit-learn estimator, to be cloned and fitted; "
            f"got {estimator!r}."
        )
    check_loss(loss)
    train = as_table(X_train, "X_train")
    check_shape("X_train", train)
    names = column_names(train)
    labels = list(names or (f"x{position}" for position in range(train.shape[1])))
    numbers: Sequence[int] = range(len(labels)) if names is None else ()
    if features is not None:
        kept = positions_of(features, labels, "features", numbers)
        train, labels = select_columns(train, kept), [labels[position] for position in kept]
        numbers = kept if names is None else ()
    target = as_vector(y_train, "y_train", train.shape[0])
    test: HeldTest | StoredTest
    if open_store(X_test) is None:
        test = held_test(X_test, y_test, labels, names is not None, features)
    elif names is None:
        raise ArgumentError("X_train must have named columns where X_test is read piece by piece.")
    else:
        test = StoredTest(X_test, y_test, tuple(labels))
    owners = group_columns(labels, groups, (), numbers)
    if len(owners) < 2:
        raise ArgumentError(
            "features must be at least two: leaving the only feature out leaves nothing to fit; "
            f"got {list(owners)!r}."
        )

    model = fit(estimator, train, target)
    full = pose(model, **test.whole(), loss=loss, groups=groups)
    level = ranks(len(full.rows), alpha, interval)
    caveats = too_few_rows(len(full.rows), alpha, level)
    for caveat in caveats:
        warnings.warn(caveat, SFITWarning, stacklevel=2)
    evaluation = full.evaluation()
    everything, n = Reveal(full.features.everything), len(full.rows)
    contrasts = [
        Contrast(frozenset({feature}), Refit(feature), everything) for feature in range(len(owners))
    ]
    answers: dict[int, Evidence] = {}

    def compare(feature: int, base: Sequence[Array], whole: Sequence[Array]) -> None:
        question = Question(contrasts[feature], 0, n, level)
        sides: dict[Side, Restricted] = {Refit(feature): Kept(base), everything: Kept(whole)}
        predictions = SidePredictions(full.view, full.features, prepared=sides)
        compared = replace(evaluation, predictions=predictions)
        # Here, whatever the refits run on: nothing is predicted any more.
        with parallel_config(backend="sequential"):
            [answers[feature]] = gather(compared, full.rows, [question])
        bar.update()

    members = list(owners.values())
    job = Refits(estimator, train, target, test, loss)
    told = {"the features": owners}
    bar = progress_bar(total=len(members), desc="LOCO", shown=progress)
    with bar, opened(checkpoint, checkpoint_key, told, job.fingerprint, job.data) as saved:
        # An estimator without a seed gives another model each time: the first one counts.
        n_tiles = full.rows.stretches[-1].numbers.stop
        whole = recall(saved, ALL_FEATURES, n_tiles)
        if whole is None:
            whole = predictions_of(full)
            keep(saved, ALL_FEATURES, whole)
        elif saved is not None:
            check_same(saved, job, whole, full)
        left = []
        for feature in range(len(members)):
            known = recall(saved, feature, n_tiles)
            if known is None:
                left.append(feature)
            else:
                compare(feature, known, whole)
        payload, hint = share(job, job, "threads" if effective_n_jobs(n_jobs) == 1 else "processes")
        calls = (delayed(leave_out)(payload, feature, members[feature]) for feature in left)
        with workers(n_jobs, hint) as answers_to:
            for feature, found in answers_to(calls):
                keep(saved, feature, found)
                compare(feature, found, whole)

    evidence = [answers[feature] for feature in range(len(members))]
    p_values = p_value([one.n_positive for one in evidence], [one.n for one in evidence])
    adjusted = adjust(p_values, correction)
    tests = tuple(
        set_test(full.features, contrast, one, p, q, alpha)
        for contrast, one, p, q in zip(contrasts, evidence, p_values, adjusted, strict=True)
    )
    settings = Settings(
        test="LOCO (Lei et al.)",
        loss=full.loss.name,
        alpha=float(alpha),
        beta=(0.0,),
        max_order=1,
        correction=correction,
        interval=interval,
        coverage=level.coverage,
        reference="none",
        reference_origin="refits",
        space="original",
        given=("rest",),
        always_on=(),
        partners="all",
        n_partners=None,
        exhaustive=False,
        strict=False,
    )
    run = {"versions": versions(), "seconds": time.perf_counter() - started}
    return SFITResult(tests, (), full.features.names, settings, caveats, run=run)
