"""From questions to evidence: distribute tiles over workers, merge their tallies in tile order.

A task answers the questions that share a base on one tile. The division into tasks depends only on
the questions, so results do not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import delayed, effective_n_jobs

from sfit._contrast import Contrast, Evidence, Losses, Question, Side
from sfit._differences import Base, Evaluation
from sfit._jobs import limit_threads, workers
from sfit._payload import Payload, make_payload, open_payload
from sfit._progress import progress_bar
from sfit._session import Session
from sfit.rows import Tile, TileRun

TASK_QUESTIONS = 16
"""Largest number of questions of one base per task."""

NARROWED_TILES = 4
"""From this many tiles on, their merged tally narrows the focus; merging fewer does not pay."""

KEPT_BYTES = 16 * 2**20
"""Size of the block that raises malloc's trim threshold; see `_keep_memory`."""


class Statistic(Protocol):
    """Turns the losses of a contrast into evidence: tally tiles, merge, conclude.

    A focus limits what a tally must keep. It narrows as tiles are processed and only saves memory:
    the evidence does not depend on it. The focus of a statistic that keeps everything is None.
    """

    def start(self, attempt: int) -> Any:
        """The focus of the first tile; `attempt` counts inconclusive passes."""

    def tally(self, question: Question, losses: Losses, focus: Any) -> Any:
        """The tally of one tile for a question."""

    def merge(self, question: Question, tallies: Sequence[Any], focus: Any) -> Any:
        """The tally of several tiles; tallies come in tile order."""

    def refocus(self, focus: Any, seen: Any) -> Any:
        """The focus of the next tiles, given the merged tally so far."""

    def conclude(self, question: Question, seen: Any) -> Evidence | None:
        """The evidence of all tiles; None requests another pass."""

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""


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
) -> list[Evidence]:
    """Answer all questions in one pass over the tiles, or more if a pass is inconclusive."""
    started = time.perf_counter()
    _keep_memory()
    route, routed = evaluation.prepare([q.contrast for q in questions], session.warn)
    asks = [Ask(question, contrast) for question, contrast in zip(questions, routed, strict=True)]
    evidence: dict[int, Evidence] = {}
    pending, attempt = list(range(len(asks))), 0
    while pending:
        some = [asks[number] for number in pending]
        tallies = _pass(evaluation, some, statistic, attempt, session, label, route)
        for number, (question, _), seen in zip(pending, some, tallies, strict=True):
            answer = statistic.conclude(question, seen)
            if answer is not None:
                evidence[number] = answer
        pending, attempt = [number for number in pending if number not in evidence], attempt + 1
    seconds = time.perf_counter() - started
    session.stages.append({"stage": label, "route": route, "seconds": seconds})
    return [evidence[number] for number in range(len(asks))]


def _stage(asks: Sequence[Ask], label: str, route: str, attempt: int) -> str:
    """The name under which a checkpoint stores some questions; the same in every run."""
    digest = blake2b(digest_size=16)
    for question, routed in asks:
        sides = [repr(side.identity()) for side in (routed.base, routed.full)]
        term, beta = sorted(routed.term), float(routed.beta)
        identity = sides, term, routed.order, beta, routed.role, question.part, question.n
        digest.update(repr(identity).encode())
    return f"{label}, {route}, {digest.hexdigest()}, attempt {attempt}"


