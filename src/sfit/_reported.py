"""Views that every result has: text, an HTML page, Markdown, files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfit._document import save

if TYPE_CHECKING:
    import pandas as pd

    from sfit.report._blocks import Document


class Reported:
    """A result that `sfit.report` can render, and that other programs can read."""

    def __str__(self: Any) -> str:
        return str(self.summary())

    def _repr_html_(self: Any) -> str:
        from sfit.report import for_notebook

        return for_notebook(self)

    def to_html(self: Any, path: str | Path | None = None) -> str:
        """Write a report: one self-contained page to read, sort, print and forward.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The page.
        """
        from sfit.report import as_page

        return save(as_page(self), path)

    def to_markdown(self: Any, path: str | Path | None = None) -> str:
        """Write the report as Markdown, without pictures.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.

        Returns
        -------
        str
            The report.
        """
        from sfit.report import as_markdown

        return save(as_markdown(self), path)

    # --- the content, for files and other programs -------------------------------------------

    def tables(self: Any) -> dict[str, pd.DataFrame]:
        """Every table of the result, unrounded: the tests, the settings, the caveats, and others.

        Returns
        -------
        dict of str to DataFrame
            The tables that have rows, the most important first.
        """
        from sfit._export import tables_of

        return tables_of(self)

    def metrics(self: Any) -> dict[str, float]:
        """The numbers that describe the result as a whole, such as how many sets are significant.

        Returns
        -------
        dict of str to float
            Names and numbers.
        """
        from sfit._export import metrics_of

        return metrics_of(self)

    def params(self: Any) -> dict[str, str]:
        """The settings as text.

        Returns
        -------
        dict of str to str
            Names and texts.
        """
        from sfit._export import params_of

        return params_of(self)

    def document(self: Any) -> Document:
        """The report as sections of blocks (text, tables, pictures), which `to_docx` renders.

        Returns
        -------
        Document
            Plain values; the pictures are not drawn yet.
        """
        from sfit.report._as_document import as_document

        return as_document(self)

    def to_excel(self: Any, path: str | Path) -> None:
        """Write all `tables` as the sheets of one Excel workbook.

        Parameters
        ----------
        path : path
            File to write; its name ends in ``.xlsx``.
        """
        from sfit._export import write_workbook

        write_workbook(self.tables(), path)

    def to_docx(self: Any, path: str | Path) -> None:
        """Write the report as a Word document, with the pictures.

        Parameters
        ----------
        path : path
            File to write; its name ends in ``.docx``.
        """
        from sfit._export import write_word

        write_word(self.document(), path)

    def to_latex(self: Any, path: str | Path | None = None, *, table: str | None = None) -> str:
        """Write the tables of the report as LaTeX, with booktabs.

        Parameters
        ----------
        path : path, optional
            File to write; by default none.
        table : str, optional
            Name of one table, such as ``"tests"``; by default, all tables.

        Returns
        -------
        str
            The tables. Long ones use longtable.
        """
        from sfit._export import as_latex

        return save(as_latex(self.document(), table), path)

    def log_mlflow(self: Any, *, prefix: str = "sfit") -> str:
        """Log the result to MLflow: `metrics`, `params`, `tables` as CSV, the JSON and the page.

        Parameters
        ----------
        prefix : str, default="sfit"
            Begins the names of metrics and params, and names the folder of the artifacts. Two
            results in one run need two prefixes.

        Returns
        -------
        str
            The id of the run: the active one, or else a new one, which is ended.
        """
        from sfit._export import log_to_mlflow

        return log_to_mlflow(self, prefix)
