"""From finished steps to the audit: facts, checks, caveats, settings and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfit._array import Array
from sfit._audit._checks import checklist
from sfit._audit._data_facts import data_facts
from sfit._audit._detectable import smallest_correlation, smallest_probability
from sfit._audit._model_facts import model_facts
from sfit._audit._overlap import overlap
from sfit._audit._ranges import constant_features, outside_training
from sfit._audit._records import Check, DataFacts, Detectable
from sfit._audit._request import AuditRequest
from sfit._audit._result import Audit, AuditSettings
from sfit._audit._steps import Steps
from sfit._multiplicity import smallest_threshold
from sfit._session import Session
from sfit._text import listed
from sfit.models import as_view
from sfit.rows import as_table, column_names
from sfit.sample import Sample

POWER = 0.8
"""The power at which the smallest detectable effect is stated."""

TITLE = "Audit of a fitted model"

NAMED = ("title", "purpose", "model_name", "data_name", "period", "author")
"""Arguments whose texts the page shows."""


def assemble(steps: Steps, session: Session, made: str, per_row: float) -> Audit:
    """The audit, from what its steps gave."""
    subject, around, fields = steps.subject, steps.around, steps.fields
    request, view = subject.request, as_view(subject.model, subject.request.loss)
    classes = None if view.classes is None else view.classes.tolist()
    data = data_facts(
        subject.X,
        subject.y,
        labels=around.labels,
        positions=around.positions,
        classes=classes,
        name=request.data_name,
        period=request.period or None,
    )
    facts, able = model_facts(subject.model, view, request.model_name), _detectable(steps)
    result = {
        "performance": (),
        "typical": None,
        "by_group": None,
        "interactions": None,
        "group_tests": None,
        "profiles": (),
        "build_up": (),
        "explained": None,
        "proxies": (),
        "outcomes": (),
        **fields,
    }
    return Audit(
        settings=_settings(steps, made, per_row, reproduce(request, subject.seed, data)),
        model=facts,
        data=data,
        train=_train_facts(steps),
        detectable=able,
        checks=_checks(steps, data, able),
        steps=tuple(steps.work.steps),
        caveats=caveats_of(result),
        run=session.run(),
        **result,
    )


def _settings(steps: Steps, made: str, per_row: float, code: str) -> AuditSettings:
    request, sample, related = steps.subject.request, steps.sample, steps.fields["related"]
    by = request.by if isinstance(request.by, str) else "" if request.by is None else "group"
    n_clusters = sample.rows.n_clusters or None
    return AuditSettings(
        title=request.title or TITLE,
        purpose=request.purpose,
        author=request.author,
        made=made,
        reproduce=code,
        loss=sample.loss.name,
        alpha=request.alpha,
        correction=str(related.settings.correction),
        n_background=steps.subject.n_background,
        reference=_background(steps),
        reference_origin="test rows" if request.train is None else "training rows",
        space=related.settings.space,
        always_on=sample.always_on,
        by=by,
        n_clusters=n_clusters,
        protected=tuple(steps.around.protected),
        expected=tuple(request.expected.items()),
        budget="" if request.budget is None else str(request.budget),
        seconds_per_pass=per_row * len(sample.rows),
        seed=steps.subject.seed,
        base_prediction=_mean_prediction(steps.nothing.predictions),
        base_error=_base_error(steps.sample),
        mean_prediction=_mean_prediction(steps.everything.predictions),
    )


def _background(steps: Steps) -> str:
    """Over which rows hidden features are averaged."""
    train, n = steps.subject.request.train, steps.sample.features.reference.shape[0]
    if train is None:
        return f"average of {n} of the audited rows"
    return f"average of {n} of the {as_table(train).shape[0]:,} training rows"


def _only_output(predictions: Array) -> Array | None:
    """The only output, or the probability of the second of two classes; None if there are more."""
    if predictions.ndim == 2 and predictions.shape[1] == 2:
        return np.asarray(predictions[:, 1])
    return predictions if predictions.ndim == 1 else None


def _mean_prediction(predictions: Array) -> float:
    output = _only_output(predictions)
    return math.nan if output is None else float(output.mean())


def _base_error(sample: Sample) -> float:
    """The standard error of the mean prediction of the background rows."""
    rows = sample.features.reference
    output = _only_output(sample.view.predict(rows)) if rows.shape[0] > 1 else None
    if output is None:
        return math.nan
    return float(np.std(output, ddof=1) / len(output) ** 0.5)


def _train_facts(steps: Steps) -> DataFacts | None:
    """Size, missing values and fingerprint of the training rows."""
    train, around = steps.subject.request.train, steps.around
    if train is None:
        return None
    named = column_names(as_table(train)) is not None
    return data_facts(
        train,
        None,
        labels=around.labels,
        positions=None if named else around.positions,
        name="training rows",
    )


def _detectable(steps: Steps) -> Detectable:
    n_features, rows = len(steps.fields["related"].tests), steps.sample.rows
    alpha = smallest_threshold(steps.subject.request.alpha, "fdr_by", n_features)
    n_units = rows.n_clusters or len(rows)
    return Detectable(
        power=POWER,
        alpha=alpha,
        correlation=smallest_correlation(n_units, alpha, POWER),
        probability=smallest_probability(n_units, alpha, POWER),
    )


def _checks(steps: Steps, data: DataFacts, able: Detectable) -> tuple[Check, ...]:
    subject, around, view = steps.subject, steps.around, steps.sample.view
    X, train, columns = subject.X, subject.request.train, (around.labels, around.positions)
    empty = None
    if view.classes is not None:
        counts = np.bincount(steps.everything.y, minlength=len(view.classes))
        empty = [str(label) for label, n in zip(view.classes, counts, strict=True) if not n]
    return checklist(
        data=data,
        losses=steps.everything.losses,
        overlap=None if train is None else overlap(X, train, *columns),
        outside=() if train is None else outside_training(X, train, *columns),
        constant=constant_features(X, *columns),
        empty_classes=empty,
        n_clusters=steps.sample.rows.n_clusters,
        row_order=subject.request.row_order is not None,
        smallest_correlation=able.correlation,
        level=able.alpha,
        power=able.power,
    )


def caveats_of(result: Mapping[str, Any]) -> tuple[str, ...]:
    """The caveats of all tests, once each; those of groups name the groups."""
    caveats = list(result["related"].caveats)
    tests_of: dict[str, list[str]] = {}
    for name, title in (
        ("typical", "sign test"),
        ("interactions", "interactions"),
        ("group_tests", "correlated groups"),
    ):
        for text in () if result[name] is None else result[name].caveats:
            if text not in caveats:
                tests_of.setdefault(text, []).append(title)
    caveats += [f"{listed(titles)}: {text}" for text, titles in tests_of.items()]
    parts = result["by_group"]
    if parts is not None:
        labels_of: dict[str, list[str]] = {}
        for label, part in parts.parts:
            for text in part.caveats:
                if text not in caveats:
                    labels_of.setdefault(text, []).append(str(label))
        caveats += [f"{parts.by} = {listed(names, 4)}: {text}" for text, names in labels_of.items()]
    return tuple(dict.fromkeys(caveats))


def reproduce(request: AuditRequest, seed: int, data: DataFacts) -> str:
    """Code that repeats the audit, given the model and the rows with the same fingerprints."""
    given = {
        "train": None if request.train is None else "X_train",
        "by": _argument(request.by, "by"),
        "clusters": _argument(request.clusters, "clusters"),
        "row_order": _argument(request.row_order, "row_order"),
        "protected": _protected(request.protected),
        "expected": repr(request.expected) if request.expected else None,
        **{name: repr(getattr(request, name)) for name in NAMED if getattr(request, name)},
        "loss": None if request.loss == "auto" else _argument(request.loss, "loss"),
        "alpha": repr(request.alpha) if request.alpha != 0.05 else None,
        "features": None if request.features is None else repr(list(request.features)),
        "groups": None if request.groups is None else repr(dict(request.groups)),
        "always_on": repr(list(request.always_on)) if len(request.always_on) else None,
        "n_background": repr(request.n_background) if request.n_background != 50 else None,
        "budget": None if request.budget is None else repr(str(request.budget)),
        "random_state": repr(seed),
    }
    arguments = [f"    {name}={text}," for name, text in given.items() if text is not None]
    lines = ["audit = sfit.audit(", "    model,", "    X,", "    y,", *arguments, ")"]
    return "\n".join(["import sfit", "", *lines, 'audit.to_html("audit.html")'])


def _argument(value: Any, name: str) -> str | None:
    """An argument as code: a name or number as such, anything else as a variable."""
    if value is None:
        return None
    return repr(value) if isinstance(value, str) else name


def _protected(value: Any) -> str | None:
    if not value:
        return None
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{name!r}: labels_of_{place}" for place, name in enumerate(value))
            + "}"
        )
    return repr(list(value))
