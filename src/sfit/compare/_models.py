"""Two or more models on the same rows: which predicts better, and which uses a feature more."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from sfit._arguments import warn_of_order
from sfit._binomial import two_sided_p_value
from sfit._contrast import Question
from sfit._diagnostics import few_clusters
from sfit._differences import Evaluation
from sfit._flips import resolution
from sfit._mean_test import ClusterMeans, MeanEvidence, MeanStatistic
from sfit._measure import measure
from sfit._multiplicity import adjust
from sfit._session import Session
from sfit.compare._base import ComparisonSettings
from sfit.compare._between import WHOLE, BetweenGains, BetweenModels
from sfit.compare._gains import Gains, gains_of, given_names, n_flips, paired_test, settings_of
from sfit.compare._model_result import GainDifference, ModelComparison, ModelDifference
from sfit.compare._request import CompareRequest
from sfit.compare._samples import blamed, check_models, opened_for_all, prepare_all
from sfit.exceptions import ArgumentError
from sfit.sample import Sample


def compare_models(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    features: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    correction: str | None = "holm",
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    given: Sequence[Any] | str = (),
    clusters: Any = None,
    fast: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> ModelComparison:
    r"""Compare models on the same held-out rows: their losses, and the gains of their features.

    The first model is the champion; each other model is compared with it. Losses and gains are
    compared row by row, so what makes a row hard for both models cancels.

    Parameters
    ----------
    models : mapping
        From names to fitted models, of any libraries: ``{"champion": a, "challenger": b}``.
    X, y : as in `feature_significance`
        Held-out rows and the observed target. The rows must hold the columns of all models.
    features : sequence or mapping of sequences, optional
        The columns to pass to every model, or to each model by its name. By default, the feature
        names stored in a model; if it has none, all columns. A feature that a model does not have
        gains nothing in it, and the result says so.
    loss : as in `feature_significance`
        The loss of all models.
    alpha : float, default=0.05
        Level of every test.
    correction : {"holm", "bonferroni", "fdr_by", "fdr_bh", None}, default="holm"
        Multiple-testing correction: over the models, and over all features of all models.
    reference, groups, always_on : as in `feature_significance`
        How features are hidden, and which columns form one. Names that only some models have are
        used for these models.
    given : sequence of names or "rest", default=()
        Features revealed on both sides, which are not compared. `"rest"`: the gain of a feature is
        that over all the others.
    clusters : as in `feature_significance`
        Rows that depend on each other. A cluster then counts once, with its mean losses.
    fast, n_jobs, progress, checkpoint, checkpoint_key : as in `feature_significance`
        How the work is done.
    random_state : int or Generator, optional
        Seed of the sign flips and of the rows that an `Average` draws. By default, a seed is drawn;
        the result records it.

    Returns
    -------
    ModelComparison
        The differences of the losses, and of the gains of every feature.

    See Also
    --------
    compare_features : Compare the features of one model.
    compare_parts : Test whether groups of rows differ.
    feature_significance : Test the features of one model.

    Notes
    -----
    Let :math:`D_i` be the loss of the first model on row i minus that of the second; or the gain of
    a feature in the second model minus its gain in the first. The null hypothesis :math:`E D = 0`
    is tested by flipping signs at random: :math:`p = \#\{|S_b| \ge |S|\} / (B + 1)`, with
    :math:`S = \sum_i D_i` among its B + 1 flipped copies. Comparing sums compares studentised
    means, because no flip changes :math:`\sum_i D_i^2`. The test is exact if :math:`D` is symmetric
    about zero, and asymptotic otherwise. Beside it stands the sign test of the null hypothesis that
    positive and negative :math:`D` are equally likely: their median is 0, if no :math:`D` is 0. It
    is exact; with skewed differences that is another question.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = sfit.simulate.interactions(6000, random_state=0)
    >>> train, test = slice(0, 4000), slice(4000, None)
    >>> models = {
    ...     "all": LinearRegression().fit(X[train], y[train]),
    ...     "without X1": LinearRegression().fit(X[train].drop(columns="X1"), y[train]),
    ... }
    >>> compared = sfit.compare_models(models, X[test], y[test], random_state=0)
    >>> compared.models[0].better, compared.features[0].missing_in
    ('all', 'without X1')
    """
    models = check_models(models)
    request = CompareRequest.checked(**locals())
    session = Session.of(request)
    warn_of_order(X, y, "y")
    warn_of_order(X, clusters, "clusters")
    seed = session.seed(request.random_state)
    samples = prepare_all(models, X, y, request, seed)
    names = tuple(dict.fromkeys(chain(*(one.features.names for one in samples.values()))))
    gains = gains_of(request, names)
    asked = asked_of(gains, names, samples)
    size = n_flips(request.alpha, request.correction, sum(map(len, asked.values())))
    identity = request.identity() | {
        "comparison": "models",
        "models": list(models),
        "given": "rest" if gains.rest else sorted(gains.given),
    }
    stored = opened_for_all(request, identity, samples)
    with stored as session.checkpoint:
        seed = session.seed(request.random_state)  # stored: a resumed run draws the same
        evaluations = {
            name: blamed(name, sample.evaluation, request.fast, partial(warn_about, session, name))
            for name, sample in samples.items()
        }
        [(first, champion), *others] = evaluations.items()
        rows = samples[first].rows
        statistic = paired_test(request.alpha, rows, seed)
        whole: list[MeanEvidence] = []
        of_features: list[MeanEvidence] = []
        for name, evaluation in others:
            label = f"{first} and {name}"
            whole += measure(
                BetweenModels(champion, evaluation),
                [Question(WHOLE, 0, len(rows))],
                f"models, {label}",
                statistic=statistic,
                session=session,
            )
            of_features += measure(
                between_gains(champion, evaluation, names),
                [Question(gains.of(j), 0, len(rows)) for j in asked[name]],
                f"gains, {label}",
                statistic=statistic,
                session=session,
            )
    few = few_clusters(rows.n_clusters) if clusters is not None else ()
    session.warn(*few)
    test = Decision(statistic, size, request.alpha, request.correction)
    return ModelComparison(
        names=tuple(models),
        models=model_differences(test, whole, tuple(models)),
        features=gain_differences(test, of_features, asked, names, samples),
        settings=_settings(request, samples, gains, names, seed, size),
        caveats=(*_caveats(samples, evaluations), *few),
        run=session.run(),
    )


def warn_about(session: Session, name: str, text: str) -> None:
    """Issue a warning that says which model it is about."""
    session.warn(f"model {name!r}: {text}")


def asked_of(
    gains: Gains, names: Sequence[str], samples: Mapping[str, Sample]
) -> dict[str, list[int]]:
    """The features to compare with those of the first model: all that one of the two has."""
    [(first, champion), *others] = samples.items()
    asked = {}
    for name, sample in others:
        present = {*champion.features.names, *sample.features.names}
        asked[name] = [j for j in gains.compared if names[j] in present]
        if not asked[name]:
            raise ArgumentError(
                f"given names every feature of {first!r} and {name!r}: none is left to compare."
            )
    return asked


def _settings(
    request: CompareRequest,
    samples: Mapping[str, Sample],
    gains: Gains,
    names: Sequence[str],
    seed: int,
    size: int,
) -> ComparisonSettings:
    sample = next(iter(samples.values()))
    return replace(
        settings_of(request, sample, gains, seed, size),
        reference_origin=_origin(samples),
        given=given_names(gains, names),
        always_on=tuple(dict.fromkeys(chain(*(one.always_on for one in samples.values())))),
    )


def _origin(samples: Mapping[str, Sample]) -> str:
    """Where reference values come from: the rows under test, if one model takes some from these."""
    origins = [one.features.origin for one in samples.values()]
    return "test rows" if "test rows" in origins else origins[0]


def _caveats(
    samples: Mapping[str, Sample], evaluations: Mapping[str, Evaluation]
) -> tuple[str, ...]:
    """The caveats of all models; those that not all share begin with the model's name."""
    of_model = {name: [*samples[name].caveats, *evaluations[name].caveats()] for name in samples}
    shared = set.intersection(*map(set, of_model.values()))
    texts = [
        text if text in shared else f"model {name!r}: {text}"
        for name, some in of_model.items()
        for text in some
    ]
    return tuple(dict.fromkeys(texts))


