# `make` lists the targets. Each one first sees to .venv (scripts/setup.sh), which takes minutes on
# a fresh checkout and milliseconds afterwards. PYTHON=... chooses the interpreter.

SHELL := /bin/bash
PY := .venv/bin/python
PYTHON ?=
export PYTHON

# Two test workers on one BLAS thread each: more threads than cores makes small solves slower.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Compiled code of test runs stays inside the checkout; `make clean` or another CACHE starts afresh.
# PyTensor need not note for each variable by which lines it was made, and workers read byte code.
CACHE ?= $(CURDIR)/.cache
TEST_ENV = $(THREADS) PYTHONDONTWRITEBYTECODE= MPLBACKEND=Agg NUMBA_CACHE_DIR="$(CACHE)/numba" \
	PYTENSOR_FLAGS="$${PYTENSOR_FLAGS:+$$PYTENSOR_FLAGS,}base_compiledir='$(CACHE)/pytensor',traceback__limit=0"
WORKERS ?= 2
# Options of pytest, such as PYTEST_ARGS="-k wall"; for single files call pytest itself.
PYTEST_ARGS ?=
# Processes that live through all tests hold all code that was ever compiled, which slows down each
# further compilation and each garbage collection. So these folders, and then the rest, are run apart,
# and each worker begins with its half of the files, so that few fixtures are made twice.
APART := tests/estimators tests/gp tests/inference
# Arguments of `make bench-estimators`, such as BENCH_ARGS="--only first".
BENCH_ARGS ?=
# Arguments of `make reproduce`, `bench-large`, `bench-inputs` and `bench-speed`, such as ARGS="--data ../shared/data".
ARGS ?=
# The folder whose notebooks `make notebooks` executes.
BOOKS ?= notebooks

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: bench-calibration bench-estimators bench-evidence bench-inputs bench-intervals bench-large bench-low-rank bench-partial bench-points bench-solver bench-speed help setup base-env test-env dev-env demo reproduce test test-lowest test-slow lint format types docs notebooks clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1|/' \
		| while IFS='|' read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done

setup: dev-env ## create .venv with everything a contributor needs

base-env:
	@scripts/setup.sh base

test-env:
	@scripts/setup.sh test

dev-env:
	@scripts/setup.sh dev

demo: base-env ## run the demo; its report and figures go to demo/output
	@$(THREADS) $(PY) -m demo

reproduce: test-env ## the papers' experiments, with ARGS="--quick --data FOLDER" or "--full ..."; writes report.md
	@$(THREADS) $(PY) -m reproduce $(ARGS)

test: test-env ## run the tests, without the slow ones
	@selected=0; failed=0; for part in $(APART) "tests $(APART:%=--ignore=%)"; do \
		code=0; $(TEST_ENV) $(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(PYTEST_ARGS) $$part || code=$$?; \
		case $$code in 0) selected=1 ;; 5) ;; *) selected=1; failed=1 ;; esac; \
	done; [ $$selected = 1 ] || echo "No test was selected."; [ $$selected = 1 ] && [ $$failed = 0 ]

test-slow: test-env ## run the long sampling tests only
	@$(TEST_ENV) $(PY) -m pytest -m slow --timeout 3600 $(PYTEST_ARGS)

test-lowest: ## try the oldest versions that pyproject.toml allows
	@$(THREADS) CACHE="$(CACHE)" scripts/lowest.sh

bench-solver: test-env ## time the solver against LIBSVM and BLAS; rewrites benchmarks/solver.md
	@$(THREADS) $(PY) benchmarks/solver.py

bench-speed: test-env ## the defaults beside their goals and peers; rewrites speed.md
	@$(PY) -m benchmarks.speed $(ARGS)

bench-partial: test-env ## batches of rows against all rows at once; rewrites partial.md
	@$(THREADS) $(PY) -m benchmarks.partial

bench-points: test-env ## expectation propagation on inducing points; rewrites points.md
	@$(THREADS) $(PY) -m benchmarks.points

bench-low-rank: test-env ## time and memory with covariances of low rank; rewrites low_rank.md
	@$(THREADS) $(PY) -m benchmarks.low_rank

bench-evidence: test-env ## time the evidence and its gradient against peers; rewrites evidence.md
	@$(THREADS) $(PY) benchmarks/evidence.py

bench-intervals: test-env ## the CPU time of intervals against that of error bars; rewrites intervals.md
	@$(THREADS) $(PY) -m benchmarks.intervals

bench-estimators: test-env ## the estimators against their peers; rewrites estimators.md
	@$(THREADS) $(PY) benchmarks/estimators.py $(BENCH_ARGS)

bench-large: test-env ## many rows against peers; rewrites large.md
	@$(PY) -m benchmarks.large $(ARGS)

bench-inputs: test-env ## inducing points for many inputs, with ARGS="--data FOLDER"; rewrites inputs.md
	@$(THREADS) $(PY) -m benchmarks.inputs $(ARGS)

bench-calibration: test-env ## rank true hyperparameters, count coverage; rewrites calibration.md
	@$(THREADS) $(PY) -m benchmarks.calibration

lint: dev-env ## ruff: rules and format
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

format: dev-env ## let ruff rewrite what it can
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

types: dev-env ## mypy on the package
	@$(PY) -m mypy

docs: dev-env ## build docs/_build/html and check its names and links; a warning is an error
	@rm -rf docs/_build docs/api docs/notebooks
	@$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@$(PY) docs/_extensions/check.py docs/_build/html
	@echo "docs/_build/html/index.html"

notebooks: dev-env ## execute the notebooks in place; a .py beside one is its source
	@shopt -s nullglob; \
	for source in "$(BOOKS)"/*.py; do $(PY) -m jupytext --quiet --to ipynb "$$source" || exit $$?; done; \
	books=("$(BOOKS)"/*.ipynb); \
	if [ $${#books[@]} -eq 0 ]; then echo "make notebooks: $(BOOKS) is empty" >&2; exit 1; fi; \
	for book in "$${books[@]}"; do \
		echo "$$book"; \
		$(THREADS) $(PY) -c "from nbclient.cli import main; main()" --inplace "$$book" || exit $$?; \
	done

clean: ## remove caches and built files; .venv stays
	@rm -rf .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist docs/_build docs/api docs/notebooks
	@find pymc_bsvm tests demo docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
