"""Clusters of dependent rows under the sign test: the unit is the cluster."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import clusters as slow
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from tiles import set_tiles, tiles_of

import sfit

BETA = 0.013
"""No ratio of small quarters equals it."""

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
many = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def content(result):
    return json.loads(result.to_json())["result"]


def first_column(rows):
    return np.asarray(rows)[:, 0] + 0.0


# ----------------------------------------------------------------------- against the slow reference


@st.composite
def clustered(draw):
    """Outcomes, predictions of one feature (0: not moved), and labels of few clusters."""
    n = draw(st.integers(1, 24))
    values = st.lists(QUARTERS, min_size=n, max_size=n)
    label = st.sampled_from(["a", "b", 1, 1.5, (1, 2), "c", 7])
    labels = draw(st.lists(label, min_size=n, max_size=n))
    return np.array(draw(values)), np.array(draw(values)), labels


@many
@given(
    problem=clustered(),
    beta=st.sampled_from([0.0, BETA]),
    ties=st.sampled_from(["keep", "drop"]),
    tile=st.sampled_from([None, 3, 7]),
)
@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_the_unit_is_the_cluster(problem, beta, ties, tile):
    """Counts, ranks, intervals and beta_max are those of the cluster means."""
    y, x, labels = problem
    with tiles_of(tile or 10**6):
        [test] = sfit.feature_significance(
            first_column,
            x[:, None],
            y,
            test=sfit.SignTest(ties=ties),
            clusters=labels,
            beta=beta,
            reference=0.0,
            alpha=0.3,
        ).tests
    expected = slow.sign_test(labels, np.abs(y), np.abs(y - x), beta, 0.3, ties == "drop")
    assert (test.n, test.n_positive) == (expected["n"], expected["n_positive"])
    for name, value in expected.items():
        assert getattr(test, name) == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True)


def test_clusters_of_one_row_are_rows():
    """Every figure is that of the test without clusters."""
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(5_000, 3)), 5_000
    y = X[:, 0] + rng.normal(size=n)
    options = {"reference": 0.0, "max_order": 2}
    rows = sfit.feature_significance(lambda Z: Z @ [1.0, 0.1, 0.0], X, y, **options)
    units = sfit.feature_significance(
        lambda Z: Z @ [1.0, 0.1, 0.0], X, y, clusters=np.arange(n), **options
    )
    assert repr(units.tests) == repr(rows.tests)
    assert repr(units.gates) == repr(rows.gates)
    assert units.settings.n_clusters == n
    assert rows.settings.n_clusters is None


@pytest.mark.filterwarnings("ignore:10 clusters are few")
def test_the_same_losses_in_another_order_are_a_tie():
    """Sums of 0.1, 0.2 and 0.3 differ in the last bit; a cluster that swaps losses gains nothing."""
    y = np.zeros(30)
    base, full = np.tile([0.1, 0.2, 0.3], 10), np.tile([0.3, 0.2, 0.1], 10)
    assert base[:3].sum() > full[:3].sum()

    def model(rows):
        which, row = np.asarray(rows).T
        return np.where(which > 1, full[row.astype(int)], base[row.astype(int)])

    X = np.column_stack([np.full(30, 2.0), np.arange(30)])
    result = sfit.feature_significance(
        model,
        X,
        y,
        clusters=np.repeat(np.arange(10), 3),
        reference=[1.0, 0.0],
        groups={"which": ["x0"]},
        always_on=["x1"],
        beta=0.0,
    )
    [test] = result.tests
    assert (test.n, test.n_positive) == (10, 0)
    assert test.n_better == test.n_worse == 10


# --------------------------------------------------------------- storage, workers, parts, checkpoints


@pytest.fixture
def problem():
    """800 rows of 70 clusters that are spread over all tiles, two parts and two classes."""
    rng = np.random.default_rng(1)
    n = 800
    who = rng.integers(0, 70, n)
    X = pd.DataFrame(rng.normal(size=(n, 3)) + rng.normal(size=(70, 3))[who], columns=list("abc"))
    X["y"] = X.a + 0.5 * X.b * X.c + rng.normal(size=n) + rng.normal(size=70)[who]
    X["sold"] = np.where(X.y > 0, "yes", "no")
    X["who"] = [f"customer {k}" for k in who]
    X["part"] = np.where(rng.normal(size=n) > 0, "left", "right")
    return X


def model_of(rows):
    return DecisionTreeRegressor(max_depth=5, random_state=0).fit(rows[list("abc")], rows.y)


OPTIONS = [
    {},
    {"max_order": 3, "beta": (0.01, 0.001, 0.0), "correction": "fdr_by"},
    {"by": "part"},
    {"test": sfit.SignTest(ties="drop", interval="asymptotic")},
]
IDS = ["plain", "orders", "by", "drop"]


@pytest.mark.parametrize("options", OPTIONS, ids=IDS)
def test_the_same_bits_from_files_frames_and_workers(problem, tmp_path, monkeypatch, options):
    """Clusters span tiles and files; sums are added in the order of the tiles."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 128)
    model = model_of(problem)
    options = {"clusters": "who", "reference": 0.0} | options
    expected = content(sfit.feature_significance(model, problem, "y", **options))
    problem[:450].to_parquet(tmp_path / "0.parquet", row_group_size=100)
    problem[450:].to_parquet(tmp_path / "1.parquet", row_group_size=90)
    frames = [problem[start : start + 210] for start in range(0, 800, 210)]
    for rows in (tmp_path, frames):
        assert content(sfit.feature_significance(model, rows, "y", **options)) == expected
    for rows in (problem, tmp_path):
        two = sfit.feature_significance(model, rows, "y", n_jobs=2, **options)
        assert content(two) == expected
    with joblib.parallel_config(backend="loky"):
        two = sfit.feature_significance(model, tmp_path, "y", n_jobs=2, **options)
    assert content(two) == expected


