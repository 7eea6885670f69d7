"""compare_parts: the gains by part, their tests, every storage, every refusal, and the size."""

import json
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_ind
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from tiles import set_tiles

import sfit
from sfit._document import sealed
from sfit._effects import EffectTally
from sfit._label_permutation import LabelPermutations
from sfit._part_gains import cut
from sfit._part_test import PartTally, RowUnits
from sfit.exceptions import ArgumentError, CheckpointError, DataError, SFITWarning

WEIGHTS = np.array([1.0, 0.5, 0.0])


def line(rows):
    return np.asarray(rows)[:, :3] @ WEIGHTS


def content(result):
    return json.loads(result.to_json())["result"]


@pytest.fixture
def rows():
    """600 rows, sorted by month; in later months `a` matters more. Clusters of three rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    frame["month"] = np.repeat([9, 10, 11], [150, 250, 200])
    frame["who"] = np.sort(rng.permutation(np.repeat(np.arange(200), 3)))
    # No cluster in two months.
    frame["who"] = frame["who"] + 1_000 * frame["month"]
    effect = frame["month"] - 9.5
    frame["y"] = effect * frame["a"] + 0.5 * frame["b"] + rng.normal(size=600) * frame["month"] / 9
    return frame


def compared(frame, **options):
    defaults = {"by": "month", "features": list("abc"), "reference": 0.0, "random_state": 3}
    return sfit.compare_parts(line, frame, "y", **defaults | options)


def gains_of(frame, given=()):
    """The gain of every row, for each feature, under the absolute loss."""
    X, y = frame[list("abc")].to_numpy(), frame["y"].to_numpy()
    base = X * [name in given for name in "abc"] @ WEIGHTS
    return {
        name: np.abs(y - base) - np.abs(y - (base + X[:, j] * WEIGHTS[j]))
        for j, name in enumerate("abc")
        if name not in given
    }


# ------------------------------------------------------------------------------------ what is found


@pytest.mark.parametrize(("tile", "most_units"), [(65_536, 65_536), (64, 65_536), (64, 86)])
def test_the_records_are_the_gains_of_the_rows(rows, monkeypatch, tile, most_units):
    """Also in several tiles, and in units of six rows."""
    set_tiles(monkeypatch, tile)
    monkeypatch.setattr("sfit._part_gains.MOST_UNITS", most_units)
    result = compared(rows, alpha=0.1, trend=True)
    n_fixed = 0 if most_units > 600 else 150 % 6 + 250 % 6 + 200 % 6
    assert {one.n_fixed for one in result.features} == {n_fixed}
    table = result.parts.set_index(["feature", "part"])
    assert result.labels == (9, 10, 11) and result.by == "month"
    for name, gains in gains_of(rows).items():
        for month in result.labels:
            own = (rows["month"] == month).to_numpy()
            seen = table.loc[name, month]
            assert seen["n"] == own.sum()
            assert seen["n_better"] == (gains[own] > 0).sum()
            assert seen["gain_rest"] == pytest.approx(gains[~own].mean(), rel=1e-9)
            assert seen["loss_base"] - seen["loss_full"] == pytest.approx(seen["gain"], abs=1e-9)
            if name == "c":
                assert seen["gain"] == seen["t"] == 0 and seen["p_value"] == 1
                continue
            student = ttest_1samp(gains[own], 0).confidence_interval(0.9)
            figures = [seen["gain"], seen["ci_low"], seen["ci_high"]]
            assert figures == pytest.approx([gains[own].mean(), *student], rel=1e-9)
            welch = ttest_ind(gains[own], gains[~own], equal_var=False)
            assert seen["t"] == pytest.approx(welch.statistic, rel=1e-8)
            if most_units > 600:
                # The asymptotic p-value is close to that of the permutations.
                near = 5 * np.sqrt(welch.pvalue * (1 - welch.pvalue) / 2_000) + 0.01
                assert seen["p_value"] == pytest.approx(welch.pvalue, abs=near)
    first = result.features[0]
    assert (first.feature, first.smallest, first.largest) == ("a", 9, 11)
    assert first.significant and "c" not in result.differing
    means = [table.loc[("a", month), "gain"] for month in result.labels]
    assert result.trends[0].slope == pytest.approx(np.polyfit(range(3), means, 1)[0], rel=1e-8)
    assert result.trends[0].significant and not result.trends[2].significant


def test_the_counts_are_those_of_the_permutations(rows):
    """Gains computed here, in the order of the parts, give the same p-values."""
    result = compared(rows, trend=True)
    months = rows["month"].to_numpy()
    parts = [
        [cut(gains[months == month], 1) for month in (9, 10, 11)]
        for gains in gains_of(rows).values()
    ]
    counts = LabelPermutations(np.repeat(range(3), [150, 250, 200]), 1, 2_000, 3).count(parts)
    assert [one.p_value for one in result.features] == (counts.overall / 2_000).tolist()
    assert [one.p_value for one in result.gains] == (counts.each / 2_000).ravel().tolist()
    assert [one.p_value for one in result.trends] == (counts.trend / 2_000).tolist()
    assert result.settings.n_draws == 2_000 and result.settings.seed == 3


def test_each_family_is_corrected_by_itself(rows):
    plain, holm = (compared(rows, trend=True, correction=one) for one in (None, "holm"))
    for records, n_tests in (("features", 3), ("gains", 9), ("trends", 3)):
        p_values = sorted(one.p_value for one in getattr(holm, records))
        adjusted = sorted(one.p_adjusted for one in getattr(holm, records))
        stepped = np.maximum.accumulate(np.multiply(p_values, range(n_tests, 0, -1)))
        assert adjusted == np.minimum(stepped, 1).tolist()
        for one in getattr(plain, records):
            assert one.p_adjusted == one.p_value
            assert one.significant == (one.p_value < 0.05)


def test_two_parts_are_compared_once(rows):
    half = np.where(rows["month"] == 11, "late", "early")
    result = compared(rows, by=half, trend=True)
    assert {one.p_value for one in result.gains} == {None}
    assert not any(one.significant for one in result.gains)
    assert result.parts["p_value"].isna().all() and result.by == "part"
    for test, trend in zip(result.features, result.trends, strict=True):
        assert test.p_value == trend.p_value
    assert "With two parts" in str(result)


@pytest.mark.parametrize("given", [("b",), "rest"])
def test_given_features_are_revealed_on_both_sides(rows, given):
    result = compared(rows, given=given)
    if given == "rest":
        X, y = rows[list("abc")].to_numpy(), rows["y"].to_numpy()
        full = np.abs(y - X @ WEIGHTS)
        expected = {
            name: (np.abs(y - X @ (WEIGHTS * (np.arange(3) != j))) - full).mean()
            for j, name in enumerate("abc")
        }
    else:
        expected = {name: gains.mean() for name, gains in gains_of(rows, given).items()}
    assert {one.feature: one.gain for one in result.features} == pytest.approx(expected, rel=1e-8)
    assert result.settings.given == (("rest",) if given == "rest" else given)


def test_a_cluster_counts_once(rows):
    """The same as rows that hold the mean gains of the clusters."""
    result = compared(rows, clusters="who", trend=True)
    first = rows.groupby("who", sort=False).first()
    means = {
        name: pd.Series(gains).groupby(rows["who"], sort=False).mean()
        for name, gains in gains_of(rows).items()
    }
    months = first["month"].to_numpy()
    labels = np.repeat(range(3), [(months == month).sum() for month in (9, 10, 11)])
    parts = [
        [cut(one.to_numpy()[months == month], 1) for month in (9, 10, 11)] for one in means.values()
    ]
    counts = LabelPermutations(labels, 1, 2_000, 3).count(parts)
    assert [one.p_value for one in result.features] == (counts.overall / 2_000).tolist()
    assert [one.p_value for one in result.gains] == (counts.each / 2_000).ravel().tolist()
    assert [one.n for one in result.gains[:3]] == np.bincount(labels).tolist()
    assert result.gains[0].gain == pytest.approx(means["a"][months == 9].mean(), rel=1e-9)
    assert result.settings.n_clusters == len(first) and result.settings.units == "clusters"


def test_classes_are_parts():
    X, y = make_classification(400, 4, n_redundant=0, random_state=0)
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    result = sfit.compare_parts(model, X, y, by="class", random_state=0)
    assert result.labels == (0, 1) and result.by == "class"
    by_label = sfit.compare_parts(model, X, y, by=y, random_state=0)
    assert by_label.gains == result.gains


def test_labels_sort_by_value(rows):
    months = rows["month"]
    assert compared(rows, by=months.to_numpy()).labels == (9, 10, 11)
    assert compared(rows, by=months.astype(float).to_numpy()).labels == (9, 10, 11)
    assert compared(rows, by=months.astype(str).to_numpy()).labels == ("10", "11", "9")
    days = pd.to_datetime("2024-" + months.astype(str) + "-01")
    assert [label[:7] for label in compared(rows, by=days).labels] == [
        "2024-09",
        "2024-10",
        "2024-11",
    ]
    assert compared(rows, by=(months > 9).to_numpy()).labels == (False, True)
    assert compared(rows, by=months.to_numpy() / 4).labels == ("2.25", "2.5", "2.75")


def test_a_trend_needs_sorted_labels(rows):
    """The order of categories is not that of their names: no silent answer about another order."""
    names = pd.Categorical(
        rows["month"].map({9: "sep", 10: "oct", 11: "nov"}), ["sep", "oct", "nov"], ordered=True
    )
    for frame, by in ((rows, names), (rows.assign(month=names), "month")):
        assert compared(frame, by=by).labels == ("nov", "oct", "sep")
        with pytest.raises(ArgumentError, match=r"by has ordered categories, .*sep.* codes"):
            compared(frame, by=by, trend=True)
    coded = compared(rows, by=names.codes, trend=True)
    assert coded.trends == compared(rows, trend=True).trends
    sorted_names = pd.Categorical(rows["month"], ordered=True)
    assert compared(rows, by=sorted_names, trend=True).trends == coded.trends


# ------------------------------------------------------------------- the same bits, however computed


def test_features_are_gathered_some_at_a_time(rows, monkeypatch):
    expected = compared(rows, trend=True)
    monkeypatch.setattr("sfit.compare._parts.PASS_NUMBERS", 1)
    few = compared(rows, trend=True)
    assert few == expected and len(few.run["stages"]) == 3


OPTIONS = [{}, {"clusters": "who"}, {"given": "rest", "trend": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=["rows", "clusters", "rest"])
@pytest.mark.parametrize("most_units", [65_536, 150], ids=["single", "units"])
def test_the_same_bits_from_files_frames_and_workers(
    rows, tmp_path, monkeypatch, options, most_units
):
    """Units of four rows span tiles; a part has fewer than four rows in some tiles."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 64)
    monkeypatch.setattr("sfit._part_gains.MOST_UNITS", most_units)
    options = {"n_jobs": 1} | options
    expected = content(compared(rows, **options))
    rows[:250].to_parquet(tmp_path / "0.parquet", row_group_size=100)
    rows[250:].to_parquet(tmp_path / "1.parquet", row_group_size=90)
    frames = [rows[start : start + 210] for start in range(0, 600, 210)]
    for stored in (tmp_path, frames):
        assert content(compared(stored, **options)) == expected
    for stored in (rows, tmp_path):
        assert content(compared(stored, **options | {"n_jobs": 2})) == expected
    with joblib.parallel_config(backend="loky"):
        assert content(compared(tmp_path, **options | {"n_jobs": 2})) == expected


