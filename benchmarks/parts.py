"""What the parts of one call take: clocks around functions of the library while a whole call runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

PARTS = {
    "checks, and the range of each column": ("sfit._feature_significance", "prepare"),
    "a look at the model's output, and reading its layers": ("sfit.sample", "Sample.evaluation"),
    "the rounding rule: 64 rows, one at a time": ("sfit.sample", "rounding_noise"),
    "polylines": ("sfit.restrict._route", "make_polylines"),
    "verifying them against the model": ("sfit.restrict", "not_reproduced"),
    "looking rows up, losses and counts": ("sfit._measure", "_tallies"),
    "order statistics": ("sfit._sign_test", "SignStatistic.conclude"),
}
"""A function for each part; none of them calls another, but for those of INSIDE."""
INSIDE = {
    "a look at the model's output, and reading its layers": "the rounding rule: 64 rows, one at a time"
}
REST = "the rest: planning, merging, p-values, the result"


def parts_of(call: Callable[[], Any]) -> dict[str, float]:
    """Seconds of each part of a call, without its gate, which is a pass by itself."""
    spent = dict.fromkeys(PARTS, 0.0)
    with ExitStack() as stack:
        for part, (module, name) in PARTS.items():
            stack.enter_context(_clock(module, name, spent, part))
        before = dict(spent)
        measure = import_module("sfit._feature_significance").measure

        def without_gate(evaluation: Any, questions: Any, label: str, **options: Any) -> Any:
            before.update(spent)
            evidence = measure(evaluation, questions, label, **options)
            if label == "gate":
                spent.update(before)
            return evidence

        stack.enter_context(patch("sfit._feature_significance.measure", without_gate))
        started = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - started
    gate = sum(s["seconds"] for s in answer.run["stages"] if s["stage"] == "gate")
    for outer, inner in INSIDE.items():
        spent[outer] -= spent[inner]
    return spent | {REST: seconds - gate - sum(spent.values())}


@contextmanager
def _clock(module: str, name: str, spent: dict[str, float], part: str) -> Iterator[None]:
    owner: Any = import_module(module)
    *path, last = name.split(".")
    for step in path:
        owner = getattr(owner, step)
    function = getattr(owner, last)

    def timed(*args: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            spent[part] += time.perf_counter() - started

    with patch.object(owner, last, timed):
        yield
