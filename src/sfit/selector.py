"""Feature selection by significance, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from sfit._feature_significance import feature_significance
from sfit._result import SFITResult

__all__ = ["SFITSelector"]


class SFITSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keep the features that a model significantly uses.

    A clone of the estimator is fitted on a part of the rows and tested on the rest; a prefit model is
    tested on all of them. Features that are significant at any order are kept.

    Parameters
    ----------
    estimator : estimator
        What to fit; with ``prefit=True``, the fitted model.
    prefit : bool, default=False
        Whether the estimator is fitted already, on other rows.
    test_size : float, default=0.5
        Share of the rows to test on.
    loss, alpha, beta, max_order, correction, groups, partners, n_partners, strict
        As for `feature_significance`.
    reference : str, number, mapping, row or data set, optional
        As for `feature_significance`; by default the means of the rows that the clone was fitted on
        (of all rows for a prefit model).
    n_jobs : int, optional
        Number of joblib workers for the test.
    random_state : int, optional
        How the rows are split, and the seed of ``beta="auto"``.

    Attributes
    ----------
    result_ : SFITResult
        The test.
    estimator_ : estimator
        The fitted model.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, where they have any.

    Notes
    -----
    Section 4 of the paper selects the features of a credit model like this and fits it anew on them.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> selector = sfit.SFITSelector(LinearRegression(), random_state=0).fit(X, y)
    >>> selector.get_feature_names_out()
    array(['X1'], dtype=object)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        prefit: bool = False,
        test_size: float = 0.5,
        loss: Any = "auto",
        alpha: float = 0.05,
        beta: Any = 0.01,
        max_order: int = 1,
        correction: str | None = None,
        reference: Any = None,
        groups: Any = None,
        partners: Any = "auto",
        n_partners: int | None = None,
        strict: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prefit = prefit
        self.test_size = test_size
        self.loss = loss
        self.alpha = alpha
        self.beta = beta
        self.max_order = max_order
        self.correction = correction
        self.reference = reference
        self.groups = groups
        self.partners = partners
        self.n_partners = n_partners
        self.strict = strict
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> SFITSelector:
        """Fit a clone on a part of the rows, and test it on the others.

        Parameters
        ----------
        X : array or frame of shape (n, columns)
            The rows.
        y : array of shape (n,)
            What was observed.
        **fit_params
            Passed to the estimator's `fit`, cut to its rows where there is one value per row.

        Returns
        -------
        SFITSelector
            Itself.
        """
        validate_data(self, X, skip_check_array=True)
        reference = self.reference
        if self.prefit:
            check_is_fitted(self.estimator)
            self.estimator_, tested = self.estimator, (X, y)
            reference = "mean" if reference is None else reference
        else:
            params = process_routing(self, "fit", **fit_params).estimator.fit
            rows, held_out = self._split(X, y)
            X_fit = _safe_indexing(X, rows)
            params = _check_method_params(X, params, rows)
            self.estimator_ = clone(self.estimator).fit(X_fit, _safe_indexing(y, rows), **params)
            tested = (_safe_indexing(X, held_out), _safe_indexing(y, held_out))
            reference = X_fit if reference is None else reference
        self.result_: SFITResult = feature_significance(  # type: ignore[assignment]
            self.estimator_,
            *tested,
            loss=self.loss,
            alpha=self.alpha,
            beta=self.beta,
            max_order=self.max_order,
            correction=self.correction,
            reference=reference,
            groups=self.groups,
            partners=self.partners,
            n_partners=self.n_partners,
            strict=self.strict,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return self

    def _split(self, X: Any, y: Any) -> Sequence[npt.NDArray[np.intp]]:
        n = _num_samples(X)
        labels = np.asarray(y) if is_classifier(self.estimator) else None
        if labels is not None and np.unique(labels, return_counts=True)[1].min() < 2:
            labels = None
        return train_test_split(  # type: ignore[no-any-return]
            np.arange(n), test_size=self.test_size, random_state=self.random_state, stratify=labels
        )

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "result_")
        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)
        selected = set(self.result_.selected)
        for group, columns in (self.groups or {}).items():
            if str(group) in selected:
                selected |= {
                    labels[c] if names is None and isinstance(c, int) else c for c in columns
                }
        return np.asarray([label in selected for label in labels])

    def get_metadata_routing(self) -> MetadataRouter:
        """Parameters of `fit` go to the estimator's `fit`."""
        return MetadataRouter(owner=self).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = True
        return tags
