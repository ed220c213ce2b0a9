# make demo | test | check | bench     each sets up its own virtual environment on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

SOURCES := pyproject.toml CMakeLists.txt $(shell find native -type f)

.PHONY: demo test check bench bench-trees kill paper sanitize clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    HEROS on a drifting stream: the bill of three policies (under a minute)"
	@echo "make test    all tests and doctests"
	@echo "make check   ruff, mypy --strict, import-linter, compiler warnings"
	@echo "make bench   CPU time per instance, ours against a PyTorch pool (installs torch, CPU build)"
	@echo "make bench-trees   the same for trees, against CapyMOA and River (installs capymoa; needs Java)"
	@echo "make paper   the paper's tables, figures and theorems from the records in paper/records"
	@echo "make kill    200 kills of runs with checkpoints: every resumed run must end as if nothing had happened"
	@echo "make sanitize      the tree tests under AddressSanitizer and UndefinedBehaviorSanitizer"

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
	$(BIN)/lint-imports --no-logo

$(VENV)/bench-tools: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	touch $@

bench: $(VENV)/bench-tools
	$(BIN)/python benchmarks/mlp_pool.py

$(VENV)/bench-trees-tools: $(VENV)/bench-tools
	$(BIN)/pip install --quiet --disable-pip-version-check capymoa
	touch $@

bench-trees: $(VENV)/bench-trees-tools
	$(BIN)/python benchmarks/tree_pool.py

# From records only: nothing is trained. "heros paper run" makes the records.
paper: $(VENV)/installed
	$(BIN)/heros paper tables
	$(BIN)/heros paper figures
	$(BIN)/heros paper report

kill: $(VENV)/installed
	$(BIN)/python tests/kill_resume.py --kills 200

# An environment of its own, which borrows the tools of the other but not the package built there.
SANITIZED := build/sanitized
sanitize: $(VENV)/installed
	$(PYTHON) -m venv --without-pip $(SANITIZED)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $(SANITIZED)/tools.pth
	cp $(SANITIZED)/tools.pth $(SANITIZED)/lib/python3.*/site-packages/
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --upgrade \
	  --config-settings=cmake.define.HEROS_SANITIZE=ON --config-settings=build-dir=build/sanitize \
	  --target $(SANITIZED)/lib/python3.*/site-packages .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(SANITIZED)/bin/python -m pytest tests/pools/test_hoeffding_native.py tests/pools/test_hoeffding.py

clean:
	rm -rf $(VENV) build dist
