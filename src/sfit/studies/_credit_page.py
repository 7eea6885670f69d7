"""The page of section 4: both tables, the variables as wholes, and what LightGBM says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit.studies import _credit_data as data
from sfit.studies._credit_models import LATE, REFERENCES, Fit
from sfit.studies._page import joined, new_figure, spread, table, times

if TYPE_CHECKING:
    from sfit.studies.credit import Result

# Table 4, in its order.
PAPER = {
    "PAY_0_pay_duly": 0.357,
    "PAY_0_payment_delay_for_two_month": 0.353,
    "PAY_0_payment_delay_for_three_month": 0.300,
    "PAY_2_payment_delay_for_three_month": 0.235,
    "PAY_5_pay_duly": 0.196,
    "PAY_6_payment_delay_for_five_month": 0.136,
    "PAY_0_payment_delay_for_four_month": 0.122,
    "PAY_3_pay_duly": 0.119,
    "PAY_2_pay_duly": 0.0966,
    "PAY_6_payment_delay_for_two_month": 0.0946,
    "PAY_5_payment_delay_for_seven_month": 0.0924,
    "PAY_6_pay_duly": 0.0794,
    "EDUCATION_high_school": 0.0665,
    "BILL_AMT5": 0.0616,
    "PAY_3_payment_delay_for_seven_month": 0.0584,
    "PAY_5_payment_delay_for_two_month": 0.0433,
    "PAY_3_payment_delay_for_one_month": 0.0378,
    "BILL_AMT4": 0.0331,
    "PAY_6_payment_delay_for_three_month": 0.0296,
    "PAY_3_payment_delay_for_three_month": 0.0290,
    "EDUCATION_university": 0.0155,
    "PAY_3_payment_delay_for_six_month": 0.0124,
    "PAY_5_payment_delay_for_six_month": 0.00945,
    "PAY_4_payment_delay_for_four_month": 0.00262,
}
# Table 5: on all variables, on the selected ones.
PAPER_AUC = (0.775, 0.765)
PAPER_ACCURACY = (0.707, 0.701)
PAPER_BETA = 0.05


def figures(result: Result) -> dict[str, Any]:
    """The paper's 24 variables, and the 23 variables by part and model."""
    table4, ax = new_figure(width=7.2, height=6.0)
    names = list(PAPER)[::-1]
    for shift, (encoding, colour) in zip(
        (0.2, -0.2), (("A", "#0072B2"), ("B", "#E69F00")), strict=True
    ):
        found = _found(result, encoding, "half")
        n = len(_of(result, encoding))
        shares = [found[name] / n for name in names]
        ax.barh(np.arange(24) + shift, shares, 0.38, color=colour, label=f"encoding {encoding}")
    ax.set(
        yticks=range(24),
        xlim=(0, 1),
        xlabel="share of seeds in which significant (beta = 0.05, dummies at 1/2)",
        title="The 24 variables of Table 4",
    )
    ax.set_yticklabels(names, fontsize=7)
    ax.legend(frameon=False, loc="center right")

    rows = _variable_shares(result)
    heat, ax = new_figure(width=7.2, height=6.4)
    matrix = np.array([list(row.values()) for row in rows.values()])
    ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(matrix):
        colour = "white" if share > 0.6 else "black"
        ax.text(column, row, f"{share:.1f}", ha="center", va="center", color=colour, fontsize=7)
    heads = list(next(iter(rows.values())))
    ax.set(yticks=range(len(rows)), xticks=range(len(heads)))
    ax.set_yticklabels(list(rows), fontsize=8)
    ax.set_xticklabels(heads, rotation=40, ha="right", fontsize=8)
    ax.set_title("Share of seeds in which a variable is significant, beta = 0.01", fontsize=10)
    # A line between the models.
    sources = [head.split(",")[0] for head in heads]
    for place, (left, right) in enumerate(pairwise(sources)):
        if left != right:
            ax.axvline(place + 0.5, color="black", linewidth=1)
    return {"table4": table4, "variables": heat}


def _of(result: Result, encoding: str) -> list[Fit]:
    return [fit for fit in result.fits if fit.encoding == encoding]


def _found(result: Result, encoding: str, reference: str) -> Counter[str]:
    """In how many seeds each column is significant."""
    return Counter(name for fit in _of(result, encoding) for name in fit.selected[reference])


def _variable_shares(result: Result) -> dict[str, dict[str, float]]:
    """By variable, then by model and part of the rows: the share of seeds that find it."""
    sources: dict[str, Sequence[Mapping[str, Sequence[str]]]] = {
        f"network {encoding}": [fit.variables for fit in _of(result, encoding)]
        for encoding in data.ENCODINGS
    }
    sources["LightGBM"] = [trees.variables for trees in result.trees]
    return {
        variable: {
            f"{source}, {part}": float(np.mean([variable in one[part] for one in found]))
            for source, found in sources.items()
            if found
            for part in found[0]
        }
        for variable in data.COLUMNS
    }


