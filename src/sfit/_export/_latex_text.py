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
    "_": r"\_\allowbreak{}",
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
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
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
    "ı": r"\i{}",
    "\u200b": r"\allowbreak{}",
    "\u200c": "",
    "\u200d": "",
}

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi",
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


def escaped(text: str) -> str:
    """Text as LaTeX prints it literally; a letter that pdfLaTeX cannot print as its code point."""
    # Composed first: an accent alone then belongs to no letter that LaTeX knows.
    letters = unicodedata.normalize("NFC", printable(text))
    joined = LIGATURES.sub("\x00", letters)
    return "".join(map(_sign, joined)).replace("\x00", "{}")


def _sign(letter: str) -> str:
    if letter in SIGNS:
        return SIGNS[letter]
    if letter == "\x00" or letter.isascii():
        return letter
    if letter in GREEK:
        return rf"$\{GREEK[letter]}$"
    base, *accents = unicodedata.normalize("NFD", letter)
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return rf"\{ACCENTS[accents[0]]}{{{base}}}"
    return rf"\texttt{{U+{ord(letter):04X}}}"
