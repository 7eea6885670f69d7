"""LightGBM models as text: checks that LightGBM omits."""

from __future__ import annotations

import re


def check_parameters(text: str) -> None:
    """Refuse parameters without a colon: LightGBM would read past their end.

    Whether that crashes is a matter of chance.
    """
    for section in text.split("\nparameters:")[1:]:
        for line in section.partition("\nend of parameters")[0].split("\n"):
            if line and not re.fullmatch(r"\[\w+: .*\]", line):
                raise ValueError(f"a line of its parameters is damaged: {line[:60]!r}")
