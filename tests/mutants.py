"""`make mutate`: does any test notice when the statistics or the procedure are changed a little?

mutmut writes the changed functions. Its own way to run them starts pytest for each of about two thousand
mutants; here pytest starts once, and each mutant is a fork of it that runs the tests of its function,
quick ones first, until one fails. Names or patterns of mutants as arguments run only these.
"""

import fnmatch
import gc
import json
import os
import resource
import shutil
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

TESTS = {
    "_beta": ("tests/test_beta.py",),
    "_contrast": ("tests/test_contrast.py", "tests/golden"),
    "_differences": ("tests/test_differences.py", "tests/golden"),
    "_losses": ("tests/test_losses.py", "tests/golden"),
    "_multiplicity": ("tests/test_multiplicity.py", "tests/golden"),
    "_partners": ("tests/test_partners.py",),
    "_procedure": ("tests/test_plan.py",),
    "_select": ("tests/test_select.py",),
    "_sign_test": ("tests/test_sign_test.py", "tests/golden"),
}
"""What is changed, and the tests that should notice."""

SLOW = (
    "test_absolute_and_squared_error_agree_at_beta_zero",
    "test_asymptotic_ranks_differ_from_the_exact_at_37_sizes",
    "test_beta_max_is_where_significance_ends",
    "test_brute_force_over_a_fine_grid",
    "test_n_positive_falls_with_beta_to_zero",
    "test_scaling_y_and_predictions_scales_delta",
    "test_squared_error_has_the_signs_of_absolute_error_at_its_own_beta",
)
"""Left out: they take a second or more, and what they notice others notice, too."""

JOBS = os.cpu_count()

BUILD = Path("build/mutants")
EQUIVALENT = Path(__file__).with_name("mutants.toml")
"""Mutants that no test can tell from the original, with the reason."""
TRUST = Path("docs/trust")

