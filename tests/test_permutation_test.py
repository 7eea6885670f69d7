"""The permutation test: the same bits however rows are stored and computed; right where truth is known."""

import json
import warnings
from itertools import permutations

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from tiles import set_tiles

import sfit
from sfit._contrast import Contrast, Question, Reveal
from sfit._losses import LOSSES
from sfit._multiplicity import adjust, smallest_threshold
from sfit._permutation_test import PermutationStatistic
from sfit.exceptions import ArgumentError, DataError

NAMES = list("abcde")


def content(result):
    """The part of the JSON that must be equal to the byte."""
    return json.dumps(json.loads(result.to_json())["result"])


def table(result, column):
    return dict(zip(result.table["term"].str[0], result.table[column], strict=True))


@pytest.fixture(scope="module")
def regression():
    """Rows of which two columns matter, and a forest fitted on others."""
    X, y = make_regression(1_800, 5, n_informative=2, noise=20, shuffle=False, random_state=0)
    frame = pd.DataFrame(X, columns=NAMES)
    model = RandomForestRegressor(20, max_depth=4, random_state=0).fit(frame[:800], y[:800])
    return model, frame[:800], frame[800:].reset_index(drop=True), y[800:]


@pytest.fixture(scope="module")
def classes():
    """Three classes, and a forest fitted on other rows."""
    X, y = make_classification(
        1_800, 5, n_informative=3, n_redundant=0, n_classes=3, shuffle=False, random_state=0
    )
    # Without shuffling the columns that matter come first, but the rows are sorted by class.
    order = np.random.default_rng(0).permutation(1_800)
    frame, y = pd.DataFrame(X[order], columns=NAMES), y[order]
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(frame[:800], y[:800])
    return model, frame[:800], frame[800:].reset_index(drop=True), y[800:]


def test_what_is_found(regression):
    """Both columns that matter, at the smallest p that 1,999 permutations have."""
    model, train, X, y = regression
    result = sfit.feature_significance(
        model, X, y, test="permutation", reference=train, random_state=0
    )
    assert set(result.selected) >= {"a", "b"}
    assert table(result, "p_value")["a"] == table(result, "p_resolution")["a"] == 1 / 2_000
    assert result.gates == ()
    assert result.settings.seed == 0
    assert result.settings.beta == ()
    assert result.is_permutation


def test_a_seed_is_drawn_and_repeats_the_result(regression):
    model, train, X, y = regression
    first = sfit.feature_significance(model, X, y, test="permutation", reference=train)
    seed = first.settings.seed
    again = sfit.feature_significance(
        model, X, y, test="permutation", reference=train, random_state=seed
    )
    assert content(again) == content(first)
    other = sfit.feature_significance(
        model, X, y, test="permutation", reference=train, random_state=seed + 1
    )
    assert content(other) != content(first)


@pytest.mark.parametrize("tile_rows", [300, 65_536])
@pytest.mark.parametrize("statistic", ["auto", "loss"])
@pytest.mark.parametrize("by", [None, "class", "part"])
def test_any_storage_and_any_workers_give_the_same_bits(
    classes, tile_rows, statistic, by, monkeypatch, tmp_path
):
    """In memory, from Parquet, with one, two and four threads, and in other processes."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, tile_rows)
    model, train, X, y = classes
    rows = X.assign(part=np.where(X["a"] > 0, "high", "low"), y=y)
    rows[:600].to_parquet(tmp_path / "0.parquet", row_group_size=170)
    rows[600:].to_parquet(tmp_path / "1.parquet")
    options = {
        "test": sfit.PermutationTest(statistic=statistic, n_permutations=99),
        "features": NAMES,
        "reference": train,
        "by": by,
        "random_state": 3,
        "max_order": 2,
        "n_partners": 2,
    }
    expected = content(sfit.feature_significance(model, rows, "y", **options))
    for n_jobs in (2, 4):
        found = sfit.feature_significance(model, rows, "y", n_jobs=n_jobs, **options)
        assert content(found) == expected
    assert content(sfit.feature_significance(model, str(tmp_path), "y", **options)) == expected
    assert content(sfit.feature_significance(model, rows, "y", fast=False, **options)) == expected
    if tile_rows == 65_536 and by is None:
        with joblib.parallel_config(backend="loky", n_jobs=2):
            found = sfit.feature_significance(model, str(tmp_path), "y", n_jobs=2, **options)
        assert content(found) == expected


def test_many_rows_are_shifted_within_blocks(regression, monkeypatch):
    """More than 2,048 rows; what matters is found, and tiles of any storage agree."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5_000, 3)), columns=list("abc"))
    y = X["a"] + rng.normal(size=5_000)

    def model(rows):
        return np.asarray(rows)[:, 0] + 0.1 * np.asarray(rows)[:, 1]

    set_tiles(monkeypatch, 2_500)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0}
    one = sfit.feature_significance(model, X, y, **options)
    assert one.selected == ("a",)
    assert content(sfit.feature_significance(model, X, y, n_jobs=2, **options)) == content(one)
    # c is ignored by the model: nothing moves.
    c = one.tests[2]
    assert (c.p_value, c.rise, c.share_moved, c.n_better, c.n_worse) == (1.0, 0.0, 0.0, 0, 0)
    assert np.isnan(c.z)


