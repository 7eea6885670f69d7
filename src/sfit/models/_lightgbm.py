"""LightGBM models: the scikit-learn interface and plain boosters."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from sfit._array import Array
from sfit.exceptions import DataError, ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of, functions_in
from sfit.models._view import ModelView, Trees, by_class
from sfit.rows import as_table, is_frame

_BINARY = {"binary"}
_MULTICLASS = {"multiclass", "multiclassova"}
# LightGBM replaces values nearer to zero than this by zero before it evaluates any tree.
_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True, kw_only=True)
class LightGBMView(ModelView):
    """A LightGBM estimator or booster; both predict with the trees up to the best iteration."""

    model: Any

    @property
    def booster(self) -> Any:
        """The underlying booster."""
        return _booster(self.model)

    @property
    def structure(self) -> Trees | None:
        """The splits; None for linear trees, and for splits that treat zero as missing."""
        header, trees = _read(self.booster.model_to_string())
        ordered = len(self.booster.pandas_categorical or ()) > len(_categorical(header))
        # Splits on an ordered pandas category compare codes, which the rows do not contain.
        if ordered or _linear(trees):
            return None
        return _trees(trees)

    def encode(self, X: Any) -> Any:
        """An array, or the frame with its categories if the model was fitted on categories."""
        rows = super().encode(self._with_categories(X))
        if isinstance(rows, pd.DataFrame) and not self.booster.pandas_categorical:
            return rows.astype(np.float64).to_numpy()
        return rows

    def predict(self, Z: Any) -> Array:
        """Values, or probabilities by class."""
        if self.model is not self.booster and isinstance(Z, np.ndarray):
            Z = self._named(Z)
        if self.task == "classification" and hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(Z))
        raw = np.asarray(self.model.predict(Z))
        return by_class(raw) if self.task == "classification" else raw

    def fingerprint(self) -> str | Unseen:
        """A digest of the model's text, and of the interface that predicts."""
        interface = type(self.model), functions_in(self.model), self._parameters(), self.classes
        booster = type(self.booster), functions_in(self.booster)
        return fingerprint_of(self.booster.model_to_string(), self.task, interface, booster)

    def _with_categories(self, X: Any) -> Any:
        """A frame whose columns have the categories of training.

        Files such as CSV hold words or numbers instead, which the model would refuse or mistake for
        codes. The model stores the categories, but not their columns, so this needs one list of
        categories for each categorical column.
        """
        table, stored = as_table(X), self.booster.pandas_categorical or ()
        if not is_frame(table) or len(stored) != len(self.categorical):
            return X
        frame = table.to_pandas()
        plain = {
            frame.columns[position]: categories
            for position, categories in zip(sorted(self.categorical), stored, strict=True)
            if not isinstance(frame.dtypes.iloc[position], pd.CategoricalDtype)
        }
        return frame.assign(**{name: _category(frame[name], plain[name]) for name in plain})

    def _parameters(self) -> dict[str, Any]:
        """The parameters of an estimator except the number of threads; a booster has none."""
        if self.model is self.booster:
            return {}
        return {name: one for name, one in self.model.get_params().items() if name != "n_jobs"}

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """A copy with the leaf values permuted within each tree."""
        text = self.booster.model_to_string()
        if _linear(_read(text)[1]):
            return super().randomize(rng)

        def shuffled(line: re.Match[str]) -> str:
            return line[1] + " ".join(rng.permutation(line[2].split()))

        # A permutation keeps the length of each tree's text, so the header stays correct.
        text = re.sub(r"^(leaf_value=)(.*)$", shuffled, text, flags=re.MULTILINE)
        booster = lightgbm.Booster(model_str=text)
        if self.model is self.booster:
            return replace(self, model=booster)
        copied = copy(self.model)
        copied._Booster = booster
        return replace(self, model=copied)

    def _named(self, Z: Array) -> Any:
        """A frame, because a model fitted on a frame warns about arrays."""
        if self.names is None or self.booster.pandas_categorical:
            return Z
        return pd.DataFrame(Z, columns=list(self.names), copy=False)


