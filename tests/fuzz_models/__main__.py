"""The program: cases in a process of their own, which may crash, hang or grow; a log, a summary."""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("OMP_NUM_THREADS", "1")

CASES_PER_PROCESS = 500
"""A new process after so many cases returns all memory."""
SECONDS_PER_CASE = 900
"""By the clock: a case may take 15 s of the processor, and a busy machine ten times as long."""


def work(seed: int, numbers: range, average: bool) -> None:
    """Run cases in this process, and write a line of JSON before and after each."""
    from fuzz_models.check import run_case

    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            print(json.dumps({"started": number}), flush=True)
            outcome = run_case(seed, number, Path(folder), average=average)
            told = vars(outcome) | {"foreign": sorted(outcome.foreign), "memory": resident()}
            print(json.dumps(told), flush=True)


def resident() -> float:
    """Megabytes of memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Worker:
    """Another process that runs cases; its lines are read by a thread, so that waiting can end."""

    def __init__(self, seed: int, first: int, step: int, average: bool) -> None:
        self.at = first
        """The case that runs now."""
        command = [sys.executable, "-m", "fuzz_models", "--work", str(first), "--seed", str(seed)]
        self.start([*command, "--step", str(step), *(["--average"] if average else [])])

    def start(self, command: list[str]) -> None:
        """Start the process and the thread that reads its lines."""
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next(self) -> dict[str, Any] | None:
        """The next line; None where the process has ended. Raises `queue.Empty` if it hangs."""
        while (line := self.lines.get(timeout=SECONDS_PER_CASE)) is not None:
            if line.startswith("{"):
                return json.loads(line)
        return None

    def stop(self) -> int:
        """End the process; its exit code."""
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()


class Log:
    """What was seen, printed as it comes and written down at the end."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.started = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.findings: list[dict[str, Any]] = []
        self.memory: list[float] = []

    def add(self, outcome: dict[str, Any]) -> None:
        """One case."""
        self.counts["cases"] += 1
        self.counts[f"cases {outcome['status']}"] += 1
        self.kinds[outcome["kind"]] += outcome["status"] == "compared"
        self.counts.update(outcome["counts"])
        self.memory.append(outcome["memory"])
        if outcome["findings"]:
            self.find(outcome["number"], outcome["findings"], outcome["description"])

    def find(self, number: int, texts: list[str], description: str) -> None:
        """One case with findings, and how to repeat it."""
        again = f"python -m fuzz_models --seed {self.seed} --case {number}"
        self.findings.append({"again": again, "case": description, "findings": texts})
        print(f"\n{again}\n  {description}", flush=True)
        for text in texts[:4]:
            print(f"  - {text[:1500]}", flush=True)

    def summary(self) -> dict[str, Any]:
        """The figures."""
        return {
            "seed": self.seed,
            "seconds": round(time.monotonic() - self.started),
            "compared by kind": dict(sorted(self.kinds.items())),
            "counts": dict(sorted(self.counts.items())),
            "memory in MB, largest": round(max(self.memory, default=0.0)),
            "findings": self.findings,
        }


def fuzz(
    seed: int, seconds: float, first: int, step: int, cases: int | None, average: bool = False
) -> Log:
    """Run cases until the time is up or all are done."""
    log, number = Log(seed), first
    end = time.monotonic() + seconds
    last = None if cases is None else first + step * cases
    while time.monotonic() < end and (last is None or number < last):
        worker = Worker(seed, number, step, average)
        try:
            number = _follow(worker, log, number, end, step, last)
        except queue.Empty:
            number = worker.at
            log.find(number, [f"no answer within {SECONDS_PER_CASE} s"], "")
            number += step
        finally:
            worker.stop()
    return log


def _follow(worker: Worker, log: Log, number: int, end: float, step: int, last: int | None) -> int:
    """Read what a worker says until it is done or the time is up; the number to go on with."""
    started, heard = None, False
    while time.monotonic() < end and (last is None or number < last):
        line = worker.next()
        if line is None:
            code = worker.stop()
            if started is None and not heard and code:
                raise SystemExit(f"the cases cannot be run: exit code {code} before the first one")
            if started is not None or code:
                log.find(number, [f"the process ended with exit code {code}"], "")
                number += step
            return number
        heard = True
        if "started" in line:
            started = number = worker.at = line["started"]
        else:
            log.add(line)
            started, number = None, number + step
            if log.counts["cases"] % 500 == 0:
                minutes = (time.monotonic() - log.started) / 60
                found = len(log.findings)
                print(f"{minutes:5.1f} min {log.counts['cases']} cases {found} found", flush=True)
    return number


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--case", type=int, help="repeat one case, in this process")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--step", type=int, default=1, help="the distance between case numbers")
    parser.add_argument("--average", action="store_true", help="average over background rows")
    parser.add_argument("--log", type=Path, help="write the summary as JSON")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        stop = options.work + CASES_PER_PROCESS * options.step
        work(options.seed, range(options.work, stop, options.step), options.average)
        sys.stdout.flush()
        os._exit(0)  # threads of some libraries keep a process from ending
    if options.case is not None:
        from fuzz_models.check import run_case

        with tempfile.TemporaryDirectory() as folder:
            outcome = run_case(options.seed, options.case, Path(folder), average=options.average)
        print(f"{outcome.description}\n{outcome.status}", dict(outcome.counts))
        print(*outcome.findings, sep="\n")
        return len(outcome.findings) > 0
    log = fuzz(
        options.seed,
        options.seconds,
        options.first,
        options.step,
        options.cases,
        options.average,
    )
    summary = log.summary()
    if options.log is not None:
        options.log.write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary | {"findings": len(log.findings)}, indent=1))
    return len(log.findings) > 0


if __name__ == "__main__":
    raise SystemExit(main())
