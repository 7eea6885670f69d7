"""Audits of awkward models, rows and arguments: each test was once a defect."""

import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import sfit
from sfit._audit._draws import seconds_of_draws
from sfit._document import sealed
from sfit.exceptions import CheckpointError, DataError, SFITWarning


@pytest.fixture(scope="module")
def linear():
    """A linear model, held-out rows, their outcomes and training rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    y = X["a"] + 0.5 * X["b"] + rng.normal(size=400)
    model = LinearRegression().fit(X[:200], y[:200])
    return model, X[200:].reset_index(drop=True), y[200:].reset_index(drop=True), X[:200]


def audit_of(linear, **options):
    model, X, y, train = linear
    given = {"train": train, "n_background": 5, "random_state": 0, **options}
    return sfit.audit(model, X, y, **given)


@pytest.mark.parametrize("options", [{"groups": {"both": ["a", "b"]}}, {"always_on": ["d"]}])
def test_features_without_a_curve_leave_the_tables_whole(linear, options):
    audit = audit_of(linear, **options)
    assert any(not profile.responses for profile in audit.profiles)
    tables = audit.tables()
    assert tables["features"]["feature"].iloc[0] == audit.selected[0]


@pytest.mark.parametrize("named", [False, True])
def test_a_checkpoint_with_other_groups_of_rows_is_refused(linear, tmp_path, named):
    model, X, y, train = linear
    first, second = np.arange(200) % 2, np.arange(200) // 100

    def run(groups):
        return sfit.audit(
            model,
            X.assign(group=groups) if named else X,
            y,
            train=train,
            by="group" if named else groups,
            n_background=5,
            checkpoint=tmp_path / "audit.sqlite",
            random_state=0,
        )

    audit = run(first)
    assert run(first) == audit
    with pytest.raises(CheckpointError, match="another run"):
        run(second)


def test_protected_labels_with_several_columns_are_refused(linear):
    with pytest.raises(DataError, match=r"protected\['p'\] must hold one label per row"):
        audit_of(linear, protected={"p": np.ones((200, 2))})
    single = audit_of(linear, protected={"p": np.arange(200)[:, None] % 2})
    assert single == audit_of(linear, protected={"p": np.arange(200) % 2})


def issued(run):
    """The texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert {one.filename for one in caught} == {__file__}
    return [str(one.message) for one in caught]


def test_a_warning_about_the_model_is_issued_once(linear):
    _, X, y, train = linear

    def centred(rows):
        return rows[:, 0] - rows[:, 0].mean()

    texts = issued(
        lambda: sfit.audit(
            centred, X.to_numpy(), y.to_numpy(), train=train.to_numpy(), random_state=0
        )
    )
    [text] = texts
    assert "predicted together" in text


def test_a_warning_about_the_order_of_rows_is_issued_once(linear):
    model, X, y, train = linear
    labels = pd.Series(np.arange(200) % 2)[::-1]
    texts = issued(
        lambda: sfit.audit(
            model, X, y[::-1], train=train, n_background=5, protected={"p": labels}, random_state=0
        )
    )
    assert sorted(text.partition(" and X")[0] for text in texts) == ["protected['p']", "y"]


@pytest.mark.parametrize(
    "path",
    [
        *(("settings",), ("model",), ("data",), ("related",), ("detectable",), ("profiles",)),
        ("settings", "expected", 0, 1),
        ("model", "parameters", 0, 1),
        ("data", "target_distribution", 0, 1),
        ("profiles", 0, "values", 0),
        ("profiles", 0, "responses", 0, 0),
    ],
)
def test_an_edited_document_is_refused(linear, path):
    """A part is missing, though the checksum fits."""
    document = json.loads(audit_of(linear, expected={"a": "+"}).to_json())
    assert sfit.Audit.from_json(json.dumps(sealed(document)))
    edited = copy.deepcopy(document)
    place = edited["result"]
    for key in path[:-1]:
        place = place[key]
    if isinstance(path[-1], int):
        del place[path[-1]]
    else:
        place[path[-1]] = None
    with pytest.raises(DataError, match="edited"):
        sfit.Audit.from_json(json.dumps(sealed(edited)))


@pytest.mark.parametrize("n_rows", [1_500, 4_000])
def test_many_features_are_expected_to_take_many_draws(n_rows):
    """300 features ask for 25 times as many draws as 20, and meet all of them."""
    few, many = (seconds_of_draws(n_features, n_rows, 0.05) for n_features in (20, 300))
    assert 0 < 20 * few < many


def test_a_budget_below_the_draws_is_warned_of(monkeypatch, linear):
    """Many features need many draws, however fast the model is."""
    monkeypatch.setattr("sfit._audit._call.LONG", 0.0)
    with pytest.warns(SFITWarning, match="test of all features alone is expected to take"):
        audit = audit_of(linear, budget=1e-4)
    [step] = [step for step in audit.steps if step.name == "related features"]
    assert step.expected > 1e-4


def test_equal_audits_have_equal_hashes(linear):
    """Equal audits may have run at other times and speeds."""
    one, other = audit_of(linear), audit_of(linear)
    other = replace(other, settings=replace(other.settings, made="", seconds_per_pass=9.0))
    assert one == other
    assert len({one, other}) == 1


def test_numbers_that_are_too_large_are_refused_without_other_warnings(linear):
    _, X, y, train = linear
    with pytest.raises(DataError, match="too large or too small"):
        sfit.audit(
            lambda rows: 1e200 * rows[:, 0],
            X.to_numpy(),
            y.to_numpy(),
            train=train.to_numpy(),
            random_state=0,
        )
