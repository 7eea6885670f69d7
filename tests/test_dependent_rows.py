"""The permutation test of rows that depend on each other: clusters change places, time is shifted.

The p-values are compared with loops over full tables of losses. The re-matchings are those that the
library draws; other tests show that these are the allowed ones, each with the same probability.
"""

import json
import warnings
from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import clusters as slow
from reference import permutation
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from tiles import set_tiles

import sfit
from sfit._exchange import Clusters, Cycle, paired_sizes

B, SEED, ALPHA = 29, 5, 0.05
KEY = (SEED, 0, 0)

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
many = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def content(result):
    return json.loads(result.to_json())["result"]


class Table:
    """A model that looks up its predictions; column j, if it is not 0, names a row of table j."""

    def __init__(self, tables, base):
        self.tables, self.base = tables, base

    def __call__(self, X):
        answers = []
        for row in np.asarray(X):
            shown = np.flatnonzero(row)
            known = self.tables[shown[0]][int(row[shown[0]]) - 1] if len(shown) else self.base
            answers.append(known)
        return np.array(answers)


def answer(tables, base, y, *, loss="absolute_error", statistic="auto", tile=10**6, **options):
    """The library's tests of every table, the rows cut into tiles of this many rows."""
    X = np.repeat(np.arange(1.0, len(y) + 1)[:, None], len(tables), axis=1)
    test = sfit.PermutationTest(n_permutations=B, statistic=statistic)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        set_tiles(patch, tile)
        return sfit.feature_significance(
            Table(tables, base),
            X,
            y,
            test=test,
            loss=loss,
            reference=0.0,
            random_state=SEED,
            fast=False,
            alpha=ALPHA,
            **options,
        )


def scores_of(loss):
    regression = loss.endswith("_error")
    return permutation.regression_scores if regression else permutation.classification_scores


def cluster_test(y, g, labels, *, loss, statistic):
    """p, z, rise and half the width of its interval, by the slow test."""
    units = pd.factorize(np.asarray(labels))[0]
    drawn = Clusters(units, B + 1, KEY)
    groups = [[list(map(int, rows)) for rows in members] for members in drawn._chosen]
    all_ways = list(
        zip(
            *(np.concatenate(list(group.rematchings.outcomes())) for group in drawn._groups),
            strict=True,
        )
    )
    if statistic == "auto":
        order = [row for group in groups for rows in group for row in rows]
        place = {row: position for position, row in enumerate(order)}
        components = scores_of(loss)(y[order], g[order])
        counted = [[[place[row] for row in rows] for rows in group] for group in groups]
        observed, *copies = [-s for s in slow.standardised(components, counted, all_ways)]
        tolerance = 1e-10
    else:
        matrix = permutation.loss_matrix(loss, y, g)
        observed, *copies = [slow.total_loss(matrix, groups, ways) for ways in all_ways]
        tolerance = 1e-11 * max(1.0, abs(observed))
    floor = slow.smallest_p(y.tolist(), [tuple(np.ravel(one)) for one in g], groups)
    rise, half = slow.rise_between(permutation.loss_matrix(loss, y, g), labels, ALPHA)
    p = max(permutation.p_value(observed, copies, tolerance), floor)
    return p, permutation.z_score(observed, copies), rise, half


def agrees(test, numbers):
    p, z, rise, half = numbers
    if np.isnan(test.z) and test.p_value == 1:
        assert p == 1  # the predictions, or the outcomes, do not vary
        return
    assert test.p_value == pytest.approx(p, rel=1e-12)
    assert test.rise == pytest.approx(rise, rel=1e-9, abs=1e-10)
    if not np.isnan(z):
        assert test.z == pytest.approx(z, rel=1e-7, abs=1e-7)
    assert test.ci_low == pytest.approx(rise - half, rel=1e-9, abs=1e-9)
    assert test.ci_high == pytest.approx(rise + half, rel=1e-9, abs=1e-9)


# ---------------------------------------------------------------- clusters, against the slow reference


