"""The figures that issue 25 asks for: an older version and this one, side by side in one run.

    git archive ce274fe src | tar -x -C build/old --one-top-level   # build/old/src
    python benchmarks/speed.py build/old/src [--only logistic] [--rounds 5]     # writes SPEED.md

Each version has one process per case. The processes take turns: a pass of the model, the test, and
the plain loop where it is compared. All figures are processor seconds of one thread, because other
programs may share the machine; the best turn counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
SPEED_ROUNDS = 5
LEAST_SECONDS = 0.2
"""A turn repeats a short call for this long."""


@dataclass(frozen=True)
class Goal:
    """A row of the issue's table."""

    model: str
    rows: int
    features: int
    today: float
    goal: float
    what: str = "ours"
    unit: str = "pass"

    @property
    def title(self) -> str:
        """Model and size."""
        what = {"beta": "`choose_beta`, ", "ours": ""}[self.what]
        against = ", against the plain loop" if self.unit == "loop" else ""
        return f"{what}{self.model}, {self.rows:,} x {self.features}{against}"


GOALS = (
    Goal("LightGBM", 10_000, 50, 2.0, 1.8),
    Goal("LightGBM", 100_000, 50, 0.58, 0.5),
    Goal("LightGBM", 1_000_000, 50, 0.34, 0.32),
    Goal("scikit-learn MLP 100-50-30", 10_000, 75, 7.5, 6.5),
    Goal("torch 100-50-30", 10_000, 75, 19, 15),
    Goal("logistic regression", 10_000, 10, 2.3, 1.2, unit="loop"),
    Goal("logistic regression", 100_000, 50, 62, 35),
    Goal("opaque callable", 100_000, 50, 0.76, 0.65, unit="loop"),
    Goal("torch 100-50-30", 10_000, 75, 286, 220, what="beta"),
)


class Version:
    """A process that runs one version of the library on one case."""

    def __init__(self, source: Path, case: Goal):
        environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
        for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[threads] = "1"
        command = [sys.executable, __file__, "--serve", case.model, str(case.features)]
        self.process = subprocess.Popen(  # noqa: S603
            [*command, str(case.rows)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, what: str) -> float:
        """Processor seconds of one call."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def serve(model: str, features: int, rows: int) -> None:
    """Answer with processor seconds: the gate, a pass by itself, does not count."""
    import methods
    from subjects import subject

    from sfit import _measure

    warnings.simplefilter("ignore")
    _measure.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[attr-defined]
    of_model = subject(model, features, train_rows=20_000)
    X, y = of_model.draw(rows)
    terms = [(j,) for j in range(features)]
    calls: dict[str, Callable[[], Any]] = {
        "pass": lambda: of_model.predict(X),
        "ours": lambda: methods.ours(of_model, X, y),
        "loop": lambda: methods.plain_loop(of_model, X, y, terms),
        "beta": lambda: methods.ours_beta(of_model, X, y),
    }
    for line in sys.stdin:
        call, best, spent = calls[line.strip()], float("inf"), 0.0
        while spent < LEAST_SECONDS:
            started = time.process_time()
            answer = call()
            seconds = time.process_time() - started
            spent += seconds
            stages = answer.run["stages"] if line.strip() == "ours" else ()
            best = min(best, seconds - sum(s["seconds"] for s in stages if s["stage"] == "gate"))
        print(json.dumps(best), flush=True)


def measure(goal: Goal, sources: list[Path], rounds: int) -> list[dict[str, float]]:
    """For each version, the best seconds of each call, all in turns."""
    versions = [Version(source, goal) for source in sources]
    best: list[dict[str, float]] = [{} for _ in versions]
    for _ in range(rounds):
        for what in ("pass", "loop", goal.what) if goal.unit == "loop" else ("pass", goal.what):
            for seen, version in zip(best, versions, strict=True):
                seen[what] = min(seen.get(what, float("inf")), version(what))
    for version in versions:
        version.close()
    return best


def line(goal: Goal, best: list[dict[str, float]]) -> list[str]:
    """A row of the page: the same unit for both versions, which run the same model."""
    unit = min(seen[goal.unit] for seen in best)
    before, after = (seen[goal.what] / unit for seen in best)
    return [
        goal.title,
        f"{goal.today:.3g}",
        f"{goal.goal:.3g}",
        f"{1e3 * unit:.3g} ms",
        f"{before:.3g}",
        f"**{after:.3g}**",
        f"{after / before:.2f}",
        f"{goal.goal / goal.today:.2f}",
    ]


HEAD = [
    "case", "issue: today", "issue: at most", "one pass or loop", "before", "now", "now / before",
    "asked: at most / today",
]  # fmt: skip


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=SPEED_ROUNDS)
    parser.add_argument("--serve", nargs=3)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], *map(int, options.serve[1:]))
        return
    rows = [HEAD, ["---"] * len(HEAD)]
    for goal in GOALS:
        if options.only in goal.title:
            row = line(goal, measure(goal, [options.before, HERE.parent / "src"], options.rounds))
            rows.append(row)
            print(" | ".join(row), file=sys.stderr, flush=True)
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    print(text)


if __name__ == "__main__":
    main()
