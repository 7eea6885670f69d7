"""The permutation test over given features, against the slow one; its size; any storage and workers."""

import json
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reference import permutation as slow
from scipy import sparse, stats
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from tiles import set_tiles

import sfit
from sfit import _permutations
from sfit._permutations import Rematchings

B = 29
SEED = 5
ALPHA = 0.05

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
many = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)


def content(result):
    """The part of the JSON that must be equal to the byte."""
    return json.dumps(json.loads(result.to_json())["result"])


class Table:
    """A model that looks up its predictions: by the row, and by the stratum.

    The columns before the last name a row, or are hidden (0). The last is the given feature.
    """

    def __init__(self, tables, of_stratum):
        self.tables, self.of_stratum = tables, of_stratum

    def __call__(self, X):
        answers = []
        for row in np.asarray(X, dtype=float):
            shown = np.flatnonzero(row[:-1])
            base = self.of_stratum[int(row[-1])]
            own = self.tables[shown[0]][int(row[shown[0]]) - 1] if len(shown) else 0 * base
            answers.append(base + own)
        return np.array(answers)


def rows_of(tables, z, y):
    """The rows on which the model looks up its predictions."""
    ids = {f"x{j}": np.arange(1.0, len(z) + 1) for j in range(len(tables))}
    return pd.DataFrame({**ids, "z": np.asarray(z, dtype=float), "y": y})


def answer(model, rows, *, loss, statistic, tile=None, shifted=False, where=None, **options):
    """The library's tests of every table given z."""
    test = sfit.PermutationTest(n_permutations=B, statistic=statistic)
    X = rows
    if where is not None:
        X = str(where)
        half = len(rows) // 2
        rows[:half].to_parquet(where / "0.parquet", row_group_size=7)
        rows[half:].to_parquet(where / "1.parquet")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if tile is not None:
            set_tiles(patch, tile)
        if shifted:
            patch.setattr("sfit._permutation_test.FREE_ROWS", 3)
            patch.setattr("sfit._permutation_test.BLOCK_ROWS", 9)
            patch.setattr(_permutations, "BLOCK_ROWS", 5)
        return sfit.feature_significance(
            model,
            X,
            "y",
            features=[name for name in rows.columns if name not in ("y", "part")],
            given=["z"],
            test=test,
            loss=loss,
            reference=0.0,
            random_state=SEED,
            fast=False,
            alpha=ALPHA,
            **options,
        )


def cells(z, tile, kept=None):
    """Each tile's strata: the number of the tile, of the stratum, and its rows; rows left out."""
    n, found, n_fixed = len(z), [], 0
    for number, start in enumerate(range(0, n, tile or n)):
        here = list(range(start, min(start + (tile or n), n)))
        seen = list(dict.fromkeys(z[row] for row in here))
        mine = [row for row in here if kept is None or kept[row]]
        large, fixed = slow.strata([z[row] for row in mine])
        n_fixed += fixed
        found += [
            (number, seen.index(z[mine[rows[0]]]), [mine[row] for row in rows]) for rows in large
        ]
    return sorted(found), n_fixed


def drawn(found, part=0, shifted=False):
    """Each re-matching as one arrangement per stratum; the first is the identity."""
    of_cell = []
    for tile, code, rows in found:
        with pytest.MonkeyPatch.context() as patch:
            if shifted:
                patch.setattr(_permutations, "BLOCK_ROWS", 5)
            free = not shifted or len(rows) < 9
            met = Rematchings(len(rows), B + 1, free, (SEED, tile, part, code)).outcomes()
            of_cell.append([np.argsort(one).tolist() for one in np.concatenate(list(met))])
    return list(zip(*of_cell, strict=True))


def listed(values):
    """Rows as hashable values."""
    return [tuple(np.ravel(value)) for value in values]


