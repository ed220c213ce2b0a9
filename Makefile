# make demo | test | check | bench     each sets up its own virtual environment on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

SOURCES := pyproject.toml CMakeLists.txt $(shell find native -type f)

.PHONY: demo test check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    HEROS on a drifting stream: the bill of three policies (under a minute)"
	@echo "make test    all tests and doctests"
	@echo "make check   ruff, mypy --strict, import-linter, compiler warnings"
	@echo "make bench   CPU time per instance, ours against a PyTorch pool (installs torch, CPU build)"

$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print('\n'.join(p['dependencies'] + p['optional-dependencies']['dev']))" > $@.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r $@.txt
	touch $@

# The build environment is the virtual environment itself, so that a rebuild compiles only what changed.
$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	  --config-settings=cmake.define.HEROS_WERROR=ON --editable .
	touch $@

demo: $(VENV)/installed
	$(BIN)/python -m heros.demo

test: $(VENV)/installed
	$(BIN)/python -m pytest

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

$(VENV)/bench-tools: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	touch $@

bench: $(VENV)/bench-tools
	$(BIN)/python benchmarks/mlp_pool.py

clean:
	rm -rf $(VENV) build dist
