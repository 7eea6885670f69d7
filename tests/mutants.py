"""`make mutate`: does any test notice when the statistics or the procedure are changed a little?

mutmut writes the changed functions. Its own way to run them starts pytest for each of about two thousand
mutants; here pytest starts once, and runs for each mutant the tests that call its function, quick ones
first, until one fails. Names or patterns of mutants as arguments run only these.
"""

import fnmatch
import json
import shutil
import signal
import sys
import time
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

GOLDEN = "tests/golden/test_golden.py::"
TESTS = {
    "_beta": ("tests/test_beta.py", "tests/test_told.py"),
    "_contrast": ("tests/test_contrast.py",),
    "_differences": ("tests/test_differences.py", GOLDEN),
    "_losses": ("tests/test_losses.py", GOLDEN + "test_losses"),
    "_multiplicity": ("tests/test_multiplicity.py", GOLDEN + "test_adjusted"),
    "_partners": ("tests/test_partners.py",),
    "_power": (
        "tests/test_power.py",
        *(GOLDEN + f"test_{name}" for name in ("power", "rows_needed")),
    ),
    "_procedure": ("tests/test_procedure.py",),
    "_select": ("tests/test_select.py",),
    "_sign_test": ("tests/test_sign_test.py",),
    "_binomial": (
        "tests/test_binomial.py",
        *(GOLDEN + f"test_{name}" for name in ("p_values", "ranks")),
    ),
}
"""What is changed, and the tests that should notice."""

LEFT_OUT = (
    "test_absolute_and_squared_error_agree_at_beta_zero",
    "test_asymptotic_ranks_differ_from_the_exact_at_37_sizes",
    "test_auto_on_validation_rows_of_the_users_own",
    "test_auto_splits_the_rows_and_records_the_choice",
    "test_beta_max_is_where_significance_ends",
    "test_brute_force_over_a_fine_grid",
    "test_n_positive_falls_with_beta_to_zero",
    "test_no_sufficient_beta_is_an_error_that_shows_the_curve",
    "test_random_models_of_the_users_own",
    "test_scaling_y_and_predictions_scales_delta",
    "test_squared_error_has_the_signs_of_absolute_error_at_its_own_beta",
    "test_the_choice_is_frozen_and_repeatable",
    "test_the_column_of_by_is_no_feature_of_a_random_model",
    "test_the_model_is_as_it_was",
    "test_the_plot_draws_the_curve",
    "test_the_rate_never_grows_with_beta",
    "test_the_warning_points_at_the_call",
)
"""Left out: they take a second or so, and what they notice others notice, too; the last counts frames,
of which mutmut has more."""

BUILD = Path("build/mutants")
STORED = Path("build/mutants.json")
REASONS = Path(__file__).with_name("mutants.toml")
"""Why a mutant survives, by function and change: most behave exactly like the original."""
TRUST = Path("docs/trust")

KILLED = ""
"""What is stored of a mutant that a test noticed; of a survivor, what was changed."""
SHARE = 0.95
"""So many must be killed."""

