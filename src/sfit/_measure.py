"""From questions to evidence: distribute tiles over workers, merge their tallies.

A task answers the questions that share a base on one tile. The division into tasks depends only on
the questions, so results do not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed, effective_n_jobs

from sfit._contrast import Question
from sfit._differences import Ask, Evaluated
from sfit._session import Progress, Session, progress_bar
from sfit._statistic import Statistic
from sfit._stored_tallies import StoredTallies
from sfit._workers import Payload, limit_threads, make_payload, open_payload, workers
from sfit.restrict import Computed
from sfit.rows import TileRun

TASK_QUESTIONS = 16
"""Largest number of questions of one base per task."""

NARROWED_TILES = 4
"""From this many tiles on, their merged tally narrows the focus; merging fewer does not pay."""

PASS_NUMBERS = 64 * 2**20
"""Questions whose tallies hold more numbers than this in all are answered in several passes."""

KEPT_BYTES = 16 * 2**20
"""Size of the block that raises malloc's trim threshold; see `_keep_memory`."""

RUNS_TOGETHER = 8
"""Runs of tiles per worker in one round of consecutive runs; workers wait at its end."""


def measure(
    evaluation: Evaluated,
    questions: Sequence[Question],
    label: str,
    *,
    statistic: Statistic,
    session: Session,
) -> list[Any]:
    """Answer all questions in one pass over the tiles, or more if a pass is inconclusive."""
    started = time.perf_counter()
    _keep_memory()
    contrasts = [question.contrast for question in questions]
    route, arithmetic = evaluation.prepare(contrasts, session.warn, statistic.any_function)
    asks = [Ask(question, arithmetic[question.contrast]) for question in questions]
    evidence: dict[int, Any] = {}
    for batch in _batches(questions, statistic):
        pending, attempt = list(batch), 0
        while pending:
            some = [asks[number] for number in pending]
            stage = _stage(some, label, route, attempt)
            tallies = _pass(evaluation, some, statistic, attempt, session, label, stage)
            for number, ask, seen in zip(pending, some, tallies, strict=True):
                answer = statistic.conclude(ask.question, seen)
                if answer is not None:
                    evidence[number] = answer
            pending, attempt = [number for number in pending if number not in evidence], attempt + 1
    seconds = time.perf_counter() - started
    session.stages.append({"stage": label, "route": route, "seconds": seconds})
    return [evidence[number] for number in range(len(asks))]


def _batches(questions: Sequence[Question], statistic: Statistic) -> Iterator[range]:
    """Runs of questions whose tallies fit into memory together."""
    start, held = 0, 0
    for number, question in enumerate(questions):
        size = statistic.n_numbers(question)
        if held and held + size > PASS_NUMBERS:
            yield range(start, number)
            start, held = number, 0
        held += size
    yield range(start, len(questions))


def _stage(asks: Sequence[Ask], label: str, route: str, attempt: int) -> str:
    """The name under which a checkpoint stores some questions; the same in every run."""
    digest = blake2b(digest_size=16)
    for (contrast, *others), arithmetic in asks:
        sides = contrast.base.identity(), contrast.full.identity(), arithmetic
        term, beta = sorted(contrast.term), float(contrast.beta)
        digest.update(repr((sides, term, contrast.order, beta, contrast.role, *others)).encode())
    return f"{label}, {route}, {digest.hexdigest()}, attempt {attempt}"


