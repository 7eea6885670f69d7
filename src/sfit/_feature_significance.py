"""The public call: check the arguments, run the procedure on every part of the rows, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, cast, overload

from sfit._arguments import check_validation, warn_of_order
from sfit._beta import choose_for
from sfit._beta_choice import BetaChoice
from sfit._design import answer_questions, design_of, statistic_of
from sfit._diagnostics import averaged_parts, correlated, unreachable
from sfit._given import Conditions, not_tested
from sfit._mean_test import MeanTest
from sfit._partitioned import PartitionedResult
from sfit._partners import Partners, check_partners
from sfit._permutation_test import PermutationTest
from sfit._procedure import Design, Outcome, follow
from sfit._request import Request
from sfit._result import Settings, SFITResult
from sfit._resume import opened_for
from sfit._session import Session
from sfit._sign_test import SignTest
from sfit.exceptions import ArgumentError, DataError
from sfit.sample import Sample, prepare
from sfit.sample._reference import describe_reference


class Options(TypedDict, total=False):
    """All options except `by`, which selects the return type. For type checkers and editors."""

    test: Literal["sign", "permutation", "mean"] | SignTest | PermutationTest | MeanTest
    features: Sequence[Any] | None
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any]
    alpha: float
    beta: float | Sequence[float] | Literal["auto"] | None
    max_order: int
    correction: str | None
    alpha_by_order: Sequence[float] | Literal["auto"] | None
    reference: Any
    groups: Mapping[str, Sequence[Any]] | None
    always_on: Sequence[Any]
    given: Sequence[Any] | str
    clusters: Any
    row_order: Literal["time"] | None
    sample_weight: None
    partners: Partners
    n_partners: int | None
    exhaustive: bool
    strict: bool
    interaction: Literal["additive"] | None
    fast: bool
    n_jobs: int | None
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    checkpoint_key: str | None
    random_state: Any


@overload
def feature_significance(
    model: Any, X: Any, y: Any, *, by: None = None, **options: Unpack[Options]
) -> SFITResult: ...


@overload
def feature_significance(
    model: Any, X: Any, y: Any, *, by: Any, **options: Unpack[Options]
) -> PartitionedResult: ...


def feature_significance(
    model: Any,
    X: Any,
    y: Any,
    *,
    test: Literal["sign", "permutation", "mean"] | SignTest | PermutationTest | MeanTest = "sign",
    features: Sequence[Any] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    beta: float | Sequence[float] | Literal["auto"] | None = None,
    max_order: int = 1,
    correction: str | None = None,
    alpha_by_order: Sequence[float] | Literal["auto"] | None = None,
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    given: Sequence[Any] | str = (),
    by: Any = None,
    clusters: Any = None,
    row_order: Literal["time"] | None = None,
    sample_weight: None = None,
    partners: Partners = "auto",
    n_partners: int | None = None,
    exhaustive: bool = False,
    strict: bool = False,
    interaction: Literal["additive"] | None = None,
    fast: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> SFITResult | PartitionedResult:
    r"""Test which features a fitted model uses, without refitting it.

    All features are hidden: frozen at reference values, or averaged out. Revealing one feature, or
    a set, changes the prediction of each held-out row. The sign test asks whether that improves the
    typical row: whether the loss of more than half of the rows falls. The permutation test asks
    whether these predictions are related to the outcome at all.

    The parameters by purpose:

    - the question: `test`, `loss`, `beta`, `alpha`, `correction`, `alpha_by_order`
    - the features: `features`, `groups`, `always_on`, `given`, and how they are hidden: `reference`
    - the rows: `by`, `clusters`, `row_order`, `sample_weight`
    - features together: `max_order`, `partners`, `n_partners`, `exhaustive`, `strict`,
      `interaction`
    - the work: `fast`, `n_jobs`, `progress`, `checkpoint`, `checkpoint_key`, `random_state`

    Parameters
    ----------
    model : object
        A fitted scikit-learn estimator or Pipeline; an XGBoost, LightGBM or CatBoost model; a torch
        module; a Keras model; an ONNX path, bytes, ModelProto or session; or any callable
        ``rows -> predictions``. sfit never modifies it.
    X : array, sparse matrix or frame of shape (n, columns), path, data set or frames
        Held-out rows. Column names come from the frame or the model, else they are `x0, x1, ...`.
        For data larger than memory, pass the path of a Parquet file or folder, a glob, a pyarrow
        data set, or an iterable of frames that can be iterated repeatedly. The rows are read tile
        by tile; the result is the same.
    y : array of shape (n,) or (n, outputs), or str
        The observed target, or the name of its column in `X` (required if `X` is read tile by
        tile). Rows are matched by position; pandas indexes are ignored.
    test : {"sign", "permutation", "mean"} or a test object, default="sign"
        The sign test of the paper; the permutation test, which is much more powerful for features
        that matter to a minority of the rows; or the mean test, which asks whether the mean loss
        falls. Pass a `SignTest`, a `PermutationTest` or a `MeanTest` to change its options.
    features : sequence of names, optional
        The columns to pass to the model. By default, the feature names stored in the model; if it
        has none, all columns except those of `y`, `by` and `clusters`.
    loss : str, mapping or callable, default="auto"
        `"absolute_error"`, `"squared_error"`, `"poisson"`, `"gamma"`, `"log_loss"`, `"brier"`,
        `"zero_one"`, `"hinge"` of decision values, or `"crps"` of an ensemble with one column per
        member. With a parameter: `"pinball:0.9"` (a quantile), `"huber:1.35"` (the error from which
        on it is linear), `"tweedie:1.5"` (a power), `"crps:0.1,0.5,0.9"` (the levels of predicted
        quantiles); or as ``{"pinball": 0.9}``. Or a callable ``(y, prediction) -> one loss per
        row``, which receives `y` as class indices in classification. `"auto"` is the absolute error
        for regression and the log loss for classification.
    alpha : float, default=0.05
        Level of every test.
    beta : float, sequence of floats or "auto", optional
        The smallest relative improvement of the loss that counts in the sign test: one number, or
        one per order. The default is 0.01. At 1 nothing can be significant, and sfit warns.
        `"auto"` chooses beta with `choose_beta`, ignoring `given`, on the validation rows of
        `SignTest` or, without these, on part of the rows, which are then excluded from the tests.
    max_order : int, default=1
        Largest number of features tested together. The procedure stops earlier when all features
        together no longer improve on those found.
    correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, default=None
        Multiple-testing correction, applied within each order.
    alpha_by_order : "auto" or sequence of floats, optional
        Control the probability of any false rejection, over all orders, at `alpha`: one level per
        order, which add up to alpha. `"auto"` gives 1/2, 1/4, ... of alpha to the orders, and what
        is left to the last. Not together with `correction`.
    reference : str, number, mapping, row, data set or Average, default="mean"
        The values at which features are frozen: the `"mean"`, `"median"` or `"mode"` of the rows,
        one number, a mapping from column to value (other columns: mean), one value per column, or
        a data set whose means are used, ideally the training set. Non-numeric columns use their
        mode. An `Average` hides features differently: it averages predictions over background rows.
    groups : mapping, optional
        Maps a name to the columns revealed together, such as the dummies of one category.
    always_on : sequence of names, default=()
        Columns that are never frozen and never tested, such as an explicit intercept.
    given : sequence of names or "rest", default=()
        Features revealed on both sides of every comparison. `"rest"`: all except the tested one.
        The permutation test takes discrete features with at most 20 combinations of values (exact)
        or one continuous feature (approximate). Anything else, and `"rest"`, needs another test.
    by : "class", str or array of shape (n,), optional
        Run the whole procedure separately for each class, value of a column, or label. Rows whose
        label is missing are the part `"missing"`.
    clusters : str or array of shape (n,), optional
        Rows that depend on each other, such as those of one customer: a label per row, or the name
        of a column (required if `X` is read tile by tile). The sign test and the mean test then
        count clusters: the losses of a cluster are the means over its rows. The permutation test
        exchanges whole clusters of equal size. Clusters may be spread over all rows. With `by`,
        each part has its own clusters. Not with `beta="auto"`.
    row_order : {None, "time"}, default=None
        `"time"`: rows follow each other in time, and neighbours depend on each other. Only for the
        permutation test, which then shifts the predictions along the rows. Its p-values are
        approximate: they hold for stationary series.
    sample_weight : None
        Not supported: every row counts once.
    partners : {"auto", "all"}, mapping or callable, default="auto"
        Which features to test together, and in what order. `"auto"` ranks all features by the
        structure of the model if sfit can read it, `"all"` keeps the column order, and a mapping or
        callable ``feature -> candidates`` gives the candidates directly.
    n_partners : int, optional
        Use only the first `n_partners` partners of each feature (the paper's l).
    exhaustive : bool, default=False
        Also test sets of features already found significant, to detect their interactions.
    strict : bool, default=False
        Require that a set also improves on each of its subsets with one member fewer.
    interaction : {None, "additive"}, default=None
        `"additive"`: from order 2 on, test whether a set improves on the additive prediction from
        its parts, whatever was found before: for a pair, j alone plus k alone minus nothing. The
        parts are added on the scale of the model's link: log-odds or log-probabilities for classes,
        logarithms for the Poisson loss, else the predictions. `exhaustive=True` then gives a matrix
        of all pairs. Needs `max_order=2` or more; not with the permutation test or `strict`.
    fast : bool, default=True
        Use the structure of the model to save predictions. Results are bit-identical for trees;
        for networks, rounding may change a count by one row in 100,000. With False, the model
        predicts every distinct row.
    n_jobs : int, optional
        Number of joblib workers: threads, unless `joblib.parallel_config` selects another backend.
        Keep the default, 1, for a model that is not thread-safe.
    progress : bool, default=False
        Show a progress bar per order.
    checkpoint : path, optional
        SQLite file that stores finished work. After an interruption, the same call resumes from it
        and gives the same result. sfit refuses a damaged file, the file of another run, and a model
        whose predictions have changed.
    checkpoint_key : str, optional
        Identifies the model and any callable arguments: change it when they change. Required if a
        later run cannot recognise them: callables, and models that contain a class or function
        from outside installed packages. The error names the cause.
    random_state : int or Generator, optional
        Seed for permutations and flips, for `beta="auto"` and for the rows that an `Average` draws.
        By default, a seed is drawn; the result records it.

    Returns
    -------
    SFITResult or PartitionedResult
        With `by`, a `PartitionedResult`, which maps each part to its result.

    See Also
    --------
    audit : Run this and other tests, and write one document about the model.
    cross_significance : Few rows: test in folds.
    compare_models : Compare the features of two models.
    compare_parts : Test whether groups of rows differ.
    loco_significance : Refit without each feature.
    choose_beta : Choose the smallest improvement that counts.
    sklearn.inspection.permutation_importance : An importance, without a test.

    Notes
    -----
    Let :math:`L_i(S)` be the loss of row i when the set S is revealed. A set T is compared with
    its base B: the empty set at first order; at higher orders, the members of T already found
    significant. The test statistic is the number :math:`n^+` of positive differences:

    .. math:: \Delta_i = (1 - \beta) L_i(B) - L_i(T), \qquad n^+ = \#\{i : \Delta_i > 0\}.

    At the boundary of :math:`H_0: \mathrm{median}(\Delta) \le 0`, :math:`n^+` is binomial with
    probability 1/2, whatever the distribution of the data. First-order tests are Algorithm 1 of
    Horel and Giesecke, second-order tests Algorithm 2. A gate decides whether to go on to the next
    order: it tests all features against those found so far, at beta = 0.

    With ``interaction="additive"``, :math:`L_i(B)` is instead the loss of the prediction with link
    value :math:`-\sum_{S \subsetneq T} (-1)^{|T| - |S|} \eta_i(S)`, where :math:`\eta_i(S)` is the
    link value of the prediction with S revealed. The coefficients add up to 1.

    `MeanTest` explains the mean test, which follows the same steps with the mean of the differences
    at beta = 0. `PermutationTest` explains the permutation test. It has no gate, because no valid
    test is known of all features given those found. For the same reason it leaves out sets over
    several features found if one of these takes many values; a caveat names them.

    References
    ----------
    .. [1] E. Horel and K. Giesecke, "Computationally Efficient Feature Significance and Importance
       for Machine Learning Models", arXiv:1905.09849, 2019.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(10_000, random_state=0)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X, y, max_order=2, beta=(0.01, 0.001)
    ... )
    >>> result.significant
    {1: [('X1',), ('X3',)], 2: [('X1', 'X2'), ('X4', 'X5')]}
    """
    request = Request.checked(**locals())
    return significance(request, model, X, y, Session.of(request))


def significance(
    request: Request, model: Any, X: Any, y: Any, session: Session, *, gates: bool = True
) -> SFITResult | PartitionedResult:
    """`feature_significance` for a checked request; `gates`: whether to ask what is left.

    With an averaged reference a gate costs as many predictions as there are rows and background
    rows. Callers that ask for what is left in another way leave it out.
    """
    session.warn(*request.warnings())
    for name, values in (("y", y), ("by", request.by), ("clusters", request.clusters)):
        warn_of_order(X, values, name, warn=session.warn)
    seed = session.seed(request.random_state)
    sample = prepare(
        model, X, y, by=request.by, clusters=request.clusters, seed=seed, **request.subject
    )
    candidates = check_partners(request.partners, sample.features.names)
    conditions = Conditions(
        sample.features,
        sample.rows,
        sample.view.categorical,
        request.by_class,
        request.dependent,
    )
    design = replace(design_of(request, sample, candidates, conditions), gates=gates)
    validation = validation_of(request, sample, model)
    chosen = {"given": "rest" if design.rest else sorted(design.given), "partners": candidates}
    identity = request.identity() | chosen
    stored = opened_for(request.checkpoint, request.checkpoint_key, identity, sample, validation)
    with stored as session.checkpoint:
        if sample.seed is not None or request.test.random:
            seed = session.seed(request.random_state)  # stored: a resumed run draws the same
        choice = None
        if request.betas is None:
            choice, sample = choose_for(request, sample, validation, session)
            design = replace(design, betas=(choice.beta,) * request.max_order)
        if request.test.random:
            design = replace(design, statistic=replace(statistic_of(request, sample), seed=seed))
        sizes = sample.rows.sizes()
        session.warn(*(text for n in sizes for text in design.statistic.too_few(n)))
        additive = design.scale is not None
        evaluation = sample.evaluation(request.fast, session.warn, additive=additive)
        answer = partial(answer_questions, evaluation, design.statistic, conditions, session)
        outcomes = follow(design, sizes, answer, session.warn)
        session.caveats += evaluation.caveats()
    results = report(request, sample, design, outcomes, choice, session)
    if request.by is None:
        return results[0]
    label = request.by if isinstance(request.by, str) else "part"
    return PartitionedResult(tuple(zip(sample.rows.parts, results, strict=True)), label)


def validation_of(request: Request, sample: Sample, model: Any) -> Sample | None:
    """The user's validation rows for ``beta="auto"``; None if not given."""
    asked = getattr(request.test, "validation", None)
    if asked is None:
        return None
    pair = check_validation(asked)
    warn_of_order(*pair, "validation[1]", "validation[0]")
    subject = request.subject | {name: sample.asked[name] for name in ("features", "reference")}
    try:
        validation = prepare(model, *pair, **subject)
    except (ArgumentError, DataError) as error:
        # The message names X and y, which alone could mean either pair.
        raise type(error)(f"validation: {error}") from error
    names = sample.features.names
    if validation.features.names != names:
        raise ArgumentError(
            f"validation has the features {validation.features.names!r}, but X has {names!r}."
        )
    return validation