# Few examples, always the same; one that fails is not made smaller.
settings.register_profile(
    "mutants",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def write_mutants():
    """A copy of the package that holds all mutants of each function; returns their names."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree("src/sfit", BUILD / "sfit", ignore=shutil.ignore_patterns("__pycache__"))
    names = []
    for module in TESTS:
        path = BUILD / "sfit" / f"{module}.py"
        mutated = mutate_file_contents(str(path), path.read_text("utf-8"))
        path.write_text(mutated.code, "utf-8")
        names += [f"sfit.{module}.{name.rpartition('.')[2]}" for name in mutated.mutant_names]
    return names


class Mutants:
    """Runs the collected tests once as they are, and then for each mutant."""

    def __init__(self, names, results):
        self.names = names
        self.results = results

    def pytest_collection_modifyitems(self, config, items):
        slow = [item for item in items if item.originalname in SLOW or "long" in item.keywords]
        items[:] = [item for item in items if item not in slow]
        config.hook.pytest_deselected(items=slow)

    def pytest_runtestloop(self, session):
        tests = self.tests_by_function(session.items)
        gc.freeze()  # what is here already need not be looked at, and so not copied, in each fork
        started, running, waiting = time.perf_counter(), {}, list(self.names)
        while running or waiting:
            if waiting and len(running) < JOBS:
                name = waiting.pop(0)
                running[start(name, own(name, tests))] = name
                continue
            child, status = os.wait()
            name = running.pop(child)
            self.results[name] = verdict = verdict_of(status)
            done = len(self.names) - len(waiting) - len(running)
            if verdict == "survived" or done % 100 == 0:
                seconds = time.perf_counter() - started
                print(f"{done}/{len(self.names)} {seconds:.0f} s {name} {verdict}", flush=True)
        return True

    def tests_by_function(self, items):
        """For each function, the tests that call it and their seconds."""
        tests = defaultdict(list)
        set_mutant_under_test("stats")
        for item in items:
            state()._stats.clear()
            started = time.process_time()
            if not passes(item):
                raise pytest.UsageError(f"{item.nodeid} fails without any mutant")
            seconds = time.process_time() - started
            for function in state()._stats:
                tests[function].append((seconds, item))
        return tests


def own(name, tests):
    """The tests of a mutant's module that call its function."""
    files = TESTS[name.split(".")[1]]
    called = tests[name.partition("__mutmut_")[0]]
    return sorted(
        (one for one in called if one[1].nodeid.startswith(files)), key=lambda one: one[0]
    )


def passes(item):
    return not any(report.failed for report in runtestprotocol(item, log=False))


def start(name, tests):
    """Run the tests of one mutant in a fork of this process."""
    child = os.fork()
    if child:
        return child
    try:
        # A mutant may loop for ever, or never stop printing.
        limit = 10 + int(10 * sum(seconds for seconds, _ in tests))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        set_mutant_under_test(name)
        os._exit(0 if all(passes(item) for _, item in tests) else 1)
    finally:
        os._exit(1)


def verdict_of(status):
    if os.WIFSIGNALED(status):
        return "out of time"
    return "killed" if os.WEXITSTATUS(status) else "survived"


def change(name):
    """The lines that a mutant has otherwise, in one line."""
    path = BUILD / Path(*name.split(".")[:-1]).with_suffix(".py")
    lines = get_diff_for_mutant(name, source=path.read_text("utf-8"), path=path).splitlines()
    changed = [line for line in lines[2:] if line[:1] in "+-" and "__mutmut_" not in line]
    return " ".join(f"{line[0]} {line[1:].strip()}" for line in changed)


def page(results, reasons):
    """The figures by module, and the survivors with their reasons."""
    by_module = defaultdict(Counter)
    for name, verdict in results.items():
        by_module[name.split(".")[1]][verdict] += 1
    total = sum(by_module.values(), Counter())
    lines = [
        "# Mutants",
        "",
        "Written by `make mutate`, which changes one thing at a time in the statistics and the procedure",
        "(mutmut's changes) and runs the tests of the changed function. A mutant that runs out of time counts",
        "as killed: a test would hang.",
        "",
        "| module | mutants | killed | out of time | survived | share killed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for module, counts in [*sorted(by_module.items()), ("all", total)]:
        n, alive = counts.total(), counts["survived"]
        lines.append(
            f"| `{module}` | {n:,} | {counts['killed']:,} | {counts['out of time']} | {alive} "
            f"| {(n - alive) / n:.1%} |"
        )
    survivors = sorted(name for name, verdict in results.items() if verdict == "survived")
    lines += ["", "## Survivors", ""]
    for name in survivors:
        text = change(name).replace("`", "'")
        lines.append(f"- {name.removeprefix('sfit.')}: `{text}`")
        lines.append(f"  {reasons.get(name, 'no reason known')}")
    return "\n".join(lines) + "\n"


def main(patterns):
    """Run all mutants, or those that match; write the figures and the survivors."""
    known = Path("build/mutants.json")
    results = json.loads(known.read_text()) if patterns and known.exists() else {}
    names = write_mutants()
    chosen = [n for n in names if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)]
    results = {name: verdict for name, verdict in results.items() if name in set(names)}
    sys.path.insert(0, str(BUILD.resolve()))
    options = [
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--hypothesis-profile=mutants",
    ]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is here already
    files = sorted({file for name in chosen for file in TESTS[name.split(".")[1]]})
    code = pytest.main([*options, *files], plugins=[Mutants(chosen, results)])
    if code:
        return code
    known.write_text(json.dumps(results, indent=0))
    reasons = tomllib.loads(EQUIVALENT.read_text("utf-8")) if EQUIVALENT.exists() else {}
    TRUST.mkdir(parents=True, exist_ok=True)
    text = page(results, reasons)
    if len(results) == len(names):
        (TRUST / "mutants.md").write_text(text, "utf-8")
    print(text)
    unexplained = [
        n for n, verdict in results.items() if verdict == "survived" and n not in reasons
    ]
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
