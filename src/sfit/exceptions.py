"""What can go wrong, in one small tree.

SFITError
├── ArgumentError (ValueError)           an argument is out of range or does not fit the others
├── DataError (ValueError)               the rows cannot be used as they are
├── ModelError (ValueError)              the model, or what it returned, cannot be used
├── BetaError (ValueError)               no beta up to `max_beta` is sufficient
├── CheckpointError (ValueError)         a checkpoint is of another run, or cannot be used
└── MissingDependencyError (ImportError) an optional library is not installed

SFITWarning (UserWarning)                the answer is right, but read this
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "BetaError",
    "CheckpointError",
    "DataError",
    "MissingDependencyError",
    "ModelError",
    "SFITError",
    "SFITWarning",
]


class SFITError(Exception):
    """Base class of every error that sfit raises on purpose."""


class ArgumentError(SFITError, ValueError):
    """An argument is out of range, unknown, or does not fit the others."""


class DataError(SFITError, ValueError):
    """The rows cannot be used as they are."""


class ModelError(SFITError, ValueError):
    """The model, or what it returned, cannot be used."""


class BetaError(SFITError, ValueError):
    """No beta up to `max_beta` keeps the random models at the level."""


class CheckpointError(SFITError, ValueError):
    """A checkpoint file is of another run, damaged, or cannot be written."""


class MissingDependencyError(SFITError, ImportError):
    """An optional library is not installed; the message names the extra."""


class SFITWarning(UserWarning):
    """The answer is right, but something about it deserves a look."""
