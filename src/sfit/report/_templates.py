"""What both pages share: their templates, their policy, and text made safe for each format."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from sfit.exceptions import MissingDependencyError

# Nothing is loaded from outside, and only the page's one script and one style run, identified by
# their hashes: should a name ever escape the escaping, the browser would still not run it.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)

BREAKS = re.compile(r"(?<=_)(?=[^_])|(?<=[^\W\d_][.\-/])(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
"""Where a long name may go on in the next line: after _, within dotted names, in camelCase."""


def render_page(template: str, content: Mapping[str, Any]) -> str:
    """A self-contained page."""
    style, script = _file("page.css"), _file("page.js")
    return str(
        _environment()
        .get_template(template)
        .render(
            content,
            style=_unescaped(style),
            script=_unescaped(script),
            policy=POLICY.format(script=_hash(script), style=_hash(style)),
        )
    )


def render_markdown(template: str, content: Mapping[str, Any]) -> str:
    """A Markdown text; every expression of the template passes through `_in_markdown`."""
    environment = _environment().overlay(autoescape=False, finalize=_in_markdown)
    return str(environment.get_template(template).render(content))


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            'reports need Jinja2 and matplotlib: pip install "sfit[report]".'
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sfit.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"markup": _unescaped, "breakable": breakable, "fenced": fenced}
    return environment


def _file(name: str) -> str:
    folder = resources.files("sfit.report").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _unescaped(text: str) -> Any:
    """Text from this package that is markup, a style or a script."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - never text from the user


def breakable(text: Any) -> Any:
    """Escaped text whose long names may break; a copy of it has no breaks."""
    from markupsafe import Markup

    return Markup("<wbr>").join(BREAKS.split(str(text)))


def fenced(text: str) -> Any:
    """Code for Markdown, verbatim: its fence is longer than every run of backticks in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return _unescaped(f"{fence}\n{text}\n{fence}")


def _in_markdown(value: Any) -> str:
    """Text that Markdown displays literally, in tables too; fenced code is not changed."""
    if hasattr(value, "__html__"):
        return str(value)
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~$&])", r"\\\1", str(value))
