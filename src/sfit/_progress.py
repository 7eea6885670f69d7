"""A progress bar, for those who ask for one."""

from __future__ import annotations

from typing import Any


def progress_bar(*, shown: bool, **options: Any) -> Any:
    """A bar of tqdm; one that is not shown costs nothing, and says nothing."""
    if shown:
        # Only now: on import it complains in notebooks that have no widgets.
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm(disable=not shown, **options)
