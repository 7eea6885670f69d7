"""Significance tests for the features of fitted machine-learning models."""

from sfit import exceptions, models, simulate
from sfit._beta import choose_beta
from sfit._feature_significance import feature_significance
from sfit._loco import loco_significance
from sfit._result import BetaChoice, GateTest, PartitionedResult, SFITResult
from sfit._sign_test import power, rows_needed
from sfit._versions import show_versions
from sfit.selector import SFITSelector

__version__ = "0.1.0"

__all__ = [
    "BetaChoice",
    "GateTest",
    "PartitionedResult",
    "SFITResult",
    "SFITSelector",
    "choose_beta",
    "exceptions",
    "feature_significance",
    "loco_significance",
    "models",
    "power",
    "rows_needed",
    "show_versions",
    "simulate",
]
