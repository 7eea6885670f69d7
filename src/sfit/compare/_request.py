"""The arguments that all comparisons share, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfit._arguments import check_choice, check_flag, check_level
from sfit._multiplicity import CORRECTIONS
from sfit._request import Subject, argument, check_seed


@dataclass(frozen=True)
class CompareRequest(Subject):
    """What every comparison takes; a checkpoint identifies the rows by their values."""

    alpha: float = argument(check_level)
    correction: str | None = argument(partial(check_choice, allowed=CORRECTIONS))
    given: Sequence[Any] | str = argument(identity=False)
    clusters: Any = argument(identity=False)
    fast: bool = argument(check_flag)
    random_state: int | None = argument(check_seed)

    @property
    def given_rest(self) -> bool:
        """Whether the gain of a feature is that over all the others."""
        return isinstance(self.given, str) and self.given == "rest"

    def identity(self) -> dict[str, Any]:
        """The arguments that identify a run; labels of clusters belong to the rows."""
        column = self.clusters if isinstance(self.clusters, str) else self.clusters is not None
        return super().identity() | {"clusters": column}
