"""The steps of an audit, the most useful first, and what each is expected to cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sfit._audit._association import correlated_groups
from sfit._audit._build_up import build_up, clusters_of, drawn_rows, steps_of
from sfit._audit._pairs import partners_of, promising_pairs
from sfit._audit._performance import performance
from sfit._audit._protected import group_outcomes, proxies
from sfit._audit._records import Step
from sfit._audit._request import AuditRequest
from sfit._audit._subject import RowPredictions, Subject, predict_rows
from sfit._audit._surroundings import Surroundings
from sfit._audit._work import Fields, Work
from sfit._profiled import profiles
from sfit.sample import Sample

VALUES = 64
"""Values at which a restricted function is predicted, about; see `restrict/_tables.py`."""

MOST_PASSES = 40
"""Without a budget, a step over rows and background rows is expected to cost no more passes."""

FEWEST_ROWS = 300
"""Fewer rows would say too little about sets of features."""

MOST_PAIRS = 28
"""Pairs that an audit tests for interactions, however large its budget."""

NO_BUDGET = "not asked for: they run only within a budget, such as budget='300 passes'."
TOO_LITTLE = "the budget does not allow it."
IN_TIME = "its test compares rows one by one, which needs rows that do not depend on each other."


@dataclass(frozen=True)
class Costs:
    """Expected seconds, from the time of one prediction and the number of background rows."""

    per_row: float
    n_background: int
    draws: float = 0.0
    """Seconds of the random draws of a permutation test of all features."""
    per_pass: float = 0.0
    """Seconds of a prediction of all rows."""

    def single(self, n_features: int) -> float:
        """Tests or curves of single features: they do not depend on the number of rows."""
        return VALUES * self.n_background * n_features * self.per_row

    def joint(self, n_rows: int, n_sides: int = 1) -> float:
        """Sides that reveal several features: every row meets every background row."""
        return n_sides * n_rows * self.n_background * self.per_row


@dataclass
class Steps:
    """An audit in progress: its parts, and the fields that finished steps gave."""

    subject: Subject
    around: Surroundings
    work: Work
    costs: Costs
    sample: Sample
    everything: RowPredictions
    """With all features revealed."""
    nothing: RowPredictions
    fields: Fields = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of features under test."""
        return len(self.sample.features.names)

    @property
    def singles(self) -> float:
        """Expected seconds of a test of all single features that allows for any function."""
        return self.costs.single(self.n_features)

    @property
    def rematched(self) -> float:
        """Expected seconds of a permutation test of all single features."""
        return self.singles + self.costs.draws

    @property
    def is_opaque(self) -> bool:
        """Whether a paired test needs the model's own prediction of every row and feature."""
        return self.sample.view.structure is None

    @property
    def found(self) -> list[int]:
        """Positions of the significant features, the strongest first."""
        names = self.sample.features.names
        significant = [test for test in self.fields["related"].tests if test.significant]
        ordered = sorted(significant, key=lambda test: -test.strength)
        return [names.index(test.term[0]) for test in ordered]

    @property
    def found_names(self) -> list[str]:
        """Names of the significant features, the strongest first."""
        return [self.sample.features.names[feature] for feature in self.found]

    def optional(
        self, name: str, work: Callable[[], Fields], expected: float, reason: str = ""
    ) -> None:
        """Run a step if it fits into what is left of the budget; `reason`: why only in part."""
        if expected > self.work.left and not self.work.is_stored(name):
            self.work.leave_out(name, TOO_LITTLE, expected)
        else:
            self.fields |= self.work.run(name, work, expected=expected, reason=reason)

    def rows_for(self, n_sides: int, share: float) -> int:
        """The rows that joint sides may use: within a share of the budget, or a few passes."""
        n = len(self.sample.rows)
        if self.work.limit is None:
            affordable = MOST_PASSES * n // (n_sides * self.costs.n_background)
        else:
            affordable = int(share * self.work.left / max(self.costs.joint(1, n_sides), 1e-12))
        return min(n, max(FEWEST_ROWS, affordable))

    def subject_on(self, n_rows: int) -> Subject:
        """The subject with `n_rows` rows, drawn at random."""
        n, seed = len(self.sample.rows), self.subject.seed
        return self.subject if n_rows >= n else self.subject.subset(drawn_rows(n, n_rows, seed))

    def learn(self, step: Step) -> None:
        """Correct the time of a prediction by that of a finished step of joint sides.

        Large batches are faster than the batch that was timed, and other programs interfere.
        """
        done = step.status != "left out" and step.expected > 0
        ratio = step.seconds / step.expected if done else 1.0
        self.costs = replace(self.costs, per_row=self.costs.per_row * min(max(ratio, 0.2), 5.0))

    def metrics(self, side: str, rows: RowPredictions, sample: Sample) -> tuple[Any, ...]:
        """The metrics of one side, with intervals."""
        view = self.sample.view
        return performance(
            side,
            view.task,
            rows.y,
            rows.predictions,
            () if view.classes is None else view.classes.tolist(),
            units=clusters_of(sample),
            alpha=self.subject.request.alpha,
            seed=self.subject.seed,
            loss=self.sample.loss.name,
        )


