"""Settings that every test shares."""

import os

# Keras reads this once, when it is first imported; its torch backend is the one we install.
os.environ.setdefault("KERAS_BACKEND", "torch")

import matplotlib as mpl  # noqa: E402 - after the environment is set
from hypothesis import HealthCheck, settings  # noqa: E402

mpl.use("Agg")

settings.register_profile(
    "sfit", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("sfit")
