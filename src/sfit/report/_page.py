"""The report as one self-contained page, and as Markdown."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit.compare import Comparison
from sfit.exceptions import MissingDependencyError
from sfit.report._comparison import describe_comparison
from sfit.report._describe import describe
from sfit.report._figures import Figure, figures, figures_of_comparison, parts_side_by_side

# Nothing is loaded from outside, and only the page's one script and one style run, identified by
# their hashes: should a name ever escape the escaping, the browser would still not run it.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)

MOST_PARTS_IN_FULL = 6
"""With more parts, each part gets its importance plot only, to keep the page small."""


AnyResult = SFITResult | PartitionedResult | Comparison


def as_page(result: AnyResult) -> str:
    """The whole report as HTML."""
    template = _environment().get_template("page.html.jinja")
    style, script = _file("page.css"), _file("page.js")
    report = _described(result)
    for part, drawn in zip(report["parts"], _pictures(result), strict=True):
        part["figures"] = drawn if len(report["parts"]) <= MOST_PARTS_IN_FULL else drawn[:1]
    overview = parts_side_by_side(result, "all") if isinstance(result, PartitionedResult) else None
    return template.render(
        report,
        overview=overview,
        style=_unescaped(style),
        script=_unescaped(script),
        policy=POLICY.format(script=_hash(script), style=_hash(style)),
        unescaped=_unescaped,
    )


def as_markdown(result: AnyResult) -> str:
    """The report as Markdown, without pictures."""
    # Every expression of the template passes through `_in_markdown`.
    environment = _environment().overlay(autoescape=False, finalize=_in_markdown)
    return environment.get_template("page.md.jinja").render(_described(result))


def _described(result: AnyResult) -> dict[str, Any]:
    return describe_comparison(result) if isinstance(result, Comparison) else describe(result)


def _pictures(result: AnyResult) -> list[list[Figure]]:
    """The pictures of each part."""
    if isinstance(result, Comparison):
        return [figures_of_comparison(result, "p1")]
    parts = [one for _, one in result.parts] if isinstance(result, PartitionedResult) else [result]
    return [figures(part, f"p{number}") for number, part in enumerate(parts, 1)]


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependencyError(
            'reports need Jinja2 and matplotlib: pip install "sfit[report]".'
        ) from error
    return jinja2.Environment(
        loader=jinja2.PackageLoader("sfit.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


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


def _in_markdown(value: Any) -> str:
    """Text that Markdown displays literally, in tables too."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~$&])", r"\\\1", str(value))
