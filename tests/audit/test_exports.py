"""An audit in the files of other programs."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import sfit


@pytest.fixture(scope="module")
def audited():
    rng = np.random.default_rng(0)
    names = ["=income", "late_payments", "age & more", "noise"]
    X = pd.DataFrame(rng.normal(size=(1_200, 4)), columns=names)
    y = (X.iloc[:, 0] + X.iloc[:, 1] + rng.logistic(size=1_200) > 0).astype(int)
    model = LogisticRegression().fit(X[:600], y[:600])
    return sfit.audit(
        model,
        X[600:],
        y[600:],
        train=X[:600],
        author="A. <Validator>",
        title="Loans",
        n_background=5,
        random_state=0,
    )


def test_excel_holds_every_table(audited, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    audited.to_excel(tmp_path / "audit.xlsx")
    book = openpyxl.load_workbook(tmp_path / "audit.xlsx")
    tables = audited.tables()
    assert book.sheetnames == list(tables)
    assert [sheet.max_row for sheet in book] == [len(frame) + 1 for frame in tables.values()]
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert "f" not in {cell.data_type for cell in cells}
    assert "=income" in {cell.value for cell in cells}


def test_word_holds_the_document(audited, tmp_path):
    docx = pytest.importorskip("docx")
    pytest.importorskip("matplotlib")
    audited.to_docx(tmp_path / "audit.docx")
    file = docx.Document(tmp_path / "audit.docx")
    about = file.core_properties
    made = datetime.strptime(audited.settings.made, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    assert (about.title, about.author) == (audited.document().title, "A. <Validator>")
    assert about.created.replace(tzinfo=UTC) == made
    headings = [p.text for p in file.paragraphs if p.style.name == "Heading 1"]
    assert headings == [section.title for section in audited.document().sections]
    sfit.Audit.from_json(audited.to_json()).to_docx(tmp_path / "again.docx")
    assert (tmp_path / "again.docx").read_bytes() == (tmp_path / "audit.docx").read_bytes()


def test_latex_holds_the_tables(audited):
    latex = audited.to_latex()
    assert r"age \& more" in latex
    assert r"\begin{tabular}" in audited.to_latex(table="performance")


def test_mlflow_holds_the_audit(audited, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    try:
        run_id = audited.log_mlflow(prefix="audit")
        client = mlflow.MlflowClient()
        run = client.get_run(run_id)
        pages = {entry.path for entry in client.list_artifacts(run_id, "audit")}
        page = client.download_artifacts(run_id, "audit/report.html", tmp_path)
    finally:
        mlflow.set_tracking_uri(before)
    assert run.data.metrics["audit.n_significant"] == len(audited.selected)
    finite = [value for value in audited.metrics().values() if np.isfinite(value)]
    assert sorted(run.data.metrics.values()) == sorted(finite)
    assert run.data.params["audit.author"] == "A. <Validator>"
    assert pages == {"audit/report.html", "audit/result.json", "audit/tables"}
    with open(page, encoding="utf-8") as file:
        assert file.read() == audited.to_html()
