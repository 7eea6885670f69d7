"""Short labels for names: two different names never get labels that look the same."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from sfit._text import printable, shortened

Clusters = tuple[str, ...]
"""A text, cut where it may be cut: each character together with the marks that combine with it."""

BLANK = "(blank)"
"""The label of a name in which nothing is visible."""

JOIN = " + "
"""Between the members of a set; no label contains it."""

# Characters that are drawn as nothing, though some of them count as letters or marks.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
SEPARATORS = "_.-/: "
FEWEST_COLUMNS = 6
"""Columns on which a name can still be told from its beginning and its end."""

LONGEST_END = 30
"""Characters of the words left out that a sentence quotes."""


class _Cut(NamedTuple):
    """One way to shorten all names, and what it costs."""

    labels: dict[Any, str]
    cost: tuple[int, int, int]
    """Names that need a number, names that are shortened, and columns of the ends left out."""
    prefix: str
    suffix: str


def labels(names: Iterable[Any], width: int, mark: str = "…") -> dict[Any, str]:
    """A label of at most `width` columns for each name; no two labels look the same.

    A name that fits is its own label, made printable. Otherwise labels leave out words that all
    names begin or end with (`left_out_of_labels` says which), then the middle of a name, or all but
    the place where similar names differ. Names that are still alike get numbers: ``name (2)``. Only
    a number that does not fit makes a label wider. The labels do not depend on the order of the
    names. A label that looks like another name is the name itself.

    Characters of East Asian scripts take two columns and combining marks none. Letters of
    different alphabets that look alike count as different.
    """
    distinct = tuple(dict.fromkeys(names))
    found = _best_cut(distinct, tuple(map(type, distinct)), width, mark).labels
    return {name: found[name] for name in distinct}


def left_out_of_labels(names: Iterable[Any], width: int) -> str:
    """A sentence that names the words which all labels leave out; empty if there are none."""
    distinct = tuple(dict.fromkeys(names))
    cut = _best_cut(distinct, tuple(map(type, distinct)), width, "…")
    ends = [
        f"{verb} with \u201c{shortened(text, LONGEST_END)}\u201d"
        for verb, text in (("begins", cut.prefix), ("ends", cut.suffix))
        if text
    ]
    return f"Every name {' and '.join(ends)}, which labels leave out." if ends else ""


def set_label(term: Iterable[str], labels_of: Mapping[str, str]) -> str:
    """The label of a set: those of its members. Different sets have different labels."""
    return JOIN.join(labels_of[name] for name in term)


def distinct(texts: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Labels that may be alike, numbered where they are, or where they look like one taken."""
    used, found = set(map(look, taken)), []
    for text in texts:
        tries = (text if number == 1 else f"{text} ({number})" for number in count(1))
        found.append(next(label for label in tries if look(label) not in used))
        used.add(look(found[-1]))
    return found


