# Every target makes the environment it needs; python3 (>= 3.11) and make are enough to start.
# An environment is installed again only when pyproject.toml or constraints.txt has changed.

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
DEMO := .venv-demo
BENCH := .venv-bench
SITE := build/docs
WHEEL := build/wheel-test

PIP_INSTALL := -m pip install --quiet --constraint constraints.txt
PYTEST := -m pytest -n 2

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Two test processes with a full set of OpenMP and BLAS threads each would fight for the cores.
test test-long wheel-test calibrate coverage mutate docs: export OMP_NUM_THREADS ?= 1

.PHONY: help demo test test-long calibrate coverage golden mutate fuzz fuzz-models flip soak bench wide offsets permutation lint format wheel-test docs clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile

demo: $(DEMO)/.installed ## the paper's simulated example: a test, and an audit that writes audit.html
	$(DEMO)/bin/python examples/demo.py

test: $(VENV)/.installed ## tests and doctests, without the long ones
	$(VENV)/bin/python $(PYTEST) -m "not long" $(PYTEST_ARGS)

test-long: $(VENV)/.installed ## all tests
	$(VENV)/bin/python $(PYTEST) $(PYTEST_ARGS)

calibrate: $(VENV)/.installed ## the promises of the statistics at full size, in minutes; writes docs/trust/calibration.*
	PYTHONPATH=tests $(VENV)/bin/python -m calibration

coverage: $(VENV)/.installed ## all tests, with the lines and branches they reach; below 97 % is an error
	$(VENV)/bin/coverage erase
	$(VENV)/bin/python $(PYTEST) --cov --cov-report= $(PYTEST_ARGS)
	$(VENV)/bin/coverage report --fail-under=97

golden: ## the golden numbers again; needs R (Debian: r-base-core)
	Rscript tests/golden/golden.R tests/golden

MUTANTS ?=
mutate: $(VENV)/.installed ## change the statistics a little, see whether a test notices; writes docs/trust/mutants.md
	CI=1 $(VENV)/bin/python tests/mutants.py $(MUTANTS)

FUZZ ?= --count 30
fuzz: $(VENV)/.installed ## damaged files of every kind that the program reads
	$(VENV)/bin/python tests/fuzz_files.py $(FUZZ)

FLIP ?= --count 6000
flip: $(VENV)/.installed ## one flipped bit in checkpoints and stored results, thousands of times
	$(VENV)/bin/python tests/flips.py $(FLIP)

FUZZ_MODELS ?= --seconds 3600
fuzz-models: $(VENV)/.installed ## an hour of random models and odd values: fast=True, fast=False and a naive loop
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz_models $(FUZZ_MODELS)

SOAK ?= --seconds 3600
soak: $(VENV)/.installed ## an hour of random tests of random models
	$(VENV)/bin/python tests/soak.py $(SOAK)

bench: $(BENCH)/.installed ## what a test costs in predict passes, beside the peers; writes benchmarks/RESULTS.md
	$(BENCH)/bin/python benchmarks/bench.py

WIDE ?=
wide: $(VENV)/.installed ## time and memory against the number of features; writes benchmarks/WIDE.md
	$(VENV)/bin/python benchmarks/wide.py $(WIDE)

offsets: $(VENV)/.installed ## counts of networks whose inputs are far from zero, fast and slow; writes benchmarks/OFFSETS.md
	OMP_NUM_THREADS=1 $(VENV)/bin/python -W ignore benchmarks/offsets.py

permutation: $(VENV)/.installed ## time, memory and power of the permutation test; writes benchmarks/PERMUTATION.md
	OMP_NUM_THREADS=1 $(VENV)/bin/python benchmarks/permutation.py

lint: $(VENV)/.installed ## style, format and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.installed ## rewrite the code in the project's format
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .

# The tests run beside a copy of the project without src, so that only the wheel can be imported.
# addopts leaves --doctest-modules out: it would import helpers of tests that are skipped here.
wheel-test: $(VENV)/.installed ## build the wheel and test it with the required dependencies only
	rm -rf $(WHEEL)
	mkdir -p $(WHEEL)/run
	$(VENV)/bin/python -m build --outdir $(WHEEL)/dist .
	$(VENV)/bin/python -m twine check --strict $(WHEEL)/dist/*
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python $(PIP_INSTALL) $(WHEEL)/dist/*.whl hypothesis pytest pytest-xdist
	cp -R pyproject.toml CITATION.cff *.md tests $(wildcard examples) $(WHEEL)/run
	cd $(WHEEL)/run && ../venv/bin/python $(PYTEST) -m "not long" -p no:cacheprovider \
		-o addopts="-ra --strict-markers --strict-config" $(PYTEST_ARGS) tests

# A warning is an error, and so is a link inside the site that leads nowhere.
docs: $(VENV)/.installed ## the site, with its gallery, in build/docs
	$(VENV)/bin/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs $(SITE)
	$(VENV)/bin/python docs/check_links.py $(SITE)

clean: ## remove environments and everything built
	rm -rf $(VENV) $(DEMO) $(BENCH) build dist .coverage .coverage.* htmlcov .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache catboost_info docs/api docs/gallery docs/jupyter_execute
	find $(wildcard src tests examples) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python $(PIP_INSTALL) --editable ".[test,docs]"
	touch $@

$(DEMO)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python $(PIP_INSTALL) --editable ".[report]"
	touch $@

# The peers' requirements must not change what the tests run with.
$(BENCH)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python $(PIP_INSTALL) --editable ".[bench]"
	touch $@
