"""The beta that random models need: the result of `choose_beta`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit._arguments import check_unit


@dataclass(frozen=True)
class BetaChoice:
    r"""The beta chosen on random models, and the evidence for it.

    Attributes
    ----------
    beta : float
        The smallest sufficient beta (the smallest of the grid, if there is one).
    alpha : float
        The level that the rejection rate must stay below.
    thresholds : tuple of tuple of float
        For each random model and feature, the smallest beta at which its test does not reject.
    feature_names : tuple of str
        The features, in the order of the thresholds.
    n_rows : int
        Number of validation rows.
    grid : tuple of float or None
        The candidate betas; None: all betas.
    seed : int
        Seed of the random models.

    See Also
    --------
    choose_beta : The call that returns it.

    Notes
    -----
    A test of a random model rejects while beta is below its threshold, so the share of tests that
    reject is a step function of beta: :math:`r(\beta) = \#\{t > \beta\} / N` for the N
    thresholds t. `beta` is the smallest with :math:`r(\beta) < \alpha` (section 2.2 of the paper).

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> model = LinearRegression().fit(X[:2000], y[:2000])
    >>> choice = sfit.choose_beta(model, X[2000:], y[2000:], random_state=0)
    >>> choice.rate(0.0) > choice.alpha > choice.rate(choice.beta)
    True
    """

    beta: float
    alpha: float
    thresholds: tuple[tuple[float, ...], ...]
    feature_names: tuple[str, ...]
    n_rows: int
    grid: tuple[float, ...] | None
    seed: int

    @property
    def n_models(self) -> int:
        """Number of random models."""
        return len(self.thresholds)

    @property
    def curve(self) -> pd.DataFrame:
        """The step function: share `rate` of the tests rejects from this `beta` up to the next."""
        steps = np.unique(np.append(0.0, np.ravel(self.thresholds)))
        return pd.DataFrame({"beta": steps, "rate": [self.rate(beta) for beta in steps]})

    def rate(self, beta: float) -> float:
        """Share of (model, feature) tests that reject at a given beta.

        Parameters
        ----------
        beta : float
            The beta of the tests.

        Returns
        -------
        float
            Between 0 and 1.
        """
        beta = check_unit(beta, "beta")
        return float(np.mean(np.asarray(self.thresholds) > beta))

    def plot(self, ax: Any = None) -> Any:
        """Draw the rejection rate of random models against beta.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        BetaCurveDisplay
            The display, drawn.
        """
        from sfit.plotting import BetaCurveDisplay

        return BetaCurveDisplay(self).plot(ax=ax)