@pytest.mark.parametrize("n", [300, 3_000])
def test_an_interrupted_run_resumes_to_the_same_bits(n, tmp_path, monkeypatch):
    """A model that fails after a while; the next run goes on from the merged sums."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    y = X["a"] + rng.normal(size=n)
    set_tiles(monkeypatch, n // 20)
    monkeypatch.setattr("sfit._measure.RUNS_TOGETHER", 2)
    left = [10**9]
    asked = []

    def model(rows):
        asked.append(len(rows))
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return np.asarray(rows) @ [1.0, 0.2, 0.1]

    options = {
        "test": "permutation",
        "reference": 0.0,
        "checkpoint": tmp_path / "run.sqlite",
        "checkpoint_key": "1",
        "fast": False,
    }
    plain = sfit.feature_significance(
        model, X, y, random_state=7, **options | {"checkpoint": None, "checkpoint_key": None}
    )
    n_whole = len(asked)
    left[0] = n_whole - 4
    with pytest.raises(KeyboardInterrupt):
        sfit.feature_significance(model, X, y, random_state=7, **options)
    left[0] = 10**9
    asked.clear()
    resumed = sfit.feature_significance(model, X, y, random_state=7, **options)
    assert content(resumed) == content(plain)
    assert len(asked) < n_whole - 8


def test_a_drawn_seed_is_kept_in_the_checkpoint(regression, tmp_path):
    model, train, X, y = regression
    options = {"test": "permutation", "reference": train, "checkpoint": tmp_path / "run.sqlite"}
    first = sfit.feature_significance(model, X, y, **options)
    assert content(sfit.feature_significance(model, X, y, **options)) == content(first)


def test_a_checkpoint_stays_small(tmp_path, monkeypatch):
    """Merged sums are stored, not those of every tile: 40 tiles take no more than 2."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4_000, 4)), columns=list("abcd"))
    y = X["a"] + rng.normal(size=4_000)
    model = LinearRegression().fit(X, y)
    sizes = []
    for tile_rows in (100, 2_000):
        set_tiles(monkeypatch, tile_rows)
        path = tmp_path / f"{tile_rows}.sqlite"
        sfit.feature_significance(
            model, X, y, test="permutation", reference=0.0, random_state=0, checkpoint=path
        )
        sizes.append(path.stat().st_size)
    assert sizes[0] < 1.5 * sizes[1]


