"""Fits the models of the cases and saves them, each in a format that is read back exactly.

`python -m expected --models` does so, in the folder `tests`. Needed only when a library can no
longer read its file, or for a new model: new files mean new results.
"""

import zipfile
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from expected.data import NUMBERS, TRAIN_SEED, categories, mixed, numbers, rows, wide
from expected.saved import FOLDER

N = 1_500


def save_all() -> None:
    """Write every file anew."""
    FOLDER.mkdir(exist_ok=True)
    for save in (_linear, _skops, _networks, _lightgbm, _xgboost, _catboost, _onnx):
        save(FOLDER)


def _train(target, of=numbers, n=N):
    return of(target, n, TRAIN_SEED)


def _two():
    table = rows(N, TRAIN_SEED)
    return table[NUMBERS], table[["value", "other"]].to_numpy()


def _linear(folder: Path) -> None:
    """Coefficients only: these models need no library beyond the required ones."""
    X, value = _train("value")
    linear = LinearRegression().fit(X, value)
    two = LinearRegression().fit(*_two())
    found = {"value": (linear.coef_, linear.intercept_), "two": (two.coef_, two.intercept_)}
    for target in ("label", "kind"):
        model = LogisticRegression().fit(*_train(target))
        found[target] = (model.coef_, model.intercept_)
    arrays = {
        f"{name}_{part}": values
        for name, pair in found.items()
        for part, values in zip(("coef", "intercept"), pair, strict=True)
    }
    np.savez(folder / "linear.npz", **arrays)


def _encoder():
    number = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_column_transformer(
        (OneHotEncoder(), ["city"]), (number, ["a", "b", "gap", "level"])
    )


def _skops(folder: Path) -> None:
    import skops.io

    X, value = _train("value")
    label, kind, count = (_train(target)[1] for target in ("label", "kind", "count"))
    M, mixed_value = _train("mixed", mixed)
    C, _ = _train("mixed", categories)
    gaps = M[["a", "b", "gap", "level"]]
    seed = {"random_state": 0}
    net = {"max_iter": 60, **seed}
    estimators = {
        "svr": SVR().fit(X[:200], value[:200]),
        "svc": SVC().fit(X[:200], label[:200]),
        "neighbours": KNeighborsRegressor().fit(X[:200], value[:200]),
        "poisson": PoissonRegressor().fit(X, count),
        "tree": DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, value),
        "tree_kind": DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, kind),
        "forest": RandomForestRegressor(12, max_depth=5, **seed).fit(X, value),
        "forest_deep": RandomForestRegressor(6, max_leaf_nodes=150, **seed).fit(X, value),
        "forest_kind": RandomForestClassifier(8, max_depth=4, **seed).fit(X, kind),
        "extra_two": ExtraTreesRegressor(8, max_depth=5, **seed).fit(*_two()),
        "extra_label": ExtraTreesClassifier(8, max_depth=4, **seed).fit(X, label),
        "boosting": GradientBoostingRegressor(n_estimators=12, max_depth=2, **seed).fit(X, value),
        "boosting_label": GradientBoostingClassifier(n_estimators=8, **seed).fit(X, label),
        "boosting_kind": GradientBoostingClassifier(n_estimators=3, **seed).fit(X, kind),
        "hist": HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=8).fit(C, mixed_value),
        "hist_label": HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=8).fit(
            gaps, label
        ),
        "hist_kind": HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6).fit(gaps, kind),
        "mlp": MLPRegressor(hidden_layer_sizes=(12, 6), **net).fit(X, value),
        "mlp_two": MLPRegressor(hidden_layer_sizes=(10,), activation="tanh", **net).fit(*_two()),
        "mlp_label": MLPClassifier(hidden_layer_sizes=(10,), **net).fit(X, label),
        "mlp_kind": MLPClassifier(hidden_layer_sizes=(10,), activation="logistic", **net).fit(
            X, kind
        ),
        "mlp_wide": MLPRegressor(hidden_layer_sizes=(20,), **net).fit(*wide(N, TRAIN_SEED)),
        "pipeline_label": make_pipeline(_encoder(), LogisticRegression()).fit(M, label),
        "pipeline_forest": make_pipeline(
            _encoder(), RandomForestRegressor(6, max_depth=5, **seed)
        ).fit(M, mixed_value),
        "pipeline_mlp": make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(10,), **net)
        ).fit(X, value),
        "pipeline_products": make_pipeline(PolynomialFeatures(2), Ridge()).fit(X, value),
        "voting": VotingRegressor(
            [("tree", DecisionTreeRegressor(max_depth=3, random_state=0)), ("ridge", Ridge())]
        ).fit(X, value),
    }
    for name, model in estimators.items():
        # Half of a network's file, and needed only to train it further.
        for rest in ("_optimizer", "_random_state"):
            vars(model).pop(rest, None)
        skops.io.dump(model, folder / f"{name}.skops", compression=zipfile.ZIP_DEFLATED)


