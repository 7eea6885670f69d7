"""Rows that change while they are read are refused: a mixture of two data sets is no data set."""

import os
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
from tiles import set_tiles

import sfit
from sfit.exceptions import ArgumentError, DataError
from sfit.rows._stored import open_store

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

N, TILE = 600, 100
CHANGED = "X changed during the run"


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Six tiles instead of one."""
    set_tiles(monkeypatch, TILE)


def frame(seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    return rows.assign(y=rows.a + rng.normal(size=N))


class Meddler:
    """A model that does something when it is asked for the so-manieth time."""

    def __init__(self, deed, when=8):
        self.deed, self.left = deed, when

    def __call__(self, rows):
        self.left -= 1
        if self.left == 0:
            self.deed()
        return np.asarray(rows["a"], dtype=float)


def refused(X, deed, *words, when=8, **options):
    with pytest.raises(DataError, match=CHANGED) as caught:
        sfit.feature_significance(Meddler(deed, when), X, "y", features=["a", "b"], **options)
    for word in words:
        assert word in str(caught.value)


def over(path, seed=1):
    """Write other rows, as many, over a file."""
    return lambda: frame(seed).to_parquet(path, row_group_size=250)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.parquet"
    over(path, 0)()
    return path


@pytest.mark.parametrize("when", [1, 5, 12])
def test_a_file_that_is_written_over(file, when):
    """As many rows, other values, in the middle of the run: the message names the file."""
    refused(file, over(file), "rows.parquet", "Run again", when=when)


def test_a_file_that_is_replaced(file, tmp_path):
    """Another file under the same name, and no file at all."""
    over(tmp_path / "other", 1)()
    refused(file, lambda: os.replace(tmp_path / "other", file), "rows.parquet")
    refused(file, lambda: os.remove(file), "rows.parquet")


def test_a_file_with_the_same_time_and_size(tmp_path):
    """The footer tells: clocks tick slowly, and times can be set."""
    path, other = tmp_path / "rows.parquet", tmp_path / "other"
    for seed, name in ((0, path), (1, other)):
        rows = pa.Table.from_pandas(frame(seed))
        pq.write_table(rows, name, compression="none", use_dictionary=False)
    known = os.stat(path)
    assert os.stat(other).st_size == known.st_size

    def swap():
        shutil.copy(other, path)
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))

    refused(path, swap, "rows.parquet")


def test_a_data_set_object(file):
    refused(ds.dataset(file), over(file), "rows.parquet")
    known = ds.dataset(file)
    for piece in known.get_fragments():
        piece.ensure_complete_metadata()
    over(file, 2)()
    with pytest.raises(DataError, match="create it again"):
        open_store(known)


def test_a_filter_is_not_ignored(file):
    with pytest.raises(ArgumentError, match="filter"):
        open_store(ds.dataset(file).filter(pc.field("a") > 0))


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_files_that_come_and_go(tmp_path, pattern):
    """In a folder and in a pattern."""
    for number in range(3):
        frame(number).to_parquet(tmp_path / f"{number}.parquet")
    X = os.path.join(tmp_path, pattern)
    refused(X, lambda: frame(3).to_parquet(tmp_path / "3.parquet"), "new", "'3.parquet'")
    refused(X, lambda: os.remove(tmp_path / "3.parquet"), "'3.parquet'")
    assert len(open_store(X)) == 3 * N


def test_a_relative_path_is_found_from_another_folder(file, tmp_path, monkeypatch):
    """A listing is compared where the data are, wherever a worker stands."""
    (tmp_path / "rows").mkdir()
    over(tmp_path / "rows" / "a.parquet", 0)()
    monkeypatch.chdir(tmp_path)
    store = open_store("rows")
    monkeypatch.chdir("/")
    store.listing.check()


def test_workers_look_as_well(file):
    """What they are sent knows the file that was opened."""
    store = pickle.loads(pickle.dumps(open_store(file)))
    assert sum(len(table) for table in store.read(0, ["a"])) == N
    over(file)()
    with pytest.raises(DataError, match=CHANGED):
        list(store.read(300, ["a"]))


def test_a_file_that_changes_between_two_batches(file):
    """The rows that were read after the change are not handed out."""
    pieces = open_store(file).read(0, ["a"])
    first = next(pieces)
    over(file)()
    np.testing.assert_array_equal(first.get_column("a").to_numpy(), frame(0)["a"][: len(first)])
    with pytest.raises(DataError, match=CHANGED):
        next(pieces)


def test_other_filesystems(file):
    """One that knows no times: size and footer tell."""
    fsspec = pytest.importorskip("fsspec")
    at = "memory://changing/rows.parquet"

    def write(seed):
        with fsspec.open(at, "wb") as out:
            frame(seed).to_parquet(out)

    write(0)
    refused(at, lambda: write(1), "rows.parquet")


# --------------------------------------------------------------------------------------- frames


class Loader:
    """Frames that are made anew each time, and otherwise from some reading on."""

    def __init__(self, make):
        self.make, self.readings = make, 0

    def __iter__(self):
        self.readings += 1
        return iter(self.make(self.readings))


def halves(rows):
    return [rows[: N // 2], rows[N // 2 :]]


CHANGES = {
    "other values": lambda k: halves(frame(0 if k < 6 else 1)),
    "another order": lambda k: halves(frame(0).sample(frac=1, random_state=k)),
    "frames in another order": lambda k: halves(frame(0))[:: 1 if k < 6 else -1],
    "other lengths": lambda k: [frame(0)[: 300 + (k > 5)], frame(0)[300 + (k > 5) :]],
    "another type": lambda k: halves(frame(0).astype({"b": "float64" if k < 6 else "float32"})),
}


@pytest.mark.parametrize("change", CHANGES)
def test_frames_that_are_not_the_same_again(change):
    """Rows from a data base without an order, say."""
    refused(Loader(CHANGES[change]), None, "frame", "each time", when=0)


def test_frames_that_are_made_anew_alike():
    expected = sfit.feature_significance(Meddler(None, 0), frame(0), "y", features=["a", "b"])
    loader = Loader(lambda k: halves(frame(0)))
    found = sfit.feature_significance(Meddler(None, 0), loader, "y", features=["a", "b"])
    assert [test.n_positive for test in found.tests] == [t.n_positive for t in expected.tests]
    assert loader.readings > 2
