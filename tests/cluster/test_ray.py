"""Ray through its joblib backend, where it is installed."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import sfit

ray = pytest.importorskip("ray")
pytest.importorskip("pyarrow")


def test_ray_gives_the_bits_of_one_process(tmp_path):
    """From files that the workers read."""
    from ray.util.joblib import register_ray

    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(150_000, 3)), columns=list("abc"))
    rows["y"] = rows.a + rows.b * rows.c + rng.normal(size=150_000)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=40_000)
    model = HistGradientBoostingRegressor(max_iter=10).fit(
        rows[["a", "b", "c"]][:5000], rows.y[:5000]
    )
    expected = sfit.feature_significance(model, tmp_path, "y", max_order=2)
    ray.init(num_cpus=2, include_dashboard=False)
    register_ray()
    with joblib.parallel_config(backend="ray"):
        found = sfit.feature_significance(model, tmp_path, "y", max_order=2)
    ray.shutdown()
    assert json.loads(found.to_json())["result"] == json.loads(expected.to_json())["result"]