def view(model: Any, loss: Any) -> ModelView | None:
    """View a LightGBM model; None if it is not one."""
    if not isinstance(model, lightgbm.Booster | lightgbm.LGBMModel):
        return None
    header, _ = _read(_booster(model).model_to_string(num_iteration=1))
    objective = header.get("objective", "").partition(" ")[0]
    view = LightGBMView(
        task="regression",
        names=_names(header),
        categorical=_categorical(header),
        model=model,
    )
    if isinstance(model, lightgbm.LGBMModel) and is_classifier(model):
        if not objective:
            raise ModelError(
                f"{type(model).__name__} with a custom objective returns scores: convert them to "
                "probabilities with sfit.models.function_model(..., task='classification')."
            )
        classes = np.asarray(model.classes_)
    elif objective in _BINARY | _MULTICLASS:
        classes = np.arange(max(int(header["num_class"]), 2))
    else:
        return view
    remedy = ""
    if objective == "multiclassova":
        remedy = (
            "Probabilities of objective 'multiclassova' do not add up to one: rescale them in "
            "sfit.models.function_model(..., task='classification')."
        )
    return replace(view, task="classification", classes=classes, remedy=remedy)


def _category(column: pd.Series[Any], categories: list[Any]) -> pd.Series[Any]:
    """A column with the categories of training; a value that is none of them is missing."""
    known = column.where(column.isin(categories))
    found = known.astype(pd.CategoricalDtype(categories))
    if found.isna().all() and not column.isna().all():
        values = column.dropna().unique()[:5].tolist()
        raise DataError(
            f"X: column {column.name!r} has none of the categories that the model was trained on: "
            f"it holds {values!r}, the model knows {categories[:5]!r}. Use the values of the "
            "training data, with the same type."
        )
    return found


def _booster(model: Any) -> Any:
    if isinstance(model, lightgbm.Booster):
        return model
    try:
        return model.booster_
    except NotFittedError as error:
        raise ModelError(f"model {type(model).__name__} is not fitted: fit it first.") from error


def _read(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The header and the trees of a model's text, as ``key=value`` lines."""
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    lines = [[line.partition("=") for line in part.splitlines()] for part in (head, *blocks)]
    header, *trees = [{key: value for key, _, value in part} for part in lines]
    return header, trees


def _linear(trees: list[dict[str, str]]) -> bool:
    return any(tree.get("is_linear", "0") != "0" for tree in trees)


def _names(header: dict[str, str]) -> tuple[str, ...] | None:
    names = tuple(header["feature_names"].split(" "))
    given = any(name != f"Column_{column}" for column, name in enumerate(names))
    return names if given else None


def _categorical(header: dict[str, str]) -> frozenset[int]:
    """Columns described by a list of categories, not by a range in brackets."""
    infos = enumerate(header["feature_infos"].split(" "))
    return frozenset(column for column, info in infos if info != "none" and info[0] != "[")


def _trees(trees: list[dict[str, str]]) -> Trees | None:
    """All trees, the splits of each before its leaves; None if a split treats zero as missing."""
    splits = np.array([int(tree["num_leaves"]) - 1 for tree in trees], dtype=np.intp)
    roots = np.cumsum(2 * splits + 1) - (2 * splits + 1)
    owner = np.repeat(np.arange(len(trees)), splits)
    # Node of each split: the root of its tree plus its index among the splits of that tree.
    node = roots[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(splits) - splits, splits)

    def parsed(key: str, dtype: type) -> Array:
        texts = (tree[key] for tree, n in zip(trees, splits, strict=True) if n)
        return np.fromstring(" ".join(texts), dtype=dtype, sep=" ")

    def at_splits(values: Array, elsewhere: Any) -> Array:
        whole = np.full(int((2 * splits + 1).sum()), elsewhere, dtype=values.dtype)
        whole[node] = values
        return whole

    def child(key: str) -> Array:
        index = parsed(key, int)
        inside = np.where(index < 0, splits[owner] + ~index, index)
        return at_splits((roots[owner] + inside).astype(np.intp), -1)

    decision = parsed("decision_type", int)
    categorical = decision & 1 == 1
    missing = decision >> 2 & 3  # 0: a missing value counts as zero, 1: zero is missing, 2: NaN is
    if np.any(~categorical & (missing == 1)):
        return None
    threshold = parsed("threshold", float)
    missing_left = np.where(missing == 0, threshold >= 0, decision & 2 == 2)
    threshold[(threshold >= -_ZERO) & (threshold < 0)] = np.nextafter(-_ZERO, -1)
    threshold[(threshold >= 0) & (threshold < _ZERO)] = _ZERO
    return Trees(
        roots=roots,
        feature=at_splits(parsed("split_feature", int).astype(np.intp), -1),
        threshold=at_splits(threshold, np.nan),
        left=child("left_child"),
        right=child("right_child"),
        missing_left=at_splits(missing_left, False),
        categorical=at_splits(categorical, False),
        dtype=np.dtype(np.float64),
        strict=False,
    )
