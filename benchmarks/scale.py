"""A data set that does not fit: Parquet against memory, in rows per second and in resident bytes.

    python benchmarks/scale.py [--rows 50000000] [--folder build/scale]     # writes SCALE.md

Writes a float32 data set of 50 columns (200 bytes a row) once, fits LightGBM on another 20,000
rows, and tests the first order of growing parts of it from disk; and a block of it in memory. Each
run is a process of its own, so that its peak of resident memory is its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
COLUMNS = [f"x{j}" for j in range(50)]
ROW_GROUP, FILE_ROWS = 262_144, 2_097_152
BLOCK = 1_048_576
SHARES = (8, 4, 2, 1)
"""Parts of the rows that are tested from disk: an eighth first."""
TURNS = 2
"""How often, all sizes in turn: a noisy moment hits them alike, and the faster run counts."""


def rows_of(seed: int, n: int) -> dict[str, np.ndarray]:
    """A target with linear, curved and interacting features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(COLUMNS), n), dtype=np.float32)
    y = X[0] + X[1] * X[2] + np.sin(X[3]) + rng.standard_normal(n, dtype=np.float32)
    return {**dict(zip(COLUMNS, X, strict=True)), "y": y}


def write(folder: Path, n_rows: int) -> None:
    """Write the data set, a file at a time; files that are there already stay."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        n = min(FILE_ROWS, n_rows - start)
        path = folder / f"{number:04d}.parquet"
        if path.exists() and pq.read_metadata(path).num_rows == n:
            continue
        table = pa.table(rows_of(1_000 + number, n))
        pq.write_table(
            table, path, row_group_size=ROW_GROUP, compression="none", use_dictionary=False
        )
        print(f"wrote {path.name}", flush=True)


def model_file(folder: Path) -> Path:
    """LightGBM on rows of its own, as text."""
    import lightgbm
    import pandas as pd

    path = folder.parent / "model.txt"
    if not path.exists():
        rows = pd.DataFrame(rows_of(0, 20_000))
        fitted = lightgbm.LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=2)
        fitted.fit(rows[COLUMNS], rows["y"]).booster_.save_model(path)
    return path


def measure(folder: Path, n_rows: int, how: str, jobs: int) -> None:
    """One run, in this process; prints what it took."""
    import lightgbm
    import pandas as pd

    import sfit

    model = lightgbm.Booster(model_file=str(model_file(folder)))
    files = sorted(folder.glob("*.parquet"))[: -(-n_rows // FILE_ROWS)]
    if how == "memory":
        rows = pd.read_parquet(files[0])[:n_rows].astype({"y": "float64"})
    else:
        import pyarrow.dataset as ds

        rows = ds.dataset([str(file) for file in files], format="parquet")
    started, cpu = time.perf_counter(), time.process_time()
    result = sfit.feature_significance(model, rows, "y", n_jobs=jobs, reference=0.0)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    gate = next(s["seconds"] for s in result.run["stages"] if s["stage"] == "gate")
    order = next(s["seconds"] for s in result.run["stages"] if s["stage"] == "order 1")
    print(
        json.dumps(
            {
                "rows": result.tests[0].n,
                "how": how,
                "jobs": jobs,
                "seconds": seconds,
                "cpu": cpu,
                "order": order,
                "gate": gate,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


def run(folder: Path, n_rows: int, how: str, jobs: int) -> dict[str, float]:
    """One run in a process of its own."""
    command = [sys.executable, __file__, "--measure", how, "--rows", str(n_rows)]
    command += ["--folder", str(folder), "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def growth(runs: list[dict[str, float]]) -> float:
    """Slope of log seconds against log rows."""
    rows, seconds = ([run[what] for run in runs] for what in ("rows", "seconds"))
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def page(runs: list[dict[str, float]], n_rows: int) -> str:
    """What was measured, and what follows for more rows than this machine can hold."""
    memory = max((r for r in runs if r["how"] == "memory"), key=lambda r: r["rows"] / r["seconds"])
    from_disk = sorted((r for r in runs if r["how"] == "disk"), key=lambda r: -r["seconds"])
    disk = list({r["rows"]: r for r in from_disk}.values())  # of each size, the faster
    largest = max(disk, key=lambda r: r["rows"])
    slope = growth(disk)
    lines = [
        "| rows | from | workers | seconds | of which order 1 | gate | rows per second and core "
        "| peak resident memory |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(
            f"| {r['rows']:,.0f} | {r['how']} | {r['jobs']:.0f} | {r['seconds']:.1f} | "
            f"{r['order']:.1f} | {r['gate']:.1f} | {r['rows'] / r['cpu']:,.0f} | "
            f"{r['peak'] / 2**30:.2f} GB |"
            for r in runs
        ),
    ]
    per_core = {r["how"]: r["rows"] / r["cpu"] for r in (memory, largest)}
    per_value = largest["order"] * largest["jobs"] / largest["rows"] / len(COLUMNS)
    survey = largest["seconds"] - largest["order"] - largest["gate"]
    per_row = (survey + largest["order"]) * largest["jobs"] / largest["rows"] / len(COLUMNS)
    billion = per_row * 1e9 * 1_000 / 100
    gate_row = largest["gate"] * largest["jobs"] / largest["rows"]
    kept = 4 * np.sqrt(1e9)
    return TEXT.format(
        table="\n".join(lines),
        command=" ".join(["python benchmarks/scale.py", *sys.argv[1:]]),
        python=platform.python_version(),
        rows=n_rows,
        gigabytes=n_rows * 204 / 1e9,
        slope=slope,
        slope_ok="within" if 0.95 <= slope <= 1.05 else "outside",
        sizes=len(disk),
        ratio=per_core["memory"] / per_core["disk"],
        ratio_ok="within" if per_core["memory"] / per_core["disk"] <= 1.5 else "outside",
        peak=largest["peak"] / 2**30,
        peak_ok="under" if largest["peak"] < 1.5 * 2**30 else "over",
        nanoseconds=per_value * 1e9,
        survey=survey,
        hours=billion / 3600,
        gate_hours=gate_row * 1e9 / 100 / 3600,
        kept=kept,
        summary_mb=1_000 * 2 * kept * 16 / 1e6,
        tile_mb=1_000 * 65_536 * 8 / 1e6,
    )


TEXT = """# Scale

