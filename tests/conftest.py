"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# Read once, when the libraries are first imported: Keras runs on torch, plots need no screen.
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("MPLBACKEND", "Agg")

# A developer's run draws new examples each time; CI repeats the same ones, so that what it says of a
# commit does not depend on luck.
settings.register_profile(
    "sfit",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("sfit")

# A program of its own (`make mutate`), with no doctests in it.
collect_ignore = ["mutants.py"]
