"""Comparisons: two models, two features, several parts of the rows.

`_request.py` checks the arguments, `_gains.py` turns features into contrasts; each kind of
comparison has a file with its call and one with its result. `_base.py` has what results share,
`_grid.py` their tables of text.
"""

from sfit.compare._base import Comparison, ComparisonSettings
from sfit.compare._feature_result import FeatureComparison
from sfit.compare._features import compare_features
from sfit.compare._grid import Grid
from sfit.compare._model_result import ModelComparison
from sfit.compare._models import compare_models
from sfit.compare._part_result import PartComparison
from sfit.compare._parts import compare_parts

__all__ = [
    "Comparison",
    "ComparisonSettings",
    "FeatureComparison",
    "Grid",
    "ModelComparison",
    "PartComparison",
    "compare_features",
    "compare_models",
    "compare_parts",
]
