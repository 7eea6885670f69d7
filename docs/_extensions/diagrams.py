"""Mermaid diagrams as pictures: drawn by docs/diagrams.py, so the site loads nothing from elsewhere."""

import re
from hashlib import blake2b
from pathlib import Path

from sphinx.application import Sphinx

BLOCK = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)


def picture_name(diagram: str) -> str:
    """A file name that changes with the text of a diagram."""
    return f"diagram-{blake2b(diagram.encode(), digest_size=6).hexdigest()}.svg"


def with_pictures(text: str, images: Path) -> str:
    """A page whose diagrams are replaced by their pictures."""

    def picture(block: re.Match[str]) -> str:
        name = picture_name(block.group(1))
        if not (images / name).is_file():
            raise FileNotFoundError(f"docs/images/{name}: run python docs/diagrams.py")
        return f"![The flow of one call through the packages](/images/{name})"

    return BLOCK.sub(picture, text)


def include(app: Sphinx, path: Path, docname: str, source: list[str]) -> None:
    source[0] = with_pictures(source[0], Path(app.srcdir, "images"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("include-read", include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