@pytest.mark.parametrize("kind", ["squared", "poisson", "binary", "several outputs", "callable"])
def test_every_kind_of_problem(kind):
    """The column that matters is found, the noise is not related."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "noise"])
    a = X["a"].to_numpy()
    loss, y = "auto", a + rng.normal(size=600)
    model = lambda rows: np.asarray(rows)[:, 0] + 0.3 * np.asarray(rows)[:, 1]  # noqa: E731
    if kind == "squared":
        loss = "squared_error"
    elif kind == "poisson":
        loss, y = "poisson", rng.poisson(np.exp(0.5 * a)).astype(float)
        model = lambda rows: np.exp(np.asarray(rows) @ [0.5, 0.1])  # noqa: E731
    elif kind == "binary":
        y = (a + rng.logistic(size=600) > 0).astype(int)
        model = LogisticRegression().fit(X, y)
    elif kind == "several outputs":
        y = np.c_[y, -y]
        model = lambda rows: np.asarray(rows) @ np.array([[1, -1], [0.2, 0.1]])  # noqa: E731
    elif kind == "callable":
        loss = lambda y, g: np.abs(y - g) ** 1.5  # noqa: E731
    for statistic in ("auto", "loss"):
        result = sfit.feature_significance(
            model,
            X,
            y,
            loss=loss,
            reference=0.0,
            test=sfit.PermutationTest(statistic=statistic, n_permutations=199),
            random_state=0,
        )
        p, rises = table(result, "p_value"), table(result, "rise")
        assert p["a"] == 1 / 200
        assert p["noise"] > 0.02
        assert rises["a"] > 10 * abs(rises["noise"])
        used = "loss" if kind in ("several outputs", "callable") else statistic
        assert result.settings.test == f"permutation test, statistic '{used}'"
        assert any("64 random shifts" in text for text in result.caveats) == (
            kind in ("several outputs", "callable")
        )


def test_by_class_permutes_all_rows(classes):
    """Permuting within a class could find nothing: its outcomes are equal."""
    model, train, X, y = classes
    parts = sfit.feature_significance(
        model, X, y, test="permutation", reference=train, by="class", random_state=0
    )
    assert [part.tests[0].n for part in parts.values()] == np.bincount(y).tolist()
    assert any(part.selected for part in parts.values())


def test_a_class_that_is_not_among_the_rows(classes):
    """Class 1 is missing: the others keep their own probabilities."""
    model, train, X, y = classes
    kept = y != 1
    X, y = X[kept], y[kept]
    options = {
        "test": "permutation",
        "reference": train,
        "by": "class",
        "random_state": 0,
        "fast": False,
    }
    parts = sfit.feature_significance(model, X, y, **options)
    assert list(parts) == [0, 2]
    # Without class 1 the indicators of 0 and 2 are opposites, so found features are related to both.
    swapped = sfit.feature_significance(
        sfit.models.function_model(
            lambda rows: model.predict_proba(rows)[:, [0, 2, 1]],
            task="classification",
            classes=[0, 1, 2],
        ),
        X,
        np.where(y == 2, 1, y),
        **options | {"features": NAMES},
    )
    assert swapped[1].table["p_value"].tolist() == parts[2].table["p_value"].tolist()
    assert swapped[1].table["rise"].tolist() == pytest.approx(parts[2].table["rise"].tolist())


def test_decisions_at_another_level(regression):
    model, train, X, y = regression
    result = sfit.feature_significance(
        model, X, y, test="permutation", reference=train, random_state=0
    )
    again = result.at(alpha=0.001, correction="holm")
    assert again.table["p_adjusted"].tolist() == adjust(result.table["p_value"], "holm").tolist()
    assert not again.selected
    assert sfit.SFITResult.from_json(result.to_json()) == result


@pytest.mark.parametrize("correction", [None, "holm", "bonferroni", "fdr_bh", "fdr_by"])
@pytest.mark.parametrize("m", [1, 7, 50])
def test_enough_permutations_for_the_smallest_threshold(correction, m):
    """The smallest p is at most half of the smallest level that it is compared with."""
    statistic = PermutationStatistic(
        0.05, sfit.PermutationTest(), LOSSES["squared_error"], 0, 1, 100, False
    )
    threshold = smallest_threshold(0.05, correction, m)
    contrast = Contrast(frozenset({0}), Reveal(frozenset()), Reveal(frozenset({0})))
    size = statistic.size(Question(contrast, 0, 100, threshold))
    assert size % 1_000 == 0
    assert size >= 2_000
    assert size >= 2 / threshold - 1e-6
    assert size == 2_000 or size - 1_000 < 2 / threshold
    # The smallest p alone, the others at 1, is significant after the correction.
    p = np.ones(m)
    p[0] = 1 / size
    assert adjust(p, correction)[0] < 0.05


def test_too_few_permutations_are_told(regression):
    """When the test is run, and when it is decided again."""
    model, train, X, y = regression
    options = {"reference": train, "random_state": 0}
    few = sfit.PermutationTest(n_permutations=19)
    result = sfit.feature_significance(model, X, y, test=few, correction="holm", **options)
    assert not result.selected
    assert any("use more permutations" in text for text in result.caveats)
    enough = sfit.feature_significance(model, X, y, test="permutation", **options)
    assert not any("use more permutations" in text for text in enough.caveats)
    again = enough.at(alpha=0.002, correction="bonferroni")
    assert any("use more permutations" in text for text in again.caveats)


def test_no_number_of_permutations_is_enough():
    with pytest.raises(ArgumentError, match=r"alpha=1e-09 .* needs 2,000,000,000 permutations"):
        sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0],
            np.arange(50.0)[:, None],
            np.arange(50.0),
            test="permutation",
            reference=0.0,
            alpha=1e-9,
        )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    y=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    g=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    n=st.integers(2, 6),
    statistic=st.sampled_from(["auto", "loss"]),
)
def test_no_p_value_is_below_its_resolution(y, g, n, statistic):
    """Ties reduce the distinct permutations. By all permutations: no true p is below 1 over them."""
    y, g = np.array(y[:n], dtype=float), np.array(g[:n], dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [test] = sfit.feature_significance(
            lambda rows: g[np.asarray(rows)[:, 0].astype(int)],
            np.arange(n, dtype=float)[:, None],
            y,
            loss="squared_error",
            test=sfit.PermutationTest(n_permutations=999, statistic=statistic),
            reference=0.0,
            random_state=0,
        ).tests
    sums = [y @ g[list(order)] for order in permutations(range(n))]
    by_sum = np.mean(np.array(sums) >= y @ g - 1e-9)
    pairs = [sorted(zip(y, g[list(order)], strict=True)) for order in permutations(range(n))]
    same_pairs = np.mean([one == pairs[0] for one in pairs])
    assert test.p_value >= test.p_resolution
    assert test.p_resolution >= 1 / 1_000
    # The resolution never exceeds the share of the permutations that change nothing, ...
    assert test.p_resolution <= max(same_pairs, 1 / 1_000) + 1e-12
    # ... which no p-value over all permutations is below.
    assert by_sum >= same_pairs
    if statistic == "loss":
        assert test.p_value >= by_sum - 4 * np.sqrt(by_sum * (1 - by_sum) / 999) - 1e-9


@pytest.mark.parametrize(
    ("y", "resolution"),
    [
        (np.arange(4.0), 1 / 24),
        (np.append(np.zeros(19), 1.0), 1 / 20),
        (np.repeat([0.0, 1.0], 5), 1 / 252),
    ],
)
def test_the_resolution_counts_distinct_permutations(y, resolution):
    """Of 4 rows, of one event among 20, of 5 and 5; equal predictions count as equal outcomes do."""
    for outcomes, values in ((y, np.arange(len(y)) + 1.0), (np.arange(len(y)) + 1.0, y)):
        [test] = sfit.feature_significance(
            lambda rows, values=values: values[np.asarray(rows)[:, 0].astype(int)],
            np.arange(len(y), dtype=float)[:, None],
            outcomes,
            test="permutation",
            reference=0.0,
            random_state=0,
        ).tests
        assert test.p_resolution == resolution
        assert test.p_value >= resolution


def test_resolutions_of_many_features_are_a_range():
    """Dummies of 1, 2, 3 and 4 rows among 30 have another number of distinct permutations each."""
    X = pd.DataFrame({f"d{k}": (np.arange(30) < k).astype(float) for k in (1, 2, 3, 4)})
    y = np.random.default_rng(0).normal(size=30)
    result = sfit.feature_significance(
        lambda rows: np.asarray(rows).sum(axis=1),
        X,
        y,
        test="permutation",
        reference=0.0,
        random_state=0,
    )
    assert [test.p_resolution for test in result.tests] == [1 / 30, 1 / 435, 1 / 2_000, 1 / 2_000]
    assert "0.0005 to 0.0333" in result.summary()


def test_a_large_part_that_misses_a_tile(monkeypatch):
    """More than 2,048 rows of a part, none of them in the last tile."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 1))
    y = X[:, 0] + rng.normal(size=3_000)
    set_tiles(monkeypatch, 500)
    parts = sfit.feature_significance(
        lambda rows: np.asarray(rows)[:, 0],
        X,
        y,
        test="permutation",
        reference=0.0,
        by=np.where(np.arange(3_000) < 2_500, "a", "b"),
        random_state=0,
    )
    assert [part.selected for part in parts.values()] == [("x0",), ("x0",)]


