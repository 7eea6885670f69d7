"""Feature selection by significance, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from pandas.api.types import is_hashable
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_array, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from sfit._arguments import as_seed, check_flag, check_level, shown, warn_of_order
from sfit._average import Average
from sfit._cross import cross_significance
from sfit._feature_significance import feature_significance
from sfit._features import positions_of
from sfit._request import check_folds
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import as_view
from sfit.rows import as_table, as_vector, column_names

__all__ = ["SFITSelector"]

NOT_IN_FOLDS = ("prefit", "test_size", "max_order", "partners", "n_partners", "strict")
"""Parameters that forward chaining does not use."""


class SFITSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Keep the features that are significant in a fitted model.

    A clone of the estimator is fitted on a part of the rows and tested on the rest; a prefit model
    is tested on all rows; with `cv`, models are fitted on growing parts of the rows. Features that
    are significant at any order are kept. `transform` follows scikit-learn's conventions, errors
    included: `NotFittedError` before `fit`, and `ValueError` for rows with other columns, or with
    missing values if neither the tags of the estimator allow them nor `fit` has seen any.

    Parameters
    ----------
    estimator : estimator
        The estimator to fit; with ``prefit=True``, the fitted model.
    prefit : bool, default=False
        Whether the estimator is already fitted, on other rows.
    test_size : float, default=0.5
        Share of the rows to test on.
    cv : int, optional
        Number of folds, for few rows: all folds but the first are tested, with
        `cross_significance`. Then `prefit`, `test_size`, `max_order`, `partners`, `n_partners`
        and `strict` must keep their defaults.
    test : {"permutation", "sign", "mean"} or a test object, default="permutation"
        The permutation test keeps features that are related to the outcome, the sign test those
        that improve the typical row, the mean test those that lower the mean loss. With `cv`, the
        mean test is refused.
    loss, alpha, beta, max_order, correction : as in `feature_significance`
        How the test decides; only the sign test has a beta.
    reference : str, number, mapping, row, data set or Average, optional
        As in `feature_significance`; by default an `Average` over the rows that the clone was
        fitted on. A prefit model has no such rows: then the default is the means of all rows. With
        `cv`, as in `cross_significance`.
    groups, partners, n_partners, strict : as in `feature_significance`
        Which sets are tested.
    n_jobs : int, optional
        Number of joblib workers for the test.
    random_state : int, optional
        Seed of the split of the rows, of the background rows, and of the test.

    Attributes
    ----------
    result_ : SFITResult
        The test.
    support_ : ndarray of bool of shape (columns,)
        Which columns are kept.
    estimator_ : estimator
        The fitted model; with `cv`, a clone fitted on all rows.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns, if they have names.

    See Also
    --------
    feature_significance : The test behind the selection.
    cross_significance : The test in folds, used for ``cv``.
    sklearn.feature_selection.SelectFromModel : Selection by an importance, without a test.

    Notes
    -----
    Section 4 of the paper selects the features of a credit model like this, and fits it again on
    them. The selection is :math:`\mathcal{S}_1 \cup \ldots \cup \mathcal{S}_m` for ``max_order``
    m: the members of every significant set.

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
        cv: int | None = None,
        test: Any = "permutation",
        loss: Any = "auto",
        alpha: float = 0.05,
        beta: Any = None,
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
        self.cv = cv
        self.test = test
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
        """Fit a clone on a part of the rows, and test it on the rest.

        Parameters
        ----------
        X : array or frame of shape (n, columns)
            The rows.
        y : array of shape (n,)
            The target.
        **fit_params
            Passed to the estimator's `fit`; arrays with one value per row are cut to its rows.

        Returns
        -------
        SFITSelector
            The selector itself.
        """
        check_flag(self.prefit, "prefit")
        check_level(self.test_size, "test_size")
        seed = as_seed(self.random_state)
        if isinstance(self.estimator, type) or not (self.prefit or hasattr(self.estimator, "fit")):
            raise ArgumentError(
                f"estimator must be an instance of an estimator, to be cloned and fitted (a fitted "
                f"model with prefit=True); got {self.estimator!r}."
            )
        X, y = _checked_rows(X, y)
        validate_data(self, X, skip_check_array=True)
        if self.cv is None:
            self._test_one_model(X, y, seed, fit_params)
        else:
            self._test_chain(X, y, seed, fit_params)
        self.support_ = self._supported(X)
        self._fitted_on_missing = _has_missing(X)
        return self

    def _test_one_model(self, X: Any, y: Any, seed: int, fit_params: dict[str, Any]) -> None:
        """Fit a clone on a part of the rows, unless the model is fitted, and test it."""
        reference = self.reference
        if self.prefit:
            if fit_params:
                raise ArgumentError(
                    f"{', '.join(fit_params)} would be passed to the estimator's fit, but with "
                    "prefit=True nothing is fitted: leave it out."
                )
            self.estimator_, tested = self.estimator, (X, y)
            reference = "mean" if reference is None else reference
        else:
            warn_of_order(X, y, "y")
            rows, held_out = self._split(X, y, seed)
            X_fit = _safe_indexing(X, rows)
            params = _check_method_params(X, self._routed(fit_params), rows)
            self.estimator_ = self._fitted(X_fit, _safe_indexing(y, rows), params)
            tested = (_safe_indexing(X, held_out), _safe_indexing(y, held_out))
            reference = Average(X_fit) if reference is None else reference
        self.result_ = feature_significance(
            self.estimator_,
            *tested,
            test=self.test,
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
            random_state=seed,
        )

    def _test_chain(self, X: Any, y: Any, seed: int, fit_params: dict[str, Any]) -> None:
        """Fit a clone on all rows, and test models fitted on growing parts of them."""
        n_folds = check_folds(self.cv, "cv")
        defaults = signature(SFITSelector).parameters
        given = [
            f"{name}={shown(getattr(self, name))}"
            for name in NOT_IN_FOLDS
            if not np.array_equal(getattr(self, name), defaults[name].default)
        ]
        if given or fit_params:
            raise ArgumentError(
                f"{', '.join([*given, *fit_params])} cannot be combined with cv={n_folds}: the "
                "estimator is fitted on several parts of the rows, and single features are tested. "
                "Omit it, or omit cv."
            )
        self.estimator_ = self._fitted(X, y, {})
        self.result_ = cross_significance(
            self.estimator,
            X,
            y,
            n_folds=n_folds,
            test=self.test,
            loss=self.loss,
            alpha=self.alpha,
            beta=self.beta,
            correction=self.correction,
            reference="average" if self.reference is None else self.reference,
            groups=self.groups,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _fitted(self, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """A clone of the estimator, fitted on these rows."""
        try:
            return clone(self.estimator).fit(X, y, **params)
        except ValueError as error:
            raise ModelError(
                f"{type(self.estimator).__name__} could not be fitted on {_num_samples(X)} of the "
                f"rows: {type(error).__name__}: {error}"
            ) from error

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that the estimator's fit requests; without metadata routing, all."""
        if not get_config()["enable_metadata_routing"]:
            return fit_params
        return dict(process_routing(self, "fit", **fit_params).estimator.fit)

    def _split(self, X: Any, y: Any, seed: int) -> Sequence[npt.NDArray[np.intp]]:
        n = _num_samples(X)
        labels = np.asarray(y) if is_classifier(self.estimator) else None
        if labels is not None and np.unique(labels, return_counts=True)[1].min() < 2:
            labels = None
        try:
            return train_test_split(
                np.arange(n),
                test_size=float(self.test_size),
                random_state=seed % 2**32,
                stratify=labels,
            )
        except ValueError as error:
            raise DataError(
                f"{n} rows cannot be split into rows to fit and rows to test: {error}"
            ) from error

    def _supported(self, X: Any) -> npt.NDArray[np.bool_]:
        """Which columns belong to a significant feature."""
        names = column_names(as_table(X))
        fitted = as_view(self.estimator_, self.loss).names
        numbered = tuple(f"x{position}" for position in range(self.n_features_in_))
        labels = names or fitted or numbered
        selected = set(self.result_.selected)
        unnamed = range(len(labels)) if names is None else ()
        for group, columns in (self.groups or {}).items():
            if str(group) in selected:
                members = positions_of(columns, labels, "groups", unnamed)
                selected.update(labels[position] for position in members)
        return np.asarray([label in selected for label in labels])

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def get_metadata_routing(self) -> MetadataRouter:
        """Route the parameters of `fit` to the estimator's `fit`.

        Returns
        -------
        MetadataRouter
            The router, as scikit-learn requires.
        """
        return MetadataRouter(owner=self).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            inner = get_tags(self.estimator)
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.sparse = inner.input_tags.sparse
        # The tags of Pipelines do not mention missing values, and other models have no tags.
        tags.input_tags.allow_nan |= getattr(self, "_fitted_on_missing", False)
        tags.target_tags.required = True
        return tags


def _has_missing(X: Any) -> bool:
    """Whether scikit-learn would refuse these rows for missing values."""
    try:
        check_array(X, dtype=None, accept_sparse=True)
    except ValueError:
        return True
    return False


def _checked_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and target of equal length, in types that can be indexed by row."""
    if y is None:
        raise DataError("SFITSelector requires y to be passed, but the target y is None.")
    try:
        n = _num_samples(X)
    except TypeError as error:
        raise DataError(
            f"X must be an array or a frame of rows held in memory; got {type(X).__name__}."
        ) from error
    as_vector(y, "y", n)
    rows, target = indexable(X, y)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        odd = [type(cell).__name__ for cell in np.ravel(rows) if not is_hashable(cell)]
        if odd:
            # The message of scikit-learn's estimators for such cells, which its checks require.
            raise TypeError(f"X: argument must be a string or a real number, not {odd[0]!r}")
    return rows, target
