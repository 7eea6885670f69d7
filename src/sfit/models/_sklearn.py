"""scikit-learn estimators, and Pipelines around any model."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count, effective_n_jobs
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.ensemble._forest import ForestClassifier, ForestRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models import _sklearn_dense, _sklearn_trees
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.models._network import needs_scores
from sfit.models._view import Dense, ModelView, Trees, scores_by_class
from sfit.rows import as_table, is_frame, plain_array

SHARED_ROWS = 1_024
"""From this number of rows on, the threads of a forest share the rows."""


@dataclass(frozen=True, kw_only=True)
class SklearnView(ModelView):
    """A fitted scikit-learn estimator."""

    model: Any
    hard: bool = False
    """Whether a classifier returns labels only, which become probabilities of 0 and 1."""
    n_jobs: int | None = 1
    """The user's setting of the number of threads of a forest."""

    @property
    def structure(self) -> Dense | Trees | None:
        """The layers of a linear model or perceptron, or the splits of a tree ensemble."""
        if self.scores:
            return _sklearn_dense.scores(self.model) or _sklearn_trees.structure(self.model)
        return _sklearn_dense.structure(self.model) or _sklearn_trees.structure(self.model)

    def predict(self, Z: Any) -> Array:
        """`predict` of a regressor; `predict_proba` or `decision_function` of a classifier."""
        if self.n_jobs == 1 or not isinstance(Z, np.ndarray) or len(Z) < SHARED_ROWS:
            return self._predict(Z)
        threads = min(effective_n_jobs(self.n_jobs), cpu_count())
        if threads == 1:
            return self._predict(Z)
        parallel = Parallel(n_jobs=threads, require="sharedmem")
        return np.concatenate(
            parallel(delayed(self._predict)(part) for part in np.array_split(Z, threads))
        )

    def _predict(self, Z: Any) -> Array:
        if self.names is not None and isinstance(Z, np.ndarray):
            Z = pd.DataFrame(Z, columns=list(self.names), copy=False)
        if self.task == "regression":
            return plain_array(self.model.predict(Z))
        if self.scores:
            return scores_by_class(plain_array(self.model.decision_function(Z)))
        if self.hard:
            labels = np.asarray(self.model.predict(Z))
            return np.asarray(labels[:, None] == self.classes, dtype=float)
        probabilities = self.model.predict_proba(Z)
        if isinstance(probabilities, list):
            raise ModelError(
                f"{type(self.model).__name__} predicts several labels at once: test one of them, "
                "with sfit.models.function_model(lambda Z: model.predict_proba(Z)[0], "
                "task='classification')."
            )
        return plain_array(probabilities)

    def fingerprint(self) -> str | Unseen | None:
        """A digest of the estimator without its number of threads."""
        return fingerprint_of(replace(self, n_jobs=1))

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Random weights, or leaf values permuted within each tree."""
        copied = _sklearn_dense.randomized(self.model, rng)
        if copied is None:
            copied = _sklearn_trees.randomized(self.model, rng)
        return super().randomize(rng) if copied is None else replace(self, model=copied)


@dataclass(frozen=True, kw_only=True)
class PipelineView(ModelView):
    """A Pipeline: its head encodes, its last step predicts.

    If `encoded`, rows are encoded once and masked after the head. Otherwise the user's columns are
    masked and the whole pipeline runs (section 2.1 on one-hot columns).
    """

    head: Any
    tail: ModelView
    encoded: bool = True

    @property
    def structure(self) -> Dense | Trees | None:
        """The structure of the last step, which receives the masked rows."""
        return self.tail.structure if self.encoded else None

    def encode(self, X: Any) -> Any:
        """Run the head if rows are masked after it."""
        rows = self._frame(X)
        return self._run_head(rows) if self.encoded else rows

    def predict(self, Z: Any) -> Array:
        """Run the steps after the mask."""
        return self.tail.predict(Z if self.encoded else self._run_head(Z))

    def fingerprint(self) -> str | Unseen | None:
        """The fingerprints of the last step and of the head."""
        tail, head = self.tail.fingerprint(), fingerprint_of(self.head)
        if not isinstance(tail, str):
            return tail
        return head if isinstance(head, Unseen) else f"{tail} {head}"

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Randomise the last step; the head does not change."""
        return replace(self, tail=self.tail.randomize(rng))

    def whole(self) -> PipelineView:
        """The same pipeline, masked in the user's columns."""
        return replace(self, encoded=False, categorical=frozenset())

    def _run_head(self, rows: Any) -> Any:
        # A step may work in place (copy=False), and must not change the user's rows.
        copied = rows.clone() if hasattr(rows, "clone") else rows.copy()
        return self.tail.encode(self.head.transform(copied))

    def _frame(self, X: Any) -> Any:
        table = as_table(X)
        if not is_frame(table):
            named = self.names is not None and isinstance(table, np.ndarray)
            return pd.DataFrame(table, columns=list(self.names or ())) if named else table
        # scikit-learn accepts pandas and polars frames; a pyarrow table becomes a pandas frame.
        kept = table.implementation.is_pandas() or table.implementation.is_polars()
        return table.to_native() if kept else table.to_pandas()


