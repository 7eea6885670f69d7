"""Draw the Mermaid diagrams of CONTRIBUTING.md into docs/images: python docs/diagrams.py

Needs npm (for Mermaid itself) and Chromium; run it after a change of a diagram. A page whose
diagram has no picture stops the build of the site.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

from diagrams import BLOCK, picture_name  # noqa: E402

SETTINGS = {
    "startOnLoad": False,
    "theme": "neutral",
    "htmlLabels": False,
    "flowchart": {"htmlLabels": False},
}


def main() -> None:
    diagrams = BLOCK.findall((DOCS.parent / "CONTRIBUTING.md").read_text())
    for old in (DOCS / "images").glob("diagram-*.svg"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        library = mermaid(Path(folder))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        page.set_content("<div id='place'></div>")
        page.add_script_tag(path=str(library))
        page.evaluate(f"mermaid.initialize({json.dumps(SETTINGS)})")
        for diagram in diagrams:
            call = "async (text) => (await mermaid.render('drawn', text)).svg"
            svg = page.evaluate(call, diagram)
            (DOCS / "images" / picture_name(diagram)).write_text(svg + "\n")
            print(f"wrote docs/images/{picture_name(diagram)}")
        browser.close()


def mermaid(folder: Path) -> Path:
    """The library, as the npm registry has it."""
    packed = subprocess.run(
        ["npm", "pack", "mermaid@11", "--silent"],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package" / "dist" / "mermaid.min.js"


if __name__ == "__main__":
    main()
