"""What `make mutate` asks of pytest, which mutmut starts once per mutant.

Tests that take little time come first, and the first that fails ends the run; examples are few,
always the same, and not made smaller. Then a mutant costs about a second.
"""

import json
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

TIMES = Path("mutmut-stats.json")
"""What mutmut writes when it has run all tests without any mutant."""


def pytest_collection_modifyitems(items):
    times = json.loads(TIMES.read_text())["duration_by_test"] if TIMES.exists() else {}
    items.sort(key=lambda item: times.get(item.nodeid, 0.0))
    for item in items:
        # mutmut 3.8 reads the name of a test from where pytest 9.2 no longer keeps it.
        item._nodeid = item.nodeid
