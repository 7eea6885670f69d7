"""Messages to the user, safe to print."""

from __future__ import annotations

import sys

from sfit._text import printable


def say(message: object, kind: str = "") -> None:
    """Print one line to standard error, which a pipe does not carry."""
    line = printable(" ".join(str(message).split()))
    print(f"{kind}: {line}" if kind else line, file=sys.stderr)
