"""Let another process read a model file first, under limits of time and memory.

Libraries check model files only in part: a damaged file can crash the process, loop forever, or
take all memory. The other process runs `_trial`.
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
"""Time limit for a small file; every MB adds a second."""
TRIAL = "sfit.cli.model_files._trial"
REFUSED, DAMAGED = 3, 4
"""Exit codes of the other process after an SFITError, and after any other error; it prints why."""


@contextmanager
def rehearsed(kind: str, path: Path, trust: Sequence[str]) -> Iterator[None]:
    """Start the rehearsal, run the body of the with statement, then wait for the verdict."""
    seconds = SECONDS + path.stat().st_size / 2**20
    # The same modules as here; one thread is enough for a few rows.
    path_of_modules = os.pathsep.join(entry for entry in sys.path if entry)
    settings = {"PYTHONPATH": path_of_modules, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(  # noqa: S603  (a module of sfit)
        [sys.executable, "-P", "-m", TRIAL, kind, str(path.resolve()), *trust],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **settings},
    ) as process:
        try:
            yield
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise ModelError(
                f"{str(path)!r} could not be read and tried out within {seconds:.0f} seconds: do "
                "not trust this file."
            ) from error
        finally:
            process.kill()
    reason = output.decode(errors="replace").strip()
    if process.returncode == REFUSED:
        raise ModelError(reason)
    if process.returncode:
        # After a crash of the interpreter there is no reason.
        raise ValueError(reason or f"reading it crashes the process (code {process.returncode})")
