"""From questions to evidence: map tiles over workers, merge small tallies in tile order.

A question is a contrast asked of one part of the rows. A task answers the questions that share a
base on one tile; how questions fall into tasks depends on the questions alone, so that results do
not depend on the number or kind of workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import delayed, effective_n_jobs

from sfit._checkpoint import Checkpoint
from sfit._contrast import Evidence, Losses, Reveal, Side
from sfit._differences import Base, Evaluation
from sfit._jobs import limit_threads, workers
from sfit._packed import pack, unpack
from sfit._payload import Payload, make_payload, open_payload
from sfit._progress import progress_bar
from sfit._select import EVERYTHING
from sfit._tally import Question, Tally, Windows, conclude, merged, tally
from sfit.restrict import Precision
from sfit.rows import Rows, Stretch, Tile

Array = npt.NDArray[Any]

TASK_QUESTIONS = 16
"""Questions of one base that a task answers together."""

ROOM = 4.0
"""Standard errors of room on either side of a bracket, in the first pass."""

NARROWED_TILES = 4
"""From so many tiles on, what they say together brackets for the next; a few do not repay it."""

KEPT_BYTES = 16 * 2**20
"""Memory that the C library is taught to keep; see `_keep_memory`."""


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
    _keep_memory()
    route, contrasts = evaluation.predictions.prepare(
        [question.contrast for question in questions],
        rows.first,
        Precision(evaluation.unit, evaluation.noise, len(rows)),
    )
    questions = [replace(q, contrast=c) for q, c in zip(questions, contrasts, strict=True)]
    evidence: dict[int, Evidence] = {}
    pending, room = list(range(len(questions))), ROOM
    while pending:
        asked = [questions[number] for number in pending]
        stage = f"{label}, {route}, stage {len(evaluation.stages)}, room {room:g}"
        if checkpoint is not None:
            # They depend on earlier answers; and which brackets missed, on the number of workers.
            stage += f", questions {_digest(asked)}"
        tallies = _pass(
            evaluation, rows, asked, room, n_jobs, progress and label, stage, checkpoint
        )
        for number, question, of_all in zip(pending, asked, tallies, strict=True):
            answer = conclude(question, of_all)
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
) -> list[Tally]:
    """What all tiles say about each question, in rounds: each brackets more narrowly."""
    tasks = list(_tasks(questions))
    sides = {s for q in questions for s in (q.contrast.base, q.contrast.full)}
    payload, hint = make_payload(evaluation, rows.shared, sides)
    stretches = rows.stretches
    n_tiles = stretches[-1].numbers.stop
    seen: list[list[Tally]] = [[] for _ in questions]
    windows: list[Windows] = [(EVERYTHING, EVERYTHING)] * len(questions)
    bar = progress_bar(
        total=len(rows), desc=str(shown), unit=" rows", unit_scale=True, shown=bool(shown)
    )
    done = 0  # tasks of tiles: fractions of rows could add up to more than all rows

    def advance() -> None:
        bar.update(len(rows) * done // (n_tiles * len(tasks)) - bar.n)

    # Where each is read once, a job is a stretch; else one of its tasks. Of few questions the
    # tallies are small, narrow or not: more stretches at once keep workers from waiting.
    at_first = 1
    if rows.read_once:
        at_first = effective_n_jobs(n_jobs) * max(1, TASK_QUESTIONS // len(questions))
    with bar, limit_threads(payload, sides, n_jobs), workers(n_jobs, hint) as run:
        for some in rounds(len(stretches), at_first):
            answers: dict[tuple[int, int], list[Tally]] = {}
            jobs = []
            for number in some:
                numbers = stretches[number].numbers
                known = _recall(checkpoint, stage, numbers, tasks)
                answers |= known
                done += len(known)
                advance()
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
                    for k, tallies in zip(of_job, by_task, strict=True):
                        answers[tile, k] = tallies
                        if checkpoint is not None:
                            checkpoint.put(stage, tile, k, pack(tallies))
                if checkpoint is not None:
                    checkpoint.commit()
                done += len(by_tile) * len(of_job)
                advance()
            for tile, k in sorted(answers):
                for i, own in zip(tasks[k], answers[tile, k], strict=True):
                    seen[i].append(own)
            if len(seen[0]) >= NARROWED_TILES:
                seen = [[merged(q, own, room)] for q, own in zip(questions, seen, strict=True)]
            windows = [(own[0].delta.window, own[0].rho.window) for own in seen]
    return [merged(q, own, room) for q, own in zip(questions, seen, strict=True)]


def _recall(
    checkpoint: Checkpoint | None, stage: str, numbers: range, tasks: Sequence[Sequence[int]]
) -> dict[tuple[int, int], list[Tally]]:
    """What a checkpoint knows of a stretch: a task's answers on all of its tiles, or none."""
    known: dict[tuple[int, int], list[Tally]] = {}
    if checkpoint is None:
        return known
    for k, task in enumerate(tasks):
        decode = partial(unpack, n_tallies=len(task))
        stored = {(tile, k): checkpoint.get(stage, tile, k, decode) for tile in numbers}
        found = {key: tallies for key, tallies in stored.items() if tallies is not None}
        if len(found) == len(stored):
            known |= found
    return known


def _digest(questions: Sequence[Question]) -> str:
    """A text that is another for other questions, or in another order."""
    digest = blake2b(digest_size=16)
    for question in questions:
        contrast = question.contrast
        sides = [
            (sorted(s.shown), s.arithmetic) if isinstance(s, Reveal) else s.without
            for s in (contrast.base, contrast.full)
        ]
        told = sides, contrast.order, float(contrast.beta), contrast.role, question.part, question.n
        digest.update(repr((*told, tuple(question.ranks), question.only_beta_max)).encode())
    return digest.hexdigest()


def rounds(n: int, at_first: int) -> Iterator[list[int]]:
    """Stretches in the order they are asked, spread over all rows, in rounds that grow fourfold.

    Workers wait for each other at the end of a round. Rows may come sorted by time or by place:
    brackets judge by tiles from everywhere.
    """
    width = max(1, n - 1).bit_length()
    order = sorted(range(n), key=lambda number: f"{number:0{width}b}"[::-1])
    start = 0
    while start < n:
        stop = 4 * start or at_first
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
) -> tuple[int, list[list[list[Tally]]]]:
    """One job: read the tiles of a stretch, and say for each what it says about some tasks."""
    evaluation, shared = open_payload(payload)
    _keep_memory()
    return job, [
        [
            _tallies(evaluation, tile, task, own, room)
            for task, own in zip(tasks, windows, strict=True)
        ]
        for tile in stretch.tiles(shared)
    ]


def _keep_memory() -> None:
    """Let the C library keep what the arrays of one question or polyline free, for the next.

    It returns memory to the system beyond twice the largest block that it was ever given back, and
    to get it again costs more than the arithmetic. This block is never touched: it takes no memory.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


def _tallies(
    evaluation: Evaluation,
    tile: Tile,
    questions: Sequence[Question],
    windows: Sequence[Windows],
    room: float,
) -> list[Tally]:
    """What one tile says about some questions of one base."""
    answers: dict[int, Tally] = {}
    of_ignored: dict[Any, Tally] = {}
    for number, losses in _losses(evaluation, tile, questions):
        question, own = questions[number], windows[number]
        if losses.full is not losses.base:
            answers[number] = tally(question, losses, own, room)
            continue
        # Features that the model ignores all have the same answer.
        alike = question.part, question.contrast.beta, question.ranks, question.only_beta_max, own
        if alike not in of_ignored:
            of_ignored[alike] = tally(question, losses, own, room)
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
