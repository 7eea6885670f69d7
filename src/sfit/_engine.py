"""From questions to evidence: map tiles over workers, merge small summaries in tile order.

A question is a contrast asked of one part of the rows. A task answers the questions that share a
base on one tile; how questions fall into tasks depends on the questions alone, so that results do
not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import delayed, effective_n_jobs

from sfit._checkpoint import Checkpoint
from sfit._contrast import Contrast, Evidence, Side, delta, relative_improvement
from sfit._differences import Base, Evaluation, Losses
from sfit._jobs import workers
from sfit._payload import Payload, limit_threads, make_payload, open_payload
from sfit._progress import progress_bar
from sfit._rows import Rows, Stretch, Tile
from sfit._select import (
    EVERYTHING,
    NOTHING,
    NOWHERE,
    Window,
    bracket,
    bracket_by_sample,
    count,
    merge,
    narrow,
    order_statistics,
    total,
)
from sfit._sign_test import Ranks, median_ranks
from sfit._tally import Summary, pack, unpack

Array = npt.NDArray[Any]

TASK_QUESTIONS = 16
"""Questions of one base that a task answers together."""

ROOM = 4.0
"""Standard errors of room on either side of a bracket, in the first pass."""

NARROWED_TILES = 4
"""From so many tiles on, what they say together brackets for the next; a few do not repay it."""

KEPT_BYTES = 16 * 2**20

_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class Question:
    """A contrast, asked of one part of the rows."""

    contrast: Contrast
    part: int
    n: int
    ranks: Ranks

    @property
    def delta_ranks(self) -> list[int]:
        """Ranks of delta that are reported: the interval's ends and the median."""
        wanted = (self.ranks.low, self.ranks.high, self.ranks.lower, *median_ranks(self.n))
        return [rank for rank in wanted if rank]

    @property
    def rho_ranks(self) -> list[int]:
        """The rank of rho that is beta_max, the c-th largest of n; none where c > n."""
        return [self.ranks.lower] if self.ranks.lower else []


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
    checkpoint: Checkpoint | None = None,
) -> list[Evidence]:
    """Answer all questions in one pass over the tiles (another one for brackets that missed)."""
    started = time.perf_counter()
    sides = [s for q in questions for s in (q.contrast.base, q.contrast.full)]
    route = evaluation.predictions.prepare(sides, rows.first, len(rows), evaluation.unit)
    evidence: dict[int, Evidence] = {}
    pending, room = list(range(len(questions))), ROOM
    while pending:
        asked = [questions[number] for number in pending]
        stage = f"{label}, stage {len(evaluation.stages)}, room {room:g}"
        summaries = _pass(
            evaluation, rows, asked, room, n_jobs, progress and label, stage, checkpoint
        )
        for number, question, summary in zip(pending, asked, summaries, strict=True):
            answer = _conclude(question, summary)
            if answer is not None:
                evidence[number] = answer
        pending, room = [number for number in pending if number not in evidence], 4 * room
    seconds = time.perf_counter() - started
    evaluation.stages.append({"stage": label, "route": route, "seconds": seconds})
    return [evidence[number] for number in range(len(questions))]


