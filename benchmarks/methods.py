"""The ways to ask which features matter: the paper's loop, ours, and the peers.

Each peer is a function of the subject, some rows, and how much of its work to do on them.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binomtest
from subjects import TREES, Subject

import sfit

BETA = 0.01
REPEATS = 5
"""Permutations of each feature, for the peers that permute."""


def plain_loop(subject: Subject, X: Any, y: Any, terms: list[tuple[int, ...]]) -> list[int]:
    """Algorithm 1 as it is printed: one masked data set per set of features.

    The counts of positive differences; medians and p-values are computed too, intervals are not.
    """
    n = len(X)
    reference = subject.reference.astype(X.dtype)
    base = (1 - BETA) * subject.loss(y, subject.predict(np.tile(reference, (n, 1))))
    counts = []
    for term in terms:
        masked = np.tile(reference, (n, 1))
        masked[:, term] = X[:, term]
        delta = base - subject.loss(y, subject.predict(masked))
        np.median(delta)
        counts.append(int((delta > 0).sum()))
        _ = binomtest(counts[-1], n, alternative="greater").pvalue < 0.05
    return counts


def ours(subject: Subject, X: Any, y: Any, **options: Any) -> sfit.SFITResult:
    return sfit.feature_significance(
        subject.model, X, y, beta=BETA, reference=subject.reference, **options
    )


def ours_pairs(subject: Subject, X: Any, y: Any, among: int, **options: Any) -> sfit.SFITResult:
    """Second order: all pairs of the first `among` features."""
    names = [f"x{j}" for j in range(among)]
    partners = {name: [other for other in names if other != name] for name in names}
    return ours(subject, X, y, max_order=2, partners=partners, exhaustive=True, **options)


def pairs(among: int) -> list[tuple[int, ...]]:
    return list(combinations(range(among), 2))


def ours_beta(subject: Subject, X: Any, y: Any, **options: Any) -> sfit.BetaChoice:
    # Untrained networks need a larger beta than users should accept; the work is the same.
    return sfit.choose_beta(
        subject.model,
        X,
        y,
        reference=subject.reference,
        n_models=20,
        max_beta=0.99,
        random_state=0,
        **options,
    )


# --- peers ----------------------------------------------------------------------------


def permutation_importance(subject: Subject, X: Any, y: Any, repeats: int) -> None:
    from sklearn.inspection import permutation_importance

    scoring = "neg_log_loss" if subject.classifies else "neg_mean_absolute_error"
    permutation_importance(
        subject.estimator, X, y, n_repeats=repeats, scoring=scoring, random_state=0, n_jobs=1
    )


def hidimstat_pfi(subject: Subject, X: Any, y: Any, features: int) -> None:
    """The first so many of the features."""
    from hidimstat import PFI

    method = PFI(
        subject.estimator,
        n_permutations=REPEATS,
        features_groups={str(j): [j] for j in range(features)},
        random_state=0,
        **hidimstat_loss(subject),
    )
    method.fit(X, y)
    method.importance(X, y)


def hidimstat_loss(subject: Subject) -> dict[str, Any]:
    from sklearn.metrics import log_loss, mean_absolute_error

    if subject.classifies:
        return {"method": "predict_proba", "loss": log_loss}
    return {"method": "predict", "loss": mean_absolute_error}


def shap_values(subject: Subject, X: Any) -> None:
    import shap

    if subject.name in TREES:
        shap.TreeExplainer(subject.model).shap_values(X)
        return

    def output(rows: Any) -> Any:
        prediction = subject.predict(np.asarray(rows, dtype=X.dtype))
        return prediction[:, 1] if subject.classifies else np.ravel(prediction)

    background = shap.maskers.Independent(subject.train[0], max_samples=100)
    explainer = shap.PermutationExplainer(output, background, seed=0)
    explainer(X, max_evals=2 * X.shape[1] + 1, silent=True)


def hidimstat_loco(subject: Subject, X: Any, y: Any, rows: int) -> None:
    """One of the features left out, with a refit on so many training rows."""
    from hidimstat import LOCO

    X_train, y_train = subject.train
    method = LOCO(subject.estimator, features_groups={"first": [0]}, **hidimstat_loss(subject))
    method.fit(X_train[:rows], y_train[:rows])
    method.importance(X, y)


def sage_ratio(subject: Subject, X: Any, y: Any, permutations: int) -> float:
    """So many permutations of SAGE as its documentation shows it.

    The ratio of its error to the gap between its values: it stops at 0.025.
    """
    import sage

    def output(rows: Any) -> Any:
        prediction = subject.predict(rows)
        return prediction if subject.classifies else np.reshape(prediction, (-1, 1))

    imputer = sage.MarginalImputer(output, subject.train[0][:512])
    loss = "cross entropy" if subject.classifies else "mse"
    estimator = sage.PermutationEstimator(imputer, loss, random_state=0)
    answer = estimator(
        X,
        y,
        batch_size=min(16, permutations),
        n_permutations=permutations,
        detect_convergence=False,
        bar=False,
    )
    gap = max(answer.values.max() - answer.values.min(), 1e-12)
    return float(answer.std.max() / gap)
