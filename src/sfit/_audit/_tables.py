"""The tables of an audit as frames: every number that its page shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple, cast

import pandas as pd

from sfit._audit._findings import directions
from sfit._audit._result import Audit
from sfit._set_tests import PermutationSetTest, SetTest
from sfit._text import stars


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


class FeatureRow(NamedTuple):
    """Both verdicts on a feature."""

    related: PermutationSetTest
    typical: SetTest | None
    """None if the sign test was left out."""

    @property
    def name(self) -> str:
        """The feature."""
        return self.related.term[0]

    @property
    def share_better(self) -> float:
        """The share of rows that the feature improves by more than beta."""
        if self.typical is None or not self.typical.n:
            return math.nan
        return self.typical.n_positive / self.typical.n

    @property
    def typical_row(self) -> str:
        """Whether the feature improves the typical row, in a word."""
        if self.typical is None:
            return "–"
        return "improves" if self.typical.significant else "no"

    def verdict(self, alpha: float) -> str:
        """The verdict of the permutation test in words."""
        if self.related.significant:
            return f"significant {stars(self.related.p_adjusted)}".strip()
        return "not after correction" if self.related.p_value < alpha else "–"


def feature_rows(audit: Audit) -> list[FeatureRow]:
    """All features: significant first, then by the strength of their evidence."""
    beside = {} if audit.typical is None else {one.term: one for one in audit.typical.tests}
    tests = sorted(audit.related.tests, key=lambda test: (not test.significant, -test.strength))
    return [FeatureRow(cast(Any, test), cast(Any, beside.get(test.term))) for test in tests]


def features_of(audit: Audit) -> pd.DataFrame:
    """One row per feature: both verdicts side by side, the strongest first."""
    rows = []
    for row in feature_rows(audit):
        test, typical, profile = row.related, row.typical, audit.profile(row.name)
        rows.append(
            {
                "feature": row.name,
                "significant": test.significant,
                "rise": test.rise,
                "ci_low": test.ci_low,
                "ci_high": test.ci_high,
                "p_value": test.p_value,
                "p_adjusted": test.p_adjusted,
                "z": test.z,
                "typical_row": None if typical is None else typical.significant,
                "share_better": row.share_better,
                "typical_p_adjusted": math.nan if typical is None else typical.p_adjusted,
                "share_moved": test.share_moved,
                "mean_gain": test.gain,
                "direction": "" if profile is None else profile.direction,
            }
        )
    return pd.DataFrame(rows)


def responses_of(audit: Audit) -> pd.DataFrame:
    """The response curves: one row per feature, output and value."""
    rows = []
    for profile in audit.profiles:
        names: Sequence[Any] = profile.labels or profile.values
        # A group of columns has no curve, and no responses.
        for output, responses in zip(profile.outputs, profile.responses, strict=False):
            pairs = zip(names, responses, strict=True)
            rows += [(profile.feature, output, *pair) for pair in pairs]
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
