"""Does it hold its level? Promises of the statistics, each put to a simulation.

`python -m calibration` (with this folder's parent on the path; `make calibrate`) runs them at full size
and writes docs/trust; `test_promises.py` runs the same functions on fewer draws.
"""
