"""Settings that every test shares."""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

# Read once, when the libraries are first imported: Keras runs on torch, plots need no screen.
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("MPLBACKEND", "Agg")

# A developer's run draws new examples each time; CI repeats the same ones, so that what it says of a
# commit does not depend on luck.
settings.register_profile(
    "sfit",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("sfit")

# A program of its own (`make mutate`), with no doctests in it.
collect_ignore = ["mutants.py"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file; no download is ever tried.

    In CI a missing browser is a failure; elsewhere these tests are skipped.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright is not installed: pip install playwright")
    if CHROMIUM is None:
        _missing("there is no chromium on the path: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


def _missing(what):
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)
