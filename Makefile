# Everything here works from a fresh clone with Python 3.11 and make; nothing needs to be activated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo test quick lint types unit mutants fuzz samples docs dist release clean

help:  ## what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("roofline needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# A user's installation is enough for the demonstration; the developers' tools take four times as long.
$(VENV)/.user: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.developer: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user  ## analyse a sample report and leave a roofline picture in demo/
	@mkdir -p demo
	$(BIN)/roofline analyze sample_reports/h100_mix.ncu-rep --plot demo/roofline.png --force
	@echo "The picture is demo/roofline.png. For the command roofline: . $(BIN)/activate"

test: $(VENV)/.developer  ## all that decides whether a change is good
	$(MAKE) --no-print-directory --jobs 3 lint types unit

quick: lint  ## style, and the tests that last failed or are fast: for the loop while one works
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --failed-first --maxfail 5 -m 'not slow'

lint: $(VENV)/.developer  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.developer  ## types
	$(BIN)/mypy

unit: $(VENV)/.developer  ## tests, on all cores
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

fuzz: $(VENV)/.developer  ## damage every kind of input 2000 times, other ones each day
	ROOFLINE_FUZZ=2000 ROOFLINE_SEED=$$(date +%Y%m%d)0000 $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/test_fuzz.py

mutants: $(VENV)/.developer  ## change counters, verdict and fold a line at a time: which tests notice
	$(BIN)/python scripts/mutants.py

samples: $(VENV)/.developer  ## write the sample reports again
	$(BIN)/python -m sample_reports.generate
	$(BIN)/python -m sample_reports.timeline

docs: $(VENV)/.developer  ## make the site of the documentation in site/; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(VENV)/.developer  ## build sdist and wheel into dist/, and check what is published of them
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*

release: test dist  ## all that docs/release.md lets a machine check
	@! grep -n 'https://roofline\.example' pyproject.toml || { echo 'put the real addresses into pyproject.toml'; exit 1; }

clean:  ## remove what make made
	rm -rf $(VENV) demo dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
