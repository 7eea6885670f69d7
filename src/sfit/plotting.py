"""Displays in the manner of scikit-learn.

``plot(ax=None)`` draws, keeps its artists, and shows nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfit.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from sfit._result import BetaChoice

__all__ = ["BetaCurveDisplay"]

# Okabe and Ito's colours, told apart by colour-blind readers.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7F7F7F"


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError('plots need matplotlib: pip install "sfit[plot]".') from error
    return plt.subplots()[1] if ax is None else ax


class BetaCurveDisplay:
    """Rejection rate of random models against beta, with the level and the choice.

    Parameters
    ----------
    choice : BetaChoice
        What `choose_beta` returned.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    curve_, level_, choice_
        The lines drawn.
    """

    def __init__(self, choice: BetaChoice) -> None:
        self.choice = choice

    def plot(self, ax: Any = None) -> BetaCurveDisplay:
        """Draw on `ax`, or on axes of its own.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        BetaCurveDisplay
            Itself.
        """
        self.ax_ = ax = _axes(ax)
        self.figure_ = ax.figure
        choice, curve = self.choice, self.choice.curve
        # beta = 0 has no place on a logarithmic axis: the first step starts at the left edge.
        positive = curve["beta"][curve["beta"] > 0]
        left = min(1e-6, positive.min() / 10) if len(positive) else 1e-6
        right = max(0.1, 3 * curve["beta"].max())
        betas = np.append(np.maximum(curve["beta"], left), right)
        rates = np.append(curve["rate"], curve["rate"].iloc[-1])
        [self.curve_] = ax.step(betas, rates, where="post", color=BLUE, label="random models")
        self.level_ = ax.axhline(
            choice.alpha, color=GREY, linestyle="--", label=f"alpha = {choice.alpha:g}"
        )
        self.choice_ = ax.axvline(
            max(choice.beta, left), color=ORANGE, label=f"beta = {choice.beta:.3g}"
        )
        ax.set(
            xscale="log",
            xlim=(left, right),
            ylim=(0, None),
            xlabel="beta",
            ylabel="share of tests that reject",
            title=f"{choice.n_models} random models, {choice.n_rows:,} rows",
        )
        ax.legend(frameon=False)
        return self
