"""SFIT and other methods on the same models: discoveries, false discoveries and time (ours)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from sfit import feature_significance, loco_significance
from sfit._array import Array
from sfit.simulate import correlated, interactions
from sfit.studies._page import new_figure, table, times

TITLE = "Peers: SFIT beside other methods"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    repeats: dict[str, int] = field(default_factory=lambda: {"interactions": 10, "correlated": 40})
    """Repeats by problem, each with new rows and a new fit."""
    n_train: int = 10_000
    n_test: int = 2_000
    n_trees: int = 200
    n_correlated: int = 1_000
    """Training rows, and as many test rows, of the correlated toy."""
    alpha: float = 0.05
    n_permutations: int = 50
    fdr: float = 0.2
    """Of the knockoff filter, which cannot select any of seven features at 0.1."""
    n_orderings: int = 512
    """Of SAGE."""
    n_explained: int = 500
    """Rows that SHAP explains."""


FULL = Settings()
FAST = Settings(
    repeats={"interactions": 1, "correlated": 1},
    n_train=1_000,
    n_test=500,
    n_trees=30,
    n_correlated=500,
    n_permutations=5,
    n_orderings=32,
    n_explained=50,
)


@dataclass(frozen=True)
class Outcome:
    """One method on one problem."""

    problem: str
    method: str
    repeats: int
    finds: dict[str, int]
    """Number of repeats in which each feature is significant; empty for a method without a test."""
    ranked_right: int | None
    """Without a test: number of repeats in which all true features rank above all noise features."""
    seconds: float
    """Processor time, median over the repeats: refits included, the training of the model excluded."""


@dataclass(frozen=True)
class Result:
    """All methods on both problems."""

    outcomes: tuple[Outcome, ...]
    skipped: tuple[str, ...]
    """Peers that are not installed."""


@dataclass(frozen=True)
class Task:
    """A fitted model with its rows: the input of every method."""

    model: Any
    train: tuple[pd.DataFrame, Array]
    test: tuple[pd.DataFrame, Array]
    is_linear: bool
    seed: int
    settings: Settings

    @property
    def names(self) -> list[str]:
        """The features."""
        return [str(name) for name in self.train[0]]


TRUE = {"interactions": {"X1", "X2", "X3", "X4", "X5"}, "correlated": {"X1", "X2"}}
FEATURES = {"interactions": 7, "correlated": 2}


def study(settings: Settings) -> Result:
    """Apply every method to the same fitted models."""
    present = {name: method for name, (library, method) in METHODS.items() if _has(library)}
    skipped = sorted({library for library, _ in METHODS.values() if not _has(library)})
    outcomes = []
    for problem in TRUE:
        tasks = [_task(settings, problem, seed) for seed in range(settings.repeats[problem])]
        outcomes += [_outcome(problem, name, method, tasks) for name, method in present.items()]
    return Result(tuple(outcomes), tuple(skipped))


def _has(library: str) -> bool:
    return find_spec(library) is not None


def _task(settings: Settings, problem: str, seed: int) -> Task:
    rng = np.random.default_rng([seed, len(problem)])
    if problem == "correlated":
        n, model = settings.n_correlated, LinearRegression()
        X, y = correlated(2 * n, random_state=rng)
    else:
        n = settings.n_train
        model = HistGradientBoostingRegressor(max_iter=settings.n_trees, random_state=seed)
        X, y = interactions(n + settings.n_test, random_state=rng)
    # Some of the peers drop the names of columns, so every method gets a model without names.
    fitted = model.fit(X[:n].to_numpy(), y[:n])
    return Task(fitted, (X[:n], y[:n]), (X[n:], y[n:]), problem == "correlated", seed, settings)


Scores = Mapping[str, float]
Method = Callable[[Task], set[str] | Scores]
"""Returns the significant features or, for a method without a test, scores."""


def _outcome(problem: str, name: str, method: Method, tasks: Sequence[Task]) -> Outcome:
    answers, seconds = [], []
    for task in tasks:
        started = time.process_time()
        with warnings.catch_warnings():
            # The warnings of a peer do not concern the study.
            warnings.simplefilter("ignore")
            answers.append(method(task))
        seconds.append(time.process_time() - started)
    # The first repeat may include compiling and imports, which the median ignores.
    typical = float(np.median(seconds))
    sets = [answer for answer in answers if isinstance(answer, set)]
    scores = [answer for answer in answers if not isinstance(answer, set)]
    finds = {feature: sum(feature in one for one in sets) for feature in tasks[0].names}
    right = sum(_ranks_right(one, TRUE[problem]) for one in scores) if scores else None
    return Outcome(problem, name, len(tasks), {} if scores else finds, right, typical)


def _ranks_right(scores: Scores, true: set[str]) -> bool:
    noise = [value for name, value in scores.items() if name not in true]
    return min(scores[name] for name in true) > max(noise, default=-math.inf)


# --- the methods ------------------------------------------------------------------------


def _sfit_first(task: Task) -> set[str]:
    result = feature_significance(
        task.model, *task.test, alpha=task.settings.alpha, reference=task.train[0]
    )
    return set(result.selected)


def _sfit_pairs(task: Task) -> set[str]:
    result = feature_significance(
        task.model,
        *task.test,
        alpha=task.settings.alpha,
        beta=(0.01, 0.001),
        max_order=2,
        reference=task.train[0],
        strict=True,
    )
    return set(result.selected)


def _loco(task: Task) -> set[str]:
    result = loco_significance(
        clone(task.model), *task.train, *task.test, alpha=task.settings.alpha
    )
    return set(result.selected)


def _permutation(task: Task) -> set[str]:
    from hidimstat import PFI

    return _hidimstat(task, PFI)


def _conditional(task: Task) -> set[str]:
    from hidimstat import CFI

    return _hidimstat(task, CFI)


def _hidimstat(task: Task, kind: Any) -> set[str]:
    X, y = task.test[0].to_numpy(), task.test[1]
    importance = kind(
        estimator=task.model,
        n_permutations=task.settings.n_permutations,
        random_state=task.seed,
    )
    importance.fit(X, y)
    importance.importance(X, y)
    significant = importance.pvalues_ < task.settings.alpha
    return {name for name, is_chosen in zip(task.names, significant, strict=True) if is_chosen}


def _knockoffs(task: Task) -> set[str]:
    from knockpy.knockoff_filter import KnockoffFilter

    statistic = "lasso" if task.is_linear else "randomforest"
    X, y = task.train
    # knockpy draws from NumPy's global state, which is restored afterwards.
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(task.seed)  # noqa: NPY002
        knockoffs = KnockoffFilter(ksampler="gaussian", fstat=statistic)
        chosen = knockoffs.forward(X=X.to_numpy(), y=y, fdr=task.settings.fdr)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return {name for name, is_chosen in zip(task.names, chosen, strict=True) if is_chosen}


def _sage(task: Task) -> Scores:
    import sage

    X, y = task.test[0].to_numpy(), task.test[1]
    imputer = sage.MarginalImputer(task.model.predict, task.train[0][:128].to_numpy())
    estimator = sage.PermutationEstimator(imputer, "mse", random_state=task.seed)
    values = estimator(
        X,
        y,
        batch_size=64,
        n_permutations=task.settings.n_orderings,
        detect_convergence=False,
        bar=False,
    ).values
    return dict(zip(task.names, np.asarray(values, dtype=float).tolist(), strict=True))


def _shap(task: Task) -> Scores:
    import shap

    explainer = shap.Explainer(task.model, task.train[0][:128].to_numpy())
    # For these trees SHAP's sums differ from the predictions by a thousandth, which it would reject.
    options = {} if task.is_linear else {"check_additivity": False}
    values = explainer(task.test[0][: task.settings.n_explained].to_numpy(), **options).values
    sizes = np.abs(values).mean(axis=0)
    return dict(zip(task.names, np.asarray(sizes, dtype=float).tolist(), strict=True))


METHODS: dict[str, tuple[str, Method]] = {
    "SFIT, first order": ("sfit", _sfit_first),
    "SFIT, two orders, strict": ("sfit", _sfit_pairs),
    "LOCO": ("sfit", _loco),
    "permutation importance (hidimstat)": ("hidimstat", _permutation),
    "conditional importance (hidimstat)": ("hidimstat", _conditional),
    "model-X knockoffs (knockpy)": ("knockpy", _knockoffs),
    "SAGE": ("sage", _sage),
    "SHAP": ("shap", _shap),
}
"""Each method with the library that it needs."""


# --- the page ---------------------------------------------------------------------------


def figures(result: Result) -> dict[str, Any]:
    """Shares of the repeats in which each feature is found, for the methods with a test."""
    figure, axes = new_figure(columns=2, width=5.0, height=3.2)
    for ax, problem in zip(axes, TRUE, strict=True):
        tested = [one for one in _of(result, problem) if one.finds]
        matrix = np.array([list(one.finds.values()) for one in tested]) / tested[0].repeats
        ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(matrix):
            colour = "white" if share > 0.6 else "black"
            ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=colour, fontsize=8)
        names = list(tested[0].finds)
        ax.set_xticks(range(len(names)), names)
        # The methods are named once, at the left.
        methods = [one.method for one in tested] if problem == "interactions" else []
        ax.set_yticks(range(len(methods)), methods, fontsize=8)
        ax.set_title(problem, fontsize=10)
    return {"found": figure}


def _of(result: Result, problem: str) -> list[Outcome]:
    return [one for one in result.outcomes if one.problem == problem]


def _repeats(result: Result, problem: str) -> int:
    return _of(result, problem)[0].repeats


def _false(result: Result) -> str:
    """How often each method with a test selects noise."""
    return "; ".join(
        f"{one.method}: {one.finds['X6'] + one.finds['X7']}"
        for one in _of(result, "interactions")
        if one.finds
    )


def _table(result: Result, problem: str) -> str:
    names = [f"X{j}" for j in range(1, FEATURES[problem] + 1)]
    rows = []
    for one in _of(result, problem):
        cells = [times(one.finds[name], one.repeats) if one.finds else None for name in names]
        ranked = None if one.ranked_right is None else times(one.ranked_right, one.repeats)
        # Without noise features there is no ranking to judge.
        ranks = [ranked] if len(TRUE[problem]) < len(names) else []
        rows.append((one.method, *cells, *ranks, one.seconds))
    head = ["no test: ranks all true first"] if len(TRUE[problem]) < len(names) else []
    return table(("method", *names, *head, "seconds"), rows)


def page(result: Result) -> str:
    """Both problems, a table each."""
    skipped = (
        f"Not installed, and left out: {', '.join(result.skipped)}.\n\n" if result.skipped else ""
    )
    spent = {one.method: one.seconds for one in _of(result, "interactions")}
    seconds = sum(spent.values())
    permuting = sum(spent[name] for name in spent if "hidimstat" in name) / seconds
    return f"""
{
        skipped
    }All methods are applied to the same fitted models; each repeat fits a model to new rows. Tests have level 0.05; the
