"""One flipped bit in a checkpoint or in a stored result: the same answer, or one error of ours.

    python tests/flips.py --count 6000 --seed 1
    python tests/flips.py checkpoint wal --count 500

Each case flips one bit of a good file and reads it: a checkpoint by running its test again, a result
with `from_json`. The answer must equal that of the undamaged file, or be refused with the error that
is documented. Another answer is wrong, and any other exception is foreign: both are faults.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import numpy as np
from tiles import tiles_of

import sfit
from sfit._checkpoint import Checkpoint
from sfit.exceptions import CheckpointError, DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 40))
Y = X[:, 0] + 0.5 * RNG.normal(size=500)
PART = np.arange(500) % 2
BESIDE = 12
"""Bytes on either side of a key: lengths and types before it, numbers of tile and task after it."""


def answer(file):
    """What a test with this checkpoint finds, in five tiles, as text."""
    options = {"checkpoint": file, "checkpoint_key": "k"}
    with warnings.catch_warnings(), tiles_of(100):
        warnings.simplefilter("ignore")
        result = sfit.feature_significance(lambda Z: Z[:, 0], X, Y, **options)
    return json.dumps(json.loads(result.to_json())["result"])


class Files:
    """A checkpoint as it lies on the disk, with its log of the last writes or without."""

    def __init__(self, folder):
        self.file = Path(folder) / "run.sqlite"
        self.wal = Path(f"{self.file}-wal")
        snapshot = {}
        close = Checkpoint.close

        def closing_late(checkpoint):
            snapshot.update({path: path.read_bytes() for path in (self.file, self.wal)})
            close(checkpoint)

        with patch.object(Checkpoint, "close", closing_late):
            self.answer = answer(self.file)
        self.unmerged = snapshot
        with closing(sqlite3.connect(self.file)) as inside:
            self.keys = {row[0] for row in inside.execute("SELECT stage FROM finished")}
            inside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.merged = {self.file: self.file.read_bytes()}

    def damaged(self, contents, path, bit):
        """How a run goes on from a file with one flipped bit: "same", "refused", or the fault."""
        for beside in self.file.parent.glob("run.sqlite*"):
            beside.unlink()
        for name, content in contents.items():
            name.write_bytes(flipped(content, bit) if name == path else content)
        return outcome(lambda: answer(self.file), self.answer, CheckpointError)

    def regions(self):
        """The bytes of the merged file, by what SQLite keeps there."""
        content = self.merged[self.file]
        found = {"header": range(100)}
        kinds = {2: "index", 5: "table", 10: "index", 13: "table"}
        size = int.from_bytes(content[16:18], "big")
        for start in range(0, len(content), size):
            kind = kinds.get(content[start + 100 * (start == 0)], "data and free pages")
            name = "schema" if start == 0 else kind
            found[name] = [*found.get(name, ()), *range(max(start, 100), start + size)]
        found["beside keys"] = sorted(set(self._beside_keys(content)))
        return found

    def _beside_keys(self, content):
        for key in map(str.encode, self.keys):
            start = content.find(key)
            while start >= 0:
                yield from range(start - BESIDE, start + 2)
                yield from range(start + len(key) - 2, start + len(key) + BESIDE)
                start = content.find(key, start + 1)


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def outcome(read, expected, error):
    """What became of a damaged file."""
    try:
        found = read()
    except error:
        return "refused"
    except Exception as foreign:
        return f"foreign {type(foreign).__name__}: {foreign}"
    return "same" if found == expected else "wrong"


def of_checkpoint(folder, count, rng):
    """Flips in the merged file: half of them beside the keys, as many in each other region."""
    files = Files(folder)
    regions = files.regions()
    for name, places in regions.items():
        share = count // 2 if name == "beside keys" else count // 2 // (len(regions) - 1)
        for bit in drawn(places, share, rng):
            yield name, int(bit), files.damaged(files.merged, files.file, int(bit))


def of_wal(folder, count, rng):
    """Flips in the log of a run that was killed, and in the file beside it."""
    files = Files(folder)
    for path, name in ((files.wal, "log"), (files.file, "file beside the log")):
        for bit in drawn(range(len(files.unmerged[path])), count // 2, rng):
            yield name, int(bit), files.damaged(files.unmerged, path, int(bit))


def of_result(folder, count, rng):
    """Flips in the JSON of a result and of a result by parts."""
    for by in (None, PART):
        result = sfit.feature_significance(lambda Z: Z[:, 0], X, Y, by=by)
        file = Path(folder) / "result.json"
        content = result.to_json(file).encode()

        def read(result=result, file=file):
            again = type(result).from_json(file)
            return again, again.to_json()

        expected = result, result.to_json()
        for bit in drawn(range(len(content)), count // 2, rng):
            file.write_bytes(flipped(content, int(bit)))
            yield type(result).__name__, int(bit), outcome(read, expected, DataError)


def drawn(places, count, rng):
    """Bits of some bytes, none of them twice; all of them where there are few."""
    bits = 8 * np.asarray(places)[:, None] + np.arange(8)
    return rng.permutation(bits.ravel())[:count]


KINDS = {"checkpoint": of_checkpoint, "wal": of_wal, "result": of_result}


def tried(kind, count, seed):
    """How many flips of a kind ended how, by region, and the faults."""
    ended, faults = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for region, bit, end in KINDS[kind](folder, count, np.random.default_rng(seed)):
            ended.setdefault(region, Counter())[end.partition(" ")[0]] += 1
            if end not in ("same", "refused"):
                faults.append(f"{kind}, {region}, bit {bit}: {end}")
    return ended, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--count", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    faulty = False
    for kind in options.kinds:
        ended, faults = tried(kind, options.count, options.seed)
        for region, counts in ended.items():
            print(f"{kind:12} {region:22} {dict(counts)}", flush=True)
        for fault in faults[:20]:
            print(fault, file=sys.stderr)
        faulty |= bool(faults)
    return faulty


if __name__ == "__main__":
    raise SystemExit(main())
