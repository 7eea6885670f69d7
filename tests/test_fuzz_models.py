"""A few hundred fixed cases of the differential fuzzer (`fuzz_models`); `make fuzz-models` draws more."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fuzz_models import __main__ as program
from fuzz_models.case import CYCLE, KINDS, is_installed
from fuzz_models.check import run_case
from fuzz_models.naive import doubtful_rows

from sfit.restrict import _direct
from sfit.restrict._lookup import Lookup
from sfit.rows import _survey, column_values

pytestmark = pytest.mark.filterwarnings("ignore")  # `run_case` looks through the warnings itself

SEED, ROUNDS, AVERAGED_ROUNDS = 18, 7, 2


@pytest.mark.parametrize("average", [False, True], ids=["frozen", "average"])
@pytest.mark.parametrize("kind", KINDS)
def test_three_ways_agree(kind, average, tmp_path):
    """`fast=True`, `fast=False` and the naive loop, count for count."""
    if not is_installed(kind):
        pytest.skip(f"{kind} needs {', '.join(KINDS[kind].needs)}")
    places = [place for place, own in enumerate(CYCLE) if own == kind]
    rounds = range(AVERAGED_ROUNDS if average else ROUNDS)
    numbers = [turn * len(CYCLE) + place for turn in rounds for place in places]
    outcomes = [run_case(SEED, number, tmp_path, average=average) for number in numbers]
    found = {
        f"python -m fuzz_models --seed {SEED} --case {outcome.number}"
        f"{' --average' if average else ''}": outcome.findings
        for outcome in outcomes
        if outcome.findings
    }
    assert not found, json.dumps(found, indent=1)
    assert sum(outcome.status == "compared" for outcome in outcomes) >= len(numbers) / 2


def test_a_case_depends_on_its_number_alone(tmp_path):
    """Whatever ran before."""
    number = CYCLE.index("forest")
    first = run_case(SEED, number, tmp_path)
    run_case(SEED, number + len(CYCLE), tmp_path)
    assert vars(run_case(SEED, number, tmp_path)) == vars(first)


def test_values_on_a_threshold_that_go_the_wrong_way_are_found(tmp_path, monkeypatch):
    """The rows hold values on the model's own thresholds."""
    right = Lookup._find

    def wrong(self, values):
        return right(replace(self, strict=not self.strict, cells=None), values)

    monkeypatch.setattr(Lookup, "_find", wrong)
    assert any_finding("tree", tmp_path)


def test_rows_that_are_taken_for_one_another_are_found(tmp_path, monkeypatch):
    """Also where both ways of sfit make the same mistake."""

    def rounded(table, positions):
        columns = [column_values(table, position) for position in positions]
        if any(column.dtype == object for column in columns):
            return None
        codes = np.unique(np.round(np.column_stack(columns), 0), axis=0, return_inverse=True)[1]
        return np.unique(codes, return_index=True)[1], codes

    monkeypatch.setattr(_direct, "distinct_rows", rounded)
    assert any_finding("function", tmp_path)


def test_a_reference_that_was_not_asked_for_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(_survey, "mean_of", lambda sums: 0.1)
    assert any_finding("linear", tmp_path)


def any_finding(kind, folder):
    numbers = range(CYCLE.index(kind), 12 * len(CYCLE), len(CYCLE))
    return any(run_case(SEED, number, folder).findings for number in numbers)


def test_rows_within_rounding():
    """A row is in doubt if rounding of its predictions could decide whether it counts."""
    y = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    base = np.array([0.0, 0.5, 0.5, 0.5, 0.0])
    full = np.array([0.1, 0.5 + 1e-16, 0.5 + 1e-15, 0.5 + 1e-12, 0.0])

    def doubts(beta, e=0.0):
        def losses(prediction):
            return np.abs(y - prediction)

        return doubtful_rows(losses, base, full, beta, unit=2.0**-52, e=e, layouts=0.0)[0]

    assert doubts(0.0) == 1  # the third: it may count as the same
    assert doubts(0.0, e=2e-13) == 1  # the fourth, where the model itself is less exact
    assert doubts(0.1) == 1  # the first improves by just a tenth


def test_a_library_that_crashes_or_hangs_is_reported(monkeypatch):
    """The process of the cases dies; the program says at which case, and goes on."""
    started = []

    class Dying(program.Worker):
        def __init__(self, seed, first, step, average):
            started.append(first)
            line = json.dumps({"started": first})
            code = f"print('{line}', flush=True); import os; os.kill(os.getpid(), 9)"
            self.start([sys.executable, "-c", code])

    monkeypatch.setattr(program, "Worker", Dying)
    log = program.fuzz(SEED, 60, 5, 1, 2)
    assert started == [5, 6]
    assert [found["findings"] for found in log.findings] == [
        ["the process ended with exit code -9"]
    ] * 2


def test_the_program_ends_by_itself_and_writes_what_it_saw(tmp_path):
    path = tmp_path / "log.json"
    command = [sys.executable, "-m", "fuzz_models", "--cases", "2", "--seed", "18"]
    command += ["--first", str(CYCLE.index("tree")), "--log", str(path)]
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run(command, check=True, env=environment, timeout=300, stdout=subprocess.DEVNULL)
    summary = json.loads(path.read_text())
    assert summary["counts"]["cases"] == 2
    assert summary["counts"]["contrasts compared"] > 0
    assert summary["findings"] == []
