"""Random arguments of the call, such as make sense together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

LOSSES = {
    "regression": ["auto", "absolute_error", "squared_error"],
    "outputs": ["auto", "absolute_error", "squared_error"],
    "counts": ["auto", "poisson", "poisson", "squared_error"],
    "classes": ["auto", "log_loss", "brier", "zero_one"],
}


def pinball(y: Any, prediction: Any) -> Any:
    """A loss of the user's own, never negative."""
    gap = np.asarray(y, dtype=float) - np.asarray(prediction, dtype=float)
    loss = np.maximum(0.3 * gap, -0.7 * gap)
    return loss if loss.ndim == 1 else loss.max(axis=1)


def draw_options(
    rng: np.random.Generator, names: list[str], task: str, hard: bool
) -> dict[str, Any]:
    """Everything but the reference and the parts."""
    order = int(rng.integers(1, 4))
    betas = rng.choice([0.0, 0.0, 1e-3, 1e-2, 0.1], size=order)
    options: dict[str, Any] = {
        "alpha": float(rng.choice([0.01, 0.05, 0.2])),
        "beta": float(betas[0]) if rng.uniform() < 0.6 else betas.tolist(),
        "max_order": order,
        "correction": [None, None, "fdr_by", "fdr_bh", "holm", "bonferroni"][rng.integers(6)],
        "interval": str(rng.choice(["exact", "asymptotic"])),
        "exhaustive": bool(rng.uniform() < 0.3),
        "strict": bool(rng.uniform() < 0.3),
        "loss": "zero_one" if hard else str(rng.choice(LOSSES[task])),
    }
    if task in ("regression", "outputs") and rng.uniform() < 0.1:
        options["loss"] = pinball
    if rng.uniform() < 0.2:
        options["n_jobs"] = 2
    left = [str(name) for name in rng.permutation(names)]
    if len(left) > 3 and rng.uniform() < 0.3:
        options["groups"] = {"group": [left.pop(), left.pop()]}
    if len(left) > 2 and rng.uniform() < 0.2:
        options["always_on"] = [left.pop()]
    chance = rng.uniform()
    if len(left) > 1 and chance < 0.2:
        options["given"] = [left.pop()]
    elif chance < 0.3:
        options |= {"given": "rest", "max_order": 1, "beta": float(betas[0])}
    chance = rng.uniform()
    if chance < 0.2:
        options |= {"partners": "all", "n_partners": int(rng.integers(1, 3))}
    elif chance < 0.4:
        options["partners"] = {
            name: [str(other) for other in rng.permutation(left) if other != name][
                : int(rng.integers(0, 3))
            ]
            for name in left
        }
    return options


def draw_reference(
    rng: np.random.Generator, frame: pd.DataFrame, train: pd.DataFrame, by_position: bool
) -> Any:
    """A reference of any kind; infinite columns have no mean."""
    numbers = [name for name in frame if frame[name].dtype.kind in "biuf"]
    infinite = any(np.isinf(frame[name].to_numpy(dtype=float)).any() for name in numbers)
    kinds = ["median", "mode", "number", "mapping"]
    kinds += [] if infinite else ["mean", "mean", "mean", "data"]
    kinds += ["row"] if by_position and len(numbers) == frame.shape[1] else []
    kind = str(rng.choice(kinds))
    if kind == "number":
        return [0, 0.5, -0.0, 1][rng.integers(4)]
    if kind == "data":
        return train
    if kind == "row":
        row = frame.iloc[int(rng.integers(len(frame)))].astype(float)
        return np.nan_to_num(row.to_numpy(), posinf=1.0, neginf=-1.0)
    if kind == "mapping" and numbers:
        chosen = rng.choice(numbers, size=min(len(numbers), 2), replace=False)
        values = [float(frame[name].iloc[0]) for name in chosen]
        finite = [value if np.isfinite(value) else 0.25 for value in values]
        named = dict(zip(map(str, chosen), finite, strict=True))
        return "median" if infinite else named
    return "mean" if kind == "mapping" else kind
