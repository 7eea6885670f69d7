"""Section 4, Tables 4 and 5: the UCI credit default data."""

from __future__ import annotations

from dataclasses import dataclass

from sfit.studies import _credit_data as data
from sfit.studies._credit_models import (
    REFERENCES,
    Fit,
    Trees,
    boost,
    columns_of,
    examine,
    fit,
    refit,
    split_rows,
)
from sfit.studies._credit_page import PAPER_BETA, figures, page
from sfit.studies._networks import Recipe

__all__ = ["FAST", "FULL", "TITLE", "Result", "Settings", "figures", "page", "study"]

TITLE = "Section 4: credit default (Tables 4 and 5)"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    recipe: Recipe = Recipe(
        hidden=(100, 50, 30), loss="log_loss", balanced=True, min_decrease=1e-3, patience=10
    )
    seeds: tuple[int, ...] = tuple(range(10))
    n_rows: int = 30_000
    shares: tuple[float, float] = (0.7, 0.2)
    """Shares of the rows for training and for validation; the rest is for testing."""
    alpha: float = 0.05
    beta: float = PAPER_BETA
    mean_beta: float = 0.01
    """beta with all columns frozen at their means, as randomisation gives it."""
    grid: tuple[float, ...] = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 5e-1)
    n_random_models: int = 20
    n_partners: int = 3
    n_trees: int = 200


FULL = Settings()
FAST = Settings(
    recipe=Recipe(
        hidden=(20, 10),
        loss="log_loss",
        balanced=True,
        learning_rate=3e-3,
        max_epochs=3,
        min_decrease=1e-3,
        patience=10,
    ),
    seeds=(0,),
    n_rows=3_000,
    n_random_models=2,
    n_partners=1,
    n_trees=30,
)


@dataclass(frozen=True)
class Result:
    """All networks and all boosted trees."""

    fits: tuple[Fit, ...]
    trees: tuple[Trees, ...]
    grid: tuple[float, ...]
    n_columns: int


def study(settings: Settings) -> Result:
    """Train, test and refit the networks of both encodings; then fit and test LightGBM."""
    frame = data.load()
    frame = frame.sample(settings.n_rows, random_state=0).reset_index(drop=True)
    splits = [
        split_rows(frame, encoding, seed, settings)
        for encoding in data.ENCODINGS
        for seed in settings.seeds
    ]
    networks = fit(settings, splits, [()] * len(splits))
    examined = [
        examine(settings, split, network) for split, network in zip(splits, networks, strict=True)
    ]
    refits = {name: refit(settings, splits, examined, name) for name in REFERENCES}
    fits = tuple(
        Fit(
            **{key: value for key, value in fields.items() if key != "kept"},
            refits={name: refits[name][place] for name in REFERENCES},
            n_kept={name: len(fields["kept"][name]) for name in REFERENCES},
        )
        for place, fields in enumerate(examined)
    )
    trees = [boost(frame, split, settings) for split in splits if split.encoding == "A"]
    return Result(
        fits, tuple(one for one in trees if one), settings.grid, len(columns_of(splits[0]))
    )
