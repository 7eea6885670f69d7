"""The steps of an audit: what each may cost, what was left out, and what an earlier run finished.

Steps run in the order of their use to the reader. Without a budget all steps run that need few
predictions; the others run only within a budget.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sfit._audit._records import Step
from sfit._checkpoint import Checkpoint

Value = TypeVar("Value")

STAGE = "audit"
"""The name under which a checkpoint stores finished steps."""

STEPS = (
    "performance",
    "related features",
    "typical rows",
    "response curves",
    "build-up",
    "groups of rows",
    "protected attributes",
    "interactions",
    "correlated groups",
)
"""All steps, the most useful first; those that cost nothing come with their neighbours."""


@dataclass
class Work:
    """The state of an audit while it runs."""

    limit: float | None
    """Seconds that all steps may take; None: no limit."""
    checkpoint: Checkpoint | None
    bar: Any
    """A progress bar over the steps."""
    steps: list[Step] = field(default_factory=list)

    @property
    def spent(self) -> float:
        """Seconds that steps have taken, those of an interrupted run included."""
        return sum(step.seconds for step in self.steps)

    @property
    def left(self) -> float:
        """Seconds of the budget that are left; infinite without a budget."""
        return float("inf") if self.limit is None else max(0.0, self.limit - self.spent)

    def path_of(self, name: str) -> Path | None:
        """The file in which a step stores its own unfinished work."""
        if self.checkpoint is None:
            return None
        path = self.checkpoint.path
        return path.with_name(f"{path.name}-{name.replace(' ', '-')}")

    def run(
        self,
        name: str,
        work: Callable[[], Value],
        *,
        expected: float,
        pack: Callable[[Value], Any],
        unpack: Callable[[Any], Value],
        reason: str = "",
    ) -> Value:
        """Run a step, or restore it from the checkpoint; `reason` says which part is done."""
        place, stored = STEPS.index(name), None
        if self.checkpoint is not None:
            stored = self.checkpoint.get(STAGE, 0, place, json.loads)
        if stored is not None:
            self._record(name, stored["reason"], stored["expected"], stored["seconds"])
            return unpack(stored["value"])
        self.bar.set_description(f"audit: {name}, about {duration(expected)}")
        started = time.perf_counter()
        value = work()
        seconds = time.perf_counter() - started
        self._record(name, reason, expected, seconds)
        if self.checkpoint is not None:
            kept = {
                "reason": reason,
                "expected": expected,
                "seconds": seconds,
                "value": pack(value),
            }
            self.checkpoint.put(STAGE, 0, place, json.dumps(kept).encode())
            self.checkpoint.commit()
            path = self.path_of(name)
            for suffix in ("", "-wal", "-shm") if path is not None else ():
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        return value

    def leave_out(self, name: str, reason: str, expected: float = 0.0) -> None:
        """Record a step that does not run."""
        self.steps.append(Step(name, "left out", reason, expected, 0.0))
        self.bar.update()

    def _record(self, name: str, reason: str, expected: float, seconds: float) -> None:
        self.steps.append(Step(name, "part" if reason else "done", reason, expected, seconds))
        self.bar.update()


def duration(seconds: float) -> str:
    """Seconds in a few words."""
    if seconds < 1:
        return "1 s" if seconds > 0.5 else f"{seconds:.1g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
