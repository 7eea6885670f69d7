"""How a case calls sfit: the one place that knows how this version spells its arguments."""

import inspect
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

import sfit
from sfit.rows import _tiles
from sfit.sample import prepare

OF_THE_SIGN_TEST = {"interval", "validation", "validation_fraction", "random_model"}
"""Arguments of the call, or of a `sfit.SignTest` that is passed as `test`."""


def call(model: Any, X: Any, y: Any, **options: Any) -> Any:
    """Test the features of a model."""
    return sfit.feature_significance(model, X, y, **spelt(sfit.feature_significance, options))


def loco(estimator: Any, train: Any, test: Any, **options: Any) -> Any:
    """Leave one covariate out; `train` and `test` are pairs of rows and target."""
    function = sfit.loco_significance
    return function(estimator, *train, *test, **spelt(function, options))


def choose_beta(model: Any, X: Any, y: Any, **options: Any) -> Any:
    """Choose beta by random models."""
    return sfit.choose_beta(model, X, y, **spelt(sfit.choose_beta, options))


def selected(estimator: Any, X: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Fit an `SFITSelector`: its test, and the columns that it keeps."""
    selector = sfit.SFITSelector(estimator, **spelt(sfit.SFITSelector, options)).fit(X, y)
    names = selector.get_feature_names_out().tolist()
    return {"result": selector.result_, "support": selector.support_.tolist(), "names": names}


def spelt(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options as this version of the function takes them."""
    if not hasattr(sfit, "SignTest"):
        return options
    moved = OF_THE_SIGN_TEST - set(inspect.signature(function).parameters)
    of_test = {name: options[name] for name in options if name in moved}
    others = {name: options[name] for name in options if name not in moved}
    return {**others, "test": sfit.SignTest(**of_test)} if of_test else others


def in_tiles(size: int, run: Callable[[], Any]) -> Any:
    """Run with tiles of so many rows: a few hundred rows are several tiles then."""
    defaults: Any = prepare.__kwdefaults__
    # Up to October 2026, the size was a constant.
    holder, name = (
        (defaults, "tile_rows") if "tile_rows" in defaults else (vars(_tiles), "TILE_ROWS")
    )
    whole, holder[name] = holder[name], size
    try:
        return run()
    finally:
        holder[name] = whole


def in_parquet(table: pd.DataFrame, run: Callable[[Path], Any], row_group: int = 170) -> Any:
    """Run on a folder of two Parquet files, whose row groups end nowhere near the ends of tiles."""
    with TemporaryDirectory() as folder:
        cut = len(table) * 2 // 3
        for number, part in enumerate((table[:cut], table[cut:])):
            part.to_parquet(Path(folder) / f"part-{number}.parquet", row_group_size=row_group)
        return run(Path(folder))


def from_files(model: Any, table: pd.DataFrame, y: str, **options: Any) -> Any:
    """Test a model on Parquet files, in tiles of 256 rows."""
    return in_parquet(
        table, lambda folder: in_tiles(256, lambda: call(model, folder, y, **options))
    )


def resumed(model: Any, X: Any, y: Any, **options: Any) -> Any:
    """Test with a checkpoint, and again from what it holds: the second result."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "run.sqlite"
        call(model, X, y, checkpoint=file, **options)
        return call(model, X, y, checkpoint=file, **options)


class Slopes(RegressorMixin, BaseEstimator):
    """A regressor of plain sums: one slope per column, each fitted alone."""

    def fit(self, X, y):
        """Fit the slopes."""
        rows = pd.DataFrame(X).to_numpy(dtype=float)
        self.n_features_in_ = rows.shape[1]
        if isinstance(X, pd.DataFrame):
            self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.centre_ = rows.mean(axis=0)
        self.level_ = float(y.mean())
        moved = rows - self.centre_
        gap = y - self.level_
        self.slopes_ = [
            float((moved[:, k] * gap).sum() / (moved[:, k] ** 2).sum())
            for k in range(rows.shape[1])
        ]
        return self

    def predict(self, X):
        """Add the columns up, in order."""
        rows = pd.DataFrame(X).to_numpy(dtype=float)
        total = self.level_
        for k, slope in enumerate(self.slopes_):
            total = total + slope * (rows[:, k] - self.centre_[k])
        return total
