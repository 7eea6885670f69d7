"""Random tests of random models with random settings, for as long as you like.

    python tests/soak.py --seconds 3600 --seed 1        a soak
    python tests/soak.py --seed 1 --only 274            one of its runs again

Every run is drawn from (seed, number of the run) alone. Each result must be what the rules of the
test say (`check`), survive its own JSON, and be found again by another way: the model asked for
every row, other rows of the same values, other workers, a checkpoint. What is not an `SFITWarning`
is a warning that nobody handled. Memory is what the process holds after each minute.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import tempfile
import time
import traceback
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import joblib
import numpy as np
import pandas as pd
from fuzz_models.case import KINDS, is_installed
from fuzz_models.kinds import CannotFitError
from scipy.stats import binom

import sfit
from sfit.exceptions import BetaError, DataError, ModelError, SFITWarning

LIBRARIES_OWN = (
    "__array__ implementation doesn't accept",  # Keras on torch, on NumPy 2
    "A worker stopped while some jobs",  # joblib, of a process it starts anew
    "`sklearn.utils.parallel.delayed` should",  # forests in two threads: its own race
)
"""How warnings begin that libraries make of their own doings, whoever calls them. Known by their
text: a filter would not last, since forests in threads set the filters of warnings.
"""
NO_RANDOM_COPIES = ("function", "distances", "combined", "onnx")
SINGLE = ("torch", "skorch", "keras", "onnx")
"""Computed in single precision by their libraries."""


# --- rows ---------------------------------------------------------------------------------


def draw_column(rng, n, single):
    """A column of one of the kinds that data come in."""
    kinds = ["normal", "counts", "dummy", "constant", "ties", "tiny", "heavy", "huge"]
    # Single precision cannot tell small effects beside a column of millions from rounding.
    kind = rng.choice(kinds[:-2] if single else kinds)
    z = rng.normal(size=n)
    return {
        "normal": lambda: z,
        "heavy": lambda: np.clip(rng.standard_t(1, size=n), -1e6, 1e6),
        "counts": lambda: rng.poisson(3, size=n).astype(float),
        "dummy": lambda: (z > 1).astype(float),
        "constant": lambda: np.full(n, 2.5),
        "ties": lambda: np.round(z, 1),
        "tiny": lambda: 1e-8 * z,
        "huge": lambda: 1e6 + 1e3 * z,
    }[kind]()


def draw_rows(rng, n, width, single):
    """Columns of mixed kinds, and a score in which some of them, and a pair, play a part."""
    X = np.column_stack([draw_column(rng, n, single) for _ in range(width)])
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 1e-12 * abs(X).max(axis=0), scale, 1.0)
    weights = rng.normal(size=width) * (rng.uniform(size=width) < 0.5)
    score = Z @ weights + Z[:, rng.integers(width)] * Z[:, rng.integers(width)]
    return X, score + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)


def as_kind(kind, X, y, folder):
    """The same rows and targets in another form."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if kind == "pandas":
        return frame, y
    if kind == "fortran":
        return np.asfortranarray(X), y
    if kind == "list":
        return X.tolist(), y.tolist()
    if kind == "polars":
        import polars

        return polars.from_pandas(frame), y
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False), y
    path = folder / "rows.parquet"
    frame.assign(y=y).to_parquet(path, row_group_size=100)
    return str(path), "y"


# --- models -------------------------------------------------------------------------------


def fitted(kind, X, y, labels, rng):
    """A model of the fuzzer's zoo, as sfit takes it."""
    task, target = ("regression", y) if labels is None else ("classes", labels)
    # Pipelines know the names of their columns, and take arrays all the same.
    rows = X if KINDS[kind].fitted_on != "frame" else pd.DataFrame(X).add_prefix("x")
    model = KINDS[kind].fit(rng, rows, target, task)
    return model.for_sfit() if hasattr(model, "for_sfit") else model


# --- one run ------------------------------------------------------------------------------


def draw_settings(rng, names, classify, kind):
    """Arguments that make sense together."""
    width, order = len(names), int(rng.integers(1, 4))
    settings = {
        "alpha": float(rng.choice([0.01, 0.05, 0.2])),
        "max_order": order,
        "correction": rng.choice([None, "fdr_by", "fdr_bh", "holm", "bonferroni"]),
        "test": sfit.SignTest(interval=str(rng.choice(["exact", "asymptotic"]))),
        "reference": ["mean", "median", "mode", 0][rng.integers(4)],
        "partners": str(rng.choice(["auto", "all"])),
        "n_partners": rng.choice([None, 1, 2]),
        "exhaustive": bool(rng.integers(2)),
        "strict": bool(rng.integers(2)),
        "random_state": int(rng.integers(1000)),
    }
    losses = ["auto", "log_loss", "brier", "zero_one"]
    settings["loss"] = str(
        rng.choice(losses if classify else ["auto", "absolute_error", "squared_error"])
    )
    chance = rng.uniform()
    if chance < 0.1 and kind not in NO_RANDOM_COPIES:
        settings["beta"] = "auto"
    else:
        betas = rng.choice([0.0, 1e-4, 1e-3, 0.01, 0.1], size=order)
        settings["beta"] = float(betas[0]) if chance < 0.5 else betas.tolist()
    left = list(names)
    rng.shuffle(left)
    if width > 3 and rng.uniform() < 0.3:
        settings["groups"] = {"group": [left.pop(), left.pop()]}
    if len(left) > 2 and rng.uniform() < 0.2:
        settings["always_on"] = [left.pop()]
    chance = rng.uniform()
    if len(left) > 1 and chance < 0.2:
        settings["given"] = [left.pop()]
    elif chance < 0.3:
        settings |= {"given": "rest", "max_order": 1}
        if isinstance(settings["beta"], list):
            settings["beta"] = settings["beta"][0]
    return settings


