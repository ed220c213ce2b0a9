# make demo | test | check | bench     each sets up its own virtual environment on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
SEED   ?= 1
BIN    := $(VENV)/bin

# The editable install knows the packages there were when it was made.
SOURCES := pyproject.toml paper/pyproject.toml league/pyproject.toml CMakeLists.txt $(shell find native -type f; find src -name __init__.py)

PIP     := $(BIN)/pip install -qq --disable-pip-version-check --no-warn-script-location --root-user-action=ignore
INSTALL := $(PIP) --no-build-isolation --no-deps

.PHONY: demo test check docs native cross wheel bench bench-trees fuzz kill league league-report paper paper-runs sanitize sanitize-quick clean
.PHONY: arrival faults interrupts leaks live live-kills notebooks rebalances
.DEFAULT_GOAL := help

help:
	@echo "make demo    HEROS on a drifting stream: the bill of three policies (under a minute)"
	@echo "make test    all tests and doctests"
	@echo "make live    a broker, a simulated feed, the service and its page, in one; Ctrl-C stops all of it"
	@echo "make check   ruff, mypy --strict, import-linter, the docs, a build in which compiler warnings are errors"
	@echo "make docs    the documentation as a site, in build/site"
	@echo "make notebooks     run the notebooks and keep what they show"
	@echo "make native  the kernels against slow versions, without Python; make cross: those of the other processor, emulated"
	@echo "make wheel   a wheel in dist/, and the demo from it in an environment without a compiler"
	@echo "make bench   CPU time per instance, ours against a PyTorch pool (installs torch, CPU build)"
	@echo "make bench-trees   the same for trees, against CapyMOA and River (installs capymoa; needs Java)"
	@echo "make paper   the paper's tables, figures and theorems from the records in paper/records"
	@echo "make paper-runs    the runs that are not recorded there yet, the cheapest first (days; stop and go on at will)"
	@echo "make league  ours and the rivals on the same instances, into league/records (many hours; goes on where it stopped)"
	@echo "make league-report   docs/league.md and its picture from league/records"
	@echo "make kill    200 kills of runs with checkpoints: every resumed run must end as if nothing had happened"
	@echo "make sanitize      the native tests and some fuzzing under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make leaks         what the core never gives back, over many lives of every family"
	@echo "make faults        every call that writes fails, tears or waits once"
	@echo "make arrival N=5000      rows that come in any way, with kills in between: the same results"
	@echo "make interrupts N=2000   Ctrl-C at random moments: a result so far or a clean stop"
	@echo "make live-kills N=100 KIND=redis   consumers of a queue, killed so many times: every row is learnt once"
	@echo "make rebalances N=20     workers of a Kafka group that come and go: every key's rows are learnt once"
	@echo "make fuzz N=1000000   so many malformed files, arrays and states (TARGETS=..., SEED=..., JOBS=...)"

$(VENV)/tools: pyproject.toml
	@echo "Setting up $(VENV) and the packages HEROS needs"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; print('\n'.join(p['dependencies'] + p['optional-dependencies']['dev']))" > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

# The build environment is the virtual environment itself, so that a rebuild compiles only what changed. The packages
# of the paper and of the league, which the library's wheel does not carry, go beside it.
$(VENV)/installed: $(VENV)/tools $(SOURCES)
	@echo "Compiling the core (a minute or two)"
	@$(INSTALL) --config-settings=cmake.define.HEROS_WERROR=$$([ -e $(VENV)/strict ] && echo ON || echo OFF) --editable .
	@$(INSTALL) --editable ./paper
	@$(INSTALL) --editable ./league
	@touch $@

# For those who check, compiler warnings are errors: in this environment from then on. For those who only use it they
# never are.
$(VENV)/strict: $(VENV)/tools
	@rm -f $(VENV)/installed
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/python -m heros.demo

live: $(VENV)/installed
	@$(BIN)/python -m heros.serve.live $(if $(PORT),--port $(PORT)) $(if $(RATE),--rate $(RATE))

test: $(VENV)/installed
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

check: $(VENV)/strict
	$(MAKE) --no-print-directory $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	for system in darwin win32; do $(BIN)/mypy --platform $$system --cache-dir .mypy_cache/$$system src/heros || exit 1; done
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory docs

# A link that leads nowhere is an error.
docs: $(VENV)/installed
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

notebooks: $(VENV)/installed
	@$(BIN)/python notebooks/renew.py

native cross:
	@$(MAKE) --no-print-directory -C tests/native $(if $(filter native,$@),run,cross)

# Built in an environment of its own, as pip does it; repaired (which says what it needs of a system); then installed
# where there is no compiler, and the demo runs there.
wheel:
	tests/wheel.sh $(PYTHON)

$(VENV)/bench-tools: $(VENV)/installed
	$(PIP) torch==2.13.0
	touch $@