def columns(text: str) -> int:
    """Columns that a text takes in a terminal or in a font of fixed width."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def look(text: str) -> str:
    """The visible part of a text: two texts with the same look cannot be told apart."""
    return " ".join(unicodedata.normalize("NFC", INVISIBLE.sub("", text)).split())


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _text_of(name: Any) -> str:
    """A name on one line, without spaces around the signs that join the members of a set."""
    text = re.sub(r" *([+|]) *", r"\1", printable(name)).strip()
    return text if look(text) else BLANK


def _clusters(text: str) -> Clusters:
    if text.isascii():
        return tuple(text)
    clusters: list[str] = []
    for character in text:
        if clusters and not _columns_of(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return tuple(clusters)


def _wide(clusters: Sequence[str]) -> int:
    return sum(map(columns, clusters))


def _start(clusters: Clusters, width: int) -> Clusters:
    """As much of the beginning as fits."""
    for end, cluster in enumerate(clusters):
        width -= columns(cluster)
        if width < 0:
            return clusters[:end]
    return clusters


def _end(clusters: Clusters, width: int) -> Clusters:
    """As much of the end as fits."""
    return _start(clusters[::-1], width)[::-1]


def _without_middle(clusters: Clusters, width: int, mark: str) -> str:
    """The beginning and the end of a text that is too long."""
    if _wide(clusters) <= width:
        return "".join(clusters)
    kept = max(width - columns(mark), 0)
    last = _end(clusters, kept // 2)
    first = _start(clusters, kept - _wide(last))
    return "".join((*first, mark, *last)).strip()


def _around(clusters: Clusters, first: int, last: int, width: int, mark: str) -> str:
    """A text without most of its first and last clusters, which similar names share."""
    head, tail = clusters[:first], clusters[len(clusters) - last :]
    middle = clusters[first : len(clusters) - last]
    inside = _without_middle(middle, max(width - 2 * columns(mark) - 2, 1), mark)
    kept = width - columns(inside)
    if _wide(tail) > kept // 2:
        tail = (mark, *_end(tail, kept // 2 - columns(mark)))
    if _wide(head) > kept - _wide(tail):
        head = (*_start(head, kept - _wide(tail) - columns(mark)), mark)
    return "".join((*head, inside, *tail)).strip()


def _n_shared(texts: Sequence[Clusters]) -> int:
    """The number of clusters that all texts begin with."""
    one, other = min(texts), max(texts)
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


@lru_cache(maxsize=64)
def _best_cut(names: tuple[Any, ...], types: tuple[type, ...], width: int, mark: str) -> _Cut:
    """The cheapest of the ways to shorten: with the shared ends of all names or without them.

    The types are part of the key of the cache, which takes 1 and True for the same name.
    """
    kinds = {name: (str(name), kind.__name__) for name, kind in zip(names, types, strict=True)}
    texts = {name: _clusters(_text_of(name)) for name in sorted(names, key=kinds.__getitem__)}
    cuts = [_cut(texts, 0, 0, width, mark)]
    if cuts[0].cost > (0, 0, 0) and len(texts) > 1:
        first = _words_shared(list(texts.values()))
        backwards = [text[first:][::-1] for text in texts.values()]
        last = _words_shared(backwards)
        ends = {(first, 0), (0, last), (first, last)} - {(0, 0)}
        cuts += [_cut(texts, *kept, width, mark) for kept in sorted(ends)]
    return min(cuts, key=lambda cut: cut.cost)


def _words_shared(texts: Sequence[Clusters]) -> int:
    """The number of clusters of the words that all texts begin with.

    What remains of each text is readable: it has a letter, and does not start within a word.
    """
    for place in range(min(_n_shared(texts), *map(len, texts)), 0, -1):
        if texts[0][place - 1] in SEPARATORS and all(
            any(cluster[0].isalpha() for cluster in text[place:]) for text in texts
        ):
            return place
    return 0


def _cut(texts: Mapping[str, Clusters], first: int, last: int, width: int, mark: str) -> _Cut:
    """Shorten all texts, after leaving out their first and last clusters."""
    before, after = (mark,) if first else (), (mark,) if last else ()
    rests = {
        name: (*before, *text[first : len(text) - last], *after) for name, text in texts.items()
    }
    short = {name: _without_middle(rest, width, mark) for name, rest in rests.items()}
    for alike in _alike(short, texts):
        # Names may be alike to others only because of what was cut from their middle.
        shared = _n_shared([rests[name] for name in alike])
        backwards = _n_shared([rests[name][shared:][::-1] for name in alike])
        for name in alike:
            if _wide(rests[name]) > width and width >= FEWEST_COLUMNS:
                short[name] = _around(rests[name], shared, backwards, width, mark)
    n_numbered = _number_those_alike(short, rests, texts, width, mark)
    n_cut = sum(_wide(rest) > width for rest in rests.values())
    one = next(iter(texts.values()), ())
    prefix, suffix = "".join(one[:first]), "".join(one[len(one) - last :])
    cost = n_numbered, n_cut, _wide(one[:first]) + _wide(one[len(one) - last :])
    return _Cut(short, cost, prefix, suffix)


def _alike(short: Mapping[str, str], texts: Mapping[str, Clusters]) -> list[list[str]]:
    """Groups of names that cannot be told apart by their labels, or look like another name."""
    groups: dict[str, list[str]] = {}
    for name, label in short.items():
        groups.setdefault(look(label), []).append(name)
    full = Counter(look("".join(text)) for text in texts.values())
    return [
        group
        for seen, group in groups.items()
        if len(group) > 1 or full[seen] > (look("".join(texts[group[0]])) == seen)
    ]


def _number_those_alike(
    short: dict[str, str],
    rests: Mapping[str, Clusters],
    texts: Mapping[str, Clusters],
    width: int,
    mark: str,
) -> int:
    """Number the names that are still alike, and return how many these are."""
    groups = _alike(short, texts)
    taken = {look("".join(text)) for text in texts.values()} | set(map(look, short.values()))
    for group in groups:
        # A name that reads like its label keeps it, if only one does.
        verbatim = [name for name in group if short[name] == name]
        kept = verbatim if len(verbatim) == 1 else []
        numbers = count(len(kept) + 1)
        for name in group:
            if name not in kept:
                short[name] = next(
                    label
                    for label in (_numbered(rests[name], i, width, mark) for i in numbers)
                    if look(label) not in taken
                )
                taken.add(look(short[name]))
    return sum(map(len, groups))


def _numbered(clusters: Clusters, number: int, width: int, mark: str) -> str:
    ending = f" ({number})"
    return (_without_middle(clusters, max(width - len(ending), 0), mark) + ending).strip()
