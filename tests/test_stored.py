"""Rows that are read tile by tile give every bit of the same rows in memory."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tiles import set_tiles

import sfit
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import Tile
from sfit.rows._stored import StoredRows, open_store, raw_tiles

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

NUMBERS = ["a", "b", "c", "d"]
LAYOUTS = {
    "one file": [(0, 5000, 5000)],
    "small row groups": [(0, 5000, 300)],
    "several files": [(0, 2000, 700), (2000, 2100, 100), (2100, 5000, 2900)],
}
TILE = 512


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Ten tiles instead of one."""
    set_tiles(monkeypatch, TILE)


@pytest.fixture(scope="module")
def frame():
    """Numbers of two types, a few of them missing, words, and two targets."""
    rng = np.random.default_rng(0)
    n = 5_000
    rows = pd.DataFrame(rng.normal(size=(n, 4)), columns=NUMBERS)
    rows["b"] = rows["b"].astype("float32")
    rows["d"] = rng.integers(0, 5, size=n)
    rows["s"] = rng.choice(["u", "v", "w"], n)
    # Sorted by something: tiles differ.
    rows = rows.sort_values("a", ignore_index=True)
    rows["y"] = rows.a + rows.b * rows.c + (rows.s == "u") + 0.3 * rng.normal(size=n)
    rows["k"] = np.where(rows.y > 0, "yes", "no")
    rows.loc[::50, "c"] = np.nan
    return rows


@pytest.fixture(scope="module")
def models(frame):
    """A regression, a classification, and a Pipeline on words and numbers."""
    pipe = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b", "d"]), (OneHotEncoder(), ["s"])),
        LogisticRegression(),
    )
    return {
        "boosting": (HistGradientBoostingRegressor(max_iter=20).fit(frame[NUMBERS], frame.y), "y"),
        "classes": (HistGradientBoostingClassifier(max_iter=20).fit(frame[NUMBERS], frame.k), "k"),
        "pipeline": (pipe.fit(frame[["a", "b", "d", "s"]], frame.k), "k"),
        "function": (lambda rows: np.asarray(rows["a"]) + np.asarray(rows["b"]), "y"),
    }


def write(frame, folder, layout):
    for number, (start, stop, size) in enumerate(LAYOUTS[layout]):
        frame[start:stop].to_parquet(folder / f"part-{number}.parquet", row_group_size=size)
    return folder


def content(result):
    return json.loads(result.to_json())["result"]


