"""What is measured: a list of cases, each of which gets a process of its own."""

from __future__ import annotations

from dataclasses import dataclass

BOOSTED = ("LightGBM", "histogram boosting")
GRID = (
    *BOOSTED,
    "random forest",
    "XGBoost",
    "scikit-learn MLP 100-50-30",
    "torch 512-256",
    "torch 100-50-30",
    "logistic regression",
    "opaque callable",
)
SMALL_NETWORKS = ("scikit-learn MLP 100-50-30", "torch 100-50-30")
NETWORKS = (*SMALL_NETWORKS, "torch 512-256")
SECOND_ORDER = (*BOOSTED, "random forest", "XGBoost", "torch 100-50-30")


@dataclass(frozen=True)
class Sizes:
    """The full run, or a quick one that takes the same paths."""

    rows: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    features: tuple[int, ...] = (10, 50, 200)
    network_features: int = 75  # in the place of 50: what is asked of networks is asked there
    pair_features: int = 20
    pair_rows: int = 1_000_000
    train_rows: int = 20_000
    rounds_seconds: float = 2.0  # for repeats of one pass, ours and the loop
    peer_seconds: float = 0.4
    round_limit: float = 3.0  # a size whose single round would take longer is left out
    round_limit_middle: float = 20.0  # the same, at the middle number of features
    timeout: float = 300.0
    one_hot: tuple[str, ...] = tuple(model for model in GRID if model != "torch 512-256")
    second_order: tuple[str, ...] = SECOND_ORDER

    @property
    def middle(self) -> int:
        """The number of rows at which peers are compared."""
        return self.rows[1]


QUICK = Sizes(
    rows=(1_000, 4_000, 16_000),
    features=(5, 10),
    network_features=12,
    pair_features=6,
    pair_rows=16_000,
    train_rows=1_000,
    rounds_seconds=0.3,
    peer_seconds=0.1,
    round_limit=2.0,
    round_limit_middle=4.0,
    timeout=100.0,
    one_hot=("LightGBM", "logistic regression", "opaque callable"),
    second_order=("LightGBM", "torch 100-50-30"),
)


@dataclass(frozen=True)
class Case:
    """One process: a model with some features, on several numbers of rows."""

    kind: str  # first order | one-hot | all pairs | a pair | choose_beta | parts
    model: str
    features: int
    rows: tuple[int, ...]
    whole: tuple[int, ...] = ()  # rows at which fast=False is not cut short
    peers: tuple[int, ...] = ()  # rows at which the peers are asked

    def __str__(self) -> str:
        rows = ", ".join(f"{n:,}" for n in self.rows)
        return f"{self.kind}, {self.model}, {self.features} features, {rows} rows"


def all_cases(sizes: Sizes) -> list[Case]:
    middle_features = sizes.features[1]
    few, middle, _ = sizes.rows
    cases, others = [], []
    for model in GRID:
        for features in sizes.features:
            central = features == middle_features
            if central and model in NETWORKS:
                features = sizes.network_features
            whole = ((few,) if model in SMALL_NETWORKS else (middle,)) if central else ()
            peers = (few, middle) if central else (middle,)
            case = Case("first order", model, features, sizes.rows, whole=whole, peers=peers)
            (cases if central else others).append(case)
    cat = Case(
        "first order", "CatBoost", middle_features, (middle,), whole=(middle,), peers=(middle,)
    )
    cases.append(cat)
    cases += [Case("one-hot", model, 75, (middle,)) for model in sizes.one_hot]
    cases += [
        Case("all pairs", model, sizes.pair_features, (middle,)) for model in sizes.second_order
    ]
    cases += [
        Case("a pair", model, 10, (sizes.pair_rows,))
        for model in sizes.second_order
        if not model.startswith("torch")
    ]
    cases += [
        Case("choose_beta", "torch 512-256", sizes.network_features, (middle,)),
        Case("choose_beta", "torch 100-50-30", sizes.network_features, (few,)),
    ]
    cases += [Case("parts", model, sizes.network_features, (few,)) for model in SMALL_NETWORKS]
    # What is asked of the library comes first: a run that is cut short still says it.
    return cases + others
