"""Views that every result has: text, an HTML page, Markdown, the display in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfit._document import save


class Reported:
    """A result that `sfit.report` can render."""

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
