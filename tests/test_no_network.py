"""Nothing but the loader of the credit data opens a connection by itself; no other source could.

Rows at an address that the user passes (`s3://...`) are fetched by pyarrow or fsspec: not tested here.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sfit
from sfit.exceptions import ArgumentError

SOURCE = Path(sfit.__file__).parent
# `sklearn.datasets` fetches what is not there; only its fetchers do.
OPENERS = {
    "aiohttp",
    "ftplib",
    "http",
    "httpx",
    "requests",
    "smtplib",
    "socket",
    "ssl",
    "urllib",
    "urllib3",
}
FETCHERS = (
    "fetch_",
    "urlopen",
    "urlretrieve",
    "create_connection",
    "S3FileSystem",
    "GcsFileSystem",
)

WATCHED = """
import sys

def watch(event, arguments):
    # Pipes between processes have a path for an address, not a host and a port.
    if event == "socket.connect" and not isinstance(arguments[1], tuple):
        return
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        print("NETWORK", event, arguments, file=sys.stderr, flush=True)
        raise PermissionError(event)

sys.addaudithook(watch)
"""

LIBRARY = """
import warnings
warnings.simplefilter("ignore")
import joblib, numpy as np, sfit
from sklearn.linear_model import LinearRegression

X, y = sfit.simulate.interactions(300, random_state=0)
model = LinearRegression().fit(X, y)
result = sfit.feature_significance(model, X, y, max_order=2, beta="auto", random_state=0)
sfit.feature_significance(model, X, y, by=np.arange(300) % 2, n_jobs=2, checkpoint="run.sqlite")
with joblib.parallel_config(backend="loky", n_jobs=2):
    sfit.feature_significance(lambda rows: rows["X1"], X, y)
sfit.loco_significance(LinearRegression(), X, y, X, y)
sfit.SFITSelector(LinearRegression()).fit(X, y)
sfit.show_versions()
try:
    import jinja2, matplotlib
except ImportError:
    pass
else:
    result.to_html("page.html")
try:
    import pyarrow
except ImportError:
    pass
else:
    X.assign(y=y).to_parquet("rows.parquet")
    sfit.feature_significance(model, "rows.parquet", "y")
"""

PROGRAM = """
from sfit.cli import run
from models.saved import rows, save
from pathlib import Path

file, _, target, options = save("joblib", Path())
rows().to_csv("rows.csv", index=False)
for arguments in (
    ["test", str(file), "rows.csv", "-t", target, *options, "--report", "out.html", "--json", "out.json"],
    ["beta", str(file), "rows.csv", "-t", target, *options, "--max-beta", "1"],
    ["report", "out.json"],
    ["power", "--rows", "100"],
    ["--version"],
):
    assert run(arguments) == 0, arguments
"""


def watched(script, folder):
    """Run a script that may not connect."""
    path = f"import sys; sys.path[:0] = [{str(SOURCE.parent)!r}, {str(Path(__file__).parent)!r}]"
    return subprocess.run(
        [sys.executable, "-c", "\n".join([WATCHED, path, script])],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_the_watch_sees_a_connection(tmp_path):
    """What the other tests rest on."""
    script = "import socket; socket.create_connection(('localhost', 9))"
    ended = watched(script, tmp_path)
    assert ended.returncode != 0
    assert "NETWORK socket.getaddrinfo" in ended.stderr


def test_the_library_stays_here(tmp_path):
    """Tests, workers, checkpoints, refits, reports and files: no connection, no name looked up."""
    ended = watched(LIBRARY, tmp_path)
    assert "NETWORK" not in ended.stderr
    assert ended.returncode == 0, ended.stderr


def test_the_program_stays_here(tmp_path):
    """Nor does any command of the program."""
    pytest.importorskip("typer")
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    ended = watched(PROGRAM, tmp_path)
    assert "NETWORK" not in ended.stderr
    assert ended.returncode == 0, ended.stderr


def test_a_store_that_cannot_be_reached():
    """One error of ours, with the address: here there is no Hadoop to ask."""
    pytest.importorskip("pyarrow")
    address = "hdfs://nowhere/rows.parquet"
    with pytest.raises(ArgumentError, match=r"X='hdfs://nowhere/rows\.parquet' cannot be opened"):
        sfit.feature_significance(lambda rows: rows, address, "y")


def imported(tree):
    """The modules, and the names out of them, that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_one_file_can_connect():
    """By what it imports or calls: the loader of the credit data, and no other file."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        names = set(imported(ast.parse(file.read_text(encoding="utf-8"))))
        if names & OPENERS or any(name.startswith(FETCHERS) for name in names):
            found.add(file.name)
    assert found == {"_credit_data.py"}