def agrees(test, y, g, found, ways, *, loss, statistic, shifted=False):
    """Whether a test of the library has the numbers of the slow one."""
    if not found:
        assert (test.p_value, test.rise) == (1, 0)
        return
    pieces = [(y[rows], g[rows]) for *_, rows in found]
    matrices = [slow.loss_matrix(loss, *piece) for piece in pieces]
    if statistic == "auto":
        regression = loss.endswith("_error")
        scores = slow.regression_scores if regression else slow.classification_scores
        scored = [scores(*piece) for piece in pieces]
        observed, *copies = [-slow.auto(scored, way)[0] for way in ways]
        tolerance = 1e-10
    else:
        observed, *copies = [slow.total_of(matrices, way) for way in ways]
        tolerance = 1e-11 * max(1.0, abs(observed))
    smallest = test.p_resolution
    if not shifted:
        smallest = slow.smallest_p([(listed(a), listed(b)) for a, b in pieces])
    p = max(slow.p_value(observed, copies, tolerance), smallest)
    assert test.p_value == pytest.approx(p, rel=1e-12)
    rise, half = slow.rise_interval([slow.tile_of(matrix) for matrix in matrices], ALPHA)
    assert test.rise == pytest.approx(rise, rel=1e-9, abs=1e-10)
    if (test.ci_low, test.ci_high) == (0, 0):
        return
    z = slow.z_score(observed, copies)
    if not np.isnan(z):
        assert test.z == pytest.approx(z, rel=1e-7, abs=1e-7)
    # Strata are compared by sums of squares, of which a difference keeps half of the digits.
    near = max(1e-9, 1e-7 * abs(rise))
    assert test.ci_high - test.ci_low == pytest.approx(2 * half, rel=1e-9, abs=near)


# -------------------------------------------------------------------------------- discrete features


@st.composite
def stratified(draw):
    """Outcomes, the predictions of two features, and up to three strata, one of them rare."""
    n = draw(st.integers(8, 34))
    z = draw(st.lists(st.sampled_from([1, 1, 2, 2, 2, 3]), min_size=n, max_size=n))
    y = draw(st.lists(QUARTERS, min_size=n, max_size=n))
    tables = draw(st.lists(st.lists(QUARTERS, min_size=n, max_size=n), min_size=2, max_size=2))
    return np.array(z), np.array(y), np.array(tables)


OF_STRATUM = np.array([50.0, 0.25, -2.0, 1.5])


@many
@given(
    problem=stratified(),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    statistic=st.sampled_from(["auto", "loss"]),
    tile=st.sampled_from([None, 13, 21]),
    shifted=st.booleans(),
)
def test_strata_agree_with_the_slow_test(problem, loss, statistic, tile, shifted):
    """Freely and by shifts, in one tile and in several: p-value, rise, interval and rows left out."""
    z, y, tables = problem
    rows = rows_of(tables, z, y)
    model = Table(tables, OF_STRATUM)
    options = {"loss": loss, "statistic": statistic, "tile": tile, "shifted": shifted}
    result = answer(model, rows, **options)
    found, n_fixed = cells(z.tolist(), tile)
    ways = drawn(found, shifted=shifted) if found else []
    for test, own in zip(result.tests, tables, strict=True):
        g = OF_STRATUM[z] + own
        assert (test.base, test.n_fixed, test.guarantee) == (("z",), n_fixed, "exact")
        agrees(test, y, g, found, ways, loss=loss, statistic=statistic, shifted=shifted)
    text = f"{n_fixed} of {len(y)} rows lie in strata of z"
    assert any(caveat.startswith(text) for caveat in result.caveats) == (n_fixed > 0)


@settings(many, max_examples=10)
@given(problem=stratified(), statistic=st.sampled_from(["auto", "loss"]))
def test_strata_agree_by_part(problem, statistic):
    """Rows of a part are re-matched only within it."""
    z, y, tables = problem
    rows = rows_of(tables, z, y).assign(part=np.arange(len(y)) % 2)
    results = answer(
        Table(tables, OF_STRATUM), rows, loss="squared_error", statistic=statistic, by="part"
    )
    for part, result in results.items():
        kept = np.arange(len(y)) % 2 == part
        found, n_fixed = cells(z.tolist(), None, kept)
        ways = drawn(found, part) if found else []
        for test, own in zip(result.tests, tables, strict=True):
            assert (test.n, test.n_fixed) == (kept.sum(), n_fixed)
            g = OF_STRATUM[z] + own
            agrees(test, y, g, found, ways, loss="squared_error", statistic=statistic)


