"""The models of section 4: networks trained, tested and refitted on each split, and LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import sfit
from sfit._array import Array
from sfit._for_studies import sign_tests
from sfit.studies import _credit_data as data
from sfit.studies._networks import Network, train
from sfit.studies._section3 import INTERCEPT

if TYPE_CHECKING:
    from sfit.studies.credit import Settings

REFERENCES = ("half", "mean")
"""Dummies frozen at 1/2, or every column at its training mean."""
PARTS = ("all", "no default", "default", "male", "female")
LATE = "all, PAY at 1"
"""LightGBM with repayment status frozen at one month late, which is rare, instead of its mean."""


@dataclass(frozen=True)
class Performance:
    """On the test rows."""

    auc: float
    accuracy: float
    """Balanced."""


@dataclass(frozen=True)
class Fit:
    """One network: one encoding, one seed."""

    encoding: str
    seed: int
    epochs: int
    performance: Performance
    selected: dict[str, tuple[str, ...]]
    """By reference: the columns significant at the paper's beta."""
    statistics: dict[str, dict[str, float]]
    """By reference: the statistic of every column."""
    chosen: dict[str, float]
    """By reference: the exact smallest sufficient beta."""
    gate_open: bool
    n_pairs: int
    """Second-order sets found, dummies at 1/2."""
    variables: dict[str, tuple[str, ...]]
    """By part of the rows: the significant ones of the 23 variables, tested as groups."""
    refits: dict[str, Performance]
    """By reference: the network trained on the significant columns only, each at its own beta."""
    n_kept: dict[str, int]
    """By reference: the number of these columns."""


@dataclass(frozen=True)
class Trees:
    """LightGBM on the 23 variables without encoding."""

    seed: int
    performance: Performance
    variables: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Split:
    """One encoding and one seed: encoded rows, and their split into three parts."""

    encoding: str
    seed: int
    X: pd.DataFrame
    y: Array
    sex: Array
    groups: dict[str, list[str]]
    train: Array
    validation: Array
    test: Array


def split_rows(frame: pd.DataFrame, encoding: str, seed: int, settings: Settings) -> Split:
    """Shuffle, and standardise the continuous variables by their training rows."""
    X, groups = data.encode(frame, encoding)
    order = np.random.default_rng(seed).permutation(len(X))
    cuts = np.cumsum(np.array(settings.shares) * len(X)).round().astype(int)
    fitted, validation, test = np.split(order, cuts)
    continuous = list(data.CONTINUOUS)
    training = X.loc[fitted, continuous]
    X[continuous] = (X[continuous] - training.mean()) / training.std()
    X.insert(0, INTERCEPT, 1.0)
    y = frame[data.TARGET].to_numpy()
    sex = np.where(frame["SEX"] == 1, "male", "female")
    return Split(encoding, seed, X, y, sex, groups, fitted, validation, test)


def columns_of(split: Split) -> list[str]:
    return [str(name) for name in split.X if name != INTERCEPT]


def fit(
    settings: Settings, splits: Sequence[Split], hidden: Sequence[Sequence[str]]
) -> list[Network]:
    """One network per split; its hidden columns are 0, so their weights are never updated."""
    stacks: list[Array] = []
    for part in ("train", "validation"):
        rows = [
            split.X.assign(**dict.fromkeys(names, 0.0)).iloc[getattr(split, part)]
            for split, names in zip(splits, hidden, strict=True)
        ]
        stacks += [
            np.stack([np.asarray(X, dtype=np.float32) for X in rows]),
            np.stack([split.y[getattr(split, part)] for split in splits]),
        ]
    X, y, X_valid, y_valid = stacks
    return train(settings.recipe, X, y, X_valid, y_valid, [split.seed for split in splits])


def refit(
    settings: Settings, splits: Sequence[Split], examined: Sequence[dict[str, Any]], name: str
) -> list[Performance]:
    """Train again on the columns that are significant with one reference."""
    hidden = [
        [column for column in columns_of(split) if column not in fields["kept"][name]]
        for split, fields in zip(splits, examined, strict=True)
    ]
    networks = fit(settings, splits, hidden)
    return [
        _performance(_model(network), split, names)
        for network, split, names in zip(networks, splits, hidden, strict=True)
    ]


def _model(network: Network) -> Any:
    return sfit.models.torch_model(network.module(), output="logits", classes=[0, 1])


def _performance(model: Any, split: Split, hidden: Sequence[str] = ()) -> Performance:
    X = split.X.assign(**dict.fromkeys(hidden, 0.0)).iloc[split.test]
    return _scores(split.y[split.test], model.predict(np.asarray(X, dtype=np.float32))[:, 1])


