"""The rows of one tile that are re-matched: their scores, their sums, and their rise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from sfit._array import Array
from sfit._bilinear import Products, columns, indicators, log_probabilities, products_of
from sfit._effects import EffectTally
from sfit._losses import Loss
from sfit._permutations import TERMS_TOGETHER, ProductSums, Rematchings
from sfit._rise import NO_RISE, Rise, loss_of_any_pair, rise, rise_sums

N_MOMENTS = 6
"""Numbers that a tally holds per tile and stratum, beside its sums."""


class PermutationTally(NamedTuple):
    """Sums of some tiles."""

    effects: EffectTally
    sums: Array
    """For each component and re-matching, the sum of products; the first is the observed one."""
    variance: Array
    """For each component, the variance of its sum over all re-matchings."""
    rise: Array
    """The rise, added up (`RiseSums`)."""
    moments: Array
    """Per tile and stratum: number of rows, mean and sum of squares of the outcome and of the
    prediction, and the name of the stratum."""
    log_group: float
    """Logarithm of an upper bound on the number of distinct re-matchings."""
    n_fixed: int
    """Rows in strata that are too small to be re-matched."""


def add_tallies(tallies: Sequence[PermutationTally], effects: EffectTally) -> PermutationTally:
    """Add up sums, strictly in the order of the tallies."""
    first, *others = tallies
    if not others:
        return first._replace(effects=effects)
    sums, variance, total = first.sums.copy(), first.variance.copy(), first.rise.copy()
    for other in others:
        sums += other.sums
        variance += other.variance
        total += other.rise
    return PermutationTally(
        effects,
        sums,
        variance,
        total,
        np.concatenate([one.moments for one in tallies]),
        fsum(one.log_group for one in tallies),
        sum(one.n_fixed for one in tallies),
    )


@dataclass(frozen=True)
class TilePart:
    """Rows of one tile that are re-matched with each other, and all that their questions share.

    They are the rows of a part, or of one of its strata.
    """

    loss: Loss
    statistic: str
    """"auto" or "loss"."""
    n_classes: int
    """0 for regression."""
    n_outputs: int
    y: Array
    rows: Array | None
    """The rows that are re-matched, as a mask of the tile; None: all."""
    of_class: Array | None
    """If the parts are classes, the rows of this class."""
    rematchings: Rematchings
    stratum: int = 0
    """The name of the stratum."""
    of_constants: dict[bytes, Rise] = field(default_factory=dict)
    """The rise of predictions that are all equal."""

    @property
    def number(self) -> int:
        """The class; 1 if the parts are not classes. Without rows of the class any number does."""
        if self.of_class is None or not self.of_class.any():
            return 1
        return int(self.y[self.of_class][0])

    @property
    def together(self) -> int:
        """Number of terms whose sums are computed together."""
        return TERMS_TOGETHER if self.rematchings.free else 1

    @cached_property
    def products(self) -> ProductSums:
        """Sums of products with the outcome scores of this part."""
        return ProductSums(self.rematchings, [_centred(scores) for scores in self.outcome_scores])

    @cached_property
    def outcome_scores(self) -> list[Array]:
        """The outcome scores of each component."""
        y = self.y
        if self.loss_products is not None:
            n_columns = self.n_classes or self.n_outputs
            _, u = self.loss_products.outcome(y, n_columns)
            if self.of_class is None:
                return [u]
            # Summed over a class, b(g) depends on the re-matching: it counts as one more product.
            mask = self.of_class[:, None]
            return [np.concatenate([u * mask, -1.0 * mask], axis=1)]
        if not self.n_classes:
            ranks = rankdata(y) / (len(y) + 1)
            return [columns(y), ranks[:, None]]
        if self.of_class is not None:
            return [columns(self.of_class)] * 2
        if self.n_classes == 2:
            return [columns(y)] * 2
        return [indicators(y, self.n_classes)] * 2

    def prediction_scores(self, g: Array) -> list[Array]:
        """The prediction scores of each component."""
        if self.loss_products is not None:
            b, v = self.loss_products.prediction(g)
            return [v if self.of_class is None else np.concatenate([v, b[:, None]], axis=1)]
        if not self.n_classes:
            return [columns(g)] * 2
        logs, g = log_probabilities(g), np.asarray(g, dtype=np.float64)
        if self.n_classes == 2:
            odds = logs[:, self.number] - logs[:, 1 - self.number]
            return [odds[:, None], g[:, self.number, None]]
        if self.of_class is not None:
            return [logs[:, self.number, None], g[:, self.number, None]]
        return [logs, g]

    def tally(
        self, effects: EffectTally, g: Array, ignored: Callable[[], bool]
    ) -> tuple[PermutationTally, list[Array] | None]:
        """The tally of a question, and the scores from which its sums are still to be computed.

        `g` are the predictions for all rows of the tile; `ignored`: whether they equal the base.
        """
        g = g if self.rows is None else g[self.rows]
        size = self.rematchings.size
        n_components = 1 if self.statistic == "loss" else 2
        is_ignored = len(g) < 2 or bool((g == g[0]).all()) or ignored()
        moments = _moments(
            self.y, np.broadcast_to(g[:1], g.shape) if is_ignored else g, self.stratum
        )
        tally = no_rows(effects, n_components, size)
        tally = tally._replace(moments=moments, log_group=self._log_outcomes)
        if len(g) < 2:
            return tally, None
        if is_ignored:
            # Nothing to re-match. All features that the model ignores share these figures.
            key = g[0].tobytes()
            if key not in self.of_constants:
                constant = np.broadcast_to(g[0], g.shape)
                self.of_constants[key] = self.rise(constant)._replace(total=0.0)
            return tally._replace(rise=rise_sums(self.of_constants[key])), None
        log_group = min(self._log_outcomes, self.rematchings.log_distinct(g))
        tally = tally._replace(rise=rise_sums(self.rise(g)), log_group=log_group)
        if self.statistic == "loss" and self.loss_products is None:
            sums = self.loss_sums(g)
            variance = np.square(sums).mean()
            # A square that vanishes though the sums differ must not pass for "no spread".
            variance = np.nan if variance == 0 and sums.any() else variance
            return tally._replace(sums=sums[None], variance=np.array([variance])), None
        scores = _by_identity(self.prediction_scores(g), _centred)
        variance = [_variance(u, v) for u, v in zip(self.products.outcomes, scores, strict=True)]
        return tally._replace(variance=np.array(variance)), scores

    @cached_property
    def _log_outcomes(self) -> float:
        """Logarithm of the number of distinct re-matchings of the outcomes."""
        return self.rematchings.log_distinct(self.y if self.of_class is None else self.of_class)

    @cached_property
    def loss_products(self) -> Products | None:
        """The loss as products; None if it is none, or if the statistic is not the loss."""
        return products_of(self.loss) if self.statistic == "loss" else None

    def rise(self, g: Array) -> Rise:
        """The rise of the rows of the part."""
        rng = np.random.default_rng([*self.rematchings.key, 2])
        order, y = self._sorted
        of = None if self.of_class is None else self.of_class[order]
        return rise(self.loss, y, g[order], rng, of)

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The rows by rising outcome, which saves sorting outcomes for every set."""
        order = np.argsort(self.y, kind="stable") if self.y.ndim == 1 else np.arange(len(self.y))
        return order, self.y[order]

    def loss_sums(self, g: Array) -> Array:
        """Minus the sum of the losses for each re-matching; large is good, as for products."""
        loss = self.loss
        sums = []
        for met in self.rematchings.outcomes():
            for outcomes in met:
                losses = loss_of_any_pair(loss, self.y[outcomes], g)
                if self.of_class is not None:
                    losses = losses[self.of_class[outcomes]]
                sums.append(-losses.sum())
        total = np.array(sums)
        # Equal losses in another order have the same sum but for rounding.
        same = np.abs(total - total[0]) <= 1e-12 * abs(total[0])
        return np.where(same, total[0], total) - total[0]


