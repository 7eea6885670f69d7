"""The work of an audit: the cost of each step, what was left out, what an earlier run finished."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfit._audit._records import Step
from sfit._audit._result import restored, stored_value
from sfit._checkpoint import Checkpoint
from sfit._document import storable

RESERVE = 0.1
"""Share of a budget that is kept for what no step counts: facts, checks, and surprises."""

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
"""All steps, the most useful first."""

Fields = dict[str, Any]
"""Some fields of an audit."""


@dataclass
class Work:
    """The state of an audit while it runs."""

    limit: float | None
    """Seconds that the audit may take; None: no limit."""
    checkpoint: Checkpoint | None
    bar: Any
    """A progress bar over the steps."""
    started: float
    """When the audit began, on the clock of `time.perf_counter`."""
    steps: list[Step] = field(default_factory=list)
    before: float = 0.0
    """Seconds that an interrupted run spent on steps that need not run again."""

    @property
    def left(self) -> float:
        """Seconds of the budget that steps may still take; infinite without a budget."""
        if self.limit is None:
            return float("inf")
        spent = self.before + time.perf_counter() - self.started
        return max(0.0, (1 - RESERVE) * self.limit - spent)

    def path_of(self, name: str) -> Path | None:
        """The file in which the test of a step stores its unfinished work."""
        if self.checkpoint is None:
            return None
        path = self.checkpoint.path
        return path.with_name(f"{path.name}-{name.replace(' ', '-')}")

    def run(
        self, name: str, work: Callable[[], Fields], *, expected: float = 0.0, reason: str = ""
    ) -> Fields:
        """The fields that a step gives; `reason` says why only a part of it is done."""
        kept = self._stored(name)
        if kept is not None:
            self.before += kept["seconds"]
            self._record(name, kept["reason"], kept["expected"], kept["seconds"])
            return {field: restored(field, value) for field, value in kept["fields"].items()}
        self.bar.set_description(f"audit: {name}, about {duration(expected)}")
        started = time.perf_counter()
        fields = work()
        seconds = time.perf_counter() - started
        self._record(name, reason, expected, seconds)
        if self.checkpoint is not None:
            stored = {field: stored_value(field, value) for field, value in fields.items()}
            timing = {"reason": reason, "expected": expected, "seconds": seconds}
            self._store(self.checkpoint, name, {**timing, "fields": storable(stored)})
        return fields

    def announce(self, expected: float) -> None:
        """Say how long all steps will take, if the user asked for progress."""
        if not self.bar.disable:
            self.bar.write(f"audit: about {duration(expected)} in all", file=sys.stderr)

    def leave_out(self, name: str, reason: str, expected: float = 0.0) -> None:
        """Record a step that does not run."""
        self.steps.append(Step(name, "left out", reason, expected, 0.0))
        self.bar.update()

    def is_stored(self, name: str) -> bool:
        """Whether an earlier run finished a step."""
        return self._stored(name) is not None

    def _record(self, name: str, reason: str, expected: float, seconds: float) -> None:
        self.steps.append(Step(name, "part" if reason else "done", reason, expected, seconds))
        self.bar.update()

    def _stored(self, name: str) -> Any:
        if self.checkpoint is None:
            return None
        return self.checkpoint.get(STAGE, 0, STEPS.index(name), json.loads)

    def _store(self, checkpoint: Checkpoint, name: str, kept: dict[str, Any]) -> None:
        checkpoint.put(STAGE, 0, STEPS.index(name), json.dumps(kept).encode())
        checkpoint.commit()
        # The test's own checkpoint has served its purpose.
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path_of(name)}{suffix}").unlink(missing_ok=True)


def duration(seconds: float) -> str:
    """Seconds in a few words."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
