"""The page of an audit: identity, finding, caveats, evidence, limits, sign-off, appendices."""

from __future__ import annotations

import math

from sfit._audit._appendix import appendices
from sfit._audit._cards import feature_cards, group_matrix, interaction_blocks
from sfit._audit._findings import (
    STRONG_PROXY,
    findings,
    limitations,
    metric_name,
    metric_text,
    metrics_of,
    names_for,
    risks,
    smallest_improvement,
    strengths,
    strongest_first,
)
from sfit._audit._records import Explained
from sfit._audit._result import Audit
from sfit._audit._tables import feature_rows
from sfit._text import listed, number, percent, printable, sentence
from sfit.report._blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Checklist,
    Document,
    Facts,
    Items,
    Kind,
    Picture,
    Section,
    SignOff,
    Table,
    Text,
)

MOST_CARDS = 8
"""Cards in the body of the page; those of weaker features stand in the appendix."""

MOST_PROXIES = 3

MOST_DRAWN = 8
"""Features in the pictures of the body; the appendix draws more."""

IN_COINS = (
    "This picture shows the sign test: filled marks improve the typical row. Verdicts elsewhere on "
    "this page are those of the permutation test."
)

CARDS_SHOW = (
    "Curve: the prediction with only this feature revealed; dashed, with every feature hidden. "
    "Grey: the rows. Below: the mean gain, which is the loss saved, with its asymptotic interval."
)

DECISION = "Decision: ☐ accepted ☐ accepted with conditions ☐ rejected"
CONDITIONS = "Conditions and next review: " + "." * 60

ROLES = ("Model owner", "Validator", "Approver")


def document_of(audit: Audit) -> Document:
    """All sections of the page, in the order in which a committee reads them."""
    cards = feature_cards(audit)
    body = [
        _identity(audit),
        _finding(audit),
        _risks(audit),
        Section("Strengths", "strengths", (Items(tuple(strengths(audit))), _performance(audit))),
        *_caveats(audit),
        _mechanism(audit),
        Section("Features", "features", _feature_blocks(audit, cards)),
        *_groups(audit),
        *_interactions(audit),
        *_protected(audit),
        Section("Limitations", "limitations", (Items(tuple(limitations(audit))),)),
        _assumptions(audit),
        _definitions(audit),
        Section("Sign-off", "sign-off", (Text(DECISION), Text(CONDITIONS), SignOff(ROLES))),
    ]
    settings = audit.settings
    made_by = f" by {printable(settings.author)}" if settings.author else ""
    version = audit.run["versions"]["sfit"]
    return Document(
        title=printable(settings.title),
        subtitle=f"Model audit. Made {settings.made}{made_by} with sfit {version}",
        sections=(*body, *appendices(audit, cards[MOST_CARDS:])),
        footer=(
            "Feature significance by the permutation test and by SFIT (E. Horel and K. Giesecke, "
            f"arXiv:1905.09849). Fingerprint of this audit: {audit.fingerprint}."
        ),
    )


# --- the first page -----------------------------------------------------------------------


def _identity(audit: Audit) -> Section:
    model, data, settings = audit.model, audit.data, audit.settings
    kind = model.kind + (f" ({model.library})" if model.library else "")
    target = "; ".join(f"{label} {text}" for label, text in data.target_distribution[:4])
    missing = "none" if not data.n_missing else f"{data.n_missing:,} cells"
    rows = f"{data.n_rows:,} rows, {data.n_columns:,} columns"
    train = "not given"
    if audit.train is not None:
        train = f"{audit.train.n_rows:,} rows, fingerprint {audit.train.fingerprint}"
    pairs = [
        ("Model", printable(f"{model.name}: {kind}" if model.name else kind)),
        ("Model fingerprint", model.fingerprint or f"none: sfit cannot see {model.unseen}"),
        ("Data", printable(f"{data.name}: {rows}" if data.name else rows)),
        ("Period", printable(data.period) or "not stated"),
        ("Target", printable(f"{data.target}: {target}")),
        ("Missing values", missing),
        ("Data fingerprint", data.fingerprint),
        ("Training rows", train),
        ("Protected attributes", listed(settings.protected, 6) or "none named"),
        ("Author", printable(settings.author) or "not stated"),
        ("Made", settings.made),
        ("Fingerprint of this audit", audit.fingerprint),
    ]
    purpose = (
        printable(settings.purpose) or "Not stated: pass purpose= to say what the model is for."
    )
    return Section("Purpose", "purpose", (Text(purpose), Facts(tuple(pairs), "Identity")))


def _finding(audit: Audit) -> Section:
    blocks: list[Block] = [Text(text, "finding") for text in findings(audit)]
    doubtful = [check.name for check in audit.checks if check.state != "yes"]
    if doubtful:
        n = len(audit.checks)
        blocks.append(Text(f"Not confirmed of {n} assumptions: {listed(doubtful, 8)}.", "note"))
    return Section("Finding", "finding", tuple(blocks))


