"""Checks of scikit-learn models whose arrays compiled code uses without bounds checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._bagging import BaseBagging
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.neighbors import BallTree, KDTree
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from sfit.cli.model_files._tree_nodes import check_nodes


def check(part: Any) -> None:
    """Refuse a part whose arrays would lead scikit-learn out of bounds."""
    for kinds, look in CHECKS:
        if isinstance(part, kinds):
            look(part)


def _check_tree(tree: Any) -> None:
    leaf = tree.children_left == -1
    check_nodes(tree.children_left, tree.children_right, leaf, tree.feature, tree.n_features)


def _check_decision_tree(model: Any) -> None:
    if "tree_" not in vars(model):
        return
    if not isinstance(model.tree_, Tree) or model.tree_.n_features != model.n_features_in_:
        raise ValueError("a tree and its model differ in their number of columns")


def _check_ensemble(model: Any) -> None:
    """Members get the rows of the ensemble unchecked, so their widths must agree."""
    members = np.ravel(np.asarray(getattr(model, "estimators_", ()), dtype=object))
    if isinstance(model, BaseBagging):
        widths = [len(columns) for columns in model.estimators_features_]
    elif isinstance(model, BaseForest | BaseGradientBoosting):
        widths = [model.n_features_in_] * len(members)
        if not all(isinstance(member, BaseDecisionTree) for member in members):
            raise ValueError("a member of a forest is not a tree")
    else:
        return
    fitted = [getattr(member, "n_features_in_", None) for member in members]
    if len(members) and fitted != widths:
        raise ValueError("an ensemble and a member differ in their number of columns")
    if isinstance(model, BaseGradientBoosting) and len(members):
        shape = np.shape(model.estimators_)
        if len(shape) != 2 or shape[1] != model.n_trees_per_iteration_:
            raise ValueError("boosting rounds have the wrong number of trees")
        if any(member.tree_.value.shape[1:] != (1, 1) for member in members):
            raise ValueError("a boosted tree has more than one value per leaf")


def _check_histogram_tree(tree: Any) -> None:
    nodes = tree.nodes
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    leaf = nodes["is_leaf"] != 0
    # Only the model knows the number of columns: see below.
    check_nodes(left, right, leaf, nodes["feature_idx"], np.iinfo(np.int64).max)
    sets = nodes["bitset_idx"][~leaf & (nodes["is_categorical"] != 0)]
    for bits in (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets):
        if np.ndim(bits) != 2 or bits.shape[1] != 8 or (len(sets) and sets.max() >= len(bits)):
            raise ValueError("a tree refers to categories that do not exist")


def _check_histogram_boosting(model: Any) -> None:
    n = model.n_features_in_
    trees = [tree for members in model._predictors for tree in members]
    if not all(isinstance(tree, TreePredictor) for tree in trees):
        raise ValueError("a member of a boosted model is not a tree")
    for tree in trees:
        nodes = tree.nodes[tree.nodes["is_leaf"] == 0]
        if len(nodes) and nodes["feature_idx"].max() >= n:
            raise ValueError(f"a tree splits on a column that does not exist (there are {n})")
    if len(model._bin_mapper.is_categorical_) != n:
        raise ValueError("the categories do not match the columns of the model")
    if model._preprocessor is not None:
        chosen = [np.arange(n)[columns] for _, _, columns in model._preprocessor.transformers_]
        if not np.array_equal(np.sort(np.concatenate(chosen)), np.arange(n)):
            raise ValueError("the preprocessor of a boosted model drops columns")


def _check_neighbours(tree: Any) -> None:
    data, index, nodes, bounds, _, _, n_nodes, *_, metric, weight = tree.__getstate__()
    n, d = data.shape
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    sound = (
        np.array_equal(np.sort(index), np.arange(n))
        and 0 < n_nodes == len(nodes)
        and bounds.shape[1:] == (n_nodes, d)
        and (isinstance(tree, BallTree) or len(bounds) == 2)
        and len(bounds) > 0
        and (nodes["idx_start"] >= 0).all()
        and (nodes["idx_start"] <= nodes["idx_end"]).all()
        and (nodes["idx_end"] <= n).all()
        and (not len(inner) or 2 * inner.max() + 2 < n_nodes)
        and (weight is None or len(weight) == n)
    )
    if not sound:
        raise ValueError("a neighbour index is inconsistent")
    _check_metric(metric, d)


def _check_metric(metric: Any, d: int) -> None:
    metric._validate_data(np.zeros((1, d)))
    if "Mahalanobis" in type(metric).__name__ and metric.__getstate__()[2].shape != (d, d):
        raise ValueError("a distance and its model differ in their number of columns")


def _check_svm(model: Any) -> None:
    if "support_vectors_" not in vars(model):
        return
    # Of the class, not of the file: libsvm reads arrays whose sizes follow from it.
    classifies = type(model)._impl in ("c_svc", "nu_svc")
    sound = (
        model._impl == type(model)._impl
        and _sound_counts(model, classifies)
        and _sound_coefficients(model)
        and _sound_vectors(model, classifies)
    )
    if not sound:
        raise ValueError("the support vectors do not match the model")


def _sound_counts(model: Any, classifies: bool) -> bool:
    """Whether the numbers of support vectors, class by class, fit their total."""
    counts, (n, _) = np.asarray(model._n_support), model.support_vectors_.shape
    return bool(
        len(counts) >= 2
        and (classifies or len(counts) == 2)
        and (counts >= 0).all()
        and (counts.sum() == n if classifies else (counts <= max(n, len(model.support_))).all())
    )


def _sound_coefficients(model: Any) -> bool:
    """Whether there are as many coefficients as support vectors and pairs of classes."""
    n_classes = len(model._n_support)
    pairs = n_classes * (n_classes - 1) // 2
    return (
        model._dual_coef_.shape == (n_classes - 1, len(model.support_))
        and model._intercept_.shape == (pairs,)
        and all(len(one) in (0, pairs) for one in (model._probA, model._probB))
        and len(model._probA) == len(model._probB)
    )


def _sound_vectors(model: Any, classifies: bool) -> bool:
    """Whether the support vectors fit the columns, the classes and the training rows."""
    n, width = model.support_vectors_.shape
    precomputed = model.kernel == "precomputed" or callable(model.kernel)
    return (
        (precomputed or (width == model.n_features_in_ and len(model.support_) == n))
        and (not classifies or len(model.classes_) == len(model._n_support))
        and (not len(model.support_) or model.support_.min() >= 0)
        and (not len(model.support_) or model.support_.max() < model.shape_fit_[0])
        and (model.kernel != "precomputed" or model.shape_fit_[0] == model.n_features_in_)
    )


def _check_words(model: Any) -> None:
    words = getattr(model, "vocabulary_", {})
    if sorted(words.values()) != list(range(len(words))):
        raise ValueError("a vocabulary refers to columns that do not exist")


def _check_hashes(model: Any) -> None:
    if not 1 <= model.n_features < 2**31:
        raise ValueError(f"hashing to {model.n_features} columns is impossible")


CHECKS: tuple[tuple[Any, Any], ...] = (
    (Tree, _check_tree),
    (BaseDecisionTree, _check_decision_tree),
    (BaseEnsemble, _check_ensemble),
    (TreePredictor, _check_histogram_tree),
    (BaseHistGradientBoosting, _check_histogram_boosting),
    (KDTree | BallTree, _check_neighbours),
    (BaseLibSVM, _check_svm),
    (CountVectorizer, _check_words),
    (FeatureHasher | HashingVectorizer, _check_hashes),
)
