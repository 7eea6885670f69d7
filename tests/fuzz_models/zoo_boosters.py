"""Models of LightGBM, XGBoost and CatBoost, with odd settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fuzz_models.kinds import BOTH, CannotFitError, Kind, by_class, pick
from fuzz_models.rows import Takes
from fuzz_models.zoo_sklearn import _few_whole_numbers


def lightgbm(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import lightgbm as library

    settings = pick(
        rng,
        boosting_type=["gbdt", "gbdt", "dart", "rf"],
        n_estimators=[1, 6],
        num_leaves=[2, 4, 31],
        min_child_samples=[1, 5],
        max_bin=[2, 15, 255],
        extra_trees=[False, True],
        zero_as_missing=[False, False, True],
        use_missing=[True, True, False],
        linear_tree=[False, False, False, True],
        min_data_in_bin=[1, 3],
        seed=list(range(5)),
    )
    if settings["boosting_type"] == "rf":
        settings |= {"bagging_freq": 1, "bagging_fraction": 0.6}
    if settings["linear_tree"] and settings["boosting_type"] != "gbdt":
        settings["linear_tree"] = False
    if settings["linear_tree"]:
        settings["zero_as_missing"] = False
    fixed = {"n_jobs": 1, "verbose": -1, "deterministic": True, "force_col_wise": True}
    extra = {}
    if isinstance(X, np.ndarray):
        few = [j for j in range(X.shape[1]) if _few_whole_numbers(X[:, j])]
        if few and rng.uniform() < 0.4:
            extra = {"categorical_feature": few}
            settings |= {"min_data_per_group": 2, "cat_smooth": 1.0}
            settings |= pick(rng, max_cat_to_onehot=[1, 4])
    if task == "counts":
        settings["objective"] = "poisson"
    elif task == "regression":
        settings |= pick(rng, objective=["l2", "l1", "huber", "quantile"])
    if rng.uniform() < 0.3 and task != "counts" and not extra:
        return _lightgbm_booster(library, settings | fixed, X, target, task)
    owner = library.LGBMClassifier if task == "classes" else library.LGBMRegressor
    try:
        return owner(**settings, **fixed).fit(X, target, **extra)
    except library.basic.LightGBMError as error:
        raise CannotFitError(str(error)) from error


def _lightgbm_booster(library: Any, settings: dict, X: Any, target: np.ndarray, task: str) -> Any:
    rounds = settings.pop("n_estimators")
    settings["num_threads"] = settings.pop("n_jobs")
    settings["min_data_in_leaf"] = settings.pop("min_child_samples")
    settings["boosting"] = settings.pop("boosting_type")
    if task == "classes":
        n_classes = len(np.unique(target))
        settings["objective"] = "binary" if n_classes == 2 else "multiclass"
        settings |= {} if n_classes == 2 else {"num_class": n_classes}
    data = library.Dataset(X, label=target, params={"verbose": -1})
    try:
        return library.train(settings, data, num_boost_round=rounds)
    except library.basic.LightGBMError as error:
        raise CannotFitError(str(error)) from error


def predict_lightgbm(model: Any, rows: Any) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    values = np.asarray(model.predict(rows))
    if hasattr(model, "params") and model.params.get("objective") in ("binary", "multiclass"):
        return by_class(values)
    return values


def xgboost(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import xgboost as library

    settings = pick(
        rng,
        booster=["gbtree", "gbtree", "gbtree", "dart", "gblinear"],
        n_estimators=[1, 6],
        max_depth=[1, 3, 6],
        tree_method=["hist", "exact", "approx"],
        max_bin=[2, 16, 256],
        base_score=[None, 0.3],
        random_state=list(range(5)),
        min_child_weight=[0, 1],
        subsample=[1.0, 0.6],
    )
    frame = isinstance(X, pd.DataFrame)
    categorical = frame and any(isinstance(d, pd.CategoricalDtype) for d in X.dtypes)
    if settings["booster"] == "gblinear":
        if categorical or np.isnan(np.asarray(X, dtype=float)).any():
            settings["booster"] = "gbtree"
        else:
            names = ("booster", "n_estimators", "base_score", "random_state")
            settings = {name: settings[name] for name in names}
    if settings["booster"] == "gbtree":
        settings |= pick(rng, grow_policy=["depthwise", "lossguide"], num_parallel_tree=[1, 3])
        if settings["tree_method"] == "exact":
            del settings["grow_policy"]
        if rng.uniform() < 0.2 and not categorical:
            settings["monotone_constraints"] = tuple(
                int(v) for v in rng.integers(-1, 2, size=X.shape[1])
            )
    if settings["booster"] == "dart":
        settings |= {"rate_drop": 0.3, "one_drop": 1}
    if categorical:
        settings |= {"enable_categorical": True, "tree_method": "hist"}
        settings |= pick(rng, max_cat_to_onehot=[1, 10])
    if task == "counts":
        settings["objective"] = "count:poisson"
        settings["base_score"] = None
    elif task == "outputs":
        settings["base_score"] = None
    elif task == "regression":
        choices = ["reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"]
        settings |= pick(rng, objective=choices)
    elif rng.uniform() < 0.3 and len(np.unique(target)) > 2:
        settings["objective"] = "multi:softprob"
    owner = library.XGBClassifier if task == "classes" else library.XGBRegressor
    try:
        model = owner(n_jobs=1, verbosity=0, **settings).fit(X, target)
    except (library.core.XGBoostError, ValueError) as error:
        raise CannotFitError(str(error)) from error
    return model.get_booster() if rng.uniform() < 0.2 and not categorical else model


def predict_xgboost(model: Any, rows: Any) -> np.ndarray:
    import xgboost as library

    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    if isinstance(model, library.Booster):
        values = np.asarray(model.predict(library.DMatrix(rows)))
        objective = str(model.save_config())
        return by_class(values) if '"name":"binary:' in objective.replace(" ", "") else values
    return np.asarray(model.predict(rows))


def catboost(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import catboost as library

    settings = pick(
        rng,
        grow_policy=["SymmetricTree", "SymmetricTree", "Lossguide", "Depthwise"],
        iterations=[1, 6],
        depth=[1, 3, 5],
        border_count=[1, 8, 254],
        nan_mode=["Min", "Max"],
        one_hot_max_size=[1, 10],
        random_seed=list(range(5)),
        boosting_type=["Plain", "Ordered"],
        feature_border_type=["GreedyLogSum", "Median", "Uniform"],
    )
    if settings["grow_policy"] != "SymmetricTree":
        settings["boosting_type"] = "Plain"
    words = []
    if isinstance(X, pd.DataFrame):
        words = [name for name in X if X[name].dtype == object or str(X[name].dtype) == "str"]
    fixed: dict[str, Any] = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    if words:
        fixed["cat_features"] = words
    if task == "counts":
        settings["loss_function"] = "Poisson"
    elif task == "outputs":
        settings |= {"loss_function": "MultiRMSE", "boosting_type": "Plain"}
    elif task == "regression":
        settings |= pick(rng, loss_function=["RMSE", "MAE", "Quantile:alpha=0.3"])
    owner = library.CatBoostClassifier if task == "classes" else library.CatBoostRegressor
    try:
        return owner(**settings, **fixed).fit(X, target)
    except library.CatBoostError as error:
        raise CannotFitError(str(error)) from error


def predict_catboost(model: Any, rows: Any) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows, prediction_type="Probability"))
    return np.asarray(model.predict(rows))


ANY = Takes(missing=True, infinite=True, huge=True, words="category")

KINDS = {
    "lightgbm": Kind(
        lightgbm, predict_lightgbm, True, ("lightgbm",), tasks=(*BOTH, "counts"), takes=ANY
    ),
    "xgboost": Kind(
        xgboost,
        predict_xgboost,
        True,
        ("xgboost",),
        tasks=(*BOTH, "counts", "outputs"),
        takes=Takes(missing=True, words="category"),
    ),
    "catboost": Kind(
        catboost,
        predict_catboost,
        True,
        ("catboost",),
        tasks=(*BOTH, "counts", "outputs"),
        takes=Takes(missing=True, infinite=True, huge=True, words="text"),
    ),
}
