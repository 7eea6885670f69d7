"""Checks of LightGBM and XGBoost trees, after their library has read them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sfit.cli.model_files._tree_nodes import check_nodes, check_segments


def check(part: Any) -> None:
    """Refuse a booster whose arrays would lead its library out of bounds."""
    name = f"{type(part).__module__}.{type(part).__name__}"
    if name == "lightgbm.basic.Booster":
        _check_lightgbm(part.model_to_string(num_iteration=-1))
    elif name == "xgboost.core.Booster":
        _check_xgboost(json.loads(part.save_raw("json"))["learner"])


# --- LightGBM -------------------------------------------------------------------------------


def _check_lightgbm(text: str) -> None:
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    header, *trees = [
        {key: value for key, _, value in (line.partition("=") for line in part.splitlines())}
        for part in (head, *blocks)
    ]
    n_columns = int(header["max_feature_idx"]) + 1
    for tree in trees:
        _check_lightgbm_tree(tree, n_columns)


def _check_lightgbm_tree(tree: dict[str, str], n_columns: int) -> None:
    def whole(key: str) -> Any:
        return np.array(tree.get(key, "").split(), dtype=np.float64).astype(np.int64)

    n_leaves = int(tree["num_leaves"])
    n = n_leaves - 1
    left, right, feature = whole("left_child")[:n], whole("right_child")[:n], whole("split_feature")
    if n_leaves < 1 or not len(left) == len(right) == len(feature[:n]) == n:
        raise ValueError("a tree has the wrong number of splits")
    # Leaves are numbered after the splits; the text calls them -1, -2, ...
    left, right = (
        np.concatenate([np.where(child < 0, n + ~child, child), np.zeros(n_leaves, np.int64)])
        for child in (left, right)
    )
    check_nodes(left, right, np.arange(n + n_leaves) >= n, feature, n_columns)
    boundaries, n_words = whole("cat_boundaries"), len(whole("cat_threshold"))
    check_segments(boundaries[:-1], np.diff(boundaries), n_words)
    sets = whole("threshold")[:n][whole("decision_type")[:n] & 1 == 1]
    if len(sets) and not (sets.min() >= 0 and sets.max() < len(boundaries) - 1):
        raise ValueError("a tree refers to categories that do not exist")
    in_leaves = whole("leaf_features")
    if len(in_leaves) and not (in_leaves.min() >= 0 and in_leaves.max() < n_columns):
        raise ValueError(f"a leaf uses a column that does not exist (there are {n_columns})")


# --- XGBoost --------------------------------------------------------------------------------


def _check_xgboost(learner: dict[str, Any]) -> None:
    param = learner["learner_model_param"]
    n_columns, n_groups = int(param["num_feature"]), max(1, int(param["num_class"]))
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        if len(booster["model"]["weights"]) != (n_columns + 1) * n_groups:
            raise ValueError("a linear model has the wrong number of weights")
        return
    model = booster.get("gbtree", booster)["model"]
    trees, groups = model["trees"], np.asarray(model["tree_info"], dtype=np.int64)
    ends = np.asarray(model.get("iteration_indptr", [0, len(trees)]), dtype=np.int64)
    if len(groups) != len(trees) or (len(groups) and not 0 <= groups.min() <= groups.max()):
        raise ValueError("trees belong to no class")
    n_groups = max(n_groups, int(param.get("num_target", 1)))
    if len(groups) and groups.max() >= n_groups:
        raise ValueError(f"a tree belongs to class {groups.max()} of {n_groups}")
    if ends[0] != 0 or ends[-1] != len(trees) or (np.diff(ends) < 0).any():
        raise ValueError("boosting rounds have the wrong number of trees")
    if len(booster.get("weight_drop", trees)) != len(trees):
        raise ValueError("the trees have the wrong number of weights")
    for tree in trees:
        _check_xgboost_tree(tree, n_columns)


def _check_xgboost_tree(tree: dict[str, Any], n_columns: int) -> None:
    keys = ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
    left, right, feature, *others = (np.asarray(tree[key]) for key in keys)
    if any(len(one) != len(left) for one in (right, feature, *others)):
        raise ValueError("a tree has the wrong number of nodes")
    check_nodes(left, right, left == -1, feature, n_columns)
    check_segments(
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        len(tree.get("categories", ())),
    )
    nodes = np.asarray(tree.get("categories_nodes", ()), dtype=np.int64)
    if len(nodes) and not (nodes.min() >= 0 and nodes.max() < len(left)):
        raise ValueError("a tree refers to categories that do not exist")
