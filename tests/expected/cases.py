"""The cases: one call each, by the libraries that it needs beyond the required ones."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sfit
from expected import saved
from expected.calls import (
    Slopes,
    call,
    choose_beta,
    from_files,
    in_parquet,
    in_tiles,
    loco,
    resumed,
    selected,
)
from expected.content import content
from expected.data import MIXED, NUMBERS, TRAIN_SEED, categories, mixed, numbers, rows, wide
from expected.saved import CLASSES, catboost, keras, lightgbm, linear, onnx, skops, skorch, xgboost

Case = Callable[[], Any]
Cases = dict[str, Case]

AUTO = {"beta": "auto", "alpha": 0.1, "random_state": 5}
PAIRS = {"max_order": 2, "exhaustive": True}
MODELS = {"alpha": 0.1, "n_models": 4, "max_beta": 0.5, "random_state": 1}
TWO = ["value", "other"]


def array(target: str = "value", **size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows without names."""
    X, y = numbers(target, **size)
    return X.to_numpy(), y


def train(target: str = "value", n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows that were there before."""
    return numbers(target, n, TRAIN_SEED)


def two(n: int = 800) -> tuple[pd.DataFrame, np.ndarray]:
    """Two outputs."""
    return rows(n)[NUMBERS], rows(n)[TWO].to_numpy()


def gaps(target: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, some of them missing."""
    X, y = mixed(target)
    return X[["a", "b", "gap", "level"]], y


def class_numbers(target: str, labels: list[str], n: int = 800) -> tuple[pd.DataFrame, np.ndarray]:
    """Classes as whole numbers."""
    X, y = numbers(target, n)
    return X, np.array([labels.index(label) for label in y])


def triple(X: Any) -> np.ndarray:
    """A function of an array: one feature alone, three only together."""
    return X[:, 0] + 2 * X[:, 1] * X[:, 2] * X[:, 3]


def true_value(X: pd.DataFrame) -> np.ndarray:
    """What `value` is made of, as a function of frames."""
    x = {name: X[name].to_numpy() for name in NUMBERS}
    return 0.4 + 2 * x["a"] + 2.5 * x["b"] * x["c"] + x["d"] * x["d"]


def ramp(X: pd.DataFrame) -> np.ndarray:
    """The probability of "yes", without a logarithm in it."""
    return np.clip(0.5 + 0.1 * (true_value(X) - 1.0), 0.05, 0.95)


def both(X: pd.DataFrame) -> np.ndarray:
    """Two outputs at once."""
    return np.column_stack([true_value(X), X["a"].to_numpy() - X["d"].to_numpy()])


def cubed(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """A loss of the user's own."""
    gap = np.abs(y - prediction)
    return gap * gap * gap


def any_slopes(rng: np.random.Generator) -> Any:
    """A random model: five slopes."""
    slopes = rng.random(5) - 0.5

    def predict(X):
        return sum(slope * X[name].to_numpy() for slope, name in zip(slopes, NUMBERS, strict=True))

    return predict


def logits(name: str) -> Any:
    """A torch network that returns logits."""
    return sfit.models.torch_model(saved.torch_chain(name), "logits", CLASSES[name])


def as_polars(table: pd.DataFrame) -> Any:
    """A polars frame of numbers and words."""
    import polars

    return polars.DataFrame({name: table[name].to_numpy() for name in table})


def triples(n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """Rows for `triple`."""
    X, _ = array(n=n)
    return X, triple(X) + 0.1 * rows(n)["e"].to_numpy()


FUNCTIONS: Cases = {
    "function": lambda: call(true_value, *numbers()),
    "function, order 2": lambda: call(true_value, *numbers(), max_order=2, beta=(0.01, 0.001)),
    "function, order 3": lambda: call(triple, *triples(), max_order=3),
    "function, order 3, strict": lambda: call(triple, *triples(), max_order=3, strict=True),
    "function, exhaustive": lambda: call(true_value, *numbers(), max_order=2, exhaustive=True),
    "function, exhaustive and strict, order 3": lambda: call(
        triple, *triples(300), max_order=3, exhaustive=True, strict=True, correction="holm"
    ),
    "function, all partners": lambda: call(true_value, *numbers(), max_order=2, partners="all"),
    "function, partners by name": lambda: call(
        true_value, *numbers(), max_order=2, partners={"b": ["e", "c"], "e": ["b"]}
    ),
    "function, partners by a function": lambda: call(
        true_value, *numbers(), max_order=2, partners=lambda name: [x for x in "cbe" if x != name]
    ),
    "function, one partner": lambda: call(
        true_value, *numbers(), max_order=2, partners="all", n_partners=1
    ),
    "function, two outputs": lambda: call(both, *two(), max_order=2, loss="squared_error"),
    "function, own loss": lambda: call(true_value, *numbers(), loss=cubed),
    "function, classes": lambda: call(
        sfit.models.function_model(ramp, "classification", CLASSES["label"]), *numbers("label")
    ),
    "function, Brier by class": lambda: call(
        sfit.models.function_model(ramp, "classification", CLASSES["label"]),
        *numbers("label"),
        by="class",
        loss="brier",
        max_order=2,
    ),
    "function, by column": lambda: call(
        true_value, rows(), "value", features=NUMBERS, by="part", max_order=2
    ),
    "function, random models": lambda: call(
        true_value, *numbers(), **AUTO, random_model=any_slopes, validation=train()
    ),
    "function, decided again": lambda: call(true_value, *numbers(), max_order=2).at(
        alpha=0.001, correction="bonferroni"
    ),
    "function, few rows": lambda: call(true_value, *numbers(n=6)),
    "function, two workers": lambda: in_tiles(
        128, lambda: call(true_value, *numbers(), max_order=2, n_jobs=2)
    ),
}

LINEAR: Cases = {
    "linear": lambda: call(linear("value"), *numbers()),
    "linear, every row": lambda: call(linear("value"), *numbers(), fast=False),
    "linear, order 2": lambda: call(linear("value"), *numbers(), **PAIRS),
    **{
        f"linear, {correction}": lambda correction=correction: call(
            linear("value"), *numbers(n=300), max_order=2, correction=correction, exhaustive=True
        )
        for correction in ("fdr_by", "fdr_bh", "holm", "bonferroni")
    },
    "linear, asymptotic": lambda: call(linear("value"), *numbers(), interval="asymptotic"),
    "linear, alpha": lambda: call(linear("value"), *numbers(), alpha=0.2, beta=0.0),
    **{
        f"linear, frozen at {name}": lambda reference=reference: call(
            linear("value"), *numbers(), reference=reference()
        )
        for name, reference in {
            "medians": lambda: "median",
            "modes": lambda: "mode",
            "a number": lambda: 0.5,
            "values by column": lambda: {"a": 1.0, "d": -0.5},
            "a row": lambda: [0.1, 0.2, 0.3, 0.4, 0.5],
            "means of training rows": lambda: train()[0],
        }.items()
    },
    "linear, groups": lambda: call(linear("value"), *numbers(), groups={"bc": ["b", "c"]}, **PAIRS),
    "linear, always on": lambda: call(linear("value"), *numbers(), always_on=["a"]),
    "linear, given": lambda: call(linear("value"), *numbers(), given=["a"], **PAIRS),
    "linear, given the rest": lambda: call(linear("value"), *numbers(), given="rest", beta=0.0),
    "linear, by labels": lambda: call(
        linear("value"), *numbers(), by=rows()["level"].to_numpy(), max_order=2
    ),
    "linear, squared error": lambda: call(linear("value"), *numbers(), loss="squared_error"),
    "linear, own loss": lambda: call(linear("value"), *numbers(), loss=cubed),
    "linear, two outputs": lambda: call(linear("two"), *two()),
    "linear, array": lambda: call(linear("value", named=False), *array(), **PAIRS),
    "linear, sparse": lambda: call(
        linear("value", named=False), sp.csr_array(array()[0]), array()[1], groups={"u": [1, 2]}
    ),
    "linear, auto": lambda: call(
        linear("value"), *numbers(), **AUTO, **PAIRS, validation_fraction=0.4
    ),
    "linear, auto on validation rows": lambda: call(
        linear("value"), *numbers(), **AUTO, validation=train(), interval="asymptotic"
    ),
    "linear, choose beta": lambda: choose_beta(linear("value"), *numbers(), **MODELS),
    "linear, choose beta from a grid": lambda: choose_beta(
        linear("value"), *numbers(), **MODELS, grid=[0.0, 0.01, 0.1, 0.3]
    ),
    "linear, choose beta among any slopes": lambda: choose_beta(
        linear("value"), *numbers(), **MODELS, random_model=any_slopes
    ),
    "linear, from a checkpoint": lambda: resumed(linear("value"), *numbers(), **PAIRS),
    "linear, three tiles": lambda: call(linear("value"), *numbers(n=140_000), **PAIRS),
    "logistic": lambda: call(linear("label"), *numbers("label"), **PAIRS),
    "logistic, by class": lambda: call(linear("label"), *numbers("label"), by="class"),
    "logistic, zero-one": lambda: call(linear("label"), *numbers("label"), loss="zero_one"),
    "logistic, choose beta": lambda: choose_beta(linear("label"), *numbers("label"), **MODELS),
    "logistic, three classes": lambda: call(linear("kind"), *numbers("kind"), **PAIRS),
    "logistic, three classes, Brier by class": lambda: call(
        linear("kind"), *numbers("kind"), loss="brier", by="class"
    ),
    "logistic, four tiles and two workers": lambda: in_tiles(
        200, lambda: call(linear("kind"), *numbers("kind"), n_jobs=2, by=rows()["part"].to_numpy())
    ),
}

REFITS: Cases = {
    "LOCO": lambda: loco(Slopes(), train(), numbers()),
    "LOCO, trees": lambda: loco(
        DecisionTreeRegressor(max_depth=4, random_state=0),
        train(),
        numbers(),
        correction="holm",
        interval="asymptotic",
        groups={"bc": ["b", "c"]},
    ),
    "LOCO, classes": lambda: loco(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        train("kind"),
        numbers("kind"),
        loss="brier",
        alpha=0.1,
    ),
    "LOCO, own loss in tiles": lambda: in_tiles(
        300, lambda: loco(Slopes(), train(), numbers(), loss=cubed, features=["a", "d", "e"])
    ),
    "selector": lambda: selected(Slopes(), *numbers(), random_state=0),
    "selector, order 2": lambda: selected(
        DecisionTreeRegressor(max_depth=5, random_state=0),
        *numbers(n=1_600),
        max_order=2,
        correction="holm",
        random_state=3,
        test="sign",
    ),
    "selector, auto on a fitted model": lambda: selected(
        linear("value"), *numbers(), prefit=True, groups={"bc": ["b", "c"]}, **AUTO, test="sign"
    ),
}

STORED: Cases = {
    "Parquet": lambda: from_files(linear("value"), rows(), "value", **PAIRS),
    "Parquet, median": lambda: from_files(linear("value"), rows(), "value", reference="median"),
    "Parquet, mode": lambda: from_files(linear("value"), rows(), "value", reference="mode"),
    "Parquet, by column": lambda: from_files(
        linear("label"), rows(), "label", by="part", **PAIRS, correction="fdr_by"
    ),
    "Parquet, by class": lambda: from_files(linear("kind"), rows(), "kind", by="class"),
    "Parquet, function": lambda: from_files(
        true_value, rows(), "value", features=NUMBERS, max_order=2, n_jobs=2
    ),
    "Parquet, auto": lambda: from_files(linear("value"), rows(), "value", **AUTO),
    "Parquet, training means and given": lambda: from_files(
        linear("value"), rows(), "value", reference=train()[0], given=["a"]
    ),
    "Parquet, three whole tiles": lambda: in_parquet(
        rows(140_000),
        lambda folder: call(linear("value"), folder, "value", by="level"),
        row_group=30_000,
    ),
    "Parquet, LOCO": lambda: in_parquet(
        rows(), lambda folder: loco(Slopes(), train(), (folder, "value"), loss="squared_error")
    ),
}

POLARS: Cases = {
    "polars": lambda: call(linear("value"), as_polars(rows()[NUMBERS]), numbers()[1], **PAIRS),
    "polars, by column": lambda: call(
        linear("label"), as_polars(rows()[[*NUMBERS, "label", "part"]]), "label", by="part"
    ),
}

SKLEARN: Cases = {
    "SVR": lambda: call(skops("svr"), *numbers(n=300), max_order=2),
    "SVC": lambda: call(skops("svc"), *numbers("label", n=400), loss="zero_one"),
    "neighbours": lambda: call(skops("neighbours"), *numbers(n=300), given=["d"]),
    "Poisson": lambda: call(skops("poisson"), *numbers("count"), loss="poisson", **PAIRS),
    "tree": lambda: call(skops("tree"), *numbers(), max_order=3, exhaustive=True),
    "tree, three classes": lambda: call(skops("tree_kind"), *numbers("kind"), **PAIRS),
    "forest": lambda: call(skops("forest"), *numbers(), max_order=3, n_partners=2),
    "forest, every row": lambda: call(skops("forest"), *numbers(), max_order=2, fast=False),
    "forest, choose beta": lambda: choose_beta(skops("forest"), *numbers(), **MODELS),
    "deep forest": lambda: call(skops("forest_deep"), *numbers(n=3_000), max_order=2),
    "deep forest, many rows": lambda: call(
        skops("forest_deep"), *numbers(n=20_000), **PAIRS, n_partners=1
    ),
    "forest, three classes": lambda: call(
        skops("forest_kind"), *numbers("kind"), by="class", max_order=2
    ),
    "extra trees, two outputs": lambda: call(skops("extra_two"), *two(), **PAIRS),
    "extra trees, classes": lambda: call(skops("extra_label"), *numbers("label"), loss="brier"),
    "boosting": lambda: call(skops("boosting"), *numbers(), max_order=2, strict=True),
    "boosting, given the rest": lambda: call(skops("boosting"), *numbers(), given="rest"),
    "boosting, classes": lambda: call(skops("boosting_label"), *numbers("label"), **PAIRS),
    "boosting, three classes": lambda: call(skops("boosting_kind"), *numbers("kind"), by="class"),
    "boosting, choose beta": lambda: choose_beta(
        skops("boosting_label"), *numbers("label"), **MODELS
    ),
    "histograms, gaps and categories": lambda: call(skops("hist"), *categories(), max_order=2),
    "histograms, mode": lambda: call(skops("hist"), *categories(), reference="mode", beta=0.0),
    "histograms, classes": lambda: call(skops("hist_label"), *gaps("label"), **PAIRS),
    "histograms, three classes": lambda: call(skops("hist_kind"), *gaps("kind"), loss="zero_one"),
    "histograms, choose beta": lambda: choose_beta(skops("hist_label"), *gaps("label"), **MODELS),
    "network": lambda: call(skops("mlp"), *numbers(), max_order=2),
    "network, wide": lambda: call(skops("mlp_wide"), *wide(), max_order=2, n_partners=1),
    "network, wide, groups": lambda: call(
        skops("mlp_wide"), *wide(), groups={"u": [0, 11], "v": [7, 23]}, given=["x29"]
    ),
    "network, choose beta": lambda: choose_beta(skops("mlp"), *numbers(), **MODELS),
    "network, two outputs": lambda: call(skops("mlp_two"), *two(), **PAIRS),
    "network, classes": lambda: call(skops("mlp_label"), *numbers("label"), max_order=2),
    "network, three classes": lambda: call(skops("mlp_kind"), *numbers("kind"), by="class"),
    "pipeline": lambda: call(skops("pipeline_label"), *mixed("label"), **PAIRS),
    "pipeline, mode": lambda: call(
        skops("pipeline_label"), *mixed("label"), reference="mode", given=["a"]
    ),
    "pipeline, frozen by column": lambda: call(
        skops("pipeline_forest"), *mixed(), reference={"city": "oslo", "gap": 0.0}, max_order=2
    ),
    "pipeline, auto": lambda: call(skops("pipeline_label"), *mixed("label"), **AUTO),
    "pipeline, scaled network": lambda: call(skops("pipeline_mlp"), *numbers(), max_order=2),
    "pipeline, products": lambda: call(skops("pipeline_products"), *numbers(), max_order=2),
    "voting": lambda: call(skops("voting"), *numbers(), **PAIRS, groups={"ab": ["a", "b"]}),
}

SKLEARN_STORED: Cases = {
    "Parquet, histograms": lambda: from_files(
        skops("hist_label"), rows()[["a", "b", "gap", "level", "label"]], "label", **PAIRS
    ),
    "Parquet, pipeline": lambda: from_files(
        skops("pipeline_forest"), rows()[[*MIXED, "mixed", "part"]], "mixed", by="part"
    ),
}

LIGHTGBM: Cases = {
    "LightGBM": lambda: call(lightgbm("value"), *numbers(), **PAIRS),
    "LightGBM, array": lambda: call(lightgbm("value"), *array(), max_order=3, n_partners=2),
    "LightGBM, sparse": lambda: call(lightgbm("value"), sp.csr_array(array()[0]), array()[1]),
    "LightGBM, many rows": lambda: call(
        lightgbm("value"), *numbers(n=20_000), **PAIRS, n_partners=1
    ),
    "LightGBM, auto": lambda: call(
        lightgbm("value"), *numbers(), **AUTO, validation=train(n=400), max_order=2
    ),
    "LightGBM, gaps and categories": lambda: call(lightgbm("mixed"), *categories(), max_order=2),
    "LightGBM, three classes": lambda: call(
        lightgbm("kind"), *class_numbers("kind", CLASSES["kind"]), by="class", max_order=2
    ),
    "LightGBM, estimator of classes": lambda: call(
        skops("lightgbm_label"), *numbers("label"), **PAIRS
    ),
    "LightGBM, choose beta": lambda: choose_beta(
        skops("lightgbm_label"), *numbers("label"), **MODELS
    ),
}

XGBOOST: Cases = {
    "XGBoost": lambda: call(xgboost("value"), *numbers(), **PAIRS, correction="fdr_bh"),
    "XGBoost, choose beta": lambda: choose_beta(xgboost("value"), *numbers(), **MODELS),
    "XGBoost, classes": lambda: call(
        xgboost("label"), *class_numbers("label", ["no", "yes"]), **PAIRS
    ),
    "XGBoost, three classes": lambda: call(
        xgboost("kind"), *class_numbers("kind", ["low", "mid", "high"]), by="class"
    ),
    "XGBoost, gaps and categories": lambda: call(xgboost("mixed"), *categories(), max_order=2),
    "XGBoost, two outputs": lambda: call(xgboost("two"), *two(), **PAIRS),
    "XGBoost, linear booster": lambda: call(xgboost("linear"), *numbers(), given="rest"),
}

CATBOOST: Cases = {
    "CatBoost": lambda: call(catboost("value"), *numbers(), **PAIRS),
    "CatBoost, choose beta": lambda: choose_beta(catboost("value"), *numbers(), **MODELS),
    "CatBoost, classes": lambda: call(catboost("label"), *numbers("label"), max_order=2),
    "CatBoost, three classes": lambda: call(catboost("kind"), *numbers("kind"), by="class"),
    "CatBoost, gaps and words": lambda: call(catboost("mixed"), *mixed(), max_order=2),
    "CatBoost, two outputs": lambda: call(catboost("two"), *two()),
}

TORCH: Cases = {
    "torch": lambda: call(saved.torch_chain("value"), *array(), max_order=2),
    "torch, order 3": lambda: call(
        saved.torch_chain("value"), *array(), max_order=3, n_partners=2, exhaustive=True
    ),
    "torch, every row": lambda: call(saved.torch_chain("value"), *array(), fast=False),
    "torch, logits": lambda: call(logits("label"), *numbers("label"), **PAIRS),
    "torch, logits of three classes": lambda: call(logits("kind"), *numbers("kind"), by="class"),
    "torch, choose beta": lambda: choose_beta(logits("kind"), *numbers("kind"), **MODELS),
}

SKORCH: Cases = {
    "skorch": lambda: call(skorch("value"), *array(), max_order=2),
    "skorch, classes": lambda: call(skorch("label"), *class_numbers("label", ["no", "yes"])),
    "skorch, three classes": lambda: call(skorch("kind"), *numbers("kind"), loss="brier"),
}

SINGLE: Cases = {
    "torch, single precision": lambda: call(
        saved.torch_chain("value", dtype="float32"), *array(), max_order=2
    ),
    "Keras": lambda: call(keras("value"), *array(), max_order=2),
    "Keras, double precision": lambda: call(keras("value", "float64"), *array(), max_order=2),
    "Keras, choose beta": lambda: choose_beta(keras("kind"), *numbers("kind"), **MODELS),
    "Keras, classes": lambda: call(keras("label"), *numbers("label"), **PAIRS),
    "Keras, three classes": lambda: call(keras("kind"), *numbers("kind"), by="class"),
}

ONNX: Cases = {
    "ONNX, network": lambda: call(onnx("network"), *array(), max_order=2),
    "ONNX, forest": lambda: call(onnx("forest"), *numbers("kind"), by="class"),
    "ONNX, given the rest": lambda: call(onnx("network"), *array(n=400), given="rest"),
}


@dataclass(frozen=True)
class Group:
    """Cases that need the same libraries."""

    cases: Cases
    needs: tuple[str, ...] = ()
    tolerance: float = 1e-12
    """How far floats may be from those recorded, relatively: builds of a library differ."""

    def missing(self) -> list[str]:
        """The libraries that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]


GROUPS = {
    "functions": Group(FUNCTIONS),
    "linear": Group(LINEAR),
    "refits": Group(REFITS),
    "stored": Group(STORED, ("pyarrow",)),
    "polars": Group(POLARS, ("polars",)),
    "sklearn": Group(SKLEARN, ("skops",)),
    "sklearn_stored": Group(SKLEARN_STORED, ("pyarrow", "skops")),
    "lightgbm": Group(LIGHTGBM, ("lightgbm", "skops")),
    "xgboost": Group(XGBOOST, ("xgboost",)),
    "catboost": Group(CATBOOST, ("catboost",)),
    "torch": Group(TORCH, ("torch",)),
    "skorch": Group(SKORCH, ("skorch", "torch")),
    "onnx": Group(ONNX, ("onnx", "onnxruntime")),
    # Single precision: another processor rounds differently in the seventh digit.
    "single": Group(SINGLE, ("keras", "torch"), tolerance=1e-5),
}


def content_of(case: Case) -> Any:
    """The result of a case, without its warnings: they are texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return content(case())
