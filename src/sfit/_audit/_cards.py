"""One card per significant feature, the matrix of features by groups, and the interactions."""

from __future__ import annotations

from typing import Any

from sfit._audit._findings import direction_text, directions, names_for
from sfit._audit._result import Audit
from sfit._audit._tables import FeatureRow, feature_rows
from sfit._partitioned import PartitionedResult
from sfit._profile import FeatureProfile
from sfit._text import listed, number, p_relation, p_text, percent, printable, share_text
from sfit.report._blocks import Block, Card, Cell, Facts, Matrix, Picture, Table, Text

CARD_WIDTH = 3.6
"""Inches of the picture on a card."""

MOST_ROWS = 8
"""Features that the matrix of groups shows."""

OPPOSITE = {True: "as expected", False: "not as expected", None: "no curve to compare with"}


def feature_cards(audit: Audit) -> tuple[Card, ...]:
    """A card for every significant feature, the strongest first."""
    return tuple(_card(audit, row) for row in feature_rows(audit) if row.related.significant)


def _card(audit: Audit, row: FeatureRow) -> Card:
    from sfit.plotting import ResponseDisplay

    test, feature = row.related, row.name
    profile = audit.profile(feature)
    blocks: list[Block] = []
    if profile is not None and profile.values:
        blocks.append(Picture(ResponseDisplay(profile), CARD_WIDTH, captioned=False))
    pairs = [
        ("Rise of loss", f"{number(test.rise)} ({_interval(test)})"),
        ("Evidence", f"adjusted {p_relation(test.p_adjusted)}"),
        *_typical(row),
        *([("Direction", _direction(audit, profile))] if profile is not None else []),
        *_rows(profile),
        *_groups(audit, feature),
        *_partners(audit, feature),
    ]
    blocks.append(Facts(tuple((name, printable(text)) for name, text in pairs)))
    return Card(printable(feature), row.verdict(audit.settings.alpha), tuple(blocks))


def _interval(test: Any) -> str:
    return f"{number(test.ci_low)} to {number(test.ci_high)}"


def _typical(row: FeatureRow) -> list[tuple[str, str]]:
    if row.typical is None or not row.typical.n:
        return []
    verdict = "improves" if row.typical.significant else "does not improve"
    by = f" by over {percent(row.typical.beta)}" if row.typical.beta else ""
    return [("Typical row", f"{verdict} it: {share_text(row.share_better)} of rows better{by}")]


def _direction(audit: Audit, profile: FeatureProfile) -> str:
    expected = next((one for one in directions(audit) if one.feature == profile.feature), None)
    text = direction_text(profile)
    if expected is None:
        return text
    return f"{text}; expected {expected.expected}: {OPPOSITE[expected.agrees]}"


def _rows(profile: Any) -> list[tuple[str, str]]:
    if profile is None:
        return []
    better, worse = (share_text(n / profile.n) for n in (profile.n_better, profile.n_worse))
    return [
        ("Rows", f"{better} predicted better, {worse} worse, mean gain {number(profile.mean_gain)}")
    ]


def _groups(audit: Audit, feature: str) -> list[tuple[str, str]]:
    parts = audit.by_group
    if parts is None:
        return []
    if feature == parts.by:
        return [("Groups", "cannot be tested within its groups, where it is constant")]
    found = [str(label) for label, result in parts.parts if feature in result.selected]
    missing = [str(label) for label, result in parts.parts if feature not in result.selected]
    if not missing:
        every = "both" if len(found) == 2 else f"all {len(found)}"
        return [("Groups", f"significant in {every} groups of {parts.by}")]
    if not found:
        return [("Groups", f"significant in no single group of {parts.by}")]
    return [
        ("Groups", f"significant for {parts.by} = {listed(found, 4)}; not for {listed(missing, 4)}")
    ]


def _partners(audit: Audit, feature: str) -> list[tuple[str, str]]:
    if audit.interactions is None:
        return []
    partners = [
        name
        for test in audit.interactions.tests
        if test.order == 2 and test.significant and feature in test.term
        for name in test.term
        if name != feature
    ]
    tested = any(feature in one.term for one in audit.interactions.tests if one.order == 2)
    none = "no significant partner" if tested else "not tested in pairs"
    return [("Partners", listed(partners, names_for(partners, 5)) if partners else none)]


def group_matrix(parts: PartitionedResult, features: list[str]) -> Matrix:
    """Features by groups: the rise of the mean loss, marked where it is significant."""
    tests = [
        {test.term[0]: test for test in result.tests if len(test.term) == 1}
        for _, result in parts.parts
    ]
    every, differing = _rows_of_matrix(parts, features)
    rows = every[:MOST_ROWS]
    cells = tuple(tuple(number(of_part[name].estimate) for of_part in tests) for name in rows)
    marked = tuple(tuple(bool(of_part[name].significant) for of_part in tests) for name in rows)
    columns = tuple(
        printable(f"{parts.by} = {label}") + f" ({result.settings.n_rows:,} rows)"
        for label, result in parts.parts
    )
    return Matrix(
        "Features by groups",
        "groups",
        "Feature",
        columns,
        tuple(map(printable, rows)),
        cells,
        marked,
        _matrix_note(differing, len(every)),
    )