# Few examples, always the same; one that fails is not made smaller.
settings.register_profile(
    "mutants",
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def write_mutants(modules):
    """A copy of the package that holds all mutants of some modules; returns their names."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree("src/sfit", BUILD / "sfit", ignore=shutil.ignore_patterns("__pycache__"))
    names = []
    for module in modules:
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
        prefixes = tuple({prefix for name in self.names for prefix in TESTS[name.split(".")[1]]})
        left_out = [
            item
            for item in items
            if item.originalname in LEFT_OUT
            or "long" in item.keywords
            or not item.nodeid.startswith(prefixes)
        ]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)

    def pytest_runtestloop(self, session):
        tests = self.tests_by_function(session.items)
        started = time.perf_counter()
        for number, name in enumerate(self.names, 1):
            alive = survives(name, own(name, tests))
            self.results[name] = change(name) if alive else KILLED
            if alive or number % 100 == 0:
                seconds = time.perf_counter() - started
                print(
                    f"{number}/{len(self.names)} {seconds:.0f} s {name} {self.results[name]}",
                    flush=True,
                )
                STORED.write_text(json.dumps(self.results, indent=0))
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


class OutOfTimeError(Exception):
    """A mutant ran for much longer than the original."""


def survives(name, tests):
    """Whether no test fails, in this process: the functions under test are pure."""

    def stop(*_):
        raise OutOfTimeError

    set_mutant_under_test(name)
    signal.signal(signal.SIGPROF, stop)
    for seconds, item in tests:
        # A mutant may loop for ever; and once more in whatever catches the first exception.
        signal.setitimer(signal.ITIMER_PROF, 0.5 + 10 * seconds, 0.5)
        try:
            if not passes(item):
                return False
        except OutOfTimeError:
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return True


def change(name):
    """The lines that a mutant has otherwise, in one line."""
    path = BUILD / Path(*name.split(".")[:-1]).with_suffix(".py")
    lines = get_diff_for_mutant(name, source=path.read_text("utf-8"), path=path).splitlines()
    changed = [line for line in lines[2:] if line[:1] in "+-" and "__mutmut_" not in line]
    return " ".join(f"{line[0]} {line[1:].strip()}" for line in changed)


def function(name):
    """The function of a mutant, as in `_differences.Base.against`: the mutant of a method has ǁ in its name."""
    _, module, mangled = name.split(".")
    plain = mangled.partition("__mutmut_")[0].removeprefix("x").replace("ǁ", ".")
    return f"{module}.{plain[1:]}"


def page(results, reasons):
    """The figures by module, and the survivors with their reasons."""
    survivors = {name: text for name, text in sorted(results.items()) if text != KILLED}
    lines = [
        "# Mutants",
        "",
        "Written by `make mutate`, which changes one thing at a time in the statistics and the procedure",
        "(mutmut's changes) and runs the tests of the changed function until one fails. A mutant that runs for",
        "ten times as long as the original counts as killed: a test would hang.",
        "",
        "| module | mutants | killed | share |",
        "| --- | --- | --- | --- |",
    ]
    measured = sorted({name.split(".")[1] for name in results})
    for module in (*measured, ""):
        own = [text for name, text in results.items() if name.startswith(f"sfit.{module}")]
        killed = own.count(KILLED)
        lines.append(f"| {module or 'all'} | {len(own):,} | {killed:,} | {killed / len(own):.1%} |")
    lines += ["", f"## The {len(survivors)} survivors", ""]
    for name, text in survivors.items():
        lines.append(f"- {name.removeprefix('sfit.')}: `{text.replace('`', chr(39))}`")
        lines.append(f"  {reasons.get(function(name), {}).get(text, 'No reason is known.')}")
    return "\n".join(lines) + "\n"


def main(patterns):
    """Run all mutants, or those that match; write the figures and the survivors."""
    results = json.loads(STORED.read_text()) if patterns and STORED.exists() else {}
    modules = {pattern.split(".")[1].rstrip("*") for pattern in patterns} or set(TESTS)
    names = write_mutants(sorted(modules))
    # Names that a changed module no longer has are forgotten.
    results = {n: r for n, r in results.items() if n in names or n.split(".")[1] not in modules}
    chosen = [n for n in names if not patterns or any(fnmatch.fnmatch(n, p) for p in patterns)]
    sys.path.insert(0, str(BUILD.resolve()))
    options = ["-q", "-s", "--tb=native", "--hypothesis-profile=mutants"]
    options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is here already
    prefixes = {prefix for name in chosen for prefix in TESTS[name.split(".")[1]]}
    files = sorted({prefix.partition("::")[0] for prefix in prefixes})
    code = pytest.main([*options, *files], plugins=[Mutants(chosen, results)])
    if code:
        return code
    STORED.write_text(json.dumps(results, indent=0))
    reasons = tomllib.loads(REASONS.read_text("utf-8"))
    TRUST.mkdir(parents=True, exist_ok=True)
    (TRUST / "mutants.md").write_text(page(results, reasons), "utf-8")
    killed = list(results.values()).count(KILLED)
    print(f"{killed} of {len(results)} mutants killed; see {TRUST / 'mutants.md'}")
    return int(killed < SHARE * len(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