@pytest.mark.parametrize("clusters", [None, "who"])
def test_an_interrupted_run_resumes_to_the_same_bits(rows, tmp_path, monkeypatch, clusters):
    set_tiles(monkeypatch, 40)
    monkeypatch.setattr("sfit._part_gains.MOST_UNITS", 150)
    monkeypatch.setattr("sfit._measure.RUNS_TOGETHER", 2)
    left, asked = [10**9], []

    def model(some):
        asked.append(len(some))
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return line(some)

    call = partial(
        sfit.compare_parts,
        model,
        rows,
        "y",
        by="month",
        features=list("abc"),
        reference=0.0,
        clusters=clusters,
        fast=False,
    )
    saved = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "1"}
    expected = call(random_state=7, **saved | {"checkpoint": tmp_path / "other.sqlite"})
    assert call(random_state=7) == expected
    asked.clear()
    call(random_state=7, **saved | {"checkpoint": tmp_path / "third.sqlite"})
    n_whole = len(asked)
    left[0] = n_whole - 5
    with pytest.raises(KeyboardInterrupt):
        call(random_state=7, **saved)
    left[0] = 10**9
    asked.clear()
    assert call(random_state=7, **saved) == expected
    # Ten of 15 tiles were finished; the model is asked once per tile.
    assert len(asked) <= n_whole - 8
    # Trends follow from the same tallies.
    assert call(random_state=7, trend=True, **saved).gains == expected.gains
    with pytest.raises(CheckpointError, match="by"):
        call(random_state=7, **saved, by=rows["month"].to_numpy())


