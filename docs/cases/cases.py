"""The data, the models of the credit data and the pages, for all scripts in this folder.

    SFIT_DATA=folder python docs/cases/champion.py

writes champion.md and its pictures beside the script. SFIT_DATA names the folder with the data sets
(UCI 350 as uci_credit_default.csv.gz, UCI 275 as bike_sharing_hour.csv.gz); they are not in the
repository. Without it a script says so and ends.
"""

import os
import sys
from pathlib import Path

import pandas as pd

import sfit

HERE = Path(__file__).parent
CREDIT, BIKE = "uci_credit_default.csv.gz", "bike_sharing_hour.csv.gz"
CODES = ["SEX", "EDUCATION", "MARRIAGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"]


def data(name):
    """One of the data sets; ends the program if it is not there."""
    folder = Path(os.environ.get("SFIT_DATA", HERE.parents[2] / "shared" / "data"))
    if not (folder / name).is_file():
        sys.exit(f"skipped: there is no {name} in the folder of SFIT_DATA.")
    return pd.read_csv(folder / name)


def credit():
    """Training and test rows of the credit data: X_train, X_test, y_train, y_test."""
    from sklearn.model_selection import train_test_split

    frame = data(CREDIT).drop(columns="ID")
    X, y = frame.drop(columns="default"), frame["default"]
    return train_test_split(X, y, test_size=10_000, random_state=0, stratify=y)


def boosted(X, y):
    """LightGBM for the credit data."""
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_estimators=150, learning_rate=0.05, num_leaves=15, random_state=0, n_jobs=1, verbose=-1
    )
    return model.fit(X, y)


def logistic(X, y):
    """Logistic regression for the credit data, with a dummy per code."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), CODES), remainder=StandardScaler()
    )
    return make_pipeline(encoded, LogisticRegression(max_iter=1_000)).fit(X, y)


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def p_text(p):
    """A p-value for a table."""
    return f"{p:.2g}" if p >= 1e-4 else f"{p:.0e}"


def listed(names):
    """Names in a sentence."""
    names = list(names)
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def write(name, page, **figures):
    """Write a page and its pictures, and say with which version."""
    for figure_name, figure in figures.items():
        path = HERE / f"{name}-{figure_name}.png"
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    made = f"Written by `python docs/cases/{name}.py` with sfit {sfit.__version__}."
    title, body = page.strip().split("\n", 1)
    (HERE / f"{name}.md").write_text(f"{title}\n\n{made}\n{body}\n", encoding="utf-8")
