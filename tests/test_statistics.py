"""What every test must do: each test of `TESTS` is checked here the moment it is registered."""

import json
import subprocess
import sys
from dataclasses import fields

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from tiles import set_tiles

import sfit
from sfit._design import STATISTICS
from sfit._folds import CHAINED
from sfit._request import TESTS
from sfit._set_tests import RECORDS
from sfit._words import WORDS, words_of
from sfit.cli._inputs import OPTIONS_OF
from sfit.exceptions import ArgumentError

NAMES = ["a", "b", "c", "d"]
UNITS = ["rows", "clusters"]

pytestmark = pytest.mark.parametrize("key", TESTS)


@pytest.fixture(scope="module")
def frame():
    """900 rows of 60 clusters in two parts: a matters, b little, c and d not at all."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(900, 4)), columns=NAMES)
    rows["b"] = rows["b"].round(1)
    y = rows.a + 0.3 * rows.b + rng.normal(size=900)
    return rows.assign(y=y, part=np.where(rng.random(900) < 0.4, "x", "y"), who=np.arange(900) % 60)


@pytest.fixture(scope="module")
def model(frame):
    return LinearRegression().fit(frame[NAMES], frame.y)


def options_of(key, units="rows", **others):
    return {
        "test": key,
        "features": NAMES,
        "reference": 0.0,
        "clusters": "who" if units == "clusters" else None,
        "random_state": 5,
    } | others


def content(result):
    return json.loads(result.to_json())["result"]


def test_every_list_of_tests_is_complete(key):
    """One line each in the lists that a new test must enter, and a public class of options."""
    kind = TESTS[key]
    assert kind.key == key
    assert getattr(sfit, kind.__name__) is kind
    assert set(STATISTICS) == set(OPTIONS_OF) == set(TESTS)
    assert set(CHAINED) == {name for name, one in TESTS.items() if one.over_folds}
    assert set(WORDS) == set(RECORDS.values())
    assert len(RECORDS) == len(TESTS)


def test_options_identify_a_run_and_others_are_refused(key):
    test = TESTS[key]()
    stored = {one.name for one in fields(test)} - {"validation"}  # known by its rows
    assert set(test.identity()) == stored
    with pytest.raises(TypeError):
        TESTS[key](no_such_option=1)
    with pytest.raises((AttributeError, TypeError)):
        test.key = "other"


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("by", [None, "part"])
def test_any_storage_and_any_workers_give_the_same_bits(
    key, units, by, frame, model, monkeypatch, tmp_path
):
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 200)
    frame[:350].to_parquet(tmp_path / "0.parquet", row_group_size=170)
    frame[350:].to_parquet(tmp_path / "1.parquet")
    options = options_of(key, units, by=by)
    expected = content(sfit.feature_significance(model, frame, "y", **options))
    for rows, others in (
        (frame, {"n_jobs": 2}),
        (str(tmp_path), {}),
        (str(tmp_path), {"n_jobs": 2}),
    ):
        found = sfit.feature_significance(model, rows, "y", **options, **others)
        assert content(found) == expected


class Breaks:
    """A model that fails after so many rows, and counts them."""

    def __init__(self, model, rows_left=np.inf):
        self.model, self.rows_left, self.asked = model, rows_left, 0

    def __call__(self, rows):
        self.asked += len(rows)
        if self.asked > self.rows_left:
            raise RuntimeError("power cut")
        return self.model.predict(rows)


@pytest.mark.parametrize("units", UNITS)
def test_a_run_that_failed_goes_on_where_it_stopped(
    key, units, frame, model, monkeypatch, tmp_path
):
    set_tiles(monkeypatch, 25)  # sums are stored after every eight tiles
    options = options_of(key, units, fast=False)
    whole = Breaks(model)
    expected = sfit.feature_significance(whole, frame, "y", **options)
    stored = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "1"}
    stopped = Breaks(model, 0.8 * whole.asked)
    with pytest.raises(sfit.exceptions.ModelError, match="power cut"):
        sfit.feature_significance(stopped, frame, "y", **options, **stored)
    again = Breaks(model)
    found = sfit.feature_significance(again, frame, "y", **options, **stored)
    assert content(found) == content(expected)
    assert again.asked < whole.asked


@pytest.mark.parametrize("units", UNITS)
def test_results_are_stored_decided_again_and_shown(key, units, frame, model, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("jinja2")
    from sfit.plotting import ImportanceDisplay

    result = sfit.feature_significance(
        model, frame, "y", **options_of(key, units, max_order=2, correction="holm")
    )
    assert "a" in result.selected
    assert sfit.SFITResult.from_json(result.to_json()) == result
    assert not result.at(alpha=1e-200).selected
    assert result.at(alpha=0.05) == result
    words = words_of(result)
    assert list(result.table.columns).count(words.key) == 1
    for column in (*words.brief, *words.full):
        assert isinstance(column.text(result.tests[0]), str)
        float(column.value(result.tests[0]))
    assert words.verdict[0] in result.summary() or words.verdict[1] in result.summary()
    page = tmp_path / "page.html"
    result.to_html(page)
    text = page.read_text(encoding="utf-8")
    assert words.effect.capitalize() in text and "<svg" in text
    assert words.estimate.capitalize() in result.to_markdown()
    assert "<table>" in result._repr_html_()
    label = ImportanceDisplay.from_result(result).axes_[0].get_xlabel()
    assert " ".join(label.split()).startswith(words.axis)
    assert result.plot().figure_.axes
    plt.close("all")


def test_a_damaged_record_is_refused(key, frame, model):
    from sfit._document import sealed

    result = sfit.feature_significance(model, frame, "y", **options_of(key))
    document = json.loads(result.to_json())
    for name, value in (("p_value", 1.5), ("n", -1), ("share_moved", "much"), ("term", ["z"])):
        damaged = json.loads(json.dumps(document))
        damaged["result"]["tests"][0][name] = value
        with pytest.raises(sfit.exceptions.DataError):
            sfit.SFITResult.from_json(json.dumps(sealed(damaged)))


def test_classes_and_parts_by_class(key, frame):
    rows, labels = frame[NAMES], np.where(frame.y > 0, "yes", "no")
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(rows, labels)
    result = sfit.feature_significance(
        model, rows, labels, test=key, by="class", reference=rows, random_state=0
    )
    for _, part in result.parts:
        assert {test.term for test in part.tests} == {(name,) for name in NAMES}
    assert sfit.PartitionedResult.from_json(result.to_json()) == result
    assert content(result) == content(
        sfit.feature_significance(
            model, rows, labels, test=key, by="class", reference=rows, random_state=0, fast=False
        )
    )


def test_groups_and_errors_over_all_orders(key, frame, model):
    result = sfit.feature_significance(
        model,
        frame,
        "y",
        **options_of(key, groups={"ab": ["a", "b"]}, max_order=2, alpha_by_order="auto"),
    )
    assert "ab" in result.selected
    assert result.settings.alpha_by_order == (0.025, 0.025)


def test_a_seed_repeats_a_run_and_is_reported(key, frame, model):
    result = sfit.feature_significance(model, frame, "y", **options_of(key, random_state=None))
    assert (result.settings.seed is not None) == TESTS[key].random
    again = options_of(key, random_state=result.settings.seed)
    assert content(sfit.feature_significance(model, frame, "y", **again)) == content(result)


def test_beta_is_refused_by_a_test_that_has_none(key, frame, model):
    options = options_of(key, beta=0.02)
    if TESTS[key].has_beta:
        result = sfit.feature_significance(model, frame, "y", **options)
        assert result.settings.beta == (0.02,)
        return
    with pytest.raises(ArgumentError, match=f"the {key} test has no smallest improvement"):
        sfit.feature_significance(model, frame, "y", **options)


def test_given_the_rest_needs_a_paired_test(key, frame, model):
    options = options_of(key, given="rest")
    if TESTS[key].paired:
        result = sfit.feature_significance(model, frame, "y", **options)
        assert result.tests[0].base == ("b", "c", "d") and "a" in result.selected
        return
    with pytest.raises(ArgumentError, match="given='rest'"):
        sfit.feature_significance(model, frame, "y", **options)


def test_the_selector_takes_it(key, frame):
    selector = sfit.SFITSelector(LinearRegression(), test=key, random_state=0)
    kept = selector.fit(frame[NAMES], frame.y).get_feature_names_out()
    assert "a" in kept


def test_folds_combine_it_or_refuse(key, frame):
    def call():
        return sfit.cross_significance(
            LinearRegression(), frame[NAMES], frame.y, test=key, n_folds=3, random_state=0
        )

    if TESTS[key].over_folds:
        assert "a" in call().selected
        return
    with pytest.raises(ArgumentError, match=f"test='{key}' cannot be combined over folds"):
        call()


def test_the_program_runs_it_and_refuses_options_of_others(key, frame, model, tmp_path):
    pytest.importorskip("typer")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    joblib.dump(model, tmp_path / "model.joblib")

    def run(*more):
        command = ["test", "model.joblib", "rows.csv", "-t", "y", "--allow-pickle", "--seed", "5"]
        command += ["--features", ",".join(NAMES), "--reference", "0", "--test", key]
        return subprocess.run(
            [sys.executable, "-m", "sfit", *command, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    ended = run("--json", "out.json")
    assert ended.returncode == 0, ended.stderr
    expected = sfit.feature_significance(
        model, pd.read_csv(tmp_path / "rows.csv"), "y", **options_of(key)
    )
    assert content(sfit.SFITResult.from_json(tmp_path / "out.json")) == content(expected)
    foreign = [name for owner, names in OPTIONS_OF.items() if owner != key for name in names]
    ended = run(f"--{foreign[0]}", "1")
    assert ended.returncode != 0 and f"--{foreign[0]} 1 belongs to" in ended.stderr
