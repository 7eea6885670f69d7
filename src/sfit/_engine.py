"""From questions to evidence: map tiles over workers, merge small summaries in tile order.

A question is a contrast asked of one part of the rows. A task answers the questions that share a
base on one tile; how questions fall into tasks depends on the questions alone, so that results do
not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from joblib.externals.loky.backend.reduction import dumps
from joblib.parallel import get_active_backend
from tqdm.auto import tqdm

from sfit._contrast import Contrast, Evidence, Side, delta, relative_improvement
from sfit._differences import Base, Evaluation, Losses
from sfit._rows import Rows, Tile
from sfit._select import EVERYTHING, Counted, Window, count, merge, order_statistic, window_around
from sfit._sign_test import Ranks, median_ranks

Array = npt.NDArray[Any]

TASK_QUESTIONS = 16
"""Questions of one base that a task answers together."""

ROOM = 5.0
"""Standard errors of room on either side of a bracket, in the first pass."""


@dataclass(frozen=True)
class Question:
    """A contrast, asked of one part of the rows."""

    contrast: Contrast
    part: int
    n: int
    ranks: Ranks


class Summary(NamedTuple):
    """What one tile says about a question."""

    n_positive: int
    n_improvable: int
    delta: Counted
    rho: Counted


Windows = tuple[Window, Window]
"""Where to look for the wanted order statistics of delta and of rho."""


def gather(
    evaluation: Evaluation,
    rows: Rows,
    questions: Sequence[Question],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    label: str = "",
) -> list[Evidence]:
    """Answer all questions in one pass over the tiles (another one for brackets that missed)."""
    started = time.perf_counter()
    sides = [s for q in questions for s in (q.contrast.base, q.contrast.full)]
    route = evaluation.predictions.prepare(sides, rows.tiles[0], len(rows), evaluation.unit)
    evidence: dict[int, Evidence] = {}
    pending, room = list(range(len(questions))), ROOM
    while pending:
        asked = [questions[number] for number in pending]
        summaries = _map(evaluation, rows, asked, room, n_jobs, progress, label)
        for number, question, parts in zip(pending, asked, summaries, strict=True):
            answer = _conclude(question, parts)
            if answer is not None:
                evidence[number] = answer
        pending, room = [number for number in pending if number not in evidence], 4 * room
    seconds = time.perf_counter() - started
    evaluation.stages.append({"stage": label, "route": route, "seconds": seconds})
    return [evidence[number] for number in range(len(questions))]


def _map(
    evaluation: Evaluation,
    rows: Rows,
    questions: Sequence[Question],
    room: float,
    n_jobs: int | None,
    progress: bool,
    label: str,
) -> list[list[Summary]]:
    """Summaries of each question, by tile. The first tile brackets, the others fill in."""
    tasks = list(_tasks(questions))
    shared = evaluation.predictions.view.threads_only or not _can_travel(evaluation)
    hint = {"require": "sharedmem"} if shared else {"prefer": "threads"}
    parallel = Parallel(n_jobs=n_jobs, return_as="generator", **hint)
    summaries: list[list[Summary]] = [[] for _ in questions]
    windows: dict[int, Windows] = {}
    with tqdm(total=len(tasks) * len(rows.tiles), desc=label, disable=not progress) as bar:
        pilots = parallel(
            delayed(_pilot)(evaluation, rows.tiles[0], [questions[i] for i in task], room)
            for task in tasks
        )
        for task, answers in zip(tasks, pilots, strict=True):
            for i, (own, summary) in zip(task, answers, strict=True):
                windows[i] = own
                summaries[i].append(summary)
            bar.update()
        jobs = [(tile, task) for tile in rows.tiles[1:] for task in tasks]
        filled = parallel(
            delayed(_summarise)(
                evaluation, tile, [questions[i] for i in task], [windows[i] for i in task]
            )
            for tile, task in jobs
        )
        for (_, task), answer in zip(jobs, filled, strict=True):
            for i, summary in zip(task, answer, strict=True):
                summaries[i].append(summary)
            bar.update()
    return summaries


def _can_travel(evaluation: Evaluation) -> bool:
    """Whether tasks can go to other processes, if that is where the user's backend sends them."""
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        return True
    try:
        dumps(evaluation)
    except Exception:  # a model may refuse in any way it likes; then threads serve it
        return False
    return True


