"""The splits and the leaves of scikit-learn's trees, forests and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.tree import BaseDecisionTree

from sfit._array import Array
from sfit.models._trees import Tree, join
from sfit.models._view import Trees


def structure(model: Any) -> Trees | None:
    """The splits of a fitted tree model; None if its trees do not determine its predictions."""
    if not _predicts_by_trees(model):
        return None
    if isinstance(model, BaseHistGradientBoosting):
        columns = _columns(model)
        predictors = [tree for iteration in model._predictors for tree in iteration]
        return join([_histogram(tree.nodes, columns) for tree in predictors], "f8", strict=False)
    members = _members(model)
    trees = join([_tree(member.tree_) for member in members], "f4", strict=False)
    if not isinstance(model, BaseForest):
        return trees
    return replace(trees, members=tuple(_member_prediction(member) for member in members))


def randomized(model: Any, rng: np.random.Generator) -> Any | None:
    """A copy whose fitted leaf values are permuted among the leaves of each tree, or None."""
    if not _predicts_by_trees(model):
        return None
    if isinstance(model, BaseDecisionTree):
        return _shuffled_tree(model, rng)
    copied = copy(model)
    if isinstance(model, BaseHistGradientBoosting):
        copied._predictors = [
            [_shuffled_histogram(tree, rng) for tree in iteration]
            for iteration in model._predictors
        ]
    else:
        members = [_shuffled_tree(member, rng) for member in _members(model)]
        boosted = isinstance(model, BaseGradientBoosting)
        copied.estimators_ = (
            np.array(members, dtype=object).reshape(model.estimators_.shape) if boosted else members
        )
    return copied


def categorical(model: Any) -> frozenset[int]:
    """Columns that histogram boosting treats as categories."""
    mask = getattr(model, "is_categorical_", None)
    return frozenset() if mask is None else frozenset(np.flatnonzero(mask).tolist())


def _predicts_by_trees(model: Any) -> bool:
    """Whether the leaves of the model's trees alone determine its predictions."""
    family = BaseDecisionTree | BaseForest | BaseGradientBoosting | BaseHistGradientBoosting
    if not isinstance(model, family):
        return False
    if isinstance(model, BaseGradientBoosting) and not (model.init is None or model.init == "zero"):
        return False  # the user's initial estimator may use any feature
    methods = (getattr_static(type(model), name, None) for name in ("predict", "predict_proba"))
    # A third-party subclass may use more than leaf values, as quantile forests do.
    return all(method is None or method.__module__.startswith("sklearn.") for method in methods)


def _members(model: Any) -> list[Any]:
    if isinstance(model, BaseDecisionTree):
        return [model]
    return list(np.ravel(np.asarray(model.estimators_, dtype=object)))


def _member_prediction(member: Any) -> Callable[[Array], Array]:
    predict = member.predict_proba if is_classifier(member) else member.predict
    return partial(predict, check_input=False)


def _tree(tree: Any) -> Tree:
    # scikit-learn compares float32 values with float64 thresholds. The largest float32 that still
    # goes left is an equivalent threshold in float32.
    rounded = tree.threshold.astype(np.float32)
    too_large = rounded > tree.threshold
    rounded[too_large] = np.nextafter(rounded[too_large], np.float32(-np.inf))
    return Tree(
        feature=tree.feature,
        threshold=rounded,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left,
        categorical=np.zeros(tree.node_count, dtype=bool),
    )


def _histogram(nodes: Array, columns: Array) -> Tree:
    return Tree(
        feature=columns[nodes["feature_idx"]],
        threshold=nodes["num_threshold"],
        left=np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.intp)),
        right=nodes["right"].astype(np.intp),
        missing_left=nodes["missing_go_to_left"],
        categorical=nodes["is_categorical"],
    )


def _columns(model: Any) -> Array:
    """The user's column behind each column of histogram boosting."""
    mask = model.is_categorical_
    if mask is None:
        return np.arange(model.n_features_in_)
    # Its preprocessor encodes categories, and puts them before the numeric columns.
    return np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)])


def _shuffled_tree(member: Any, rng: np.random.Generator) -> Any:
    copied = copy(member)
    copied.tree_ = deepcopy(member.tree_)
    leaves = copied.tree_.children_left < 0
    values = copied.tree_.value  # a view into the copied tree
    values[leaves] = rng.permutation(values[leaves])
    return copied


def _shuffled_histogram(predictor: Any, rng: np.random.Generator) -> Any:
    copied = copy(predictor)
    copied.nodes = predictor.nodes.copy()
    leaves = copied.nodes["is_leaf"].astype(bool)
    copied.nodes["value"][leaves] = rng.permutation(copied.nodes["value"][leaves])
    return copied
