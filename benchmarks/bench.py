"""What a test costs in predict passes, side by side with the peers.

    make bench                              # the whole run: RESULTS.md, results.json, figures
    python benchmarks/bench.py --quick      # every path with small sizes; writes to build/bench/
    python benchmarks/bench.py --page       # the page and figures again, from results.json

Every case is measured in a process of its own (`measure.py`), one after the other; `cases.py` lists
them, `subjects.py` makes rows and models, `methods.py` has the calls that are timed, `page.py` and
`figures.py` show what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cases import QUICK, Case, Sizes, all_cases
from figures import draw
from page import write_page

HERE = Path(__file__).parent
LIBRARIES = (
    "sfit", "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost-cpu", "catboost", "torch",
    "shap", "hidimstat", "sage-importance",
)  # fmt: skip


def run_case(case: Case, sizes: Sizes) -> list[dict[str, Any]]:
    """Measure in a new process; what it did not get to say is said here."""
    request = json.dumps({"case": asdict(case), "sizes": asdict(sizes)})
    command = [sys.executable, str(HERE / "measure.py"), request]
    ended = None
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=sizes.timeout, check=False)  # noqa: S603
        output = done.stdout
        if done.returncode:
            ended = f"failed: the process ended with code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        ended = f"timed out after {sizes.timeout:.0f} s"
    records = [json.loads(line) for line in output.decode().splitlines() if line.startswith("{")]
    if ended is not None:
        seen = max((record["rows"] for record in records), default=case.rows[0])
        record = {"kind": case.kind, "model": case.model, "rows": seen, "features": case.features}
        records.append(record | {"method": "all", "error": ended})
    return records


def run(sizes: Sizes, only: str, kept: Path) -> None:
    """All cases, with what is needed to read their figures; kept after each, in case of a stop."""
    cases = [case for case in all_cases(sizes) if only in str(case)]
    started = time.perf_counter()
    results: dict[str, Any] = {
        "sizes": asdict(sizes),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {library: version(library) for library in LIBRARIES},
        "records": [],
    }
    for number, case in enumerate(cases, start=1):
        since = time.perf_counter() - started
        print(f"[{number}/{len(cases)}, {since:.0f} s] {case}", file=sys.stderr, flush=True)
        results["records"] += run_case(case, sizes)
        results["seconds"] = time.perf_counter() - started
        kept.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure, keep the figures, and show them."""
    parser = argparse.ArgumentParser(description="What a test costs in predict passes.")
    parser.add_argument("--quick", action="store_true", help="small sizes, into build/bench/")
    parser.add_argument("--page", action="store_true", help="from results.json, without measuring")
    parser.add_argument("--only", default="", help="only cases whose title has this text")
    options = parser.parse_args()
    folder = HERE.parent / "build" / "bench" if options.quick or options.only else HERE
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.json"
    if not options.page:
        run(QUICK if options.quick else Sizes(), options.only, kept)
    results = json.loads(kept.read_text(encoding="utf-8"))
    draw(results, folder)
    write_page(results, folder / "RESULTS.md")
    print(f"wrote {folder / 'RESULTS.md'}", file=sys.stderr)


if __name__ == "__main__":
    main()
