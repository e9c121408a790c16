# Tasks for a checkout. `make encode` and `make test` set up everything that they need.
#
#   make encode [VMLINUX=FILE]  build, and encode a kernel: by default a small one of fixtures/
#   make test                   build, lint, check types, run all tests
#   make build                  the virtual environment (.venv) and the compiled core
#   make lint                   ruff, mypy, and the stubs of the core against the core
#   make wheels                 an sdist, and a wheel for each installed Python (dist/)
#   make man                    the manual pages of docs/man, from the help texts
#   make fixtures               recompile the test inputs and ask the reference about them
#   make conformance            compare whole kernels with the reference, byte for byte; fetches both
#   make conformance-modules    the same for the 1,121 modules of one
#   make fuzz [SECONDS= SEED=]  random damage against a build with sanitizers (docs/fuzzing.md)
#   make guided [SUBJECT= ...]  damage that coverage guides, to files, btf or programs
#   make sanitized              the tests of code that reads files, against a build with sanitizers
#   make races                  several workers and batches by threads, with ThreadSanitizer
#   make differential           compare 2,000 random programs with it (docs/development.md); SEEDS=0:100 takes fewer
#   make bench, bench-quick     time and memory against the reference
#   make annotate               Cython's annotated HTML of the core: yellow is where Python is called
#   make clean, distclean       remove what was built; also .venv and .cache

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXAMPLE := fixtures/bin/00_kernel_like.gcc-O2-5-exe.elf
VMLINUX ?= $(EXAMPLE)
OUT := build/$(notdir $(VMLINUX)).btf
GOLDEN := $(patsubst fixtures/bin/%.elf,fixtures/golden/%.usual.btf,$(filter fixtures/bin/%,$(VMLINUX)))
TESTS ?= tests
SECONDS ?= 300

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help encode test build lint wheels man fixtures conformance conformance-modules conformance-short differential fuzz
.PHONY: guided races sanitized bench bench-quick annotate clean distclean

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

$(VENV)/ready: pyproject.toml tools/project/venv.sh
	@tools/project/venv.sh $(PYTHON) $(CURDIR)/$(VENV)
	@touch $@

# ruff, mypy, pytest: encoding does not need them.
$(VENV)/tools: $(VENV)/ready
	@tools/project/venv.sh $(PYTHON) $(CURDIR)/$(VENV) dev
	@touch $@

$(VENV)/installed: $(VENV)/ready setup.py setup.cfg tools/project/isolate.sh
	@echo "compiling the core, a few minutes of CPU time"
	@$(BIN)/python setup.py -q build_ext --inplace --force
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@tools/project/isolate.sh $(BIN)/pybtf $(BIN)/pybtf-pahole
	@touch $@

# The compiled core must never be older than its sources, so the build runs each time. It compiles only what has
# changed.
build: $(VENV)/installed
	@$(BIN)/python setup.py -q build_ext --inplace

encode: build
	@mkdir -p build
	$(BIN)/pybtf encode --verbose --timings --report $(OUT).json --detached $(OUT) $(VMLINUX)
	@sha256sum $(OUT)
	@$(if $(GOLDEN),cmp $(OUT) $(GOLDEN) && echo "the same bytes as pahole 1.32 ($(GOLDEN))")

lint: build $(VENV)/tools
	$(BIN)/ruff check src tests tools setup.py
	$(BIN)/mypy
	$(BIN)/python -m tools.project.stubs

test: lint
	$(BIN)/python -m pytest $(TESTS)

man: build
	$(BIN)/python -m tools.project.man

fixtures: build
	$(BIN)/python -m tools.golden.fixtures build
	$(BIN)/python -m tools.golden.split_fixtures build

wheels: $(VENV)/ready
	$(BIN)/python -m tools.project.wheels

fuzz: build $(VENV)/tools
	$(BIN)/python -m tools.fuzz.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

SUBJECT ?= files
guided: build $(VENV)/tools
	$(BIN)/python -m tools.fuzz.guided --subject $(SUBJECT) --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

races: build
	$(BIN)/python -m tools.fuzz.races

sanitized: build $(VENV)/tools
	$(BIN)/python -m tools.fuzz.sanitized

conformance: build
	$(BIN)/python -m tools.compare.conformance

conformance-modules: build
	$(BIN)/python -m tools.compare.modules --distilled 100 --standalone 100

conformance-short: build
	$(BIN)/python -m tools.compare.conformance --short

SEEDS = 0:2000
differential: build
	$(BIN)/python -m tools.compare.differential --varied --seeds $(SEEDS)

bench: build
	@mkdir -p build
	$(BIN)/python -m tools.bench.bench --json build/bench.json
	$(BIN)/python -m tools.bench.bench_modules
	$(BIN)/python -m tools.bench.bench_merge
	$(BIN)/python -m tools.bench.bench_why
	$(BIN)/python -m tools.bench.bench_show
	$(BIN)/python -m tools.bench.bench_chart build/bench.json build/bench.svg

bench-quick: build
	$(BIN)/python -m tools.bench.bench --quick
	$(BIN)/python -m tools.bench.bench_modules --quick

annotate: $(VENV)/ready
	PYBTF_ANNOTATE=1 $(BIN)/python setup.py -q build_ext --inplace --force
	@find src/pybtf/core -name "*.html"

clean:
	rm -rf build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f src/pybtf/core/*.so tests/probe/*.so tests/probe/*.c $(VENV)/installed
	find src/pybtf/core -name "*.c" -o -name "*.html" | xargs rm -f
	find src tests tools -name __pycache__ -type d -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) .cache