def view(model: Any, loss: Any) -> ModelView | None:
    """View a scikit-learn estimator; None if it is not one."""
    if isinstance(model, BaseSearchCV):
        if not hasattr(_fitted(model), "best_estimator_"):
            raise ModelError(
                f"{type(model).__name__} was fitted with refit={model.refit!r} and holds no model: "
                "fit it again with refit=True, or pass an estimator that you fitted yourself."
            )
        return _models().as_view(model.best_estimator_, loss)
    if not isinstance(model, BaseEstimator):
        return None
    _fitted(model)
    if isinstance(model, Pipeline):
        return _pipeline(model, loss)
    n_jobs = 1
    if isinstance(model, ForestClassifier | ForestRegressor):
        model, n_jobs = _summed_in_order(model), model.n_jobs
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else tuple(map(str, names))
    if is_classifier(model):
        return _classifier(model, names, loss, n_jobs)
    if is_regressor(model):
        return SklearnView(
            task="regression",
            names=names,
            width=getattr(model, "n_features_in_", None),
            categorical=_sklearn_trees.categorical(model),
            model=model,
            n_jobs=n_jobs,
        )
    raise ModelError(
        f"{type(model).__name__} is neither a regressor nor a classifier: pass a function "
        "rows -> predictions instead, for instance model.transform or model.score_samples."
    )


def _classifier(model: Any, names: tuple[str, ...] | None, loss: Any, n_jobs: Any) -> SklearnView:
    """A classifier by its probabilities, its decision values or its labels."""
    scores = needs_scores(loss)
    hard = not hasattr(model, "predict_proba") and not scores
    if scores:
        _check_decisions(model)
    elif hard and not (callable(loss) or loss == "zero_one"):
        other = " or 'hinge'" if hasattr(model, "decision_function") else ""
        raise ModelError(
            f"{type(model).__name__} has no predict_proba. Use loss='zero_one'{other}, or "
            "calibrate it first with sklearn.calibration.CalibratedClassifierCV."
        )
    if isinstance(model.classes_, list):
        raise ModelError(
            f"{type(model).__name__} was fitted on several labels at once: test one of them, "
            "with sfit.models.function_model(..., task='classification')."
        )
    return SklearnView(
        task="classification",
        classes=np.asarray(model.classes_),
        names=names,
        width=getattr(model, "n_features_in_", None),
        categorical=_sklearn_trees.categorical(model),
        model=model,
        hard=hard,
        scores=scores,
        n_jobs=n_jobs,
    )


def _check_decisions(model: Any) -> None:
    """Refuse a classifier without one decision value per class."""
    name = type(model).__name__
    if not hasattr(model, "decision_function"):
        raise ModelError(f"{name} has no decision_function: use loss='log_loss'.")
    if getattr(model, "decision_function_shape", "ovr") == "ovo" and len(model.classes_) > 2:
        raise ModelError(
            f"{name} decides between pairs of classes, and the hinge loss needs one score per "
            "class: set decision_function_shape='ovr'."
        )


def _summed_in_order(model: Any) -> Any:
    """A forest that sums its trees in one thread.

    With several threads, the order of the sum and thus its last bit changes from call to call, so
    threads share the rows, not the trees. `n_jobs=None` would not do: joblib's configuration may
    make it several. The copy shares its trees with the user's model, which keeps its setting.
    """
    model = copy(model)
    model.n_jobs = 1
    return model


def _models() -> Any:
    """The package that dispatches to this file; not imported at the top, to avoid a cycle."""
    return import_module("sfit.models")


def _fitted(model: Any) -> Any:
    try:
        check_is_fitted(model)
    except Exception as error:
        raise ModelError(f"model {type(model).__name__} is not fitted: fit it first.") from error
    return model


def _pipeline(model: Pipeline, loss: Any) -> ModelView:
    tail = _models().as_view(model[-1], loss)
    if len(model) == 1:
        return tail
    names = getattr(model, "feature_names_in_", None)
    return PipelineView(
        task=tail.task,
        classes=tail.classes,
        names=None if names is None else tuple(map(str, names)),
        width=getattr(model, "n_features_in_", None),
        categorical=tail.categorical,
        threads_only=tail.threads_only,
        remedy=tail.remedy,
        scores=tail.scores,
        head=model[:-1],
        tail=tail,
    )