First-order tests of LightGBM (100 trees) on 50 float32 columns, from Parquet and from memory:
`{command}` (Python {python}, two cores; {rows:,} rows, {gigabytes:.1f} GB on disk). Each line is a
process of its own; all files were read once before the first, so that none of them waits for the disk
alone.

{table}

- Peak resident memory of the largest run: {peak:.2f} GB, {peak_ok} the 1.5 GB that were asked for.
- Rows per second and core (of CPU time), memory against disk: {ratio:.2f}, {ratio_ok} the 1.5 that
  were asked for. Reading twice is part of it: one pass surveys the columns, one tests them, and the
  gate is a third.
- Growth with rows, from disk: over the {sizes} sizes, the faster run of each, seconds grow like rows to the power
  {slope:.3f}, {slope_ok} 0.95 to 1.05. (Brackets narrow as rows are seen, so that later tiles cost a little less.)

## 10^9 rows x 1,000 features on 100 workers, on paper

From the largest run: {nanoseconds:.0f} ns per value and core for the tests of an order, and {survey:.0f} s
of survey before it. Costs per row and feature are constant (the slope above), so 10^12 values take
{hours:.1f} hours of survey and first order on 100 workers, if they read as fast as these cores do
(a worker then reads 8 TB / 100 = 80 GB of doubles twice). The gate predicts every row with
the model itself: {gate_hours:.2f} hours at this model's cost per row, and more for one of 1,000 features.

- **Reading** is the bottleneck for tables and polylines: a value is decoded once per stage and used once.
  Fewer columns at a time do not help; more workers do, since nothing is shared.
- **Predicting** is the bottleneck where there is no fast route: one pass per feature that is not discrete.
- **Merging** is not: brackets narrow with the square root of the rows seen, so a test keeps
  about 4 sqrt(n) = {kept:,.0f} values each of delta and of rho, with their counts {summary_mb:,.0f} MB for 1,000
  features in the main process at the end; a tile's summary is far smaller than the tile ({tile_mb:,.0f} MB).
  With more features than that, test them in several calls.
"""


def main() -> None:
    """Write the data set where it is missing, measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--folder", type=Path, default=Path("build/scale/rows"))
    parser.add_argument("--measure", choices=["memory", "disk"])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.measure:
        measure(options.folder, options.rows, options.measure, options.jobs)
        return
    write(options.folder, options.rows)
    model_file(options.folder)
    runs = [run(options.folder, BLOCK, "memory", 2) for _ in range(2)]
    for file in options.folder.glob("*.parquet"):
        file.read_bytes()
    for part in SHARES * TURNS:
        n_rows = max(FILE_ROWS, options.rows // part // FILE_ROWS * FILE_ROWS)
        runs.append(run(options.folder, n_rows if part > 1 else options.rows, "disk", 2))
    (HERE / "SCALE.md").write_text(page(runs, options.rows), encoding="utf-8")


if __name__ == "__main__":
    main()
