"""A cut of `flips.py`: a flipped bit gives the same answer or one error, wherever it is."""

import flips
import pytest


@pytest.mark.parametrize(("kind", "count"), [("checkpoint", 360), ("wal", 60), ("result", 400)])
def test_flipped_bits(kind, count):
    """Some of every region of a checkpoint, of its log, and of a stored result."""
    ended, faults = flips.tried(kind, count, seed=0)
    assert not faults
    assert sum(sum(counts.values()) for counts in ended.values()) > 0.9 * count
    # SQLite itself drops a damaged end of its log, so there the answer is mostly the same.
    assert kind == "wal" or sum(counts["refused"] for counts in ended.values())


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "count"), [("checkpoint", 6_000), ("wal", 2_000), ("result", 10_000)]
)
def test_thousands_of_flipped_bits(kind, count):
    """The same, more often; `make flip` prints the figures."""
    assert not flips.tried(kind, count, seed=1)[1]