def _caveats(audit: Audit) -> list[Section]:
    if not audit.caveats:
        return []
    groups = () if audit.by_group is None else (audit.by_group.by,)
    names = (*audit.related.feature_names, *groups)
    caveats = tuple(sentence(printable(text), names) for text in audit.caveats)
    return [Section("Caveats", "caveats", (Items(caveats),))]


SIDES = {
    "all": "All features",
    "nothing": "No features",
    "all, same rows": "All features, sample",
    "nothing, same rows": "No features, sample",
    "found": "Features found, sample",
}


def _performance(audit: Audit) -> Table:
    names = list(dict.fromkeys(metric.name for metric in audit.performance))
    rows = []
    for side, label in SIDES.items():
        metrics = {metric.name: metric for metric in metrics_of(audit, side)}
        if metrics:
            n = next(iter(metrics.values())).n
            texts = [metric_text(metrics[name]) if name in metrics else "–" for name in names]
            label = label if n < audit.data.n_rows else label.removesuffix(", sample")
            rows.append((Cell(label), *map(Cell, texts), Cell(f"{n:,}")))
    reasons = {f"{metric_name(m.name)}: {m.reason}" for m in audit.performance if m.reason}
    level = percent(1 - audit.settings.alpha)
    numbers: list[Kind] = ["number"] * (len(names) + 1)
    return Table(
        "Performance",
        "performance",
        ("The model sees", *map(metric_name, names), "Rows"),
        ("name", *numbers),
        tuple(rows),
        notes=(
            f"In brackets: {level} intervals by the delete-a-group jackknife.",
            *sorted(reasons),
        ),
    )


# --- the evidence -------------------------------------------------------------------------


def _mechanism(audit: Audit) -> Section:
    from sfit.plotting import BuildUpDisplay, CoinDisplay, RiseDisplay

    blocks: list[Block] = [Picture(RiseDisplay(audit.related, MOST_DRAWN))]
    if audit.typical is not None:
        blocks.append(Picture(CoinDisplay(audit.typical, MOST_DRAWN)))
        blocks.append(Text(f"{IN_COINS}{_hidden_note(audit)}", "note"))
    if audit.build_up:
        blocks.append(Picture(BuildUpDisplay(audit.build_up, audit.settings.loss)))
    if audit.explained is not None:
        blocks.append(Text(_build_up_note(audit.explained, audit), "note"))
    return Section("Mechanism", "mechanism", tuple(blocks))


def _hidden_note(audit: Audit) -> str:
    """How far the prediction with every feature hidden is from the mean prediction."""
    base, mean = audit.settings.base_prediction, audit.settings.mean_prediction
    if not math.isfinite(base):
        return ""
    return (
        f" With every feature hidden the prediction is {number(base)}, and the mean prediction is "
        f"{number(mean)}: a feature that only moves predictions towards the more common outcomes "
        "improves most rows."
    )


def _build_up_note(explained: Explained, audit: Audit) -> str:
    rows = f"{explained.n:,} rows"
    if explained.n < audit.data.n_rows:
        rows = f"{rows} drawn at random"
    return (
        f"Mean {audit.settings.loss} of {rows}: {number(explained.loss_hidden)} with no feature, "
        f"{number(explained.loss_found)} with the features found, {number(explained.loss_all)} "
        f"with all. All features predict {explained.n_improved:,} rows better than the features "
        "found."
    )


