"""Ray through its joblib backend, where it is installed."""

import json
import os
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import sfit
from sfit import _workers

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'sfit[ray]'")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.long  # Ray starts and imports slowly

NAMES = list("abc")


@pytest.fixture(scope="module")
def cluster():
    """Two workers on this machine, and joblib's name for them."""
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False)
    register_ray()
    yield {"backend": "ray", "n_jobs": 2}
    ray.shutdown()


@pytest.fixture(scope="module")
def rows():
    """Three tiles."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150_000, 3)), columns=NAMES)
    return frame.assign(y=frame.a + frame.b * frame.c + rng.normal(size=150_000))


@pytest.fixture(scope="module")
def model(rows):
    """Boosting on some of the rows."""
    return HistGradientBoostingRegressor(max_iter=10).fit(rows[NAMES][:5000], rows.y[:5000])


def content(result):
    return json.loads(result.to_json())["result"]


def test_ray_gives_the_bits_of_one_process(cluster, rows, model, tmp_path):
    """From files that the workers read, with a checkpoint that the main process writes."""
    folder = tmp_path / "rows"
    folder.mkdir()
    rows.to_parquet(folder / "rows.parquet", row_group_size=40_000)
    expected = sfit.feature_significance(model, folder, "y", max_order=2)
    options = {"max_order": 2, "checkpoint": tmp_path / "run.sqlite"}
    with joblib.parallel_config(**cluster):
        found = sfit.feature_significance(model, folder, "y", **options)
    assert content(found) == content(expected)
    again = sfit.feature_significance(model, folder, "y", **options)
    assert content(again) == content(expected)


def test_the_work_is_done_by_the_workers(cluster, rows, tmp_path):
    """A function that leaves the number of its process behind."""

    def predict(table):
        (tmp_path / str(os.getpid())).touch()
        return np.asarray(table["a"])

    with joblib.parallel_config(**cluster):
        sfit.feature_significance(predict, rows, "y", features=NAMES)
    assert {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}


def test_what_jobs_share_travels_by_reference(cluster, rows):
    """A task carries a few bytes, however large the model."""
    large = np.zeros(10_000_000)
    with joblib.parallel_config(**cluster):
        payload, _ = _workers.share(large, large)
    assert len(pickle.dumps(payload)) < 10_000
    np.testing.assert_array_equal(_workers.open_payload(payload), large)


def test_refits_on_ray(cluster, rows):
    """LOCO: one refit per task."""
    estimator = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    data = rows[NAMES][:2000], rows.y[:2000], rows[NAMES][2000:9000], rows.y[2000:9000]
    expected = sfit.loco_significance(estimator, *data)
    with joblib.parallel_config(**cluster):
        found = sfit.loco_significance(estimator, *data)
    assert content(found) == content(expected)
