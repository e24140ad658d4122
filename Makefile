# Two commands set everything up: `make demo` runs the main job on real data, `make test` passes the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo

.PHONY: demo test test-slow lint types format bench docs clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "distmom needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# one stamp for the extra of the demonstration and one per dependency group: each target installs what it needs alone
$(VENV)/.installed-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

# pip knows groups from 25.1 on; a new environment of Python 3.11 has 23
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group '$*'
	touch $@

demo: $(VENV)/.installed-demo
	$(BIN)/python -m pipelines.flights $(DEMO)
	$(BIN)/distmom mean $(DEMO)/clean -c arr_delay --by carrier
	@echo; echo "The same lake with five damaged files: they are found, named and left out."
	$(BIN)/distmom mean $(DEMO)/damaged -c arr_delay --by carrier

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 3 --dist loadgroup -m "slow or hypothesis" --hypothesis-profile thorough $(if $(PART),--part $(PART))

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-lint
	$(BIN)/mypy

format: $(VENV)/.installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench
	$(BIN)/python -m tests.benchmarks.mean $(BENCH)

docs: $(VENV)/.installed-docs
	rm -rf docs/reference/api
	$(BIN)/sphinx-build -W -n --keep-going --quiet -d build/docs/trees docs build/docs/html
	@echo "build/docs/html/index.html"

clean:
	rm -rf $(VENV) $(DEMO) build dist docs/reference/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
