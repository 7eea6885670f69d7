"""Single backticks in docstrings: code, and a link where they hold a public name of sfit."""

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxRole

import sfit
from sfit import exceptions, models, plotting, simulate, studies

MODULES = (sfit, models, plotting, simulate, studies, exceptions)


def addresses() -> dict[str, str]:
    """Public names, with and without their module, and the full names they stand for."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            if callable(getattr(module, name)):
                full = f"{module.__name__}.{name}"
                for short in (name, full, full.removeprefix("sfit.")):
                    found.setdefault(short, full)
    return found


class LinkedCode(SphinxRole):
    """A name that the API lists becomes a link to its page; anything else is code."""

    names = addresses()

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        full = self.names.get(self.text)
        # A page does not link to itself.
        if full is None or self.env.current_document.docname == f"api/{full}":
            return [nodes.literal(self.rawtext, self.text)], []
        role: Callable[..., Any] = XRefRole()
        return role("py:obj", self.rawtext, f"{self.text} <{full}>", self.lineno, self.inliner)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("linked-code", LinkedCode())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