bench: $(VENV)/bench-tools
	$(BIN)/python benchmarks/mlp_pool.py
	$(BIN)/python benchmarks/watch.py

$(VENV)/bench-trees-tools: $(VENV)/bench-tools
	$(PIP) capymoa
	touch $@

bench-trees: $(VENV)/bench-trees-tools
	$(BIN)/python benchmarks/tree_pool.py

# From records only: nothing is trained. "heros-paper run" makes the records.
paper: $(VENV)/installed
	$(BIN)/heros-paper tables
	$(BIN)/heros-paper figures
	$(BIN)/heros-paper report

# What is recorded is kept. PARTS=greedy,seeds STREAMS=wisdm,electricity for some of them only.
paper-runs: $(VENV)/installed
	$(BIN)/heros-paper run --missing --jobs $(JOBS) $(if $(PARTS),--parts $(PARTS)) $(if $(STREAMS),--streams $(STREAMS))

$(VENV)/league-tools: $(VENV)/bench-tools
	@$(PIP) 'capymoa>=0.15' 'river>=0.21'
	touch $@

# Many hours: it can be stopped at any time, and goes on where it was.
league: $(VENV)/league-tools
	$(BIN)/heros-league run

league-report: $(VENV)/installed
	$(BIN)/heros-league report

kill: $(VENV)/installed
	$(BIN)/python tests/kill_resume.py --kills 200

# An environment of its own, which borrows the tools of the other but not the package built there.
SANITIZED := build/sanitized
$(SANITIZED)/installed: $(VENV)/installed
	$(PYTHON) -m venv --without-pip $(SANITIZED)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $(SANITIZED)/tools.pth
	cp $(SANITIZED)/tools.pth $(SANITIZED)/lib/python3.*/site-packages/
	$(INSTALL) --upgrade \
	  --config-settings=cmake.define.HEROS_SANITIZE=ON --config-settings=build-dir=build/sanitize \
	  --target $(SANITIZED)/lib/python3.*/site-packages .
	touch $@

# Python itself is not sanitized, so its memory at exit is no leak of ours; an allocation out of proportion
# fails as it does elsewhere.
SANITIZER = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:handle_segv=0 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=tests $(SANITIZED)/bin/python
# Sanitizers take memory of their own, which these tests would blame on the pools.
MEASURE_MEMORY := tests/pools/test_hoeffding_streams.py::test_real_memory_follows_the_accounted_bytes \
  tests/pools/test_mlp.py::test_a_pool_that_could_not_grow_learns_on_as_before
NATIVE_TESTS := tests/policies tests/pools tests/test_ensemble.py tests/test_scores.py tests/test_threads.py \
  tests/streams/test_synthetic.py tests/streams/test_base.py tests/fuzz

sanitize: $(SANITIZED)/installed
	$(SANITIZER) -m pytest --capture=sys $(NATIVE_TESTS) $(MEASURE_MEMORY:%=--deselect %)
	$(SANITIZER) -m fuzz.driver --n $(or $(N),20000) --jobs $(JOBS)

# What the core never gives back, over many lives of every family. Python, which is not built for it, keeps some
# memory for ever: tests/fuzz/leaks.supp names its allocators, and nothing of ours.
leaks: $(SANITIZED)/installed
	PYTHONMALLOC=malloc LSAN_OPTIONS=suppressions=tests/fuzz/leaks.supp:print_suppressions=0 \
	  $(subst detect_leaks=0,detect_leaks=1,$(SANITIZER)) -m fuzz.leaks

sanitize-quick: $(SANITIZED)/installed
	$(SANITIZER) -m pytest --capture=sys tests/fuzz tests/test_threads.py tests/pools/test_hoeffding_native.py

fuzz: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m fuzz.driver --n $(or $(N),100000) --jobs $(JOBS) \
	  --seed $(SEED) $(if $(TARGETS),--targets $(TARGETS))

# Every call that writes fails, tears or waits once; rows come in any way, with kills in between; Ctrl-C at any moment.
faults: $(VENV)/installed
	$(BIN)/python -m pytest tests/faults

arrival: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m faults.arrival --n $(or $(N),5000) --seed $(SEED)

interrupts: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m faults.interrupts --n $(or $(N),2000) --seed $(SEED)

# Consumers of queues are killed at random moments; workers of a group come and go.
live-kills: $(VENV)/installed
	HEROS_KILLS=$(or $(N),100) $(BIN)/python -m pytest -q -s tests/sources/test_queues.py tests/sources/test_mqtt.py -k "killed $(if $(KIND),and ($(KIND)),)"

rebalances: $(VENV)/installed
	HEROS_REBALANCES=$(or $(N),20) $(BIN)/python -m pytest -q tests/workers -k learnt_twice

clean:
	rm -rf $(VENV) build dist