@settings(many, max_examples=15)
@given(
    data=st.data(),
    n_classes=st.sampled_from([2, 3]),
    loss=st.sampled_from(["log_loss", "brier", "zero_one"]),
    statistic=st.sampled_from(["auto", "loss"]),
)
def test_strata_of_a_classifier_agree(data, n_classes, loss, statistic):
    """Two classes and three."""
    n = data.draw(st.integers(12, 30))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    z, y = rng.integers(1, 3, n), rng.integers(0, n_classes, n)
    y[:n_classes] = range(n_classes)
    of_stratum = np.full((3, n_classes), 1 / n_classes)
    of_stratum[2] += np.linspace(-0.05, 0.05, n_classes)
    tables = rng.integers(-3, 4, (2, n, n_classes)) / 64
    tables -= tables.mean(axis=2, keepdims=True)
    model = sfit.models.function_model(
        Table(tables, of_stratum), task="classification", classes=range(n_classes)
    )
    result = answer(model, rows_of(tables, z, y), loss=loss, statistic=statistic)
    found, _ = cells(z.tolist(), None)
    ways = drawn(found) if found else []
    for test, own in zip(result.tests, tables, strict=True):
        agrees(test, y, of_stratum[z] + own, found, ways, loss=loss, statistic=statistic)


