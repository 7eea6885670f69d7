"""Text that LaTeX prints literally, with pdfLaTeX and without further packages."""

from __future__ import annotations

import re
import unicodedata

from sfit._text import printable

# Brackets and stars are arguments after the `\\` that ends a row; <, > and | are other signs in
# LaTeX's first font; quotes may be active under babel.
SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "\N{NO-BREAK SPACE}": "~",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "→": r"$\rightarrow$",
    "√": r"$\surd$",
    "°": r"$^\circ$",
    "§": r"\S{}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "\u0131": r"\i{}",
    "\u200c": "",
    "\u200d": "",
}

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "\u03b9": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "\u03c5": "upsilon", "φ": "phi",
    "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta",
    "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip

ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
"""Combining accents and their commands. An ogonek is not among them: the first font has none."""

LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)")
"""Between two hyphens, apostrophes or commas, which LaTeX would join."""
POWER = re.compile(r"(<\s)?(-?[\d.]+)e([+-]?\d+)")
BREAK = r"\allowbreak{}"
LONG_RUN = 12
"""Letters in a row after which a long name may break."""


def escaped(text: str, *, breaks: bool = False) -> str:
    """Text as LaTeX prints it literally; a letter that pdfLaTeX cannot print as its code point.

    With `breaks`, lines may break after every sign and within long words.
    """
    # Composed first: LaTeX has commands for accents over a letter, and not for accents alone.
    letters = unicodedata.normalize("NFC", printable(text))
    joined = LIGATURES.sub("\x00", letters)
    written, run = [], 0
    for letter in joined:
        run = run + 1 if letter.isalnum() else 0
        written.append(_sign(letter))
        if breaks and letter != " " and (run == 0 or run % LONG_RUN == 0):
            written.append(BREAK)
    return "".join(written).replace("\x00", "{}")


def number(text: str) -> str:
    """A number; 2.8e-44 as a power of ten."""
    match = POWER.fullmatch(text.replace("−", "-"))
    if match is None:
        return escaped(text)
    below, digits, exponent = match.groups()
    return rf"${'<' if below else ''}{digits}\times10^{{{int(exponent)}}}$"


def _sign(letter: str) -> str:
    if letter in SIGNS:
        return SIGNS[letter]
    if letter == "\x00" or letter.isascii():
        return letter
    if letter in GREEK:
        return rf"$\{GREEK[letter]}$"
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[1] in ACCENTS and parts[0].isascii() and parts[0].isalpha():
        return rf"\{ACCENTS[parts[1]]}{{{parts[0]}}}"
    return rf"\texttt{{U+{ord(letter):04X}}}"