def _scores(y: Array, probability: Array) -> Performance:
    return Performance(
        float(roc_auc_score(y, probability)),
        float(balanced_accuracy_score(y, probability > 0.5)),
    )


def examine(settings: Settings, split: Split, network: Network) -> dict[str, Any]:
    """All fields of a `Fit` except its refits, and the columns to keep for these."""
    model = _model(network)
    test = split.X.iloc[split.test], split.y[split.test]
    orders: dict[str, dict[str, Any]] = {
        "half": {"max_order": 2, "n_partners": settings.n_partners},
        "mean": {},
    }
    tests = {
        name: sfit.feature_significance(
            model,
            *test,
            alpha=settings.alpha,
            beta=settings.beta,
            reference=_reference(split, name),
            always_on=[INTERCEPT],
            **orders[name],
        )
        for name in REFERENCES
    }
    first = {
        name: [one for one in result.tests if one.order == 1] for name, result in tests.items()
    }
    return {
        "encoding": split.encoding,
        "seed": split.seed,
        "epochs": network.epochs,
        "performance": _performance(model, split),
        "selected": {
            name: tuple(one.term[0] for one in singles if one.significant)
            for name, singles in first.items()
        },
        # At first order a column is significant exactly while beta is below its beta_max.
        "kept": {
            name: [one.term[0] for one in sign_tests(first[name]) if one.beta_max > beta]
            for name, beta in zip(REFERENCES, (settings.beta, settings.mean_beta), strict=True)
        },
        "statistics": {
            name: {one.term[0]: one.estimate for one in singles} for name, singles in first.items()
        },
        "chosen": {
            name: sfit.choose_beta(
                model,
                split.X.iloc[split.validation],
                split.y[split.validation],
                alpha=settings.alpha,
                n_models=settings.n_random_models,
                max_beta=1.0,
                random_state=split.seed,
                reference=_reference(split, name),
                always_on=[INTERCEPT],
            ).beta
            for name in REFERENCES
        },
        "gate_open": tests["half"].gates[0].is_open,
        "n_pairs": len(tests["half"].significant.get(2, [])),
        "variables": _by_part(
            model,
            *test,
            split,
            settings,
            groups=split.groups,
            reference=_reference(split, "mean"),
            always_on=[INTERCEPT],
        ),
    }


def _reference(split: Split, name: str) -> Array:
    """One value per column; the continuous ones have mean 0."""
    if name == "mean":
        return split.X.iloc[split.train].mean().to_numpy()
    return np.array([0.0 if column in data.CONTINUOUS else 0.5 for column in split.X])


def _by_part(
    model: Any, X: pd.DataFrame, y: Array, split: Split, settings: Settings, **options: Any
) -> dict[str, tuple[str, ...]]:
    """Significant variables on all rows, by class, and by sex."""

    def tested(by: Any) -> Any:
        return sfit.feature_significance(
            model, X, y, alpha=settings.alpha, beta=settings.mean_beta, by=by, **options
        )

    by_class, by_sex = tested("class"), tested(split.sex[split.test])
    results = (tested(None), by_class[0], by_class[1], by_sex["male"], by_sex["female"])
    return {part: result.selected for part, result in zip(PARTS, results, strict=True)}


def boost(frame: pd.DataFrame, split: Split, settings: Settings) -> Trees | None:
    """LightGBM on the unencoded variables; None if it is not installed."""
    try:
        import lightgbm
    except ImportError:
        return None
    X = frame[list(data.COLUMNS)].astype(float)
    model = lightgbm.LGBMClassifier(
        n_estimators=settings.n_trees,
        learning_rate=0.05,
        num_leaves=15,
        class_weight="balanced",
        random_state=split.seed,
        n_jobs=1,
        verbose=-1,
    ).fit(X.iloc[split.train], split.y[split.train])
    held_out, y = X.iloc[split.test], split.y[split.test]
    means = X.iloc[split.train].mean().to_dict()
    late = sfit.feature_significance(
        model,
        held_out,
        y,
        alpha=settings.alpha,
        beta=settings.mean_beta,
        reference=means | dict.fromkeys(data.PAYMENTS, 1.0),
    )
    return Trees(
        split.seed,
        _scores(y, np.asarray(model.predict_proba(held_out))[:, 1]),
        _by_part(model, held_out, y, split, settings, reference=means) | {LATE: late.selected},
    )
