"""Displays in the manner of scikit-learn.

``plot(ax=None)`` draws, keeps its artists, and never calls ``plt.show``. Text and frames follow the
current matplotlib style, and the colours contrast with white and with black, so every display works
in a light or a dark style.
"""

from sfit.plotting._betas import BetaCurveDisplay, SignificanceBetaDisplay
from sfit.plotting._build_up import BuildUpDisplay
from sfit.plotting._coin import CoinDisplay
from sfit.plotting._delta import DeltaDisplay
from sfit.plotting._importance import ImportanceDisplay
from sfit.plotting._interactions import InteractionDisplay
from sfit.plotting._models import ModelsDisplay
from sfit.plotting._part_gains import PartGainsDisplay
from sfit.plotting._parts import PartsDisplay
from sfit.plotting._ranks import RanksDisplay
from sfit.plotting._response import ResponseDisplay
from sfit.plotting._ribbons import RibbonsDisplay
from sfit.plotting._rise import RiseDisplay

__all__ = [
    "BetaCurveDisplay",
    "BuildUpDisplay",
    "CoinDisplay",
    "DeltaDisplay",
    "ImportanceDisplay",
    "InteractionDisplay",
    "ModelsDisplay",
    "PartGainsDisplay",
    "PartsDisplay",
    "RanksDisplay",
    "ResponseDisplay",
    "RibbonsDisplay",
    "RiseDisplay",
    "SignificanceBetaDisplay",
]
