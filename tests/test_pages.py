"""README and pages of the docs: their examples run and print what they promise."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    page
    for page in [ROOT / "README.md", *(DOCS / f"{name}.md" for name in ("start", "audit", "questions", "statistics", "two_tests", "interactions", "report", "models", "losses"))]
    if page.exists()
]  # fmt: skip
# What the snippets of a page need beyond the required dependencies.
NEEDS = {
    "README": ["jinja2", "matplotlib"],
    "audit": ["docx", "jinja2", "matplotlib", "openpyxl"],
    "report": ["docx", "jinja2", "matplotlib", "openpyxl"],
    "models": ["xgboost", "lightgbm", "catboost", "torch", "skorch", "keras", "skl2onnx"],
}


def script(path):
    """A program of the docs folder as a module."""
    if not path.exists():
        pytest.skip("there is no docs folder beside the tests")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """All blocks in order, in one namespace; what comments and text blocks promise is printed."""
    for library in NEEDS.get(page.stem, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert any(kind == "python" for kind, _ in blocks)
    namespace, printed = {}, ""
    for kind, block in blocks:
        if kind == "text":
            # The finding below the last rule of a summary; figures may differ in the last digit.
            for promised in block.rsplit("====\n", 1)[-1].strip().splitlines():
                assert promised in printed
        else:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, str(page), "exec"), namespace)  # noqa: S102 - our own page
            printed = output.getvalue()
            for promised in re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE):
                assert promised in printed


def test_pages_quote_the_figures_as_they_are_now():
    """If not: python docs/figures.py."""
    figures = script(DOCS / "figures.py")
    for name in figures.PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "<!-- copied:" in text
        assert figures.with_figures(text) == text, name


def test_the_page_on_audits_names_the_test_of_every_field():
    page = DOCS / "audit.md"
    if not page.exists():
        pytest.skip("there is no docs folder beside the tests")
    text = page.read_text(encoding="utf-8")
    _, listed = text.split("## Fields of the page, and their tests\n")
    rows = re.findall(r"^\| [^|]+ \| (`.*`) \|$", listed, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(.*?)`", row)]
    tests = (ROOT / "tests" / "audit" / "test_page_fields.py").read_text(encoding="utf-8")
    assert sorted(named) == sorted(re.findall(r'^@field\("(.*)"\)$', tests, re.MULTILINE))


def test_the_readme_is_short():
    readme = ROOT / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) < 150


def test_the_tutorial_runs(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    path = DOCS / "tutorial.ipynb"
    if not path.exists():
        pytest.skip("there is no docs folder beside the tests")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # they are made where it is read
    monkeypatch.delenv("MPLBACKEND", raising=False)  # it would keep pictures out of the notebook
    client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    shown = "".join(output.get("text", "") for output in outputs)
    assert [output for output in outputs if output.get("name") == "stderr"] == []
    # What its text says of the noise.
    assert not re.search(r"noise \d.*\*", shown)
    assert "read again and equal: True" in shown
    assert sum("image/png" in output.get("data", ()) for output in outputs) == 3


def test_dead_links_are_found(tmp_path):
    check = script(DOCS / "check_links.py")
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    (tmp_path / "index.html").write_text(
        '<h1 id="top">Start</h1> <a href="other.html#here">good</a> <a href="#top">good</a>'
        '<a href="https://example.org/nowhere">elsewhere</a> <img src="other.html">'
    )
    assert check.dead_links(tmp_path) == []
    (tmp_path / "bad.html").write_text(
        '<a href="missing.html">1</a> <a href="other.html#gone">2</a> <img src="no.png">'
    )
    assert check.dead_links(tmp_path) == [
        "bad.html: missing.html", "bad.html: other.html#gone", "bad.html: no.png",
    ]  # fmt: skip
    assert check.dead_links(tmp_path / "empty") != []


def test_every_example_is_in_the_gallery():
    order = script(DOCS / "_extensions" / "reading_order.py")
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"demo"}
    assert scripts == set(order.GALLERY)
    assert len(scripts) >= 10