def test_a_drawn_seed_is_stored(rows, tmp_path):
    saved = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "1", "random_state": None}
    assert compared(rows, **saved) == compared(rows, **saved)


def test_tallies_survive_a_checkpoint():
    rng = np.random.default_rng(0)
    units = RowUnits(3)
    effects = EffectTally(4, 3, 2, 1, rng.normal(size=(2, 2)))
    tallies = [PartTally(effects, cut(rng.normal(size=n), 3)) for n in (0, 2, 11)]
    data = units.pack(tallies)
    for one, other in zip(tallies, units.unpack(data, 3), strict=True):
        assert one.effects[:4] == other.effects[:4]
        assert np.array_equal(one.effects.sums, other.effects.sums)
        assert all(map(np.array_equal, one.gains, other.gains))
    for wrong in (data[:-8], data + data[-8:], units.pack(tallies[:2])):
        with pytest.raises(ValueError, match="numbers"):
            units.unpack(wrong, 3)
    with pytest.raises(ValueError, match="left over"):
        RowUnits(2).unpack(data, 3)


def test_many_rows_sorted_by_part():
    """140,001 rows make units of two; labels of a sorted file still change places."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(140_001, 2)).astype(np.float32)
    month = np.sort(rng.integers(1, 5, len(X)))
    y = X @ [1.0, 0.3] + 0.02 * month * X[:, 1] + rng.normal(size=len(X))
    result = sfit.compare_parts(
        lambda some: np.asarray(some) @ [1.0, 0.3],
        X,
        y,
        by=month,
        trend=True,
        loss="squared_error",
        reference=0.0,
        random_state=0,
    )
    n_odd = int(np.count_nonzero(np.bincount(month)[1:] % 2))
    assert {one.n_fixed for one in result.features} == {n_odd} and n_odd
    assert any("units of 2 rows" in caveat for caveat in result.caveats)
    assert [one.n for one in result.gains[:4]] == np.bincount(month)[1:].tolist()
    assert result.differing == ("x1",)
    assert [one.significant for one in result.trends] == [False, True]
    gains = np.square(y) - np.square(y - X[:, 0].astype(float))
    t = ttest_ind(gains[month == 1], gains[month != 1], equal_var=False).statistic
    assert result.gains[0].t == pytest.approx(t, rel=1e-3)


# ------------------------------------------------------------------------------- results and views


def test_json_views_and_decisions(rows, tmp_path):
    for trend in (False, True):
        result = compared(rows, trend=trend)
        assert sfit.PartComparison.from_json(result.to_json()) == result
        result.to_json(tmp_path / "parts.json")
        assert sfit.PartComparison.from_json(tmp_path / "parts.json") == result
        assert len(result.table) == 3 and len(result.parts) == 9
        assert ("trend_slope" in result.table) == trend
        assert "differs between the 3 parts of month: a" in result.summary()
        assert all(len(row) == len(grid.head) for grid in result.grids() for row in grid.rows)
        assert any("exact" in text for _, text in result.reading())
        assert all("asymptotic for equal mean" in one.guarantee for one in result.features)
    assert "rises for a" in result.summary() and "From 9 to 11" in result.summary()
    nothing = compared(rows, by=np.arange(600) % 3, trend=True)
    assert "No mean gain of 3 features differs" in nothing.summary()
    assert "No mean gain rises or falls" in nothing.summary()


def edited(content, change):
    document = json.loads(json.dumps(content))
    change(document["result"])
    return json.dumps(sealed(document))


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result["gains"].pop(),
        lambda result: result["gains"].reverse(),
        lambda result: result["features"].append(result["features"][0]),
        lambda result: result["trends"].pop(),
        lambda result: result.update(by=3),
        lambda result: result["gains"][0].update(p_value=None),
        lambda result: result["gains"][0].update(part=0.5),
        lambda result: result["features"][0].update(p_value=2.0),
        lambda result: result.update(gains=[]),
        lambda result: result.pop("by"),
    ],
)
def test_an_edited_result_is_refused(rows, change):
    document = json.loads(compared(rows, trend=True).to_json())
    with pytest.raises(DataError, match="to_json"):
        sfit.PartComparison.from_json(edited(document, change))


def test_the_picture_has_a_panel_per_feature(rows):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    from sfit.plotting import PartGainsDisplay

    display = compared(rows, trend=True).plot()
    assert display.features[0] == "a" and len(display.axes_) == len(display.lines_) == 3
    gains = [one.gain for one in display.result.gains[:3]]
    assert display.points_[0].get_offsets()[:, 1].tolist() == gains
    few = PartGainsDisplay(compared(rows), max_features=2).plot()
    assert len(few.axes_) == 2 and not few.lines_
    assert "1 more feature is not shown" in few.axes_[0].get_xlabel()
    _, ax = plt.subplots()
    assert PartGainsDisplay(compared(rows), max_features=1).plot(ax=ax).axes_ == [ax]
    plt.close("all")


# --------------------------------------------------------------------------------------- refusals


def test_parts_that_cannot_be_compared_are_refused(rows):
    def asked(*some):
        raise AssertionError("the model was asked")

    call = partial(sfit.compare_parts, asked, rows, "y", features=list("abc"), reference=0.0)
    with pytest.raises(ArgumentError, match=r"by must be .* got None"):
        call(by=None)
    with pytest.raises(ArgumentError, match="by has one label only, 1"):
        call(by=np.ones(600, int))
    with pytest.raises(ArgumentError, match=r"51 distinct labels, but at most 50 .* quarters"):
        call(by=np.arange(600) % 51)
    lonely = np.zeros(600, int)
    lonely[17] = 1
    with pytest.raises(DataError, match=r"part 1 has 1 row, but .* at least 2"):
        call(by=lonely)
    with pytest.raises(ArgumentError, match="trend must be True or False"):
        call(by="month", trend="yes")
    with pytest.raises(ArgumentError, match="needs 600,000 permutations, more than 250,000"):
        call(by="month", alpha=0.00003)
    with pytest.raises(ArgumentError, match="none is left to compare"):
        call(by="month", given=list("abc"))
    with pytest.raises(TypeError, match="by"):
        sfit.compare_parts(asked, rows, "y")


def test_small_parts_of_many_rows_are_refused(rows, monkeypatch):
    monkeypatch.setattr("sfit._part_gains.MOST_UNITS", 7)
    by = np.zeros(600, int)
    by[:169] = 1
    with pytest.raises(DataError, match=r"part 1 has 169 rows, but .* at least 170"):
        compared(rows, by=by)


@pytest.mark.parametrize("tile", [65_536, 32])
def test_a_cluster_in_two_parts_is_refused(rows, monkeypatch, tile):
    set_tiles(monkeypatch, tile)
    clusters = rows["who"].to_numpy().copy()
    clusters[400] = clusters[10]
    with pytest.raises(
        DataError, match=r"clusters: .* row 400 lies in part 11 .* earlier row .* part 9"
    ):
        compared(rows, clusters=clusters)
    lonely = np.where(rows["month"] == 9, 0, rows["who"])
    with pytest.raises(DataError, match="part 9 has 1 cluster, but"):
        compared(rows, clusters=lonely)


def test_few_units_are_named(rows):
    few = rows.iloc[::60]
    result = compared(few, by=np.arange(10) % 2)
    assert not any("no p-value can be below" in caveat for caveat in result.caveats)
    few = rows.iloc[::120]
    result = compared(few, by=np.arange(5) % 2)
    assert any("no p-value can be below 0.1" in caveat for caveat in result.caveats)
    assert min(one.p_value for one in result.features) >= 0.1 - 1e-12
    with pytest.warns(SFITWarning, match="5 clusters are few"):
        result = compared(few, by=np.arange(5) % 2, clusters=np.arange(5))
    assert any("5 clusters are few" in caveat for caveat in result.caveats)


def test_ignored_features_differ_nowhere(rows):
    for by in ("month", (rows["month"] > 9).to_numpy()):
        last = compared(rows, by=by, trend=True)
        assert last.features[2].p_value == last.trends[2].p_value == 1
        assert last.features[2].gain == last.features[2].statistic == 0


# ------------------------------------------------------------------------------------------- size

REPEATS = 800
LEVEL = 0.05


def rejections(draw, labels, n_draws=200, size=1):
    """Shares of rejections: all parts, the first part and the rest, the trend."""
    rejected = np.zeros(3)
    for seed in range(REPEATS // 8):
        rng = np.random.default_rng([labels.size, seed])
        data = [draw(rng) for _ in range(8)]
        parts = [
            [cut(gains[labels == part], size) for part in range(labels.max() + 1)] for gains in data
        ]
        units = LabelPermutations(np.sort(labels)[::size], size, n_draws, seed)
        overall, each, trend = units.count(parts)
        for place, counts in enumerate((overall, each[:, 0], trend)):
            rejected[place] += np.count_nonzero(counts / n_draws <= LEVEL)
    return rejected / REPEATS


def most(level):
    """The largest share of rejections at a level, up to three binomial standard errors."""
    return level + 3 * np.sqrt(level * (1 - level) / REPEATS)


@pytest.mark.parametrize("n", [(10, 6, 8), (60, 20)], ids=["three", "two"])
def test_size_of_identical_skewed_gains(n):
    """Exact, however small and unequal the parts, however skewed and tied the gains."""
    labels = np.repeat(np.arange(len(n)), n)

    def draw(rng):
        # Many rows do not gain at all, as for a rare dummy.
        return rng.exponential(size=labels.size) ** 2 * (rng.random(labels.size) < 0.5)

    rates = rejections(draw, labels)
    assert (rates <= most(LEVEL)).all()


def test_size_of_equal_means_and_unequal_variances():
    """Without dividing by the standard errors, a third of true null hypotheses would be rejected."""
    labels = np.repeat([0, 1], [160, 40])
    spread = np.where(labels == 1, 4.0, 1.0)

    def draw(rng):
        return spread * rng.normal(size=labels.size) + 1

    rates = rejections(draw, labels)
    # STATISTICS.md has .058; 8,000 repetitions of this setting gave .0535.
    assert (rates <= most(0.058)).all()
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(labels, (200, 1)), axis=1) == 1
    orders[0] = labels == 1
    plain = 0
    for _ in range(REPEATS):
        gains = draw(rng)
        away = np.abs(orders @ (gains - gains.mean()))
        plain += np.mean(away >= away[0]) <= LEVEL
    assert plain / REPEATS > 0.25


def test_size_of_equal_means_in_four_parts():
    labels = np.repeat(np.arange(4), [100, 60, 40, 80])
    spread = np.array([1.0, 3.0, 0.5, 2.0])[labels]

    def draw(rng):
        return spread * (rng.gamma(4.0, size=labels.size) - 4.0)

    # 8,000 repetitions gave .054, .050 and .051.
    assert (rejections(draw, labels) <= most(LEVEL)).all()


def test_size_in_units_of_rows():
    """Units of five rows; one part differs, which must not make the comparison of others liberal."""
    labels = np.repeat(np.arange(3), [150, 150, 300])

    def draw(rng):
        # The first part lies at the mean of the others, which differ.
        return rng.normal(size=labels.size) + np.array([0.0, 0.8, -0.4])[labels]

    assert rejections(draw, labels, size=5)[1] <= most(LEVEL)
    spread = np.array([1.0, 3.0, 2.0])[labels]
    rates = rejections(lambda rng: spread * rng.normal(size=labels.size), labels, size=5)
    assert (rates <= most(0.058)).all()


def test_power_grows_with_the_difference():
    labels = np.repeat(np.arange(3), 60)
    rates = [
        rejections(lambda rng, s=shift: rng.normal(size=180) + s * labels, labels)
        for shift in (0.1, 0.5)
    ]
    # Normal approximation: the trend of 0.5 per part has a noncentrality of 5.5.
    assert (rates[1] > 0.95).all() and (rates[0] < rates[1]).all()


def test_a_part_without_any_gain_shows_zero():
    """Rounding of the common centre must not look like a gain."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0], 40), rng.normal(size=120)])
    y = X[:, 0] * 0.3 + rng.normal(size=120)
    found = sfit.compare_parts(
        lambda rows: np.sin(rows[:, 0]), X, y, by=X[:, 0].astype(int), reference=0.0, random_state=0
    )
    [still] = [one for one in found.gains if one.feature == "x0" and one.part == 0]
    assert (still.gain, still.ci_low, still.ci_high) == (0.0, 0.0, 0.0)