@st.composite
def clustered(draw, sizes):
    """Outcomes, predictions of two features, and labels of clusters that are spread over the rows."""
    of_clusters = draw(sizes)
    labels = draw(st.permutations([k for k, size in enumerate(of_clusters) for _ in range(size)]))
    values = st.lists(QUARTERS, min_size=len(labels), max_size=len(labels))
    y, tables = draw(values), draw(st.lists(values, min_size=2, max_size=2))
    return np.array(y), np.array(tables), labels


EQUAL = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(lambda sizes: sizes * 2)
ANY = st.lists(st.integers(1, 5), min_size=2, max_size=6)


@many
@given(
    problem=clustered(EQUAL),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
    tile=st.sampled_from([10**6, 5]),
)
def test_clusters_of_equal_sizes(problem, loss, statistic, tile):
    """Every size occurs at least twice: exact, and the groups are those of the reference."""
    y, tables, labels = problem
    result = answer(tables, 50.0, y, loss=loss, statistic=statistic, tile=tile, clusters=labels)
    units = pd.factorize(np.asarray(labels))[0]
    chosen = [[rows.tolist() for rows in members] for members in Clusters(units, 2, KEY)._chosen]
    assert [sorted(group) for group in chosen] == [
        sorted(group) for group in slow.groups_by_size(labels)
    ]
    for one, g in zip(result.tests, tables, strict=True):
        assert one.guarantee == "exact"
        agrees(one, cluster_test(y, g, labels, loss=loss, statistic=statistic))
    assert result.settings.n_clusters == len(set(labels))


@many
@given(
    problem=clustered(ANY),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
)
def test_clusters_of_any_sizes(problem, loss, statistic):
    """Sizes that occur once are paired: rows left over leave the statistic, but not the rise."""
    y, tables, labels = problem
    result = answer(tables, 50.0, y, loss=loss, statistic=statistic, clusters=labels)
    counts = Counter(Counter(labels).values())
    for one, g in zip(result.tests, tables, strict=True):
        assert one.guarantee == ("approximate" if 1 in counts.values() else "exact")
        agrees(one, cluster_test(y, g, labels, loss=loss, statistic=statistic))


@many
@given(problem=clustered(EQUAL), n_classes=st.integers(2, 3), data=st.data())
def test_clusters_and_classes(problem, n_classes, data):
    """Log-odds and probabilities; one product per class."""
    y, _, labels = problem
    n = len(y)
    y = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    if len(set(y.tolist())) < n_classes:
        return
    weights = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes).filter(any)
    table = np.array(data.draw(st.lists(weights, min_size=n, max_size=n)), dtype=float)
    table /= table.sum(axis=1, keepdims=True)
    base = np.full(n_classes, 1 / n_classes) + np.eye(n_classes)[0] / 64
    result = answer([table], base / base.sum(), y, loss="log_loss", clusters=labels)
    agrees(result.tests[0], cluster_test(y, table, labels, loss="log_loss", statistic="auto"))


@many
@given(problem=clustered(EQUAL), loss=st.sampled_from(["log_loss", "brier"]), data=st.data())
def test_clusters_by_class(problem, loss, data):
    """All clusters change places, for every class; only outcomes of the class are added up."""
    y, _, labels = problem
    n = len(y)
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    if len(set(y.tolist())) < 2:
        return
    share = np.array(data.draw(st.lists(st.integers(1, 15), min_size=n, max_size=n))) / 16
    table = np.column_stack([1 - share, share])
    result = answer(
        [table], [0.4, 0.6], y, loss=loss, statistic="loss", clusters=labels, by="class"
    )
    drawn = Clusters(pd.factorize(np.asarray(labels))[0], B + 1, KEY)
    groups = [[list(map(int, rows)) for rows in members] for members in drawn._chosen]
    met = (np.concatenate(list(group.rematchings.outcomes())) for group in drawn._groups)
    all_ways = list(zip(*met, strict=True))
    matrix = permutation.loss_matrix(loss, y, table)
    for label, part in result.items():
        of_class = {row for row in range(n) if y[row] == label}
        observed, *copies = [slow.total_loss(matrix, groups, ways, of_class) for ways in all_ways]
        floor = slow.smallest_p([a == label for a in y], list(map(tuple, table)), groups)
        [test] = part.tests
        if np.isnan(test.z) and test.p_value == 1:
            assert np.ptp(copies) == pytest.approx(0, abs=1e-9)
            continue
        p = max(permutation.p_value(observed, copies, 1e-11 * max(1.0, abs(observed))), floor)
        assert test.p_value == pytest.approx(p, rel=1e-12)
        assert test.rise == pytest.approx(
            permutation.class_rise(matrix, y.tolist(), label), rel=1e-9, abs=1e-10
        )