def draw(rng):
    """A model, rows and settings."""
    kinds = [kind for kind in KINDS if is_installed(kind)]
    kind = str(rng.choice(kinds))
    n = int(np.exp(rng.uniform(np.log(5), np.log(3_000))))
    width = int(rng.integers(1, 8))
    X, score = draw_rows(rng, 200 + n, width, kind in SINGLE)
    labels = None
    if rng.uniform() < 0.5:
        n_classes = int(rng.integers(2, 5))
        labels = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
        # Every class among the rows to fit and the rows to test: not all models know their classes.
        labels[:n_classes] = labels[200 : 200 + n_classes] = range(n_classes)
    if KINDS[kind].takes.missing and rng.uniform() < 0.3:
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        X[:2] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the libraries say while fitting is not our concern
        try:
            model = fitted(
                kind, X[:200], score[:200], None if labels is None else labels[:200], rng
            )
        except Exception as error:  # CatBoost, for one, fits nothing on constant columns
            raise CannotFitError(kind) from error
    settings = draw_settings(rng, [f"x{j}" for j in range(width)], labels is not None, kind)
    if KINDS[kind].hard and labels is not None and not hasattr(model, "predict_proba"):
        settings["loss"] = "zero_one"
    y = (score if labels is None else labels)[200:]
    return kind, model, X[200:], y, settings


def content(result):
    """What must be equal to the byte."""
    return result.to_json().partition(' "run": ')[0]


def check(result, settings, n):
    """The rules that every result obeys."""
    assert type(result).from_json(result.to_json()) == result, "JSON"
    assert content(type(result).from_json(result.to_json())) == content(result), "JSON text"
    parts = list(result.values()) if isinstance(result, sfit.PartitionedResult) else [result]
    assert sum(part.tests[0].n for part in parts) <= n
    for part in parts:
        assert part.summary()
        table = part.table
        expected = binom.sf(table["n_positive"] - 1, table["n"], 0.5)
        sole = not (settings["exhaustive"] or settings["strict"])
        close = np.isclose(table["p_value"], expected, rtol=1e-9, atol=0)
        assert close.all() or not sole, "p-values"
        assert (table["p_value"] >= expected * (1 - 1e-9)).all(), "p-values"
        assert (table["p_adjusted"] >= table["p_value"]).all(), "adjusted"
        assert (table["significant"] == (table["p_adjusted"] < part.settings.alpha)).all()
        assert (table["ci_low"] <= table["statistic"]).all(), "interval"
        assert (table["statistic"] <= table["ci_high"]).all(), "interval"
        assert table["n_positive"].between(0, table["n"]).all(), "counts"
        assert part.at() == part, "at"
        assert {name for term in table["term"] for name in term} <= set(part.feature_names)


def agree(result, other, y, rounded):
    """The same result: to the byte, or where a network is computed anew, but for rounding."""
    if not rounded:
        assert content(result) == content(other), "another way, another result"
        return
    a, b = result.table, other.table
    assert a["term"].tolist() == b["term"].tolist(), "sets"
    ends = a[["statistic", "ci_low", "ci_high"]].to_numpy()
    ends = np.where(np.isfinite(ends), ends, 0.0)
    scale = np.abs(ends).max() + np.abs(y).max()
    # A coefficient of 1e-17 is an effect, smaller than what sums inside the model are rounded to.
    told = np.abs(ends).max(axis=1) > 1e-9 * scale
    assert (a["n_positive"][told] == b["n_positive"][told]).all(), "counts"
    # The rounding of single precision, on the scale of the losses.
    assert (np.abs(a["statistic"] - b["statistic"]) <= 1e-5 * scale).all(), "medians"


