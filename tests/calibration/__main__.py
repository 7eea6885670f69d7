"""All promises at full size: a table of what was seen, and whether all of them hold."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import scipy

import sfit
from calibration.promises import PROMISES
from calibration.verdict import ALARM

DRAWS = 20_000
FOLDER = Path("docs/trust")


def page(table):
    """The verdicts by promise: how many settings, and the one that came nearest to its bound."""
    lines = [
        "# Calibration",
        "",
        "Written by `make calibrate`; every setting is a line of [calibration.csv](calibration.csv).",
        "A promise counts as broken in a setting when, if it held, what was seen there or worse would have",
        f"a probability below {ALARM:g}: the binomial law of the draws, or Student's t for a mean of shares.",
        "",
        "| promise | settings | draws per setting | nearest to its bound | seen | bound | probability | broken |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for promise, rows in table.groupby("promise", sort=False):
        worst = rows.loc[rows["surprise"].idxmin()]
        draws = sorted({int(rows["draws"].min()), int(rows["draws"].max())})
        lines.append(
            f"| {promise} | {len(rows)} | {' to '.join(f'{d:,}' for d in draws)} | {worst['setting']} "
            f"| {worst['seen']:.4f} | {worst['relation']} {worst['bound']:.4f} "
            f"| {worst['surprise']:.2g} | {int((~rows['holds']).sum())} |"
        )
    lines += [
        "",
        f"sfit {sfit.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}.",
    ]
    return "\n".join(lines) + "\n"


def main():
    verdicts = []
    for promise in PROMISES:
        verdicts += promise(DRAWS)
        print(f"{promise.__name__}: {len(verdicts)} settings so far", flush=True)
    table = pd.DataFrame([{**vars(one), "holds": one.holds} for one in verdicts])
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(FOLDER / "calibration.csv", index=False, float_format="%.6g")
    (FOLDER / "calibration.md").write_text(page(table), encoding="utf-8")
    print(page(table))
    sys.exit(0 if table["holds"].all() else 1)


if __name__ == "__main__":
    main()
