"""The tables of an audit as frames: every number that its page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from sfit._audit._findings import directions
from sfit._audit._result import Audit
from sfit._set_tests import AnySetTest


def tables_of(audit: Audit) -> dict[str, pd.DataFrame]:
    """All tables that are not empty, by name."""
    tables = {
        "features": features_of(audit),
        "performance": frame_of(audit.performance),
        "related": audit.related.table,
        "typical": None if audit.typical is None else audit.typical.table,
        "by_group": None if audit.by_group is None else audit.by_group.table,
        "interactions": None if audit.interactions is None else audit.interactions.table,
        "group_tests": None if audit.group_tests is None else audit.group_tests.table,
        "build_up": frame_of(audit.build_up),
        "explained": frame_of([audit.explained] if audit.explained else []),
        "responses": responses_of(audit),
        "correlated": frame_of(audit.correlated),
        "proxies": frame_of(audit.proxies),
        "outcomes": frame_of(audit.outcomes),
        "directions": pd.DataFrame(directions(audit)),
        "checks": frame_of(audit.checks),
        "steps": frame_of(audit.steps),
        "caveats": pd.DataFrame({"caveat": audit.caveats}),
        "model": facts_of(audit.model),
        "data": facts_of(audit.data),
        "settings": facts_of(audit.settings),
    }
    return {name: table for name, table in tables.items() if table is not None and len(table)}


def metrics_of(audit: Audit) -> dict[str, float]:
    """The most important numbers of an audit, by name."""
    numbers = {
        "n_rows": float(audit.data.n_rows),
        "n_features": float(len(audit.related.feature_names)),
        "n_significant": float(len(audit.selected)),
        "n_caveats": float(len(audit.caveats)),
        "n_checks_failed": float(sum(check.state == "no" for check in audit.checks)),
    }
    if audit.typical is not None:
        numbers["n_typical"] = float(len(audit.typical.selected))
    if audit.explained is not None:
        numbers["share_explained"] = audit.explained.share
    for metric in audit.performance:
        numbers[f"{metric.name}_{metric.side}"] = metric.value
    return numbers


def features_of(audit: Audit) -> pd.DataFrame:
    """One row per feature: both verdicts side by side, the strongest first."""
    typical = {} if audit.typical is None else {test.term: test for test in audit.typical.tests}
    rows = [_feature(test, typical.get(test.term), audit) for test in ranked(audit)]
    return pd.DataFrame(rows)


def ranked(audit: Audit) -> list[AnySetTest]:
    """The permutation tests: significant first, then by the strength of their evidence."""
    return sorted(audit.related.tests, key=lambda test: (not test.significant, -test.strength))


def _feature(test: Any, typical: Any, audit: Audit) -> dict[str, Any]:
    profile = audit.profile(test.term[0])
    return {
        "feature": test.term[0],
        "significant": test.significant,
        "rise": test.rise,
        "ci_low": test.ci_low,
        "ci_high": test.ci_high,
        "p_adjusted": test.p_adjusted,
        "z": test.z,
        "typical_row": None if typical is None else typical.significant,
        "share_better": None if typical is None or not typical.n else typical.n_positive / typical.n,
        "typical_p_adjusted": None if typical is None else typical.p_adjusted,
        "share_moved": test.share_moved,
        "mean_gain": test.gain,
        "direction": "" if profile is None else profile.direction,
    }


def responses_of(audit: Audit) -> pd.DataFrame:
    """The response curves: one row per feature, output and value."""
    rows = []
    for profile in audit.profiles:
        names: Sequence[Any] = profile.labels or profile.values
        for output, responses in zip(profile.outputs, profile.responses, strict=True):
            for value, response in zip(names, responses, strict=True):
                rows.append((profile.feature, output, value, response))
    return pd.DataFrame(rows, columns=["feature", "output", "value", "response"])


def frame_of(records: Sequence[Any]) -> pd.DataFrame:
    """One row per record, one column per field."""
    if not records:
        return pd.DataFrame()
    names = [one.name for one in fields(records[0])]
    rows = [tuple(getattr(record, name) for name in names) for record in records]
    return pd.DataFrame(rows, columns=names)


def facts_of(record: Any) -> pd.DataFrame:
    """A record as pairs of a name and a value."""
    rows = [(name, value) for name, value in asdict(record).items()]
    return pd.DataFrame(rows, columns=["name", "value"])