def test_labels_beside_a_column(problem):
    """Labels and the name of their column are the same; their names do not matter."""
    model, features = model_of(problem), list("abc")
    named = sfit.feature_significance(model, problem, "y", clusters="who", features=features)
    codes = pd.factorize(problem.who)[0]
    for labels in (problem.who, list(problem.who), codes, [(k, "x") for k in codes]):
        other = sfit.feature_significance(
            model, problem[features], problem.y, clusters=labels, features=features
        )
        assert repr(other.tests) == repr(named.tests)
    assert named.settings.n_clusters == problem.who.nunique()


def test_the_column_of_the_clusters_is_no_feature():
    """Unless the model lists it."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=90), "who": np.arange(90) // 2})
    y = rows.a + rng.normal(size=90)
    result = sfit.feature_significance(first_column, rows, y, clusters="who", reference=0.0)
    assert result.feature_names == ("a",)
    both = ["a", "who"]
    result = sfit.feature_significance(
        first_column, rows, y, clusters="who", features=both, reference=0.0
    )
    assert result.feature_names == ("a", "who")


def test_clusters_within_each_part(problem):
    """Each part alone gives the same tests; its clusters are those that occur in it."""
    model = model_of(problem)
    options = {"clusters": "who", "reference": 0.0}
    result = sfit.feature_significance(model, problem, "y", by="part", **options)
    for label, rows in problem.groupby("part"):
        alone = sfit.feature_significance(model, rows, "y", **options)
        assert repr(result[label].tests) == repr(alone.tests)
        assert result[label].settings.n_clusters == rows.who.nunique()


def test_by_class(problem):
    """Cells and classes are not counted: a cluster needs the losses of its rows."""
    model = LogisticRegression().fit(problem[list("abc")], problem.sold)
    options = {"clusters": "who", "reference": 0.0}
    result = sfit.feature_significance(model, problem, "sold", by="class", **options)
    for label, rows in problem.groupby("sold"):
        assert result[label].settings.n_clusters == rows.who.nunique()
        assert {test.n for test in result[label].tests} == {rows.who.nunique()}


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "files"])
def test_an_interrupted_run_resumes_to_the_same_bits(problem, tmp_path, monkeypatch, stored):
    """The merged sums of the first tiles are stored; the next run goes on from there."""
    set_tiles(monkeypatch, 40)
    monkeypatch.setattr("sfit._measure.RUNS_TOGETHER", 2)
    left, asked = [10**9], []

    def model(rows):
        asked.append(len(rows))
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return np.asarray(rows) @ [1.0, 0.2, 0.1]

    rows = problem
    if stored:
        pytest.importorskip("pyarrow")
        monkeypatch.setattr("sfit.rows._stored.SHORT_RUN", 2)
        rows = tmp_path / "rows.parquet"
        problem.to_parquet(rows, row_group_size=100)
    options = {"clusters": "who", "reference": 0.0, "fast": False, "features": list("abc")}
    saved = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "1"}
    expected = sfit.feature_significance(model, rows, "y", **options)
    n_whole = len(asked)
    left[0] = n_whole - 25
    with pytest.raises(KeyboardInterrupt):
        sfit.feature_significance(model, rows, "y", **options, **saved)
    left[0] = 10**9
    asked.clear()
    assert sfit.feature_significance(model, rows, "y", **options, **saved) == expected
    assert len(asked) < n_whole
    asked.clear()
    with pytest.raises(sfit.exceptions.CheckpointError, match="clusters"):
        sfit.feature_significance(model, rows, "y", **options | {"clusters": "part"}, **saved)


# ------------------------------------------------------------------------------------ what is said


def test_few_clusters_warn_and_the_result_says_how_many(problem):
    """In the warning, the caveats, the summary, the report and JSON."""
    few = problem[problem.who.isin(problem.who.unique()[:12])]
    model = model_of(problem)
    with pytest.warns(sfit.exceptions.SFITWarning, match="12 clusters are few") as caught:
        result = sfit.feature_significance(model, few, "y", clusters="who", reference=0.0)
    assert len([one for one in caught if "clusters" in str(one.message)]) == 1
    assert any("12 clusters are few" in caveat for caveat in result.caveats)
    assert result.settings.n_clusters == 12
    assert sfit.SFITResult.from_json(result.to_json()) == result
    assert "Clusters:   12" in result.summary()
    pytest.importorskip("jinja2")
    page = result.to_html()
    assert "Clusters improved" in page
    assert "of 12 clusters" in page
    assert "typical row" not in page


def test_too_few_clusters_for_the_level():
    """Many rows of four clusters cannot be significant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    with pytest.warns(sfit.exceptions.SFITWarning, match="4 clusters are too few"):
        result = sfit.feature_significance(
            first_column, X, X[:, 0], clusters=np.arange(400) % 4, reference=0.0
        )
    assert not result.selected


# -------------------------------------------------------------------------------------- its size


def test_size_with_dependent_rows():
    """Rows that share their gain: counted as rows they reject far too often, as clusters they do not."""
    rng = np.random.default_rng(5)
    n_runs, n_clusters, each = 400, 40, 10
    who = np.repeat(np.arange(n_clusters), each)
    rejected = {"rows": 0, "clusters": 0}
    for _ in range(n_runs):
        # The prediction 1 beats 0 where y > 0.5, and whole clusters lie on one side of it.
        y = 0.5 + rng.normal(size=n_clusters)[who] + 0.1 * rng.normal(size=len(who))
        for unit, labels in (("rows", None), ("clusters", who)):
            [test] = sfit.feature_significance(
                first_column, np.ones((len(who), 1)), y, clusters=labels, reference=0.0, beta=0.0
            ).tests
            rejected[unit] += test.significant
    limit = 0.05 * n_runs + 3 * np.sqrt(0.0475 * n_runs)
    assert rejected["clusters"] <= limit
    assert rejected["rows"] > 2 * limit
