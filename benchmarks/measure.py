"""Measures one case in its own process: a JSON line on standard output for each thing measured.

Lines come as soon as they are known, so that a case that is ended for its time has not been in vain.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import methods
from cases import Case, Sizes
from memory import memory, peaks, reset_peak
from parts import parts_of
from subjects import Subject, subject

import sfit

MOST_ROUNDS = 9
SHORT_SECONDS, AGAIN = 0.25, 4
SAGE_STOPS = 0.025


@dataclass(frozen=True)
class Run:
    """One call: how long it took, what memory it needed beyond what was there, its answer."""

    seconds: float
    megabytes: float | None
    answer: Any


def timed(call: Callable[[], Any], *, trim: bool = True) -> Run:
    """One call. With `trim`, memory that others have freed goes back first, and counts if used."""
    before = reset_peak(trim=trim)
    started = time.perf_counter()
    answer = call()
    seconds = time.perf_counter() - started
    return Run(seconds, None if before is None else memory("VmHWM") - before, answer)


def best(runs: list[Run]) -> Run:
    return min(runs, key=lambda run: run.seconds)


def peak(runs: list[Run]) -> float | None:
    return max((run.megabytes for run in runs if run.megabytes is not None), default=None)


def in_turns(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[Run]]:
    """All calls in turn, again and again for some time: a noisy moment hits them alike."""
    runs: dict[str, list[Run]] = {name: [] for name in calls}
    started = time.perf_counter()
    for turn in range(MOST_ROUNDS):
        for name, call in calls.items():
            # Fresh memory is slow: the first turn tells the peak, a later one the time.
            runs[name].append(timed(call, trim=turn == 0))
            # A short call after a long one finds threads asleep and the cache cold: again at once.
            # So a pass has no more luck with noise than a call of ours that is nearly as short.
            for _ in range(AGAIN if runs[name][-1].seconds < SHORT_SECONDS else 0):
                runs[name].append(timed(call, trim=False))
        if time.perf_counter() - started > seconds:
            break
    return runs


def on_growing_rows(call: Callable[[int], Any], n: int, seconds: float) -> tuple[Run, int]:
    """What n rows take, from as many of them as the time allows: the run, and the rows tried.

    The rest is added at what the last added rows took each, so that what a call takes whatever its
    rows is not multiplied.
    """
    few = rows = min(n, 10)
    call(rows)  # late imports and compilers are nobody's cost
    first = last = timed(lambda: call(few))
    while rows < n and (rows == few or last.seconds < max(seconds, min(2 * first.seconds, 4.0))):
        rows = min(n, int(rows * min(30.0, max(3.0, 0.8 * seconds / last.seconds))))
        last = timed(lambda rows=rows: call(rows))
    each = max(0.0, last.seconds - first.seconds) / max(1, rows - few)
    return Run(last.seconds + each * (n - rows), last.megabytes, None), rows


class Report:
    """Prints what is known of one case, in multiples of one pass over the same rows."""

    def __init__(self, case: Case):
        self.case = case

    def __call__(self, n: int, method: str, **known: Any) -> None:
        line = {"kind": self.case.kind, "model": self.case.model, "rows": n}
        line |= {"features": self.case.features, "method": method}
        print(json.dumps(line | known), flush=True)
        shown = f"{known['passes']:.2f} passes" if "passes" in known else known.get("error", "")
        print(f"    {n:,} rows: {method} {shown}", file=sys.stderr, flush=True)

    def failure(self, n: int, method: str, error: Exception) -> None:
        text = " ".join(str(error).split())[:200]
        self(n, method, error=f"failed: {type(error).__name__}: {text}")


def measure(case: Case, sizes: Sizes) -> None:
    report = Report(case)
    one_hot = case.kind == "one-hot"
    asked = subject(case.model, case.features, one_hot=one_hot, train_rows=sizes.train_rows)
    kinds = {
        "all pairs": second_order,
        "a pair": second_order,
        "choose_beta": beta,
        "parts": parts,
    }
    round_seconds, previous = 0.0, 0
    for n in case.rows:
        central = case.features in (sizes.features[1], sizes.network_features)
        limit = sizes.round_limit_middle if central else sizes.round_limit
        forecast = round_seconds * n / previous if previous else 0.0
        if forecast > limit:
            report(n, "all", error=f"left out: one round would take about {forecast:.0f} s")
            continue
        X, y = asked.draw(n)
        asked.predict(X[:1000])  # thread pools and late imports are nobody's cost
        methods.ours(asked, X[:1000], y[:1000])
        started = time.perf_counter()
        try:
            round_seconds = kinds.get(case.kind, first_order)(asked, X, y, case, sizes, report)
        except Exception as error:
            report.failure(n, "all", error)
            round_seconds = time.perf_counter() - started
        previous = n
    if reset_peak(trim=False) is not None:
        report(case.rows[-1], "process", megabytes=max(peaks))


def first_order(asked: Subject, X: Any, y: Any, case: Case, sizes: Sizes, report: Report) -> float:
    """All single features; the seconds of one round of pass, ours and ours with two workers."""
    n, p = X.shape
    whole = n in case.whole
    opaque = asked.name == "opaque callable" and case.kind == "first order"
    one = best([timed(lambda: asked.predict(X)) for _ in range(3)])
    loop_seconds = sizes.rounds_seconds * (0.6 if whole else 0.3)
    columns = p if opaque else max(3, min(p, int(loop_seconds / one.seconds)))
    terms = [(j * p // columns,) for j in range(columns)]
    calls = {
        "pass": lambda: asked.predict(X),
        "ours": lambda: methods.ours(asked, X, y),
        "ours, n_jobs=2": lambda: methods.ours(asked, X, y, n_jobs=2),
        "plain loop": lambda: methods.plain_loop(asked, X, y, terms),
    }
    if forecast_too_long := one.seconds * columns > sizes.round_limit_middle:
        del calls["plain loop"]
    runs = in_turns(calls, sizes.rounds_seconds * (4 if whole else 1))
    one_pass = best(runs["pass"]).seconds
    report(n, "pass", seconds=one_pass, passes=1.0, megabytes=peak(runs["pass"]))
    for name in ("ours", "ours, n_jobs=2"):
        report(n, name, **cost_of_ours(runs[name], one_pass))
    result = runs["ours"][0].answer
    if forecast_too_long:
        report(n, "plain loop", error="left out: too long")
    else:
        report_loop(n, p, terms, runs["plain loop"], result, one_pass, report)
    report_slow(asked, X, y, one_pass, result, whole, sizes, report)
    if n in case.peers:
        report_peers(asked, X, y, one_pass, sizes, report)
    return sum(best(runs[name]).seconds for name in ("pass", "ours", "ours, n_jobs=2"))


def cost_of_ours(runs: list[Run], one_pass: float) -> dict[str, Any]:
    """The whole call without the gate, which is a full pass by itself; the gate; the whole."""
    gates = [
        sum(s["seconds"] for s in run.answer.run["stages"] if s["stage"] == "gate") for run in runs
    ]
    seconds = min(run.seconds - gate for run, gate in zip(runs, gates, strict=True))
    return {
        "seconds": seconds,
        "passes": seconds / one_pass,
        "gate": min(gates) / one_pass,
        "whole": best(runs).seconds / one_pass,
        "route": runs[0].answer.run["stages"][0]["route"],
        "megabytes": peak(runs),
        "repeats": len(runs),
    }


def report_loop(
    n: int,
    p: int,
    terms: list[tuple[int, ...]],
    runs: list[Run],
    result: sfit.SFITResult,
    one_pass: float,
    report: Report,
) -> None:
    run = best(runs)
    seconds = run.seconds * (p + 1) / (len(terms) + 1)  # the base is a pass too
    counts = {test.term: test.n_positive for test in result.tests}
    theirs = {(f"x{j}",): count for (j,), count in zip(terms, run.answer, strict=True)}
    report(
        n,
        "plain loop",
        seconds=seconds,
        passes=seconds / one_pass,
        megabytes=peak(runs),
        measured=None if len(terms) == p else f"{len(terms)} of {p} columns",
        apart=max(abs(counts[term] - count) for term, count in theirs.items()),
    )


def report_slow(
    asked: Subject,
    X: Any,
    y: Any,
    one_pass: float,
    result: sfit.SFITResult,
    whole: bool,
    sizes: Sizes,
    report: Report,
) -> None:
    """Ours with fast=False on as many rows as the time allows, against a pass over those."""
    n, p = X.shape
    rows = n if whole else min(n, int(n * 0.4 * sizes.rounds_seconds / (one_pass * p)))
    rows = max(rows, min(n, 500))
    slow = timed(lambda: methods.ours(asked, X[:rows], y[:rows], fast=False))
    if rows < n:
        one_pass = min(timed(lambda: asked.predict(X[:rows])).seconds for _ in range(5))
        result = methods.ours(asked, X[:rows], y[:rows])
    cost = cost_of_ours([slow], one_pass)
    counts = zip(slow.answer.tests, result.tests, strict=True)
    report(
        n,
        "ours, fast=False",
        **cost,
        measured=None if rows == n else f"{rows:,} rows",
        same=slow.answer == result,
        apart=max(abs(a.n_positive - b.n_positive) for a, b in counts) / rows,
    )


def report_peers(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    peers = {
        "permutation_importance": report_permutation,
        "hidimstat PFI": report_pfi,
        "hidimstat LOCO": report_loco,
        "shap": report_shap,
        "sage": report_sage,
    }
    for name, measured in peers.items():
        try:
            measured(asked, X, y, one_pass, sizes, report)
        except Exception as error:
            report.failure(len(X), name, error)


def report_peer(
    report: Report, n: int, name: str, run: Run, one_pass: float, measured: str | None
) -> None:
    passes = run.seconds / one_pass
    known = {"seconds": run.seconds, "passes": passes, "megabytes": run.megabytes}
    report(n, name, **known, measured=measured)


def report_permutation(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    """Fewer rows and one repeat where time is short, in passes over those rows."""
    n, p = X.shape
    rows = min(n, max(1_000, int(n * sizes.peer_seconds / (p * one_pass))))
    repeats = methods.REPEATS if rows == n else 1
    pass_over_rows = min(timed(lambda: asked.predict(X[:rows])).seconds for _ in range(5))
    run = timed(lambda: methods.permutation_importance(asked, X[:rows], y[:rows], repeats))
    # One score of the rows as they are, then one for each feature and repeat.
    passes = run.seconds / pass_over_rows * (methods.REPEATS * p + 1) / (repeats * p + 1)
    measured = None if rows == n else f"{rows:,} rows, {repeats} of {methods.REPEATS} repeats"
    scaled = Run(passes * one_pass, run.megabytes, None)
    report_peer(report, n, "permutation_importance", scaled, one_pass, measured)


def report_pfi(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    """All rows, fewer features where time is short."""
    n, p = X.shape
    features = min(p, max(1, int(sizes.peer_seconds / (methods.REPEATS * one_pass))))
    methods.hidimstat_pfi(asked, X[:10], y[:10], 1)
    run = timed(lambda: methods.hidimstat_pfi(asked, X, y, features))
    seconds = run.seconds * (methods.REPEATS * p + 1) / (methods.REPEATS * features + 1)
    measured = None if features == p else f"{features} of {p} features"
    scaled = Run(seconds, run.megabytes, None)
    report_peer(report, n, "hidimstat PFI", scaled, one_pass, measured)


def report_shap(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    def call(rows: int) -> None:
        methods.shap_values(asked, X[:rows])

    run, rows = on_growing_rows(call, len(X), sizes.peer_seconds)
    measured = None if rows == len(X) else f"{rows:,} rows"
    report_peer(report, len(X), "shap", run, one_pass, measured)


def report_loco(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    n, p = X.shape
    if not asked.refits:
        report(n, "hidimstat LOCO", error="does not apply: nothing to refit")
        return
    n_train = len(asked.train[0])
    share = 2 * sizes.peer_seconds / asked.fit_seconds
    refitted = min(n_train, max(500, int(share * n_train)))
    rows = min(n, 10_000)
    # The refit and the predictions grow with different rows: take them apart.
    methods.hidimstat_loco(asked, X[:10], y[:10], min(n_train, 200))
    refit = timed(lambda: methods.hidimstat_loco(asked, X[:10], y[:10], refitted))
    both = timed(lambda: methods.hidimstat_loco(asked, X[:rows], y[:rows], refitted))
    predictions = max(0.0, both.seconds - refit.seconds) * n / rows
    seconds = min(refit.seconds, both.seconds) * n_train / refitted + predictions
    measured = f"1 of {p} features, {refitted:,} of {n_train:,} training rows, {rows:,} rows"
    run = Run(p * seconds, both.megabytes, None)
    report_peer(report, n, "hidimstat LOCO", run, one_pass, measured)


def report_sage(
    asked: Subject, X: Any, y: Any, one_pass: float, sizes: Sizes, report: Report
) -> None:
    """Until it stops by itself, by its own forecast: the error falls with the square root."""
    limit = 2 * sizes.peer_seconds
    pilot = timed(lambda: methods.sage_ratio(asked, X, y, 4))
    permutations = 16 * max(1, min(32, int(limit / (4 * pilot.seconds))))
    run = timed(lambda: methods.sage_ratio(asked, X, y, permutations))
    needed = permutations * (run.answer / SAGE_STOPS) ** 2
    scaled = Run(run.seconds * needed / permutations, run.megabytes, None)
    measured = f"{permutations} of about {needed:,.0f} permutations"
    report_peer(report, len(X), "sage", scaled, one_pass, measured)


def second_order(asked: Subject, X: Any, y: Any, case: Case, sizes: Sizes, report: Report) -> float:
    """Pairs of features: what the second order takes, without the first and the gates."""
    n, p = X.shape
    among = p if case.kind == "all pairs" else 6
    every = methods.pairs(among)
    few = every[:: max(1, len(every) // 3)]
    calls = {
        "pass": lambda: asked.predict(X),
        "ours, n_jobs=2": lambda: methods.ours_pairs(asked, X, y, among, n_jobs=2),
        "plain loop": lambda: methods.plain_loop(asked, X, y, few),
    }
    runs = in_turns(calls, sizes.rounds_seconds)
    one_pass = best(runs["pass"]).seconds
    stages = [
        stage
        for run in runs["ours, n_jobs=2"]
        for stage in run.answer.run["stages"]
        if stage["stage"] == "order 2"
    ]
    seconds = min(stage["seconds"] for stage in stages)
    loop = best(runs["plain loop"])
    loop_seconds = loop.seconds * len(every) / (len(few) + 1)  # the base is a pass too
    report(n, "pass", seconds=one_pass, passes=1.0, megabytes=peak(runs["pass"]))
    report(
        n,
        "ours, n_jobs=2",
        seconds=seconds,
        passes=seconds / one_pass,
        pairs=len(every),
        whole=best(runs["ours, n_jobs=2"]).seconds / one_pass,
        route=stages[0]["route"],
        megabytes=peak(runs["ours, n_jobs=2"]),
    )
    report(
        n,
        "plain loop",
        seconds=loop_seconds,
        passes=loop_seconds / one_pass,
        megabytes=peak(runs["plain loop"]),
        measured=f"{len(few)} of {len(every)} pairs",
    )
    return sum(best(run).seconds for run in runs.values())


def beta(asked: Subject, X: Any, y: Any, case: Case, sizes: Sizes, report: Report) -> float:
    """20 random models; a pass is one of the fitted network."""
    calls = {
        "pass": lambda: asked.predict(X),
        "ours": lambda: methods.ours_beta(asked, X, y),
        "ours, n_jobs=2": lambda: methods.ours_beta(asked, X, y, n_jobs=2),
    }
    runs = in_turns(calls, sizes.rounds_seconds)
    one_pass = best(runs["pass"]).seconds
    for name in calls:
        run = best(runs[name])
        passes = run.seconds / one_pass
        report(len(X), name, seconds=run.seconds, passes=passes, megabytes=peak(runs[name]))
    return sum(best(run).seconds for run in runs.values())


def parts(asked: Subject, X: Any, y: Any, case: Case, sizes: Sizes, report: Report) -> float:
    """What the parts of the fastest of several calls take."""
    calls = {
        "pass": lambda: asked.predict(X),
        "parts": lambda: parts_of(lambda: methods.ours(asked, X, y)),
    }
    runs = in_turns(calls, sizes.rounds_seconds)
    one_pass = best(runs["pass"]).seconds
    report(len(X), "pass", seconds=one_pass, passes=1.0)
    fastest = min((run.answer for run in runs["parts"]), key=lambda spent: sum(spent.values()))
    for part, seconds in fastest.items():
        report(len(X), part, seconds=seconds, passes=seconds / one_pass)
    return sum(best(run).seconds for run in runs.values())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    request = json.loads(sys.argv[1])
    request["case"] |= {key: tuple(request["case"][key]) for key in ("rows", "whole", "peers")}
    measure(Case(**request["case"]), Sizes(**request["sizes"]))
