"""The main process killed at random moments, and interrupted: the next run goes on, to the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")

RUN = """
import sys, time
import numpy as np
import sfit
from sfit.sample import prepare
prepare.__kwdefaults__["tile_rows"] = 500

def model(rows):
    time.sleep(0.02)
    return np.asarray(rows["a"]) + np.asarray(rows["b"]) * np.asarray(rows["c"])

print("ready", flush=True)
result = sfit.feature_significance(
    model, sys.argv[1], "y", features=["a", "b", "c"], max_order=2, test=sys.argv[3].split()[0],
    clusters="who" if sys.argv[3].endswith("clusters") else None,
    n_jobs=2, checkpoint=sys.argv[2], checkpoint_key="1", random_state=0,
)
print(result.to_json().split('"run"')[0], flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of Parquet."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for number in range(3):
        rows = pd.DataFrame(rng.normal(size=(3_000, 3)), columns=list("abc"))
        rows["y"] = rows.a + rows.b * rows.c + rng.normal(size=3_000)
        rows["who"] = rng.integers(0, 100, size=3_000)
        rows.to_parquet(folder / f"{number}.parquet", row_group_size=700)
    return folder


def start(folder, file, test):
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", RUN, str(folder), str(file), test],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def finish(folder, file, test):
    out, err = (process := start(folder, file, test)).communicate(timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.fixture(
    scope="module",
    params=[
        *("sign", "permutation", "mean"),
        *(f"{test} of clusters" for test in ("sign", "permutation", "mean")),
    ],
)
def undisturbed(request, folder, tmp_path_factory):
    """A test, what a run that nobody kills prints, and how long it works."""
    started = time.perf_counter()
    out = finish(folder, tmp_path_factory.mktemp("run") / "run.sqlite", request.param)
    return request.param, out, time.perf_counter() - started


def kill_and_resume(folder, file, undisturbed, seed):
    test, expected, seconds = undisturbed
    rng = np.random.default_rng(seed)
    for _ in range(2):
        process = start(folder, file, test)
        time.sleep(rng.uniform(0.1, 0.6) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert finish(folder, file, test) == expected


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_and_resumed(folder, tmp_path, undisturbed, seed):
    """kill -9 twice, then a run to the end."""
    kill_and_resume(folder, tmp_path / "run.sqlite", undisturbed, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 20))
def test_killed_at_random_and_resumed_often(folder, tmp_path, undisturbed, seed):
    """The same, seventeen more times."""
    kill_and_resume(folder, tmp_path / "run.sqlite", undisturbed, seed)


def test_an_interrupt_stops_soon_and_can_be_resumed(folder, tmp_path, undisturbed):
    """Ctrl-C ends the program, with work in the file, and the next run ends as if nothing was."""
    test, expected, seconds = undisturbed
    file = tmp_path / "run.sqlite"
    process = start(folder, file, test)
    time.sleep(0.4 * seconds)
    interrupted = time.perf_counter()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    # A second to stop, and some more for a busy machine to take an interpreter down.
    assert time.perf_counter() - interrupted < 5
    assert finish(folder, file, test) == expected
