"""The jobs of a long study. Each is stored when it is finished, so a stopped run can go on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from sfit._array import Array
from sfit.exceptions import DataError

Answer = dict[str, Array]
"""Decisions of each test, one row per repetition and one column per feature."""


class Job(NamedTuple):
    """A function and its arguments; the key names the job among all of a study."""

    key: str
    function: Callable[..., Answer]
    arguments: tuple[Any, ...]


class JobLog:
    """Finished jobs, in memory and, if there is a path, in a file of JSON lines.

    The first line identifies the run: a file of other settings or versions is refused. Every other
    line holds one job.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any], commit: str | None) -> None:
        self.path = path
        self.commit = commit
        self.answers: dict[str, Answer] = {}
        self.commits: dict[str, None] = {}
        self.seconds = 0.0
        if path is not None and path.is_file():
            self._read(path, dict(identity))
        elif path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(identity) + "\n", encoding="utf-8")

    def run(self, jobs: Sequence[Job], n_jobs: int) -> list[Answer]:
        """The answers of some jobs; those that are not finished yet are computed."""
        pending = [job for job in jobs if job.key not in self.answers]
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        for key, answer, seconds in workers(delayed(_timed)(job) for job in pending):
            line = {"job": key, "commit": self.commit, "seconds": round(seconds, 3)}
            self._add(line, answer)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line | {"answer": _as_text(answer)}) + "\n")
        return [self.answers[job.key] for job in jobs]

    def _add(self, line: Mapping[str, Any], answer: Answer) -> None:
        self.answers[line["job"]] = answer
        self.seconds += line["seconds"]
        self.commits[line["commit"] or ""] = None

    def _read(self, path: Path, identity: dict[str, Any]) -> None:
        """Read finished jobs; a last line that was cut off while it was written is dropped."""
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        try:
            first, *lines = [json.loads(line) for line in whole.splitlines()]
            for line in lines:
                self._add(line, _from_text(line["answer"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path.name} is damaged: delete it to run the study again.") from error
        if first != json.loads(json.dumps(identity)):
            raise DataError(
                f"{path.name} holds jobs of other settings or of other versions of packages: "
                "choose another folder, or delete the file to run the study again."
            )
        path.write_text(whole + "\n", encoding="utf-8")


def _timed(job: Job) -> tuple[str, Answer, float]:
    started = time.perf_counter()
    answer = job.function(*job.arguments)
    return job.key, answer, time.perf_counter() - started


def _as_text(answer: Answer) -> dict[str, list[str]]:
    """Decisions as rows of the digits 0 and 1."""
    return {
        name: ["".join("01"[int(one)] for one in row) for row in every]
        for name, every in answer.items()
    }


def _from_text(answer: Mapping[str, Sequence[str]]) -> Answer:
    return {
        name: np.array([[{"0": False, "1": True}[one] for one in row] for row in every])
        for name, every in answer.items()
    }