def _pass(
    evaluation: Evaluation,
    asks: Sequence[Ask],
    statistic: Statistic,
    attempt: int,
    session: Session,
    label: str,
    route: str,
) -> list[Any]:
    """The merged tally of all tiles for each question; each round may narrow the focus."""
    rows, checkpoint = evaluation.rows, session.checkpoint
    stage = "" if checkpoint is None else _stage(asks, label, route, attempt)
    tasks = list(_tasks(asks))
    sides = {side for _, contrast in asks for side in (contrast.base, contrast.full)}
    payload, hint = make_payload(evaluation, statistic, sides)
    runs = rows.tile_runs
    n_tiles = runs[-1].tile_range.stop
    seen: list[list[Any]] = [[] for _ in asks]
    start = statistic.start(attempt)
    focus = [start] * len(asks)
    bar = progress_bar(
        total=len(rows), desc=label, unit=" rows", unit_scale=True, enabled=session.progress
    )
    done = 0  # counts (tile, task) pairs: rounded shares of rows could exceed all rows

    def advance(n_tasks: int) -> None:
        nonlocal done
        done += n_tasks
        bar.update(len(rows) * done // (n_tiles * len(tasks)) - bar.n)

    # If rows are read from files, a job is a stretch with all its tasks; otherwise it is one task.
    # Few questions have small tallies, so more runs of tiles at once keep workers from waiting.
    at_first = 1
    if rows.read_once:
        at_first = effective_n_jobs(session.n_jobs) * max(1, TASK_QUESTIONS // len(asks))
    threads = limit_threads(payload, sides, session.n_jobs)
    with bar, threads, workers(session.n_jobs, hint) as run:
        for some in rounds(len(runs), at_first):
            answers: dict[tuple[int, int], list[Any]] = {}
            jobs = []
            for number in some:
                numbers = runs[number].tile_range
                stored = _recall(session, statistic, stage, numbers, tasks)
                answers |= stored
                advance(len(stored))
                missing = [k for k in range(len(tasks)) if (numbers[-1], k) not in stored]
                together = [missing] if rows.read_once else [[k] for k in missing]
                jobs += [(number, of_job) for of_job in together if of_job]
            calls = (
                delayed(_answer)(
                    payload,
                    job,
                    runs[number],
                    [[asks[i] for i in tasks[k]] for k in of_job],
                    [[focus[i] for i in tasks[k]] for k in of_job],
                )
                for job, (number, of_job) in enumerate(jobs)
            )
            for job, by_tile in run(calls):
                number, of_job = jobs[job]
                for tile, by_task in zip(runs[number].tile_range, by_tile, strict=True):
                    for k, tallies in zip(of_job, by_task, strict=True):
                        answers[tile, k] = tallies
                        if checkpoint is not None:
                            checkpoint.put(stage, tile, k, statistic.pack(tallies))
                if checkpoint is not None:
                    checkpoint.commit()
                advance(len(by_tile) * len(of_job))
            for tile, k in sorted(answers):
                for i, tally in zip(tasks[k], answers[tile, k], strict=True):
                    seen[i].append(tally)
            if len(seen[0]) >= NARROWED_TILES:
                seen = [
                    [statistic.merge(ask.question, tallies, start)]
                    for ask, tallies in zip(asks, seen, strict=True)
                ]
            focus = [statistic.refocus(start, tallies[0]) for tallies in seen]
    return [
        statistic.merge(ask.question, tallies, start)
        for ask, tallies in zip(asks, seen, strict=True)
    ]


def _recall(
    session: Session,
    statistic: Statistic,
    stage: str,
    tile_range: range,
    tasks: Sequence[Sequence[int]],
) -> dict[tuple[int, int], list[Any]]:
    """The stored tallies of a stretch, only of tasks that finished all of its tiles."""
    finished: dict[tuple[int, int], list[Any]] = {}
    if session.checkpoint is None:
        return finished
    for k, task in enumerate(tasks):
        decode = partial(statistic.unpack, n_tallies=len(task))
        stored = {(tile, k): session.checkpoint.get(stage, tile, k, decode) for tile in tile_range}
        present = {key: tallies for key, tallies in stored.items() if tallies is not None}
        if len(present) == len(stored):
            finished |= present
    return finished


def rounds(n: int, at_first: int) -> Iterator[list[int]]:
    """The order of runs: spread over all rows, in rounds that grow fourfold.

    Workers wait for each other at the end of a round. Rows may be sorted by time or place, so the
    first brackets must rest on tiles from the whole range.
    """
    width = max(1, n - 1).bit_length()
    order = sorted(range(n), key=lambda number: f"{number:0{width}b}"[::-1])
    start = 0
    while start < n:
        stop = 4 * start or at_first
        yield order[start:stop]
        start = stop


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
    answers: dict[int, Any] = {}
    of_ignored: dict[Any, Any] = {}
    for number, losses in _losses(evaluation, tile, asks):
        question = asks[number].question
        if losses.full is not losses.base:
            answers[number] = statistic.tally(question, losses, focus[number])
            continue
        # All features that the model ignores have the same tally.
        key = question.part, question.n, question.contrast.beta, focus[number]
        if key not in of_ignored:
            of_ignored[key] = statistic.tally(question, losses, focus[number])
        answers[number] = of_ignored[key]
    return [answers[number] for number in range(len(asks))]


def _losses(
    evaluation: Evaluation, tile: Tile, asks: Sequence[Ask]
) -> Iterator[tuple[int, Losses]]:
    """The position of each question and the losses it compares; all share one base."""
    signed = not evaluation.nonnegative and all(q.contrast.beta == 0 for q, _ in asks)
    prediction = evaluation.predictions.one(tile, asks[0].routed.base)
    base = Base(evaluation, tile, prediction, signed)
    by_full: dict[Side, list[int]] = {}
    for number, (_, contrast) in enumerate(asks):
        by_full.setdefault(contrast.full, []).append(number)
    for side, full in evaluation.predictions(tile, list(by_full)):
        positions = by_full[side]
        parts = [asks[number].question.part for number in positions]
        yield from zip(positions, base.against(full, parts), strict=True)