def _rows_of_matrix(parts: PartitionedResult, features: list[str]) -> tuple[list[str], list[str]]:
    """Features that are significant overall or in a group, and those whose verdicts differ.

    The latter come first: a reader looks for differences between groups.
    """
    selected = [set(result.selected) for _, result in parts.parts]
    names = parts.parts[0][1].feature_names
    others = [name for name in names if name in set().union(*selected) - set(features)]
    every = [*features, *others]
    differing = [name for name in every if 0 < sum(name in one for one in selected) < len(selected)]
    return [*differing, *(name for name in every if name not in differing)], differing


def _matrix_note(differing: list[str], n_rows: int) -> str:
    """A note on the cells, on verdicts that differ between groups, and on features left out."""
    note = "Rise of the mean loss in each group; bold: significant in that group, corrected in it. "
    if differing:
        verb = "is" if len(differing) == 1 else "are"
        note += (
            f"{listed(differing, 6)} {verb} significant in some groups only. Smaller groups have "
            "less power: this is not a test of a difference between groups, which was not made."
        )
    else:
        note += "No verdict differs between the groups."
    if n_rows > MOST_ROWS:
        note += f" {n_rows - MOST_ROWS} more features are not shown."
    return note


def interaction_blocks(audit: Audit) -> tuple[Block, ...]:
    """Findings of the tests of pairs; their tables stand in the appendix."""
    if audit.interactions is None:
        return ()
    pairs = pairs_of(audit)
    found = [" + ".join(test.term) for test in pairs if test.significant]
    n, p = audit.interactions.settings.n_rows, len(audit.related.feature_names)
    strongest = f" The strongest: {listed(found, names_for(found, 6))}." if found else ""
    return (
        Text(
            f"{len(found)} of {len(pairs)} pairs tested predict better than the sum of their parts "
            f"(mean test on {n:,} rows, corrected over these pairs).{strongest} The pairs tested, "
            f"of {p * (p - 1) // 2:,} possible ones, are those that the model combines most often "
            "among the strongest features; if its structure is unknown, the strongest. The "
            "appendix lists them."
        ),
    )


def pairs_of(audit: Audit) -> list[Any]:
    """The tests of pairs: significant first, then by strength."""
    if audit.interactions is None:
        return []
    pairs = [test for test in audit.interactions.tests if test.order == 2]
    return sorted(pairs, key=lambda test: (not test.significant, -test.strength))


def interaction_tables(audit: Audit) -> tuple[Block, ...]:
    """Pairs over the sum of their parts, and correlated groups as one feature."""
    tables: list[Block] = []
    if audit.interactions is not None:
        tables.append(_pairs_table(pairs_of(audit)))
    if audit.group_tests is not None:
        groups = {group.name for group in audit.correlated}
        tests = [test for test in audit.group_tests.tests if test.term[0] in groups]
        tables.append(_group_table(tests))
    return tuple(tables)


def _pairs_table(pairs: list[Any]) -> Table:
    return Table(
        "Pairs over the sum of their parts",
        "interactions",
        ("Pair", "Mean gain", "Interval", "Adjusted p", "Verdict"),
        ("name", "number", "number", "number", "verdict"),
        tuple(
            (
                Cell(" + ".join(map(printable, test.term))),
                Cell(number(test.mean), f"{test.mean:.6g}"),
                Cell(f"{number(test.ci_low)} to {number(test.ci_high)}"),
                Cell(p_text(test.p_adjusted), f"{test.p_adjusted:.6g}"),
                Cell("significant" if test.significant else "–"),
            )
            for test in pairs
        ),
        tuple(test.significant for test in pairs),
    )


def _group_table(groups: list[Any]) -> Table:
    return Table(
        "Correlated groups, tested as one feature",
        "group_tests",
        ("Group", "Rise", "Interval", "Adjusted p", "Verdict"),
        ("name", "number", "number", "number", "verdict"),
        tuple(
            (
                Cell(printable(test.term[0])),
                Cell(number(test.rise), f"{test.rise:.6g}"),
                Cell(f"{number(test.ci_low)} to {number(test.ci_high)}"),
                Cell(p_text(test.p_adjusted), f"{test.p_adjusted:.6g}"),
                Cell("significant" if test.significant else "–"),
            )
            for test in groups
        ),
        tuple(test.significant for test in groups),
    )