def run(seed, number, folder, counts):
    """One draw, and its result by several ways."""
    rng = np.random.default_rng([seed, number])
    try:
        kind, model, X, y, settings = draw(rng)
    except CannotFitError as error:
        counts["could not be fitted", str(error)] += 1
        return
    counts["model", kind] += 1
    if rng.uniform() < 0.2:
        settings["by"] = rng.integers(0, 3, size=len(y))
    test = sfit.feature_significance
    try:
        result = test(model, X, y, **settings)
    except BetaError:
        counts["no beta up to 0.1 was enough"] += 1
        return
    except ModelError as error:
        # Settings decide: trees with linear leaves have no random copies, others have.
        if settings["beta"] != "auto" or "random_model=" not in str(error):
            raise
        counts["no random copies", kind] += 1
        return
    except DataError as error:
        # Half of the rows were set aside to choose beta on, and with them a whole part.
        if "no test rows are left in part" not in str(error):
            raise
        counts["no rows were left in a part"] += 1
        return
    check(result, settings, len(y))
    counts["sets tested"] += len(result.table)
    way = str(rng.choice(["slow", "rows", "threads", "processes", "checkpoint", "report"]))
    if way == "processes" and rng.uniform() < 0.7:
        way = "slow"  # processes take long to start
    counts["way", way] += 1
    if way == "slow":
        agree(result, test(model, X, y, fast=False, **settings), y, not KINDS[kind].exact)
    elif way == "rows":
        kinds = ["fortran", "list"]
        # Functions and Pipelines are handed the user's own kind of rows, and may answer otherwise.
        if kind not in ("function", "pipeline") and not np.isnan(X).any():
            kinds += ["pandas", *(k for k in ("polars", "pyarrow") if find_spec(k))]
            kinds += ["parquet"] if find_spec("pyarrow") and "by" not in settings else []
        rows, target = as_kind(str(rng.choice(kinds)), X, y, folder)
        agree(result, test(model, rows, target, **settings), y, False)
    elif way == "threads":
        agree(result, test(model, X, y, n_jobs=2, **settings), y, False)
    elif way == "processes":
        with joblib.parallel_config(backend="loky", n_jobs=2):
            agree(result, test(model, X, y, **settings), y, False)
    elif way == "checkpoint":
        path = folder / "run.sqlite"
        path.unlink(missing_ok=True)
        for _ in range(2):
            saved = test(model, X, y, checkpoint=path, checkpoint_key=str(number), **settings)
            agree(result, saved, y, False)
    elif find_spec("jinja2") and find_spec("matplotlib"):
        assert "<html" in result.to_html()
        assert result.to_markdown()


# --- the soak -----------------------------------------------------------------------------


def resident():
    """Megabytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def sorted_out(told, counts):
    """Count warnings by what they say; the texts of those that should not have been."""
    for warning in told:
        text = str(warning.message)
        # Numbers and names differ from run to run.
        kind = re.sub(r"\d[\d.,e+-]*|'[^']*'", "_", text)[:60]
        if issubclass(warning.category, SFITWarning):
            counts["warning of sfit", kind] += 1
            if "does not reproduce" in text:
                yield text
        elif any(text.startswith(own) for own in LIBRARIES_OWN):
            counts["warning of a library's own", kind] += 1
        else:
            counts["warnings unhandled"] += 1
            yield f"{warning.category.__name__}: {text}"[:300]


def soak(seconds, seed):
    """Runs until the time is up; prints a line per minute, and a summary."""
    started, counts, faults, memory = time.monotonic(), Counter(), [], []
    number, minute = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while (elapsed := time.monotonic() - started) < seconds:
            if elapsed >= 60 * minute:
                gc.collect()
                memory.append(resident())
                print(f"{minute:4d} min  {number:6d} runs  {memory[-1]:7.1f} MB", flush=True)
                minute += 1
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    run(seed, number, folder, counts)
                except Exception as error:
                    faults.append(f"run {number}: {type(error).__name__}: {error}")
                    print(faults[-1], traceback.format_exc(limit=-3), sep="\n", flush=True)
            for text in dict.fromkeys(sorted_out(told, counts)):
                print(f"run {number}: {text}", flush=True)
                if "does not reproduce" in text:
                    faults.append(text)
            number += 1
    gc.collect()
    memory.append(resident())
    print(f"\n{number} runs in {time.monotonic() - started:.0f} s, seed {seed}")
    quarter = max(1, len(memory) // 4)
    for label, part in (("second", memory[quarter : 2 * quarter]), ("last", memory[-quarter:])):
        print(
            f"memory in the {label} quarter: {np.median(part):.0f} MB (median), {max(part):.0f} MB"
        )
    for what, count in sorted(counts.items(), key=str):
        print(f"{' '.join(what) if isinstance(what, tuple) else what}: {count}")
    print(f"faults: {len(faults)}")
    return len(faults) + counts["warnings unhandled"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one run")
    options = parser.parse_args()
    if options.only is not None:
        with tempfile.TemporaryDirectory() as name:
            run(options.seed, options.only, Path(name), Counter())
    else:
        raise SystemExit(soak(options.seconds, options.seed) > 0)
