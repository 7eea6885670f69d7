"""Numbers, p-values and names as text, for every view."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

SMALLEST_P = 1e-300
"""A smaller p-value is printed as a bound: floats underflow soon after, and no p-value is 0."""

LONGEST_NUMBER = 16
"""Characters of a number in a column."""


def stars(p: float) -> str:
    """The usual marks: three stars below 0.001, two below 0.01, one below 0.05."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def number(value: float) -> str:
    """Four significant digits; a dash for NaN."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def percent(share: float) -> str:
    """A share in per cent, in as few digits as needed; 100 only if the share is 1."""
    texts = (f"{100 * share:.{digits}g}" for digits in range(3, 18))
    return next(t for t in texts if t != "100" or share == 1) + "\N{NO-BREAK SPACE}%"


def p_text(p: float) -> str:
    """A p-value in three significant digits, or its upper bound."""
    return f"{p:.3g}" if p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"


def p_relation(p: float) -> str:
    """A p-value for a sentence: p = 0.0123, or p < 1e-300."""
    return f"p = {p_text(p)}" if p >= SMALLEST_P else f"p {p_text(p)}"


def printable(name: Any) -> str:
    """Text on one line, without control codes that act on a terminal or reverse the text beside it.

    Zero-width joiners stay, because some scripts need them; other spaces become plain spaces; other
    unprintable characters are escaped.
    """
    text = str(name)
    return (
        text if text.isascii() and text.isprintable() else "".join(map(_printable_character, text))
    )


def _printable_character(sign: str) -> str:
    if sign.isprintable() or sign in "\u200c\u200d":
        return sign
    return " " if unicodedata.category(sign) == "Zs" else ascii(sign)[1:-1]


def shortened(text: str, longest: int, mark: str = "…") -> str:
    """The beginning and the end of a long text, because names often differ at their end only."""
    if len(text) <= longest:
        return text
    half = max(1, (longest - len(mark)) // 2)
    return f"{text[:half]}{mark}{text[-half:]}"


def set_name(term: Iterable[str]) -> str:
    """A set of features for a sentence or a table: a + b."""
    return " + ".join(map(printable, term))


def sentence(text: str, names: Iterable[str] = ()) -> str:
    """A text that starts with a capital letter, unless it starts with one of these names."""
    for name in map(printable, names):
        if text.startswith(name) and not text[len(name) : len(name) + 1].isalnum():
            return text
    return f"{text[:1].upper()}{text[1:]}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names for a sentence: a, b and c; those beyond `most` are counted."""
    names = [printable(name) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def fixed(value: float, decimals: int) -> str:
    """A number in fixed decimals for a column; a tiny or huge one in scientific notation."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    tiny = 0 < abs(value) < 0.5 * 10**-decimals
    text = f"{value:.1e}" if tiny else f"{value:,.{decimals}f}"
    text = text if len(text) <= LONGEST_NUMBER else f"{value:.4e}"
    return text.replace("-", "−")


def share_text(share: float, decimals: int = 1) -> str:
    """A share in per cent, for a column; 0 only for none, and 100 only for all."""
    text, step = f"{share:.{decimals}%}", 10.0**-decimals
    if 0 < share < 1 and float(text[:-1]) in (0.0, 100.0):
        text = f"< {step:.{decimals}f}%" if share < 0.5 else f"> {100 - step:.{decimals}f}%"
    return text.replace("%", " %") if decimals else text
