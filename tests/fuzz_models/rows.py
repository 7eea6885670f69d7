"""Columns as data have them, and the values that break programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

PLAIN = ("normal", "ties", "counts", "dummy", "constant", "tiny", "offset")
ODD = ("normal", "heavy", "far offset", "signed zeros", "subnormal", "wide", "huge")
"""Kinds of numbers. `wide` stays within float32, `huge` does not."""


@dataclass(frozen=True)
class Takes:
    """What a model can be given besides ordinary numbers."""

    missing: bool = False
    infinite: bool = False
    odd: bool = True
    """Numbers of any size within float32."""
    huge: bool = False
    """Numbers beyond float32."""
    offsets: bool = False
    """Columns far from zero more often than not."""
    words: str = ""
    """How columns of words come: "category", "text", "mixed" (with None and NaN), or not at all."""
    objects: bool = False
    """Columns of mixed Python objects."""


def draw_numbers(rng: np.random.Generator, n: int, takes: Takes) -> np.ndarray:
    """One column of numbers."""
    kinds = list(PLAIN) * 2
    if takes.odd:
        kinds += [kind for kind in ODD if kind != "huge" or takes.huge]
    if takes.offsets and rng.uniform() < 0.4:
        kinds = ["offset", "far offset"]
    z = rng.normal(size=n)
    kind = str(rng.choice(kinds))
    return {
        "normal": lambda: z,
        "ties": lambda: np.round(z, 1),
        "counts": lambda: rng.poisson(3, size=n).astype(float),
        "dummy": lambda: (z > rng.choice([0.0, 1.0, 2.0])).astype(float),
        "constant": lambda: np.full(n, rng.choice([0.0, -0.0, 2.5, 1e6 + 0.1])),
        "tiny": lambda: 1e-8 * z,
        "offset": lambda: rng.choice([100.0, -1e4, 1e4]) + z,
        "heavy": lambda: np.clip(rng.standard_t(1, size=n), -1e6, 1e6),
        "far offset": lambda: rng.choice([1e6, -1e7, 1e9]) + rng.choice([0.03, 1.0, 10.0]) * z,
        "signed zeros": lambda: rng.choice([0.0, -0.0, 1.0, -1.0], size=n),
        "subnormal": lambda: rng.choice([5e-324, -5e-324, 1e-310, 1e-40, 0.0], size=n) * (z > 0),
        "wide": lambda: z * 10.0 ** rng.integers(-30, 30, size=n),
        "huge": lambda: z * rng.choice([1e300, 1e200, 1e-300]),
    }[kind]()


WORDS = np.array(["a", "b", "c", "d", "rare"], dtype=object)
OBJECTS = [1, True, 1.0, 0, False, 0.0, -0.0, np.float64(1.0), None, float("nan"), 2]


def draw_frame(rng: np.random.Generator, n: int, width: int, takes: Takes) -> pd.DataFrame:
    """Columns of mixed kinds and types; the last rows may hold words the first ones lack."""
    columns: dict[str, object] = {}
    for j in range(width):
        chance = rng.uniform()
        if takes.words and chance < 0.4:
            columns[f"x{j}"] = _draw_words(rng, n, takes.words)
        elif takes.objects and chance < 0.4:
            chosen = rng.choice(len(OBJECTS), size=int(rng.integers(2, 6)), replace=False)
            values = np.empty(n, dtype=object)
            values[:] = [OBJECTS[k] for k in rng.choice(chosen, size=n)]
            columns[f"x{j}"] = pd.Series(values, dtype=object)
        else:
            columns[f"x{j}"] = draw_numbers(rng, n, takes)
    frame = pd.DataFrame(columns)
    if n > 10 and rng.uniform() < 0.2:
        # The same row many times.
        frame = frame.iloc[np.where(rng.uniform(size=n) < 0.5, rng.integers(n), np.arange(n))]
    return frame.reset_index(drop=True)


def _draw_words(rng: np.random.Generator, n: int, how: str) -> object:
    values = rng.choice(WORDS, size=n, p=[0.4, 0.3, 0.15, 0.14, 0.01])
    if how == "mixed":
        chance = rng.uniform(size=n)
        values[chance < 0.15] = None
        if rng.uniform() < 0.5:
            values[chance > 0.85] = float("nan")
    if how == "category":
        ordered = bool(rng.uniform() < 0.2)
        if rng.uniform() < 0.3:
            whole = rng.integers(0, 4, size=n)
            return pd.Categorical(whole, categories=range(5), ordered=ordered)
        return pd.Categorical(values, categories=list(WORDS), ordered=ordered)
    # pandas makes its own type of text of them, unless it is told not to.
    return pd.Series(values, dtype=object) if rng.uniform() < 0.5 else values


def draw_score(rng: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
    """A score in which some columns and a product of two play a part."""
    standard = []
    for name in frame:
        column = frame[name]
        numbers = column
        if column.dtype.kind not in "biuf":
            numbers = pd.Series(pd.factorize(column)[0])
        values = np.clip(np.asarray(numbers, dtype=float), -1e100, 1e100)
        values = np.where(np.isnan(values), 0.0, values)
        scale = values.std()
        small = not scale > 1e-12 * abs(values).max()
        standard.append((values - values.mean()) / (1.0 if small else scale))
    Z = np.column_stack(standard)
    weights = rng.normal(size=Z.shape[1]) * (rng.uniform(size=Z.shape[1]) < 0.6)
    score = Z @ weights + Z[:, rng.integers(Z.shape[1])] * Z[:, rng.integers(Z.shape[1])]
    return np.clip(score, -50, 50) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=len(Z))


def spoil(
    rng: np.random.Generator, frame: pd.DataFrame, takes: Takes, thresholds: dict[str, np.ndarray]
) -> pd.DataFrame:
    """Missing values, infinities, values on the model's own thresholds, and narrower types."""
    frame = frame.copy()
    for name in frame:
        if frame[name].dtype != np.float64:
            continue
        values = frame[name].to_numpy(copy=True)
        edges = thresholds.get(str(name), np.empty(0))
        edges = edges[np.isfinite(edges)]
        if len(edges) and rng.uniform() < 0.7:
            _put(rng, values, _around(rng.choice(edges, size=4)), 0.5)
        if takes.odd and rng.uniform() < 0.1:
            _put(rng, values, np.array([-0.0, 0.0, 5e-324]), 0.2)
        if takes.missing and rng.uniform() < 0.3:
            _put(rng, values, np.array([np.nan]), rng.choice([0.05, 0.5]))
        if takes.infinite and rng.uniform() < 0.1:
            _put(rng, values, np.array([np.inf, -np.inf]), 0.05)
        frame[name] = _narrowed(rng, values)
    return frame


def _around(edges: np.ndarray) -> np.ndarray:
    """Thresholds, and their neighbours in double and single precision."""
    with np.errstate(over="ignore"):
        single = edges.astype(np.float32)
        near = [np.nextafter(edges, end) for end in (-np.inf, np.inf)]
        near += [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
    found = np.concatenate([edges, single, *near]).astype(float)
    return found[np.isfinite(found)]


def _put(rng: np.random.Generator, values: np.ndarray, what: np.ndarray, share: float) -> None:
    where = rng.uniform(size=len(values)) < share
    values[where] = rng.choice(what, size=int(where.sum()))


def _narrowed(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """The column in a type that holds it exactly, or in less precision: what the user has."""
    if rng.uniform() < 0.6:
        return values
    whole = np.isfinite(values).all() and (values == np.round(values)).all()
    if whole and abs(values).max() < 100:
        binary = set(np.unique(values).tolist()) <= {0.0, 1.0}
        return values.astype(rng.choice(["int64", "int8", *(["bool"] if binary else [])]))
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if (np.isinf(single) == np.isinf(values)).all() else values
