# make demo | test | check | bench     each target creates its own virtual environment on a fresh clone. `make more`
# lists the targets of more.mk, which take hours, need other software, or are rarely used.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
SEED   ?= 1
BIN    := $(VENV)/bin

# Tests start many programs and import many files, so always cache the compiled bytecode.
unexport PYTHONDONTWRITEBYTECODE

# An editable install only sees packages that existed when it was made.
SOURCES := pyproject.toml paper/pyproject.toml league/pyproject.toml CMakeLists.txt $(shell find native -type f; find src -name __init__.py)

PIP     := $(BIN)/pip install -qq --disable-pip-version-check --no-warn-script-location --root-user-action=ignore
INSTALL := $(PIP) --no-build-isolation --no-deps

.PHONY: bench check clean demo docs help live test test-all wheel
.DEFAULT_GOAL := help

help:
	@echo "make demo      Heros() on an example file and a drifting stream, beside River's forest, and a page with pictures (under a minute; the first target of a fresh clone also sets up $(VENV), 1.8 GB, several minutes)"
	@echo "make test      every behaviour once, and the doctests (some minutes)"
	@echo "make test-all  every case of every test, the kernels without Python, sanitizers, the speed against the commit before"
	@echo "make check     ruff, mypy --strict, import-linter, make docs, a build in which compiler warnings are errors"
	@echo "make docs      the documentation as a site, in build/site, and its tests: every example, notebook and link"
	@echo "make bench     CPU time per instance, ours against PyTorch, as 50 modules and stacked (installs torch, CPU build)"
	@echo "make wheel     a wheel in dist/, and the demo from it in an environment without a compiler"
	@echo "make live      a broker, a simulated feed, the service and its page, in one; Ctrl-C stops all of it"
	@echo "make clean     remove the virtual environment and everything that was built"
	@echo "make more      list the targets of more.mk: the paper, the league, fuzzing, kills, notebooks"

$(VENV)/tools: pyproject.toml
	@echo "Setting up $(VENV) and the packages HEROS needs"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print('\n'.join(p['dependencies'] + p['optional-dependencies']['dev']))" > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

# The build environment is the virtual environment itself, so that a rebuild compiles only what changed. The packages
# The packages of the paper and of the league are not in the wheel, so they are installed separately.
$(VENV)/installed: $(VENV)/tools $(SOURCES) $(if $(filter check,$(MAKECMDGOALS)),$(VENV)/strict)
	@echo "Compiling the core (a minute or two)"
	@$(INSTALL) --config-settings=cmake.define.HEROS_WERROR=$$([ -e $(VENV)/strict ] && echo ON || echo OFF) --editable .
	@$(INSTALL) --editable ./paper
	@$(INSTALL) --editable ./league
	@touch $@

# `make check` treats compiler warnings as errors, and this environment keeps the setting. Users' builds never treat
# warnings as errors.
$(VENV)/strict: $(VENV)/tools
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/heros demo

live: $(VENV)/installed
	@PYTHONPATH=examples $(BIN)/python -m live $(if $(PORT),--port $(PORT)) $(if $(RATE),--rate $(RATE))

# `make docs` runs the tests of the documentation.
# One process more than processors, because many tests wait for another process or a clock.
PYTEST := $(BIN)/python -m pytest -n $(shell expr $(JOBS) + 1) --dist worksteal
NO_DOCS := --ignore tests/docs

test: $(VENV)/installed
	$(PYTEST) $(NO_DOCS)

# `make -j2 check test-all` starts with the kernels, which need no virtual environment. It ends with the tests, which
# use all processors.
test-all: kernels test-matrices sanitize-quick speed

check: $(VENV)/installed
	@$(BIN)/python -m nanobind.stubgen -q -m heros._core -o build/_core.pyi
	diff src/heros/_core.pyi build/_core.pyi # `make stub` writes it anew
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	for system in darwin win32; do $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system src/heros || exit 1; done
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory docs

# Broken links are errors; the examples of all pages and the notebooks run; site searches must find the expected pages.
docs: $(VENV)/installed
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@HEROS_SITE=build/site $(PYTEST) tests/docs
	@echo "build/site/index.html"

# Build the wheel in a separate environment, as pip does. Repair it, which also lists its system requirements. Then
# install it on a system without a compiler and run the demo there.
wheel:
	tests/wheel.sh $(PYTHON)

$(VENV)/bench-tools: $(VENV)/installed
	$(PIP) torch==2.13.0
	touch $@

bench: $(VENV)/bench-tools
	$(BIN)/python benchmarks/mlp_pool.py
	$(BIN)/python benchmarks/watch.py

clean:
	rm -rf $(VENV) build dist

include more.mk