@pytest.mark.parametrize("statistic", ["auto", "loss"])
def test_strata_from_files_and_with_workers(statistic, tmp_path):
    """Parquet and two workers give the bits of one worker in memory, and the slow p-values."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    n, tile = 60, 25
    z, y = rng.choice([1, 2, 2, 3], n), rng.integers(-8, 9, n) / 4
    tables = rng.integers(-8, 9, (2, n)) / 4
    rows, model = rows_of(tables, z, y), Table(tables, OF_STRATUM)
    options = {"loss": "absolute_error", "statistic": statistic, "tile": tile}
    result = answer(model, rows, **options)
    assert content(answer(model, rows, n_jobs=2, **options)) == content(result)
    for n_jobs in (1, 2):
        read = answer(model, rows, where=tmp_path, n_jobs=n_jobs, **options)
        assert content(read) == content(result)
    found, n_fixed = cells(z.tolist(), tile)
    assert n_fixed
    for test, own in zip(result.tests, tables, strict=True):
        g = OF_STRATUM[z] + own
        agrees(test, y, g, found, drawn(found), loss="absolute_error", statistic=statistic)


@pytest.mark.parametrize("statistic", ["auto", "loss"])
def test_the_size_over_strata_is_alpha(statistic):
    """x depends on z, and so does y; given z they are independent. Up to 3 binomial errors.

    Without the given feature, the same tests reject nearly always.
    """
    n_runs, n, rejected, marginal = 400, 60, 0, 0
    test = sfit.PermutationTest(n_permutations=99, statistic=statistic)
    model = LinearRegression().fit([[0.0, 0], [1, 1], [0, 1]], [0.0, 2, 1])
    for run in range(n_runs):
        rng = np.random.default_rng([7, run])
        z = rng.integers(0, 2, n)
        X = np.column_stack([2 * z + rng.normal(size=n), z])
        y = 3 * z + rng.normal(size=n)
        options = {"test": test, "reference": 0.0, "random_state": run, "loss": "squared_error"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rejected += bool(
                sfit.feature_significance(model, X, y, given=["x1"], **options).selected
            )
            if run < 20:
                marginal += "x0" in sfit.feature_significance(model, X, y, **options).selected
    assert rejected / n_runs <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n_runs)
    assert rejected > 0
    assert marginal >= 18


# -------------------------------------------------------------------------- one continuous feature


class Smooth:
    """Predictions that depend on the row that a column names and on the given value together."""

    def __init__(self, tables):
        self.tables = tables

    def at(self, j, x, z):
        """The prediction from column j, if it names row x."""
        return self.tables[j][int(x) - 1] * (1 + z / 4) + z

    def __call__(self, X):
        answers = []
        for row in np.asarray(X, dtype=float):
            shown, z = np.flatnonzero(row[:-1]), np.nan_to_num(row[-1], nan=9.0)
            answers.append(self.at(shown[0], row[shown[0]], z) if len(shown) else z)
        return np.array(answers)


@st.composite
def continuous(draw):
    """Outcomes, two tables, and a given column with ties, missing values and a common value."""
    n = draw(st.integers(40, 64))
    common = draw(st.integers(0, 14))
    values = st.integers(-90, 90).map(lambda k: k / 8)
    z = draw(
        st.lists(values, min_size=n - common, max_size=n - common, unique_by=lambda v: v // 0.5)
    )
    z = [*z, *[0.25] * common]
    if draw(st.booleans()):
        z[0] = np.nan
    order = np.random.default_rng(draw(st.integers(0, 9))).permutation(n)
    y = draw(st.lists(QUARTERS, min_size=n, max_size=n))
    tables = draw(st.lists(st.lists(QUARTERS, min_size=n, max_size=n), min_size=2, max_size=2))
    return np.array(z)[order], np.array(y), np.array(tables)


def sorted_tiles(z, tile, part):
    """The rows of each tile, sorted by part and value; ties stand in the order that is drawn."""
    n, column = len(z), 2
    shuffled = np.random.default_rng([SEED, n, column]).permutation(n).tolist()
    rank = sorted(shuffled, key=lambda row: (part[row], np.isnan(z[row]), np.nan_to_num(z[row])))
    m = n if tile is None else max(4, tile // 16 * 4)
    return [rank[start : start + m] for start in range(0, n, m)]


def slow_blocks(z, y, tables, model, loss, tile, part, label):
    """Matrices of all strata and blocks of a part, the arrangements drawn for them, rows that stay."""
    matrices, ways, n_fixed = [[] for _ in tables], [], 0
    for number, rows in enumerate(sorted_tiles(z, tile, part)):
        # Strata are numbered by the first row of the tile that has their value.
        seen = list(dict.fromkeys("nan" if np.isnan(z[row]) else z[row] for row in rows))
        mine = [row for row in rows if part[row] == label]
        large, cut, stay = slow.blocks([z[row] for row in mine])
        n_fixed += stay
        groups = [[mine[k] for k in group] for group in [*large, *cut]]
        for j, of_table in enumerate(matrices):
            for group in groups:
                x, at = np.array(group) + 1, np.nan_to_num(z[group], nan=9.0)
                of_table.append(
                    slow.moved_matrix(loss, y[group], x, at, lambda x, z, j=j: model.at(j, x, z))
                )
        for group in groups[: len(large)]:
            code = seen.index("nan" if np.isnan(z[group[0]]) else z[group[0]])
            drawn = Rematchings(len(group), B + 1, True, (SEED, number, label, code)).outcomes()
            ways.append([np.argsort(one).tolist() for one in np.concatenate(list(drawn))])
        lengths = [len(group) for group in cut]
        if lengths:
            rng = np.random.default_rng([SEED, number, label, len(seen), 1, 0])
            shifts = rng.integers(0, lengths, size=(256, len(lengths)))[: B + 1]
            shifts[0] = 0
            for length, of_block in zip(lengths, shifts.T.tolist(), strict=True):
                ways.append([slow.cyclic_shifts(length)[shift] for shift in of_block])
    return matrices, list(zip(*ways, strict=True)), n_fixed


def agrees_in_blocks(test, matrices, ways):
    """Whether a test of the library has the numbers of the slow one."""
    observed, *copies = [slow.total_of(matrices, way) for way in ways]
    tolerance = 1e-10 * max(1.0, abs(observed))
    p = max(slow.p_value(observed, copies, tolerance), test.p_resolution)
    assert test.p_value == pytest.approx(p, rel=1e-12)
    assert test.guarantee == "approximate"
    rise, half = slow.rise_interval([slow.tile_of(matrix) for matrix in matrices], ALPHA)
    if (test.ci_low, test.ci_high) == (0, 0):
        assert rise == pytest.approx(0.0, abs=1e-9)
        return
    assert test.rise == pytest.approx(rise, rel=1e-9, abs=1e-10)
    near = max(1e-8, 1e-7 * abs(rise))
    assert test.ci_high - test.ci_low == pytest.approx(2 * half, rel=1e-7, abs=near)
    z = slow.z_score(observed, copies)
    if not np.isnan(z) and not np.isnan(test.z):
        assert test.z == pytest.approx(z, rel=1e-6, abs=1e-6)


@settings(many, max_examples=25)
@given(
    problem=continuous(),
    loss=st.sampled_from(["absolute_error", "squared_error"]),
    tile=st.sampled_from([None, 64, 100]),
    parts=st.booleans(),
)
def test_blocks_agree_with_the_slow_test(problem, loss, tile, parts):
    """Strata and blocks, in one tile and in several, with parts and without."""
    z, y, tables = problem
    model, part = Smooth(tables), np.arange(len(y)) % 2 * parts
    rows = rows_of(tables, z, y).assign(part=part)
    options = {"loss": loss, "statistic": "auto", "tile": tile, "by": "part" if parts else None}
    results = answer(model, rows, **options)
    for label, result in results.items() if parts else [(0, results)]:
        matrices, ways, n_fixed = slow_blocks(z, y, tables, model, loss, tile, part, label)
        for test, of_table in zip(result.tests, matrices, strict=True):
            assert test.n_fixed == n_fixed
            agrees_in_blocks(test, of_table, ways)


def test_blocks_by_class_agree():
    """All rows move, whatever their class; only the losses of the class count."""
    rng = np.random.default_rng(3)
    n = 60
    z, y = rng.normal(size=n), rng.integers(0, 2, n)
    tables = rng.integers(-3, 4, (2, n)) / 16

    def at(j, x, z):
        q = 0.5 + tables[j][int(x) - 1] * (1 + np.tanh(z) / 2) + np.tanh(z) / 8
        return np.array([1 - q, q])

    def model(X):
        answers = []
        for row in np.asarray(X, dtype=float):
            shown, q = np.flatnonzero(row[:-1]), 0.5 + np.tanh(row[-1]) / 8
            own = at(shown[0], row[shown[0]], row[-1]) if len(shown) else np.array([1 - q, q])
            answers.append(own)
        return np.array(answers)

    view = sfit.models.function_model(model, task="classification", classes=[0, 1])
    rows = rows_of(tables, z, y)
    results = answer(view, rows, loss="brier", statistic="auto", by="class")
    [order] = sorted_tiles(z, None, np.zeros(n))
    large, cut, stay = slow.blocks([z[row] for row in order])
    assert (large, stay) == ([], 0)
    groups = [[order[k] for k in group] for group in cut]
    draws = np.random.default_rng([SEED, 0, 0, n, 1, 0])
    shifts = draws.integers(0, [len(group) for group in groups], size=(256, len(groups)))[: B + 1]
    shifts[0] = 0
    for k, result in results.items():
        for j, test in enumerate(result.tests):
            sums = np.zeros(B + 1)
            for group, of_block in zip(groups, shifts.T, strict=True):
                matrix = slow.moved_matrix(
                    "brier", y[group], np.array(group) + 1, z[group], lambda x, z, j=j: at(j, x, z)
                )
                ways = slow.cyclic_shifts(len(group))
                labels = y[group].tolist()
                sums += [slow.class_total(matrix, labels, k, ways[shift]) for shift in of_block]
            observed, *copies = sums.tolist()
            assert test.p_value == slow.p_value(observed, copies, 1e-11)
            assert test.guarantee == "approximate"


@pytest.mark.parametrize("by", [None, "part"])
def test_blocks_from_files_and_with_workers(by, tmp_path):
    """Parquet and two workers give the bits of one worker in memory, and the slow p-values."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    n, tile = 90, 160
    z = np.where(rng.random(n) < 0.2, 0.5, rng.normal(size=n))
    y, tables = rng.normal(size=n), rng.integers(-8, 9, (2, n)) / 4
    part = np.arange(n) % 2 if by else np.zeros(n, dtype=int)
    rows, model = rows_of(tables, z, y).assign(part=part), Smooth(tables)
    options = {"loss": "absolute_error", "statistic": "auto", "tile": tile, "by": by}
    result = answer(model, rows, **options)
    assert content(answer(model, rows, n_jobs=2, **options)) == content(result)
    for n_jobs in (1, 2):
        read = answer(model, rows, where=tmp_path, n_jobs=n_jobs, **options)
        assert content(read) == content(result)
    for label, one in result.items() if by else [(0, result)]:
        matrices, ways, _ = slow_blocks(z, y, tables, model, "absolute_error", tile, part, label)
        for test, of_table in zip(one.tests, matrices, strict=True):
            agrees_in_blocks(test, of_table, ways)


