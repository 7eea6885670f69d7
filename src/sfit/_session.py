"""The state of one run: workers, progress, checkpoint, warnings, stages."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from sfit._arguments import as_seed
from sfit._checkpoint import Checkpoint, drawn_before
from sfit._request import Execution
from sfit._versions import versions
from sfit._warn import warn_user


@dataclass
class Session:
    """The only mutable object of a run."""

    n_jobs: int | None = None
    progress: bool = False
    checkpoint: Checkpoint | None = None
    path: Any = None
    """The file of the checkpoint, which may not be open yet."""
    warnings: list[str] = field(default_factory=list)
    """Each warning of the run once; the result repeats them."""
    caveats: list[str] = field(default_factory=list)
    """Sentences for the readers of the result."""
    stages: list[dict[str, Any]] = field(default_factory=list)
    """For each order and gate: its name, the route that predicted its sides, and the seconds."""

    drawn: int | None = None
    """The seed, if it was drawn."""
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, request: Execution, warnings: list[str] | None = None) -> Session:
        """A session for a checked request; it does not repeat the `warnings` of other runs."""
        already = [] if warnings is None else warnings
        return cls(request.n_jobs, request.progress, path=request.checkpoint, warnings=already)

    def seed(self, random_state: int | None) -> int:
        """The seed of the run: the user's, or one drawn when the run first started.

        If the checkpoint is not open yet, the seed is stored by the next call after it is.
        """
        if random_state is not None:
            return random_state
        if self.drawn is None:
            before = None if self.path is None else drawn_before(self.path, "seed")
            self.drawn = as_seed(None) if before is None else before
        if self.checkpoint is not None:
            self.drawn = self.checkpoint.first_drawn("seed", self.drawn)
        return self.drawn

    def run(self) -> dict[str, Any]:
        """Versions, time, stages and warnings of the run; comparisons of results ignore them."""
        return {
            "versions": versions(),
            "seconds": time.perf_counter() - self.started,
            "stages": self.stages,
            "warnings": self.warnings,
        }

    def warn(self, *texts: str) -> None:
        """Record warnings, and issue those that are new at the user's line."""
        for text in texts:
            if text not in self.warnings:
                self.warnings.append(text)
                warn_user(text)


def progress_bar(*, enabled: bool, **options: Any) -> Any:
    """A tqdm bar; a disabled one costs nothing and prints nothing."""
    if enabled:
        # Imported only if needed: it warns in notebooks without widgets.
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm(disable=not enabled, **options)


@dataclass
class Progress:
    """Advances a bar over rows while tasks finish.

    It counts tasks: rounded shares of the rows could exceed all rows.
    """

    bar: Any
    n_rows: int
    n_tasks: int
    done: int = 0

    def advance(self, n_tasks: int) -> None:
        """Record that more tasks are finished."""
        self.done += n_tasks
        self.bar.update(self.n_rows * self.done // self.n_tasks - self.bar.n)
