"""The public call: settle what is asked, run the procedure on every part of the rows, report."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from sfit._arguments import (
    as_seed,
    check_betas,
    check_callable,
    check_choice,
    check_flag,
    check_jobs,
    check_level,
    check_validation,
    check_whole,
    warn_of_order,
)
from sfit._beta import MAX_BETA, N_MODELS, choose_on, set_aside
from sfit._checkpoint import Checkpoint
from sfit._differences import Evaluation
from sfit._engine import gather
from sfit._features import positions_of
from sfit._multiplicity import CORRECTIONS
from sfit._partitioned import PartitionedResult
from sfit._partners import Partners, check_partners, find_partners
from sfit._procedure import Outcome, Plan, sfit
from sfit._result import Settings, SFITResult
from sfit._resume import opened_for
from sfit._sign_test import INTERVALS, Ranks, ranks, too_few_rows
from sfit._tally import Question
from sfit._versions import versions
from sfit.exceptions import ArgumentError, DataError, SFITWarning
from sfit.problem import Problem, pose
from sfit.problem._reference import describe_reference


class Options(TypedDict, total=False):
    """What can be asked for beside `by`, which decides what type checkers are told is returned."""

    features: Sequence[Any] | None
    loss: str | Callable[[Any, Any], Any]
    alpha: float
    beta: float | Sequence[float] | Literal["auto"]
    max_order: int
    correction: str | None
    interval: str
    reference: Any
    groups: Mapping[str, Sequence[Any]] | None
    always_on: Sequence[Any]
    given: Sequence[Any] | str
    partners: Partners
    n_partners: int | None
    exhaustive: bool
    strict: bool
    fast: bool
    validation: tuple[Any, Any] | None
    validation_fraction: float
    random_model: Callable[[np.random.Generator], Any] | None
    n_jobs: int | None
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    checkpoint_key: str | None
    random_state: Any
    sample_weight: None


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
    features: Sequence[Any] | None = None,
    loss: str | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    beta: float | Sequence[float] | Literal["auto"] = 0.01,
    max_order: int = 1,
    correction: str | None = None,
    interval: str = "exact",
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    given: Sequence[Any] | str = (),
    by: Any = None,
    partners: Partners = "auto",
    n_partners: int | None = None,
    exhaustive: bool = False,
    strict: bool = False,
    fast: bool = True,
    validation: tuple[Any, Any] | None = None,
    validation_fraction: float = 0.5,
    random_model: Callable[[np.random.Generator], Any] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
    sample_weight: None = None,
) -> SFITResult | PartitionedResult:
    r"""Test which features a fitted model really uses, without refitting it.

    Every feature is frozen at a reference value, one (or a set) is revealed, and the loss of each
    held-out row is compared with its loss when nothing is revealed: a sign test on the differences.

    Parameters
    ----------
    model : object
        A fitted scikit-learn estimator or Pipeline; an XGBoost, LightGBM or CatBoost model; a torch
        module; a Keras model; an ONNX path, bytes, ModelProto or session; or any callable
        ``rows -> predictions``. It is never changed.
    X : array, sparse matrix or frame of shape (n, columns), path, data set or frames
        Held-out rows. Names come from the frame, or from the model; without names, `x0, x1, ...`.
        Rows that need not fit into memory: the path of a Parquet file or folder, a glob, a pyarrow
        data set, or an iterable of frames that can be read again. They are read tile by tile, to
        the same result.
    y : array of shape (n,) or (n, outputs), or str
        What was observed, or the name of its column in `X` (always, where rows are read). Rows are
        matched by position, whatever their index says.
    features : sequence of names, optional
        The columns that go to the model. By default the model's own names, else all columns but
        those of `y` and `by`.
    loss : str or callable, default="auto"
        `"absolute_error"`, `"squared_error"`, `"poisson"`, `"log_loss"`, `"brier"`, `"zero_one"`,
        or a callable ``(y, prediction) -> one loss per row``. `"auto"` is the absolute error for
        regression and the log loss for classification, where `y` comes as class numbers.
    alpha : float, default=0.05
        Level of every test.
    beta : float, sequence of floats or "auto", default=0.01
        The smallest relative improvement of the loss that counts; one number, or one per order.
        At 1, of which sfit warns, nothing can be significant.
        `"auto"` chooses it on `validation`, or on a part of the rows that is then not tested, by
        tests of single features over none, whatever is `given`.
    max_order : int, default=1
        Sets of up to so many features are tested, as long as something is left to find.
    correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, default=None
        Correction for the number of sets, within each order.
    interval : {"exact", "asymptotic"}, default="exact"
        Interval of the median: with guaranteed coverage, or as printed in the paper.
    reference : str, number, mapping, row or data set, default="mean"
        What hidden features are frozen at: `"mean"`, `"median"` or `"mode"` of the rows, a number,
        a mapping by column (others: mean), one value per column, or a data set, whose means are
        taken: the training set, ideally. Columns that hold no numbers take their mode.
    groups : mapping, optional
        From a name to columns that are revealed together, such as the dummies of one category.
    always_on : sequence of names, default=()
        Columns that are never hidden and never tested (an explicit intercept).
    given : sequence of names or "rest", default=()
        Features that are revealed on both sides of every comparison. `"rest"`: all the others.
    by : "class", str or array of shape (n,), optional
        Run the whole procedure for each class, each value of a column, or each label.
    partners : {"auto", "all"}, mapping or callable, default="auto"
        Which features to try together, in what order: by the structure of the model where it is
        known, all, or the user's own ``feature -> candidates``.
    n_partners : int, optional
        Only the first so many partners of each feature (the paper's l).
    exhaustive : bool, default=False
        Test sets of features that were found already, too, to see which interactions there are.
    strict : bool, default=False
        A set must also improve on each of its subsets with one member less.
    fast : bool, default=True
        Use what is known of the model's structure to predict less, to the same result: for trees to
        the bit, for networks but for rounding, where a count may differ by a row in 100,000. False
        asks the model itself for every distinct row.
    validation : tuple (X, y), optional
        Rows on which `beta="auto"` chooses beta; refused with any other beta.
    validation_fraction : float, default=0.5
        Otherwise, the share of the rows set aside for that.
    random_model : callable, optional
        ``rng -> model``: draws the random models for `beta="auto"`. By default copies of the model
        with random parameters. Refused with any other beta.
    n_jobs : int, optional
        Number of joblib workers; threads, unless `joblib.parallel_config` says otherwise. A model
        that two threads must not ask at once needs 1, the default.
    progress : bool, default=False
        Show a progress bar per order.
    checkpoint : path, optional
        A file (SQLite) of finished work. The same call continues where a killed one stopped, to
        the same result. A damaged file, a file of another run, and a model that predicts
        differently than before are refused.
    checkpoint_key : str, optional
        Stands for the model and for functions among the arguments: change it when they change.
        Needed where a later run cannot recognise them: callables, and models with code of your
        own (a class or function outside of installed packages). The error says what it is.
    random_state : int or Generator, optional
        Seed for `beta="auto"`; nothing else is random.
    sample_weight : None
        Not supported: the sign test counts rows, and a count has no weights.

    Returns
    -------
    SFITResult or PartitionedResult
        The latter, a mapping from part to result, where `by` is given.

    Notes
    -----
    With :math:`L_i(S)` the loss of row i when the set S is revealed, a set T is tested over its
    base B (nothing, at first order; the members found already, at higher orders) through

    .. math:: \Delta_i = (1 - \beta) L_i(B) - L_i(T), \qquad n^+ = \#\{i : \Delta_i > 0\}.

    At the boundary of :math:`H_0: \mathrm{median}(\Delta) \le 0`, :math:`n^+` is binomial with
    probability 1/2, whatever the distribution of the data. This is Algorithm 1 of Horel and
    Giesecke at first order, Algorithm 2 at second, with a gate between the orders: all features
    against those found, at beta = 0.

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
    started = time.perf_counter()
    if sample_weight is not None:
        raise ArgumentError(
            "sample_weight is not supported: the sign test counts rows, and its exactness rests on "
            "each row counting once. Test a resampled set, or parts of the rows with by=."
        )
    alpha = check_level(alpha, "alpha")
    check_whole(max_order, "max_order", most=1_000)
    check_whole(n_partners, "n_partners", optional=True)
    check_choice(correction, "correction", CORRECTIONS)
    check_choice(interval, "interval", INTERVALS)
    for flag, argument in (
        (exhaustive, "exhaustive"),
        (strict, "strict"),
        (fast, "fast"),
        (progress, "progress"),
    ):
        check_flag(flag, argument)
    check_jobs(n_jobs)
    check_callable(random_model, "random_model")
    seed = as_seed(random_state)
    rest = isinstance(given, str) and given == "rest"
    if rest and max_order != 1:
        raise ArgumentError(f"given='rest' has one order only; got max_order={max_order!r}.")
    betas = check_betas(beta, max_order)
    if betas is not None:
        for value, argument in ((validation, "validation"), (random_model, "random_model")):
            if value is not None:
                raise ArgumentError(
                    f"{argument} serves beta='auto' only, but beta is {beta!r}: leave {argument} "
                    "out, or pass beta='auto'."
                )
    if betas is not None and 1.0 in betas:
        warnings.warn(
            f"beta={beta!r}: no loss falls by more than all of it, so nothing can be significant "
            "at beta = 1. Use a beta below 1, such as 0.01.",
            SFITWarning,
            stacklevel=2,
        )
    validation_fraction = check_level(validation_fraction, "validation_fraction")
    asked = {
        "features": features,
        "loss": loss,
        "reference": reference,
        "groups": groups,
        "always_on": always_on,
    }
    warn_of_order(X, y, "y")
    warn_of_order(X, by, "by")
    problem = pose(model, X, y, by=by, **asked)
    names = problem.features.names
    if rest and "rest" in names:
        raise ArgumentError(
            "given='rest' asks for all the other features, but there is a feature 'rest' as well: "
            "pass given=['rest'] for that one, or rename it."
        )
    fixed = frozenset() if rest else frozenset(positions_of(given, names, "given"))
    if len(fixed) == len(names):
        raise ArgumentError("given names every feature: there is none left to test.")
    candidates = check_partners(partners, names)

    held_out = None
    if betas is None and validation is not None:
        asked["features"] = problem.asked["features"]
        pair = check_validation(validation)
        warn_of_order(*pair, "validation[1]", "validation[0]")
        try:
            held_out = pose(model, *pair, **asked)
        except (ArgumentError, DataError) as error:
            # They speak of X and y, of which there are two here.
            raise type(error)(f"validation: {error}") from error
        if held_out.features.names != names:
            raise ArgumentError(
                f"validation has the features {held_out.features.names!r}, but X has {names!r}."
            )
    told = {
        "loss": loss,
        "alpha": alpha,
        "beta": "auto" if betas is None else betas,
        "max_order": max_order,
        "correction": correction,
        "interval": interval,
        "given": "rest" if rest else sorted(fixed),
        "by": by if isinstance(by, str) else by is not None,
        "partners": candidates,
        "n_partners": n_partners,
        "exhaustive": exhaustive,
        "strict": strict,
        "fast": fast,
        "validation_fraction": validation_fraction,
        "random_model": random_model,
        "random_state": None if random_state is None else seed,
    }
    choice = None
    with opened_for(checkpoint, checkpoint_key, told, problem, held_out) as saved:
        if saved is not None and random_state is None:
            seed = saved.first_drawn("seed", seed)
        if betas is None:
            if held_out is None:
                held_out, problem = set_aside(problem, validation_fraction, seed)
            choice = choose_on(
                held_out,
                alpha=alpha,
                n_models=N_MODELS,
                grid=None,
                max_beta=MAX_BETA,
                random_model=random_model,
                seed=seed,
                fast=fast,
                n_jobs=n_jobs,
                progress=progress,
                checkpoint=saved,
            )
            betas = (choice.beta,) * max_order

        tested = problem.features.everything - fixed
        # At order 1 nothing is tried together, and lists of all others take p x p numbers.
        together: Mapping[int, Sequence[int]] = dict.fromkeys(tested, ())
        if max_order > 1:
            structure = problem.view.structure
            together = find_partners(candidates, n_partners, problem.features, structure, tested)
        plan = Plan(
            features=problem.features,
            given=fixed,
            rest=rest,
            alpha=alpha,
            betas=betas,
            max_order=max_order,
            correction=correction,
            partners=together,
            exhaustive=exhaustive,
            strict=strict,
        )
        sizes = problem.rows.sizes()
        levels = [ranks(n, alpha, interval) for n in sizes]
        few = [too_few_rows(n, alpha, level) for n, level in zip(sizes, levels, strict=True)]
        for warning in dict.fromkeys(text for texts in few for text in texts):
            warnings.warn(warning, SFITWarning, stacklevel=2)
        evaluation = problem.evaluation(fast)
        outcomes = run_procedures(
            plan, problem, evaluation, levels, n_jobs=n_jobs, progress=progress, checkpoint=saved
        )
    for warning in dict.fromkeys(text for _, texts in outcomes for text in texts):
        warnings.warn(warning, SFITWarning, stacklevel=2)

    general = list(problem.caveats)
    if correction is not None and max_order > 1:
        general.append(
            "which sets are tested at order 2 and above depends on earlier decisions on the same "
            "rows: there the correction holds only given those."
        )
    run = {
        "versions": versions(),
        "seconds": time.perf_counter() - started,
        "stages": evaluation.stages,
    }
    results = []
    for (outcome, caveats), level, sparse in zip(outcomes, levels, few, strict=True):
        tests, gates = outcome
        settings = Settings(
            test="SFIT (Horel and Giesecke)",
            loss=problem.loss.name,
            alpha=float(alpha),
            beta=betas,
            max_order=int(max_order),
            correction=correction,
            interval=interval,
            coverage=level.coverage,
            reference=describe_reference(reference),
            reference_origin=problem.features.origin,
            space=problem.features.space,
            given=("rest",) if rest else problem.features.named(fixed),
            always_on=problem.always_on,
            partners=partners if isinstance(partners, str) else "given",
            n_partners=n_partners,
            exhaustive=bool(exhaustive),
            strict=bool(strict),
        )
        results.append(
            SFITResult(
                tests=tuple(tests),
                gates=tuple(gates),
                feature_names=problem.features.named(tested),
                settings=settings,
                caveats=(*general, *sparse, *caveats),
                beta_choice=choice,
                run=run,
            )
        )
    if by is None:
        return results[0]
    label = by if isinstance(by, str) else "part"
    return PartitionedResult(tuple(zip(problem.rows.parts, results, strict=True)), label)


def run_procedures(
    plan: Plan,
    problem: Problem,
    evaluation: Evaluation,
    levels: Sequence[Ranks],
    *,
    n_jobs: int | None,
    progress: bool,
    checkpoint: Checkpoint | None = None,
) -> list[tuple[Outcome, tuple[str, ...]]]:
    """One procedure per part of the rows, in step: each side is predicted once for all of them.

    Each comes with the caveats that its evidence calls for.
    """
    rows = problem.rows
    sizes = rows.sizes()
    procedures = [sfit(plan) for _ in sizes]
    asked = {part: next(procedure) for part, procedure in enumerate(procedures)}
    outcomes: dict[int, Outcome] = {}
    caveats: dict[int, tuple[str, ...]] = {}
    while asked:
        questions = [
            Question(contrast, part, sizes[part], levels[part])
            for part, contrasts in asked.items()
            for contrast in contrasts
        ]
        first = questions[0].contrast
        label = "gate" if first.role == "gate" else f"order {first.order}"
        answers = iter(
            gather(
                evaluation,
                rows,
                questions,
                n_jobs=n_jobs,
                progress=progress,
                label=label,
                checkpoint=checkpoint,
            )
        )
        previous, asked = asked, {}
        for part, contrasts in previous.items():
            evidence = [next(answers) for _ in contrasts]
            if part not in caveats:
                caveats[part] = _no_room_to_improve(
                    max(one.n_improvable for one in evidence),
                    levels[part].critical,
                    sizes[part],
                    evaluation.loss.name,
                )
            try:
                asked[part] = procedures[part].send(evidence)
            except StopIteration as stop:
                outcomes[part] = stop.value
    return [(outcomes[part], caveats[part]) for part in range(len(sizes))]


def _no_room_to_improve(n_improvable: int, critical: int, n: int, loss: str) -> tuple[str, ...]:
    if n_improvable >= critical or critical > n:
        return ()
    advice = (
        "use a loss that grades predictions, such as 'log_loss'"
        if loss == "zero_one"
        else "choose another reference, for at this one the model is right about all other rows"
    )
    return (
        f"the base has a loss above zero on {n_improvable:,} rows, and at least {critical:,} would "
        f"have to improve, so that nothing can be significant: {advice}.",
    )