def test_the_size_in_blocks_is_near_alpha():
    """Correlation .5, a smooth effect of the given feature: at most .085, and 3 binomial errors.

    Moving the predictions themselves, or all rows, would reject nearly always.
    """
    n_runs, n, rejected = 200, 200, 0
    test = sfit.PermutationTest(n_permutations=99)
    model = LinearRegression().fit([[0.0, 0], [1, 1], [0, 1]], [0.0, 2, 1])
    for run in range(n_runs):
        rng = np.random.default_rng([11, run])
        z = rng.normal(size=n)
        X = np.column_stack([0.5 * z + np.sqrt(0.75) * rng.normal(size=n), z])
        y = z + rng.normal(size=n)
        result = sfit.feature_significance(
            model, X, y, test=test, reference=0.0, random_state=run, given=["x1"]
        )
        rejected += bool(result.selected)
    assert rejected / n_runs <= 0.085 + 3 * np.sqrt(0.085 * 0.915 / n_runs)
    assert rejected > 0


def test_blocks_have_power_and_say_how_close_the_set_is():
    """The rank correlation is Spearman's; sfit warns above .8 and refuses above .95."""
    rng = np.random.default_rng(0)
    n = 400
    z = rng.normal(size=n)
    X = pd.DataFrame({"z": z, "far": 0.5 * z + rng.normal(size=n)})
    X["near"] = z + 0.5 * rng.normal(size=n)
    X["same"] = z + 0.05 * rng.normal(size=n)
    y = z + 0.8 * X["far"] + rng.normal(size=n)
    model = LinearRegression().fit(X, y)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0, "given": ["z"]}
    with pytest.warns(sfit.exceptions.SFITWarning) as caught:
        result = sfit.feature_significance(model, X, y, **options)
    tests = {test.term[0]: test for test in result.tests}
    assert set(tests) == {"far", "near"}
    assert tests["far"].significant
    for name, test in tests.items():
        expected = stats.spearmanr(X[name], z).statistic
        assert test.rank_correlation == pytest.approx(expected, rel=1e-12)
    assert 0.8 < tests["near"].rank_correlation < 0.95
    warned = [str(one.message) for one in caught]
    assert any("for near: above 0.8" in text for text in warned)
    assert any(
        text.startswith("not tested: same over z: a rank correlation above") for text in warned
    )
    assert [t for t in result.caveats if "for near: above 0.8" in t or t.startswith("not tested")]
    # Every view says it.
    assert set(result.table["guarantee"]) == {"approximate"}
    assert "approximate" in result.summary()
    again = type(result).from_json(result.to_json())
    assert content(again) == content(result)
    assert json.loads(result.to_json())["result"]["tests"][0]["guarantee"] == "approximate"


