"""No function is too long or too complex; the exceptions are listed, and the lists only shrink."""

from pathlib import Path

import pytest
from limits import MAX_COMPLEXITY, MAX_LINES, complexity, functions, length

import sfit

SOURCE = Path(sfit.__file__).parent

TOO_LONG: set[str] = set()
TOO_COMPLEX: set[str] = set()
"""Functions that are still above a limit. Delete a line when its function is below; add none."""

ENTRANCES = {
    "_feature_significance.py:feature_significance": 45,
    "_beta.py:choose_beta": 60,
    "_loco.py:loco_significance": 60,
    "_cross.py:cross_significance": 45,
}
"""The public functions read like a table of contents: at most so many lines of body."""


@pytest.mark.parametrize(
    ("measure", "limit", "exceptions"),
    [(length, MAX_LINES, TOO_LONG), (complexity, MAX_COMPLEXITY, TOO_COMPLEX)],
    ids=["length", "complexity"],
)
def test_functions_stay_below_the_limit(measure, limit, exceptions):
    """Exactly the listed exceptions are above it."""
    above = {name for name, node in functions(SOURCE) if measure(node) > limit}
    assert above - exceptions == set(), "split these functions"
    assert exceptions - above == set(), "delete these from the list: they are below the limit"


@pytest.mark.parametrize("name", ENTRANCES)
def test_the_public_functions_are_short(name):
    assert length(dict(functions(SOURCE))[name]) <= ENTRANCES[name]


EXAMPLE = '''
class Kind:
    def method(self, values):
        """Two lines
        of text."""
        # a comment before the first statement

        kept = [v for v in values if v and v > 0 or v is None]
        for value in kept:
            if value:
                return value if value > 1 else 1
        else:
            kept = lambda: 0
        try:
            def inner():
                assert kept
        except (TypeError, ValueError):
            pass
        return None
'''


def test_the_measures_count_as_described(tmp_path):
    """Every kind of branch once, and the lines of the body without the docstring."""
    (tmp_path / "a.py").write_text(EXAMPLE)
    found = dict(functions(tmp_path))
    assert list(found) == ["a.py:Kind.method", "a.py:Kind.method.inner"]
    method, inner = found.values()
    assert length(method) == 12
    assert length(inner) == 1
    # Itself, comprehension and its if, and, or, for and its else, if, conditional, lambda, except,
    # the function inside and its assert.
    assert complexity(method) == 13
    assert complexity(inner) == 2
