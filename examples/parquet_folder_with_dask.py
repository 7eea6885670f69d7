"""
A Parquet folder with Dask
==========================

**Finding:** rows that are read from a folder, tile by tile, by the workers of a cluster, give the
same result as rows in memory, to the bit.

Here the folder is small and the cluster is made of threads of this process. With more rows than
memory, and with workers on many machines, the call is the same.
"""

import tempfile
from pathlib import Path

import joblib
import lightgbm
from dask.distributed import Client

import sfit

X, y = sfit.simulate.interactions(170_000, random_state=0)
model = lightgbm.LGBMRegressor(n_estimators=60, n_jobs=1, verbose=-1).fit(X[:20_000], y[:20_000])
rows = X.assign(y=y)[20_000:]
folder = tempfile.TemporaryDirectory()
for number in range(3):
    part = rows[number * 50_000 : (number + 1) * 50_000]
    part.to_parquet(Path(folder.name) / f"part-{number}.parquet")

# %%
# ``X`` is a path, a glob or a pyarrow data set, and ``y`` then the name of a column. What travels to
# the workers is a small table per feature, not the model, and what comes back is counts.

means = X[:20_000].mean().to_dict()
client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)
with client, joblib.parallel_config(backend="dask"):
    read = sfit.feature_significance(model, folder.name, "y", reference=means)
print(read.summary())

# %%

held = sfit.feature_significance(model, rows[list(X)], rows["y"], reference=means)
print("equal to the result from memory:", read == held)
assert read == held
read.plot()

# %%
# For runs of hours, ``checkpoint="run.sqlite"`` keeps what is finished: the same call goes on where a
# killed one stopped. :doc:`/speed` has figures for 50 million rows.

folder.cleanup()
