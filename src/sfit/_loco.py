"""Leave one covariate out (Lei et al. 2018): the paper's yardstick, with a refit per feature.

The base side is the model fitted anew without the feature, the full side the model with all of
them, and beta is 0; the sign test and the interval are those of SFIT.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from typing import Any

import joblib
from joblib import Parallel, delayed
from sklearn.base import clone

from sfit._arguments import check_choice, check_flag, check_jobs, check_level
from sfit._checkpoint import opened
from sfit._contrast import Contrast, Evidence, Refit, Reveal
from sfit._differences import Evaluation
from sfit._engine import Question, gather
from sfit._features import group_columns, positions_of
from sfit._losses import check_loss
from sfit._multiplicity import CORRECTIONS, adjust
from sfit._problem import Problem, pose
from sfit._procedure import set_test
from sfit._progress import progress_bar
from sfit._result import Settings, SFITResult
from sfit._rows import (
    Table,
    Tile,
    as_table,
    as_vector,
    column_names,
    hash_table,
    select_columns,
    to_native,
)
from sfit._sign_test import INTERVALS, p_value, ranks, too_few_rows
from sfit._versions import versions
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITWarning
from sfit.restrict import SidePredictions


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
        Held-out rows to compare the losses on.
    features : sequence of names, optional
        The columns to use; by default all.
    loss, alpha, correction, interval, groups : as in `feature_significance`
        How the losses are compared.
    n_jobs : int, optional
        Number of joblib workers that refit side by side.
    progress : bool, default=False
        Show a progress bar over the refits.
    checkpoint, checkpoint_key : as in `feature_significance`
        A file to go on from; of each refit its evidence is kept, not the model.

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
    check_level(alpha, "alpha")
    check_choice(correction, "correction", CORRECTIONS)
    check_choice(interval, "interval", INTERVALS)
    check_jobs(n_jobs)
    check_flag(progress, "progress")
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit") and hasattr(estimator, "get_params")
    ):
        raise ArgumentError(
            "estimator must be an instance of a scikit-learn estimator, to be cloned and fitted; "
            f"got {estimator!r}."
        )
    check_loss(loss)
    train, test = as_table(X_train, "X_train"), as_table(X_test, "X_test")
    for argument, table in (("X_train", train), ("X_test", test)):
        if 0 in table.shape:
            raise DataError(f"{argument} must have rows and columns; got shape {table.shape}.")
    names = column_names(train)
    labels = list(names or (f"x{position}" for position in range(train.shape[1])))
    if features is not None:
        kept = positions_of(features, labels, "features", names is None)
        train, labels = select_columns(train, kept), [labels[position] for position in kept]
    whole, test = test, _same_columns(test, labels, names is not None, features)
    target = as_vector(y_train, "y_train", train.shape[0])
    observed = as_vector(y_test, "y_test", test.shape[0])
    owners = group_columns(labels, groups, (), names is None)
    if len(owners) < 2:
        raise ArgumentError(
            "leaving the only feature out leaves nothing to fit: there must be at least two; "
            f"got {list(owners)!r}."
        )

    model = _fit(estimator, train, target)
    # Columns without names keep the numbers that they have among all columns.
    numbered = names is None and column_names(test) is None
    rows, chosen = (whole, features) if numbered else (test, None)
    full = pose(model, to_native(rows), observed, features=chosen, loss=loss, groups=groups)
    level = ranks(len(full.rows), alpha, interval)
    caveats = too_few_rows(len(full.rows), alpha, level)
    for caveat in caveats:
        warnings.warn(caveat, SFITWarning, stacklevel=2)
    evaluation = full.evaluation()
    everything, n = Reveal(full.features.everything), len(full.rows)
    contrasts = [
        Contrast(frozenset({feature}), Refit(feature), everything, 1, 0.0)
        for feature in range(len(owners))
    ]
    told = {"loss": loss, "alpha": alpha, "interval": interval, "estimator": repr(estimator)}
    digest = blake2b(digest_size=16)
    hash_table(digest, train)
    told["the training rows"] = f"{digest.hexdigest()} {joblib.hash(target)}"
    evidence: dict[int, Evidence] = {}
    with opened(checkpoint, checkpoint_key, full, told) as saved:
        for number in range(len(contrasts)):
            known = None if saved is None else saved.get("LOCO", number, 0)
            if known is not None:
                evidence[number] = Evidence(**json.loads(known))
        left = [number for number in range(len(contrasts)) if number not in evidence]
        jobs = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_leave_out)(
                estimator,
                train,
                target,
                test,
                full,
                evaluation,
                list(owners.values())[number],
                Question(contrasts[number], 0, n, level),
            )
            for number in left
        )
        bar = progress_bar(jobs, total=len(left), desc="LOCO", shown=progress)
        for number, one in zip(left, bar, strict=True):
            evidence[number] = one
            if saved is not None:
                saved.put("LOCO", number, 0, json.dumps(asdict(one)).encode())
                saved.commit()

    answers = [evidence[number] for number in range(len(contrasts))]
    p_values = p_value([one.n_positive for one in answers], [one.n for one in answers])
    adjusted = adjust(p_values, correction)
    tests = tuple(
        set_test(full.features, contrast, one, p, q, alpha)
        for contrast, one, p, q in zip(contrasts, answers, p_values, adjusted, strict=True)
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


def _leave_out(
    estimator: Any,
    train: Table,
    target: Any,
    test: Table,
    full: Problem,
    evaluation: Evaluation,
    members: Sequence[int],
    question: Question,
) -> Evidence:
    """Refit without some columns and compare; only the evidence leaves the worker, no model."""
    others = [position for position in range(train.shape[1]) if position not in members]
    refit = _fit(estimator, select_columns(train, others), target)
    asked = {"X": to_native(select_columns(test, others)), "y": full.asked["y"]}
    reduced = pose(refit, **asked, loss=full.asked["loss"])
    predictions = SidePredictions(reduced.view, reduced.features)
    tiles = [tile for stretch in reduced.rows.stretches for tile in stretch.tiles(None)]
    whole = Reveal(reduced.features.everything)

    def without(tile: Tile) -> Any:
        return predictions.one(tiles[tile.index], whole)

    sides = SidePredictions(full.view, full.features, prepared={question.contrast.base: without})
    compared = replace(evaluation, predictions=sides)
    return gather(compared, full.rows, [question])[0]


def _fit(estimator: Any, table: Table, target: Any) -> Any:
    try:
        return clone(estimator).fit(to_native(table), target)
    except Exception as error:
        raise ModelError(
            f"{type(estimator).__name__} could not be fitted on {table.shape[1]} columns: "
            f"{type(error).__name__}: {error}. A pipeline that names its columns cannot be fitted "
            "without one of them: select columns by dtype instead."
        ) from error


def _same_columns(
    test: Table, labels: Sequence[str], named: bool, features: Sequence[Any] | None
) -> Table:
    names = column_names(test)
    if named and names is not None:
        return select_columns(test, positions_of(list(labels), names, "X_test must hold"))
    if features is not None and not named:
        own = [f"x{position}" for position in range(test.shape[1])]
        return select_columns(test, positions_of(features, own, "features", True))
    if test.shape[1] != len(labels):
        raise DataError(
            f"X_test has {test.shape[1]} columns, but X_train has {len(labels)}: they must agree."
        )
    return test
