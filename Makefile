# make demo        set up, run the full workflow on embedded samples and real logs, write a report
# make test        set up, check style and types, run the tests
# make docs        build the documentation as a site in out/site
# make check       run ruff and mypy
# make check-fast  run ruff, mypy and the quick tests (under a minute)
# make soak        kill every verb that writes with kill -9 at random moments (TRIALS=200)
# make fuzz        feed a million malformed files to all readers and verbs (INPUTS=1000000, about 30 minutes)
# make decisions   simulate decisions whose truth is known, and print how often they are wrong (REPEATS=1000, half an hour)
# make mutants     put small faults into 30 modules, and print which share their tests notice (MUTANTS=12)
# make bench       run all benchmarks (an hour) and write docs/measured/speed.md
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: most of those in torch and transformers never are.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --no-compile

# Processes with one thread each: the networks in tests are so small that more threads cost time. Three of them keep
# two cores busy while some tests wait for servers, other processes and the disk. Each needs up to 2 GB of memory.
# Numba's threads sleep while they wait for each other: on busy cores, most of their time would go into waiting.
JOBS ?= 3
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# Every process would compile the package again if its bytecode were not kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test docs check check-fast compiled soak fuzz decisions mutants bench clean
demo: .venv/runtime
	$(BIN)/interloq demo -o out/demo

test: .venv/development
	$(MAKE) --jobs=2 check compiled
	$(PYTEST)

docs: .venv/development
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d out/site.doctrees docs out/site
	@echo out/site/index.html

# Compile all that the tests import while mypy, which uses one core, runs: each test process would do it again.
# Errors are ignored here because the tests report them.
compiled: .venv/development
	-@$(BIN)/python -m pytest --collect-only -qq > /dev/null

check-fast: check
	$(PYTEST) -m 'not slow' tests/data tests/statistics tests/metrics tests/score tests/agree tests/compare tests/rank tests/report tests/test_*.py

check: .venv/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: .venv/development
	$(BIN)/python -m tests.kill.soak

INPUTS ?= 1000000
fuzz: .venv/development
	$(BIN)/python -m tests.fuzz.fuzz --inputs $(INPUTS)

REPEATS ?= 1000
decisions: .venv/development
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.decisions --repeats $(REPEATS)

MUTANTS ?= 12
mutants: .venv/development
	$(BIN)/python -m tests.mutation --mutants $(MUTANTS)

bench: .venv/development
	$(BIN)/python benchmarks/all.py

clean:
	rm -rf .venv out build dist

# Stamp files: set-up runs again only when its inputs change.
.venv/python: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "interloq needs Python 3.11 or newer; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	touch $@

.venv/runtime: .venv/python
	$(PIP) --editable '.[demo]'
	touch $@

.venv/development: .venv/python
	$(PIP) --editable '.[all]' --group dev
	touch $@