def no_rows(effects: EffectTally, n_components: int, size: int) -> PermutationTally:
    """The tally of no re-matched rows."""
    none = np.zeros((n_components, size))
    moments = np.empty((0, N_MOMENTS))
    return PermutationTally(effects, none, none[:, 0], rise_sums(NO_RISE), moments, 0.0, 0)


def _centred(scores: Array) -> Array:
    return scores - scores.mean(axis=0)


def _variance(u: Array, v: Array) -> float:
    """Variance over all permutations of the sum of products of centred scores."""
    of_outcomes, of_predictions = (np.square(scores).sum(axis=0) for scores in (u, v))
    variance = float((of_outcomes * of_predictions).sum() / (len(u) - 1))
    # A product that vanishes though neither factor does must not pass for "no spread".
    vanishes = variance == 0 and (u.any(axis=0) & v.any(axis=0)).any()
    return np.nan if vanishes else variance


def _by_identity(arrays: Sequence[Array], change: Any) -> list[Array]:
    """Change arrays; those that are one object stay one object."""
    changed = {id(array): change(array) for array in arrays}
    return [changed[id(array)] for array in arrays]


def _moments(y: Array, g: Array, stratum: int) -> Array:
    """Number of rows, mean and sum of squares of the first outcome and prediction column; name."""
    moments: list[float] = [len(y)]
    for values in (columns(y)[:, 0], columns(g)[:, -1]):
        mean = float(values.mean()) if len(values) else 0.0
        moments += [mean, float(np.square(values - mean).sum())]
    return np.array([[*moments, stratum]])
