"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# Read once, when the libraries are first imported: Keras runs on torch, plots need no screen.
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile(
    "sfit", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("sfit")