def test_many_clusters_are_shifted(monkeypatch):
    """Groups of many clusters are shuffled, cut into blocks and shifted by Fourier transforms."""
    monkeypatch.setattr("sfit._exchange.FREE_ROWS", 3)
    monkeypatch.setattr("sfit._permutations.BLOCK_ROWS", 4)
    rng = np.random.default_rng(0)
    y, g = rng.normal(size=60), rng.normal(size=60)
    labels = np.arange(60) // 3
    for statistic in ("auto", "loss"):
        result = answer([g], 50.0, y, statistic=statistic, loss="squared_error", clusters=labels)
        numbers = cluster_test(y, g, labels, loss="squared_error", statistic=statistic)
        assert result.tests[0].p_value == numbers[0]
        assert result.tests[0].z == pytest.approx(numbers[1], rel=1e-7)


# ------------------------------------------------------------------------- which exchanges are allowed


@many
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_groups_of_clusters(sizes, seed):
    """Every cluster is in one group; only clusters whose size occurs once need another size."""
    groups = paired_sizes(sizes, np.random.default_rng(seed))
    assert sorted(cluster for group in groups for cluster in group) == list(range(len(sizes)))
    single = {cluster for cluster, size in enumerate(sizes) if sizes.count(size) == 1}
    for group in groups:
        if len({sizes[cluster] for cluster in group}) > 1:
            # A pair, or three where nothing else was left; somebody in it had no other choice.
            assert len(group) <= 3
            assert single.intersection(group) or len(set(sizes)) > 1
        if len(sizes) > 1:
            assert len(group) > 1


def test_a_single_size_borrows_from_the_nearer_size():
    """And a size is not broken up for it unless two clusters of it remain."""
    rng = np.random.default_rng(0)
    below = paired_sizes([2, 2, 2, 3, 9, 9, 9], rng)
    assert sorted(map(len, below)) == [2, 2, 3]
    [pair] = [group for group in below if 3 in group]
    assert min(pair) < 3  # 3 goes with 2, not with 9
    above = paired_sizes([2, 2, 2, 8, 9, 9, 9], rng)
    [pair] = [group for group in above if 3 in group]
    assert max(pair) > 3  # 8 goes with 9, not with 2
    [three] = paired_sizes([2, 2, 9], rng)
    assert sorted(three) == [0, 1, 2]  # no size can spare a cluster


def test_whole_clusters_travel_in_their_order():
    """Each prediction meets the outcome at the same place of another cluster of its size."""
    units = np.array([0, 1, 0, 2, 1, 2, 3, 4])
    exchange = Clusters(units, 200, KEY)
    seen = set()
    for [met] in exchange.outcomes():
        outcomes = exchange.order[met]
        pairs = list(zip(exchange.order.tolist(), outcomes.tolist(), strict=True))
        seen.add(tuple(sorted(pairs)))
        rows = {cluster: np.flatnonzero(units == cluster).tolist() for cluster in range(5)}
        for prediction, outcome in pairs:
            here, there = units[prediction], units[outcome]
            assert len(rows[here]) == len(rows[there])
            assert rows[here].index(prediction) == rows[there].index(outcome)
    # 3! orders of the clusters of two rows, 2! of those of one row.
    assert len(seen) == 12


