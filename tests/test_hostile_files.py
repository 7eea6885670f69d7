"""Files that were damaged or made to harm: refused in one line, in little time and memory.

`fuzz_files.py` does the damage, in a process of its own, and reads what `made_files.py` makes by hand
there; more of that is here, in `test_model_files.py` and in `test_keras_archive.py`.
"""

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_files import array_header
from models.saved import missing, rows, save

import sfit
from sfit.cli.model_files import load_model
from sfit.exceptions import DataError, ModelError

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("resource")

from sfit.cli import _data

SCRIPT = Path(__file__).with_name("fuzz_files.py")
QUICK = ("joblib", "pt", "csv", "csv.gz", "parquet", "result", "checkpoint")
REHEARSED = ("skops", "onnx", "json", "ubj", "txt", "cbm", "keras")


def fuzzed(kinds, count, seed):
    """What became of so many damaged files of each kind."""
    return told(*kinds, "--count", str(count), "--seed", str(seed))


def told(*arguments):
    """What the script found, under its own limits of time and memory."""
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(sfit.__file__).parents[1])},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=3_600,
    )
    # The last case stands at the end of what it wrote, if it crashed.
    assert ended.stdout, ended.stderr[-2_000:]
    return json.loads(ended.stdout)


def assert_no_faults(found):
    assert [fault for about in found.values() for fault in about.get("faults", ())] == []


def test_damaged_files():
    """A few of each kind; a rehearsal in another process takes its time."""
    assert_no_faults(fuzzed(QUICK, 10, 0))
    assert_no_faults(fuzzed(("skops", "onnx"), 3, 0))


@pytest.mark.long
@pytest.mark.parametrize("kind", [*QUICK, *REHEARSED, "pt2"])
def test_many_damaged_files(kind):
    """Many of every kind; each model that holds data is first read by another process."""
    assert_no_faults(fuzzed([kind], 60, 1))


# --- made by hand ---------------------------------------------------------------------------


def test_files_made_to_harm():
    """Archives that unpack to gigabytes or lead outside, weights without numbers, and the like.

    The program refuses each for its own reason, with little memory, and starts, fetches and writes
    nothing.
    """
    assert_no_faults(told("--made"))


def test_a_packed_table_without_end(tmp_path, monkeypatch):
    """Few bytes can unpack to any number: reading stops at a limit (a small one here)."""
    monkeypatch.setattr(_data, "MOST_UNPACKED", 2**20)
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**20))
    with pytest.raises(DataError, match=r"unpacks to more than .* unpack the file yourself"):
        _data.read_rows(str(file))
    file.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert _data.read_rows(str(file)).shape == (1, 2)


def test_a_parquet_file_without_end(tmp_path, monkeypatch):
    """One number, repeated: rows that have to be in memory are counted first."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(_data, "MOST_UNPACKED", 2**20)
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"a": np.zeros(10**6), "b": "text"}).to_parquet(file)
    with pytest.raises(DataError, match=r"unpacks to 0\.0 GB, more than 20 times its size"):
        _data.read_rows(str(file))
    pd.DataFrame({"a": np.random.default_rng(0).normal(size=10**6), "b": "text"}).to_parquet(file)
    assert _data.read_rows(str(file)).shape == (10**6, 2)

    def full(*_):
        raise MemoryError("no room")  # as long texts may end, which no one can count before

    monkeypatch.setattr(_data, "_check_size", full)
    with pytest.raises(DataError, match=r"cannot be read as Parquet \(no room\)"):
        _data.read_rows(str(file))


def test_damage_inside_a_packed_table(tmp_path):
    """zlib's own error is no OSError."""
    file = tmp_path / "rows.csv.gz"
    content = bytearray(gzip.compress(rows().to_csv().encode()))
    content[200:220] = bytes(20)
    file.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as CSV"):
        _data.read_rows(str(file))


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (b"x" * 2**24, False),
        (b",".join(b"%d" % i for i in range(10_000)), False),
        (b'"' + b"a\n" * 2**20, True),
        (bytes(2**20), False),
        (b"\xff\xfe" + "a,b\n1,2\n".encode("utf-16-le"), True),
        (b"a,b\n1,2,3,4,5,6,7\n1\n", False),
    ],
    ids=["one-name", "many-names", "open-quote", "zeros", "utf-16", "ragged"],
)
def test_a_table_with_a_strange_head(tmp_path, content, refused):
    """A header of megabytes, or of none: an error, or a table without the target."""
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    if refused:
        with pytest.raises(DataError, match="cannot be read as CSV"):
            _data.read_rows(str(file))
    else:
        assert "target" not in _data.read_rows(str(file))


@pytest.mark.parametrize("shape", [(10**14,), (10**9, 10**9), (2**63, 2**63)], ids=str)
def test_an_array_that_promises_too_much(tmp_path, shape):
    """The header of an array inside a skops file may promise anything."""
    if missing("skops"):
        pytest.skip("needs skops")
    good = save("skops", tmp_path).file
    file = tmp_path / "hostile.skops"
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w") as new:
        arrays = [name for name in old.namelist() if name.endswith(".npy")]
        assert arrays
        for name in old.namelist():
            new.writestr(name, array_header(shape) if name in arrays else old.read(name))
    with pytest.raises(ModelError, match="cannot be read as a skops file, or is damaged"):
        load_model(file)


def test_a_checkpoint_holds_no_program(tmp_path):
    """Every value in the file is a number, a text, or packed numbers: no pickle among them."""
    import pickle
    import sqlite3

    path = tmp_path / "run.sqlite"
    data = rows()
    X, y = data[["a", "b", "c"]].to_numpy(), data["value"].to_numpy()
    settings = {"checkpoint": path, "checkpoint_key": "1", "beta": "auto", "random_state": 0}
    sfit.feature_significance(
        lambda block: block[:, 0],
        X,
        y,
        max_order=2,
        test=sfit.SignTest(random_model=lambda rng: lambda block: 1e-3 * block[:, 1]),
        **settings,
    )
    with sqlite3.connect(path) as file:
        blobs = [blob for (blob,) in file.execute("SELECT data FROM finished")]
    assert len(blobs) > 3
    for blob in blobs:
        with pytest.raises((pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError)):
            pickle.loads(blob)
