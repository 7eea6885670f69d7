"""A view of fairness: features used differently by group, and features that say something of the group."""

import numpy as np
import pandas as pd
from cases import boosted, credit, listed, p_text, table, write
from sklearn.metrics import log_loss, roc_auc_score

import sfit

NAME = "fairness"
BANDS = {"21-29": 29, "30-39": 39, "40-49": 49, "50 and over": 100}


def compute():
    """Gains by group, features given the group, and features against the group."""
    X_train, X, y_train, y = credit()
    model = boosted(X_train, y_train)
    options = {"reference": sfit.Average(X_train, n_rows=100), "random_state": 0}
    sex = np.where(X["SEX"] == 1, "men", "women")
    age = pd.cut(X["AGE"], [0, *BANDS.values()], labels=list(BANDS)).astype(str).to_numpy()
    by_sex = sfit.compare_parts(model, X, y, by=sex, **options)
    by_age = sfit.compare_parts(model, X, y, by=age, **options)
    tested = {"test": "permutation", "correction": "holm", **options}
    alone = sfit.feature_significance(model, X, y, **tested)
    given = sfit.feature_significance(model, X, y, given=["SEX"], **tested)
    men = sfit.feature_significance(model, X, (X["SEX"] == 1).astype(int), **tested)
    women = sfit.feature_significance(model, X, (X["SEX"] == 2).astype(int), **tested)
    predicted = model.predict_proba(X)[:, 1]
    groups = [
        [
            group,
            f"{rows.sum():,}",
            f"{y[rows].mean():.3f}",
            f"{predicted[rows].mean():.3f}",
            f"{log_loss(y[rows], predicted[rows]):.3f}",
            f"{roc_auc_score(y[rows], predicted[rows]):.3f}",
            f"{np.mean(predicted[rows] > 0.5):.3f}",
            f"{np.mean((predicted > 0.5)[rows & (y == 0)]):.3f}",
        ]
        for labels in (sex, age)
        for group in np.unique(labels)
        for rows in [labels == group]
    ]
    return by_sex, by_age, alone, given, men, women, groups


def gains_table(by_sex, by_age):
    """Gains of the ten strongest features, with the interval of their difference between the sexes."""
    of_men = {one.feature: one for one in by_sex.gains if one.part == "men"}
    p_age = {one.feature: one.p_adjusted for one in by_age.features}
    rows = []
    for test in sorted(by_sex.features, key=lambda one: -one.gain)[:10]:
        one = of_men[test.feature]
        half = 1.96 * one.difference / one.t
        rows.append(
            [
                test.feature,
                f"{one.gain:.4f}",
                f"{one.gain_rest:.4f}",
                f"{one.difference:+.4f}",
                f"[{one.difference - half:.4f}, {one.difference + half:.4f}]",
                p_text(test.p_adjusted),
                p_text(p_age[test.feature]),
            ]
        )
    head = (
        "feature",
        "gain, men",
        "gain, women",
        "difference",
        "95 % interval",
        "p, sex",
        "p, age",
    )
    return table(head, rows)


def proxies_table(men, women):
    """The features whose predictions are related to the sex."""
    rows = []
    for towards, result in (("men", men), ("women", women)):
        found = [one for one in result.tests if one.significant]
        rows += [
            [one.term[0], towards, f"{one.rise:.5f}", f"{one.z:.1f}", p_text(one.p_adjusted)]
            for one in sorted(found, key=lambda one: -one.z)
        ]
    return table(("feature", "predicts higher risk for", "rise", "z", "p"), rows)