def settings_of(request: Request, sample: Sample, design: Design) -> dict[str, Any]:
    """The settings that all parts of the rows share."""
    features, statistic = sample.features, cast(Any, design.statistic)
    # Settings with the name of a request field store its checked value.
    names = {one.name for one in fields(Settings)} & {one.name for one in fields(request)}
    return {name: getattr(request, name) for name in names} | {
        "test": statistic.name,
        "loss": sample.loss.name,
        "alpha_by_order": request.alphas,
        "beta": design.betas if request.test.has_beta else (),
        "ties": getattr(request.test, "ties", None),
        "interval": statistic.interval,
        "reference": describe_reference(sample.asked["reference"]),
        "reference_origin": features.origin,
        "seed": statistic.seed if request.test.random else sample.seed,
        "space": features.space,
        "given": ("rest",) if design.rest else features.named(design.given),
        "always_on": sample.always_on,
        "partners": request.partners if isinstance(request.partners, str) else "given",
    }


def report(
    request: Request,
    sample: Sample,
    design: Design,
    outcomes: Sequence[tuple[Outcome, Sequence[Any]]],
    choice: BetaChoice | None,
    session: Session,
) -> list[SFITResult]:
    """The frozen result of each part of the rows."""
    features, statistic = sample.features, design.statistic
    general = [*sample.caveats, *session.caveats]
    general += averaged_parts(design.scale, features.reference.shape[0])
    # All sets over their parts: neither the sets nor their bases depend on what was found.
    fixed = request.exhaustive and request.interaction is not None
    if request.correction is not None and request.max_order > 1 and not fixed:
        general.append(
            "which sets are tested at order 2 and above depends on earlier decisions on the same "
            "rows; at these orders the correction is valid only conditionally on those decisions."
        )
    settings = settings_of(request, sample, design)
    given = design.rest or bool(design.given)
    results, run = [], session.run()
    for n_rows, (outcome, evidence) in zip(sample.rows.sizes(), outcomes, strict=True):
        tests, gates, left_out = outcome
        # Tests that drop ties count different numbers of rows: too few are those of every set, and
        # the coverage is one that all have.
        n = max(one.n for one in evidence)
        coverage = min(statistic.coverage(one.n) for one in evidence)
        few, stuck = statistic.too_few(n), statistic.caveats(evidence, sample.loss.name)
        unseen = statistic.diagnose(tests, gates, given)
        close = correlated(tests)
        session.warn(*stuck, *close)
        session.warn(*not_tested(features, [one for one in left_out if one[0].order == 1]))
        coarse = unreachable(tests, statistic.alpha, design.correction_at)
        results.append(
            SFITResult(
                tests=tuple(tests),
                gates=tuple(gates),
                feature_names=features.named(design.tested),
                settings=Settings(
                    **settings,
                    n_rows=n_rows,
                    n_clusters=getattr(evidence[0], "n_clusters", None),
                    coverage=coverage,
                ),
                caveats=(
                    *(*general, *few, *stuck, *close),
                    *(*not_tested(features, left_out), *coarse, *unseen),
                ),
                beta_choice=choice,
                run=run,
            )
        )
    return results