def _networks(folder: Path) -> None:
    """Weights of small networks, trained by scikit-learn: every network library loads them."""
    X, _ = _train("value")
    kinds = {
        "network_value": (MLPRegressor, (16, 8), "relu", "value"),
        "network_label": (MLPClassifier, (12,), "tanh", "label"),
        "network_kind": (MLPClassifier, (12, 6), "relu", "kind"),
    }
    for name, (estimator, layers, activation, target) in kinds.items():
        net = estimator(
            hidden_layer_sizes=layers, activation=activation, max_iter=80, random_state=0
        )
        net.fit(X.to_numpy(), _train(target)[1])
        arrays = {f"weights{k}": weights for k, weights in enumerate(net.coefs_)}
        arrays |= {f"biases{k}": biases for k, biases in enumerate(net.intercepts_)}
        np.savez(folder / f"{name}.npz", **arrays)


def _lightgbm(folder: Path) -> None:
    import lightgbm
    import skops.io

    settings = {"num_leaves": 8, "verbose": -1, "n_jobs": 1, "deterministic": True, "seed": 0}
    regressor = lightgbm.LGBMRegressor(n_estimators=30, **settings).fit(*_train("value"))
    regressor.booster_.save_model(folder / "lightgbm_value.txt")
    kinds = lightgbm.LGBMClassifier(n_estimators=10, **settings).fit(*_train("kind"))
    kinds.booster_.save_model(folder / "lightgbm_kind.txt")
    words = lightgbm.LGBMRegressor(n_estimators=20, **settings).fit(*_train("mixed", categories))
    words.booster_.save_model(folder / "lightgbm_mixed.txt")
    labels = lightgbm.LGBMClassifier(n_estimators=20, **settings).fit(*_train("label"))
    file = folder / "lightgbm_label.skops"
    skops.io.dump(labels, file, compression=zipfile.ZIP_DEFLATED)


def _xgboost(folder: Path) -> None:
    import xgboost

    settings = {"n_estimators": 15, "max_depth": 3, "n_jobs": 1}
    table = rows(N, TRAIN_SEED)
    number = {"label": ["no", "yes"], "kind": ["low", "mid", "high"]}
    X = table[NUMBERS]
    y = {name: table[name].map(labels.index).to_numpy() for name, labels in number.items()}
    regressor = xgboost.XGBRegressor(**settings).fit(X, table["value"])
    regressor.save_model(folder / "xgboost_value.json")
    xgboost.XGBClassifier(**settings).fit(X, y["label"]).save_model(folder / "xgboost_label.ubj")
    kinds = xgboost.XGBClassifier(**{**settings, "n_estimators": 5}).fit(X, y["kind"])
    kinds.save_model(folder / "xgboost_kind.ubj")
    words = xgboost.XGBRegressor(**settings, enable_categorical=True)
    words.fit(*_train("mixed", categories)).save_model(folder / "xgboost_mixed.ubj")
    xgboost.XGBRegressor(**settings).fit(*_two()).save_model(folder / "xgboost_two.ubj")
    linear = xgboost.XGBRegressor(booster="gblinear", n_estimators=15, n_jobs=1)
    # The default of gblinear updates in parallel, and not twice alike.
    linear.set_params(updater="coord_descent").fit(X, table["value"])
    linear.get_booster().save_model(folder / "xgboost_linear.ubj")


def _catboost(folder: Path) -> None:
    import catboost

    settings = {"iterations": 15, "depth": 3, "verbose": 0, "thread_count": 1, "random_seed": 0}
    settings["allow_writing_files"] = False
    M, value = _train("mixed", mixed)
    models = {
        "value": catboost.CatBoostRegressor(**settings).fit(*_train("value")),
        "label": catboost.CatBoostClassifier(**settings).fit(*_train("label")),
        "kind": catboost.CatBoostClassifier(**settings).fit(*_train("kind")),
        "mixed": catboost.CatBoostRegressor(**settings).fit(M, value, cat_features=["city"]),
        "two": catboost.CatBoostRegressor(**settings, loss_function="MultiRMSE").fit(*_two()),
    }
    for name, model in models.items():
        model.save_model(str(folder / f"catboost_{name}.cbm"))


def _onnx(folder: Path) -> None:
    import onnx
    import skl2onnx

    weights = dict(np.load(folder / "network_value.npz"))
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    last = len(weights) // 2 - 1
    nodes, rows_of_layer = [], "X"
    for k in range(last + 1):
        out = "Y" if k == last else f"z{k}"
        nodes.append(helper.make_node("Gemm", [rows_of_layer, f"weights{k}", f"biases{k}"], [out]))
        if k < last:
            rows_of_layer = f"a{k}"
            nodes.append(helper.make_node("Relu", [out], [rows_of_layer]))
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("X", double, [None, len(NUMBERS)])],
        [helper.make_tensor_value_info("Y", double, [None, 1])],
        [onnx.numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    network = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(network, folder / "onnx_network.onnx")
    X, kind = _train("kind")
    forest = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X.to_numpy(), kind)
    example = X.to_numpy(np.float32)[:1]
    written = skl2onnx.to_onnx(forest, example, options={"zipmap": False}, target_opset=17)
    onnx.save(written, folder / "onnx_forest.onnx")
