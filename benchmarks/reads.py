"""How often one first-order test reads a Parquet file, in bytes read over the size of the file.

python benchmarks/reads.py
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from pyarrow import fs
from sklearn.linear_model import LinearRegression

import sfit

N = 40 * 65_536
NAMES = list("abcde")
ROW_GROUPS = (50_000, 122_880, 200_000, 1_048_576, 1_500_000, N)


class Counting(LocalFileSystem):  # type: ignore[misc]
    """Counts the bytes that are read."""

    cachable = False
    n_bytes = 0

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Open a file whose `read` is counted."""
        file = super().open(path, mode=mode, **options)
        read = file.read

        def counted(size: int = -1) -> bytes:
            data: bytes = read(size)
            self.n_bytes += len(data)
            return data

        file.read = counted
        return file


def main() -> None:
    """Print a table: one line per size of a row group, one column per reference."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 5)), columns=NAMES)
    rows["y"] = rows.a + rows.b + rng.normal(size=N)
    model = LinearRegression().fit(rows[NAMES], rows.y)
    print("rows in a row group    mean  median   given")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for size in ROW_GROUPS:
            rows.to_parquet(path, row_group_size=size)
            print(f"{size:19,d}", end="")
            for reference in ("mean", "median", 0.0):
                files = Counting()
                X = ds.dataset(str(path), filesystem=fs.PyFileSystem(fs.FSSpecHandler(files)))
                sfit.feature_significance(model, X, "y", reference=reference)
                print(f"{files.n_bytes / os.path.getsize(path):8.2f}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
