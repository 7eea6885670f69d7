"""An audit as text of at most 80 columns."""

from __future__ import annotations

import math

from sfit._audit._findings import findings, metric_name, metric_text, metrics_of, risks
from sfit._audit._result import Audit
from sfit._audit._tables import feature_rows
from sfit._labels import labels
from sfit._layout import WIDTH, padded, wrapped
from sfit._text import number, p_text, printable, share_text, stars

MOST_FEATURES = 30
"""Features that the text lists; it counts the others."""
NAME_WIDTH = 24


def as_text(audit: Audit) -> str:
    """Finding, performance, features, signs of risk, caveats, and what was left out."""
    title = printable(audit.settings.title)
    model, data = audit.model, audit.data
    lines = [
        *wrapped(title),
        "=" * WIDTH,
        *wrapped(f"Model: {printable(model.name or model.kind)}"),
        *wrapped(f"Data: {printable(data.name) or 'held-out rows'}, {data.n_rows:,} rows"),
        *wrapped(f"Made: {audit.settings.made}"),
        "",
        *wrapped(" ".join(findings(audit))),
        "",
        *_performance(audit),
        "",
        *_features(audit),
        *_titled("Signs of high risk", [printable(text) for text in risks(audit)]),
        *_titled("Caveats", [printable(text) for text in audit.caveats]),
        *_titled(
            "Left out",
            [f"{one.name}: {one.reason}" for one in audit.steps if one.status == "left out"],
        ),
    ]
    return "\n".join(lines)


def _performance(audit: Audit) -> list[str]:
    sides = {"all": "all features", "found": "features found", "nothing": "no features"}
    lines = ["Performance"]
    for side, label in sides.items():
        metrics = metrics_of(audit, side)
        if metrics:
            texts = [f"{metric_name(one.name)} {metric_text(one)}" for one in metrics]
            text = f"{label}: {', '.join(texts)}; {metrics[0].n:,} rows"
            lines += [f"  {line}" for line in wrapped(text, WIDTH - 2)]
    return lines


def _features(audit: Audit) -> list[str]:
    rows = feature_rows(audit)
    names = labels([row.name for row in rows], NAME_WIDTH)
    lines = [
        f"Features: {len(audit.selected)} of {len(rows)} significant",
        f"  {'':{NAME_WIDTH}} {'rise':>11} {'adjusted p':>11} {'better':>9}  typical row",
    ]
    for row in rows[:MOST_FEATURES]:
        better = "–" if math.isnan(row.share_better) else share_text(row.share_better)
        name, test = padded(names[row.name], NAME_WIDTH), row.related
        mark = (stars(test.p_adjusted) or ".") if test.significant else ""
        lines.append(
            f"  {name} {number(test.rise):>11} {p_text(test.p_adjusted):>11} "
            f"{better:>9}  {row.typical_row:<9} {mark}".rstrip()
        )
    if len(rows) > MOST_FEATURES:
        lines.append(f"  ... and {len(rows) - MOST_FEATURES:,} more: see .tables()['features']")
    return lines


def _titled(title: str, sentences: list[str]) -> list[str]:
    if not sentences:
        return []
    return ["", title, *(line for text in sentences for line in wrapped(f"- {text}", WIDTH, "  "))]
