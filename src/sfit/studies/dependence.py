"""Rows that depend on each other, given features, all orders, small data: size, and recipes (ours)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfit.studies import _dependence_folds as folds
from sfit.studies import _dependence_orders as orders
from sfit.studies._dependence_page import Cell, Result, figures, page
from sfit.studies._dependence_settings import PARTS, REFUSED, THREE, Case
from sfit.studies._dependence_tests import refusal

__all__ = ["FAST", "FULL", "TITLE", "Result", "Settings", "figures", "page", "study"]

TITLE = "Dependent rows, given features, all orders, small data"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    repeats: int = 400
    """Data sets of each setting with fewer than 2,000 rows."""
    many_rows_repeats: int = 200
    """Data sets of each setting with 2,000 rows."""
    huge_repeats: int = 60
    """Data sets of each setting with 10,000 rows."""
    max_rows: int = 10_000
    """Settings with more rows are left out."""
    orders_rows: int = 300
    orders_repeats: int = 200
    orders_power_repeats: int = 100
    folds_rows: tuple[int, ...] = (100, 200)
    folds_repeats: int = 300
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
)


def study(settings: Settings) -> Result:
    """Every part of the study; each data set has a seed."""
    sizes = {
        part: _sizes(settings, place, cases) for place, (part, cases) in enumerate(PARTS.items())
    }
    sizes["orders"] = _orders(settings)
    sizes["folds"], fold_powers = _folds(settings)
    powers = {"orders": _orders_found(settings), "folds": fold_powers}
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


def _rates(decisions: Sequence[Mapping[str, bool]]) -> dict[str, float]:
    """Shares of all decisions, by test."""
    return {name: float(np.mean([one[name] for one in decisions])) for name in decisions[0]}


def _sizes(settings: Settings, place: int, cases: Mapping[str, Case]) -> dict[str, Cell]:
    """How often each test rejects, by setting of one part."""
    return {
        name: _size(settings, [settings.seed, 1, place, number], case)
        for number, (name, case) in enumerate(cases.items())
        if case.n_rows <= settings.max_rows
    }


def _size(settings: Settings, seed: list[int], case: Case) -> Cell:
    """One setting, several data sets in each call."""
    total = settings.n_sets(case.n_rows)
    decisions = [
        one
        for start in range(0, total, settings.stacked)
        for one in _stack(case, seed, start, min(settings.stacked, total - start))
    ]
    return Cell(total, case.n_rows, case.guarantee, _rates(decisions), case.expected)


def _stack(case: Case, seed: list[int], start: int, count: int) -> list[dict[str, bool]]:
    """The decisions of all tests about some data sets of a setting."""
    rng = np.random.default_rng([*seed, start])
    samples = [case.draw(rng) for _ in range(count)]
    answers = {name: test(samples, start) for name, test in case.tests.items()}
    return [{name: bool(answers[name][one]) for name in answers} for one in range(count)]


def _orders(settings: Settings) -> dict[str, Cell]:
    """How often anything is falsely rejected over three orders."""
    n = settings.orders_rows
    cells = {}
    for place, (name, world) in enumerate(orders.WORLDS.items()):
        decisions = [
            {
                key: orders.falsely(n, world, way, [settings.seed, 2, place, repeat])
                for key, way in orders.WAYS.items()
            }
            for repeat in range(settings.orders_repeats)
        ]
        cells[name] = Cell(len(decisions), n, "exact", _rates(decisions))
    return cells


def _orders_found(settings: Settings) -> dict[str, Cell]:
    """How often each of three true effects is found, one of each order."""
    n, repeats = settings.orders_rows, range(settings.orders_power_repeats)
    found = {
        key: [orders.found(n, way, [settings.seed, 3, repeat]) for repeat in repeats]
        for key, way in orders.WAYS.items()
    }
    return {
        " x ".join(term): Cell(
            len(repeats),
            n,
            "exact",
            {key: float(np.mean([one[place] for one in found[key]])) for key in found},
        )
        for place, term in enumerate(orders.TRUE)
    }


def _folds(settings: Settings) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Size and power with few rows, by estimator."""
    sizes: dict[str, Cell] = {}
    powers: dict[str, Cell] = {}
    for n in settings.folds_rows:
        for place, name in enumerate(folds.ESTIMATORS):
            answers = [
                folds.decided(name, n, [settings.seed, 4, n, place, repeat])
                for repeat in range(settings.folds_repeats)
            ]
            for cells, column in ((powers, folds.TRUE), (sizes, folds.NULL)):
                rates = _rates(
                    [{key: bool(a[column]) for key, a in one.items()} for one in answers]
                )
                cells[f"{name}, n = {n:,}"] = Cell(len(answers), n, "exact", rates)
    return sizes, powers