def expected_seconds(
    costs: Costs, n_features: int, request: AuditRequest, limit: float | None
) -> float:
    """How long an audit will take, about: its budget, or the sum of its steps."""
    if limit is not None:
        return limit
    n_tests = 2 if request.by is None else 3
    # Tests of single features, curves of at most all of them, and the build-up.
    singles = (n_tests + 1) * costs.single(n_features) + (n_tests - 1) * costs.draws
    return singles + MOST_PASSES * costs.per_pass


def run_steps(subject: Subject, around: Surroundings, work: Work, costs: Costs) -> Steps:
    """Run all steps that the budget allows."""
    sample = subject.prepared()
    evaluation = sample.evaluation(warn=subject.warn)
    everything = predict_rows(sample, evaluation, sample.features.everything)
    nothing = predict_rows(sample, evaluation, frozenset())
    steps = Steps(subject, around, work, costs, sample, everything, nothing)

    def of_model() -> Fields:
        sides = {"all": everything, "nothing": nothing}
        metrics = [steps.metrics(side, rows, sample) for side, rows in sides.items()]
        return {"performance": tuple(metric for of_side in metrics for metric in of_side)}

    def related() -> Fields:
        path = work.path_of("related features")
        return {"related": subject.rematched(path)}

    steps.fields |= work.run("performance", of_model, expected=2 * costs.per_row * len(sample.rows))
    steps.fields |= work.run("related features", related, expected=steps.rematched)
    _typical(steps)
    _curves(steps)
    _build_up(steps)
    _groups(steps)
    _protected(steps)
    steps.fields["correlated"] = correlated_groups(
        subject.X,
        around.labels,
        steps.found_names,
        positions=around.positions,
        seed=subject.seed,
    )
    _interactions(steps)
    _group_tests(steps)
    return steps


def _typical(steps: Steps) -> None:
    subject, sample, work = steps.subject, steps.sample, steps.work
    if subject.request.row_order is not None:
        work.leave_out("typical rows", IN_TIME)
        return
    n_rows, expected = len(sample.rows), steps.singles
    if steps.is_opaque:
        n_rows = steps.rows_for(steps.n_features, share=0.3)
        expected = steps.costs.joint(n_rows, steps.n_features)

    def run() -> Fields:
        path = work.path_of("typical rows")
        return {"typical": steps.subject_on(n_rows).test(path, test="sign")}

    steps.optional("typical rows", run, expected, _part(1, 1, "", n_rows, len(sample.rows)))


def _curves(steps: Steps) -> None:
    subject, names = steps.subject, steps.found_names

    def work() -> Fields:
        made = profiles(
            subject.model,
            subject.X,
            subject.y,
            names,
            alpha=subject.request.alpha,
            reference=subject.reference,
            random_state=subject.seed,
            warn=subject.warn,
            **subject.request.subject,
        )
        return {"profiles": made}

    if names:
        steps.optional("response curves", work, steps.costs.single(len(names)))
    else:
        steps.work.leave_out("response curves", "no feature is significant.")


def _build_up(steps: Steps) -> None:
    sample, found, n = steps.sample, steps.found, len(steps.sample.rows)
    # The sides of no feature and of all features cost one pass each, at most.
    n_sides = max(1, len(steps_of(found)))
    n_rows = steps.rows_for(n_sides, share=0.4)

    def run() -> Fields:
        request, seed = steps.subject.request, steps.subject.seed
        some = sample if n_rows == n else sample.subset(drawn_rows(n, n_rows, seed))
        built = build_up(some, found, request.alpha, seed, steps.subject.warn)
        metrics = (*steps.fields["performance"], *steps.metrics("found", built.found, some))
        if n_rows < n:
            metrics += steps.metrics("all, same rows", built.everything, some)
        return {"build_up": built.steps, "explained": built.explained, "performance": metrics}

    expected = steps.costs.joint(n_rows, n_sides)
    steps.optional("build-up", run, expected, _part(1, 1, "", n_rows, n))
    steps.learn(steps.work.steps[-1])


