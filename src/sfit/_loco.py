"""Leave one covariate out (LOCO, Lei et al. 2018): the paper's benchmark, one refit per feature.

The base side is the model refitted without the feature, the full side the model fitted on all
features, and beta is 0. The sign test and the interval are those of SFIT.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from joblib import delayed, effective_n_jobs, parallel_config

from sfit._arguments import warn_of_order
from sfit._array import Array
from sfit._contrast import Contrast, Question, Refit, Reveal
from sfit._features import group_columns
from sfit._measure import measure
from sfit._multiplicity import Correction
from sfit._procedure import decide
from sfit._refits import (
    ALL_FEATURES,
    Refits,
    StoredPredictions,
    check_estimator,
    check_same,
    fit,
    held_out_rows,
    keep,
    leave_out,
    predictions_of,
    recall,
    training_rows,
)
from sfit._request import RefitRequest
from sfit._result import REFITS, Settings, SFITResult
from sfit._resume import opened
from sfit._session import Session, progress_bar
from sfit._sign_test import SignEvidence, SignStatistic, SignTest
from sfit._workers import share, workers
from sfit.exceptions import ArgumentError
from sfit.restrict import Computed, Restricted, SidePredictions
from sfit.sample import Sample, prepare


def loco_significance(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    features: Sequence[Any] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    correction: str | None = None,
    test: Literal["sign"] | SignTest = "sign",
    groups: Mapping[str, Sequence[Any]] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
) -> SFITResult:
    r"""Test each feature by leaving it out and refitting the model (LOCO).

    The loss of each held-out row under the model without the feature is compared with its loss
    under the model with all features.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Cloned and fitted on all features, then once without each feature. A ColumnTransformer, at
        any depth of a Pipeline, may name its columns: the clone does not name the feature.
    X_train, y_train : rows and observed target
        Training rows.
    X_test, y_test : rows and observed target
        Held-out rows on which the losses are compared. They may come from files or an iterable of
        frames, as in `feature_significance`; then `y_test` must be the name of a column, and
        `X_train` must have column names.
    features : sequence of names, optional
        The columns to use; by default all.
    loss, alpha, correction, test, groups : as in `feature_significance`
        How the losses are compared.
    n_jobs : int, optional
        Number of joblib workers, each of which refits one model at a time.
    progress : bool, default=False
        Show a progress bar over the refits.
    checkpoint, checkpoint_key : as in `feature_significance`
        SQLite file that stores each model's predictions for the test rows, but not the model. Any
        loss and level can be computed from them. A resumed run fits only the missing models, so
        the estimator need not be seeded; it is recognised by its class and parameters. sfit refuses
        a deterministic estimator whose fit differs from the stored one.

    Returns
    -------
    SFITResult
        One first-order test per feature. The base of each is all the other features.

    See Also
    --------
    feature_significance : The same question about a fitted model, without refitting.

    Notes
    -----
    With :math:`\mu_{-j}` the model fitted without feature j, the differences are
    :math:`\Delta_i = L(Y_i, \mu_{-j}(X_i)) - L(Y_i, \mu(X_i))`: Table 2 of the paper. LOCO judges
    the estimator as much as the model. Randomness in two trainings can make a feature significant
    or hide it, and of two correlated features each can replace the other.

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
    request = RefitRequest.checked(**locals())
    session = Session.of(request)
    warn_of_order(X_train, y_train, "y_train", "X_train")
    warn_of_order(X_test, y_test, "y_test", "X_test")
    check_estimator(estimator)
    train, target, labels, column_ids = training_rows(X_train, y_train, features)
    test_rows = held_out_rows(X_test, y_test, train, labels, features)
    owners = group_columns(labels, groups, (), column_ids)
    if len(owners) < 2:
        raise ArgumentError(
            "features must name at least two: without its only feature a model cannot be fitted; "
            f"got {list(owners)!r}."
        )
    loss = request.loss
    full = prepare(fit(estimator, train, target), **test_rows.whole(), loss=loss, groups=groups)
    statistic = request.test.at(request.alpha)
    caveats = statistic.too_few(len(full.rows))
    session.warn(*caveats)
    job = Refits(estimator, train, target, test_rows, loss)
    evidence = compare_refits(job, list(owners.values()), full, statistic, request, session)
    return _result(request, full, statistic, evidence, caveats, session)