def _feature_blocks(audit: Audit, cards: tuple[Card, ...]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if cards:
        blocks += [Text(CARDS_SHOW, "note"), Cards(cards[:MOST_CARDS])]
    if len(cards) > MOST_CARDS:
        blocks.append(Text(f"{len(cards) - MOST_CARDS} more cards stand in the appendix.", "note"))
    others = [row.related for row in feature_rows(audit) if not row.related.significant]
    ignored = [test.term[0] for test in others if test.share_moved == 0]
    unsure = [test.term[0] for test in others if test.share_moved > 0]
    if unsure:
        blocks.append(Text(f"Not significant: {listed(unsure, names_for(unsure, 24))}."))
    if ignored:
        verb = "this feature" if len(ignored) == 1 else f"these {len(ignored)} features"
        blocks.append(Text(f"The model ignores {verb}: {listed(ignored, names_for(ignored, 24))}."))
    blocks += _correlated(audit)
    return tuple(blocks)


def _correlated(audit: Audit) -> list[Block]:
    if not audit.correlated:
        return []
    rows = tuple(
        (
            Cell(" + ".join(map(printable, group.features))),
            Cell(f"{group.smallest:.2f} to {group.largest:.2f}"),
            Cell(", ".join(map(printable, group.significant)) or "none"),
        )
        for group in audit.correlated
    )
    return [
        Table(
            "Features that move together",
            "correlated",
            ("Group", "Association", "Significant members"),
            ("name", "number", "name"),
            rows,
            notes=(
                "A significant feature may stand in for the others of its group. To test a group "
                "as one feature, pass it as groups=.",
            ),
        )
    ]


def _groups(audit: Audit) -> list[Section]:
    if audit.by_group is None:
        return []
    title = f"Groups of {printable(audit.by_group.by)}"
    return [Section(title, "groups", (group_matrix(audit.by_group, strongest_first(audit)),))]


def _interactions(audit: Audit) -> list[Section]:
    blocks = interaction_blocks(audit)
    return [Section("Interactions", "interactions", blocks)] if blocks else []


# --- risks, assumptions, definitions --------------------------------------------------------


def _risks(audit: Audit) -> Section:
    found = risks(audit)
    nothing = Text("The audit found no sign of high risk.")
    return Section("Signs of high risk", "risks", (Items(tuple(found)) if found else nothing,))


def _protected(audit: Audit) -> list[Section]:
    blocks: tuple[Block, ...]
    if audit.outcomes:
        blocks = (_outcomes(audit), _proxies(audit))
    elif audit.settings.protected:
        blocks = (Text("They were not compared: the budget left them out."),)
    else:
        blocks = (Text("None was named: pass protected= to compare predictions by group."),)
    return [Section("Protected attributes", "protected", blocks)]


def _outcomes(audit: Audit) -> Table:
    rows = tuple(
        (
            Cell(printable(f"{one.attribute} = {one.label}")),
            Cell(f"{one.n:,}"),
            Cell(number(one.outcome)),
            Cell(number(one.prediction)),
            Cell(f"{number(one.loss)} ({number(one.loss_low)} to {number(one.loss_high)})"),
        )
        for one in audit.outcomes
    )
    return Table(
        "Outcomes and predictions",
        "outcomes",
        ("Group", "Rows", "Mean outcome", "Mean prediction", f"Mean {audit.settings.loss}"),
        ("name", "number", "number", "number", "number"),
        rows,
    )


def _proxies(audit: Audit) -> Table:
    closest = []
    for attribute in audit.settings.protected:
        of_attribute = [one for one in audit.proxies if one.attribute == attribute]
        closest += of_attribute[:MOST_PROXIES]
    rows = tuple(
        (
            Cell(printable(one.attribute)),
            Cell(printable(one.feature)),
            Cell(f"{one.association:.2f}", f"{one.association:.6g}"),
            Cell(one.measure),
            Cell("yes" if one.significant else "not shown"),
        )
        for one in closest
    )
    n_strong = sum(one.association >= STRONG_PROXY for one in closest)
    reach = "none" if not n_strong else f"{n_strong}"
    return Table(
        "Association with protected attributes",
        "proxies",
        ("Attribute", "Feature", "Association", "Measure", "Related to the outcome, as used"),
        ("name", "name", "number", "name", "verdict"),
        rows,
        tuple(one.significant and one.association >= STRONG_PROXY for one in closest),
        mark="possible proxy",
        notes=(
            f"The {MOST_PROXIES} features that follow each attribute most closely: rank "
            "correlation between numbers, else Cramér's V, for which numbers are cut into at most "
            f"10 bins. From {STRONG_PROXY} on, a feature is called a possible proxy: {reach} here. "
            "Attributes that were not named were not examined.",
        ),
    )


def _assumptions(audit: Audit) -> Section:
    items = tuple((check.state, check.name, printable(check.text)) for check in audit.checks)
    return Section("Assumptions", "assumptions", (Checklist(items),))


def _by(audit: Audit) -> str:
    improvement = "" if audit.typical is None else smallest_improvement(audit.typical)
    return improvement and f", each{improvement}"


def _definitions(audit: Audit) -> Section:
    level = number(audit.settings.alpha)
    pairs = [
        ("Reveal, hide", "The model sees the feature; or it is averaged over background rows."),
        (
            "Related to the outcome",
            "The prediction from the feature alone agrees better with the outcomes than with "
            "shuffled outcomes (permutation test).",
        ),
        (
            "Improves the typical row",
            "Revealing the feature lowers the loss of significantly more than half of the rows"
            f"{_by(audit)} (sign test).",
        ),
        (
            "Rise",
            "By how much the mean loss rises if the prediction from the feature alone comes from "
            "another row. Rises do not add up to the model's gain; the build-up does.",
        ),
        ("Mean gain", "The mean loss saved by revealing the feature alone, against hiding all."),
        (
            "Direction",
            "Rising or falling: at least 90 % of the response's movement between pairs of rows "
            "goes one way.",
        ),
        (
            "Significant",
            f"The p-value, adjusted for all features (Benjamini and Yekutieli), is below {level}.",
        ),
        (
            "Not attributed",
            "The part of the gain over no features that the features found do not account for.",
        ),
    ]
    return Section("Definitions", "definitions", (Facts(tuple(pairs)),))
