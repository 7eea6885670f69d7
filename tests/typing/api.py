"""Typical use, for type checkers: `make lint` checks this file, and nothing runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pandas as pd

import sfit
from sfit.plotting import (
    BuildUpDisplay,
    CoinDisplay,
    DeltaDisplay,
    ImportanceDisplay,
    InteractionDisplay,
    ModelsDisplay,
    PartsDisplay,
    RanksDisplay,
    RiseDisplay,
)


def first_test(model: Any, X: pd.DataFrame, y: npt.NDArray[np.float64]) -> list[str]:
    result = sfit.feature_significance(model, X, y, reference=X, correction="fdr_by")
    assert_type(result, sfit.SFITResult)
    assert_type(result.significant, dict[int, list[tuple[str, ...]]])
    assert_type(result.selected, tuple[str, ...])
    assert_type(result.table, pd.DataFrame)
    assert_type(result.features, pd.DataFrame)
    assert_type(result.remainder, bool)
    assert_type(result.gates, tuple[sfit.GateTest, ...])
    assert_type(result.at(alpha=0.01), sfit.SFITResult)
    assert_type(result.to_html(Path("report.html")), str)
    assert_type(sfit.SFITResult.from_json("result.json"), sfit.SFITResult)
    return [name for name in result.selected if name.startswith("X")]


def every_option(model: Any, X: pd.DataFrame, y: pd.Series[float]) -> sfit.SFITResult:
    return sfit.feature_significance(
        model,
        X,
        y,
        features=["a", "b", "c"],
        loss="absolute_error",
        alpha=0.01,
        beta=(0.01, 0.001),
        max_order=2,
        correction=None,
        test=sfit.SignTest(interval="asymptotic"),
        reference=sfit.Average(X, n_rows=10),
        groups={"pair": ["b", "c"]},
        always_on=["one"],
        given=("a",),
        partners={"a": ["pair"]},
        n_partners=3,
        exhaustive=True,
        strict=True,
        fast=False,
        n_jobs=2,
        progress=True,
        checkpoint=Path("run.sqlite"),
        checkpoint_key="mine",
        random_state=0,
    )


def parts(model: Any, X: pd.DataFrame, y: list[str]) -> dict[Any, int]:
    result = sfit.feature_significance(model, X, y, by="class", beta="auto")
    assert_type(result, sfit.PartitionedResult)
    assert_type(result["yes"], sfit.SFITResult)
    return {label: len(part.selected) for label, part in result.items()}


def own_loss(y: npt.NDArray[np.float64], prediction: npt.NDArray[np.float64]) -> Any:
    return np.abs(y - prediction) ** 1.5


def functions(X: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    def predict(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return rows[:, 0]

    model = sfit.models.function_model(predict, task="regression")
    result = sfit.feature_significance(model, X, y, loss=own_loss, beta=0.0)
    choice = sfit.choose_beta(model, X, y, random_model=lambda rng: rng.normal, random_state=0)
    assert_type(choice, sfit.BetaChoice)
    assert_type(choice.curve, pd.DataFrame)
    return choice.beta + result.gates[0].p_value


def planning() -> int:
    assert_type(sfit.power(1_000, 0.55), float)
    assert_type(sfit.rows_needed(correlation=0.1, cluster_size=2.5, icc=0.1), int)
    assert_type(sfit.rows_needed(0.55, power=0.9), int)
    return sfit.rows_needed(0.55)


def refits(estimator: Any) -> sfit.SFITResult:
    X, y = sfit.simulate.correlated(2_000, random_state=0)
    selector = sfit.SFITSelector(estimator, max_order=2).fit(X, y)
    assert_type(selector, sfit.SFITSelector)
    few = sfit.cross_significance(estimator, X, y, n_folds=3, test="sign", beta=0.01)
    assert_type(few, sfit.SFITResult)
    assert_type(few.folds, pd.DataFrame)
    return sfit.loco_significance(estimator, X[:1_000], y[:1_000], X[1_000:], y[1_000:])


def comparisons(model: Any, other: Any) -> sfit.PartComparison:
    X, y = sfit.simulate.interactions(100)
    two = sfit.compare_models({"champion": model, "challenger": other}, X, y, given="rest")
    assert_type(two, sfit.ModelComparison)
    assert_type(two.features_table, pd.DataFrame)
    ranks = sfit.compare_features(model, X, y, clusters=y, alpha=0.1)
    assert_type(ranks, sfit.FeatureComparison)
    assert_type(sfit.FeatureComparison.from_json("ranks.json"), sfit.FeatureComparison)
    test = sfit.MeanTest(n_flips=999)
    assert_type(
        sfit.feature_significance(model, X, y, test=test, max_order=2, interaction="additive"),
        sfit.SFITResult,
    )
    return sfit.compare_parts(model, X, y, by=y, trend=True)


def pictures(model: Any, result: sfit.SFITResult, by_class: sfit.PartitionedResult) -> None:
    X, y = sfit.simulate.interactions(100)
    assert_type(ImportanceDisplay.from_result(result), ImportanceDisplay)
    assert_type(CoinDisplay.from_result(result), CoinDisplay)
    assert_type(RiseDisplay.from_result(result), RiseDisplay)
    assert_type(BuildUpDisplay.from_result(result), BuildUpDisplay)
    assert_type(InteractionDisplay.from_result(result, model=model), InteractionDisplay)
    assert_type(PartsDisplay.from_result(by_class), PartsDisplay)
    assert_type(DeltaDisplay.from_model(model, X, y, "X1"), DeltaDisplay)


def pictures_of_comparisons(two: sfit.ModelComparison, ranks: sfit.FeatureComparison) -> None:
    assert_type(two.to_html(), str)
    assert_type(ModelsDisplay.from_result(two, model="challenger"), ModelsDisplay)
    assert_type(RanksDisplay.from_result(ranks), RanksDisplay)


def faults() -> None:
    try:
        sfit.power(10, 2.0)
    except sfit.exceptions.SFITError as error:
        assert_type(error, sfit.exceptions.SFITError)