def page(result: Result) -> str:
    """Both tables, beta, the variables as wholes, parts of the rows, and LightGBM."""
    return joined(
        _setting(result), _reference(result), _table4(result), _table5(result), _variables(result)
    )


def _setting(result: Result) -> str:
    """Data, networks and encodings."""
    n = len(_of(result, "A"))
    return f"""
30,000 card holders, 23 variables, {
        result.n_columns
    } after encoding; 70 % / 20 % / 10 % for training, validation
and test, a 100-50-30 ReLU network, classes weighted by the inverse of their frequency (in the validation
loss as well), {n} seeds that draw split, first weights and order of training
({spread([fit.epochs for fit in result.fits])} epochs). An intercept is an input that is always on.

Two readings of the data give 75 columns with the paper's names: in **A** {
        data.ENCODINGS["A"]
    }; in **B**
{
        data.ENCODINGS["B"]
    } (PAY -2 and 0 with "pay duly", the rest with "others"). The paper does not say which it
used, nor what it froze dummies at: "a number strictly greater than zero and strictly smaller than one".
"""


def _reference(result: Result) -> str:
    """Which reference values give the paper's beta and its number of variables."""
    counts = [_count_row(result, encoding, name) for encoding in "AB" for name in REFERENCES]
    return f"""
## What must the reference have been?

{
        table(
            (
                "encoding",
                "dummies frozen at",
                "exact smallest beta",
                "on a grid 1, 5 x 10^-k",
                "significant at beta = 0.05",
                "of the paper's 24",
                "expected of as many drawn at random",
            ),
            counts,
        )
    }

The paper reports beta = 0.05 by randomisation and 24 significant variables. Dummies frozen at 1/2 give both;
frozen at their means, random models ask for about 0.01 only, and far fewer variables pass at 0.05. Several of the
paper's 24 say the same: PAY_3 was seven months late in 27 of 30,000 rows, and a median over the test rows can only see it
through the other rows, for which 0 is revealed instead of the reference. At its mean (0.0009) nothing moves;
at 1/2 a value that no card holder has is taken away from all of them. **So these variables are
significant against a reference that never occurs, by weights that were hardly trained**. They change from seed
to seed, and so the overlap with the paper's 24 is only a little above chance. We recommend the means, or whole
variables (below).
"""


def _table4(result: Result) -> str:
    """The paper's 24 variables: how often each is found, and its statistic."""
    n = len(_of(result, "A"))
    found = {(e, r): _found(result, e, r) for e in "AB" for r in REFERENCES}
    rows = [
        (
            name,
            statistic,
            *(
                cell
                for e in "AB"
                for cell in (
                    times(found[e, "half"][name], n),
                    float(np.mean([fit.statistics["half"][name] for fit in _of(result, e)])),
                )
            ),
            *(times(found[e, "mean"][name], n) for e in "AB"),
        )
        for name, statistic in PAPER.items()
    ]
    others = [
        f"{name} ({found['A', 'half'][name]}, {found['B', 'half'][name]})"
        for name, _ in (found["A", "half"] + found["B", "half"]).most_common()
        if name not in PAPER
    ][:12]
    gates = sum(fit.gate_open for fit in result.fits)
    paired = sum(fit.n_pairs > 0 for fit in result.fits)
    return f"""
## Table 4

beta = 0.05; how often each of the paper's 24 is found over {
        n
    } seeds, and the mean of its statistic.

{
        table(
            (
                "variable",
                "paper",
                "A, 1/2",
                "statistic",
                "B, 1/2",
                "statistic",
                "A, mean",
                "B, mean",
            ),
            rows,
        )
    }

![The paper's 24 variables](credit-table4.png)

Found most often beside these, with dummies at 1/2 (A, B): {", ".join(others)}.

The paper finds no second-order effect. Here the gate after first order was open in {gates} of
{len(result.fits)} networks, and pairs were found in {
        paired
    } (beta = 0.05, the first partners by weights).
"""


def _table5(result: Result) -> str:
    """The networks trained again on the selected columns."""
    n = len(_of(result, "A"))
    return f"""
## Table 5

Trained again on what was significant only; mean (smallest to largest) over {n} seeds.

{
        table(
            ("network", "columns", "AUC", "balanced accuracy"),
            [
                ("paper, all", 75, *(f"{table5[0]}" for table5 in (PAPER_AUC, PAPER_ACCURACY))),
                ("paper, selected", 24, *(f"{t[1]}" for t in (PAPER_AUC, PAPER_ACCURACY))),
                *(row for e in "AB" for row in _table5_rows(result, e)),
            ],
        )
    }

On all columns the paper's AUC lies within the range of our seeds, whose means are lower by {
        PAPER_AUC[0]
        - float(np.mean([fit.performance.auc for fit in _of(result, "A")])):.3f} (A) and {
        PAPER_AUC[0]
        - float(np.mean([fit.performance.auc for fit in _of(result, "B")])):.3f} (B): which tenth of
the rows is tested moves it by more than that. With what was selected at 1/2, AUC falls by {
        spread(_falls(result, "A", "half"))
    } (A) and {spread(_falls(result, "B", "half"))} (B), where the paper's one split loses {
        PAPER_AUC[0]
        - PAPER_AUC[1]:.3f}: this selection keeps rare dummies, and in A it often leaves
PAY_0_pay_duly out. What is selected with everything at its mean, at the beta that goes with it, is smaller and loses
only {spread(_falls(result, "A", "mean"))} and {
        spread(_falls(result, "B", "mean"))
    }. So if the paper's reference
was near 1/2, as beta and the number of variables suggest, its Table 5 is as good as the best of our seeds.
"""