CASES = {
    "first order": ("boosting", {}),
    "second order": ("boosting", {"max_order": 2}),
    "exhaustive": ("boosting", {"max_order": 2, "exhaustive": True, "strict": True}),
    "median": ("boosting", {"reference": "median"}),
    "mode": ("boosting", {"reference": "mode"}),
    "a number": ("boosting", {"reference": 0.5}),
    "by column": ("boosting", {"reference": {"a": 1.0}}),
    "by words": ("boosting", {"by": "s"}),
    "by numbers": ("boosting", {"by": "d"}),
    "groups": ("boosting", {"groups": {"ab": ["a", "b"]}}),
    "given": ("boosting", {"given": ["a"]}),
    "rest": ("boosting", {"given": "rest"}),
    "every row": ("boosting", {"fast": False, "loss": "squared_error"}),
    "auto": ("boosting", {"beta": "auto", "random_state": 3, "alpha": 0.3}),
    "auto by": ("boosting", {"beta": "auto", "random_state": 3, "alpha": 0.3, "by": "s"}),
    "classes": ("classes", {}),
    "brier by class": ("classes", {"loss": "brier", "by": "class"}),
    "zero-one": ("classes", {"loss": "zero_one"}),
    "pipeline": ("pipeline", {"max_order": 2}),
    "pipeline, mode": ("pipeline", {"reference": "mode"}),
    "function": ("function", {"features": ["a", "b"]}),
    "function, words": ("function", {"features": ["a", "b", "s"]}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
def test_a_folder_gives_the_bits_of_a_frame(frame, models, tmp_path, case):
    """For every option, with tiles cut across row groups and files."""
    name, options = CASES[case]
    model, target = models[name]
    expected = sfit.feature_significance(model, frame, target, **options)
    folder = write(frame, tmp_path, "several files")
    found = sfit.feature_significance(model, str(folder), target, **options)
    assert content(found) == content(expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_layout_and_the_workers_do_not_matter(frame, models, tmp_path, layout, n_jobs):
    """Row groups smaller than a tile, larger than a tile, and files of any length."""
    model, target = models["boosting"]
    expected = sfit.feature_significance(model, frame, target)
    write(frame, tmp_path, layout)
    found = sfit.feature_significance(model, f"{tmp_path}/*.parquet", target, n_jobs=n_jobs)
    assert content(found) == content(expected)


class Again:
    """An iterable that starts anew each time, and has no length."""

    def __init__(self, frames):
        self.frames = frames

    def __iter__(self):
        return iter(self.frames)


def test_anything_that_holds_rows_in_order(frame, models, tmp_path):
    """A path, a data set, a list of frames of any library, an iterable that starts anew."""
    pl = pytest.importorskip("polars")
    model, target = models["boosting"]
    expected = content(sfit.feature_significance(model, frame, target))
    write(frame, tmp_path, "several files")
    pieces = [frame[:100], frame[100:3000], frame[3000:]]
    for rows in (
        tmp_path,
        ds.dataset(tmp_path, format="parquet"),
        pieces,
        [pl.from_pandas(piece) for piece in pieces],
        [pa.Table.from_pandas(piece) for piece in pieces],
        Again(pieces),
    ):
        assert content(sfit.feature_significance(model, rows, target)) == expected


def test_names_of_folders_are_columns(frame, models, tmp_path):
    """Hive partitions: a column that lies in the names of the folders can part the rows."""
    model, target = models["boosting"]
    ordered = frame.sort_values("s", kind="stable", ignore_index=True)
    for word, rows in ordered.groupby("s"):
        folder = tmp_path / f"s={word}"
        folder.mkdir()
        rows.drop(columns="s").to_parquet(folder / "rows.parquet")
    expected = sfit.feature_significance(model, ordered, target, by="s")
    found = sfit.feature_significance(model, tmp_path, target, by="s")
    assert content(found) == content(expected)


def test_beta_is_chosen_on_a_folder(frame, models, tmp_path):
    """choose_beta reads like the test does."""
    model, target = models["boosting"]
    options = {"random_state": 1, "alpha": 0.3, "n_models": 5}
    expected = sfit.choose_beta(model, frame, target, **options)
    found = sfit.choose_beta(model, write(frame, tmp_path, "several files"), target, **options)
    assert found == expected


@pytest.mark.parametrize("target", ["y", "k"])
def test_refits_are_judged_on_a_folder(frame, tmp_path, target):
    """loco_significance fits in memory, and reads the test rows like the test does."""
    train, test = frame[:1000], frame[1000:].reset_index(drop=True)
    estimator = {
        "y": HistGradientBoostingRegressor(max_iter=5, random_state=0),
        "k": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    }[target]
    data = train[NUMBERS], train[target]
    options = {"groups": {"cd": ["c", "d"]}}
    expected = sfit.loco_significance(estimator, *data, test[NUMBERS], test[target], **options)
    write(frame, tmp_path, "one file")
    test.to_parquet(tmp_path / "part-0.parquet", row_group_size=700)
    found = sfit.loco_significance(estimator, *data, tmp_path, target, **options)
    assert content(found) == content(expected)
    refused(
        lambda: sfit.loco_significance(
            estimator, data[0].to_numpy(), data[1], tmp_path, target, **options
        ),
        ArgumentError,
        "X_train must have named columns",
    )


def test_only_the_columns_that_are_needed_are_read(frame, models, tmp_path):
    """A column that cannot be a feature does no harm, and is not read after the first tile."""
    model, target = models["boosting"]
    table = pa.Table.from_pandas(frame).append_column("list", pa.array([[1]] * len(frame)))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=600)
    expected = sfit.feature_significance(model, frame, target)
    found = sfit.feature_significance(model, tmp_path / "rows.parquet", target)
    assert content(found) == content(expected)


def test_tiles_are_cut_alike_wherever_reading_starts(frame, tmp_path):
    """Tile runs cover all tiles once, and a tile holds its rows, whole or chosen."""
    store = open_store(write(frame, tmp_path, "several files"))
    whole = [table for _, table in raw_tiles(store, ["a"], tile_rows=TILE)]
    assert [len(table) for table in whole] == [TILE] * 9 + [5_000 - 9 * TILE]
    chosen = np.sort(np.random.default_rng(0).permutation(5_000)[:2_100])

    class Plain:
        columns = ("a",)

        def __call__(self, index, table, first, numbers):
            values = table.get_column("a").to_numpy()
            return Tile(index, values, values, None, numbers, first)

    for numbers in (None, chosen):
        n = 5_000 if numbers is None else len(numbers)
        rows = StoredRows(store, Plain(), n, chosen=numbers, tile_rows=TILE)
        assert [k for s in rows.tile_runs for k in s.tile_range] == list(range(-(-n // TILE)))
        tiles = [tile for run in rows.tile_runs for tile in run.tiles(rows.shared)]
        expected = frame["a"].to_numpy()[slice(None) if numbers is None else numbers]
        np.testing.assert_array_equal(np.concatenate([tile.X for tile in tiles]), expected)
        assert tiles[1].number(3) == (TILE + 3 if numbers is None else numbers[TILE + 3])


def test_categories_are_numbered_alike_in_all_files(tmp_path):
    """Each file has a dictionary of its own; the model sees the categories of all of them."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=3_000), "s": rng.choice(list("uvw"), 3_000)})
    rows["s"] = rows["s"].astype("category")
    rows["y"] = rows.a + (rows.s == "w") + rng.normal(size=3_000)
    model = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1).fit(rows[["a", "s"]], rows.y)
    ordered = rows.sort_values("s", ascending=False, ignore_index=True)
    for number, piece in enumerate((ordered[:900], ordered[900:2000], ordered[2000:])):
        own = piece.assign(s=piece.s.cat.remove_unused_categories())
        own.to_parquet(tmp_path / f"{number}.parquet")
    whole = pd.read_parquet(tmp_path)
    expected = sfit.feature_significance(model, whole, "y")
    assert content(sfit.feature_significance(model, tmp_path, "y")) == content(expected)

    def codes(rows):
        return np.asarray(rows["s"].cat.codes, dtype=float)

    expected = sfit.feature_significance(codes, whole, "y", features=["a", "s"])
    found = sfit.feature_significance(codes, tmp_path, "y", features=["a", "s"])
    assert content(found) == content(expected)


@pytest.mark.parametrize("reference", ["mean", "median", "mode"])
def test_columns_that_the_model_takes_for_categories(tmp_path, reference):
    """Numbers that LightGBM splits as categories are frozen at their mode, from disk as well."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"a": rng.normal(size=3_000), "c": rng.integers(0, 5, size=3_000)})
    rows["y"] = rows.a + (rows.c == 2) + rng.normal(size=3_000)
    model = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1)
    model.fit(rows[["a", "c"]], rows.y, categorical_feature=["c"])
    rows.to_parquet(tmp_path / "rows.parquet")
    expected = sfit.feature_significance(model, rows, "y", reference=reference)
    found = sfit.feature_significance(model, tmp_path, "y", reference=reference)
    assert content(found) == content(expected)


def test_modes_of_many_numbers(tmp_path, monkeypatch):
    """Only words are refused when there are too many of them."""
    monkeypatch.setattr("sfit.rows._survey.MOST_WORDS", 100)
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(2_000, 2)), columns=["a", "y"])
    rows.to_parquet(tmp_path / "rows.parquet")
    options = {"reference": "mode", "features": ["a"]}

    def model(rows):
        return np.asarray(rows["a"])

    expected = sfit.feature_significance(model, rows, "y", **options)
    found = sfit.feature_significance(model, tmp_path, "y", **options)
    assert content(found) == content(expected)
    rows.assign(a=[f"word {k}" for k in range(2_000)]).to_parquet(tmp_path / "rows.parquet")
    refused(
        lambda: sfit.feature_significance(lambda r: np.zeros(len(r)), tmp_path, "y"),
        DataError,
        "distinct words",
    )


def test_a_filesystem_of_another_library(frame, models):
    """fsspec finds what pyarrow does not know, by name and by glob."""
    fsspec = pytest.importorskip("fsspec")
    model, target = models["boosting"]
    expected = content(sfit.feature_significance(model, frame, target))
    for number, piece in enumerate((frame[:2000], frame[2000:])):
        with fsspec.open(f"memory://rows/{number}.parquet", "wb") as file:
            piece.to_parquet(file)
    assert content(sfit.feature_significance(model, "memory://rows", target)) == expected
    assert content(sfit.feature_significance(model, "memory://rows/*.parquet", target)) == expected


def test_a_folder_with_brackets_in_its_name(frame, models, tmp_path):
    """A path that exists is no pattern."""
    model, target = models["boosting"]
    folder = tmp_path / "rows[1]"
    folder.mkdir()
    expected = content(sfit.feature_significance(model, frame, target))
    assert content(sfit.feature_significance(model, write(frame, folder, "one file"), target)) == (
        expected
    )


# ------------------------------------------------------------------------------ what goes wrong


def refused(call, error, *words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_a_fault_in_a_file_names_the_file_and_the_row_group(frame, models, tmp_path):
    """A truncated file is refused when it is opened; damage inside, when it is read."""
    model, target = models["boosting"]
    folder = write(frame, tmp_path, "several files")
    file = folder / "part-0.parquet"
    data = bytearray(file.read_bytes())
    file.write_bytes(data[: len(data) // 2])
    refused(lambda: sfit.feature_significance(model, folder, target), DataError, "part-0.parquet")
    data[2_000:9_000] = bytes(7_000)
    file.write_bytes(data)
    refused(
        lambda: sfit.feature_significance(model, folder, target),
        DataError,
        "row group",
        "part-0.parquet",
    )


def test_files_must_agree(frame, models, tmp_path):
    """Another type, or a column less, is told with the file."""
    model, target = models["boosting"]
    frame[:100].to_parquet(tmp_path / "one.parquet")
    frame[:100].astype({"a": "float32"}).to_parquet(tmp_path / "two.parquet")
    refused(lambda: sfit.feature_significance(model, tmp_path, target), DataError, "'a'", "float")
    frame[:100].drop(columns="b").to_parquet(tmp_path / "two.parquet")
    refused(lambda: sfit.feature_significance(model, tmp_path, target), DataError, "'b'", "two")


def test_rows_on_disk_need_names(frame, models, tmp_path):
    """y and by are columns; a path that is not there, an iterator and an empty list are refused."""
    model, target = models["boosting"]
    folder = write(frame, tmp_path, "one file")
    run = sfit.feature_significance
    refused(lambda: run(model, folder, frame.y), ArgumentError, "y must be the name of a column")
    refused(lambda: run(model, folder, target, by=frame.s), ArgumentError, "by must be the name")
    refused(lambda: run(model, folder, "z"), ArgumentError, "'z'")
    refused(lambda: run(model, folder, target, by="class"), ArgumentError, "classification")
    refused(
        lambda: run(model, folder, target, reference={"a": np.inf}), ArgumentError, "'a'", "finite"
    )
    refused(lambda: run(model, "nowhere/*.parquet", target), ArgumentError, "nowhere")
    refused(lambda: run(model, iter([frame]), target), ArgumentError, "only once")
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    refused(lambda: run(model, tmp_path / "text.parquet", target), DataError, "text.parquet")


def test_late_faults_carry_the_number_of_their_row(frame, models, tmp_path):
    """A target that is missing, or negative, in the third tile, an unknown class in the second."""
    model, target = models["boosting"]
    counts = frame.y.abs().where(frame.index != 1_234, -1.0)
    frame.assign(y=counts).to_parquet(tmp_path / "counts.parquet")
    refused(
        lambda: sfit.feature_significance(
            lambda rows: pytest.fail("asked"),
            tmp_path / "counts.parquet",
            target,
            features=["a", "b"],
            loss="poisson",
        ),
        DataError,
        "y is below zero at row 1234",
        "'absolute_error'",
    )
    frame.assign(y=frame.y.where(frame.index != 1_234)).to_parquet(tmp_path / "y.parquet")
    refused(
        lambda: sfit.feature_significance(model, tmp_path / "y.parquet", target),
        DataError,
        "row 1234",
    )
    model, target = models["classes"]
    frame.assign(k=frame.k.where(frame.index != 600, "maybe")).to_parquet(tmp_path / "k.parquet")
    refused(
        lambda: sfit.feature_significance(model, tmp_path / "k.parquet", target),
        DataError,
        "'maybe'",
        "row 600",
    )


def test_a_bracket_that_misses_is_asked_again(frame, models, tmp_path, monkeypatch):
    """With no room at all the first pass misses; the answer is the same."""
    from sfit import _sign_test

    model, target = models["boosting"]
    expected = sfit.feature_significance(model, frame, target)
    monkeypatch.setattr(_sign_test, "FIRST_MARGIN", 0.001)
    monkeypatch.setattr("sfit._select.KEPT_VALUES", 4)
    found = sfit.feature_significance(model, write(frame, tmp_path, "one file"), target)
    assert content(found) == content(expected)


@pytest.mark.parametrize(
    ("values", "reason"), [([1e308], "is too large"), ([1.0, np.inf], "is inf")]
)
def test_a_mean_that_is_not_finite_is_refused_from_files_too(values, reason, tmp_path):
    rows = pd.DataFrame({"a": np.resize(values, 1_200), "y": np.arange(1_200.0)})
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    for X in (rows, tmp_path / "rows.parquet"):
        with pytest.raises(DataError, match=reason):
            sfit.feature_significance(lambda X: X["a"], X, "y", features=["a"])
