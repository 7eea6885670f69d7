"""What the studies of the paper use beyond the public names, and all of it.

A study sometimes needs a contrast that the procedure would not choose, or the distribution of the
counts. `sfit.studies` imports only this module and public names (`tests/test_layers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfit._arguments import check_choice, check_flag
from sfit._binomial import critical_count, p_value, ranks, two_sided_p_value
from sfit._contrast import Contrast, Question, Reveal, Term, delta, relative_improvement
from sfit._flips import count_extreme, dealt
from sfit._label_permutation import LabelPermutations
from sfit._measure import measure
from sfit._multiplicity import adjust, n_draws
from sfit._part_gains import cut
from sfit._partners import interaction_scores
from sfit._session import Session
from sfit._set_tests import sign_tests
from sfit._sign_test import SignEvidence, SignStatistic
from sfit._versions import versions
from sfit.sample import prepare

__all__ = [
    "Contrasts",
    "LabelPermutations",
    "Term",
    "adjust",
    "check_choice",
    "check_flag",
    "count_extreme",
    "critical_count",
    "cut",
    "dealt",
    "delta",
    "n_draws",
    "p_value",
    "ranks",
    "relative_improvement",
    "sign_tests",
    "single",
    "term_over",
    "two_sided_p_value",
    "versions",
]


class Contrasts:
    """A fitted model and its test rows, which give evidence on any contrast."""

    def __init__(self, model: Any, X: Any, y: Any, **options: Any) -> None:
        self.sample = prepare(model, X, y, **options)
        self._evaluation = self.sample.evaluation()

    def evidence(self, contrasts: Sequence[Contrast], alpha: float) -> list[SignEvidence]:
        """Evidence of all rows on these contrasts; alpha is the level of `beta_max`."""
        n = len(self.sample.rows)
        questions = [Question(contrast, 0, n) for contrast in contrasts]
        statistic = SignStatistic(alpha)
        return measure(self._evaluation, questions, "", statistic=statistic, session=Session())

    def gate(self, significant: Term) -> Contrast:
        """All features over the significant ones, at beta = 0 (Algorithm 2)."""
        everything = self.sample.features.everything
        return Contrast(
            everything - significant, Reveal(significant), Reveal(everything), 1, 0.0, "gate"
        )

    def interaction_scores(self) -> Any:
        """Scores of all pairs of features from the model's structure; None if it has none."""
        return interaction_scores(self.sample.view.structure, self.sample.features)


def single(feature: int, beta: float) -> Contrast:
    """First-order SFIT of one feature (Algorithm 1)."""
    return term_over(frozenset(), frozenset({feature}), beta)


def term_over(base: Term, term: Term, beta: float = 0.0) -> Contrast:
    """A set over some of its members."""
    return Contrast(term, Reveal(base), Reveal(term), len(term), beta)
