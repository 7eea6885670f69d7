"""What is kept of a result, and how two of them differ."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import sfit

TEXTS = frozenset({"caveats", "notes", "reference", "reference_origin", "test", "warnings"})
"""Fields that hold sentences for readers, which may be reworded."""

PROBABILITIES = ("p_value", "p_adjusted")
"""Fields that follow from counts, however small they are."""


def content(result: Any) -> Any:
    """A result as JSON holds it, without texts: what it counted, computed, decided and was asked."""
    if isinstance(result, dict):
        return {name: content(value) for name, value in result.items()}
    if isinstance(result, sfit.BetaChoice):
        return json.loads(json.dumps(asdict(result), allow_nan=False))
    if hasattr(result, "to_json"):
        return _without_texts(json.loads(result.to_json())["result"])
    return result


def differences(expected: Any, found: Any, tolerance: float = 0.0, path: str = "") -> Iterator[str]:
    """Where a result is not what is expected; fields that are new do not count.

    Floats may differ by `tolerance`, relatively, and where they are differences or ratios of losses
    also absolutely: losses are of size 1 here, and round before they are subtracted. All else is
    equal and of the same type. Without a tolerance the text of every number is the same.
    """
    if type(expected) is not type(found):
        yield f"{path}: expected {expected!r}, found {found!r}"
    elif isinstance(expected, dict):
        for name, value in expected.items():
            if name in found:
                yield from differences(value, found[name], tolerance, f"{path}.{name}")
            else:
                yield f"{path}.{name} is missing"
    elif isinstance(expected, list):
        if len(expected) != len(found):
            yield f"{path}: expected {len(expected)} entries, found {len(found)}"
        for number, pair in enumerate(zip(expected, found, strict=False)):
            yield from differences(*pair, tolerance, f"{path}[{number}]")
    elif isinstance(expected, float) and tolerance:
        absolute = 0.0 if path.endswith(PROBABILITIES) else tolerance
        if not math.isclose(expected, found, rel_tol=tolerance, abs_tol=absolute):
            yield f"{path}: expected {expected!r}, found {found!r}"
    # As written: 0.0 is not -0.0.
    elif repr(expected) != repr(found):
        yield f"{path}: expected {expected!r}, found {found!r}"


def new_fields(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Fields that the expected result does not have."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, value in found.items():
            if name in expected:
                yield from new_fields(expected[name], value, f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(expected, list) and isinstance(found, list):
        for pair in zip(expected, found, strict=False):
            yield from new_fields(*pair, f"{path}[]")


def _without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_texts(item) for name, item in value.items() if name not in TEXTS}
    return [_without_texts(item) for item in value] if isinstance(value, list) else value
