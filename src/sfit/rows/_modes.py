"""Counts of the values of a column, and its mode."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.rows._distinct import first_of, identity, value_codes


class Counts:
    """Counts of values, distinguished by type and bits (True is not 1), tile by tile."""

    def __init__(self) -> None:
        self.numbers: dict[np.dtype[Any], pd.Series[int]] = {}
        """Counts of numbers by their bits: there may be very many."""
        self.objects: dict[Hashable, tuple[Any, int]] = {}
        self.missing: dict[Hashable, tuple[Any, int]] = {}

    def add(self, values: Array) -> None:
        """Count some values."""
        absent = np.asarray(pd.isna(values))
        if values.dtype != object and not absent.all():
            present = np.ascontiguousarray(values[~absent])
            bits = pd.Series(present.view(f"u{present.itemsize}")).value_counts(sort=False)
            counts = self.numbers.get(values.dtype)
            self.numbers[values.dtype] = (
                bits if counts is None else counts.add(bits, fill_value=0).astype(np.int64)
            )
            values, absent = values[absent], absent[absent]
        codes = value_codes(values, lambda value: value)
        for value, count in zip(values[first_of(codes)], np.bincount(codes), strict=True):
            into = self.missing if pd.isna(value) else self.objects
            try:
                key = identity(value)
                into[key] = value, into.get(key, (value, 0))[1] + int(count)
            except TypeError as error:
                raise DataError(
                    f"X holds values that cannot be compared, such as {value!r}: convert the "
                    "column to numbers or text, or leave it out."
                ) from error

    def __len__(self) -> int:
        return len(self.objects) + sum(map(len, self.numbers.values()))

    def mode(self) -> Any:
        """The most frequent value; missing only if all values are.

        Ties are broken by sorted order, and among equal values such as -0.0 and 0.0 by their text,
        so the mode does not depend on the order of the rows.
        """
        counted = list(self.objects.values())
        for dtype, counts in self.numbers.items():
            top = counts[counts == counts.max()]
            values = top.index.to_numpy().astype(f"u{dtype.itemsize}").view(dtype).tolist()
            counted += [(value, int(top.iloc[0])) for value in values]
        counted = counted or list(self.missing.values())
        if not counted:
            return float("nan")
        most = max(count for _, count in counted)
        candidates = [value for value, count in counted if count == most]
        try:
            least = min(candidates)
        except TypeError:
            least = min(candidates, key=str)
        equal = [value for value in candidates if value is least or value == least]
        return min(equal, key=lambda value: f"{type(value).__name__} {value!r}")