def _tasks(questions: Sequence[Question]) -> Iterator[list[int]]:
    by_base: dict[Side, list[int]] = {}
    for number, question in enumerate(questions):
        by_base.setdefault(question.contrast.base, []).append(number)
    for numbers in by_base.values():
        for start in range(0, len(numbers), TASK_QUESTIONS):
            yield numbers[start : start + TASK_QUESTIONS]


def _pilot(
    evaluation: Evaluation, tile: Tile, questions: Sequence[Question], room: float
) -> list[tuple[Windows, Summary]]:
    answers: dict[int, tuple[Windows, Summary]] = {}
    for number, losses in _losses(evaluation, tile, questions):
        question = questions[number]
        differences, rho = _differences(losses, question)
        windows = EVERYTHING, EVERYTHING
        if losses.counts is None:
            windows = (
                window_around(differences, _delta_ranks(question), question.n, room),
                window_around(rho, _rho_ranks(question), question.n, room),
            )
        answers[number] = windows, _summary(question, losses, differences, rho, windows)
    return [answers[number] for number in range(len(questions))]


def _summarise(
    evaluation: Evaluation, tile: Tile, questions: Sequence[Question], windows: Sequence[Windows]
) -> list[Summary]:
    answers: dict[int, Summary] = {}
    for number, losses in _losses(evaluation, tile, questions):
        question = questions[number]
        differences, rho = _differences(losses, question)
        answers[number] = _summary(question, losses, differences, rho, windows[number])
    return [answers[number] for number in range(len(questions))]


def _losses(
    evaluation: Evaluation, tile: Tile, questions: Sequence[Question]
) -> Iterator[tuple[int, Losses]]:
    """The losses that each question compares; all questions have the same base."""
    signed = not evaluation.nonnegative and all(q.contrast.beta == 0 for q in questions)
    prediction = evaluation.predictions.one(tile, questions[0].contrast.base)
    base = Base(evaluation, tile, prediction, signed)
    by_full: dict[Side, list[int]] = {}
    for number, question in enumerate(questions):
        by_full.setdefault(question.contrast.full, []).append(number)
    for side, full in evaluation.predictions(tile, list(by_full)):
        numbers = by_full[side]
        parts = [questions[number].part for number in numbers]
        yield from zip(numbers, base.against(full, parts), strict=True)


def _differences(losses: Losses, question: Question) -> tuple[Array, Array]:
    rho = relative_improvement(losses.base, losses.full)
    return delta(losses.base, losses.full, rho, question.contrast.beta), rho


def _summary(
    question: Question, losses: Losses, differences: Array, rho: Array, windows: Windows
) -> Summary:
    weights = losses.counts
    positive, improvable = rho > question.contrast.beta, losses.base != 0
    return Summary(
        _total(positive, weights),
        _total(improvable, weights),
        count(differences, windows[0], weights),
        count(rho, windows[1], weights),
    )


def _total(where: Array, weights: Array | None) -> int:
    return int(np.count_nonzero(where) if weights is None else weights[where].sum())


def _delta_ranks(question: Question) -> list[int]:
    ranks = question.ranks
    wanted = (ranks.low, ranks.high, ranks.lower, *median_ranks(question.n))
    return [rank for rank in wanted if rank]


def _rho_ranks(question: Question) -> list[int]:
    # The c-th largest of n is the (n - c + 1)-th smallest: the same rank as the one-sided bound.
    return [question.ranks.lower] if question.ranks.lower else []


def _conclude(question: Question, summaries: Sequence[Summary]) -> Evidence | None:
    """Merge the tiles' summaries; None when a bracket missed."""
    differences = merge([summary.delta for summary in summaries])
    rho = merge([summary.rho for summary in summaries])
    found = {rank: order_statistic(differences, rank) for rank in _delta_ranks(question)}
    thresholds = [order_statistic(rho, rank) for rank in _rho_ranks(question)]
    if None in found.values() or None in thresholds:
        return None
    found[0] = -np.inf
    low, high = median_ranks(question.n)
    ranks = question.ranks
    threshold = thresholds[0] if thresholds else None
    return Evidence(
        n=question.n,
        n_positive=sum(summary.n_positive for summary in summaries),
        n_improvable=sum(summary.n_improvable for summary in summaries),
        statistic=float(np.mean([found[low], found[high]])),
        ci_low=_number(found[ranks.low]),
        ci_high=_number(found[ranks.high]) if ranks.high else np.inf,
        ci_lower=_number(found[ranks.lower]),
        beta_max=threshold if threshold is not None and threshold > 0 else np.nan,
    )


def _number(value: float | None) -> float:
    return -np.inf if value is None else value
