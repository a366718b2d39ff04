# Everything here works from a fresh clone with Python 3.11 and make; nothing needs to be activated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint types unit samples clean

help:  ## what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("roofline needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.installed  ## analyse a sample report and leave a roofline picture in demo/
	@mkdir -p demo
	$(BIN)/roofline analyze sample_reports/h100_mix.ncu-rep --plot demo/roofline.png --force
	@echo "The picture is demo/roofline.png"

test: lint types unit  ## all that decides whether a change is good

lint: $(VENV)/.installed  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed  ## types
	$(BIN)/mypy

unit: $(VENV)/.installed  ## tests
	$(BIN)/python -m pytest

samples: $(VENV)/.installed  ## write the sample reports again
	$(BIN)/python -m sample_reports.generate
	$(BIN)/python -m sample_reports.timeline

clean:  ## remove what make made
	rm -rf $(VENV) demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
