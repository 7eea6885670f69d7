"""Peak memory of a stretch of this process, as the system counts it (Linux; elsewhere: None)."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

peaks: list[float] = []
"""Peaks of the process, in MB, before each time that the count began anew."""


def reset_peak(*, trim: bool) -> float | None:
    """Let the system count this process' peak anew; the MB it holds now.

    With `trim`, memory that was freed goes back to the system first, and counts if it is used again.
    """
    try:
        peaks.append(memory("VmHWM"))
        if trim:
            ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return memory("VmRSS")
    except (OSError, AttributeError):
        return None


def memory(field: str) -> float:
    """A field of the process' status, in MB: "VmRSS" is what it holds, "VmHWM" the peak."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")
