"""A differential fuzzer: random models, odd values and random options, computed three ways.

    python -m fuzz_models --seconds 3600 --seed 1        run cases until the time is up
    python -m fuzz_models --seed 1 --case 274            repeat one case

Each case compares ``fast=True``, ``fast=False`` and a naive loop that builds every masked table in
plain pandas and asks the library's own ``predict`` (`naive.py`). A case depends on the seed and its
number only.
"""
