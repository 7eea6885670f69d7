"""Results in the files of other programs: Excel, Word, LaTeX and MLflow.

Numbers come from the tables of a result (`_tables.py`), pages from its document
(`sfit.report._blocks`). The libraries that write the files are imported when they are needed.
"""

from sfit._export._excel import write_workbook
from sfit._export._latex import as_latex
from sfit._export._mlflow import Logged, log_to_mlflow
from sfit._export._numbers import metrics_of, params_of
from sfit._export._tables import tables_of
from sfit._export._word import write_word

__all__ = [
    "Logged",
    "as_latex",
    "log_to_mlflow",
    "metrics_of",
    "params_of",
    "tables_of",
    "write_word",
    "write_workbook",
]