def _pass(
    evaluation: Evaluation,
    rows: Rows,
    questions: Sequence[Question],
    room: float,
    n_jobs: int | None,
    shown: str | bool,
    stage: str,
    checkpoint: Checkpoint | None,
) -> list[Summary]:
    """What all tiles say about each question, in rounds: each brackets more narrowly."""
    tasks = list(_tasks(questions))
    sides = {s for q in questions for s in (q.contrast.base, q.contrast.full)}
    payload, hint = make_payload(evaluation, rows.shared, sides)
    stretches = rows.stretches
    n_tiles = stretches[-1].numbers.stop
    seen: list[list[Summary]] = [[] for _ in questions]
    windows: list[Windows] = [(EVERYTHING, EVERYTHING)] * len(questions)
    bar = progress_bar(
        total=len(rows), desc=str(shown), unit=" rows", unit_scale=True, shown=bool(shown)
    )
    per_tile = len(rows) / n_tiles / len(tasks)
    # A job is a stretch where each is read once, else one task of a stretch: a round has some for all.
    at_first = effective_n_jobs(n_jobs) if rows.read_once else 1
    with bar, limit_threads(payload, sides, n_jobs), workers(n_jobs, hint) as run:
        for some in rounds(len(stretches), at_first):
            answers: dict[tuple[int, int], list[Summary]] = {}
            jobs = []
            for number in some:
                numbers = stretches[number].numbers
                known = _recall(checkpoint, stage, numbers, len(tasks))
                answers |= known
                bar.update(len(known) * per_tile)
                missing = [k for k in range(len(tasks)) if (numbers[-1], k) not in known]
                together = [missing] if rows.read_once else [[k] for k in missing]
                jobs += [(number, of_job) for of_job in together if of_job]
            calls = (
                delayed(_answer)(
                    payload,
                    job,
                    stretches[number],
                    [[questions[i] for i in tasks[k]] for k in of_job],
                    [[windows[i] for i in tasks[k]] for k in of_job],
                    room,
                )
                for job, (number, of_job) in enumerate(jobs)
            )
            for job, by_tile in run(calls):
                number, of_job = jobs[job]
                for tile, by_task in zip(stretches[number].numbers, by_tile, strict=True):
                    for k, summaries in zip(of_job, by_task, strict=True):
                        answers[tile, k] = summaries
                        if checkpoint is not None:
                            checkpoint.put(stage, tile, k, pack(summaries))
                if checkpoint is not None:
                    checkpoint.commit()
                bar.update(len(by_tile) * len(of_job) * per_tile)
            for tile, k in sorted(answers):
                for i, summary in zip(tasks[k], answers[tile, k], strict=True):
                    seen[i].append(summary)
            if len(seen[0]) >= NARROWED_TILES:
                seen = [[_merged(q, own, room)] for q, own in zip(questions, seen, strict=True)]
            windows = [(own[0].delta.window, own[0].rho.window) for own in seen]
    return [_merged(q, own, room) for q, own in zip(questions, seen, strict=True)]


def _recall(
    checkpoint: Checkpoint | None, stage: str, numbers: range, n_tasks: int
) -> dict[tuple[int, int], list[Summary]]:
    """What a checkpoint knows of a stretch: a task's answers on all of its tiles, or none."""
    known: dict[tuple[int, int], list[Summary]] = {}
    if checkpoint is None:
        return known
    for k in range(n_tasks):
        stored = [checkpoint.get(stage, tile, k) for tile in numbers]
        if all(one is not None for one in stored):
            known |= {
                (tile, k): unpack(one)
                for tile, one in zip(numbers, stored, strict=True)
                if one is not None
            }
    return known


def rounds(n: int, at_first: int) -> Iterator[list[int]]:
    """Stretches in the order they are asked, spread over all rows; each round doubles what is known.

    Rows may come sorted by time or by place: brackets judge by tiles from everywhere.
    """
    width = max(1, n - 1).bit_length()
    order = sorted(range(n), key=lambda number: f"{number:0{width}b}"[::-1])
    start = 0
    while start < n:
        stop = 2 * start or at_first
        yield order[start:stop]
        start = stop


def _tasks(questions: Sequence[Question]) -> Iterator[list[int]]:
    by_base: dict[Side, list[int]] = {}
    for number, question in enumerate(questions):
        by_base.setdefault(question.contrast.base, []).append(number)
    for numbers in by_base.values():
        for start in range(0, len(numbers), TASK_QUESTIONS):
            yield numbers[start : start + TASK_QUESTIONS]


def _answer(
    payload: Payload,
    job: int,
    stretch: Stretch,
    tasks: Sequence[Sequence[Question]],
    windows: Sequence[Sequence[Windows]],
    room: float,
) -> tuple[int, list[list[list[Summary]]]]:
    """One job: read the tiles of a stretch, and say for each what it says about some tasks."""
    evaluation, shared = open_payload(payload)
    _keep_memory()
    return job, [
        [
            _summarise(evaluation, tile, task, own, room)
            for task, own in zip(tasks, windows, strict=True)
        ]
        for tile in stretch.tiles(shared)
    ]


