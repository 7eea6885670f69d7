"""The words of any test over a chain of folds, or of interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from sfit._set_tests import AnySetTest
from sfit._text import share_text
from sfit._words._permutation import PERMUTATION
from sfit._words._terms import Column, Pairs, Words

if TYPE_CHECKING:
    from sfit._result import SFITResult


def of_chain(words: Words) -> Words:
    """The words of a test that combines several models, each tested on a fold of its own."""
    if words.key == PERMUTATION.key:
        combined = (
            "The p-value of each fold is the share of re-matchings that agree better, with ties "
            "broken at random; Stouffer's method combines them, with the square roots of the "
            "numbers of rows as weights."
        )
    else:
        combined = "The improved rows of all folds are counted together."

    def reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
        folds = (
            f"The rows were cut into {results[0].settings.n_folds} folds. Each fold but the first "
            "was tested on a model that was fitted on all folds before it, so every model was "
            f"tested on rows that it had not seen. {combined}"
        )
        return [*words.reading(results, coverage), ("Folds", folds)]

    return replace(
        words,
        significant=(
            f"{words.significant} This holds for at least one of the models: each was fitted on "
            "the folds before the fold that it was tested on."
        ),
        reading=reading,
    )


def of_interactions(words: Words) -> Words:
    """The words of a test that compares sets with the additive prediction from their parts."""

    def reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
        additive = (
            "A set of two or more features is compared with the additive prediction from its "
            "parts: for a pair, the prediction with one feature revealed, plus that with the "
            "other, minus that with neither. They are added on the scale of the model's link: "
            "log-odds or log-probabilities of classes, logarithms of counts, else predictions. A "
            "significant set improves on the additive prediction from its parts."
        )
        share = (
            "The share of the whole gain of a set, over the features given, that its parts do not "
            "add up to. It may exceed 100 % if parts alone raise the loss; none is given if the "
            "whole set does not lower the mean loss."
        )
        return [
            *words.reading(results, coverage),
            ("Interactions", additive),
            ("Not additive", share),
        ]

    in_terminal = replace(
        NONADDITIVE,
        title="not additive",
        text=lambda t: nonadditive(t).replace("–", "-").replace("−", "-"),
    )
    return replace(
        words,
        sets=(
            "significant sets of two or more features improve on the additive prediction from "
            "their parts, on the scale of the model's link. On another scale, the same model may "
            "have other interactions."
        ),
        reading=reading,
        brief=(*words.brief, in_terminal),
        together="alone or in an interaction",
    )


def nonadditive(test: AnySetTest) -> str:
    """The share of the gain of a set that its parts do not add up to."""
    share = test.share_nonadditive
    if isnan(share):
        return "–"
    sign, text = "−" if share < 0 else "", share_text(abs(share), decimals=0)
    return f"{sign}{text}" if text[0].isdigit() or not sign else "> −1%"


NONADDITIVE = Column(
    "share_nonadditive", "Not additive", lambda t: t.share_nonadditive, nonadditive
)
"""Of results that compare sets with the additive prediction from their parts."""
