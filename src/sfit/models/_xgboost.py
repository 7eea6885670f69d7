"""XGBoost models: the scikit-learn interface and plain boosters."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import xgboost
from scipy.special import expit, softmax
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of, functions_in
from sfit.models._trees import Tree, join
from sfit.models._view import ModelView, Trees, by_class

_CLASSIFICATION = ("binary:", "multi:")
Link = Literal["own", "sigmoid", "softmax"]
_LINKS: dict[str, Link] = {"multi:softmax": "softmax", "binary:logitraw": "sigmoid"}
_DELETED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class XGBoostView(ModelView):
    """A booster that predicts as the user's interface would."""

    booster: Any
    iterations: tuple[int, int] = (0, 0)
    """Rounds used by the scikit-learn interface after early stopping; (0, 0): all."""
    missing: float = np.nan
    link: Link = "own"
    """The function from margins to probabilities if the objective itself does not return them."""
    linear: bool = False

    @property
    def structure(self) -> Trees | None:
        """The splits; None for linear boosters and if a value other than NaN means missing."""
        if self.linear or not np.isnan(self.missing):
            return None
        model = _tree_model(json.loads(self.booster.save_raw("json")))
        end = model["iteration_indptr"][self.iterations[1]] if any(self.iterations) else None
        return join([_tree(tree) for tree in model["trees"][:end]], "f4", strict=True)

    def encode(self, X: Any) -> Any:
        """An array, or the frame with its categories if the model was fitted on a frame."""
        rows = super().encode(X)
        if self.names is None and isinstance(rows, pd.DataFrame):
            # XGBoost would read the codes of the categories, but the model was fitted on values.
            return rows.astype(np.float64).to_numpy()
        return rows

    def predict(self, Z: Any) -> Array:
        """Values, or probabilities by class."""
        raw = self._predict(Z, margin=self.link != "own")
        if self.link == "softmax":
            return np.asarray(softmax(raw, axis=1))
        if self.link == "sigmoid":
            raw = expit(raw)
        return by_class(raw) if self.task == "classification" else raw

    def fingerprint(self) -> str | Unseen:
        """A digest of the booster, and of the settings of its predictions."""
        settings = self.task, self.iterations, self.missing, self.link
        booster = (
            type(self.booster),
            bytes(self.booster.save_raw("ubj")),
            functions_in(self.booster),
        )
        return fingerprint_of(booster, settings)

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """A copy with the leaf values permuted within each tree."""
        document = json.loads(self.booster.save_raw("json"))
        trees = [] if self.linear else _tree_model(document)["trees"]
        if self.linear or any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
            return super().randomize(rng)
        for tree in trees:
            _shuffle(tree, rng)
        copied = self.booster.copy()  # keeps the number of threads, which the document lacks
        copied.load_model(bytearray(json.dumps(document).encode()))
        return replace(self, booster=copied)

    def _predict(self, Z: Any, *, margin: bool) -> Array:
        if self.linear:
            named = self.names is not None and isinstance(Z, np.ndarray)
            names = list(self.names or ()) if named else None
            rows = xgboost.DMatrix(Z, missing=self.missing, feature_names=names)
            return np.asarray(self.booster.predict(rows, output_margin=margin))
        return np.asarray(
            self.booster.inplace_predict(
                Z,
                iteration_range=self.iterations,
                predict_type="margin" if margin else "value",
                missing=self.missing,
            )
        )


def view(model: Any, loss: Any) -> ModelView | None:
    """View an XGBoost model; None if it is not one."""
    if isinstance(model, xgboost.Booster):
        return _view(model, loss)
    if not isinstance(model, xgboost.XGBModel):
        return None
    try:
        booster = model.get_booster()
    except NotFittedError as error:
        raise ModelError(f"model {type(model).__name__} is not fitted: fit it first.") from error
    if _predicts_its_own_way(model):
        # Its booster does not know; scikit-learn's adapter asks the model itself.
        return None
    best = getattr(model, "best_iteration", None)
    of_booster = _view(booster, loss, is_classifier(model))
    rounds = (0, 0) if best is None or of_booster.linear else (0, best + 1)
    return replace(of_booster, iterations=rounds, missing=model.missing)


def _predicts_its_own_way(model: Any) -> bool:
    """Whether the user's class, or the object itself, replaces how XGBoost predicts."""
    names = ("predict", "predict_proba", "get_booster")
    methods = [getattr(model, name) for name in names if hasattr(model, name)]
    return not all(
        getattr(method, "__module__", "").partition(".")[0] == "xgboost" for method in methods
    )


def _view(booster: Any, loss: Any, classifies: bool | None = None) -> XGBoostView:
    learner = json.loads(booster.save_config())["learner"]
    objective = learner["objective"]["name"]
    if classifies is None:
        classifies = objective.startswith(_CLASSIFICATION)
    names = booster.feature_names
    types = booster.feature_types or ()
    view = XGBoostView(
        task="classification" if classifies else "regression",
        names=None if names is None else tuple(names),
        categorical=frozenset(column for column, kind in enumerate(types) if kind == "c"),
        booster=booster,
        linear=learner["gradient_booster"]["name"] == "gblinear",
    )
    if not classifies:
        return view
    size = learner["learner_model_param"]
    if int(size.get("num_target", 1)) > 1:
        raise ModelError(
            "The model predicts several labels at once: test one of them, with "
            "sfit.models.function_model(lambda Z: model.predict_proba(Z)[:, 0], "
            "task='classification')."
        )
    if objective == "binary:hinge" and not (callable(loss) or loss == "zero_one"):
        raise ModelError("objective 'binary:hinge' has no probabilities. Use loss='zero_one'.")
    classes = np.arange(max(int(size["num_class"]), 2))
    return replace(view, classes=classes, link=_LINKS.get(objective, "own"))


def _tree_model(document: dict[str, Any]) -> Any:
    booster = document["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["model"]  # dart wraps the trees once more


def _tree(tree: dict[str, Any]) -> Tree:
    return Tree(
        feature=np.asarray(tree["split_indices"]),
        threshold=np.asarray(tree["split_conditions"]),
        left=np.asarray(tree["left_children"]),
        right=np.asarray(tree["right_children"]),
        missing_left=np.asarray(tree["default_left"]),
        categorical=np.asarray(tree["split_type"]),
    )


def _shuffle(tree: dict[str, Any], rng: np.random.Generator) -> None:
    """Permute the leaf values of a tree in place, but not those of pruned nodes."""
    leaves = [
        node
        for node, left in enumerate(tree["left_children"])
        if left == -1 and tree["split_indices"][node] != _DELETED
    ]
    # The value of a leaf is stored in place of a threshold, and again in the weights.
    order = rng.permutation(leaves)
    for key in ("split_conditions", "base_weights"):
        values = [tree[key][node] for node in order]
        for node, value in zip(leaves, values, strict=True):
            tree[key][node] = value