def _variables(result: Result) -> str:
    """The 23 variables as groups, by part of the rows, and LightGBM."""
    n = len(_of(result, "A"))
    boosted = (
        f"LightGBM, on the 23 variables as they are, has an AUC of "
        f"{spread([trees.performance.auc for trees in result.trees])} and a balanced accuracy of "
        f"{spread([trees.performance.accuracy for trees in result.trees])}."
        if result.trees
        else "LightGBM is not installed: its columns are left out."
    )
    return f"""
## The 23 variables as wholes, by class, by sex, and LightGBM

`groups` reveals all dummies of a variable together; everything else is at its training mean, beta = 0.01.
Shares of the seeds in which a variable is significant; `by="class"` and `by=SEX` repeat the test on
the rows of each part. {boosted}

![Variables by model and part of the rows](credit-variables.png)

On all rows, the numbers of seeds (of {n}), from the most found to the least:

{_wholes(result)}

{
        _trees_text(result)
    }Within a class the question is another one: whatever moves the prediction towards that
class is significant for it, right or wrong for the others.
"""


def _table5_rows(result: Result, encoding: str) -> list[tuple[Any, ...]]:
    fits = _of(result, encoding)
    words = {"half": "selected, dummies at 1/2, beta 0.05", "mean": "selected, means, beta 0.01"}
    rows = [("all", [result.n_columns] * len(fits), [fit.performance for fit in fits])] + [
        (words[name], [fit.n_kept[name] for fit in fits], [fit.refits[name] for fit in fits])
        for name in REFERENCES
    ]
    return [
        (
            f"{encoding}, {label}",
            spread(counts),
            spread([one.auc for one in scores]),
            spread([one.accuracy for one in scores]),
        )
        for label, counts, scores in rows
    ]


def _falls(result: Result, encoding: str, reference: str) -> list[float]:
    """Of AUC, from all columns to the selected ones, by seed."""
    return [fit.performance.auc - fit.refits[reference].auc for fit in _of(result, encoding)]


def _trees_text(result: Result) -> str:
    if not result.trees:
        return ""
    shares = _variable_shares(result)
    at_mean, late = (
        ", ".join(f"{name} {shares[name][f'LightGBM, {part}']:.1f}" for name in data.PAYMENTS)
        for part in ("all", LATE)
    )
    return f"""
A tree cannot tell the mean of PAY_0, -0.02, from the code 0, which 49 % of all card holders have. Their
predictions do not move when it is revealed, so that only about half of the rows *can* improve, and a test of the
median hardly sees the repayment variables in the model that predicts best: {at_mean}. It is the reference that hides
them: frozen at 1 (one month late), which few have, they are found more often ({late}).

""".lstrip()


def _count_row(result: Result, encoding: str, reference: str) -> tuple[Any, ...]:
    fits = _of(result, encoding)
    chosen = [fit.chosen[reference] for fit in fits]
    on_grid = Counter(min(beta for beta in result.grid if beta >= exact) for exact in chosen)
    numbers = [len(fit.selected[reference]) for fit in fits]
    shared = [len(set(fit.selected[reference]) & set(PAPER)) for fit in fits]
    return (
        encoding,
        "1/2" if reference == "half" else "their means",
        spread(chosen),
        ", ".join(f"{beta:g}: {times(on_grid[beta], len(fits))}" for beta in sorted(on_grid)),
        spread(numbers),
        spread(shared),
        float(np.mean(numbers)) * len(PAPER) / result.n_columns,
    )


def _wholes(result: Result) -> str:
    """In how many seeds each of the 23 variables is significant on all rows."""
    sources = {
        f"network {encoding}": [fit.variables["all"] for fit in _of(result, encoding)]
        for encoding in data.ENCODINGS
    }
    if result.trees:
        sources |= {
            "LightGBM": [trees.variables["all"] for trees in result.trees],
            "LightGBM, PAY at 1": [trees.variables[LATE] for trees in result.trees],
        }
    counts = {
        name: [sum(name in found for found in seeds) for seeds in sources.values()]
        for name in data.COLUMNS
    }
    most = sorted(counts, key=lambda name: -sum(counts[name]))
    return table(("variable", *sources), [(name, *counts[name]) for name in most])
