"""Reports: one description of a result, rendered as a page, as Markdown and for a notebook.

`_describe.py` turns a result into plain values, `_figures.py` into SVG; `_page.py` lays both out
with the files in `templates/`. All text from the user is escaped.
"""

from sfit.report._notebook import for_notebook
from sfit.report._page import as_markdown, as_page

__all__ = ["as_markdown", "as_page", "for_notebook"]
