"""Small data: every fold is tested on a model that was fitted on the folds before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from joblib import delayed, effective_n_jobs
from sklearn.base import is_classifier, is_regressor

from sfit._arguments import warn_of_order
from sfit._features import group_columns
from sfit._folds import About, Chain, FoldOutcome, check_classes, cut, fit_and_test, keep, recall
from sfit._losses import choose_loss
from sfit._multiplicity import Correction
from sfit._permutation_test import PermutationTest
from sfit._refits import check_estimator, training_rows
from sfit._request import CrossRequest
from sfit._result import AVERAGE, Settings, SFITResult
from sfit._resume import opened
from sfit._session import Session, progress_bar
from sfit._sign_test import SignTest
from sfit._workers import share, workers
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import as_table, column_names
from sfit.rows._stored import open_store
from sfit.sample._columns import check_labels, checked_numbers

REFERENCES = {
    "average": f"{AVERAGE}the training rows of each fold",
    "mean": "means of the training rows of each fold",
}


def cross_significance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_folds: int = 5,
    shuffle: bool = True,
    test: Literal["sign", "permutation"] | SignTest | PermutationTest = "permutation",
    features: Sequence[Any] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    beta: float | None = None,
    correction: str | None = None,
    reference: Literal["average", "mean"] | float = "average",
    groups: Mapping[str, Sequence[Any]] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> SFITResult:
    r"""Test features with few rows: no row is set aside, and no row is used twice.

    The rows are cut into folds. For k = 2, 3, ... a clone of the estimator is fitted on all folds
    before fold k and tested on fold k. A significant feature is related to the outcome through at
    least one of these models; with the sign test, it improves the typical row of at least one.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Cloned and fitted once per fold, except the first. sfit never modifies it.
    X : array, sparse matrix or frame of shape (n, columns)
        All rows, in memory.
    y : array of shape (n,) or (n, outputs)
        The observed target. Rows are matched by position; pandas indexes are ignored.
    n_folds : int, default=5
        Number of folds. The first is only fitted on; the others are tested, each on its own model.
    shuffle : bool, default=True
        Assign rows to folds at random. For a classifier under the permutation test, every fold then
        gets an equal share of each class. With False, folds are runs of consecutive rows: no model
        sees a later row. The rows must be independent of each other in any case.
    test : {"permutation", "sign"}, PermutationTest or SignTest, default="permutation"
        The test of each fold.
    features : sequence of names, optional
        The columns to use; by default all.
    loss, alpha : as in `feature_significance`
        What is compared, and at which level.
    beta : float, optional
        The smallest relative improvement that counts in the sign test; the default is 0.01.
    correction : as in `feature_significance`
        Multiple-testing correction over all features.
    reference : {"average", "mean"} or float, default="average"
        How features are hidden: averaged out over the rows that the model was fitted on (at most
        100 of them), or frozen at the means of these rows, or at a number.
    groups : as in `feature_significance`
        Columns that are revealed together. Larger sets are not tested.
    n_jobs : int, optional
        Number of joblib workers, each of which fits and tests one model at a time.
    progress : bool, default=False
        Show a progress bar over the models.
    checkpoint, checkpoint_key : as in `feature_significance`
        SQLite file that stores the finished folds, but no model. A resumed run fits only the
        missing models, so the estimator need not be seeded; it is recognised by its class and
        parameters.
    random_state : int or Generator, optional
        Seed of the folds, the permutations, the ties and the background rows. It does not seed the
        estimator. By default, a seed is drawn; the result records it.

    Returns
    -------
    SFITResult
        One first-order test per feature; `folds` holds the test of each fold.

    See Also
    --------
    feature_significance : The test of a fitted model on held-out rows.
    loco_significance : Refit without each feature.
    SFITSelector : Keep the significant features in a Pipeline.

    Notes
    -----
    Let :math:`B` be the number of re-matchings in a fold of :math:`n_k` rows. The p-value of the
    permutation test in fold k is randomised,

    .. math:: p_k = \frac{\#\{T_b > T\} + U_k (1 + \#\{T_b = T\})}{B + 1},

    with :math:`U_k` uniform. Given the folds before k, model k is fixed, so under the null
    hypothesis :math:`p_k` is uniform and independent of the earlier p-values. They are combined by
    Stouffer's method: :math:`p = 1 - \Phi(\sum_k \sqrt{n_k} \Phi^{-1}(1 - p_k) / \sqrt{\sum_k
    n_k})`. The result is exact, unlike pooling over ordinary cross-validation, where each row helps
    to fit the models of the other folds. The sign test pools the counts: at the boundary of its
    null hypothesis every row improves with probability 1/2, given the earlier folds. Its median and
    interval are those of the differences of all folds; the interval has its coverage if all models
    have the same median difference.

    All features share :math:`U_k`: a p-value depends on no other feature, and on no name, but the
    p-values are positively related, which the Holm and Benjamini-Yekutieli corrections allow.
    Randomised p-values have no positive lower bound, so `p_resolution` is 0.

    `rise` is the mean rise over the folds, weighted by their rows. `z` combines the z of the folds
    like their p-values. A feature that all models ignore has p = 1. Folds with equal shares of each
    class keep the permutation test exact, because it is exact given all outcomes; the sign test is
    not, so its folds are drawn without looking at y.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(200, random_state=0)
    >>> result = sfit.cross_significance(
    ...     LinearRegression(), X, y, correction="holm", random_state=0
    ... )
    >>> result.selected
    ('X1',)
    >>> result.folds["n_train"].unique().tolist()
    [40, 80, 120, 160]
    """
    request = CrossRequest.checked(**locals())
    session = Session.of(request)
    warn_of_order(X, y, "y")
    check_estimator(estimator)
    chain = chain_of(estimator, X, y, request, session.seed(request.random_state))
    outcomes = run(chain, session)
    return _result(chain, outcomes, session)


def chain_of(estimator: Any, X: Any, y: Any, request: CrossRequest, seed: int) -> Chain:
    """Check the rows, and cut them into folds."""
    if open_store(X) is not None:
        raise ArgumentError(
            f"X must hold the rows in memory, because models are fitted on them; got {X!r}. Fit a "
            "model yourself, and test it on the file with feature_significance."
        )
    train, target, labels, column_ids = training_rows(X, y, request.features, suffix="")
    group_columns(labels, request.groups, (), column_ids)
    n = train.shape[0]
    if n < 2 * request.n_folds:
        raise DataError(
            f"n_folds={request.n_folds} needs at least {2 * request.n_folds} rows, two per fold, "
            f"but X has n_samples={n}: {request.larger_folds}."
        )
    classifies = is_classifier(estimator)
    if classifies:
        choose_loss(request.loss, "classification")
        check_labels(target)
    elif is_regressor(estimator):
        checked_numbers(target, choose_loss(request.loss, "regression"))
    # Folds that depend on y keep a test exact only if it holds given all of y.
    stratify = classifies and not request.test.paired and target.ndim == 1
    folds = cut(
        n,
        request.n_folds,
        seed if request.shuffle else None,
        target if stratify and request.shuffle else None,
    )
    named = column_names(train) is not None
    rows, chosen = (train, None) if named else (as_table(X), request.features)
    chain = Chain(estimator, train, rows, chosen, target, folds, request, seed)
    if classifies and target.ndim == 1:
        check_classes(chain)
    return chain


def run(chain: Chain, session: Session) -> list[FoldOutcome]:
    """The outcome of every fold but the first; stored ones are not computed again."""
    request, outcomes = chain.request, dict[int, FoldOutcome]()
    identity = request.identity() | {"groups": request.groups}
    stored = opened(
        request.checkpoint, request.checkpoint_key, identity, chain.fingerprint, chain.data
    )
    numbers = range(2, request.n_folds + 1)
    bar = progress_bar(total=len(numbers), desc="models", enabled=request.progress)
    with bar, stored as session.checkpoint:
        session.seed(request.random_state)  # stored: a resumed run draws the same
        for fold in numbers:
            outcome = recall(session.checkpoint, fold, chain)
            if outcome is not None:
                outcomes[fold] = outcome
                bar.update()
        alone = effective_n_jobs(request.n_jobs) == 1
        payload, hint = share(chain, chain, "threads" if alone else "processes")
        calls = (delayed(fit_and_test)(payload, fold) for fold in numbers if fold not in outcomes)
        with workers(request.n_jobs, hint) as fits:
            for fold, outcome in fits(calls):
                keep(session.checkpoint, fold, outcome, chain)
                outcomes[fold] = outcome
                bar.update()
    return [outcomes[fold] for fold in numbers]


def _result(chain: Chain, outcomes: Sequence[FoldOutcome], session: Session) -> SFITResult:
    request, about = chain.request, outcomes[-1].about
    statistic: Any = chain.statistic(about)
    questions = [chain.question(feature, chain.n_tested) for feature in range(len(about.names))]
    evidence = [
        statistic.combine(
            question,
            [one.tests[feature] for one in outcomes],
            [one.tallies[feature] for one in outcomes],
        )
        for feature, question in enumerate(questions)
    ]
    p_values = statistic.p_values(evidence)
    adjusted = Correction(request.correction).adjust(p_values)
    tests = tuple(
        statistic.record(question.contrast, (name,), (), one, p, q)
        for question, name, one, p, q in zip(
            questions, about.names, evidence, p_values, adjusted, strict=True
        )
    )
    settings = _settings(chain, about, statistic, evidence)
    stuck = (*statistic.too_few(chain.n_tested), *statistic.caveats(evidence, settings.loss))
    session.warn(*(text for one in outcomes for text in one.about.warnings), *stuck)
    # What holds in every fold; in one of them alone, a column is easily constant.
    everywhere = set(about.caveats).intersection(*(one.about.caveats for one in outcomes))
    shared = [text for text in about.caveats if text in everywhere]
    return SFITResult(
        tests=tests,
        gates=(),
        feature_names=about.names,
        settings=settings,
        caveats=(*shared, *stuck, *statistic.diagnose(tests, (), given=False)),
        fold_tests=tuple(test for one in outcomes for test in one.tests),
        run=session.run(),
    )


def _settings(chain: Chain, about: About, statistic: Any, evidence: Sequence[Any]) -> Settings:
    request, ties = chain.request, getattr(statistic, "ties", None)
    return Settings(
        test=f"{statistic.name}, forward chaining",
        n_rows=chain.n_tested,
        loss=choose_loss(request.loss, about.task).name,
        alpha=request.alpha,
        beta=() if ties is None else (request.smallest_improvement,),
        max_order=1,
        correction=request.correction,
        interval=statistic.interval,
        coverage=min(statistic.coverage(one.n) for one in evidence),
        reference=REFERENCES.get(request.reference, f"{request.reference}"),
        reference_origin="given",
        space=about.space,
        given=(),
        always_on=(),
        partners="all",
        n_partners=None,
        exhaustive=False,
        strict=False,
        ties=ties,
        seed=chain.seed,
        n_folds=request.n_folds,
    )
