"""All exceptions and warnings of the package.

SFITError
├── ArgumentError (ValueError)           an argument is invalid or conflicts with another
├── DataError (ValueError)               the rows cannot be used
├── ModelError (ValueError)              the model or its output cannot be used
├── BetaError (ValueError)               no beta up to `max_beta` is sufficient
├── CheckpointError (ValueError)         a checkpoint is from another run, damaged or not writable
└── MissingDependencyError (ImportError) an optional library is not installed

SFITWarning (UserWarning)                the result is correct but needs attention
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
    """Base class of all errors that sfit raises.

    Examples
    --------
    >>> import sfit
    >>> try:
    ...     sfit.power(100, 2.0)
    ... except sfit.exceptions.SFITError as error:
    ...     print(error)
    probability must lie between 0 and 1; got 2.0.
    """


class ArgumentError(SFITError, ValueError):
    """An argument is out of range, unknown, or conflicts with another.

    Examples
    --------
    >>> import sfit
    >>> sfit.power(100, 2.0)
    Traceback (most recent call last):
        ...
    sfit.exceptions.ArgumentError: probability must lie between 0 and 1; got 2.0.
    """


class DataError(SFITError, ValueError):
    """The rows cannot be used.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(1000, random_state=0)
    >>> model = sfit.simulate.interactions_mean
    >>> sfit.feature_significance(model, X, y[:10])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sfit.exceptions.DataError: y and X must have the same number of rows; ...
    """


class ModelError(SFITError, ValueError):
    """The model or its output cannot be used.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(1000, random_state=0)
    >>> sfit.feature_significance(5, X, y)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sfit.exceptions.ModelError: model must be a fitted model ...
    """


class BetaError(SFITError, ValueError):
    """No beta up to `max_beta` keeps the rejection rate of the random models at the level.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(1000, random_state=0)
    >>> model = sfit.simulate.interactions_mean
    >>> sfit.choose_beta(model, X, y, random_model=lambda rng: model)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sfit.exceptions.BetaError: no beta up to max_beta=0.1 ...
    """


class CheckpointError(SFITError, ValueError):
    """A checkpoint file is from another run, is damaged, or cannot be written.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(1000, random_state=0)
    >>> try:
    ...     sfit.feature_significance(
    ...         sfit.simulate.interactions_mean,
    ...         X,
    ...         y,
    ...         checkpoint="no/such/folder/run.sqlite",
    ...         checkpoint_key="the true formula",
    ...     )
    ... except sfit.exceptions.CheckpointError as error:
    ...     print(str(error).partition(" (")[0])
    checkpoint 'no/such/folder/run.sqlite' cannot be written or read
    """


class MissingDependencyError(SFITError, ImportError):
    """An optional library is not installed; the message says what to install.

    Examples
    --------
    >>> import sfit
    >>> issubclass(sfit.exceptions.MissingDependencyError, ImportError)
    True
    """


class SFITWarning(UserWarning):
    """The result is correct, but something about it needs attention.

    Examples
    --------
    >>> import warnings
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(4, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> caught[0].category.__name__
    'SFITWarning'
    """
