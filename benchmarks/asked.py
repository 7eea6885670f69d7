"""What was asked of the library's speed, and whether the run shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cases import NETWORKS, SMALL_NETWORKS
from table import PEERS, Size, Table


@dataclass(frozen=True)
class Verdict:
    asked: str
    of: str
    measured: str
    met: bool | None  # None: not measured


def verdicts(table: Table) -> Iterator[Verdict]:
    few, middle, _ = table.plan["rows"]
    features = table.plan["features"][1]
    wide = table.plan["network_features"]
    for model in ("LightGBM", "histogram boosting", "random forest"):
        size = ("first order", model, middle, features)
        yield at_most(table, size, 0.6)
        yield faster_than_loop(table, size, 40)
        yield identical(table, size)
    for model, most in (("XGBoost", 2.5), ("CatBoost", 4)):
        size = ("first order", model, middle, features)
        yield at_most(table, size, most)
        yield identical(table, size)
    for size in table.sizes("a pair"):
        yield cheap_pair(table, size, 0.15)
    size = ("first order", "torch 512-256", middle, wide)
    yield at_most(table, size, 1.5)
    yield faster_than_loop(table, size, 50)
    yield same_counts(table, size)
    for model in SMALL_NETWORKS:
        size = ("first order", model, few, wide)
        yield at_most(table, size, 6)
        yield same_counts(table, size)
    for size in table.sizes("one-hot"):
        yield share_of_loop(table, size, 0.3)
    yield share_of_loop(table, ("first order", "opaque callable", middle, features), 1.05)
    for size in table.sizes("choose_beta"):
        yield at_most(table, size, 100)
    for size in table.central():
        yield ahead(table, size)


def at_most(table: Table, size: Size, most: float) -> Verdict:
    found = table.ours(size)
    what = "`choose_beta`, 20 models," if size[0] == "choose_beta" else "first order"
    asked = f"{what} in at most {most:g} passes"
    measured = f"{found:.3g} passes" if found else None
    one = table.find(size, "pass")
    if found and found > most and one and size[1] in NETWORKS:
        each = 1000 * one["seconds"] * most / size[3] / (20 if size[0] == "choose_beta" else 1)
        measured = (
            f"{measured}. A pass is {1000 * one['seconds']:.1f} ms, which leaves {each:.2g} ms for each test; "
            "what takes more is [below](#where-the-time-of-a-small-network-goes)"
        )
    return verdict(asked, size, measured, found and found <= most)


def faster_than_loop(table: Table, size: Size, least: float) -> Verdict:
    ours, loop = table.ours(size), table.passes(size, "plain loop")
    times = loop / ours if ours and loop else None
    asked = f"at least {least:g} times faster than the plain loop"
    return verdict(asked, size, times and f"{times:.3g} times", times and times >= least)


def share_of_loop(table: Table, size: Size, most: float) -> Verdict:
    ours, loop = table.ours(size), table.passes(size, "plain loop")
    share = ours / loop if ours and loop else None
    asked = f"{size[0]}: at most {most:g} of the plain loop"
    return verdict(asked, size, share and f"{share:.3g}", share and share <= most)


def identical(table: Table, size: Size) -> Verdict:
    slow = table.find(size, "ours, fast=False")
    asked = "identical to `fast=False` in every bit"
    return verdict(asked, size, slow and ("identical" if slow["same"] else "differs"),
                   slow and slow["same"])  # fmt: skip


def same_counts(table: Table, size: Size) -> Verdict:
    slow = table.find(size, "ours, fast=False")
    asked = "counts within 1 in 100,000 of `fast=False`"
    # At fewer than 100,000 rows that is no difference at all.
    return verdict(asked, size, slow and f"{slow['apart'] * 1e5:.3g} in 100,000",
                   slow and slow["apart"] <= 1e-5)  # fmt: skip


def cheap_pair(table: Table, size: Size, most: float) -> Verdict:
    ours = table.find(size, "ours, n_jobs=2")
    each = ours["passes"] / ours["pairs"] if ours else None
    asked = f"a pair costs at most {most:g} of a pass"
    return verdict(asked, size, each and f"{each:.3g} passes", each and each <= most)


def ahead(table: Table, size: Size) -> Verdict:
    """Against the whole call; where a peer is faster, the reason that the routes give."""
    ours = table.whole(size)
    peers = {peer: table.passes(size, peer) for peer in PEERS}
    known = {peer: passes for peer, passes in peers.items() if passes}
    asked = "ahead of every peer"
    if not (ours and known):
        return verdict(asked, size, None, None)
    first = min(known, key=lambda peer: known[peer])
    measured = f"ours {ours:.3g}, next {first} {known[first]:.3g} passes"
    if ours >= known[first]:
        measured = (
            f"ours {ours:.3g}, {first} {known[first]:.3g} passes. {reason(table, size, first)}"
        )
    return verdict(asked, size, measured, ours < known[first])


def reason(table: Table, size: Size, peer: str) -> str:
    record = table.find(size, "ours")
    if peer == "sage":
        return "sage stops at a sample of the rows; a test uses them all"
    if record and record["route"] == "direct":
        return "nothing is known of the model, so that each test is a pass"
    return "a pass of this model is so fast that looking rows up costs more"


def verdict(asked: str, size: Size, measured: str | None, met: bool | None) -> Verdict:
    _, model, rows, features = size
    of = f"{model}, {rows:,} x {features}"
    return Verdict(asked, of, measured or "-", None if measured is None else bool(met))
