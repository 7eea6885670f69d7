"""An optional progress bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