def test_a_constant_outcome_is_told(classes):
    model, train, X, y = classes
    options = {"test": "permutation", "reference": train, "random_state": 0}
    with pytest.warns(UserWarning, match=r"outcome is the same in all rows.*by='class'"):
        parts = sfit.feature_significance(model, X, y, by=y, **options)
    assert not any(part.selected for part in parts.values())


def test_the_interval_of_a_class_of_one_row():
    """Nothing shows how much its rise varies: the interval is infinite, in every view."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300)})
    y = np.zeros(300, dtype=int)
    y[7] = 1
    model = sfit.models.function_model(
        lambda rows: np.c_[0.5 - 0.1 * np.tanh(rows), 0.5 + 0.1 * np.tanh(rows)],
        task="classification",
        classes=[0, 1],
    )
    parts = sfit.feature_significance(
        model, X, y, test="permutation", reference=0.0, by="class", random_state=0
    )
    [rare] = parts[1].tests
    assert (rare.n, rare.ci_low, rare.ci_high) == (1, -np.inf, np.inf)
    assert rare.p_resolution == 1 / 300
    again = sfit.SFITResult.from_json(parts[1].to_json())
    assert again == parts[1]
    assert "[-inf, inf]" in again.summary()


def test_a_loss_that_fails_on_other_pairs_only():
    """The error says which pairs, and not the number of a row."""
    x = np.arange(1.0, 101)

    def loss(y, g):
        return np.where(np.abs(y - g) > 50, np.nan, np.abs(y - g))

    with pytest.raises(DataError, match="outcome of one row and the prediction of another"):
        sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0],
            x[:, None],
            x,
            loss=loss,
            test="permutation",
            reference=50.0,
            random_state=0,
        )


@pytest.mark.parametrize("empty", [(), [], np.array([]), pd.Index([])])
def test_empty_lists_name_nothing(regression, empty):
    model, train, X, y = regression
    result = sfit.feature_significance(
        model,
        X,
        y,
        test="permutation",
        reference=train,
        given=empty,
        always_on=empty,
        random_state=0,
    )
    assert result.selected


def test_sorted_rows_are_told(monkeypatch):
    """Tiles of a sorted file hold little of the variance."""
    set_tiles(monkeypatch, 100)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.sort(rng.normal(size=1_000))})
    y = X["a"] + 0.1 * rng.normal(size=1_000)
    with pytest.warns(UserWarning, match=r"sorted.*shuffle the rows"):
        sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0], X, y, test="permutation", random_state=0
        )
    shuffled = rng.permutation(1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0],
            X.iloc[shuffled].reset_index(drop=True),
            y.iloc[shuffled].reset_index(drop=True),
            test="permutation",
            random_state=0,
        )


def test_pairs_over_features_found():
    """A pure interaction is found as a pair; over a continuous feature found, the test is approximate."""
    X, y = sfit.simulate.interactions(2_000, random_state=0)
    result = sfit.feature_significance(
        sfit.simulate.interactions_mean,
        X,
        y,
        test="permutation",
        reference=0.0,
        max_order=2,
        random_state=0,
        correction="holm",
    )
    assert result.significant == {1: [("X1",), ("X3",)], 2: [("X1", "X2"), ("X4", "X5")]}
    pairs = {t.term: t for t in result.tests if t.order == 2}
    assert (pairs["X1", "X2"].base, pairs["X1", "X2"].guarantee) == (("X1",), "approximate")
    assert (pairs["X4", "X5"].base, pairs["X4", "X5"].guarantee) == ((), "exact")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.01}, "beta=0.01 belongs to the sign test"),
        ({"beta": "auto"}, "beta='auto' belongs to the sign test"),
        ({"given": ["b", "c"]}, r"given=\['b', 'c'\] cannot be combined with test='permutation'"),
        ({"given": "rest"}, "given='rest' cannot be combined.*Shah and Peters 2020.*test='sign'"),
        ({"always_on": ["b", "c"]}, r"always_on=\['b', 'c'\] cannot be combined"),
        ({"exhaustive": True, "max_order": 2}, "exhaustive=True"),
        ({"strict": True}, "strict=True"),
        ({"test": "t-test"}, "test must be 'sign', 'permutation', 'mean', sfit.SignTest"),
        (
            {"test": sfit.PermutationTest},
            "test must be 'sign', 'permutation', 'mean', sfit.SignTest",
        ),
    ],
)
def test_what_is_refused(regression, options, message):
    """Before the model is asked anything."""
    _, _, X, y = regression
    with pytest.raises(ArgumentError, match=message):
        sfit.feature_significance(lambda rows: 1 / 0, X, y, **{"test": "permutation"} | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "median"}, "statistic must be one of 'auto', 'loss'; got 'median'"),
        ({"n_permutations": 0}, "n_permutations must be a whole number of at least 1"),
        ({"n_permutations": 1.5}, "n_permutations must be a whole number"),
        ({"n_permutations": "many"}, "n_permutations must be a whole number"),
        ({"n_permutations": 10**9}, "n_permutations must be at most 10,000,000"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        sfit.PermutationTest(**options)


def test_loco_has_no_permutation_test(regression):
    _, _, X, y = regression
    with pytest.raises(ArgumentError, match="test must be 'sign'"):
        sfit.loco_significance(LinearRegression(), X, y, X, y, test="permutation")


def test_the_users_generators_are_left_alone(regression):
    model, train, X, y = regression
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what is looked at
    sfit.feature_significance(model, X, y, test="permutation", reference=train)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_one_row_and_few_rows():
    """No pairs, no test: p is 1, and the user is told."""
    for n in (1, 2, 3):
        with pytest.warns(UserWarning, match="too few permutations|same in all rows"):
            result = sfit.feature_significance(
                lambda rows: np.asarray(rows)[:, 0],
                np.arange(n, dtype=float)[:, None],
                np.arange(n, dtype=float),
                test="permutation",
                reference=0.0,
                random_state=0,
            )
        assert result.tests[0].p_value > 0.05
        assert not result.selected


def test_parts_that_miss_tiles(monkeypatch):
    """Rows of a part in one tile only, and a single row of it in another."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300)})
    y = X["a"] + 0.5 * rng.normal(size=300)
    part = np.array(["first"] * 100 + ["second"] * 150 + ["first"] + ["third"] * 49)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0, "by": part}
    model = LinearRegression().fit(X, y)
    set_tiles(monkeypatch, 100)
    parts = sfit.feature_significance(model, X, y, **options)
    assert {label: result.selected for label, result in parts.items()} == dict.fromkeys(
        ("first", "second", "third"), ("a",)
    )
    assert [result.tests[0].n for result in parts.values()] == [101, 150, 49]