def _groups(steps: Steps) -> None:
    by = steps.subject.request.by
    if by is None:
        steps.work.leave_out("groups of rows", "no groups were named: pass by=.")
        return

    def work() -> Fields:
        path = steps.work.path_of("groups of rows")
        return {"by_group": steps.subject.rematched(path, by=by)}

    steps.optional("groups of rows", work, steps.rematched)


def _protected(steps: Steps) -> None:
    attributes = steps.around.protected
    if not attributes:
        reason = "no protected attribute was named: pass protected=."
        steps.work.leave_out("protected attributes", reason)
        return

    def work() -> Fields:
        subject, around, rows = steps.subject, steps.around, steps.everything
        close: list[Any] = []
        outcomes: list[Any] = []
        for name, values in attributes.items():
            close += proxies(
                name,
                values,
                subject.X,
                around.labels,
                steps.found_names,
                positions=around.positions,
                seed=subject.seed,
            )
            outcomes += group_outcomes(
                name,
                values,
                rows.y,
                rows.predictions,
                rows.losses,
                steps.sample.view.task,
                units=clusters_of(steps.sample),
                alpha=subject.request.alpha,
            )
        return {"proxies": tuple(close), "outcomes": tuple(outcomes)}

    steps.optional("protected attributes", work, 0.0)


def _interactions(steps: Steps) -> None:
    subject, sample, work, costs = steps.subject, steps.sample, steps.work, steps.costs
    pairs = promising_pairs(sample, steps.found)[:MOST_PAIRS]
    if work.limit is None or not pairs or subject.request.row_order is not None:
        reason = NO_BUDGET if pairs else "fewer than two features are significant."
        work.leave_out("interactions", reason if work.limit is None or not pairs else IN_TIME)
        return
    n, n_singles = len(sample.rows), steps.n_features if steps.is_opaque else 0
    fixed = 0.0 if steps.is_opaque else steps.singles
    # Correlated groups get a part of what is left, if there are any.
    allowed = (0.6 if steps.fields["correlated"] else 0.9) * work.left - fixed
    n_rows = min(n, max(FEWEST_ROWS, int(allowed / costs.joint(1, len(pairs) + n_singles))))
    n_pairs = min(len(pairs), int(allowed / costs.joint(n_rows)) - n_singles)
    if n_pairs < 1 and not work.is_stored("interactions"):
        work.leave_out("interactions", TOO_LITTLE, costs.joint(n_rows, 1 + n_singles) + fixed)
        return
    reason = _part(n_pairs, len(pairs), "pairs", n_rows, n)
    chosen = partners_of(pairs[:n_pairs], sample.features.names)

    def run() -> Fields:
        path = work.path_of("interactions")
        return {
            "interactions": steps.subject_on(n_rows).test(
                path,
                test="mean",
                interaction="additive",
                max_order=2,
                exhaustive=True,
                partners=chosen,
            )
        }

    expected = costs.joint(n_rows, n_pairs + n_singles) + fixed
    steps.fields |= work.run("interactions", run, expected=expected, reason=reason)


def _group_tests(steps: Steps) -> None:
    subject, sample, work = steps.subject, steps.sample, steps.work
    correlated = steps.fields["correlated"]
    if work.limit is None or not correlated:
        none = "no features are closely correlated."
        work.leave_out("correlated groups", NO_BUDGET if correlated else none)
        return
    if subject.request.groups:
        work.leave_out("correlated groups", "groups= already says which columns form one feature.")
        return
    n, n_groups = len(sample.rows), len(correlated)
    n_rows = steps.rows_for(n_groups, share=0.8)
    groups = {group.name: list(group.features) for group in correlated}

    def run() -> Fields:
        path = work.path_of("correlated groups")
        return {"group_tests": steps.subject_on(n_rows).rematched(path, groups=groups)}

    expected = steps.costs.joint(n_rows, n_groups) + steps.rematched
    steps.optional("correlated groups", run, expected, _part(1, 1, "", n_rows, n))


def _part(n_done: int, n_all: int, what: str, n_rows: int, n: int) -> str:
    """Which part of a step is done; empty if all of it is."""
    parts = []
    if n_done < n_all:
        parts.append(f"the {n_done} most promising of {n_all} {what}")
    if n_rows < n:
        parts.append(f"{n_rows:,} rows drawn at random")
    return f"{' on '.join(parts)}, to save time." if parts else ""
