"""Displays in the manner of scikit-learn.

``plot(ax=None)`` draws, keeps its artists, and shows nothing by itself. Text and frames follow
matplotlib's own style, and the colours stand out from white and from black alike, so that every
display can be used in a light or a dark style.
"""

from sfit.plotting._betas import BetaCurveDisplay, SignificanceBetaDisplay
from sfit.plotting._delta import DeltaDisplay
from sfit.plotting._importance import ImportanceDisplay
from sfit.plotting._interactions import InteractionDisplay
from sfit.plotting._parts import PartsDisplay

__all__ = [
    "BetaCurveDisplay",
    "DeltaDisplay",
    "ImportanceDisplay",
    "InteractionDisplay",
    "PartsDisplay",
    "SignificanceBetaDisplay",
]