def test_exchanges_are_equally_likely():
    """Chi-square over the 3! orders of three clusters; the first, which is the identity, left out."""
    exchange = Clusters(np.repeat([0, 1, 2], 4), 6_001, KEY)
    [first, *others] = [tuple(met) for [met] in exchange.outcomes()]
    assert first == tuple(range(12))
    counts = Counter(others)
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_all_shifts_or_some():
    """Up to B + 1 rows every shift once, in order; beyond, some that are drawn."""
    all_shifts = [tuple(met) for [met] in Cycle(7, 7, False, KEY).outcomes()]
    expected = {tuple((i - s) % 7 for i in range(7)) for s in range(7)}
    assert all_shifts[0] == tuple(range(7))
    assert set(all_shifts) == expected
    assert len(all_shifts) == 7
    drawn = [tuple(met) for [met] in Cycle(50, 6, False, KEY).outcomes()]
    assert drawn[0] == tuple(range(50))
    assert all(met[k] == (met[0] + k) % 50 for met in drawn for k in range(50))


# ------------------------------------------------------------------------------------------- time


@many
@given(
    n=st.integers(4, 40),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
    tile=st.sampled_from([10**6, 7]),
    data=st.data(),
)
def test_time_is_shifted(n, loss, statistic, tile, data):
    """All n shifts up to B + 1 rows; beyond, those that the library draws."""
    values = st.lists(QUARTERS, min_size=n, max_size=n)
    y, g = np.array(data.draw(values)), np.array(data.draw(values))
    result = answer([g], 50.0, y, loss=loss, statistic=statistic, tile=tile, row_order="time")
    [test] = result.tests
    if n <= B + 1:
        ways = permutation.cyclic_shifts(n)
    else:
        met = Cycle(n, B + 1, False, KEY).outcomes()
        ways = [np.argsort(one).tolist() for [one] in met]
    matrix = permutation.loss_matrix(loss, y, g)
    if statistic == "auto":
        scored = [permutation.regression_scores(y, g)]
        sums, tolerance = [-permutation.auto(scored, [way])[0] for way in ways], 1e-10
    else:
        sums = [permutation.total(matrix, way) for way in ways]
        tolerance = 1e-11 * max(1.0, abs(sums[0]))
    blocks = [row * int(np.sqrt(n)) // n for row in range(n)]
    rise, half = slow.rise_between(matrix, blocks, ALPHA)
    p = permutation.p_of_group(sums[0], sums, tolerance)
    agrees(test, (max(p, 1 / n), permutation.z_score(sums[0], sums[1:]), rise, half))
    assert test.guarantee == "approximate"
    if not np.isnan(test.z):
        assert test.p_resolution == pytest.approx(1 / min(n, B + 1))


def test_golden_sums_of_the_shifts():
    """STATISTICS.md: the sums over the seven cyclic shifts of the golden numbers."""
    y, g = np.array([1.0, 2, 4, 7, 3, 9, 5]), np.array([2.0, 1, 5, 6, 3, 8, 8])
    for loss, sums in {
        "absolute_error": [8, 18, 26, 20, 24, 28, 24],
        "squared_error": [14, 64, 124, 108, 102, 142, 116],
    }.items():
        [test] = answer([g], 50.0, y, loss=loss, statistic="loss", row_order="time").tests
        assert test.p_value == pytest.approx(1 / 7)
        copies = np.array(sums[1:], dtype=float)
        assert test.z == pytest.approx((copies.mean() - sums[0]) / copies.std(ddof=1), rel=1e-9)


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


DEPENDENT = [{"clusters": "who"}, {"row_order": "time"}]


@pytest.mark.parametrize("dependent", DEPENDENT, ids=["clusters", "time"])
@pytest.mark.parametrize("target", ["y", "sold"])
@pytest.mark.parametrize("by", [None, "part", "class"])
def test_the_same_bits_from_files_frames_and_workers(
    problem, tmp_path, monkeypatch, dependent, target, by
):
    """Rows are gathered in the order of the tiles, whoever has read them."""
    pytest.importorskip("pyarrow")
    if by == "class" and target == "y":
        return
    set_tiles(monkeypatch, 128)
    rows, features = problem, list("abc")
    if target == "y":
        model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(rows[features], rows.y)
    else:
        model = LogisticRegression().fit(rows[features], rows.sold)
    test = sfit.PermutationTest(n_permutations=99)
    options = {"test": test, "reference": 0.0, "random_state": 3, "by": by, **dependent}
    expected = content(sfit.feature_significance(model, rows, target, **options))
    rows[:450].to_parquet(tmp_path / "0.parquet", row_group_size=100)
    rows[450:].to_parquet(tmp_path / "1.parquet", row_group_size=90)
    frames = [rows[start : start + 210] for start in range(0, 800, 210)]
    for stored in (tmp_path, frames):
        assert content(sfit.feature_significance(model, stored, target, **options)) == expected
    two = sfit.feature_significance(model, tmp_path, target, n_jobs=2, **options)
    assert content(two) == expected
    with joblib.parallel_config(backend="loky"):
        two = sfit.feature_significance(model, rows, target, n_jobs=2, **options)
    assert content(two) == expected
    # Another size of tiles gathers the same rows.
    set_tiles(monkeypatch, 300)
    other = content(sfit.feature_significance(model, rows, target, **options))
    if by is None:
        p_values = [[test["p_value"] for test in one["tests"]] for one in (other, expected)]
        assert p_values[0] == p_values[1]


@pytest.mark.parametrize("dependent", DEPENDENT, ids=["clusters", "time"])
@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_parts_are_tested_alone(problem, dependent):
    """The rows of a part, in their order, give its p-values up to the draws of its part."""
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(problem[list("abc")], problem.y)
    test = sfit.PermutationTest(n_permutations=999)
    options = {"test": test, "reference": 0.0, "random_state": 0, **dependent}
    result = sfit.feature_significance(model, problem, "y", by="part", **options)
    alone = sfit.feature_significance(model, problem[problem.part == "left"], "y", **options)
    # The first part has the same seed as rows without parts.
    assert repr(result["left"].tests) == repr(alone.tests)
    other = sfit.feature_significance(model, problem[problem.part == "right"], "y", **options)
    assert [t.rise for t in result["right"].tests] == [t.rise for t in other.tests]


@pytest.mark.parametrize("dependent", DEPENDENT, ids=["clusters", "time"])
def test_an_interrupted_run_resumes_to_the_same_bits(problem, tmp_path, monkeypatch, dependent):
    """Gathered tiles are stored one by one."""
    set_tiles(monkeypatch, 40)
    left, asked = [10**9], []

    def model(rows):
        asked.append(len(rows))
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return np.asarray(rows, dtype=np.float32) @ np.array([1.0, 0.2, 0.1], dtype=np.float32)

    test = sfit.PermutationTest(n_permutations=99)
    options = {"reference": 0.0, "fast": False, "features": list("abc"), "random_state": 0}
    options |= {"test": test, **dependent}
    saved = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "1"}
    expected = sfit.feature_significance(model, problem, "y", **options)
    n_whole = len(asked)
    left[0] = n_whole - 10
    with pytest.raises(KeyboardInterrupt):
        sfit.feature_significance(model, problem, "y", **options, **saved)
    left[0] = 10**9
    asked.clear()
    assert sfit.feature_significance(model, problem, "y", **options, **saved) == expected
    assert len(asked) < n_whole
    other = options | {"clusters": None}
    other["row_order"] = None if "row_order" in dependent else "time"
    with pytest.raises(sfit.exceptions.CheckpointError, match="row_order"):
        sfit.feature_significance(model, problem, "y", **other, **saved)


