"""The public call: check the arguments, run the steps within the budget, put the audit together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from sfit._audit._assemble import assemble
from sfit._audit._draws import seconds_of_draws
from sfit._audit._request import AuditRequest
from sfit._audit._result import Audit
from sfit._audit._steps import Costs, expected_seconds, run_steps
from sfit._audit._subject import Subject, check_in_memory, seconds_per_row
from sfit._audit._surroundings import Surroundings
from sfit._audit._work import STEPS, Work, duration
from sfit._resume import opened_for
from sfit._session import Session, progress_bar

FEWEST_BACKGROUND = 10
"""Fewer background rows would make averages too rough, whatever the budget."""


LONG = 10.0
"""Seconds from which on a user is warned that the tests will exceed the budget."""


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    train: Any = None,
    by: Any = None,
    clusters: Any = None,
    row_order: Literal["time"] | None = None,
    protected: Sequence[str] | Mapping[str, Any] = (),
    expected: Mapping[str, str] | None = None,
    title: str | None = None,
    purpose: str | None = None,
    model_name: str | None = None,
    data_name: str | None = None,
    period: str | None = None,
    author: str | None = None,
    features: Sequence[Any] | None = None,
    loss: str | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    n_background: int = 50,
    budget: float | str | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> Audit:
    """Audit a fitted model: run what a careful analyst would, and write it up as one document.

    An audit measures the performance of the model, tests every feature with the permutation test
    and the sign test, draws the response to each significant feature, measures how much of the
    model's gain the features found account for, and looks at groups of rows, protected attributes,
    correlated features and interactions. It checks what can be checked of the assumptions, and
    says what it left out.

    Parameters
    ----------
    model, X, y : as in `feature_significance`
        A fitted model, held-out rows in memory and the observed target.
    train : array or frame, optional
        The training rows, without or with the target. Hidden features are averaged over a sample of
        them, which keeps the tests exact, and held-out rows are looked up among them. By default
        the held-out rows take their place, and the page says so.
    by : "class", str or array of shape (n,), optional
        Groups of rows, each of which is tested.
    clusters, row_order : as in `feature_significance`
        Rows that depend on each other, within clusters or in time. Paired tests do not allow for
        time, so an audit of such rows leaves them out.
    protected : sequence of names, or mapping from a name to labels
        Protected attributes: columns of X, or labels of the rows that the model does not see.
    expected : mapping, optional
        The direction that experts expect of a feature: "+" (or "rising") or "-" (or "falling").
    title, purpose, model_name, data_name, period, author : str, optional
        What the page says about the model, the data and their period, and who made it.
    features, loss, alpha, groups, always_on : as in `feature_significance`
        The columns to pass to the model, the loss, the level, and which columns form one feature.
    n_background : int, default=50
        Rows over which hidden features are averaged. A budget may lower it, to no less than 10.
    budget : float or str, optional
        How long the audit may take: seconds, or a text such as "60 passes". A pass is the time in
        which the model predicts all rows once. The most useful steps come first, and the page says
        what was left out. Pairs of features and correlated groups are tested only within a budget.
    n_jobs, progress : as in `feature_significance`
        How the work is done.
    checkpoint : path, optional
        File of finished steps, from which an interrupted audit resumes.
    checkpoint_key : str, optional
        Identifies a model or a loss that a later run cannot recognise, such as a function.
    random_state : int or Generator, optional
        Seed of all random draws. By default, a seed is drawn; the audit records it.

    Returns
    -------
    Audit
        The results of all tests and everything else that the page shows.

    See Also
    --------
    feature_significance : One test, with all of its options.
    compare_parts : Tests whether groups of rows differ.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> audit = sfit.audit(
    ...     sfit.simulate.interactions_mean,
    ...     X[2000:],
    ...     y[2000:],
    ...     train=X[:2000],
    ...     title="The paper's example",
    ...     expected={"X1": "+"},
    ...     random_state=0,
    ... )
    >>> audit.selected
    ('X1', 'X3')
    >>> [step.name for step in audit.steps if step.status == "done"][:2]
    ['performance', 'related features']
    """
    request = AuditRequest.checked(**locals())
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    check_in_memory(X, "X")
    check_in_memory(train, "train")
    session = Session.of(request)
    seed = session.seed(request.random_state)
    subject = Subject(request, model, X, y, seed, request.n_background, session.warnings)
    around = Surroundings.of(subject)
    sample = subject.prepared()
    around.check(sample.features.names, request.expected)
    identity = request.identity() | around.identity()
    with opened_for(checkpoint, checkpoint_key, identity, sample) as session.checkpoint:
        seed = session.seed(request.random_state)
        per_row = seconds_per_row(sample)
        limit = None
        if request.budget is not None:
            limit = request.budget.seconds(per_row * len(sample.rows))
        n_background = _n_background(request, limit, per_row, len(sample.features.names))
        if session.checkpoint is not None:
            n_background = session.checkpoint.first_drawn("n_background", n_background)
        subject = replace(subject, seed=seed, n_background=n_background)
        bar = progress_bar(total=len(STEPS), unit=" steps", enabled=request.progress)
        draws = seconds_of_draws(len(sample.features.names), len(sample.rows), request.alpha)
        costs = Costs(per_row, n_background, draws, per_row * len(sample.rows))
        needed = costs.single(len(sample.features.names)) + draws
        if limit is not None and needed > max(limit, LONG):
            session.warn(
                f"the test of all features alone is expected to take {duration(needed)}, more than "
                f"the budget of {duration(limit)}: raise budget, or test fewer features together, "
                "with groups=."
            )
        work = Work(limit, session.checkpoint, bar, session.started)
        with bar:
            work.announce(expected_seconds(costs, len(sample.features.names), request, limit))
            steps = run_steps(subject, around, work, costs)
        return assemble(steps, session, made, per_row)


def _n_background(
    request: AuditRequest, limit: float | None, per_row: float, n_features: int
) -> int:
    """As many background rows as asked for, or as the tests of single features can afford."""
    if limit is None:
        return request.n_background
    affordable = 0.5 * limit / (3 * Costs(per_row, 1).single(n_features))
    return int(min(request.n_background, max(FEWEST_BACKGROUND, affordable)))