@dataclass(frozen=True)
class Decision:
    """How the evidence of several comparisons is decided together."""

    statistic: MeanStatistic | ClusterMeans
    size: int
    alpha: float
    correction: str | None

    def decided(self, evidence: Sequence[MeanEvidence]) -> list[dict[str, Any]]:
        """The fields that all paired differences have."""
        units = int(np.count_nonzero(evidence[0].slots.counts))
        smallest = resolution(self.size, units, 2)
        either = self.statistic.extreme(evidence, self.size).either
        p_values = np.maximum(either / self.size, smallest)
        adjusted = adjust(p_values, self.correction)
        of_signs = two_sided_p_value(
            [one.n_positive for one in evidence], [one.n_negative for one in evidence]
        )
        return [
            {
                **dict(zip(("difference", "ci_low", "ci_high"), one.mean(self.alpha), strict=True)),
                "p_value": float(p),
                "p_adjusted": float(q),
                "significant": bool(q < self.alpha),
                "median": one.statistic,
                "median_low": one.ci_low,
                "median_high": one.ci_high,
                "p_sign": float(p_sign),
                "n": one.n,
                "n_positive": one.n_positive,
                "n_negative": one.n_negative,
            }
            for one, p, q, p_sign in zip(evidence, p_values, adjusted, of_signs, strict=True)
        ]


def model_differences(
    test: Decision, evidence: Sequence[MeanEvidence], models: Sequence[str]
) -> tuple[ModelDifference, ...]:
    """The records of the whole models."""
    records = zip(models[1:], evidence, test.decided(evidence), strict=True)
    return tuple(
        ModelDifference(
            first=models[0],
            second=name,
            **fields,
            loss_first=one.effects.loss_base,
            loss_second=one.effects.loss_full,
        )
        for name, one, fields in records
    )


def gain_differences(
    test: Decision,
    evidence: Sequence[MeanEvidence],
    asked: Mapping[str, Sequence[int]],
    names: Sequence[str],
    samples: Mapping[str, Sample],
) -> tuple[GainDifference, ...]:
    """The records of the features; `asked` are those of each model."""
    first = next(iter(samples))
    about = [(name, names[j]) for name, some in asked.items() for j in some]
    records = zip(about, evidence, test.decided(evidence), strict=True)
    return tuple(
        GainDifference(
            first=first,
            second=name,
            **fields,
            feature=feature,
            # The second model's gain is the base: positive differences favour it.
            gain_first=one.effects.loss_full,
            gain_second=one.effects.loss_base,
            missing_in=next(
                (one for one in (first, name) if feature not in samples[one].features.names),
                None,
            ),
        )
        for (name, feature), one, fields in records
    )


def between_gains(first: Evaluation, second: Evaluation, names: Sequence[str]) -> BetweenGains:
    """The gains in two models, by features of their union."""
    places = tuple(
        {
            names.index(name): position
            for position, name in enumerate(one.predictions.features.names)
        }
        for one in (first, second)
    )
    return BetweenGains(first, second, places)  # type: ignore[arg-type]