@pytest.mark.parametrize("unit", [1e-120, 1e-60, 1e60, 1e160])
def test_outcomes_of_any_unit_or_a_clear_error(unit):
    """Sums of products must neither overflow nor vanish: that would change the p-value."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    y = a + rng.normal(size=200)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0}
    expected = sfit.feature_significance(
        lambda rows: np.asarray(rows)[:, 0], a[:, None], y, **options
    )

    def run():
        return sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0] * unit, a[:, None], y * unit, **options
        )

    if 1e-100 < unit < 1e100:
        found = run()
        assert found.tests[0].p_value == expected.tests[0].p_value
        assert found.tests[0].z == pytest.approx(expected.tests[0].z)
        return
    with pytest.raises(DataError, match="in another unit"):
        run()


def test_size_under_the_null(monkeypatch):
    """Skewed outcomes with ties, a rare dummy: 400 data sets, within 3 binomial errors of 5 %."""
    rng = np.random.default_rng(0)
    rejected = 0
    n_sets = 100
    for seed in range(n_sets):
        X = np.c_[
            rng.normal(size=60),
            rng.random(60) < 0.05,
            np.round(rng.exponential(size=60)),
            rng.standard_cauchy(60),
        ].astype(float)
        y = np.round(rng.lognormal(size=60), 1)
        result = sfit.feature_significance(
            lambda rows: np.asarray(rows) @ [1.0, 2.0, -1.0, 0.1],
            X,
            y,
            test=sfit.PermutationTest(n_permutations=199),
            reference=0.0,
            random_state=seed,
        )
        rejected += result.table["significant"].sum()
    assert rejected / (4 * n_sets) < 0.05 + 3 * np.sqrt(0.0475 / (4 * n_sets))


def test_deciding_again_drops_caveats_that_no_longer_hold():
    """Too few permutations for the corrected level, but enough without a correction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    result = sfit.feature_significance(
        lambda rows: rows[:, 0],
        X,
        X[:, 0],
        test=sfit.PermutationTest(n_permutations=39),
        reference=0.0,
        correction="fdr_by",
        random_state=0,
    )
    assert any("no p-value of order 1" in text for text in result.caveats)
    again = result.at(correction=None)
    assert not any("no p-value of order 1" in text for text in again.caveats)
    assert again.selected == ("x0",)
    assert again.at(correction="fdr_by").caveats == result.caveats
