"""Text from files and users, made fit to print."""

from __future__ import annotations

import sys

from sfit._summary import printable


def say(message: object, kind: str = "") -> None:
    """One line to the user, beside what a pipe carries on."""
    line = printable(" ".join(str(message).split()))
    print(f"{kind}: {line}" if kind else line, file=sys.stderr)
