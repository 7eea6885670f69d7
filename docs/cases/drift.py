"""Use that drifts over time: a model of 2011 on the days of 2012, quarter by quarter."""

import numpy as np
import pandas as pd
from cases import BIKE, data, listed, p_text, table, write

import sfit

NAME = "drift"
FEATURES = ["hr", "workingday", "weekday", "holiday", "weathersit", "temp", "hum", "windspeed"]


def compute():
    """The comparison of all quarters, and of both years with and without the growth."""
    import lightgbm

    frame = data(BIKE)
    y = np.log1p(frame["cnt"])
    quarter = frame["dteday"].str[:4] + " Q" + ((frame["mnth"] - 1) // 3 + 1).astype(str)
    days = frame.loc[frame["yr"] == 0, "dteday"].unique()
    fitted = np.random.default_rng(0).choice(days, size=2 * len(days) // 3, replace=False)
    train = frame["dteday"].isin(fitted)
    test = ~train
    X, X_train = frame.loc[test, FEATURES], frame.loc[train, FEATURES]
    model = lightgbm.LGBMRegressor(
        n_estimators=200, learning_rate=0.05, random_state=0, n_jobs=1, verbose=-1
    ).fit(X_train, y[train])
    options = {
        "loss": "squared_error",
        "clusters": frame.loc[test, "dteday"].to_numpy(),
        "reference": sfit.Average(X_train, n_rows=100),
        "random_state": 0,
    }
    quarters = sfit.compare_parts(
        model, X, y[test], by=quarter[test].to_numpy(), trend=True, **options
    )
    residual = y[test] - model.predict(X)
    late = frame.loc[test, "yr"] == 1
    growth = residual[late].mean() - residual[~late].mean()
    year = np.where(late, 2012, 2011)
    years = sfit.compare_parts(model, X, y[test], by=year, **options)
    level = sfit.compare_parts(model, X, y[test] - growth * late, by=year, **options)
    # Seven consecutive days of one year; the last of a year are fewer.
    number = pd.to_datetime(frame.loc[test, "dteday"]).dt.day_of_year.to_numpy() // 7
    weeks = sfit.compare_parts(
        model, X, y[test], by=year, **options | {"clusters": 100 * year + number}
    )
    losses = (residual**2).groupby(quarter[test]).mean()
    return quarters, years, level, weeks, growth, losses


def years_table(years, level):
    """The gains of both years, with the growth and without it."""

    def cells(compared, feature):
        before, after = (one.gain for one in compared.gains if one.feature == feature)
        [test] = [one for one in compared.features if one.feature == feature]
        return f"{before:.3f}", f"{after:.3f}", p_text(test.p_adjusted)

    rows = [[name, *cells(years, name), *cells(level, name)] for name in FEATURES]
    head = ("feature", "2011", "2012", "p", "2011, level", "2012, level", "p, level")
    return table(head, rows)


def trend_table(quarters):
    """Slopes and tests of all quarters."""
    rows = [
        [
            test.feature,
            f"{test.gain:.3f}",
            p_text(test.p_adjusted),
            f"{trend.slope:+.4f}",
            f"[{trend.ci_low:.4f}, {trend.ci_high:.4f}]",
            p_text(trend.p_adjusted),
        ]
        for test, trend in zip(quarters.features, quarters.trends, strict=True)
    ]
    head = (
        "feature",
        "mean gain",
        "p, any difference",
        "change per quarter",
        "95 % interval",
        "p, trend",
    )
    return table(head, rows)


def page(quarters, years, level, weeks, growth, losses):
    """The story."""
    rising = [one.feature for one in quarters.trends if one.significant and one.slope > 0]
    falling = [one.feature for one in quarters.trends if one.significant and one.slope < 0]
    trends = [f"rises for {listed(rising)}"] if rising else []
    trends += [f"falls for {listed(falling)}"] if falling else []
    gains = {(one.feature, one.part): one.gain for one in quarters.gains}
    stays = [name for name in level.differing if name in years.differing]
    shown = [name for name in level.differing if name not in years.differing]
    gone = [name for name in years.differing if name not in level.differing]
    return f"""
# Use that drifts over time

A model of hourly bike rentals ([Washington, 2011 and 2012](https://doi.org/10.24432/C5W894)) was fitted on two thirds of the days of 2011, and has run ever since. Its loss has
grown: the mean squared error of log(1 + rentals) is {losses["2011 Q3"]:.2f} in the held-out days of the third quarter of 2011, and {losses["2012 Q3"]:.2f} in the third quarter of 2012; in the fourth
{losses["2011 Q4"]:.2f} and {losses["2012 Q4"]:.2f}. Does the model still use its features as it did?

```python
quarters = sfit.compare_parts(
    model,
    X_test,
    y_test,
    by=quarter,
    trend=True,
    clusters=day,
    loss="squared_error",
    reference=sfit.Average(X_train, n_rows=100),
    random_state=0,
)
quarters.plot()
```

The hours of a day depend on each other, so `clusters=day` counts days, {quarters.settings.n_clusters} of them: the labels of quarters are permuted over days, not over hours.

![Mean gain of each feature by quarter](drift-quarters.png)

{trend_table(quarters)}

The mean gain differs between the quarters for {listed(quarters.differing)}; from the first quarter of 2011 to the last of 2012 it {" and ".join(trends)}.

## Season or drift?

Eight quarters are two summers and two winters. Temperature gains {gains["temp", "2011 Q1"]:.2f} in the first quarter of 2011 and {gains["temp", "2012 Q1"]:.2f} in that of 2012; in the third quarters
{gains["temp", "2011 Q3"]:.2f} and {gains["temp", "2012 Q3"]:.2f}. A difference between quarters can be the season, and no drift. Whole years can be compared: the held-out days of 2011 and the days of 2012 cover all
seasons.

There is a second trap. Rentals have grown: the outcome minus the prediction has risen by {growth:.2f}, on the scale of logarithms. A shift of the level by itself changes gains. The
predictions of 2012 are too low, so a feature helps more on rows where it raises the prediction, and less where it lowers it. The table shows gains for the observed outcomes,
and for the outcomes of 2012 minus the growth ("level").

{years_table(years, level)}

{f"The use of {listed(stays)} differs significantly between the years with the growth and without it." if stays else "No difference between the years is significant both with the growth and without it."}
{f"The difference of {listed(gone)} is no longer significant when the level is taken out: the growth may be all there is to it." if gone else ""}
{f"For {listed(shown)} the difference is significant only when the level is taken out." if shown else ""}

## What to do with it

A monitor that watches the loss alone says *that* something changed. The gains by part say *where*: if a feature gains less than it used to, its relation to the outcome may no
longer be the one that the model learned. Rerun it each quarter with the new part, and correct for the number of looks.

## What this does not show

- **A cause.** The gain of a feature depends on the model, on the feature, on the outcome and on the other features. Quarters differ in all of these, as the two traps show.
- **The remedy.** Refitting may or may not help; [compare](champion.md) the refitted model with the old one on the same days.
- **Independent days.** Days are taken as units. Weather lasts for several days, so neighbouring days are alike, and the p-values may be too small. With weeks as
  clusters ({weeks.settings.n_clusters} of them) and the observed outcomes, the features that differ between whole years are {listed(weeks.differing) if weeks.differing else "none"}{"" if set(weeks.differing) == set(years.differing) else f", and not {listed(years.differing)} as with days" if years.differing else ""}.
"""


if __name__ == "__main__":
    computed = compute()
    write(NAME, page(*computed), quarters=computed[0].plot().figure_)
