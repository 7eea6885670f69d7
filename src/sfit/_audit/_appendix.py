"""The appendices of an audit: full table, method, model, data, settings, versions, code."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfit._audit._cards import interaction_tables
from sfit._audit._findings import background_text
from sfit._audit._result import Audit
from sfit._audit._tables import feature_rows
from sfit._text import number, p_text, percent, printable, share_text
from sfit._words import words_of
from sfit.report._blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Code,
    Facts,
    Formula,
    Kind,
    Picture,
    Section,
    Table,
    Text,
)

MOST_DRAWN = 8
"""Features in the pictures of the body."""

MOST_IN_APPENDIX = 40

MOST_MORE = 10
"""Cards in the appendix: pictures of hundreds of features would make a page too large to send."""

KINDS: tuple[Kind, ...] = ("name", *("number",) * 8, "name", "verdict")
"""The columns of the table of all features."""


def appendices(audit: Audit, cards: Sequence[Card]) -> tuple[Section, ...]:
    """The last sections of the page; `cards` are those that the body has no room for."""
    more = []
    if cards:
        blocks: list[Block] = [Cards(tuple(cards[:MOST_MORE]))]
        if len(cards) > MOST_MORE:
            blocks.append(Text(f"{len(cards) - MOST_MORE} weaker features have no card.", "note"))
        more.append(Section("More features", "more-features", tuple(blocks), appendix=True))
    return (
        *more,
        Section("All features", "all-features", _every_feature(audit), appendix=True),
        Section("Method", "method", _method(audit), appendix=True),
        Section("Model and data", "facts", _facts(audit), appendix=True),
        Section("Settings and work", "settings", _settings(audit), appendix=True),
        Section("Reproduce", "reproduce", _reproduce(audit), appendix=True),
    )


def _reproduce(audit: Audit) -> tuple[Block, ...]:
    same = "The fingerprints of the model, the data and the training rows must be those above."
    if audit.settings.budget:
        same += (
            " A budget is time: another run may afford other numbers of rows and pairs. The tests "
            "of single features repeat exactly."
        )
    return (Text(same), Code(audit.settings.reproduce))


def _every_feature(audit: Audit) -> tuple[Block, ...]:
    from sfit.plotting import CoinDisplay, RibbonsDisplay, RiseDisplay

    blocks: list[Block] = [_all_features(audit)]
    if len(audit.related.tests) > MOST_DRAWN:
        blocks.append(Picture(RiseDisplay(audit.related, MOST_IN_APPENDIX)))
        if audit.typical is not None:
            blocks.append(Picture(CoinDisplay(audit.typical, MOST_IN_APPENDIX)))
    if audit.profiles:
        blocks.append(Picture(RibbonsDisplay(audit.profiles)))
    blocks += interaction_tables(audit)
    return tuple(blocks)


def _all_features(audit: Audit) -> Table:
    rows, every = [], feature_rows(audit)
    for row in every:
        test, share = row.related, row.share_better
        rows.append(
            (
                Cell(printable(row.name)),
                Cell(number(test.rise), f"{test.rise:.6g}"),
                Cell(f"{number(test.ci_low)} to {number(test.ci_high)}"),
                Cell(p_text(test.p_value), f"{test.p_value:.6g}"),
                Cell(p_text(test.p_adjusted), f"{test.p_adjusted:.6g}"),
                Cell(number(test.z), f"{test.z:.6g}"),
                Cell(share_text(test.share_moved), f"{test.share_moved:.6g}"),
                Cell(number(test.gain), f"{test.gain:.6g}"),
                Cell("–" if math.isnan(share) else share_text(share), f"{share:.6g}"),
                Cell(row.typical_row),
                Cell(row.verdict(audit.settings.alpha)),
            )
        )
    head = (
        *("Feature", "Rise", "Interval", "p-value", "Adjusted p", "z"),
        *("Rows moved", "Mean gain", "Rows better", "Typical row", "Verdict"),
    )
    return Table(
        "All features",
        "features",
        head,
        KINDS,
        tuple(rows),
        tuple(row.related.significant for row in every),
        notes=("Verdicts are corrected for all features; intervals are not.",),
        searchable=True,
    )


def _method(audit: Audit) -> tuple[Block, ...]:
    settings, related = audit.settings, audit.related.settings
    return (
        Text(
            "Every test compares predictions of the fitted model; nothing is refitted. To reveal a "
            "feature is to show the model its observed values. All other features are hidden: the "
            f"prediction is averaged over background rows b ({background_text(audit)})."
        ),
        Formula("g_j(x) = (1/K) Σ_k f(x_j, b_k without j)"),
        Text(
            "Permutation test. Null hypothesis: feature j is independent of the outcome. The "
            "predictions g_j of all rows are re-matched at random with the outcomes. If T measures "
            "how well predictions and outcomes agree, the p-value over B re-matchings is"
        ),
        Formula("p = (1 + #{b : T_b ≥ T}) / (B + 1)"),
        Text("The rise is what the mean loss L gains when predictions come from other rows:"),
        Formula("rise = mean over a ≠ b of L(y_a, g_b) − mean over i of L(y_i, g_i)"),
        Text(
            "Sign test. Null hypothesis: revealing feature j does not improve the median row by "
            "more than the share β. The number of improved rows is binomial at the boundary of the "
            "null hypothesis:"
        ),
        Formula("n⁺ = #{i : (1 − β) L(y_i, g_∅) − L(y_i, g_j) > 0},  p = P(Bin(n, 1/2) ≥ n⁺)"),
        Text(
            f"Adjusted p-values follow Benjamini and Yekutieli (2001) over all "
            f"{len(audit.related.tests)} features, which holds under any dependence. Level: "
            f"{number(settings.alpha)}. Intervals are not adjusted. "
            + _guarantee(related.reference_origin)
        ),
        Facts(_reading(audit), "Terms"),
    )


def _reading(audit: Audit) -> tuple[tuple[str, str], ...]:
    """The terms of both tests and their meanings."""
    pairs: dict[str, str] = {}
    for result in (audit.related, audit.typical):
        if result is not None:
            coverage = percent(result.settings.coverage)
            for name, text in words_of(result).reading([result], coverage):
                exact = text.replace(result.settings.reference, background_text(audit))
                pairs.setdefault(name, printable(exact))
    return tuple(pairs.items())


def _guarantee(origin: str) -> str:
    if origin == "given":
        return (
            "The p-values are exact, whatever the model and the loss, if the rows are independent "
            "and were not used for training. Each table of tests is corrected on its own: there is "
            "no correction across tables."
        )
    return (
        "The background comes from the rows under test, so p-values are asymptotic: pass the "
        "training rows as train= to make them exact."
    )


def _facts(audit: Audit) -> tuple[Block, ...]:
    model, data = audit.model, audit.data
    blocks: list[Block] = [
        Facts(
            (
                ("Class", printable(model.kind)),
                ("Library", printable(model.library) or "none: a function"),
                ("Task", model.task),
                *([("Classes", ", ".join(map(printable, model.classes)))] if model.classes else []),
            ),
            "Model",
        ),
    ]
    if model.parameters:
        blocks.append(Facts(_pairs(model.parameters), "Parameters"))
    blocks.append(Facts(_pairs(data.target_distribution), f"Target {printable(data.target)}"))
    if data.missing_by_column:
        blocks.append(Facts(_pairs(data.missing_by_column[:40]), "Missing cells by column"))
    return tuple(blocks)


def _pairs(pairs: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((printable(name), printable(text)) for name, text in pairs)


def _settings(audit: Audit) -> tuple[Block, ...]:
    s = audit.settings
    versions = audit.run.get("versions", {})
    return (
        Facts(
            (
                ("Loss", printable(s.loss)),
                ("Level", number(s.alpha)),
                ("Correction", s.correction),
                ("Hidden features", background_text(audit)),
                ("Space of hiding", s.space),
                ("Clusters", "none" if s.n_clusters is None else f"{s.n_clusters:,}"),
                ("Budget", s.budget or "none"),
                ("Seed", str(s.seed)),
                ("One predict pass", f"{s.seconds_per_pass:.3g} s"),
            ),
            "Settings",
        ),
        Table(
            "Work",
            "steps",
            ("Step", "Status", "Expected", "Took", "Remark"),
            ("name", "name", "number", "number", "name"),
            tuple(
                (
                    Cell(step.name),
                    Cell(step.status),
                    Cell(f"{step.expected:.2g} s", f"{step.expected:.6g}"),
                    Cell(f"{step.seconds:.2g} s", f"{step.seconds:.6g}"),
                    Cell(step.reason or "–"),
                )
                for step in audit.steps
            ),
        ),
        Facts(tuple((name, printable(text)) for name, text in versions.items()), "Versions"),
    )