def _pass(
    evaluation: Evaluated,
    asks: Sequence[Ask],
    statistic: Statistic,
    attempt: int,
    session: Session,
    label: str,
    stage: str,
) -> list[Any]:
    """The merged tally of all tiles for each question; each round may narrow the focus."""
    rows, tasks = evaluation.rows, list(_tasks(asks))
    sides = {side for ask in asks for side in (ask.base, ask.full)}
    payload, hint = make_payload(evaluation, statistic, sides)
    runs = rows.tile_runs
    stored = StoredTallies(session.checkpoint, statistic, stage, tasks)
    n_merged, seen = stored.merged(len(asks))
    start = statistic.start(attempt)
    focus = [start] * len(asks)
    # Few questions have small tallies, so more runs of tiles at once keep workers from waiting.
    at_first = effective_n_jobs(session.n_jobs) * max(1, TASK_QUESTIONS // len(asks))
    at_first = at_first if rows.read_once else 1
    bar = progress_bar(
        total=len(rows), desc=label, unit=" rows", unit_scale=True, enabled=session.progress
    )
    progress = Progress(bar, len(rows), runs[-1].tile_range.stop * len(tasks))
    progress.advance(n_merged * len(tasks))
    threads = limit_threads(payload, sides, session.n_jobs)
    with bar, threads, workers(session.n_jobs, hint) as work:
        for numbers in rounds(len(runs), at_first, statistic.ordered):
            some = [runs[number] for number in numbers if runs[number].tile_range.stop > n_merged]
            answers = stored.recall(some)
            progress.advance(len(answers))
            jobs = _jobs(some, _with_focus(tasks, asks, focus), answers, rows.read_once)
            for of_job in work(delayed(_answer)(payload, *job) for job in jobs):
                stored.keep(of_job)
                answers |= of_job
                progress.advance(len(of_job))
            for tile, k in sorted(answers):
                _append(seen, tasks[k], answers[tile, k])
            if statistic.ordered or len(seen[0]) >= NARROWED_TILES:
                seen = [[merged] for merged in _merged(statistic, asks, seen, start)]
            if some:
                stored.keep_merged(some[-1].tile_range.stop, seen)
            focus = [statistic.refocus(start, tallies[0]) for tallies in seen]
    return _merged(statistic, asks, seen, start)


def _append(seen: Sequence[list[Any]], task: Sequence[int], tallies: Sequence[Any]) -> None:
    """Append the tallies of a task to those of its questions."""
    for position, tally in zip(task, tallies, strict=True):
        seen[position].append(tally)


def _merged(
    statistic: Statistic, asks: Sequence[Ask], seen: Sequence[Sequence[Any]], start: Any
) -> list[Any]:
    """One tally for each question."""
    return [
        statistic.merge(ask.question, tallies, start)
        for ask, tallies in zip(asks, seen, strict=True)
    ]


def _tasks(asks: Sequence[Ask]) -> Iterator[list[int]]:
    """The positions of the questions of each task: at most 16, all of one base."""
    by_base: dict[Computed, list[int]] = {}
    for number, ask in enumerate(asks):
        by_base.setdefault(ask.base, []).append(number)
    for same_base in by_base.values():
        for start in range(0, len(same_base), TASK_QUESTIONS):
            yield same_base[start : start + TASK_QUESTIONS]


def rounds(n_runs: int, at_first: int, ordered: bool) -> Iterator[Sequence[int]]:
    """The order in which runs of tiles are processed; a round may narrow the focus.

    Sums of floats are added from the first tile to the last. Otherwise the runs are spread over all
    rows, in rounds that grow fourfold: rows may be sorted by time or place, so the first rounds
    must take tiles from the whole range. Workers wait for each other at the end of a round.
    """
    if ordered:
        size = RUNS_TOGETHER * at_first
        for start in range(0, n_runs, size):
            yield range(start, min(start + size, n_runs))
        return
    width = max(1, n_runs - 1).bit_length()
    order = sorted(range(n_runs), key=lambda number: f"{number:0{width}b}"[::-1])
    start = 0
    while start < n_runs:
        stop = 4 * start or at_first
        yield order[start:stop]
        start = stop


class Task(NamedTuple):
    """Some questions of one base, each with the focus of its tally."""

    number: int
    asks: Sequence[Ask]
    focus: Sequence[Any]


def _with_focus(
    tasks: Sequence[Sequence[int]], asks: Sequence[Ask], focus: Sequence[Any]
) -> list[Task]:
    return [
        Task(number, [asks[n] for n in positions], [focus[n] for n in positions])
        for number, positions in enumerate(tasks)
    ]


def _jobs(
    runs: Sequence[TileRun],
    tasks: Sequence[Task],
    answers: Mapping[tuple[int, int], Any],
    together: bool,
) -> Iterator[tuple[TileRun, list[Task]]]:
    """Runs of tiles, each with tasks that have no answer yet.

    `together`: one job answers all tasks of a run, because its rows are read once.
    """
    for run in runs:
        last = run.tile_range[-1]
        missing = [task for task in tasks if (last, task.number) not in answers]
        if together and missing:
            yield run, missing
        elif not together:
            yield from ((run, [task]) for task in missing)


def _answer(
    payload: Payload, run: TileRun, tasks: Sequence[Task]
) -> dict[tuple[int, int], list[Any]]:
    """One job: read the tiles of a run and tally each for some tasks, by tile and task."""
    evaluation, statistic, shared = open_payload(payload)
    _keep_memory()
    answers = {}
    for index, tile in zip(run.tile_range, run.tiles(shared), strict=True):
        for number, asks, focus in tasks:
            scored = evaluation.scored(tile, asks, statistic.by_row)
            tallies = statistic.tally(scored, focus)
            answers[index, number] = [tallies[position] for position in range(len(asks))]
    return answers


def _keep_memory() -> None:
    """Make malloc keep freed arrays for the next question.

    Freeing one large block raises malloc's trim threshold, so later arrays are reused instead of
    being returned to the system, which costs more than the arithmetic. The block is never written
    to, so it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)
