"""Text from files and users, made fit to print."""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """Text that cannot command the terminal: control characters as their escapes."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text
    )


def say(message: object, kind: str = "") -> None:
    """One line to the user, beside what a pipe carries on."""
    line = printable(" ".join(str(message).split()))
    print(f"{kind}: {line}" if kind else line, file=sys.stderr)
