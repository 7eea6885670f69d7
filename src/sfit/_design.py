"""From the arguments and the rows to the design of a run: its statistic, and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sfit._additive import scale_of
from sfit._cluster_signs import ClusterSigns
from sfit._contrast import Question
from sfit._differences import Evaluation
from sfit._features import positions_of
from sfit._gathered import GatheredStatistic, check_gathered
from sfit._given import Conditions
from sfit._mean_test import ClusterMeans, MeanStatistic
from sfit._measure import measure
from sfit._partners import Checked, find_partners
from sfit._permutation_test import PermutationStatistic
from sfit._procedure import Design, nothing_to_test
from sfit._request import Request
from sfit._session import Session
from sfit.exceptions import ArgumentError
from sfit.sample import Sample


def answer_questions(
    evaluation: Evaluation,
    statistic: Any,
    conditions: Conditions,
    session: Session,
    questions: Sequence[Question],
    label: str,
) -> list[Any]:
    """Evidence for all questions; those over a continuous feature need rows sorted by it."""
    by_column: dict[int | None, list[int]] = {}
    for number, question in enumerate(questions):
        by_column.setdefault(conditions.sorted_by(question.contrast), []).append(number)
    evidence: dict[int, Any] = {}
    for column, numbers in by_column.items():
        some = [questions[number] for number in numbers]
        if column is None:
            answers = measure(evaluation, some, label, statistic=statistic, session=session)
        else:
            rows = conditions.block_rows(column, statistic.seed)
            in_blocks = statistic.in_blocks(conditions.closeness(some, column))
            moved, stage = evaluation.of_rows(rows), f"{label}, sorted by column {column}"
            answers = measure(moved, some, stage, statistic=in_blocks, session=session)
        evidence |= dict(zip(numbers, answers, strict=True))
    return [evidence[number] for number in range(len(questions))]


def statistic_of(request: Request, sample: Sample) -> Any:
    """The statistic for the level and the loss of this run; it may still need a seed."""
    return STATISTICS[request.test.key](request, sample)


def _sign_statistic(request: Request, sample: Sample) -> Any:
    test: Any = request.test
    if request.clusters is None:
        return test.at(request.alpha)
    n_clusters = sample.rows.n_clusters
    return ClusterSigns(request.alpha, test.interval, test.ties, n_clusters=n_clusters)


def _permutation_statistic(request: Request, sample: Sample) -> Any:
    y, rows = sample.rows.first.y, sample.rows
    options: dict[str, Any] = {
        "alpha": request.alpha,
        "test": request.test,
        "loss": sample.loss,
        "n_classes": 0 if sample.view.classes is None else len(sample.view.classes),
        "n_outputs": 1 if y.ndim == 1 else y.shape[1],
        "n_rows": len(rows),
        "by_class": request.by_class,
        "guarantee": "exact" if sample.features.origin == "given" else "asymptotic",
    }
    if not request.dependent:
        return PermutationStatistic(**options)
    check_gathered(len(rows) if request.by_class else max(rows.sizes()))
    return GatheredStatistic(**options, clustered=request.clusters is not None)


def _mean_statistic(request: Request, sample: Sample) -> Any:
    test: Any = request.test
    given = sample.features.origin == "given"
    options: dict[str, Any] = {
        "alpha": request.alpha,
        "n_flips": test.n_flips,
        "guarantee": "symmetric" if given else "asymptotic",
    }
    if request.clusters is None:
        return MeanStatistic(**options)
    return ClusterMeans(**options, n_clusters=sample.rows.n_clusters)


STATISTICS: dict[str, Callable[[Request, Sample], Any]] = {
    "sign": _sign_statistic,
    "permutation": _permutation_statistic,
    "mean": _mean_statistic,
}
"""For each test, by its key, the function that makes its statistic."""


def design_of(
    request: Request, sample: Sample, candidates: Checked, conditions: Conditions
) -> Design:
    """The design for every part of the rows; betas may still have to be chosen."""
    features = sample.features
    if request.given_rest and "rest" in features.names:
        raise ArgumentError(
            "given='rest' means all the other features, but one feature is itself named 'rest': "
            "pass given=['rest'] to name that feature, or rename it."
        )
    given = [] if request.given_rest else positions_of(request.given, features.names, "given")
    if len(given) == len(features.names):
        raise ArgumentError("given names every feature: none is left to test.")
    conditional: dict[str, Any] = {}
    if not request.test.paired:
        reason = conditions.refusal_of(frozenset(given))
        if reason is not None:
            causes = [
                name for name, some in (("given", given), ("always_on", sample.always_on)) if some
            ]
            named = " and ".join(f"{name}={getattr(request, name)!r}" for name in causes)
            raise ArgumentError(
                f"{named} cannot be combined with test={request.test.key!r}: {reason}"
            )
        conditional["refusals"] = conditions.refusals
    tested = features.everything - set(given)
    # Order 1 needs no partners, and their lists hold p x p numbers.
    partners = {}
    if request.max_order > 1:
        structure = sample.view.structure
        partners = find_partners(candidates, request.n_partners, features, structure, tested)
    design = Design(
        features=features,
        statistic=statistic_of(request, sample),
        given=frozenset(given),
        rest=request.given_rest,
        betas=request.betas or (),
        max_order=request.max_order,
        correction=request.correction,
        partners=partners,
        exhaustive=request.exhaustive,
        strict=request.strict,
        scale=None if request.interaction is None else scale_of(sample.view.task, sample.loss),
        **conditional,
        alpha_by_order=request.alphas,
    )
    refused = nothing_to_test(design)
    if refused is not None:
        raise ArgumentError(f"given={request.given!r}: no feature can be tested: {refused}")
    return design
