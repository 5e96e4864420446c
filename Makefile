# Each target sets up what it needs in .venv; the second call is quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DOCS := $(VENV)/.ready-docs

# The tests of FILES: src/superarm/ROOM/... and src/superarm/ROOM.py have theirs in tests/ROOM and tests/test_ROOM.py.
CODE = $(filter-out %.md %.toml %.txt %.json,$(FILES))
ROOMS = $(sort $(foreach file,$(filter src/superarm/%,$(FILES)),$(word 3,$(subst /, ,$(basename $(file))))))
OF_ROOMS = $(wildcard $(foreach room,$(ROOMS),tests/$(room) tests/test_$(room).py))
OF_FILES = $(foreach file,$(filter tests/%,$(CODE)),$(if $(filter-out test_%,$(filter %.py,$(notdir $(file)))),,$(file)))

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
	$(BIN)/python -m pytest -m "not full" tests/test_house.py $(OF_ROOMS) $(OF_FILES)

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
