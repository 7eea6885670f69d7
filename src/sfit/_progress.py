"""An optional progress bar."""

from __future__ import annotations

from typing import Any


def progress_bar(*, enabled: bool, **options: Any) -> Any:
    """A tqdm bar; a disabled one costs nothing and prints nothing."""
    if enabled:
        # Imported only if needed: it warns in notebooks without widgets.
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm(disable=not enabled, **options)
