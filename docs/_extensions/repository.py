"""Pages that are read in the repository as well: their links and folders, as the site has them."""

import re
from pathlib import Path

from sphinx.application import Sphinx

# Where files outside the folder of the docs are shown.
PAGES = {
    "README.md": "/index.md",
    "CHANGELOG.md": "/changelog.md",
    "CONTRIBUTING.md": "/contributing.md",
    "SECURITY.md": "/security.md",
    "benchmarks/RESULTS.md": "/speed_measured.md",
    "benchmarks/SCALE.md": "/scale_measured.md",
}
# Pages that stand for a folder of pages.
FOLDERS = {"paper/README": "paper", "cases/README": "cases", "trust": "trust"}


def linked(text: str, prefix: str) -> str:
    """A text whose links to such files lead to their pages; `prefix` stands before their names."""
    for name, page in PAGES.items():
        text = re.sub(rf"\]\({prefix}{re.escape(name)}(?=[#)])", f"]({page}", text)
    return text


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """A page of the docs, with the pages of its folder below it."""
    source[0] = linked(source[0], r"(?:\.\./)+")
    folder = FOLDERS.get(docname)
    if folder and any(Path(app.srcdir, folder).glob("*.md")):
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n/{folder}/*\n```\n"


def include(app: Sphinx, path: Path, docname: str, source: list[str]) -> None:
    """A file of the repository that a page includes: its links start at the root."""
    source[0] = linked(source[0], "").replace("](docs/", "](/")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("include-read", include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
