"""An interaction matrix: which pairs of features say more together than one by one?"""

import numpy as np
from cases import BIKE, data, p_text, table, write

import sfit
from sfit.plotting import InteractionDisplay

NAME = "interactions"
FEATURES = ["yr", "mnth", "hr", "workingday", "weathersit", "temp", "hum", "windspeed"]


def compute():
    """All pairs of a boosted model, over sets and over the additive prediction."""
    import lightgbm

    frame = data(BIKE)
    y = np.log1p(frame["cnt"])
    days = frame["dteday"].unique()
    fitted = np.random.default_rng(0).choice(days, size=2 * len(days) // 3, replace=False)
    train = frame["dteday"].isin(fitted)
    X, X_train = frame.loc[~train, FEATURES], frame.loc[train, FEATURES]
    model = lightgbm.LGBMRegressor(
        n_estimators=300, learning_rate=0.05, random_state=0, n_jobs=1, verbose=-1
    ).fit(X_train, y[train])
    options = {
        "test": "mean",
        "max_order": 2,
        "exhaustive": True,
        "correction": "holm",
        "loss": "squared_error",
        "clusters": frame.loc[~train, "dteday"].to_numpy(),
        "reference": sfit.Average(X_train, n_rows=100),
        "random_state": 0,
    }
    additive = sfit.feature_significance(model, X, y[~train], interaction="additive", **options)
    sets = sfit.feature_significance(model, X, y[~train], **options)
    residual = y[~train] - model.predict(X)
    explained = 1 - np.mean(residual**2) / y[~train].var()
    work = frame.loc[~train, "workingday"] == 1
    hours = frame.loc[~train, "hr"]
    rides = frame.loc[~train, "cnt"]
    means = {
        (hour, working): rides[(hours == hour) & (work == working)].mean()
        for hour in (8, 14)
        for working in (True, False)
    }
    return additive, sets, explained, means


def pairs_of(result):
    """The pairs, the largest gain first."""
    return sorted((one for one in result.tests if one.order == 2), key=lambda one: -one.mean)


def pairs_table(additive):
    """The ten pairs with the largest gains over the additive prediction."""
    rows = [
        [
            " and ".join(one.term),
            f"{one.mean:.4f}",
            f"[{one.ci_low:.4f}, {one.ci_high:.4f}]",
            f"{one.share_nonadditive:.1%}" if np.isfinite(one.share_nonadditive) else "-",
            p_text(one.p_adjusted),
            "yes" if one.significant else "no",
        ]
        for one in pairs_of(additive)[:10]
    ]
    head = (
        "pair",
        "gain beyond addition",
        "95 % interval",
        "share of the pair's gain",
        "p",
        "significant",
    )
    return table(head, rows)


def page(additive, sets, explained, means):
    """The story."""
    pairs, of_sets = pairs_of(additive), pairs_of(sets)
    first, second = pairs[:2]
    found = [one for one in pairs if one.significant]
    as_sets = [one for one in of_sets if one.significant]
    return f"""
# An interaction matrix

A boosted model predicts hourly bike rentals ([Washington, 2011 and 2012](https://doi.org/10.24432/C5W894)) from eight features, and explains {explained:.0%} of the variance of log(1 + rentals) on held-out
days. Which pairs of features does it use *together*, beyond what it makes of each alone?

```python
result = sfit.feature_significance(
    model,
    X_test,
    y_test,
    test="mean",
    interaction="additive",
    max_order=2,
    exhaustive=True,
    correction="holm",
    loss="squared_error",
    clusters=day,
    reference=sfit.Average(X_train, n_rows=100),
    random_state=0,
)
sfit.plotting.InteractionDisplay.from_result(result)
```

![All 28 pairs: the gain of each over the additive prediction from its members](interactions-matrix.png)

For each of the {len(pairs)} pairs, the prediction from both features is compared with the additive one: the first alone, plus the second alone, minus nothing. The hours of a day depend on each other,
so days are the units: every gain is a mean over days, with equal weight for every day.

{pairs_table(additive)}

One pair stands out: {" and ".join(first.term)}, with {first.mean / second.mean:.0f} times the gain of the next. {first.share_nonadditive:.0%} of what the pair saves is not additive. Everyone who has cycled to work knows
why: at 8 in the morning there are {means[8, True]:.0f} rentals on working days and {means[8, False]:.0f} on others; at 2 in the afternoon {means[14, True]:.0f} and {means[14, False]:.0f}. No sum of a function of the hour and a function
of the day can do that.

{len(found)} of {len(pairs)} pairs {"is" if len(found) == 1 else "are"} significant after Holm's correction. Significant need not mean large: the smallest of these gains is {min(one.mean for one in found) / first.mean:.0%} of the first.

## A significant set is not an interaction

Without `interaction="additive"` a pair is a *set*: it is tested over its members that were found before, or over nothing. In this mode {len(as_sets)} of {len(of_sets)} pairs are significant, because most features
improve on any other one. That says that features add up, not that they interact.

## What this does not show

- **The model's interactions, not the world's.** The pair of hour and working day is in the data, as the rental counts above show. The others are what these trees made of them. A pair whose gain is
  negative is an interaction of the model that does harm on held-out days.
- **The scale matters.** Effects that are additive for the logarithm of the rentals multiply for the rentals themselves. Another target has other interactions.
- **Other features averaged out.** The pair is seen on average over the others. An interaction of three features can be invisible in every pair; `max_order=3` looks for these.
- **Correlated features.** The additive prediction and the pair are both evaluated at combinations that do not occur, such as July frost. Where temperature and month disagree, the model is
  guessing.
"""


if __name__ == "__main__":
    computed = compute()
    display = InteractionDisplay.from_result(computed[0])
    write(NAME, page(*computed), matrix=display.figure_)
