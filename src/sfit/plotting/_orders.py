"""The sets of a result, order by order: where each order is drawn, its title, and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sfit._labels import labels, left_out_of_labels, set_label
from sfit._set_tests import base_names
from sfit.plotting._style import LINE_HEIGHT, LONGEST_NAME, ROW_HEIGHT

if TYPE_CHECKING:
    from sfit._result import SFITResult
    from sfit._set_tests import AnySetTest

MOST_SETS = 25
"""Sets that a picture shows of each order."""

Box = tuple[float, float, float, float]


def label_width(size: int) -> int:
    """Columns for the name of each member of a set: the larger the set, the fewer."""
    return LONGEST_NAME if size == 1 else max(12, 34 // size)


def names_in(result: SFITResult) -> list[str]:
    """All names that a picture of a result may show, so a feature has one label in all of them."""
    bases = (name for test in result.tests for name in base_names(test))
    return list(dict.fromkeys([*result.feature_names, *bases]))


def height_of(rows: Sequence[int], lines: Sequence[int]) -> float:
    """Inches that stacked orders need, with the lines of text below each."""
    gaps = sum(map(_gap, lines[:-1]))
    return ROW_HEIGHT * (sum(rows) + gaps) + LINE_HEIGHT * max(lines[-1], 1)


def stacked(rows: Sequence[int], lines: Sequence[int]) -> list[Box]:
    """Boxes below each other, with heights in proportion to their rows, and gaps for the text."""
    gaps = [*map(_gap, lines[:-1]), 0.0]
    total = sum(rows) + sum(gaps)
    boxes, top = [], 1.0
    for n, gap in zip(rows, gaps, strict=True):
        height = n / total
        boxes.append((0.0, max(top - height, 0.0), 1.0, height))
        top -= height + gap / total
    return boxes


def _gap(n_lines: int) -> float:
    """Space below an order, in rows: its ticks and text, and the title of the next."""
    return 2.4 + n_lines * LINE_HEIGHT / ROW_HEIGHT


def all_labels(result: SFITResult, shown: Sequence[Sequence[AnySetTest]]) -> list[str]:
    """The labels of all sets shown."""
    return [label for tests in shown for label in OrderText(result, tests).labels]


class OrderText:
    """The words beside the sets of one order."""

    def __init__(self, result: SFITResult, tests: Sequence[AnySetTest]) -> None:
        self.tests = tests
        self.size = max(len(test.term) for test in tests)
        self.names = names_in(result)
        self._shared = self._shared_base()

    @property
    def title(self) -> str:
        """The order, and the base if all sets share it."""
        order, shared = self.tests[0].order, self._shared
        kind = {1: "each feature", 2: "pairs"}.get(order, f"sets of {order}")
        if shared == "alone":
            return f"Order {order}: {kind}" + (" alone" if order == 1 else "")
        return f"Order {order}: {kind}" + (f", {shared}" if shared else "   (a | b: a added to b)")

    @property
    def labels(self) -> list[str]:
        """The label of each set; if bases differ, the added features, a bar, and the base."""
        found = labels(self.names, label_width(self.size))
        return [" | ".join(set_label(part, found) for part in self._parts(t)) for t in self.tests]

    @property
    def note(self) -> str:
        """Words that all labels leave out."""
        return left_out_of_labels(self.names, label_width(self.size))

    def _parts(self, test: AnySetTest) -> list[Iterable[str]]:
        base = [name for name in test.term if self._shared is None and name in base_names(test)]
        added = [name for name in test.term if name not in base]
        return [added, base] if base else [added]

    def _shared_base(self) -> str | None:
        """The common base of all sets, in words; None if the bases differ."""
        bases = {base_names(test) for test in self.tests}
        if bases == {()}:
            return "alone"
        if bases == {("its parts",)}:
            return "over the sum of their parts"
        if len(bases) == 1:
            [base] = bases
            found = labels(self.names, label_width(2))
            return f"over {set_label(base[:3], found)}" + (" …" if len(base) > 3 else "")
        members = {name for test in self.tests for name in (*test.base, *test.term)}
        if all(set(test.base) == members.difference(test.term) for test in self.tests):
            return "over all the others"
        return None
