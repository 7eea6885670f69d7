"""Files made by hand to harm whoever reads them: `fuzz_files.py --made` lets `sfit` read them.

`MADE` has, by the kind of file: how to make it from a good one, what has to be told when it is
refused, and further options of the command.
"""

import io
import json
import struct
import zipfile
import zlib

import numpy as np

BLOCK = 2**24


def bomb(n_blocks):
    """Zeros, deflated: 16 kB for each 16 MB, which are packed once and repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    return packed * n_blocks + packer.flush(zlib.Z_FINISH)


def rezipped(good, changes=None, more=None):
    """An archive with entries changed (functions of their content), and others added."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            change = (changes or {}).get(name)
            new.writestr(name, change(old.read(name)) if change else old.read(name))
        for name, content in (more or {}).items():
            new.writestr(name, content)
    return file.getvalue()


def zip_bomb(good, name="assets/big.bin", n_blocks=240):
    """An archive with one more entry, of 3.75 GB."""
    packed, size, name = bomb(n_blocks), n_blocks * BLOCK, name.encode()
    end = good.rindex(b"PK\x05\x06")
    entries, length, at = struct.unpack("<HLL", good[end + 10 : end + 20])
    about = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, 0, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + about + name + packed
    central = b"PK\x01\x02\x14\x00" + about + struct.pack("<HHHLL", 0, 0, 0, 0, at) + name
    directory = good[at : at + length] + central
    counts = (entries + 1, entries + 1, len(directory), at + len(local), 0)
    return good[:at] + local + directory + b"PK\x05\x06" + struct.pack("<4xHHLLH", *counts)


def leading_outside(good):
    return rezipped(good, more={"../../outside.txt": "here"})


def cut(good):
    return good[: len(good) * 2 // 3]


# --- Keras ----------------------------------------------------------------------------------


def weights_bomb(good):
    """Weights of a shape that the model does not have, and no numbers."""
    import h5py

    def change(content):
        file = io.BytesIO(content)
        with h5py.File(file, "a") as store:
            group = store["layers/dense/vars"]
            del group["0"]
            group.create_dataset("0", (10**6, 10**3), "f4")
        return file.getvalue()

    return rezipped(good, {"model.weights.h5": change})


def fetching(good):
    """A function that fetches a file stands where an activation should."""

    def change(content):
        config = json.loads(content)
        config["config"]["layers"][1]["config"]["activation"] = {
            "module": "keras",
            "class_name": "function",
            "config": "datasets.mnist.load_data",
            "registered_name": "datasets.mnist.load_data",
        }
        return json.dumps(config)

    return rezipped(good, {"config.json": change})


# --- arrays and rows ------------------------------------------------------------------------


def array_header(shape):
    """The header of a NumPy file that promises an array of some shape, and no array."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def promising(good):
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        arrays = [name for name in archive.namelist() if name.endswith(".npy")]
    return rezipped(good, {name: lambda _: array_header((10**14,)) for name in arrays})


def repeated_rows(good):
    """Columns of one number, repeated: 2 GB in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(good), columns=["a", "b", "c", "label"])
    n = 10**6
    one = {name: pa.repeat(table[name][0], n) for name in table.column_names}
    wide = pa.table({**one, **{f"x{i}": one["a"] for i in range(8)}})
    file = io.BytesIO()
    with pq.ParquetWriter(file, wide.schema, write_statistics=False) as writer:
        for _ in range(20):
            writer.write_table(wide, row_group_size=n)
    return file.getvalue()


MADE = {
    "skops": {
        "bomb": (zip_bomb, "would unpack to 3.8 GB"),
        "outside": (leading_outside, "points outside it"),
        "header": (promising, "or is damaged"),
        "cut": (cut, "is damaged"),
    },
    "keras": {
        "bomb": (zip_bomb, "would unpack to 3.8 GB"),
        "weights": (weights_bomb, "weights that would unpack to 3.7 GB"),
        "outside": (leading_outside, "points outside it"),
        "program": (fetching, "not on sfit's list"),
        "cut": (cut, "is damaged"),
    },
    "parquet": {
        "rows": (repeated_rows, "unpacks to", "--classes", "no,yes"),
        "cut": (cut, "cannot be read"),
    },
}
