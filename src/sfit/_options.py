"""What a test object must offer: the object that users pass as ``test=``.

The calls ask its properties and never which test it is.
"""

from __future__ import annotations

from typing import Any, Protocol


class Asked(Protocol):
    """The arguments of a call, as far as a test may refuse them."""

    @property
    def beta(self) -> Any:
        """The smallest relative improvement that counts, as the user gave it."""

    @property
    def betas(self) -> tuple[float, ...] | None:
        """One beta per order; None: beta is still to be chosen."""

    @property
    def row_order(self) -> str | None:
        """What the order of the rows means."""

    @property
    def given_rest(self) -> bool:
        """Whether each feature is tested over all the others."""

    @property
    def exhaustive(self) -> bool:
        """Whether sets of features already found are tested."""

    @property
    def strict(self) -> bool:
        """Whether a set must improve on its subsets."""


class TestOptions(Protocol):
    """A test that users can ask for, with its options."""

    @property
    def key(self) -> str:
        """Its name: ``test="sign"`` is ``SignTest()``."""

    @property
    def random(self) -> bool:
        """Whether the test draws random numbers; if so, its statistic has a `seed`."""

    @property
    def paired(self) -> bool:
        """Whether the test compares the losses of two sides, row by row.

        Otherwise it re-matches predictions with the outcomes of other rows. That holds given all
        outcomes, but not over every set of revealed features.
        """

    @property
    def has_beta(self) -> bool:
        """Whether the test has a smallest relative improvement that counts."""

    @property
    def over_folds(self) -> bool:
        """Whether `cross_significance` can combine the test over folds."""

    def identity(self) -> dict[str, Any]:
        """The options that make it another run."""

    def check(self, request: Asked) -> None:
        """Refuse arguments that the test does not understand."""
