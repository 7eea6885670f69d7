"""LightGBM models as text: what LightGBM itself reads without looking."""

from __future__ import annotations

import re


def check_parameters(text: str) -> None:
    """LightGBM looks behind the colon of every parameter, also where there is none.

    What it finds there is chance: it may crash now, or only the next time.
    """
    for section in text.split("\nparameters:")[1:]:
        for line in section.partition("\nend of parameters")[0].split("\n"):
            if line and not re.fullmatch(r"\[\w+: .*\]", line):
                raise ValueError(f"a line of its parameters is damaged: {line[:60]!r}")
