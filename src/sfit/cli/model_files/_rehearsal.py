"""Let another process read a model file first, under limits of time and memory.

Libraries check what they read only in part: a damaged file can crash them, and take the process
along, go round in a circle, or ask for all memory. `_trial` is what the other process does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfit.exceptions import ModelError

SECONDS = 60.0
"""For a small file; every MB adds a second."""
TRIAL = "sfit.cli.model_files._trial"
REFUSED, DAMAGED = 3, 4
"""Exit codes of the other process, which then says why: our own error, or any other."""


@contextmanager
def rehearsed(kind: str, path: Path, trust: Sequence[str]) -> Iterator[None]:
    """Start the rehearsal, let the caller do something meanwhile, and wait for its end."""
    seconds = SECONDS + path.stat().st_size / 2**20
    # The same modules as here, and one thread: there is little to do.
    path_of_modules = os.pathsep.join(entry for entry in sys.path if entry)
    settings = {"PYTHONPATH": path_of_modules, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(  # noqa: S603  (our own module)
        [sys.executable, "-P", "-m", TRIAL, kind, str(path.resolve()), *trust],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **settings},
    ) as process:
        try:
            yield
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{str(path)!r} is not read and tried out within {seconds:.0f} seconds: do not "
                "trust this file."
            ) from error
        finally:
            process.kill()
    reason = said.decode(errors="replace").strip()
    if process.returncode == REFUSED:
        raise ModelError(reason)
    if process.returncode:
        # Where Python had no say in how it ended, there is no reason.
        raise ValueError(reason or f"reading it crashes the process (code {process.returncode})")
