# make demo   set up, then the whole job on embedded data: train, search, rate, score; ends with a report
# make test   set up, check style and types, run the tests
# make check  ruff and mypy alone; make check-fast: also a quick part of the tests, under a minute
# make soak   kill -9 at random moments of every verb (TRIALS=200)
# make fuzz   a million hostile files for all readers (INPUTS=1000000, about 20 minutes)
# make bench  the benchmarks (minutes)
PYTHON ?= python3
BIN := .venv/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet

# two processes with one thread each: networks of tests are small, and threads that wait for each other cost more
JOBS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

.PHONY: demo test check check-fast soak fuzz bench clean
demo: .venv/runtime
	$(BIN)/interloq demo -o out/demo

test: check
	$(PYTEST)

check-fast: check
	$(PYTEST) -m 'not slow' tests/data tests/meta tests/metrics tests/report tests/test_*.py

check: .venv/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: .venv/development
	$(BIN)/python tests/kill/soak.py

INPUTS ?= 1000000
fuzz: .venv/development
	$(BIN)/python tests/fuzz/fuzz.py --inputs $(INPUTS)

bench: .venv/development
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv out build dist

# Stamps: set-up runs again only when what it depends on changes.
.venv/runtime: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "interloq needs Python 3.11 or newer; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	$(PIP) --editable '.[rater,retrieve]'
	touch $@

.venv/development: .venv/runtime
	$(PIP) --editable '.[all]' --group dev
	touch $@
