"""Copy tables of figures to the pages that quote them, from the pages where they were made.

    python docs/figures.py

A page marks the place with ``<!-- copied: PAGE, HEADING -->`` and ``<!-- end -->``; between them goes
the first table below the heading that starts with HEADING. ``, rows A; B`` behind it quotes these rows
only, named by their first two cells.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/compared.md")
PLACE = re.compile(
    r"(<!-- copied: (\S+), ([^,\n]+?)(?:, rows (.+?))? -->\n)(.*?)(<!-- end -->)", re.S
)


def table_below(page: str, heading: str) -> list[str]:
    """The lines of the first table below a heading."""
    *_, below = re.split(rf"(^#+ {re.escape(heading)}.*\n)", page, maxsplit=1, flags=re.M)
    return re.search(r"(^\|.*\n)+", below, re.M).group().splitlines()


def with_figures(text: str) -> str:
    """A page with the tables it quotes as they are now."""

    def fill(place: re.Match) -> str:
        start, source, heading, rows, _, end = place.groups()
        table = table_below((ROOT / source).read_text(encoding="utf-8"), heading)
        body = table[2:]
        if rows:
            by_name = {" ".join(line.split(" | ")[:2])[2:]: line for line in body}
            body = [by_name[name] for name in rows.split("; ")]
        return start + "\n" + "\n".join([*table[:2], *body]) + "\n\n" + end

    return PLACE.sub(fill, text)


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_figures(path.read_text(encoding="utf-8")), encoding="utf-8")
