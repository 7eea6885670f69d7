"""Champion against challenger: two models of different libraries on the same rows."""

import numpy as np
from cases import boosted, credit, listed, logistic, p_text, table, write
from sklearn.metrics import roc_auc_score

import sfit

NAME = "champion"


def compute():
    """Both comparisons, and the areas under the curves."""
    X_train, X_test, y_train, y_test = credit()
    models = {"logistic": logistic(X_train, y_train), "boosted": boosted(X_train, y_train)}
    reference = sfit.Average(X_train, n_rows=100)
    compared = sfit.compare_models(models, X_test, y_test, reference=reference, random_state=0)
    ranks = sfit.compare_features(
        models["boosted"], X_test, y_test, reference=reference, random_state=0
    )
    predicted = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}
    losses = {name: -np.log(np.where(y_test == 1, p, 1 - p)) for name, p in predicted.items()}
    bills = X_train[[f"BILL_AMT{month}" for month in range(1, 7)]]
    coefficients = models["logistic"][-1].coef_[0]
    names = models["logistic"][0].get_feature_names_out()
    facts = {
        "area": {name: roc_auc_score(y_test, p) for name, p in predicted.items()},
        "width": {name: 2 * 1.96 * loss.std() / len(loss) ** 0.5 for name, loss in losses.items()},
        "correlation": bills.corr().loc["BILL_AMT1", "BILL_AMT2"],
        "bills": [coefficients[list(names).index(f"remainder__BILL_AMT{m}")] for m in (1, 2, 3)],
    }
    return compared, ranks, facts


def gains_table(compared):
    """The features that the models use differently."""
    rows = [
        [
            one.feature,
            f"{one.gain_first:.4f}",
            f"{one.gain_second:.4f}".replace("-0.0000", "0.0000"),
            f"{one.difference:+.4f}",
            f"[{one.ci_low:.4f}, {one.ci_high:.4f}]",
            p_text(one.p_adjusted),
        ]
        for one in sorted(compared.features, key=lambda one: -abs(one.difference))
        if one.significant
    ]
    head = ("feature", "gain in logistic", "gain in boosted", "difference", "95 % interval", "p")
    return table(head, rows)


def page(compared, ranks, facts):
    """The story."""
    [whole] = compared.models
    more = [one.feature for one in compared.features if one.used_more_by == "boosted"]
    less = [one.feature for one in compared.features if one.used_more_by == "logistic"]
    [strongest] = [one for one in compared.features if one.feature == "PAY_0"]
    [bill] = [one for one in compared.features if one.feature == "BILL_AMT2"]
    certain = [one.feature for one in ranks.features if one.rank_low == one.rank_high]
    decided = sum(pair.larger is not None for pair in ranks.pairs)
    return f"""
# Champion against challenger

A bank scores credit card clients with a logistic regression. A team proposes gradient boosting (LightGBM). Is it better, and what does it do differently?
The data are the [credit default clients](https://doi.org/10.24432/C55S3H) of Taiwan: 20,000 clients to fit both models, 10,000 to compare them.

```python
compared = sfit.compare_models(
    {{"logistic": logistic, "boosted": boosted}},
    X_test,
    y_test,
    reference=sfit.Average(X_train, n_rows=100),
    random_state=0,
)
print(compared.summary())
compared.plot()
```

## Which model is better?

The boosted model. Its mean log loss is {whole.loss_second:.4f}, that of the logistic regression {whole.loss_first:.4f}: a difference of {whole.difference:.4f}, with the
95 % interval [{whole.ci_low:.4f}, {whole.ci_high:.4f}] (p = {p_text(whole.p_value)}, the smallest value that {compared.settings.n_draws:,} sign flips can give).
It predicts {whole.n_positive:,} of {whole.n:,} clients better and {whole.n_negative:,} worse. The areas under the curve are {facts["area"]["boosted"]:.3f} and {facts["area"]["logistic"]:.3f}.

The comparison is paired: a client who is hard to predict is hard for both models, and this cancels. The interval of the difference is {whole.ci_high - whole.ci_low:.4f} wide; those of
the two losses are {facts["width"]["boosted"]:.4f} and {facts["width"]["logistic"]:.4f} wide, and overlap.

## What does it do differently?

![Gains of the features in both models, and their differences](champion-gains.png)

The gain of a feature is the log loss that revealing it saves, if the other features are averaged out over 100 training clients. The features with a significant difference
(Holm's correction over all 23):

{gains_table(compared)}

- The latest payment status, PAY_0, is by far the strongest feature of both models: {strongest.gain_first:.3f} and {strongest.gain_second:.3f}. The boosted model does not use it more
  (p = {p_text(strongest.p_adjusted)}).
- The boosted model gains more from {listed(more)}. The logistic regression gains more from {listed(less)}.
- A gain can be negative. With BILL_AMT2 alone, the logistic regression predicts worse than without any feature ({bill.gain_first:.4f}). Bills of successive months are nearly
  collinear (correlation {facts["correlation"]:.2f} for the first two), and their coefficients have opposite signs ({", ".join(f"{one:+.2f}" for one in facts["bills"])} for the first three, per
  standard deviation): they are right together and wrong alone. `given="rest"` compares the gains over all other features instead.

## Which ranks are certain?

```python
ranks = sfit.compare_features(
    boosted, X_test, y_test, reference=sfit.Average(X_train, n_rows=100), random_state=0
)
ranks.plot()
```

![Mean gains of the boosted model's features, and the ranks that each can have](champion-ranks.png)

Importance plots are read as rankings, and this one is certain of only {len(certain)} ranks: {listed(certain)}. It decides {decided} of {len(ranks.pairs)} pairs, with a probability of at most .05 that any of these
decisions is wrong. The bars show which ranks each feature can have. Below the first dozen, the order is mostly noise.

## What this does not show

- **One split, one fit.** The p-values are about these two fitted models and clients like these. Another seed or another training set gives other models.
  [`cross_significance`](../api.md) is about estimators.
- **Log loss, not profit.** A lower log loss is a better probability on average. Which model makes more money depends on thresholds and costs; pass the cost as `loss=`.
- **Time.** The 10,000 clients come from the same months as the training rows. A challenger that wins here can lose next year; see [use that drifts](drift.md).
- **The gain of a feature by itself** leaves out what it does together with others; `given="rest"` asks for the gain over all the others, and
  [interactions](interactions.md) for what is not additive.
"""


if __name__ == "__main__":
    compared, ranks, facts = compute()
    write(
        NAME,
        page(compared, ranks, facts),
        gains=compared.plot().figure_,
        ranks=ranks.plot().figure_,
    )
