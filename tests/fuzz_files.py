"""Damaged files of every kind that the program reads, until a count is reached.

    python tests/fuzz_files.py skops csv --count 200 --seed 1
    python tests/fuzz_files.py --count 100                       every kind
    python tests/fuzz_files.py --made                            what `made_files.py` and `made_skops.py` make by hand

Each case is a good file with something done to it, read by `sfit` in this process, under a limit of
memory and of time. It may work (what was changed may not matter), or be refused in one line with
exit code 2. What was made to harm has to be refused for the right reason, and before it has taken
more than `GROWTH`. Whatever runs a program, unpickles, connects or writes elsewhere meanwhile is a fault;
so is any other ending. A crash of the process is one that the caller sees.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from made_files import MADE
from made_skops import HOSTILE
from models.saved import NEEDS, missing, rows, save

from sfit.cli import run

MEMORY = 8 * 2**30
"""Bytes of address space: torch alone reserves some of them."""
SECONDS = 120
"""For one file, on a busy machine."""
GROWTH = 2**29
"""Bytes that a file made to harm may take beyond those of a good one: half of what an archive may."""
KINDS = (*NEEDS, "csv", "csv.gz", "parquet", "result", "checkpoint")
HEADS = (
    b"PK\x03\x04",
    b"\x89HDF\r\n\x1a\n",
    b"PAR1",
    b"\x1f\x8b",
    b"\x80\x04",
    b"{",
    b"CBM1",
    b"\x08",
)


# --- what is done to a file ---------------------------------------------------------------


def cut(rng, content):
    return content[: rng.integers(len(content))]


def flip(rng, content):
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 20)):
        changed[place] ^= int(rng.integers(1, 256))
    return bytes(changed)


def enlarge(rng, content):
    """Eight bytes that a reader may take for a length."""
    place = int(rng.integers(len(content)))
    word = [b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\xff\xff\xff\x7f", b"99999999"][rng.integers(4)]
    return content[:place] + word + content[place + len(word) :]


def digits(rng, content):
    """A number in a text becomes another."""
    places = [i for i, byte in enumerate(content) if 48 <= byte < 58]
    if not places:
        return flip(rng, content)
    place = places[rng.integers(len(places))]
    number = [b"-1", b"999999999999", b"1e400", b"NaN", b'"x"', b""][rng.integers(6)]
    return content[:place] + number + content[place + 1 :]


def drop(rng, content):
    a, b = sorted(rng.integers(len(content), size=2))
    return content[:a] + content[b:]


def repeat(rng, content):
    a, b = sorted(rng.integers(len(content), size=2))
    return content[:b] + content[a:b] + content[b:]


def behead(rng, content):
    """The beginning of another format."""
    head = HEADS[rng.integers(len(HEADS))]
    return head + content[len(head) :]


def noise(rng, content):
    return HEADS[rng.integers(len(HEADS))] + rng.bytes(int(rng.integers(1, 4_000)))


def nothing(rng, content):
    return bytes(int(rng.integers(2)) * 1_000_000)


def forge(rng, content):
    """A stored result, well-formed, with one value that no test can find."""
    if b'"SFITResult"' not in content:
        return flip(rng, content)
    document = json.loads(content)
    places, left = [], [document]
    while left:
        holder = left.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                left.append(holder[key])
    holder, key = places[rng.integers(len(places))]
    odd = [10**400, -5, 0, [], 1e308, "nan", "drop"][rng.integers(7)]
    if odd == "drop":
        del holder[key]
    else:
        holder[key] = odd
    from sfit._document import sealed

    # Half of them with the right checksum, so the values themselves are looked at.
    return json.dumps(sealed(document) if rng.integers(2) else document).encode()


CHANGES = (cut, flip, flip, enlarge, digits, drop, repeat, behead, noise, nothing, forge)


# --- what must not happen meanwhile -------------------------------------------------------


class Watch:
    """Notes what no file may bring about."""

    def __init__(self, folder):
        self.folder, self.seen, self.on = str(folder), [], False
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if not self.on:
            return
        path = arguments[0] if arguments else None
        harm = (
            event in ("os.system", "os.exec", "os.startfile", "pickle.find_class", "socket.connect")
            or (
                event == "subprocess.Popen"
                and "sfit.cli.model_files._trial" not in str(arguments[1])
            )
            or (
                event == "open"
                and isinstance(path, str)
                and _writes(arguments)
                and self._is_outside(path)
            )
        )
        if harm:
            self.seen.append(f"{event} {arguments!r}")

    def _is_outside(self, path):
        return not os.path.abspath(path).startswith((self.folder, "/dev/", "/proc/self"))


def _writes(arguments):
    _, mode, flags = arguments
    named = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    return named or (mode is None and bool(flags & (os.O_WRONLY | os.O_RDWR)))


# --- one case -----------------------------------------------------------------------------


def prepare(kind, folder):
    """A good file of a kind, and the command that reads it."""
    data = rows(60)
    table = folder / "rows.csv"
    data.to_csv(table, index=False)
    if kind in NEEDS:
        file, _, target, options = save(kind, folder)
        options = [option for option in options if option != "--allow-pickle"]
        return file, ["test", file, table, "-t", target, *options]
    if kind == "result":
        import sfit

        result = sfit.feature_significance(
            lambda X: X[:, 0], data[["a", "b"]].to_numpy(), data["value"]
        )
        file = folder / "result.json"
        result.to_json(file)
        return file, ["report", file, "--out", folder / "page.html"]
    model = save("onnx", folder).file
    test = ["test", model, table, "-t", "label", "--features", "a,b,c"]
    if kind == "checkpoint":
        file = folder / "run.sqlite"
        assert quietly([*test, "--checkpoint", file])[0] == 0
        return file, [*test, "--checkpoint", file]
    file = folder / f"fuzzed.{kind}"
    if kind == "csv":
        file.write_bytes(table.read_bytes())
    elif kind == "csv.gz":
        file.write_bytes(gzip.compress(table.read_bytes()))
    else:
        data.to_parquet(file)
    test[2] = file
    return file, test


def quietly(arguments):
    """The exit code of a command, and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return code, err.getvalue()


