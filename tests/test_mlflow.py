"""Results in MLflow: a real store on disk, read back with MLflow's own client."""

import csv
import io
import os
import re

import numpy as np
import pytest
from hostile import HOSTILE, hostile_result
from hypothesis import given
from hypothesis import strategies as st

import sfit
from sfit._export import log_to_mlflow
from sfit._export._mlflow import mlflow_names
from sfit.exceptions import ArgumentError

os.environ.setdefault(
    "MLFLOW_DISABLE_TELEMETRY", "true"
)  # before the import: no test may call home
mlflow = pytest.importorskip("mlflow")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A client of a new store; MLflow's global state is restored."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield mlflow.MlflowClient()
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def result():
    X, y = sfit.simulate.interactions(2000, random_state=0)
    return sfit.feature_significance(sfit.simulate.interactions_mean, X, y, max_order=2)


def paths(client, run_id, folder):
    return sorted(entry.path for entry in client.list_artifacts(run_id, folder))


def artifact(client, run_id, path, tmp_path):
    with open(
        client.download_artifacts(run_id, path, tmp_path), encoding="utf-8", newline=""
    ) as file:
        return file.read()


def test_a_new_run_holds_everything(client, result, tmp_path):
    run_id = result.log_mlflow()
    run = client.get_run(run_id)
    assert run.info.status == "FINISHED"
    assert mlflow.active_run() is None
    metrics = run.data.metrics
    assert metrics["sfit.n_significant_features"] == len(result.selected)
    assert metrics["sfit.n_sets"] == len(result.tests)
    assert metrics["sfit.loss_full"] == result.gates[-1].loss_full
    assert {f"sfit.{name}" for name in result.metrics()} == set(metrics)
    assert run.data.params["sfit.alpha"] == "0.05"
    assert run.data.params["sfit.beta"] == "0.01, 0.01"
    assert run.data.params["sfit.correction"] == "none"
    assert paths(client, run_id, "sfit") == ["sfit/report.html", "sfit/result.json", "sfit/tables"]
    names = [f"sfit/tables/{name}.csv" for name in sorted(result.tables())]
    assert paths(client, run_id, "sfit/tables") == names
    stored = artifact(client, run_id, "sfit/result.json", tmp_path)
    assert sfit.SFITResult.from_json(stored) == result
    assert artifact(client, run_id, "sfit/report.html", tmp_path) == result.to_html()
    rows = list(
        csv.DictReader(io.StringIO(artifact(client, run_id, "sfit/tables/tests.csv", tmp_path)))
    )
    assert [row["term"] for row in rows] == [" + ".join(test.term) for test in result.tests]
    assert [float(row["p_value"]) for row in rows] == [test.p_value for test in result.tests]


def test_the_active_run_goes_on(client, result):
    with mlflow.start_run() as run:
        assert result.log_mlflow() == run.info.run_id
        assert mlflow.active_run().info.run_id == run.info.run_id
        assert client.get_run(run.info.run_id).info.status == "RUNNING"
        mlflow.log_metric("mine", 1.0)
    assert {"mine", "sfit.n_rows"} <= set(client.get_run(run.info.run_id).data.metrics)


def test_the_environment_stays_as_it_was(client, result, monkeypatch):
    run = client.create_run("0")
    monkeypatch.setenv("MLFLOW_RUN_ID", run.info.run_id)
    before, uri = dict(os.environ), mlflow.get_tracking_uri()
    assert result.log_mlflow() == run.info.run_id
    assert dict(os.environ) == before
    assert mlflow.get_tracking_uri() == uri


def test_two_results_in_one_run_need_two_prefixes(client, result):
    other = result.at(alpha=0.01)
    with mlflow.start_run() as run:
        result.log_mlflow()
        result.log_mlflow()  # the same once more changes nothing
        with pytest.raises(
            ArgumentError, match=r"prefix='sfit'.*'sfit.alpha' is '0.05', not '0.01'"
        ):
            other.log_mlflow()
        other.log_mlflow(prefix="strict")
    params = client.get_run(run.info.run_id).data.params
    assert (params["sfit.alpha"], params["strict.alpha"]) == ("0.05", "0.01")


@pytest.mark.parametrize("prefix", ["", "a/b", "..", "a b", "é", None, 3])
def test_a_bad_prefix_is_refused_before_a_run_begins(client, result, prefix):
    with pytest.raises(ArgumentError, match="prefix must be a word"):
        result.log_mlflow(prefix=prefix)
    assert client.search_runs(["0"]) == []


def test_a_failure_before_logging_leaves_no_run(client, result):
    class Broken(type(result)):
        def to_html(self, path=None):
            raise ArgumentError("no page")

    broken = Broken(result.tests, result.gates, result.feature_names, result.settings)
    with pytest.raises(ArgumentError, match="no page"):
        broken.log_mlflow()
    assert client.search_runs(["0"]) == []


def test_hostile_names(client, tmp_path):
    """As feature names, which stay in tables, and as names of metrics, settings and tables."""
    result = hostile_result()

    class Named:
        def tables(self):
            return {**result.tables(), **dict.fromkeys(HOSTILE, result.features)}

        def metrics(self):
            return {**dict.fromkeys(HOSTILE, 0.5), "nan": float("nan"), "infinite": float("inf")}

        def params(self):
            return {**{name: name for name in HOSTILE}, "long": "x" * 10_000}

        def to_json(self, path=None):
            return result.to_json(path)

        def to_html(self, path=None):
            return result.to_html(path)

    run_id = log_to_mlflow(Named())
    run = client.get_run(run_id)
    assert len(run.data.metrics) == len(HOSTILE)  # the others are not finite
    assert len(run.data.params) == len(HOSTILE) + 1
    assert len(run.data.params["sfit.long"]) <= 500
    assert len(paths(client, run_id, "sfit/tables")) == len(Named().tables())
    table = artifact(client, run_id, "sfit/tables/features.csv", tmp_path)
    names = [row["feature"] for row in csv.DictReader(io.StringIO(table))]
    assert len(names) == len(HOSTILE)
    assert not [name for name in names if re.match(r"\s*[=+\-@]", name)]
    assert "'@SUM(1)" in names


@given(st.lists(st.text(max_size=300), max_size=12))
def test_names_are_valid_and_unique(names):
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    valid = mlflow_names(names)
    assert len({name.casefold() for name in valid}) == len(names)
    for name in valid:
        _validate_metric_name(f"sfit.{name}")
        _validate_param_name(f"sfit.{name}")
        assert len(name) <= 120


def test_plain_names_stay():
    names = ["AUC", "auc", "loss (all)", "a/b", "..", "a.b-c_d"]
    assert mlflow_names(names) == ["AUC", "auc-2", "loss_all", "a_b", "unnamed", "a.b-c_d"]


def test_parts_and_comparisons_can_be_logged(client):
    X, y = sfit.simulate.interactions(600, random_state=0)
    half = np.where(X["X6"] > 0, "upper", "lower")
    model = sfit.simulate.interactions_mean
    parts = sfit.feature_significance(model, X, y, by=half)
    metrics = client.get_run(parts.log_mlflow()).data.metrics
    assert metrics["sfit.n_parts"] == 2
    assert metrics["sfit.n_rows_lower"] + metrics["sfit.n_rows_upper"] == 600
    ranks = sfit.compare_features(model, X, y, random_state=0)
    run = client.get_run(ranks.log_mlflow())
    assert run.data.metrics["sfit.n_decided"] == sum(
        pair.larger is not None for pair in ranks.pairs
    )
    assert run.data.params["sfit.loss"] == ranks.settings.loss
