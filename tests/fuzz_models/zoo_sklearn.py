"""Models of scikit-learn, with odd settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from fuzz_models.kinds import BOTH, Kind, pick
from fuzz_models.rows import Takes


def predict(model: Any, rows: Any) -> np.ndarray:
    """`predict_proba` where there is one; labels count as certain probabilities."""
    if not is_classifier(model):
        return np.asarray(model.predict(rows))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    return np.asarray(np.asarray(model.predict(rows))[:, None] == model.classes_, dtype=float)


def _seeded(rng: np.random.Generator, model: Any) -> Any:
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(1000)))
    return model


def linear(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    if task == "counts":
        return PoissonRegressor(**pick(rng, alpha=[0.0, 1.0])).fit(X, target)
    if task == "outputs":
        return pick(rng, model=[LinearRegression(), Ridge()])["model"].fit(X, target)
    if task == "classes":
        models = [
            LogisticRegression(),
            LogisticRegression(C=1e-3),
            LogisticRegression(solver="newton-cg", fit_intercept=False),
            LinearDiscriminantAnalysis(),
            SGDClassifier(loss="log_loss", max_iter=5),
            RidgeClassifier(),
        ]
    else:
        models = [
            LinearRegression(),
            LinearRegression(fit_intercept=False),
            Ridge(alpha=10.0),
            ElasticNet(alpha=0.1),
            HuberRegressor(max_iter=20),
            SGDRegressor(max_iter=5),
        ]
    return _seeded(rng, models[int(rng.integers(len(models)))]).fit(X, target)


def distances(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    """Support vectors, neighbours and naive Bayes: nothing is known of their inside."""
    k = pick(rng, n_neighbors=[1, 3, 5], weights=["uniform", "distance"])
    kernel = pick(rng, kernel=["rbf", "linear", "poly"])
    if task == "outputs":
        return KNeighborsRegressor(**k).fit(X, target)
    if task == "classes":
        models = [KNeighborsClassifier(**k), SVC(**kernel), LinearSVC(max_iter=50), GaussianNB()]
    else:
        models = [KNeighborsRegressor(**k), SVR(**kernel), LinearSVR(max_iter=50)]
    return _seeded(rng, models[int(rng.integers(len(models)))]).fit(X, target)


def tree(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    settings = pick(rng, max_depth=[1, 3, None], min_samples_leaf=[1, 5], max_features=[None, 1])
    if task == "classes":
        models = [DecisionTreeClassifier, ExtraTreeClassifier]
    else:
        models = [DecisionTreeRegressor, ExtraTreeRegressor]
    return _seeded(rng, models[int(rng.integers(2))](**settings)).fit(X, target)


def forest(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    settings = pick(rng, n_estimators=[1, 4, 9], max_depth=[2, 5, None], bootstrap=[True, False])
    if task == "classes":
        models = [RandomForestClassifier, ExtraTreesClassifier]
    else:
        models = [RandomForestRegressor, ExtraTreesRegressor]
    return _seeded(rng, models[int(rng.integers(2))](**settings)).fit(X, target)


def gradient(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    settings = pick(rng, n_estimators=[1, 8], max_depth=[1, 3], subsample=[1.0, 0.5])
    settings |= pick(rng, init=[None, "zero"])
    if task == "classes":
        return _seeded(rng, GradientBoostingClassifier(**settings)).fit(X, target)
    settings |= pick(rng, loss=["squared_error", "absolute_error", "huber", "quantile"])
    return _seeded(rng, GradientBoostingRegressor(**settings)).fit(X, target)


def histogram(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    settings = pick(
        rng, max_iter=[1, 6], min_samples_leaf=[2, 10], max_bins=[3, 255], max_depth=[None, 2]
    )
    if isinstance(X, np.ndarray):
        few = [j for j in range(X.shape[1]) if _few_whole_numbers(X[:, j])]
        if few and rng.uniform() < 0.5:
            settings["categorical_features"] = few
    elif any(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes):
        settings["categorical_features"] = "from_dtype"
    if "categorical_features" in settings:
        settings["max_bins"] = 255
    if task == "classes":
        return _seeded(rng, HistGradientBoostingClassifier(**settings)).fit(X, target)
    if task == "counts":
        settings["loss"] = "poisson"
    elif rng.uniform() < 0.3:
        settings |= pick(rng, loss=["absolute_error", "gamma"]) if target.min() > 0 else {}
    return _seeded(rng, HistGradientBoostingRegressor(**settings)).fit(X, target)


def _few_whole_numbers(values: np.ndarray) -> bool:
    values = values[~np.isnan(values)]
    small = len(values) > 0 and values.min() >= 0 and values.max() < 50
    return bool(small and (values == np.round(values)).all())


def perceptron(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    settings = pick(
        rng,
        hidden_layer_sizes=[(4,), (5, 3), (3, 3, 3)],
        activation=["relu", "tanh", "logistic", "identity"],
        max_iter=[1, 8],
    )
    owner = MLPClassifier if task == "classes" else MLPRegressor
    return _seeded(rng, owner(**settings)).fit(X, target)


def combined(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    """Stacking, voting, bagging, calibration, one model per output."""
    if task == "outputs":
        models = [
            MultiOutputRegressor(DecisionTreeRegressor(max_depth=3)),
            RegressorChain(Ridge()),
            RandomForestRegressor(3, max_depth=3),
        ]
    elif task == "classes":
        parts = [("a", DecisionTreeClassifier(max_depth=2)), ("b", GaussianNB())]
        models = [
            StackingClassifier(parts, LogisticRegression(), cv=2),
            VotingClassifier(parts, voting="soft"),
            BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=3),
            CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3), cv=2),
            CalibratedClassifierCV(LinearSVC(max_iter=20), cv=2, method="isotonic"),
        ]
    else:
        parts = [("a", DecisionTreeRegressor(max_depth=2)), ("b", Ridge())]
        models = [
            StackingRegressor(parts, LinearRegression(), cv=2),
            VotingRegressor(parts),
            BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=3),
            AdaBoostRegressor(n_estimators=3),
        ]
    return _seeded(rng, models[int(rng.integers(len(models)))]).fit(X, target)


def _add_product(rows: Any) -> Any:
    """The first two columns, and their product: not one original column each."""
    values = np.asarray(rows, dtype=float)
    return np.column_stack([values, values[:, 0] * values[:, -1]])


def pipeline(rng: np.random.Generator, X: pd.DataFrame, target: np.ndarray, task: str) -> Any:
    """Words encoded, numbers imputed and scaled or multiplied, any last step."""
    numbers = [name for name in X if X[name].dtype.kind in "biuf"]
    words = [name for name in X if name not in numbers]
    chance = rng.uniform()
    steps: list[Any] = [SimpleImputer(**pick(rng, strategy=["mean", "median"]))]
    if chance < 0.15 and len(numbers) > 1:
        steps.append(PolynomialFeatures(**pick(rng, degree=[2], interaction_only=[True, False])))
    elif chance < 0.3 and len(numbers) > 1:
        steps.append(FunctionTransformer(_add_product))
    elif chance < 0.7:
        steps.append(StandardScaler())
    if words and rng.uniform() < 0.3:
        encoder: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    else:
        encoder = OneHotEncoder(
            handle_unknown="ignore", sparse_output=bool(rng.uniform() < 0.3), **_drop(rng)
        )
    parts = [(make_pipeline(*steps), numbers)] if numbers else []
    parts += [(encoder, words)] if words else []
    head = make_column_transformer(*parts, remainder="drop")
    if task == "classes":
        last = [LogisticRegression(), DecisionTreeClassifier(max_depth=4), GaussianNB()]
    else:
        last = [Ridge(), DecisionTreeRegressor(max_depth=4), RandomForestRegressor(3)]
    chosen = last[int(rng.integers(2 if words else 3))]
    return make_pipeline(head, _seeded(rng, chosen)).fit(X, target)


def _drop(rng: np.random.Generator) -> dict[str, Any]:
    return {"drop": "first"} if rng.uniform() < 0.2 else {}


WIDE = Takes(missing=False, infinite=False)
NUMBERS = Takes(odd=True)
PLAIN = Takes(odd=False)

KINDS = {
    "linear": Kind(linear, predict, False, tasks=(*BOTH, "outputs", "counts"), hard=True),
    "distances": Kind(distances, predict, False, tasks=(*BOTH, "outputs"), hard=True, takes=PLAIN),
    "tree": Kind(tree, predict, True, tasks=(*BOTH, "outputs"), takes=Takes(missing=True)),
    "forest": Kind(forest, predict, True, tasks=(*BOTH, "outputs"), takes=Takes(missing=True)),
    "gradient": Kind(gradient, predict, True),
    "histogram": Kind(
        histogram,
        predict,
        True,
        tasks=(*BOTH, "counts"),
        takes=Takes(missing=True, infinite=True, huge=True, words="category"),
    ),
    "perceptron": Kind(perceptron, predict, False, tasks=(*BOTH, "outputs")),
    "combined": Kind(combined, predict, False, tasks=(*BOTH, "outputs"), takes=PLAIN),
    "pipeline": Kind(
        pipeline,
        predict,
        False,
        tasks=(*BOTH, "outputs"),
        takes=Takes(missing=True, words="mixed"),
        fitted_on="frame",
    ),
}
