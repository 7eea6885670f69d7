"""Comparisons of models, features and parts, and interactions: size and power (ours)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfit.studies._comparison_cases import FAMILIES, PAIRED_POWERS, PAIRED_SIZES
from sfit.studies._comparison_page import Cell, Result, figures, page
from sfit.studies._comparison_parts import PARTS, decide_parts, falling, one_part_less
from sfit.studies._comparison_tests import AGREES, Decisions, decide_family, decide_paired
from sfit.studies._jobs import Job, JobLog

__all__ = ["FAST", "FULL", "RESUMES", "TITLE", "Result", "Settings", "figures", "page", "study"]

TITLE = "Comparisons: two models, two features, several parts; interactions"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    n_rows: tuple[int, ...] = (50, 200, 1_000, 5_000)
    """Rows of the settings that measure the size."""
    repeats: int = 2_000
    """Data sets of each of them."""
    parts_rows: tuple[int, ...] = (50, 200, 1_000)
    family_rows: tuple[int, ...] = (200, 1_000)
    family_repeats: int = 500
    """Data sets with several features; each is one call of the public function."""
    power_rows: tuple[int, ...] = (50, 200, 1_000)
    power_repeats: int = 500
    effects: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    parts_effects: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
    stacked: int = 100
    """Data sets of one job; they share the random flips or permutations."""
    asked: int = 1
    """Data sets of each job that the public function answers as well."""
    seed: int = 0


FULL = Settings()
FAST = Settings(
    n_rows=(50,),
    repeats=8,
    parts_rows=(50,),
    family_rows=(50,),
    family_repeats=2,
    power_rows=(50,),
    power_repeats=8,
    effects=(0.0, 0.6),
    parts_effects=(0.0, 1.5),
)

RESUMES = True
"""Finished jobs are stored, and a stopped run goes on."""

PARTS_POWERS = {"parts": one_part_less, "trend": falling}


def study(settings: Settings, log: JobLog) -> Result:
    """Sizes, powers and intervals of ranks."""
    run = Run(settings, log)
    families = [run.family(name, n) for name in FAMILIES for n in settings.family_rows]
    parts = [
        run.cell(("size", "parts", name), n, decide_parts, case)
        for name, case in PARTS.items()
        for n in settings.parts_rows
    ]
    paired = {
        part: [
            run.cell(("size", part, name), n, decide_paired, case)
            for name, case in cases.items()
            for n in settings.n_rows
        ]
        for part, cases in PAIRED_SIZES.items()
    }
    powers = {
        **{
            part: run.curve(part, decide_parts, case_of, settings.parts_effects)
            for part, case_of in PARTS_POWERS.items()
        },
        **{
            part: run.curve(part, decide_paired, case_of, settings.effects)
            for part, case_of in PAIRED_POWERS.items()
        },
    }
    return Result({**paired, "parts": parts}, families, powers, run.n_asked, run.n_agreed)


class Run:
    """Runs the jobs of settings, and counts the data sets that the public functions answered."""

    def __init__(self, settings: Settings, log: JobLog) -> None:
        self.settings, self.log = settings, log
        self.n_asked = self.n_agreed = 0

    def curve(
        self,
        part: str,
        decide: Callable[..., Decisions],
        case_of: Callable[[float], Any],
        effects: Sequence[float],
    ) -> list[Cell]:
        """How often an effect is found, by its size and the number of rows."""
        return [
            self.cell(("power", part, f"effect {effect:g}"), n, decide, case_of(effect), effect)
            for n in self.settings.power_rows
            for effect in effects
        ]

    def cell(
        self,
        names: tuple[str, str, str],
        n: int,
        decide: Callable[..., Decisions],
        case: Any,
        effect: float = 0.0,
    ) -> Cell:
        """How often each test rejects in one setting; several data sets are one job."""
        settings = self.settings
        repeats = settings.repeats if names[0] == "size" else settings.power_repeats
        answers = self._answers(names, n, decide, case, repeats, (settings.asked,))
        agrees = np.concatenate([one[AGREES] for one in answers])
        self.n_asked += len(agrees)
        self.n_agreed += int(agrees.sum())
        return Cell(names[2], repeats, n, case.guarantee, _rates(answers), effect)

    def family(self, name: str, n: int) -> Cell:
        """How often anything is wrong about several features, and how many pairs are decided."""
        repeats = self.settings.family_repeats
        names = ("size", "families", name)
        answers = self._answers(names, n, decide_family, FAMILIES[name], repeats)
        return Cell(name, repeats, n, "asymptotic", _rates(answers))

    def _answers(
        self,
        names: tuple[str, str, str],
        n: int,
        decide: Callable[..., Decisions],
        case: Any,
        repeats: int,
        more: tuple[int, ...] = (),
    ) -> list[Decisions]:
        stacked, text = self.settings.stacked, ", ".join((*names, f"n = {n:,}"))
        seed = [self.settings.seed, *text.encode()]
        jobs = [
            Job(
                f"{text}, {start}",
                decide,
                (case, n, [*seed, start], min(stacked, repeats - start), *more),
            )
            for start in range(0, repeats, stacked)
        ]
        return self.log.run(jobs, n_jobs=1)


def _rates(answers: Sequence[Decisions]) -> dict[str, float]:
    """The share of decisions for an effect, by test."""
    return {
        test: float(np.mean(np.concatenate([one[test] for one in answers])))
        for test in answers[0]
        if test != AGREES
    }
