"""Rows cut into folds; one model per fold, fitted on the folds before it and tested on the fold.

Only the tallies of a fold leave its worker, and a checkpoint stores them: no model, no rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import clone

from sfit._array import Array
from sfit._average import Average
from sfit._chain import Chained, ChainedPermutation, ChainedSign
from sfit._checkpoint import Checkpoint
from sfit._contrast import Contrast, Question, Reveal
from sfit._document import record_from, storable
from sfit._losses import choose_loss
from sfit._measure import measure
from sfit._request import CrossRequest
from sfit._session import Session
from sfit._set_tests import FoldTest
from sfit._workers import Payload, open_payload
from sfit.exceptions import DataError, ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.rows import Table, column_names, hash_table, take_rows, to_native
from sfit.sample import Sample, prepare

STREAM = 3
"""Separates the draws of a chain from other uses of the seed."""

STAGE = "forward chaining"
"""Name of finished folds in a checkpoint."""


@dataclass(frozen=True)
class About:
    """Facts about a tested fold that the parent process needs besides its tallies."""

    names: tuple[str, ...]
    task: str
    n_classes: int
    n_outputs: int
    space: str
    caveats: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class FoldOutcome:
    """The tests of one fold, one per feature, and their tallies."""

    about: About
    tests: tuple[FoldTest, ...]
    tallies: Sequence[Any]


@dataclass(frozen=True)
class Chain:
    """Everything needed to fit and test on a fold; sent to a worker once."""

    estimator: Any
    train: Table
    """The columns that models are fitted on."""
    rows: Table
    """The rows to pass on: with all columns if these have numbers instead of names."""
    chosen: Sequence[Any] | None
    target: Any
    folds: tuple[Array, ...]
    """The numbers of the rows of each fold."""
    request: CrossRequest
    seed: int

    @property
    def n_tested(self) -> int:
        """Number of rows that are tested: all but the first fold."""
        return sum(len(rows) for rows in self.folds[1:])

    def fingerprint(self) -> str | Unseen:
        """Text that identifies the estimator: its parameters, not its fitted state."""
        return fingerprint_of(clone(self.estimator))

    def data(self) -> dict[str, str]:
        """Texts that identify the rows."""
        digest = blake2b(digest_size=16)
        hash_table(digest, self.train)
        hash_table(digest, self.target)
        return {"the rows": f"{column_names(self.train)} {digest.hexdigest()}"}

    def statistic(self, about: About, fold: int = 0) -> Chained:
        """The test of a fold; every fold draws its own permutations."""
        return CHAINED[self.request.test.key](self, about, fold)

    def question(self, feature: int, n: int) -> Question:
        """The first-order question about a feature."""
        alone = frozenset({feature})
        nothing, beta = Reveal(frozenset()), self.request.smallest_improvement
        return Question(Contrast(alone, nothing, Reveal(alone), 1, beta), 0, n)


def _chained_sign(chain: Chain, about: About, fold: int) -> Chained:
    test: Any = chain.request.test
    return ChainedSign(chain.request.alpha, test.interval, test.ties, n_all=chain.n_tested)


def _chained_permutation(chain: Chain, about: About, fold: int) -> Chained:
    test: Any = chain.request.test
    return ChainedPermutation(
        alpha=chain.request.alpha,
        test=test,
        loss=choose_loss(chain.request.loss, about.task),
        n_classes=about.n_classes,
        n_outputs=about.n_outputs,
        n_rows=chain.n_tested,
        by_class=False,
        seed=fold_seed(chain.seed, fold),
    )


CHAINED: dict[str, Callable[[Chain, About, int], Chained]] = {
    "sign": _chained_sign,
    "permutation": _chained_permutation,
}
"""For each test that folds can combine, by its key, the function that makes its statistic."""


def cut(n: int, n_folds: int, seed: int | None, labels: Any = None) -> tuple[Array, ...]:
    """The rows of each fold, in a random order, or as they come if `seed` is None.

    Folds of random rows get equal shares of each label, if there are labels.
    """
    order = np.arange(n)
    if seed is not None:
        order = np.random.default_rng([seed, STREAM]).permutation(n)
    if labels is None:
        return tuple(np.sort(rows) for rows in np.array_split(order, n_folds))
    codes, _ = pd.factorize(labels)
    dealt = order[np.argsort(codes[order], kind="stable")]
    return tuple(np.sort(dealt[fold::n_folds]) for fold in range(n_folds))


def fold_seed(seed: int, fold: int) -> int:
    """The seed of a fold: its permutations and background rows are its own."""
    return int(np.random.default_rng([seed, STREAM, fold]).integers(2**63))


def uniform(seed: int, fold: int) -> float:
    """A number in (0, 1] that breaks the ties of all features in a fold."""
    # A last number of 0 would repeat the draw of `fold_seed`: NumPy fills up with zeros.
    return 1.0 - float(np.random.default_rng([seed, STREAM, fold, 1]).random())


def fit_and_test(payload: Payload, fold: int) -> tuple[int, FoldOutcome]:
    """Fit on the folds before a fold, and test on the fold; folds are numbered from 1."""
    chain: Chain = open_payload(payload)
    past, now = np.concatenate(chain.folds[: fold - 1]), chain.folds[fold - 1]
    try:
        with parallel_config(backend="sequential"):
            return fold, _tested(chain, fold, _sample(chain, fold, past, now), len(past))
    except DataError as error:
        # The message may name a row of the fold by its number there.
        raise DataError(f"fold {fold}, whose rows are numbered from 0: {error}") from error


def _tested(chain: Chain, fold: int, sample: Sample, n_train: int) -> FoldOutcome:
    """The tests of all features on one fold."""
    quiet = Quiet()
    evaluation = sample.evaluation(warn=quiet.warn)
    y = sample.rows.first.y
    about = About(
        names=sample.features.names,
        task=sample.view.task,
        n_classes=0 if sample.view.classes is None else len(sample.view.classes),
        n_outputs=1 if y.ndim == 1 else y.shape[1],
        space=sample.features.space,
        caveats=(*sample.caveats, *evaluation.caveats()),
        warnings=(),
    )
    statistic = chain.statistic(about, fold)
    questions = [chain.question(feature, len(sample.rows)) for feature in range(len(about.names))]
    concluded = measure(evaluation, questions, "", statistic=statistic, session=quiet)
    ties = uniform(chain.seed, fold)
    tests = [
        statistic.fold_test(fold, name, n_train, question, evidence, ties)
        for name, question, (evidence, _) in zip(about.names, questions, concluded, strict=True)
    ]
    about = replace(about, warnings=tuple(quiet.warnings))
    return FoldOutcome(about, tuple(tests), [tally for _, tally in concluded])


class Quiet(Session):
    """A session that records warnings; the parent process issues them."""

    def warn(self, *texts: str) -> None:
        """Record warnings."""
        self.warnings += [text for text in texts if text not in self.warnings]


def _sample(chain: Chain, fold: int, past: Array, now: Array) -> Sample:
    """The rows of a fold under the model fitted on the rows before it."""
    request, seen = chain.request, to_native(take_rows(chain.train, past))
    try:
        model = clone(chain.estimator).fit(seen, chain.target[past])
    except Exception as error:
        raise ModelError(
            f"{type(chain.estimator).__name__} could not be fitted on the {len(past)} rows before "
            f"fold {fold}: {type(error).__name__}: {error}. If these rows are too few, "
            f"{request.larger_folds}."
        ) from error
    reference: Any = request.reference
    if isinstance(reference, str):
        reference = Average(seen) if reference == "average" else seen
    return prepare(
        model,
        to_native(take_rows(chain.rows, now)),
        chain.target[now],
        features=chain.chosen,
        loss=request.loss,
        groups=request.groups,
        reference=reference,
        seed=fold_seed(chain.seed, fold),
    )


def check_classes(chain: Chain) -> None:
    """Refuse folds whose first model cannot know all classes."""
    every = pd.unique(np.ravel(chain.target))
    first = set(chain.target[chain.folds[0]].tolist())
    lacking = [label for label in every.tolist() if label not in first]
    if lacking:
        stratified = not chain.request.test.paired and chain.request.shuffle
        other = (
            ""
            if stratified
            else " With test='permutation' and shuffle=True all folds get equal shares of a class."
        )
        raise DataError(
            f"y: the first model is fitted on the {len(chain.folds[0])} rows of the first fold, "
            f"which hold no row of class {lacking[0]!r}: {chain.request.larger_folds}, or merge "
            f"rare classes.{other}"
        )


def keep(saved: Checkpoint | None, fold: int, tested: FoldOutcome, chain: Chain) -> None:
    """Store a finished fold."""
    if saved is None:
        return
    statistic: Any = chain.statistic(tested.about, fold)
    about = {"about": asdict(tested.about), "tests": [asdict(test) for test in tested.tests]}
    text = json.dumps(storable(about)).encode()
    tallies = statistic.pack(tested.tallies)
    saved.put(STAGE, fold, 0, len(text).to_bytes(8, "little") + text + tallies)
    saved.commit()


def recall(saved: Checkpoint | None, fold: int, chain: Chain) -> FoldOutcome | None:
    """A finished fold; None if it is not stored."""

    def decoded(data: bytes) -> FoldOutcome:
        end = 8 + int.from_bytes(data[:8], "little")
        stored: Mapping[str, Any] = json.loads(data[8:end])
        about = record_from(About, stored["about"])
        tests = tuple(record_from(FoldTest, test) for test in stored["tests"])
        tallies = chain.statistic(about, fold).unpack(data[end:], len(tests))
        return FoldOutcome(about, tests, tallies)

    return None if saved is None else saved.get(STAGE, fold, 0, decoded)