def too_long(*_):
    raise TimeoutError(f"more than {SECONDS} seconds")


def attempt(command, watch):
    """The exit code of a command under watch, what it told, and whether that is a fault."""
    watch.seen, watch.on = [], True
    signal.alarm(SECONDS)
    try:
        code, told = quietly(command)
    except BaseException as error:
        code, told = None, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        watch.on = False
    refused = code == 2 and "Error: " in told and "Traceback" not in told
    return code, told, bool(watch.seen) or not (code == 0 or refused)


def fuzz(kind, count, seed, folder, watch):
    """The faults of so many damaged files of one kind, and how many of them still worked."""
    place = folder / kind
    place.mkdir()
    file, command = prepare(kind, place)
    good = file.read_bytes()
    assert kind in ("joblib", "pt", "pt2") or quietly(command)[0] == 0, "the good file works"
    faults, worked = [], 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        change = CHANGES[rng.integers(len(CHANGES))]
        for beside in place.glob("*-wal"), place.glob("*-shm"):
            for path in beside:
                path.unlink()
        file.write_bytes(change(rng, good))
        print(f"{kind} {number} {change.__name__}", file=sys.stderr, flush=True)
        code, told, fault = attempt(command, watch)
        worked += code == 0
        if fault:
            faults.append(
                f"{kind} {number} {change.__name__}: {code} {told[-500:]} {watch.seen[:3]}"
            )
            print(faults[-1], file=sys.stderr, flush=True)
    return faults, worked


def peak():
    """Bytes that this process has had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1_024
    )


def try_made(kind, folder, watch):
    """The faults of the files of one kind that were made to harm, and the time each took."""
    place = folder / f"made-{kind}"
    place.mkdir()
    file, command = prepare(kind, place)
    good = file.read_bytes()
    assert quietly(command)[0] == 0, "the good file works"
    faults, seconds = [], {}
    cases = {**MADE[kind], **HOSTILE} if kind == "skops" else MADE[kind]
    for name, (make, reason, *options) in cases.items():
        file.write_bytes(make(good))
        print(f"{kind} {name}", file=sys.stderr, flush=True)
        before, started = peak(), time.monotonic()
        code, told, fault = attempt([*command, *options], watch)
        seconds[name] = round(time.monotonic() - started, 1)
        grown = peak() - before
        one_line = told.count("\n") == 1
        refused = code == 2 and one_line and reason in " ".join(told.split())
        if fault or not refused or grown > GROWTH:
            faults.append(
                f"{kind} {name}: {code} {grown / 2**20:.0f} MB {told[-500:]} {watch.seen[:3]}"
            )
            print(faults[-1], file=sys.stderr, flush=True)
    return faults, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--made", action="store_true")
    options = parser.parse_args()
    os.environ["NO_COLOR"] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_long)
    told = {}
    with tempfile.TemporaryDirectory() as name:
        watch = Watch(Path(name).resolve())
        for kind in options.kinds or (MADE if options.made else KINDS):
            needs = NEEDS.get(kind, NEEDS["onnx"])
            if missing(kind) if kind in NEEDS else missing("onnx"):
                told[kind] = {"skipped": f"needs {', '.join(needs)}"}
                continue
            if options.made:
                faults, seconds = try_made(kind, Path(name).resolve(), watch)
                told[kind] = {"faults": faults, "seconds": seconds}
                continue
            started = time.monotonic()
            faults, worked = fuzz(kind, options.count, options.seed, Path(name).resolve(), watch)
            told[kind] = {"files": options.count, "worked": worked, "faults": faults}
            told[kind]["seconds"] = round(time.monotonic() - started)
    print(json.dumps(told, indent=1))
    return any(about.get("faults") for about in told.values())


if __name__ == "__main__":
    raise SystemExit(main())
