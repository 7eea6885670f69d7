"""The cases of the docs: each page belongs to a script, shows its pictures, and can be written again."""

import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent.parent / "docs" / "cases"
NAMES = ("audit", "champion", "drift", "fairness", "interactions")
SHARED = {"cases", "pictures"}
DATA = Path(os.environ.get("SFIT_DATA", Path(__file__).parents[2] / "shared" / "data"))

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="there is no docs folder beside the tests")  # fmt: skip


def test_every_case_is_listed():
    assert {path.stem for path in CASES.glob("*.py")} - SHARED == set(NAMES)
    index = (CASES / "README.md").read_text(encoding="utf-8")
    assert all(f"]({name}.md)" in index for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_its_pictures_and_its_limits(name):
    page = (CASES / f"{name}.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert set(pictures) == {path.name for path in CASES.glob(f"{name}-*.png")}
    assert pictures
    assert f"`python docs/cases/{name}.py`" in page
    assert re.search(r"^## What .* not show$", page, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_without_data_says_so(name, tmp_path, monkeypatch):
    for library in ("lightgbm", "matplotlib"):
        pytest.importorskip(library)
    monkeypatch.setenv("SFIT_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(CASES)
    monkeypatch.delitem(sys.modules, "cases", raising=False)
    with pytest.raises(SystemExit, match=r"skipped: there is no .*csv\.gz"):
        runpy.run_path(str(CASES / f"{name}.py"), run_name="__main__")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_a_script_writes_its_page_again(name, tmp_path, monkeypatch):
    """The text but for its figures: those of a fitted model may differ between machines."""
    for library in ("lightgbm", "matplotlib"):
        pytest.importorskip(library)
    if name == "audit":
        pytest.importorskip("playwright")
        if not (shutil.which("chromium") and shutil.which("pdftoppm")):
            pytest.skip("pictures of pages need chromium and pdftoppm")
    if not (DATA / "uci_credit_default.csv.gz").is_file():
        pytest.skip("the data sets are not in ../shared/data")
    monkeypatch.setenv("SFIT_DATA", str(DATA))
    for path in CASES.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cases", raising=False)
    runpy.run_path(str(tmp_path / f"{name}.py"), run_name="__main__")
    monkeypatch.delitem(sys.modules, "cases", raising=False)
    written, kept = ((folder / f"{name}.md").read_text(encoding="utf-8") for folder in (tmp_path, CASES))  # fmt: skip
    headings = re.compile(r"^#+ .*$", re.MULTILINE)
    assert headings.findall(written) == headings.findall(kept)
    assert {path.name for path in tmp_path.glob("*.png")} == {
        path.name for path in CASES.glob(f"{name}-*.png")
    }
