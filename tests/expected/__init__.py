"""Saved models, calls of the public functions, and the results that they must keep giving."""
