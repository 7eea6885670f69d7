"""From questions to evidence: distribute tiles over workers, merge their tallies.

A task answers the questions that share a base on one tile. The division into tasks depends only on
the questions, so results do not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed, effective_n_jobs

from sfit._contrast import Contrast, Question, Side
from sfit._differences import Base, Evaluation
from sfit._jobs import Run, limit_threads, workers
from sfit._payload import Payload, make_payload, open_payload
from sfit._progress import Progress, progress_bar
from sfit._session import Session
from sfit._statistic import Scored, Statistic
from sfit._stored_tallies import StoredTallies
from sfit.rows import Strata, Tile, TileRun, strata_of

TASK_QUESTIONS = 16
"""Largest number of questions of one base per task."""

NARROWED_TILES = 4
"""From this many tiles on, their merged tally narrows the focus; merging fewer does not pay."""

PASS_NUMBERS = 64 * 2**20
"""Questions whose tallies hold more numbers than this in all are answered in several passes."""

KEPT_BYTES = 16 * 2**20
"""Size of the block that raises malloc's trim threshold; see `_keep_memory`."""


class Ask(NamedTuple):
    """A question, and its contrast in the arithmetic of the chosen route."""

    question: Question
    routed: Contrast


def measure(
    evaluation: Evaluation,
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
    route, routed = evaluation.prepare(contrasts, session.warn, statistic.any_function)
    asks = [Ask(question, contrast) for question, contrast in zip(questions, routed, strict=True)]
    evidence: dict[int, Any] = {}
    for batch in _batches(questions, statistic):
        pending, attempt = list(batch), 0
        while pending:
            some = [asks[number] for number in pending]
            stage = _stage(some, label, route, attempt)
            tallies = _pass(evaluation, some, statistic, attempt, session, label, stage)
            for number, (question, _), seen in zip(pending, some, tallies, strict=True):
                answer = statistic.conclude(question, seen)
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
    for question, routed in asks:
        sides = [repr(side.identity()) for side in (routed.base, routed.full)]
        term, beta = sorted(routed.term), float(routed.beta)
        identity = sides, term, routed.order, beta, routed.role, *question[1:]
        digest.update(repr(identity).encode())
    return f"{label}, {route}, {digest.hexdigest()}, attempt {attempt}"


def _pass(
    evaluation: Evaluation,
    asks: Sequence[Ask],
    statistic: Statistic,
    attempt: int,
    session: Session,
    label: str,
    stage: str,
) -> list[Any]:
    """The merged tally of all tiles for each question; each round may narrow the focus."""
    rows, tasks = evaluation.rows, list(_tasks(asks))
    sides = {side for _, contrast in asks for side in (contrast.base, contrast.full)}
    payload, hint = make_payload(evaluation, statistic, sides)
    runs = rows.tile_runs
    n_tiles = runs[-1].tile_range.stop
    stored = StoredTallies(session.checkpoint, statistic, stage, tasks)
    n_merged, seen = stored.merged(len(asks))
    start = statistic.start(attempt)
    focus = [start] * len(asks)
    # If rows are read from files, a job is a run with all its tasks; otherwise it is one task.
    # Few questions have small tallies, so more runs of tiles at once keep workers from waiting.
    at_first = 1
    if rows.read_once:
        at_first = effective_n_jobs(session.n_jobs) * max(1, TASK_QUESTIONS // len(asks))
    bar = progress_bar(
        total=len(rows), desc=label, unit=" rows", unit_scale=True, enabled=session.progress
    )
    progress = Progress(bar, len(rows), n_tiles * len(tasks))
    progress.advance(n_merged * len(tasks))
    threads = limit_threads(payload, sides, session.n_jobs)
    with bar, threads, workers(session.n_jobs, hint) as run:
        for numbers in statistic.rounds(len(runs), at_first):
            some = [runs[number] for number in numbers]
            some = [one for one in some if one.tile_range.stop > n_merged]
            answers = _round(run, payload, some, asks, focus, stored, progress, rows.read_once)
            for tile, k in sorted(answers):
                for position, tally in zip(tasks[k], answers[tile, k], strict=True):
                    seen[position].append(tally)
            if statistic.ordered or len(seen[0]) >= NARROWED_TILES:
                seen = [
                    [statistic.merge(ask.question, tallies, start)]
                    for ask, tallies in zip(asks, seen, strict=True)
                ]
            if some:
                stored.keep_merged(some[-1].tile_range.stop, seen)
            focus = [statistic.refocus(start, tallies[0]) for tallies in seen]
    return [
        statistic.merge(ask.question, tallies, start)
        for ask, tallies in zip(asks, seen, strict=True)
    ]


def _round(
    run: Run,
    payload: Payload,
    runs: Sequence[TileRun],
    asks: Sequence[Ask],
    focus: Sequence[Any],
    stored: StoredTallies,
    progress: Progress,
    together: bool,
) -> dict[tuple[int, int], list[Any]]:
    """The tallies of some runs of tiles, by tile and task; stored ones are not computed again.

    `together`: one job answers all tasks of a run, because its rows are read once.
    """
    answers: dict[tuple[int, int], list[Any]] = {}
    jobs: list[tuple[TileRun, list[int]]] = []
    tasks = stored.tasks
    for one in runs:
        recalled = stored.recall(one.tile_range)
        answers |= recalled
        progress.advance(len(recalled))
        missing = [k for k in range(len(tasks)) if (one.tile_range[-1], k) not in recalled]
        jobs += [(one, of_job) for of_job in ([missing] if together else [[k] for k in missing])]
    calls = (
        delayed(_answer)(
            payload,
            job,
            one,
            [[asks[position] for position in tasks[k]] for k in of_job],
            [[focus[position] for position in tasks[k]] for k in of_job],
        )
        for job, (one, of_job) in enumerate(jobs)
        if of_job
    )
    for job, by_tile in run(calls):
        one, of_job = jobs[job]
        tallies = {
            (tile, k): of_task
            for tile, by_task in zip(one.tile_range, by_tile, strict=True)
            for k, of_task in zip(of_job, by_task, strict=True)
        }
        stored.keep(tallies)
        answers |= tallies
        progress.advance(len(tallies))
    return answers


def _tasks(asks: Sequence[Ask]) -> Iterator[list[int]]:
    by_base: dict[Side, list[int]] = {}
    for number, (_, contrast) in enumerate(asks):
        by_base.setdefault(contrast.base, []).append(number)
    for same_base in by_base.values():
        for start in range(0, len(same_base), TASK_QUESTIONS):
            yield same_base[start : start + TASK_QUESTIONS]


def _answer(
    payload: Payload,
    job: int,
    stretch: TileRun,
    tasks: Sequence[Sequence[Ask]],
    focus: Sequence[Sequence[Any]],
) -> tuple[int, list[list[list[Any]]]]:
    """One job: read the tiles of a stretch and tally each for some tasks."""
    evaluation, statistic, shared = open_payload(payload)
    _keep_memory()
    return job, [
        [
            _tallies(evaluation, tile, statistic, task, of_task)
            for task, of_task in zip(tasks, focus, strict=True)
        ]
        for tile in stretch.tiles(shared)
    ]


def _keep_memory() -> None:
    """Make malloc keep freed arrays for the next question.

    Freeing one large block raises malloc's trim threshold, so later arrays are reused instead of
    being returned to the system, which costs more than the arithmetic. The block is never written
    to, so it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


def _tallies(
    evaluation: Evaluation,
    tile: Tile,
    statistic: Statistic,
    asks: Sequence[Ask],
    focus: Sequence[Any],
) -> list[Any]:
    """The tallies of one tile for some questions of one base."""
    answers = statistic.tally(_scored(evaluation, tile, asks), focus)
    return [answers[position] for position in range(len(asks))]


def _scored(evaluation: Evaluation, tile: Tile, asks: Sequence[Ask]) -> Iterator[Scored]:
    """The view of a tile for each question, one side at a time; all questions share one base."""
    signed = not evaluation.nonnegative and all(q.contrast.beta == 0 for q, _ in asks)
    prediction = evaluation.predictions.one(tile, asks[0].routed.base)
    base = Base(evaluation, tile, prediction, signed)
    strata = partial(_strata, evaluation, tile, asks[0].routed.base)
    by_full: dict[Side, list[int]] = {}
    for position, (_, contrast) in enumerate(asks):
        by_full.setdefault(contrast.full, []).append(position)
    for side, full in evaluation.predictions(tile, list(by_full)):
        positions = by_full[side]
        parts = [asks[position].question.part for position in positions]
        for position, part, losses in zip(positions, parts, base.against(full, parts), strict=True):
            rows = None if tile.part is None else tile.part == part
            question = asks[position].question
            ignored = partial(base.is_same, full)
            yield Scored(
                position, question, losses, tile.y, full, rows, tile.index, ignored, strata
            )


def _strata(evaluation: Evaluation, tile: Tile, base: Side) -> Strata | None:
    """The rows of a tile by the values that the base reveals; None if it reveals nothing."""
    features = evaluation.predictions.features
    columns = features.shown(base.visible(features.everything))
    return strata_of(tile.X, columns) if columns else None
