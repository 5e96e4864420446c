# Each target sets up what it needs in .venv; the second call is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DOCS := $(VENV)/.ready-docs

# The tests of FILES: src/superarm/ROOM/... and src/superarm/ROOM.py have theirs in tests/ROOM and tests/test_ROOM.py,
# and in what is named here: the table of that kind of part, or the tests that show what all else rests on.
TABLES := tests/contract
PRESETS := $(TABLES)/test_presets.py $(TABLES)/test_golden_runs.py
MORE_choosers := $(TABLES)/test_oracles_contract.py
MORE_environments := $(TABLES)/test_environments_contract.py
MORE_experiments := $(TABLES)/test_experiments_contract.py
MORE_explorers := $(TABLES)/test_explorers_contract.py
MORE_models := $(PRESETS)
MORE_policies := $(PRESETS)
MORE_reproduce := $(MORE_experiments)
MORE_widths := $(TABLES)/test_widths_contract.py
MORE_checks := tests/test_public_names.py tests/test_typed_arguments.py
MORE_contract := $(MORE_explorers) $(PRESETS)
MORE_errors := tests/agent/test_agent.py
MORE_policy := $(MORE_contract) tests/test_propensity.py
MORE_precision := $(PRESETS)
MORE_provenance := tests/reproduce/test_experiments.py
MORE_pytree := tests/test_contract.py $(PRESETS)
MORE_rewards := $(MORE_choosers) tests/environments/test_feedback.py
MORE_rows := tests/widths $(MORE_widths)
MORE_types := $(MORE_contract)
MORE___init__ := tests/test_public_names.py tests/test_packaging.py

CODE = $(filter-out %.md %.toml %.txt %.json,$(FILES))
ROOMS = $(sort $(foreach file,$(filter src/superarm/%,$(FILES)),$(word 3,$(subst /, ,$(basename $(file))))))
OF_ROOMS = $(filter-out $(TABLES),$(wildcard $(ROOMS:%=tests/%) $(ROOMS:%=tests/test_%.py))) \
	$(foreach room,$(ROOMS),$(MORE_$(room)))
IN_TESTS = $(filter tests/%,$(CODE))
ASIDE = $(foreach file,$(filter %.py,$(IN_TESTS)),$(if $(filter-out test_%,$(notdir $(file))),$(file)))
OF_TABLES = $(foreach file,$(filter $(TABLES)/%,$(ASIDE)),$(foreach name,$(basename $(notdir $(file))),\
	$(wildcard $(TABLES)/test_$(name)_contract.py $(TABLES)/test_$(name).py)))
TESTS = $(sort $(OF_ROOMS) $(OF_TABLES) $(filter-out $(ASIDE),$(IN_TESTS)))

.PHONY: demo test test-full check lint bench docs clean

demo: $(READY)
	$(BIN)/superarm demo --out demo-output

# A file's tests run in one process, which compiles what they share once.
test: $(READY) lint
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not full"

test-full: $(READY) lint docs
	$(BIN)/python -m pytest -n auto --dist loadfile

check: $(READY)
	$(if $(FILES),,$(error make check FILES="src/superarm/widths/full.py tests/cli/test_cli.py ..."))
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not full" $(sort tests/test_house.py $(TESTS))

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY_DOCS)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) docs/_build demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "superarm needs Python 3.11 or newer, got " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

$(READY_DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs]"
	@touch $@
