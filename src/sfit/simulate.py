"""The paper's data-generating processes: section 3 (interactions) and section 1 (correlation)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sfit._arguments import as_number, check_at_least_zero, check_whole, shown
from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError

__all__ = ["correlated", "interactions", "interactions_mean"]


def interactions(
    n: int, *, noise: float = 0.01, random_state: Any = None
) -> tuple[pd.DataFrame, Array]:
    r"""Draw the rows of section 3: two features matter alone, three only in pairs, two not at all.

    Parameters
    ----------
    n : int
        Number of rows.
    noise : float, default=0.01
        Standard deviation of the noise.
    random_state : int or Generator, optional
        Seed or generator of the rows.

    Returns
    -------
    X : DataFrame of shape (n, 7)
        Independent standard normal features `X1` to `X7`.
    y : ndarray of shape (n,)
        The target.

    Notes
    -----
    Section 3 of the paper: :math:`Y = 3 + 4 X_1 + X_1 X_2 + 3 X_3^2 + 2 X_4 X_5 + \epsilon`.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 7), (100,))
    """
    check_whole(n, "n")
    noise = check_at_least_zero(noise, "noise")
    rng = _generator(random_state)
    X = pd.DataFrame(rng.normal(size=(n, 7)), columns=[f"X{j}" for j in range(1, 8)])
    return X, interactions_mean(X) + rng.normal(scale=noise, size=n)


def interactions_mean(X: Any) -> Array:
    r"""The true regression function of section 3: the perfect model of `interactions`.

    Parameters
    ----------
    X : array or frame of shape (n, 7)
        Rows, with the features in order.

    Returns
    -------
    ndarray of shape (n,)
        The expected outcome of each row.

    Notes
    -----
    Section 3 of the paper: :math:`\mu(x) = 3 + 4 x_1 + x_1 x_2 + 3 x_3^2 + 2 x_4 x_5`.

    Examples
    --------
    >>> import numpy as np, sfit
    >>> sfit.simulate.interactions_mean(np.ones((1, 7)))
    array([13.])
    """
    x = np.asarray(X)
    if x.ndim != 2 or x.shape[1] < 5 or x.dtype.kind not in "biuf":
        raise DataError(
            f"X must hold rows of numbers with the features X1 to X7; got shape {x.shape} of "
            f"{x.dtype}."
        )
    return np.asarray(
        3 + 4 * x[:, 0] + x[:, 0] * x[:, 1] + 3 * x[:, 2] ** 2 + 2 * x[:, 3] * x[:, 4]
    )


def correlated(
    n: int, *, correlation: float = 0.85, noise_variance: float = 10.0, random_state: Any = None
) -> tuple[pd.DataFrame, Array]:
    r"""Draw the rows of section 1: two features that matter equally and are highly correlated.

    Parameters
    ----------
    n : int
        Number of rows.
    correlation : float, default=0.85
        Correlation of the two standard normal features.
    noise_variance : float, default=10.0
        Variance of the noise.
    random_state : int or Generator, optional
        Seed or generator of the rows.

    Returns
    -------
    X : DataFrame of shape (n, 2)
        The features `X1` and `X2`.
    y : ndarray of shape (n,)
        The target.

    Notes
    -----
    Section 1 of the paper: :math:`Y = 2 + X_1 + X_2 + \epsilon`. The paper writes the noise as
    N(0, 10); with 10 as the variance, the results match the paper's numbers.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.correlated(10_000, random_state=0)
    >>> round(float(X.corr().iloc[0, 1]), 2)
    0.85
    """
    check_whole(n, "n")
    rho = as_number(correlation)
    if rho is None or not -1 <= rho <= 1:
        raise ArgumentError(f"correlation must lie between -1 and 1; got {shown(correlation)}.")
    noise_variance = check_at_least_zero(noise_variance, "noise_variance")
    rng = _generator(random_state)
    first, second = rng.normal(size=(2, n))
    second = rho * first + np.sqrt(1 - rho**2) * second
    y = 2 + first + second + rng.normal(scale=np.sqrt(noise_variance), size=n)
    return pd.DataFrame({"X1": first, "X2": second}), y


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "random_state must be None, a whole number of at least 0, or a NumPy generator; got "
            f"{shown(random_state)}."
        ) from error