def test_any_loss_and_several_outputs(problem):
    """The losses of every re-matching are computed, one at a time."""
    X, Y = problem[list("abc")], problem[["y", "a"]]

    def model(rows):
        rows = np.asarray(rows)
        return np.column_stack([rows[:, 0], rows[:, 0] + rows[:, 1]])

    def loss(y, g):
        return np.sqrt(np.square(y - g).sum(axis=1))

    for dependent in ({"clusters": problem.who}, {"row_order": "time"}):
        test = sfit.PermutationTest(n_permutations=49)
        result = sfit.feature_significance(
            model, X, Y, test=test, loss=loss, reference=0.0, random_state=0, **dependent
        )
        assert result.tests[0].p_value == 0.02
        assert np.isnan(result.tests[2].z)
        assert result.tests[2].p_value == 1


# ------------------------------------------------------------------------------------ what is said


def test_the_result_says_what_holds(problem):
    """In the table, the summary, the report and JSON."""
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(problem[list("abc")], problem.y)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0}
    time = sfit.feature_significance(model, problem, "y", row_order="time", **options)
    assert set(time.table.guarantee) == {"approximate"}
    assert "Row order:  time" in time.summary()
    assert "p-values:   approximate" in time.summary()
    assert any("stationary" in caveat for caveat in time.caveats)
    assert sfit.SFITResult.from_json(time.to_json()) == time
    equal = problem.assign(who=np.arange(800) // 8)
    exact = sfit.feature_significance(model, equal, "y", clusters="who", **options)
    assert set(exact.table.guarantee) == {"exact"}
    assert "p-values:" not in exact.summary()
    assert exact.settings.n_clusters == 100
    few = problem.assign(who=np.arange(800) // 100)
    with pytest.warns(sfit.exceptions.SFITWarning, match="8 clusters are few"):
        sfit.feature_significance(model, few, "y", clusters="who", **options)
    pytest.importorskip("jinja2")
    assert "stationary" in time.to_html()
    page = exact.to_html()
    assert "whole clusters of equal size change places" in page
    assert "It is exact" in page


def test_sets_over_features_found_are_left_out(problem):
    """Given features would travel with their cluster: no valid test is known."""
    X = problem[list("abc")]
    result = sfit.feature_significance(
        lambda rows: np.asarray(rows) @ [1.0, 0.3, 0.0],
        X,
        problem.y,
        clusters=problem.who,
        test="permutation",
        reference=0.0,
        max_order=2,
        random_state=0,
    )
    assert ("a",) in result.significant[1]
    assert not any(test.base for test in result.tests)
    assert any("not tested" in text and "whole clusters" in text for text in result.caveats)


def test_more_rows_than_can_be_gathered(problem, monkeypatch):
    """Parts count by themselves."""
    monkeypatch.setattr("sfit._gathered.GATHERED_ROWS", 500)
    options = {"test": "permutation", "reference": 0.0, "features": list("abc")}
    with pytest.raises(sfit.exceptions.ArgumentError, match="at most 500; got 800"):
        sfit.feature_significance(lambda z: z[:, 0], problem, "y", row_order="time", **options)
    parts = sfit.feature_significance(
        lambda z: np.asarray(z)[:, 0], problem, "y", row_order="time", by="part", **options
    )
    assert len(parts) == 2


def test_files_need_the_name_of_the_column(problem):
    """Labels cannot be matched with rows that are read again and again."""
    with pytest.raises(
        sfit.exceptions.ArgumentError, match="clusters must be the name of a column"
    ):
        sfit.feature_significance(
            lambda z: np.asarray(z)[:, 0],
            [problem[:400], problem[400:]],
            "y",
            clusters=problem.who,
            features=list("abc"),
        )


# --------------------------------------------------------------------------------------- its size


def rejections(make, n_runs, options_of, seed=0):
    """How often each way to test rejects a true null hypothesis."""
    rng = np.random.default_rng(seed)
    rejected = Counter()
    for run in range(n_runs):
        x, y, dependent = make(rng)
        for name, options in options_of(dependent).items():
            [test] = sfit.feature_significance(
                lambda rows: np.asarray(rows)[:, 0] + 0.0,
                x[:, None],
                y,
                test=sfit.PermutationTest(n_permutations=199),
                reference=0.0,
                random_state=run,
                **options,
            ).tests
            rejected[name] += test.significant
    return rejected


def allowed(n_runs, size=0.05):
    return size * n_runs + 3 * np.sqrt(size * (1 - size) * n_runs)


@pytest.mark.parametrize("of_x", [0.5, 1.0])
def test_size_with_clusters(of_x):
    """Intra-class correlation of x and y: rows as if independent fail, whole clusters hold."""
    n_runs, who = 200, np.repeat(np.arange(50), 8)

    def make(rng):
        def values(share):
            common = rng.normal(size=50)[who]
            return np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=len(who))

        return values(of_x), values(0.5), who

    rejected = rejections(make, n_runs, lambda who: {"rows": {}, "clusters": {"clusters": who}})
    assert rejected["clusters"] <= allowed(n_runs)
    assert rejected["rows"] > allowed(n_runs)


def test_size_when_the_size_of_a_cluster_drives_everything():
    """Large clusters have large x and y: only clusters of equal size may change places."""
    n_runs = 200

    def make(rng):
        sizes = np.repeat([2, 4, 6, 8, 10], 10)
        who = np.repeat(np.arange(50), sizes)
        drive = sizes[who].astype(float)
        return drive + rng.normal(size=len(who)), drive + rng.normal(size=len(who)), who

    rejected = rejections(make, n_runs, lambda who: {"rows": {}, "clusters": {"clusters": who}})
    assert rejected["clusters"] <= allowed(n_runs)
    assert rejected["rows"] > 0.9 * n_runs


def test_size_with_sizes_that_occur_once():
    """The pairing of neighbouring sizes is approximate: .04 to .075 in STATISTICS.md."""
    n_runs, sizes = 200, np.arange(3, 43)
    who = np.repeat(np.arange(40), sizes)

    def make(rng):
        x, y = (rng.normal(size=40)[who] + rng.normal(size=len(who)) for _ in range(2))
        return x, y, who

    rejected = rejections(make, n_runs, lambda who: {"clusters": {"clusters": who}})
    assert rejected["clusters"] <= allowed(n_runs, 0.075)


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_size_with_time(correlation):
    """AR(1) series: rows as if independent fail, shifts hold (approximately: .03 to .06)."""
    n_runs, n = 200, 400

    def series(rng):
        noise, values = rng.normal(size=n + 100), np.empty(n + 100)
        values[0] = noise[0]
        for t in range(1, n + 100):
            values[t] = correlation * values[t - 1] + noise[t]
        return values[100:]

    def make(rng):
        return series(rng), series(rng), None

    rejected = rejections(make, n_runs, lambda _: {"rows": {}, "time": {"row_order": "time"}})
    assert rejected["time"] <= allowed(n_runs, 0.06)
    assert rejected["rows"] > allowed(n_runs)


def test_the_interval_of_the_rise_covers():
    """The spread between clusters; that between rows is far too small."""
    n_runs, who = 200, np.repeat(np.arange(50), 8)
    rng = np.random.default_rng(3)
    covered = Counter()
    for run in range(n_runs):
        x, y = (rng.normal(size=50)[who] + rng.normal(size=len(who)) for _ in range(2))
        for name, options in {"rows": {}, "clusters": {"clusters": who}}.items():
            [test] = sfit.feature_significance(
                lambda rows: np.asarray(rows)[:, 0] + 0.0,
                x[:, None],
                y,
                test=sfit.PermutationTest(n_permutations=19),
                loss="squared_error",
                reference=0.0,
                random_state=run,
                **options,
            ).tests
            covered[name] += test.ci_low <= 0 <= test.ci_high
    least = 0.95 * n_runs - 3 * np.sqrt(0.0475 * n_runs)
    assert covered["clusters"] >= least
    assert covered["rows"] < least


def test_power_with_clusters_and_time():
    """An effect of a column that varies within clusters, or from row to row, is found."""
    who = np.repeat(np.arange(50), 8)

    def make(rng):
        x = rng.normal(size=400)
        return x, 0.3 * x + rng.normal(size=50)[who], who

    rejected = rejections(
        make, 40, lambda who: {"clusters": {"clusters": who}, "time": {"row_order": "time"}}
    )
    assert rejected["clusters"] >= 32
    assert rejected["time"] >= 32
