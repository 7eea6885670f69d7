"""The words of each test: what it estimates, what "significant" means, and its own columns.

Summary, plots, report and program read them here; none of them asks which test it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfit._set_tests import MeanSetTest, PermutationSetTest, SetTest
from sfit._words._mean import mean_words
from sfit._words._permutation import permutation_words
from sfit._words._sign import sign_words
from sfit._words._terms import Column, Words, at_level, guarantee, resolution
from sfit._words._variants import NONADDITIVE, nonadditive, of_chain, of_interactions

if TYPE_CHECKING:
    from sfit._result import SFITResult

__all__ = [
    "NONADDITIVE",
    "WORDS",
    "Column",
    "Words",
    "at_level",
    "guarantee",
    "nonadditive",
    "resolution",
    "words_of",
]


WORDS: dict[type, Callable[[SFITResult], Words]] = {
    SetTest: sign_words,
    PermutationSetTest: permutation_words,
    MeanSetTest: mean_words,
}
"""For each kind of record, the function that chooses the words of a result."""


def words_of(result: SFITResult) -> Words:
    """The words of the test behind a result."""
    kind = type(result.tests[0]) if result.tests else SetTest
    words = WORDS[kind](result)
    words = words if result.settings.interaction is None else of_interactions(words)
    return words if result.settings.n_folds is None else of_chain(words)
