"""Comparisons: two models, two features, several parts of the rows.

`_request.py` checks the arguments, `_gains.py` turns features into contrasts; each kind of
comparison has a file with its call and its result. `_base.py` holds what the results share.
"""

from sfit.compare._base import Comparison, ComparisonSettings, Grid

__all__ = ["Comparison", "ComparisonSettings", "Grid"]
