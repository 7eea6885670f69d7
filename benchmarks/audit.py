"""The cost of an audit of the credit data, in predict passes; writes benchmarks/AUDIT.md.

    SFIT_DATA=folder python benchmarks/audit.py

LightGBM, 9,000 held-out rows. A pass is one prediction of all rows by the model. Every figure is a
ratio measured in one run: the time of the audit, over the time of a pass in the same minute, the
best of several. SFIT_DATA names the folder with uci_credit_default.csv.gz.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import pandas as pd
from sklearn.model_selection import train_test_split

import sfit

HERE = Path(__file__).parent
FILE = "uci_credit_default.csv.gz"
REPEATS = 5
BUDGETS = ("60 passes", "100 passes", "200 passes", "400 passes")
FIRST_ORDER = ("performance", "related features", "typical rows")


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest time of several runs, and the last result."""
    times, result = [], None
    for _ in range(REPEATS):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times), result


def main() -> None:
    """Audit without a budget and within several; write the table."""
    folder = Path(os.environ.get("SFIT_DATA", HERE.parents[1] / "shared" / "data"))
    if not (folder / FILE).is_file():
        sys.exit(f"skipped: there is no {FILE} in the folder of SFIT_DATA.")
    warnings.simplefilter("ignore")
    frame = pd.read_csv(folder / FILE).drop(columns="ID")
    X, y = frame.drop(columns="default"), frame["default"]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=9_000, random_state=0, stratify=y
    )
    model = lightgbm.LGBMClassifier(n_estimators=200, random_state=0, n_jobs=1, verbose=-1)
    model.fit(X_train, y_train)
    options: dict[str, Any] = {
        "train": X_train,
        "by": "SEX",
        "protected": ["SEX", "AGE"],
        "random_state": 0,
    }
    one_pass, _ = best(lambda: model.predict_proba(X_test))
    audits = []
    seconds, _ = best(lambda: audits.append(sfit.audit(model, X_test, y_test, **options)))
    audit = audits[-1]

    def shortest(*names: str) -> float:
        return min(sum(step.seconds for step in one.steps if step.name in names) for one in audits)

    rows = [
        ("permutation test of all features", shortest("related features")),
        ("sign test of all features", shortest("typical rows")),
        ("first order: both tests and the performance", shortest(*FIRST_ORDER)),
        ("the whole audit, without a budget", seconds),
    ]
    lines = [
        "# What an audit costs",
        "",
        f"`python benchmarks/audit.py`: UCI credit data, LightGBM with 200 trees, "
        f"{len(X_test):,} held-out rows, {X.shape[1]} features, {audit.settings.n_background} "
        f"background rows, one thread; best of {REPEATS} runs. A pass is one prediction of all "
        "rows by the model.",
        "",
        "| part | passes |",
        "| --- | ---: |",
        *(f"| {name} | {spent / one_pass:.1f} |" for name, spent in rows),
        "",
        "Within a budget, pairs of features and correlated groups are tested too. A budget in "
        "passes counts the passes that the audit itself timed.",
        "",
        "| budget | spent, in passes | spent / budget | pairs | rows of the build-up |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for budget in BUDGETS:
        spent = []
        for _ in range(REPEATS):
            # A busy moment while the pass is timed changes what the budget means.
            started = time.perf_counter()
            within = sfit.audit(model, X_test, y_test, budget=budget, **options)
            total = time.perf_counter() - started
            spent.append(total / within.settings.seconds_per_pass)
        pairs = within.interactions
        n_pairs = 0 if pairs is None else sum(test.order == 2 for test in pairs.tests)
        n_rows = "left out" if within.explained is None else f"{within.explained.n:,}"
        amount = float(budget.split()[0])
        lines.append(
            f"| {budget} | {min(spent):.0f} to {max(spent):.0f} | {max(spent) / amount:.2f} at most "
            f"| {n_pairs} | {n_rows} |"
        )
    text = "\n".join(lines) + "\n"
    (HERE / "AUDIT.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
