"""The same seed gives the same bytes, whatever process, hash seed, threads, workers or Python."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sfit

SCRIPT = Path(__file__).with_name("repeat.py")
SOURCE = str(Path(sfit.__file__).parents[1])
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def output(*options, python=sys.executable, threads="1", hash_seed="0"):
    """What the script prints: a digest of the bytes of each result."""
    variables = {**dict.fromkeys(THREADS, threads), "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(
        [python, str(SCRIPT), *options],
        env={**os.environ, **variables, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def expected():
    found = output()
    assert len(found.splitlines()) == 5
    return found


def test_another_process_with_more_threads(expected):
    """Sets in another order, two threads in every library and two of our own."""
    assert output("--jobs", "2", threads="2", hash_seed="4711") == expected


def test_processes_as_workers(expected):
    """joblib's processes; a Dask cluster is in `cluster/test_dask.py`."""
    assert output("--jobs", "2", "--backend", "loky", hash_seed="random") == expected


def test_a_network():
    """At one thread of linear algebra, which may round otherwise with two."""
    alone = output("--network")
    assert len(alone.splitlines()) == 1
    assert output("--network", "--jobs", "2", hash_seed="4711") == alone
    assert output("--network", "--jobs", "2", "--backend", "loky") == alone


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_other_versions_of_python(expected, version):
    """The versions that the machine has: on the path, or named by SFIT_PYTHON_3_12 and so on."""
    if sys.version.startswith(version):
        pytest.skip(f"this is Python {version}")
    name = f"SFIT_PYTHON_{version.replace('.', '_')}"
    python = os.environ.get(name) or shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"there is no python{version}; {name} can name one with sfit's dependencies")
    if subprocess.run(
        [python, "-c", "import joblib, pandas, narwhals"], capture_output=True, check=False
    ).returncode:
        pytest.skip(f"{python} does not run, or is without the dependencies of sfit")
    assert output(python=python) == expected