def page(by_sex, by_age, alone, given, men, women, groups):
    """The story."""
    towards = {
        name: [one.term[0] for one in result.tests if one.significant]
        for name, result in (("men", men), ("women", women))
    }
    [pay] = [one for one in by_sex.gains if one.feature == "PAY_0" and one.part == "men"]
    rise = {one.term[0]: one for one in alone.tests}
    beyond = {one.term[0]: one for one in given.tests}
    lost = [name for name in beyond if rise[name].significant and not beyond[name].significant]
    smallest = min(one.p_value for one in by_sex.features)
    differ = {
        name: f"differs significantly for {listed(one.differing)}"
        if one.differing
        else "differs significantly for none of the 23 features"
        for name, one in (("sex", by_sex), ("age", by_age))
    }
    return f"""
# Groups: used differently, and proxies

A boosted model predicts the default of [credit card clients](https://doi.org/10.24432/C55S3H). It knows their sex and age, which in many places may not be used to grant credit.
Three questions about such an attribute, and what each answer is worth. The model is that of [champion against challenger](champion.md), tested on 10,000 clients.

## Where the groups stand

{table(("group", "clients", "default rate", "mean prediction", "log loss", "area under the curve", "predicted to default", "of those who paid"), groups)}

"Predicted to default" is the share with a prediction above 1/2, and the last column the same among clients who did pay. These are the figures of errors and decisions. None of the tests
below replaces them.

## Is a feature used differently?

```python
by_sex = sfit.compare_parts(
    model, X_test, y_test, by=sex, reference=sfit.Average(X_train, n_rows=100), random_state=0
)
by_age = sfit.compare_parts(
    model, X_test, y_test, by=age_band, reference=sfit.Average(X_train, n_rows=100), random_state=0
)
```

By sex, the mean gain {differ["sex"]}; by four bands of age, it {differ["age"]} (Holm's correction over 23 features). The ten strongest features, with intervals of
the difference that are not corrected:

{gains_table(by_sex, by_age)}

![Mean gains by sex of the nine features with the smallest p-values](fairness-sex.png)

No significant difference is not the same as no difference. The smallest uncorrected p-value by sex is {p_text(smallest)}; among 23 tests one of that size is no surprise. And the intervals have widths: for
PAY_0, the strongest feature, a difference of {1.96 * abs(pay.difference / pay.t) + abs(pay.difference):.3f} beside gains of {pay.gain:.3f} would be within its interval.

## Does a feature matter beyond the attribute?

```python
sfit.feature_significance(
    model,
    X_test,
    y_test,
    test="permutation",
    given=["SEX"],
    correction="holm",
    reference=sfit.Average(X_train, n_rows=100),
    random_state=0,
)
```

`given=["SEX"]` exchanges values only among men and only among women: exact for independence of feature and default *within* the sexes. {sum(one.significant for one in given.tests)} of
{len(given.tests)} features are related to default within the sexes; {f"{listed(lost)} is related only without the sex given" if lost else "every feature that is related to default over all clients is related within the sexes as well"}.
The rise of the loss hardly changes: for PAY_0 it is {rise["PAY_0"].rise:.4f} over all clients and {beyond["PAY_0"].rise:.4f} within the sexes, for LIMIT_BAL {rise["LIMIT_BAL"].rise:.4f} and {beyond["LIMIT_BAL"].rise:.4f}.
So the sex does not explain why these features are related to default. By itself it has a rise of {rise["SEX"].rise:.5f} (p = {p_text(rise["SEX"].p_adjusted)}): small, but significant.

## Which features say something about the attribute?

The permutation test asks whether the model's prediction from one feature is related to *an* outcome. The outcome can be the sex:

```python
sfit.feature_significance(
    model,
    X_test,
    (X_test["SEX"] == 1).astype(int),
    test="permutation",
    correction="holm",
    reference=sfit.Average(X_train, n_rows=100),
    random_state=0,
)
```

Significant features then raise the predicted risk of one sex as a whole. Each direction is one call. SEX itself heads the list by construction.

{proxies_table(men, women)}

So {len(set(towards["men"]) - {"SEX"})} features besides SEX raise the predicted risk of men, and {len(towards["women"])} that of women: a model that is refitted without SEX keeps these. Men do default more often
in these data, so a feature that predicts default and one that stands for the sex cannot be told apart by this test alone.

## What these tests do not show

- **Equal gains are not equal errors, and not equal decisions.** A feature can save as much loss for women as for men while the model approves fewer women, or is wrong about them more
  often. Those questions need the first table, and a choice of which error matters.
- **A difference in gain is not discrimination.** Groups differ in their features, in their outcomes, and in how much there is to predict. A gain can be larger for a group simply because
  that group's risks vary more.
- **No difference in gain is no acquittal.** A model that treats a proxy the same way for everyone has equal gains and can still harm the group in which the proxy is common.
- **Proxies can work together.** Features were asked one at a time. Several that say little each can give the sex away together.
- **One model, one sample.** These are clients in Taiwan in 2005 who had a card. Applicants who were refused one are not in the data.
- **Not a legal test.** Which attribute may be used, and what counts as a justified difference, is decided elsewhere.
"""


if __name__ == "__main__":
    computed = compute()
    write(NAME, page(*computed), sex=computed[0].plot().figure_)
