"""A real Dask cluster on loopback: the bits of one process, the model sent once, a worker killed."""

import json
import os
import signal
import threading
import time
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import sfit

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed")

# Sockets that Dask itself leaves to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process of its own."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """300,000 rows in three files: five tiles, across files and row groups."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for number in range(3):
        rows = pd.DataFrame(rng.normal(size=(100_000, 4)).astype("float32"), columns=NAMES)
        rows["y"] = rows.a + rows.b * rows.c + rng.normal(size=100_000)
        rows["part"] = np.where(rows.d > 0, "high", "low")
        rows["who"] = rng.integers(0, 500, size=100_000)
        rows["region"] = rows.who % 3
        rows.to_parquet(folder / f"{number}.parquet", row_group_size=30_000)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """Boosting on a part of the rows."""
    rows = pd.read_parquet(folder / "0.parquet")[:5_000]
    return HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(rows[NAMES], rows.y)


def content(result):
    return json.loads(result.to_json())["result"]


@pytest.mark.parametrize(
    "options",
    [
        {"max_order": 2},
        {"max_order": 2, "interaction": "additive", "exhaustive": True, "given": ["d"]},
        {"by": "part"},
        {"fast": False},
        {"test": "permutation", "by": "part", "random_state": 0},
        {"clusters": "who", "by": "part"},
        {"test": "permutation", "clusters": "who", "by": "part", "random_state": 0},
        {"test": "permutation", "row_order": "time", "random_state": 0},
        {"test": "mean", "by": "part", "max_order": 2, "random_state": 0},
        {"test": "mean", "clusters": "who", "random_state": 0},
    ],
    ids=[
        *("order 2", "additive", "by", "the model itself", "permutation"),
        *("clusters", "clusters permuted", "time", "means", "means of clusters"),
    ],
)
def test_a_cluster_gives_the_bits_of_one_process(client, folder, model, options):
    """From files that the workers read, and from rows in memory."""
    expected = content(sfit.feature_significance(model, folder, "y", **options))
    rows = pd.read_parquet(folder)
    with joblib.parallel_config(backend="dask"):
        assert content(sfit.feature_significance(model, folder, "y", **options)) == expected
        assert content(sfit.feature_significance(model, rows, "y", **options)) == expected


@pytest.mark.parametrize("options", [{}, {"clusters": "who"}], ids=["rows", "clusters"])
def test_comparisons_on_a_cluster(client, folder, model, options):
    """Two models that read the same files, the features of one, and parts of the rows."""
    rows = pd.read_parquet(folder / "0.parquet")[:5_000]
    line = LinearRegression().fit(rows[NAMES], rows.y)
    options |= {"reference": rows[NAMES], "random_state": 0}

    def compared():
        return [
            content(sfit.compare_models({"line": line, "trees": model}, folder, "y", **options)),
            content(sfit.compare_features(model, folder, "y", **options)),
            content(sfit.compare_parts(model, folder, "y", by="region", **options)),
        ]

    expected = compared()
    with joblib.parallel_config(backend="dask"):
        assert compared() == expected


def test_beta_is_chosen_on_a_cluster(client, folder, model):
    """The same engine, the same bits."""
    options = {"alpha": 0.4, "n_models": 3, "random_state": 0}
    expected = sfit.choose_beta(model, folder, "y", **options)
    with joblib.parallel_config(backend="dask"):
        assert sfit.choose_beta(model, folder, "y", **options) == expected


def counting_model(log):
    """A model that writes the process in which it is unpickled to a file."""

    class Model:
        def __call__(self, rows):
            return np.asarray(rows["a"]) + np.asarray(rows["b"])

        def __reduce__(self):
            return revive, (log,)

    def revive(log):
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return Model()

    return Model()


def test_the_model_travels_once_per_worker(client, folder, tmp_path):
    """Five tiles, two stages: each worker unpickles the model once per stage at most."""
    log = tmp_path / "unpickled"
    log.touch()
    model = counting_model(str(log))
    options = {"features": NAMES}
    expected = content(sfit.feature_significance(model, folder, "y", **options))
    with joblib.parallel_config(backend="dask"):
        found = sfit.feature_significance(model, folder, "y", **options)
    assert content(found) == expected
    by_process = Counter(log.read_text().split())
    by_process.pop(str(os.getpid()), None)
    stages = len(found.run["stages"])
    assert by_process, "the model never travelled"
    assert max(by_process.values()) <= stages


def counting_estimator(log):
    """Least squares that writes the process in which it is unpickled to a file."""

    class Estimator(LinearRegression):
        def __reduce__(self):
            return revive, (log,)

    def revive(log):
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return Estimator()

    return Estimator()


def test_the_training_rows_travel_once_per_worker(client, folder, tmp_path):
    """LOCO: four refits on two workers, on test rows that the workers read."""
    log = tmp_path / "unpickled"
    log.touch()
    rows = pd.read_parquet(folder / "0.parquet")
    arguments = counting_estimator(str(log)), rows[NAMES], rows.y, folder, "y"
    expected = content(sfit.loco_significance(*arguments))
    with joblib.parallel_config(backend="dask"):
        found = sfit.loco_significance(*arguments)
    assert content(found) == expected
    by_process = Counter(log.read_text().split())
    assert by_process.pop(str(os.getpid()), 0) == 0
    assert by_process, "the estimator never travelled"
    assert max(by_process.values()) == 1


def test_tables_travel_instead_of_the_model(client, folder, model, monkeypatch):
    """Cells are all that first order needs: no process unpickles the boosting model."""
    from joblib.externals.loky.backend.reduction import dumps

    from sfit._differences import Evaluation

    seen = []
    light = Evaluation.light

    def watched(evaluation, sides):
        made = light(evaluation, sides)
        seen.append(b"HistGradientBoosting" in bytes(dumps(made)))
        return made

    monkeypatch.setattr(Evaluation, "light", watched)
    with joblib.parallel_config(backend="dask"):
        sfit.feature_significance(model, folder, "y")
    assert not seen[0]  # order 1
    assert seen[1]  # the gate reveals all features: the model is asked where rows lie


def slow_model(rows):
    time.sleep(0.3)
    return np.asarray(rows["a"]) + np.asarray(rows["b"])


def test_a_killed_worker_changes_nothing(folder):
    """kill -9 in mid-run: Dask starts another worker, and the answer is the same."""
    options = {"features": NAMES}
    expected = content(sfit.feature_significance(slow_model, folder, "y", **options))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killer = threading.Timer(1.5, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        with joblib.parallel_config(backend="dask"):
            found = sfit.feature_significance(slow_model, folder, "y", **options)
        killer.join()
        assert set(client.run(os.getpid).values()) != set(pids)
    assert content(found) == expected
