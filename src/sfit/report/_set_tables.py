"""The tables of sets of a report: columns with keys, headings and kinds, and rows of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from sfit._caveats import corrected_verdicts, lost_to_correction
from sfit._result import Settings, SFITResult
from sfit._set_tests import AnySetTest, base_names, is_additive
from sfit._summary import by_order
from sfit._text import fixed, p_text, printable, set_name, share_text, stars
from sfit._words import NONADDITIVE, Column, words_of

MOST_ROWS = 600
"""Sets that the tables of a report list; the report counts the others."""


LOST = "not after correction"
"""The verdict on a set, or a row of a comparison, that only the correction makes insignificant."""


def tables_of(result: SFITResult, most: int) -> list[dict[str, Any]]:
    """The tests of at most about `most` sets, and their mean losses."""
    tests, hidden = _first_sets(result, most)
    notes = left_out_notes(len(hidden), sum(test.significant for test in hidden), "sets")
    corrected = [f"{text}."] if (text := corrected_verdicts(result.settings)) else []
    return [
        _table("All sets tested", tests, _columns(result, tests), [*corrected, *notes]),
        _table("Mean losses and rows", tests, _effect_columns(tests), notes),
    ]


def decimals_for(values: Iterable[float]) -> int:
    """Decimals for a column of these numbers: three digits of the median magnitude."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    magnitude = math.floor(math.log10(float(np.median(sizes)))) if sizes else 0
    return min(max(2 - magnitude, 0), 6)


def left_out_notes(n: int, n_marked: int, rows: str, mark: str = "significant") -> list[str]:
    """The line below a table that does not list everything; none if it does."""
    if not n:
        return []
    return [
        f"{n:,} more {rows} are not in this table, {n_marked or 'none'} of them {mark}: to_json "
        f"writes all {rows}."
    ]


def _first_sets(result: SFITResult, most: int) -> tuple[list[AnySetTest], list[AnySetTest]]:
    """At most about `most` sets, shared evenly among the orders; and the other sets."""
    families, crowded = by_order(result), len(result.tests) > most
    first: list[AnySetTest] = []
    hidden: list[AnySetTest] = []
    for place, family in enumerate(families):
        share = (most - len(first)) // (len(families) - place) if crowded else len(family)
        first += family[: max(1, share)]
        hidden += family[max(1, share) :]
    return first, hidden


def _base(test: AnySetTest) -> str:
    """The base of a test; a long base as its number of features."""
    base = base_names(test)
    if len(base) > 4:
        return f"{len(base)} others"
    return ", ".join(map(printable, base)) or "nothing"


ORDER = Column("order", "Order", lambda test: test.order, lambda test: str(test.order))
TERM = Column("term", "Set", lambda test: math.nan, lambda test: set_name(test.term))
BASE = Column("base", "Over", lambda test: math.nan, _base)
KINDS = {"term": "head", "base": "name", "significant": "verdict"}
"""Columns that do not hold numbers; `head` is the name of the row."""


def _table(
    title: str, tests: Sequence[AnySetTest], columns: Sequence[Column], notes: Sequence[str]
) -> dict[str, Any]:
    """A table of sets: a title, columns with key, heading and kind, and rows of cells."""
    return {
        "title": title,
        "rows_are": "sets",
        "mark": "significant",
        "notes": notes,
        "columns": [
            {"key": column.key, "title": column.title, "kind": KINDS.get(column.key, "number")}
            for column in columns
        ],
        "rows": [
            {
                "marked": test.significant,
                "cells": [
                    {
                        "key": column.key,
                        "kind": KINDS.get(column.key, "number"),
                        "value": _plain(column.value(test)),
                        "text": column.text(test),
                    }
                    for column in columns
                ],
            }
            for test in tests
        ],
    }


def _columns(result: SFITResult, tests: Sequence[AnySetTest]) -> list[Column]:
    """The columns of the test; their keys are those of `SFITResult.table`."""
    words, decimals = words_of(result), decimals_for(test.estimate for test in tests)
    ends = (words.key, words.estimate.capitalize()), ("ci_low", "from"), ("ci_high", "to")
    p_values = [("p_value", "p-value")]
    if result.settings.adjusted:
        p_values.append(("p_adjusted", "adjusted p"))
    return [
        ORDER,
        TERM,
        BASE,
        *(_attribute(name, title, lambda v: fixed(v, decimals)) for name, title in ends),
        *(_attribute(name, title, p_text) for name, title in p_values),
        *words.full,
        _verdict_column(result.settings),
    ]


def _verdict_column(settings: Settings) -> Column:
    def text(test: AnySetTest) -> str:
        if test.significant:
            return f"significant {stars(test.p_adjusted)}".strip()
        return LOST if lost_to_correction(test, settings) else "–"

    return Column("significant", "Verdict", lambda test: int(test.significant), text)


def _effect_columns(tests: Sequence[AnySetTest]) -> list[Column]:
    """Mean losses and moved rows, which every test has."""
    # The difference of the two losses must be visible in them.
    decimals = max(
        decimals_for(test.loss_base for test in tests), decimals_for(test.gain for test in tests)
    )
    share = [NONADDITIVE] if any(map(is_additive, tests)) else []
    return [
        ORDER,
        TERM,
        BASE,
        _attribute("loss_base", "Mean loss without", lambda v: fixed(v, decimals)),
        _attribute("loss_full", "Mean loss with", lambda v: fixed(v, decimals)),
        _attribute("gain", "Mean gain", lambda v: fixed(v, decimals)),
        *share,
        _attribute("share_moved", "Rows moved", share_text),
        _attribute("n_better", "Rows better", lambda v: f"{v:,}"),
        _attribute("n_worse", "Rows worse", lambda v: f"{v:,}"),
    ]


def _attribute(name: str, title: str, text: Callable[[Any], str]) -> Column:
    """A column that holds an attribute of the tests."""
    value = attrgetter(name)
    return Column(name, title, value, lambda test: text(value(test)))


def _plain(value: float) -> str:
    """A number as JSON and spreadsheets write it; empty for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"