def test_the_report_says_that_blocks_are_approximate(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=list("ab"))
    model = LinearRegression().fit(X, X.sum(axis=1))
    result = sfit.feature_significance(
        model,
        X,
        X["a"] + rng.normal(size=120),
        test="permutation",
        reference=0.0,
        random_state=0,
        given=["b"],
    )
    result.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "approximate" in page
    assert "blocks of four neighbours" in page
    assert "approximate" in result.to_markdown()


def test_words_are_never_sorted():
    """Numbers that are categories have no order; a category that follows z is too close to it."""
    rng = np.random.default_rng(0)
    n = 300
    z = rng.normal(size=n)
    X = pd.DataFrame({"z": z, "a": rng.normal(size=n), "w": np.digitize(z, np.linspace(-2, 2, 40))})
    X["w"] = X["w"].map(lambda k: f"w{k:02}")

    def model(rows):
        return np.asarray(rows["z"] + rows["a"], dtype=float)

    options = {
        "test": "permutation",
        "reference": {"z": 0.0, "a": 0.0, "w": "w00"},
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sfit.feature_significance(model, X, z, given=["z"], **options)
    assert [test.term for test in result.tests] == [("a",)]
    with pytest.raises(sfit.exceptions.ArgumentError, match="more than 20 distinct combinations"):
        sfit.feature_significance(model, X, z, given=["w"], **options)


# ------------------------------------------------------------------- everything that a result needs


@pytest.fixture(scope="module")
def classes():
    """Three classes, a column of words, and a forest fitted on other rows."""
    X, y = make_classification(
        1_400, 4, n_informative=3, n_redundant=0, n_classes=3, shuffle=False, random_state=0
    )
    order = np.random.default_rng(0).permutation(1_400)
    frame, y = pd.DataFrame(X[order], columns=list("abcd")).round(2), y[order]
    frame["k"] = np.digitize(frame["d"], [-0.5, 0.7]).astype(float)
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(frame[:700], y[:700])
    return model, frame[:700], frame[700:].reset_index(drop=True), y[700:]


@pytest.mark.parametrize("over", ["k", "c"])
@pytest.mark.parametrize("by", [None, "class", "part"])
def test_any_storage_and_any_workers_give_the_same_bits(classes, over, by, monkeypatch, tmp_path):
    """A forest, given a discrete column or a continuous one; order 2 asks over features found."""
    pytest.importorskip("pyarrow")
    set_tiles(monkeypatch, 200)
    model, train, X, y = classes
    rows = X.assign(part=np.where(X["a"] > 0, "high", "low"), y=y)
    rows[:300].to_parquet(tmp_path / "0.parquet", row_group_size=90)
    rows[300:].to_parquet(tmp_path / "1.parquet")
    options = {
        "test": sfit.PermutationTest(n_permutations=99),
        "features": list("abcdk"),
        "reference": train,
        "given": [over],
        "by": by,
        "random_state": 3,
        "max_order": 2,
    }
    result = sfit.feature_significance(model, rows, "y", **options)
    expected = content(result)
    if by is None:
        with joblib.parallel_config(backend="loky", n_jobs=2):
            found = sfit.feature_significance(model, str(tmp_path), "y", n_jobs=2, **options)
        assert content(found) == expected
    found = sfit.feature_significance(model, rows, "y", n_jobs=2, **options)
    assert content(found) == expected
    assert content(sfit.feature_significance(model, str(tmp_path), "y", **options)) == expected
    assert content(sfit.feature_significance(model, rows, "y", fast=False, **options)) == expected
    path = tmp_path / "run.sqlite"
    for _ in range(2):
        kept = sfit.feature_significance(model, rows, "y", checkpoint=path, **options)
        assert content(kept) == expected
    assert content(type(result).from_json(result.to_json())) == expected


@pytest.mark.parametrize("kind", ["sparse", "frame", "float32", "network", "boosting", "outputs"])
def test_blocks_for_every_kind_of_rows_and_model(kind):
    """The same p-values whether a route or the model itself predicts the moved rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)).round(2)
    y = X @ [1.0, 0.5, 0.0] + rng.normal(size=240)
    model, rows = LinearRegression(), X
    if kind == "sparse":
        rows = sparse.csc_array(np.where(np.abs(X) < 0.5, 0.0, X))
    elif kind == "frame":
        rows = pd.DataFrame(X, columns=list("abc"))
    elif kind == "float32":
        rows = X.astype(np.float32)
    elif kind == "network":
        model = MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0)
    elif kind == "boosting":
        model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    else:
        y = np.column_stack([y, y**2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, y)
        options = {"test": "permutation", "reference": 0.0, "random_state": 0, "max_order": 2}
        fast, slow_ = (
            sfit.feature_significance(
                model, rows, y, given=["b" if kind == "frame" else "x1"], fast=fast, **options
            )
            for fast in (True, False)
        )
    assert {test.guarantee for test in fast.tests if len(test.base) == 1} == {"approximate"}
    assert [t.term for t in fast.tests] == [t.term for t in slow_.tests]
    for one, other in zip(fast.tests, slow_.tests, strict=True):
        assert one.p_value == pytest.approx(other.p_value, abs=0.002)


def test_blocks_need_rows_in_memory(monkeypatch):
    """Beyond a number of cells sfit refuses, with the largest number of rows."""
    monkeypatch.setattr("sfit._given.BLOCK_CELLS", 300)
    X = np.random.default_rng(0).normal(size=(101, 3))
    model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(sfit.exceptions.ArgumentError, match="101 rows are more than 100"):
        sfit.feature_significance(
            model, X, X[:, 0], test="permutation", reference=0.0, given=["x1"], random_state=0
        )


def test_a_found_feature_is_given_at_the_next_order():
    """Order 2 over the discrete feature found is what given= asks at order 1."""
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame({"k": rng.integers(0, 3, n), "u": rng.normal(size=n), "w": rng.normal(size=n)})
    sign = np.array([-1.0, 0, 1])[X["k"]]
    y = 2 * X["k"] + sign * X["u"] + rng.normal(size=n)

    def model(rows):
        k, u, w = np.asarray(rows, dtype=float).T
        return 2 * k + (k - 1) * u + 0.1 * w

    options = {
        "test": "permutation",
        "reference": {"k": 1.0, "u": 0.0, "w": 0.0},
        "random_state": 0,
        "loss": "squared_error",
    }
    result = sfit.feature_significance(model, X, y, max_order=2, **options)
    assert result.significant == {1: [("k",)], 2: [("k", "u")]}
    given_k = sfit.feature_significance(model, X, y, given=["k"], **options)
    second = {test.term: test for test in result.tests if test.order == 2}
    for test in given_k.tests:
        [name] = test.term
        other = second["k", name]
        assert other.base == test.base == ("k",)
        assert (other.p_value, other.rise, other.z) == (test.p_value, test.rise, test.z)
    assert given_k.selected == ("u",)
    assert ("u", "w") in second
    assert not any(caveat.startswith("not tested") for caveat in result.caveats)


def test_sets_without_a_valid_test_are_named():
    """Two continuous features found: a set over both is left out, with the reason."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    y = X["a"] + X["b"] + 0.3 * rng.normal(size=300)
    model = LinearRegression().fit(X, y)
    result = sfit.feature_significance(
        model, X, y, test="permutation", reference=0.0, random_state=0, max_order=3
    )
    assert set(result.selected) >= {"a", "b"}
    [text] = [caveat for caveat in result.caveats if "a and b and c over a and b" in caveat]
    assert text.startswith("not tested: ")
    assert "Shah and Peters" in text
    assert ("a", "b", "c") not in {test.term for test in result.tests}


def test_columns_that_are_always_on_are_given():
    """An explicit intercept changes nothing; a discrete column makes strata."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=list("ab")).assign(one=1.0)
    X["k"] = rng.integers(0, 2, 200).astype(float)
    y = X["a"] + X["k"] + rng.normal(size=200)
    model = LinearRegression().fit(X, y)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0}
    plain = sfit.feature_significance(model, X, y, always_on=["one"], **options)
    moved = {test.term: test.p_value for test in plain.tests}
    other = sfit.feature_significance(model, X, y, **options)
    assert {t.term: t.p_value for t in other.tests if t.term != ("one",)} == moved
    on = sfit.feature_significance(model, X, y, always_on=["k"], **options)
    over = sfit.feature_significance(model, X, y, given=["k"], **options)
    assert [t.p_value for t in on.tests] == [t.p_value for t in over.tests]


def test_words_and_missing_values_are_strata():
    """Words, None, categories and NaN are values like others."""
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame({"a": rng.normal(size=n), "w": rng.choice(["u", "v", None], n)})
    X["c"] = pd.Categorical(rng.choice(["p", "q"], n))
    y = X["a"] + rng.normal(size=n)

    def model(rows):
        return np.asarray(rows["a"], dtype=float) + 5.0 * np.asarray(rows["w"] == "u")

    result = sfit.feature_significance(
        model,
        X,
        y,
        test="permutation",
        reference={"a": 0.0, "w": "v", "c": "p"},
        given=["w", "c"],
        random_state=0,
    )
    [test] = result.tests
    assert test.significant
    assert (test.base, test.n_fixed) == (("w", "c"), 0)


def test_groups_and_pipelines():
    """The dummies of a group are one discrete feature."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 400)
    X = pd.DataFrame(np.eye(3)[k], columns=["k0", "k1", "k2"]).assign(a=rng.normal(size=400))
    y = (X["a"] + k + rng.normal(size=400) > 1).astype(int)
    model = LogisticRegression().fit(X, y)
    options = {"test": "permutation", "reference": 0.0, "random_state": 0}
    groups = {"k": ["k0", "k1", "k2"]}
    grouped = sfit.feature_significance(model, X, y, groups=groups, given=["k"], **options)
    single = sfit.feature_significance(model, X, y, given=["k0", "k1", "k2"], **options)
    assert grouped.tests[0].p_value == single.tests[0].p_value
    assert grouped.selected == ("a",)
