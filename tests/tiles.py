"""Small tiles: a few hundred rows are then several tiles."""

from contextlib import contextmanager
from typing import Any

from sfit.sample import prepare


def set_tiles(monkeypatch: Any, rows: int) -> None:
    """Cut rows into tiles of this size during a test, whoever calls `prepare`."""
    monkeypatch.setitem(prepare.__kwdefaults__, "tile_rows", rows)


@contextmanager
def tiles_of(rows: int) -> Any:
    """Cut rows into tiles of this size inside the block."""
    defaults: Any = prepare.__kwdefaults__
    before, defaults["tile_rows"] = defaults["tile_rows"], rows
    try:
        yield
    finally:
        defaults["tile_rows"] = before
