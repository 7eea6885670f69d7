"""One browser for all tests of a file.

In CI a missing browser is a failure; elsewhere these tests are skipped.
"""

import os
import shutil

import pytest

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
    """A browser of our own; no download is ever tried."""
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
