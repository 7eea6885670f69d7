"""300 sets of awkward names of features, for the tests of labels in pictures and tables."""

import random

N_SETS = 300
WORDS = ["income", "age", "balance", "amount", "rate", "months", "last", "total", "score"]
ALPHABETS = [
    "abcxyz",
    "ABCabc",
    "äöüßéñ",
    "日本語列名数値",
    "αβγδ",
    "אבגד",
    "ёжик",
    "a\u0301e\u0308",
]
# Unprintable, invisible, or with a meaning to a terminal, a formula or a page.
AWKWARD = ["\x00", "\x1b[31m", "\n", "\t", "\u202e", "\u200d", "\u200b", "\ufe0f", "\u3164", " "]
AWKWARD += [
    "\xa0",
    "$",
    "\\",
    "<b>",
    "&amp;",
    "…",
    "...",
    "(1)",
    "(2)",
    " + ",
    " | ",
    "_",
    "%",
    "\ud800",
]


def name_set(number: int) -> list[str]:
    """Distinct names, the same for the same number."""
    rng = random.Random(number)  # noqa: S311 - names, no secrets
    names = KINDS[number % len(KINDS)](rng)
    names += [_awkward(rng, name) for name in rng.sample(names, len(names) // 4)]
    distinct = list(dict.fromkeys(names))
    rng.shuffle(distinct)
    return distinct[: rng.choice([3, 8, 40])]


def _words(rng, n):
    return "_".join(rng.choices(WORDS, k=n))


def _awkward(rng, name):
    """A name that differs from another in something that is hard to see."""
    kind, place = rng.randrange(4), rng.randrange(len(name) + 1)
    if kind == 0:
        return name.swapcase()
    if kind == 1:
        return name[:place]
    extra = rng.choice(AWKWARD)
    return name[:place] + extra + name[place:] if kind == 2 else name + extra


def _shared_ends(rng):
    first, last = _words(rng, rng.randint(1, 12)), _words(rng, rng.randint(0, 8))
    mark = rng.choice("_.- ")
    return [mark.join([first, _words(rng, rng.randint(1, 3)), last]) for _ in range(40)]


def _numbered(rng):
    first = _words(rng, rng.randint(1, 30))
    return [f"{first}{rng.choice(['', '_', ' '])}{i}" for i in range(40)]


def _middle(rng):
    first, last = rng.choice("ab_ ") * rng.randint(1, 100), rng.choice("ab_.") * rng.randint(1, 100)
    return [f"{first}{rng.choice(WORDS)}{rng.randrange(99)}{last}" for _ in range(40)]


def _prefixes(rng):
    text = "".join(rng.choices(rng.choice(ALPHABETS), k=200))
    return [text[:end] for end in rng.sample(range(201), 40)]


def _scripts(rng):
    letters = rng.choice(ALPHABETS)
    return ["".join(rng.choices(letters, k=rng.randint(0, 200))) for _ in range(40)]


def _same_letter(rng):
    letter = rng.choice("aéW日_. $")
    return [letter * n for n in range(40)]


def _unprintable(rng):
    return ["".join(rng.choices([*AWKWARD, "a", "b"], k=rng.randint(0, 6))) for _ in range(40)]


def _joined(rng):
    parts = ["a", "b", "+", "|", " ", "a + b", "b + a", "…", "a…b", " (1)", " (2)"]
    return ["".join(rng.choices(parts, k=rng.randint(1, 4))) for _ in range(40)]


KINDS = [
    _shared_ends, _numbered, _middle, _prefixes, _scripts, _same_letter, _unprintable, _joined
]  # fmt: skip