def _keep_memory() -> None:
    """Let the C library keep what the arrays of one question free, for those of the next.

    It returns memory to the system beyond twice the largest block that it was ever given back, and
    to get it again costs more than the arithmetic. This block is never touched: it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


def _summarise(
    evaluation: Evaluation,
    tile: Tile,
    questions: Sequence[Question],
    windows: Sequence[Windows],
    room: float,
) -> list[Summary]:
    """What one tile says about some questions of one base."""
    answers: dict[int, Summary] = {}
    of_ignored: dict[Any, Summary] = {}
    for number, losses in _losses(evaluation, tile, questions):
        question, own = questions[number], windows[number]
        if losses.full is not losses.base:
            answers[number] = _summary(question, losses, own, room)
            continue
        # Features that the model ignores all have the same answer.
        alike = question.part, question.contrast.beta, question.ranks, own
        if alike not in of_ignored:
            of_ignored[alike] = _summary(question, losses, own, room)
        answers[number] = of_ignored[alike]
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


def _summary(question: Question, losses: Losses, windows: Windows, room: float) -> Summary:
    """Everything that is ever reported comes from these counts and order statistics.

    Where no tile has bracketed them yet, this one does it for itself.
    """
    base, full, counts = losses
    beta = question.contrast.beta
    rho = relative_improvement(base, full)
    positive = rho > beta
    differences = delta(base, full, positive, beta)
    n_better = total(full < base, counts)
    for_delta, for_rho = windows
    if counts is None and for_delta == EVERYTHING:
        for_delta = bracket_by_sample(differences, question.delta_ranks, question.n, room)
    if counts is None and for_rho == EVERYTHING:
        for_rho = NOWHERE
        if _may_improve(question, n_better, len(rho), room):
            for_rho = bracket_by_sample(rho, question.rho_ranks, question.n, room)
            for_rho = _improving(for_rho)
    return Summary(
        len(rho) if counts is None else int(counts.sum()),
        total(positive, counts),
        n_better,
        total(base != 0, counts),
        count(differences, for_delta, counts),
        count(rho, for_rho, counts) if question.rho_ranks else NOTHING,
    )


def _may_improve(question: Question, n_better: int, m: int, room: float) -> bool:
    """Whether enough of all rows may improve for a beta_max, judging by m of them."""
    return n_better + room * sqrt(m) / 2 >= question.ranks.critical / question.n * m


def _improving(window: Window) -> Window:
    """Only improvements matter for beta_max: where the c-th largest is none, it is not a number."""
    return Window(max(window.low, _ABOVE_ZERO), window.high)


def _merged(question: Question, summaries: Sequence[Summary], room: float) -> Summary:
    """What some tiles say together, kept only where the wanted order statistics must lie."""
    n = sum(summary.n for summary in summaries)
    room *= sqrt(_overdispersion(summaries))
    for_delta = merge([summary.delta for summary in summaries])
    for_rho = merge([summary.rho for summary in summaries])
    if n < question.n:
        window = bracket(for_delta, n, question.delta_ranks, question.n, room)
        for_delta = narrow(for_delta, window)
        window = bracket(for_rho, n, question.rho_ranks, question.n, room)
        for_rho = narrow(for_rho, _improving(window))
    return Summary(
        n,
        sum(summary.n_positive for summary in summaries),
        sum(summary.n_better for summary in summaries),
        sum(summary.n_improvable for summary in summaries),
        for_delta,
        for_rho,
    )


def _overdispersion(summaries: Sequence[Summary]) -> float:
    """How much more the tiles differ than random rows would; rows may come in some order."""
    shares = [(s.n_positive, s.n) for s in summaries if s.n]
    n, share = sum(m for _, m in shares), 0.0
    if n:
        share = sum(k for k, _ in shares) / n
    if len(shares) < 2 or share in (0, 1):
        return 1.0
    between = sum((k - m * share) ** 2 / m for k, m in shares) / (len(shares) - 1)
    return max(1.0, between / (share * (1 - share)))


def _conclude(question: Question, summary: Summary) -> Evidence | None:
    """What is reported of a question; None when a bracket missed."""
    wanted = question.delta_ranks
    found = dict(zip(wanted, order_statistics(summary.delta, wanted), strict=True))
    beta_max = np.nan
    if None in found.values():
        return None
    if summary.n_better >= question.ranks.critical and question.rho_ranks:
        [threshold] = order_statistics(summary.rho, question.rho_ranks)
        if threshold is None:
            return None
        beta_max = threshold
    found[0] = -np.inf
    low, high = median_ranks(question.n)
    ranks = question.ranks
    return Evidence(
        n=question.n,
        n_positive=summary.n_positive,
        n_improvable=summary.n_improvable,
        statistic=float(np.mean([found[low], found[high]])),
        ci_low=_number(found[ranks.low]),
        ci_high=_number(found[ranks.high]) if ranks.high else np.inf,
        ci_lower=_number(found[ranks.lower]),
        beta_max=beta_max,
    )


def _number(value: float | None) -> float:
    return -np.inf if value is None else value
