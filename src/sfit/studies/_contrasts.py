"""Contrasts asked for one by one, where a study needs more than the public call reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfit._contrast import Contrast, Question, Reveal, Term
from sfit._feature_significance import feature_significance
from sfit._measure import measure
from sfit._result import SFITResult
from sfit._session import Session
from sfit._sign_test import SignEvidence, SignStatistic
from sfit.sample import Sample


def significance(model: Any, rows: tuple[Any, Any], **asked: Any) -> SFITResult:
    """`feature_significance` of all rows together, whose answer is one result."""
    result = feature_significance(model, *rows, **asked)
    assert isinstance(result, SFITResult)  # noqa: S101 - only `by` gives several
    return result


class Asker:
    """A fitted model and its test rows, to ask for any contrast."""

    def __init__(self, sample: Sample) -> None:
        self.features, self.n = sample.features, len(sample.rows)
        self.evaluation = sample.evaluation()

    def ask(self, contrasts: Sequence[Contrast], alpha: float) -> list[SignEvidence]:
        """What all rows say about these contrasts; alpha is the level of `beta_max`."""
        questions = [Question(contrast, 0, self.n) for contrast in contrasts]
        statistic = SignStatistic(alpha)
        return measure(self.evaluation, questions, "", statistic=statistic, session=Session())

    def gate(self, found: Term) -> Contrast:
        """All features over those found, at beta = 0 (Algorithm 2)."""
        everything = self.features.everything
        return Contrast(everything - found, Reveal(found), Reveal(everything), 1, 0.0, "gate")


def single(feature: int, beta: float) -> Contrast:
    """First-order SFIT of one feature (Algorithm 1)."""
    return over(frozenset(), frozenset({feature}), beta)


def over(base: Term, term: Term, beta: float = 0.0) -> Contrast:
    """A set over some of its members."""
    return Contrast(term, Reveal(base), Reveal(term), len(term), beta)