knockoff filter has a false discovery rate of 0.2 (with seven features it cannot select any at 0.1). Seconds are processor
time on one thread, the median over the repeats, without the first training. The methods answer different questions: for
one of them, not finding a feature can be the correct answer.

There are fewer rows and repeats than in the paper (100,000 and 10,000 rows), because one repeat of all methods on the
interactions takes {seconds:.0f} s here. The permutation tests take {
        permuting:.0%} of this, which grows with the test rows; LOCO and the knockoffs
grow with the training rows. The standard error of a share is at most {
        0.5 / math.sqrt(_repeats(result, "interactions")):.2f} for {
        _repeats(result, "interactions")
    } repeats and {0.5 / math.sqrt(_repeats(result, "correlated")):.2f} for {
        _repeats(result, "correlated")
    }.

![Share of repeats in which each feature is found](peers-found.png)

## Interactions: section 3, histogram boosting, 10,000 training and 2,000 test rows

X1 and X3 act alone, X2, X4 and X5 in pairs; X6 and X7 are noise.

{_table(result, "interactions")}

First-order SFIT tests a feature alone, so X2, X4 and X5 are left to the second order. With 2,000 rows, the sign test of
the median misses some effects (with 10,000 rows and a network it finds them: [simulation](simulation.md)). The other
methods average a squared error or refit the model, and find all of them here. False discoveries of X6 and X7 in
{2 * _repeats(result, "interactions")} tests: {
        _false(result)
    }. The t-test of the two permutation methods runs over the
*permutations* of one test set, so more permutations, without more rows, make a tiny effect of noise significant.

## Correlated: section 1, least squares, 1,000 training and 1,000 test rows

Both features matter equally, and each can replace the other in part.

{_table(result, "correlated")}

LOCO tests whether a feature is needed in addition to the other one, and finds each about half of the time. The knockoff
filter cannot select any of two features: even without a false discovery its estimate of the false discovery rate is 1/2.
SAGE and SHAP have no test.
"""
