"""A reference that hides features by averaging over background rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfit._arguments import check_whole

MOST_ROWS = 1_000_000
"""More background rows must be a mistake: each multiplies the number of predictions."""


@dataclass(frozen=True, eq=False)
class Average:
    r"""Hide features by averaging predictions over background rows; pass it as ``reference=``.

    A hidden feature takes its values from a sample of rows, instead of one reference value. With no
    feature revealed, the base is the mean prediction over these rows.

    Parameters
    ----------
    data : array, sparse matrix, frame, path or data set
        The rows to draw from, ideally the training set: background rows taken from the test rows
        make the tests approximate. Columns are matched by name, if they have names. A path or data
        set is read as in `feature_significance`.
    n_rows : int, default=100
        Number of background rows, drawn once with `random_state`. If `data` has at most this many,
        all are used.

    See Also
    --------
    feature_significance : The call that takes this object as `reference`.
    sklearn.inspection.partial_dependence : The function that averaging gives.

    Notes
    -----
    Revealing the set T gives the partial dependence function of the model,

    .. math:: g_T(x) = \frac{1}{K} \sum_{k=1}^{K} f(x_T, b^{(k)}_{-T}),

    with the background rows :math:`b^{(1)}, \ldots, b^{(K)}`. In classification, probabilities are
    averaged. Unlike the mean of every column, background rows are rows that exist. A prediction
    costs up to K predictions of the model. For trees and networks, the cost of testing single
    features does not grow with the number of rows under test.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(6000, random_state=0)
    >>> average = sfit.Average(X[:1000], n_rows=50)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X[1000:], y[1000:], reference=average, random_state=0
    ... )
    >>> result.settings.reference
    'average of 50 rows of the given data'
    >>> result.settings.reference
    'average of 50 rows of the given data'
    """

    data: Any = field(repr=False)
    n_rows: int = field(default=100, kw_only=True)

    def __post_init__(self) -> None:
        n_rows = check_whole(self.n_rows, "Average: n_rows", most=MOST_ROWS)
        object.__setattr__(self, "n_rows", n_rows)
