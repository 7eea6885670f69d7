"""What is installed: one version, quick to import, and a remedy for every optional part."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import sfit

ROOT = Path(__file__).parent.parent

DEPENDENCIES = ("numpy", "scipy", "sklearn", "pandas", "narwhals", "joblib", "tqdm")

# Optional feature -> how it is used, and the extra that its error names.
OPTIONAL = {
    "plot": ("result.plot()", "plot"),
    "display": ("sfit.plotting.SignificanceBetaDisplay(result).plot()", "plot"),
    "report": ("result.to_html()", "report"),
    "Markdown": ("result.to_markdown()", "report"),
    "Excel": ("result.to_excel('result.xlsx')", "excel"),
    "Word": ("result.to_docx('report.docx')", "word"),
    "MLflow": ("result.log_mlflow()", "mlflow"),
    "Parquet": ("sfit.feature_significance(model, 'rows.parquet', 'y')", "parquet"),
    "torch": ("sfit.models.torch_model(object())", "torch"),
    "ONNX": ("sfit.feature_significance('model.onnx', X, y)", "onnx"),
    "study": ("sfit.studies.run('simulation', fast=True)", "torch"),
}

# Blocks every optional library, as if none were installed, and uses each feature.
WITHOUT = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {libraries!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
import json, sfit, sfit.plotting, sfit.studies
X, y = sfit.simulate.interactions(200, random_state=0)
model = sfit.simulate.interactions_mean
result = sfit.feature_significance(model, X, y)
said = {{}}
for feature, use in {uses!r}.items():
    try:
        eval(use)
        said[feature] = "nothing"
    except Exception as error:
        said[feature] = f"{{type(error).__name__}}: {{error}}"
print(json.dumps(said))
"""
LIBRARIES = [
    "catboost", "dask", "distributed", "docx", "jinja2", "keras", "lightgbm", "matplotlib",
    "mlflow", "onnx", "onnxruntime", "openpyxl", "polars", "pyarrow", "rich", "skops", "skorch", "torch", "typer", "xgboost",
]  # fmt: skip


def run(code, *flags, **options):
    """A program in a Python of its own."""
    command = [sys.executable, *flags, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options)


@pytest.fixture(scope="module")
def said_without(tmp_path_factory):
    """What each optional feature says in a Python without optional libraries."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "rows.parquet").write_bytes(b"PAR1")
    (folder / "model.onnx").write_bytes(b"")
    uses = {feature: use for feature, (use, _) in OPTIONAL.items()}
    return json.loads(run(WITHOUT.format(libraries=LIBRARIES, uses=uses), cwd=folder).stdout)


@pytest.mark.parametrize("feature", OPTIONAL)
def test_what_is_missing_names_its_remedy(feature, said_without):
    said, (_, extra) = said_without[feature], OPTIONAL[feature]
    assert said.startswith("MissingDependencyError: ")
    assert re.search(rf"pip install [\"']sfit\[{extra}\][\"']", said)


def test_the_command_line_without_its_libraries_names_its_remedy():
    program = (
        "import sys; sys.modules['typer'] = None; sys.argv = ['sfit', 'demo']; "
        "from sfit.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert 'pip install "sfit[cli]"' in done.stdout + done.stderr


def test_import_loads_no_other_library():
    loaded = run("import sys, sfit; print(*sys.modules)").stdout.split()
    assert "sfit" in loaded
    assert not {*DEPENDENCIES, "matplotlib", "torch"} & set(loaded)


def test_our_own_modules_are_quick_to_import():
    """Everything public costs less than the libraries it needs, in one and the same process."""
    everything = f"import {', '.join(DEPENDENCIES)}\nimport sfit\nfor name in sfit.__all__: getattr(sfit, name)"
    own = others = 0
    for line in run(everything, "-X", "importtime").stderr.splitlines():
        if match := re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", line):
            microseconds, module = int(match[1]), match[2]
            if module.split(".")[0] == "sfit":
                own += microseconds
            else:
                others += microseconds
    assert 0 < own < others


def test_one_version():
    assert version("sfit") == sfit.__version__


def test_the_changelog_begins_with_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)[1]
    assert newest == sfit.__version__


def test_no_other_file_holds_the_version():
    """hatchling reads it from the package; a second place would fall behind."""
    project = ROOT / "pyproject.toml"
    assert 'dynamic = ["version"]' in project.read_text(encoding="utf-8")
    assert not re.search(r"^version", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