def compare_refits(
    job: Refits,
    members: Sequence[Sequence[int]],
    full: Sample,
    statistic: SignStatistic,
    request: RefitRequest,
    session: Session,
) -> list[tuple[Contrast, SignEvidence]]:
    """Refit without each feature and compare the losses; reuse stored predictions."""
    evaluation = full.evaluation(warn=session.warn)
    everything = Reveal(full.features.everything)
    answers: dict[int, tuple[Contrast, SignEvidence]] = {}

    def compare(feature: int, base: Sequence[Array], whole: Sequence[Array]) -> None:
        contrast = Contrast(frozenset({feature}), Refit(feature), everything)
        sides: dict[Computed, Restricted] = {
            Computed(Refit(feature)): StoredPredictions(base),
            Computed(everything): StoredPredictions(whole),
        }
        predictions = SidePredictions(full.view, full.features, prepared=sides)
        compared = replace(evaluation, predictions=predictions)
        question = Question(contrast, 0, len(full.rows))
        # All predictions exist by now: compare in this process, whatever backend runs the refits.
        with parallel_config(backend="sequential"):
            [evidence] = measure(compared, [question], "", statistic=statistic, session=Session())
        answers[feature] = contrast, evidence
        bar.update()

    identity = {"the features": members, "decision values": full.view.scores}
    bar = progress_bar(total=len(members), desc="LOCO", enabled=request.progress)
    opened_file = opened(
        request.checkpoint, request.checkpoint_key, identity, job.fingerprint, job.data
    )
    with bar, opened_file as saved:
        # An unseeded estimator gives a different model at each fit: the first one counts.
        n_tiles = full.rows.tile_runs[-1].tile_range.stop
        whole = recall(saved, ALL_FEATURES, n_tiles)
        if whole is None:
            whole = predictions_of(full)
            keep(saved, ALL_FEATURES, whole)
        elif saved is not None:
            check_same(saved, job, whole, full)
        pending = []
        for feature in range(len(members)):
            stored = recall(saved, feature, n_tiles)
            if stored is None:
                pending.append(feature)
            else:
                compare(feature, stored, whole)
        alone = effective_n_jobs(request.n_jobs) == 1
        payload, hint = share(job, job, "threads" if alone else "processes")
        calls = (delayed(leave_out)(payload, feature, members[feature]) for feature in pending)
        with workers(request.n_jobs, hint) as refits:
            for feature, predicted in refits(calls):
                keep(saved, feature, predicted)
                compare(feature, predicted, whole)
    return [answers[feature] for feature in range(len(members))]


def _result(
    request: RefitRequest,
    full: Sample,
    statistic: SignStatistic,
    compared: Sequence[tuple[Contrast, SignEvidence]],
    caveats: tuple[str, ...],
    session: Session,
) -> SFITResult:
    p_values = statistic.p_values([evidence for _, evidence in compared])
    correction = Correction(request.correction)
    decided = decide(full.features, statistic, compared, p_values, correction)
    settings = Settings(
        test="LOCO (Lei et al.)",
        n_rows=len(full.rows),
        loss=full.loss.name,
        alpha=request.alpha,
        beta=(0.0,),
        max_order=1,
        correction=request.correction,
        interval=statistic.interval,
        ties=statistic.ties,
        coverage=statistic.coverage(len(full.rows)),
        reference="none",
        reference_origin=REFITS,
        space="original",
        given=("rest",),
        always_on=(),
        partners="all",
        n_partners=None,
        exhaustive=False,
        strict=False,
    )
    run = session.run()
    tests = tuple(test for _, test in decided)
    return SFITResult(tests, (), full.features.names, settings, caveats, run=run)
