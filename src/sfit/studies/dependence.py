"""Rows that depend on each other, given features, all orders, small data: size, and recipes (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfit.studies import _dependence_folds as folds
from sfit.studies import _dependence_orders as orders
from sfit.studies._dependence_page import Cell, Result, figures, page
from sfit.studies._dependence_settings import PARTS, REFUSED, THREE, Case
from sfit.studies._dependence_tests import refusal
from sfit.studies._jobs import Answer, Job, JobLog

__all__ = ["FAST", "FULL", "RESUMES", "TITLE", "Result", "Settings", "figures", "page", "study"]

TITLE = "Dependent rows, given features, all orders, small data"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    repeats: int = 400
    """Data sets of each setting with fewer than 2,000 rows."""
    many_rows_repeats: int = 200
    """Data sets of each setting with 2,000 rows."""
    huge_repeats: int = 50
    """Data sets of each setting with 10,000 rows."""
    max_rows: int = 10_000
    """Settings with more rows are left out."""
    orders_rows: int = 300
    orders_repeats: int = 200
    orders_power_repeats: int = 100
    folds_rows: tuple[int, ...] = (100, 200)
    folds_repeats: int = 400
    pooled_repeats: int = 2_000
    """Data sets of the recipes that pool folds: their error is small, and they are cheap."""
    stacked: int = 25
    """Data sets in one call, told apart by `by`."""
    seed: int = 0

    def n_sets(self, n_rows: int) -> int:
        """Data sets of a setting."""
        if n_rows < 2_000:
            return self.repeats
        return self.many_rows_repeats if n_rows < 10_000 else self.huge_repeats


FULL = Settings()
FAST = Settings(
    repeats=4,
    max_rows=400,
    orders_rows=60,
    orders_repeats=1,
    orders_power_repeats=1,
    folds_rows=(50,),
    folds_repeats=2,
    pooled_repeats=4,
)


RESUMES = True
"""Finished jobs are stored, and a stopped run goes on."""


def study(settings: Settings, log: JobLog) -> Result:
    """Every part of the study; each data set has a seed."""
    sizes = {
        part: {
            name: _size(log, settings, part, name)
            for name, case in cases.items()
            if case.n_rows <= settings.max_rows
        }
        for part, cases in PARTS.items()
    }
    sizes["orders"] = _orders(log, settings)
    sizes["folds"], fold_powers = _folds(log, settings)
    sizes["pooled"] = _pooled(log, settings)
    powers = {"orders": _orders_found(log, settings), "folds": fold_powers}
    return Result(sizes, powers, refusals())


def refusals() -> dict[str, str]:
    """The messages with which sfit refuses what no exchange of rows can answer."""
    rng = np.random.default_rng(0)
    three, close = (case.draw(rng) for case in (next(iter(THREE.values())), REFUSED))
    return {
        "three continuous given features": refusal(three, given=["x1", "x2", "x3"]),
        'given="rest"': refusal(three, given="rest"),
        "a given feature with correlation 0.99": refusal(close, given=["x1"]),
    }


def _rates(answers: Sequence[Answer], column: int = 0) -> dict[str, float]:
    """Shares of the data sets that reject in one column, by test."""
    return {
        test: float(np.mean(np.concatenate([one[test][:, column] for one in answers])))
        for test in answers[0]
    }


def _size(log: JobLog, settings: Settings, part: str, name: str) -> Cell:
    """How often each test rejects in one setting; several data sets are one job."""
    case, total = PARTS[part][name], settings.n_sets(PARTS[part][name].n_rows)
    seed = [settings.seed, 1, list(PARTS).index(part), list(PARTS[part]).index(name)]
    jobs = [
        Job(
            f"{part}, {name}, {start}",
            decide_stack,
            (case, [*seed, start], min(settings.stacked, total - start)),
        )
        for start in range(0, total, settings.stacked)
    ]
    rates = _rates(log.run(jobs, n_jobs=1))
    return Cell(total, case.n_rows, case.guarantee, rates, case.expected)


def decide_stack(case: Case, seed: list[int], count: int) -> Answer:
    """The decisions of all tests about some data sets of a setting."""
    rng = np.random.default_rng(seed)
    samples = [case.draw(rng) for _ in range(count)]
    return {name: test(samples, seed[-1])[:, None] for name, test in case.tests.items()}


def _orders(log: JobLog, settings: Settings) -> dict[str, Cell]:
    """How often anything is falsely rejected over three orders."""
    n, repeats = settings.orders_rows, range(settings.orders_repeats)
    cells = {}
    for place, (name, world) in enumerate(orders.WORLDS.items()):
        seeds = [[settings.seed, 2, place, repeat] for repeat in repeats]
        jobs = [Job(f"orders, {name}, {s[-1]}", orders.falsely, (n, world, s)) for s in seeds]
        cells[name] = Cell(len(repeats), n, "exact", _rates(log.run(jobs, n_jobs=1)))
    return cells


def _orders_found(log: JobLog, settings: Settings) -> dict[str, Cell]:
    """How often each of three true effects is found, one of each order."""
    n, repeats = settings.orders_rows, range(settings.orders_power_repeats)
    seeds = [[settings.seed, 3, repeat] for repeat in repeats]
    answers = log.run([Job(f"effects, {s[-1]}", orders.found, (n, s)) for s in seeds], n_jobs=1)
    return {
        " ".join(term): Cell(len(repeats), n, "exact", _rates(answers, place))
        for place, term in enumerate(orders.TRUE)
    }


def _folds(log: JobLog, settings: Settings) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Size and power with few rows, by estimator."""
    sizes: dict[str, Cell] = {}
    powers: dict[str, Cell] = {}
    for n in settings.folds_rows:
        for place, name in enumerate(folds.ESTIMATORS):
            seeds = [[settings.seed, 4, n, place, one] for one in range(settings.folds_repeats)]
            jobs = [Job(f"folds, {name}, {n}, {s[-1]}", folds.decided, (name, n, s)) for s in seeds]
            answers = log.run(jobs, n_jobs=1)
            for cells, column in ((powers, folds.TRUE), (sizes, folds.NULL)):
                rates = _rates(answers, column)
                cells[f"{name}, n = {n:,}"] = Cell(len(answers), n, "exact", rates)
    return sizes, powers


def _pooled(log: JobLog, settings: Settings) -> dict[str, Cell]:
    """The size of the recipes that pool folds, by estimator."""
    total, stacked = settings.pooled_repeats, 4 * settings.stacked
    cells = {}
    for n in settings.folds_rows:
        for place, name in enumerate(folds.ESTIMATORS):
            jobs = [
                Job(
                    f"pooled, {name}, {n}, {start}",
                    folds.decided_pooled,
                    (name, n, [settings.seed, 5, n, place, start], min(stacked, total - start)),
                )
                for start in range(0, total, stacked)
            ]
            rates = _rates(log.run(jobs, n_jobs=1))
            cells[f"{name}, n = {n:,}"] = Cell(total, n, "not offered", rates)
    return cells
