"""Significance tests for the features of fitted machine-learning models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfit import exceptions, models, simulate
    from sfit._audit import Audit, audit
    from sfit._average import Average
    from sfit._beta import choose_beta
    from sfit._beta_choice import BetaChoice
    from sfit._cross import cross_significance
    from sfit._feature_significance import feature_significance
    from sfit._loco import loco_significance
    from sfit._mean_test import MeanTest
    from sfit._partitioned import PartitionedResult
    from sfit._permutation_test import PermutationTest
    from sfit._power import power, rows_needed
    from sfit._result import SFITResult
    from sfit._set_tests import GateTest
    from sfit._sign_test import SignTest
    from sfit._versions import show_versions
    from sfit.compare import (
        FeatureComparison,
        ModelComparison,
        PartComparison,
        compare_features,
        compare_models,
        compare_parts,
    )
    from sfit.selector import SFITSelector

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Average",
    "BetaChoice",
    "FeatureComparison",
    "GateTest",
    "MeanTest",
    "ModelComparison",
    "PartComparison",
    "PartitionedResult",
    "PermutationTest",
    "SFITResult",
    "SFITSelector",
    "SignTest",
    "audit",
    "choose_beta",
    "compare_features",
    "compare_models",
    "compare_parts",
    "cross_significance",
    "exceptions",
    "feature_significance",
    "loco_significance",
    "models",
    "power",
    "rows_needed",
    "show_versions",
    "simulate",
]

# Where each name lives; modules live in files of their own name. Imported on first use, so
# `sfit --help` and a misspelt option need not wait for SciPy, scikit-learn and pandas.
_HOMES = {
    "Audit": "_audit",
    "Average": "_average",
    "BetaChoice": "_beta_choice",
    "FeatureComparison": "compare",
    "GateTest": "_set_tests",
    "MeanTest": "_mean_test",
    "ModelComparison": "compare",
    "PartComparison": "compare",
    "PartitionedResult": "_partitioned",
    "PermutationTest": "_permutation_test",
    "SFITResult": "_result",
    "SFITSelector": "selector",
    "SignTest": "_sign_test",
    "audit": "_audit",
    "choose_beta": "_beta",
    "compare_features": "compare",
    "compare_models": "compare",
    "compare_parts": "compare",
    "cross_significance": "_cross",
    "feature_significance": "_feature_significance",
    "loco_significance": "_loco",
    "power": "_power",
    "rows_needed": "_power",
    "show_versions": "_versions",
}

# Hidden from type checkers, who would take any name for granted.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_HOMES.get(name, name)}")
        found = getattr(module, name) if name in _HOMES else module
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
