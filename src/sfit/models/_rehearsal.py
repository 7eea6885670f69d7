"""Read a booster's file in a process of its own, where a damaged one can do no harm.

XGBoost, LightGBM and CatBoost check what they read only in part: a file that was cut short can
crash them, and take the whole process along. This script is run, not imported: it loads the file
and predicts a few rows, and how it ends says whether the real process may do the same.
"""

from __future__ import annotations

import sys
from typing import Any

ROWS = 256


def main(library: str, path: str) -> None:
    """Load the file by its library, and predict random rows."""
    # The libraries work without these, and start several times as fast.
    sys.modules |= dict.fromkeys(("dask", "matplotlib", "pandas", "pyarrow", "sklearn"))  # type: ignore[arg-type]
    import numpy as np

    def rows(columns: int) -> Any:
        return np.random.default_rng(0).normal(size=(ROWS, columns))

    if library == "xgboost":
        import xgboost

        booster = xgboost.Booster()
        with open(path, "rb") as file:
            booster.load_model(bytearray(file.read()))
        data = xgboost.DMatrix(rows(booster.num_features()))
        booster.predict(data, validate_features=False)
    elif library == "lightgbm":
        import lightgbm

        model = lightgbm.Booster(model_file=path)
        model.predict(rows(model.num_feature()))
    else:
        import catboost

        catboost.CatBoost().load_model(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
