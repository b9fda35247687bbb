# make run    set up everything, then serve (ARGS="--insecure" and so on)
# make test   set up everything, then run all tests (ARGS="tests/cli" and so on)
# make check  format, lint, types, import contracts, size limits
# make bench  measure
# make audit  compare the installed dependencies with known advisories, where they can be reached (ARGS="--strict")
# make chaos  real faults for longer, by a seed of the moment (KINEPY_SEED=7 and so on)
# make soak   simulate with seed after seed until interrupted (ARGS="--seed 8142" and so on)

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test check format bench audit soak chaos clean

help:
	@sed -n 's/^# make/make/p' Makefile

# The first Python >= 3.11 that can make virtual environments.
$(BIN)/python:
	@for python in python3 python3.13 python3.12 python3.11 python3.14; do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$($$python --version)"; exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "kinepy needs Python 3.11 or newer with the venv module: install python3.11 and python3.11-venv" >&2; \
	exit 1

# Stamps, so that nothing is installed again until pyproject.toml changes.
$(VENV)/.run-stamp: pyproject.toml | $(BIN)/python
	@echo "installing kinepy into $(VENV), which takes a while the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[postgres]'
	@touch $@

$(VENV)/.dev-stamp: pyproject.toml | $(BIN)/python
	@echo "installing kinepy and its tools into $(VENV), which takes a while the first time"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[postgres,dev]'
	@touch $@ $(VENV)/.run-stamp

setup: $(VENV)/.dev-stamp

run: $(VENV)/.run-stamp
	@exec $(BIN)/kinepy serve $(ARGS)

test: $(VENV)/.dev-stamp
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.dev-stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tests/limits.py

format: $(VENV)/.dev-stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

audit: $(VENV)/.dev-stamp
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[audit]'
	$(BIN)/python tests/tools/audit.py $(ARGS)

bench: $(VENV)/.dev-stamp
	$(BIN)/python bench/run.py $(ARGS)

soak: $(VENV)/.dev-stamp
	$(BIN)/python -m tests.simulation --soak $(ARGS)

chaos: export KINEPY_SEED ?= $(shell date +%s)
chaos: export KINEPY_STRIKES ?= 30
chaos: export KINEPY_KILLS ?= 20
chaos: export KINEPY_LINCHECK_SECONDS ?= 120
chaos: export KINEPY_WRITERS_SECONDS ?= 20
chaos: $(VENV)/.dev-stamp
	@echo "KINEPY_SEED=$$KINEPY_SEED"
	$(BIN)/python -m pytest tests/faults $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
