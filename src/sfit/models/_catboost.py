"""CatBoost models."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import catboost
import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of, functions_in
from sfit.models._trees import Tree, join
from sfit.models._view import ModelView, Trees
from sfit.rows import as_table, is_frame

_LEAVES = re.compile(r'"leaf_(values|weights)":\s*\[[^]]*]')
_SEVERAL_LABELS = ("MultiLogloss", "MultiCrossEntropy")


@dataclass(frozen=True, kw_only=True)
class CatBoostView(ModelView):
    """A CatBoost model; early stopping has already removed surplus trees."""

    model: Any

    @property
    def structure(self) -> Trees | None:
        """The splits; None if some are on statistics of categories, texts or embeddings."""
        if self._reads_texts():
            return None
        # Leaf values are most of the text, and only the splits are needed.
        document = json.loads(_LEAVES.sub(r'"leaf_\1": []', self._written()))
        features = {
            kind: {feature["feature_index"]: feature for feature in of_kind}
            for kind, of_kind in document["features_info"].items()
            if kind in ("float_features", "categorical_features")
        }
        trees = document.get("oblivious_trees", document.get("trees", ()))
        try:
            return join([_tree(tree, features) for tree in trees], "f4", strict=False)
        except _UnknownSplitError:
            return None

    def encode(self, X: Any) -> Any:
        """An array, or a pandas frame if the model has categories, which may not be floats."""
        if not self.categorical:
            return super().encode(X)
        table = as_table(X)
        rows = (
            table.to_pandas()
            if is_frame(table)
            else pd.DataFrame(table, columns=self.model.feature_names_)
        )
        floats = [
            name
            for name in rows.columns[sorted(self.categorical)]
            if pd.api.types.is_float_dtype(rows[name]) and (rows[name] % 1 == 0).all()
        ]
        return rows.astype(dict.fromkeys(floats, np.int64))

    def predict(self, Z: Any) -> Array:
        """Values, or probabilities by class."""
        if self.task == "classification":
            return np.asarray(self.model.predict(Z, prediction_type="Probability"))
        return np.asarray(self.model.predict(Z))

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """A copy with the leaf values permuted within each tree."""
        if self._reads_texts():
            # CatBoost 1.2 writes such a model wrongly after pickling, and crashes on reading it.
            return super().randomize(rng)
        values = self.model.get_leaf_values()
        counts = self.model.get_tree_leaf_counts()
        vectors = values.reshape(int(counts.sum()), -1)
        ends = np.cumsum(counts)[:-1]
        shuffled = [rng.permutation(tree) for tree in np.split(vectors, ends)]
        copied = type(self.model)()
        # CatBoost can change only a model that was read from a file, and only before it predicts.
        with TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.cbm")
            self.model.save_model(path)
            copied.load_model(path)
        copied.set_leaf_values(np.concatenate(shuffled).ravel())
        return replace(self, model=copied)

    def fingerprint(self) -> str | Unseen | None:
        """A digest of the trees; the rest of the file describes how and when they were fitted."""
        if self._reads_texts():
            return super().fingerprint()
        document = json.loads(self._written())
        del document["model_info"]
        task = self.model.get_all_params().get("loss_function")
        interface = type(self.model), functions_in(self.model), task, self.names, self.classes
        return fingerprint_of(json.dumps(document), interface)

    def _written(self) -> str:
        """The model as JSON."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            try:
                self.model.save_model(str(path), format="json")
            except catboost.CatBoostError as error:
                raise ModelError(
                    f"CatBoost cannot export the trees of this model ({error}): its file is "
                    "damaged. Save the fitted model again."
                ) from error
            # In a damaged file the names may be invalid text; they are not read here.
            return path.read_text(encoding="utf-8", errors="replace")

    def _reads_texts(self) -> bool:
        texts = self.model.get_text_feature_indices()
        return bool(texts or self.model.get_embedding_feature_indices())


def view(model: Any, loss: Any) -> ModelView | None:
    """View a CatBoost model; None if it is not one."""
    if not isinstance(model, catboost.CatBoost):
        return None
    if not model.is_fitted():
        raise ModelError(f"model {type(model).__name__} is not fitted: fit it first.")
    objective = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    if objective in _SEVERAL_LABELS:
        raise ModelError(
            f"{type(model).__name__} predicts several labels at once: test one of them, with "
            "sfit.models.function_model(lambda Z: model.predict(Z, prediction_type='Probability')"
            "[:, 0], task='classification')."
        )
    if objective == "RMSEWithUncertainty":
        raise ModelError(
            "A model with loss 'RMSEWithUncertainty' predicts a mean and a variance: test one of "
            "them, with sfit.models.function_model(lambda Z: model.predict(Z)[:, 0])."
        )
    names = tuple(map(str, model.feature_names_))
    given = any(name != str(column) for column, name in enumerate(names))
    classes = np.asarray(model.classes_)
    remedy = ""
    if objective == "MultiClassOneVsAll":
        remedy = (
            "Probabilities of loss 'MultiClassOneVsAll' do not add up to one: rescale them in "
            "sfit.models.function_model(..., task='classification')."
        )
    return CatBoostView(
        task="classification" if len(classes) else "regression",
        classes=classes if len(classes) else None,
        names=names if given else None,
        width=len(names),  # CatBoost itself accepts surplus columns
        categorical=frozenset(map(int, model.get_cat_feature_indices())),
        remedy=remedy,
        model=model,
    )


class _UnknownSplitError(Exception):
    """A split on something that is not a column."""


_LEAF = (-1, 0.0, False, False)


def _split(split: dict[str, Any], features: dict[str, Any]) -> tuple[int, float, bool, bool]:
    """Column, threshold, whether missing goes left, and whether the column holds categories."""
    if split["split_type"] == "FloatFeature":
        feature = features["float_features"][split["float_feature_index"]]
        missing_left = feature["nan_value_treatment"] != "AsTrue"
        return feature["flat_feature_index"], split["border"], missing_left, False
    if split["split_type"] == "OneHotFeature":
        feature = features["categorical_features"][split["cat_feature_index"]]
        return feature["flat_feature_index"], 0.0, False, True
    raise _UnknownSplitError


def _tree(tree: dict[str, Any], features: dict[str, Any]) -> Tree:
    if "leaf_values" in tree:
        return _symmetric([_split(split, features) for split in tree.get("splits") or ()])
    rows: list[tuple[Any, ...]] = []
    level = [tree]
    while level:
        below: list[dict[str, Any]] = []
        # Children are numbered after this level, in order of appearance.
        first = len(rows) + len(level)
        for node in level:
            if "split" in node:
                left = first + len(below)
                rows.append((*_split(node["split"], features), left, left + 1))
                below += [node["left"], node["right"]]
            else:
                rows.append((*_LEAF, -1, -1))
        level = below
    columns = map(np.array, zip(*rows, strict=True))
    feature, threshold, missing_left, categorical, lefts, rights = columns
    return Tree(feature, threshold, lefts, rights, missing_left, categorical)


def _symmetric(splits: list[tuple[int, float, bool, bool]]) -> Tree:
    """A tree with the same split at all nodes of a level, as a full binary tree."""
    level, left = _full_tree(len(splits))
    columns = map(np.array, zip(*splits, _LEAF, strict=True))
    feature, threshold, missing_left, categorical = (column[level] for column in columns)
    return Tree(feature, threshold, left, left + 1, missing_left, categorical)


@cache
def _full_tree(depth: int) -> tuple[Array, Array]:
    """The level of each node, and its left child."""
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    return level, np.where(level < depth, 2 * np.arange(len(level)) + 1, -1)
