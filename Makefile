# Sets itself up: what needs Python makes `.venv` first, from the locked requirements, once.
# Wants Python 3.11 or newer with venv and, the first time, a package index; nothing else.

SHELL := /bin/bash
PYTHON ?= python3
# Another Python than the usual one gets a folder of its own: make test PYTHON=python3.12
ifeq ($(PYTHON),python3)
VENV := .venv
else
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
endif
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
ARGS ?=
WORKERS ?= auto
GUESTS ?= 2
SOAK_S ?= 600

# Bytecode is kept: hundreds of tests start a program, and each would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

# Two workers more than cores, as some tests wait. Each begins with a stretch of its own, so that what a file or a run makes once is
# made about once, and who is done takes half of what another has left. One that dies ends the run:
# pytest names the test that it was at.
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --max-worker-restart 0

# Stamps carry a checksum of what they were made from, so that a changed lock installs again and an
# unchanged one costs nothing, whatever the files' times say.
sum = $(shell { $(PYTHON) -c 'import sys; print(sys.version)'; cat $(1); } 2>&1 | cksum | cut -d' ' -f1)
MADE := $(VENV)/.made-$(call sum,requirements/build.txt)
OURS := $(VENV)/.ours-$(call sum,requirements/build.txt pyproject.toml)
RUN := $(VENV)/.run-$(call sum,requirements/build.txt requirements/run.txt)
TEST := $(VENV)/.test-$(call sum,requirements/build.txt requirements/test.txt)
BENCH := $(VENV)/.bench-$(call sum,requirements/build.txt requirements/bench.txt)
RELEASE := $(VENV)/.release-$(call sum,requirements/build.txt requirements/release.txt)
PARTS := build/parts/.made-$(call sum,requirements/build.txt requirements/run.txt)

# What is built carries the time of its commit, not that of the build, so that the same files give the same bytes
# everywhere. In an unpacked source archive each file carries that time.
wheel deb man: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y PKG-INFO)

.PHONY: help demo test test-kernel test-all test-pythons quick check docs same layouts soak mutants compare bench wheel staff-pages man deb test-deb release lock clean
.DEFAULT_GOAL := help

help:  ## list what can be made
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' Makefile | expand -t 19
	@echo 'ARGS="..." passes options on to what runs.'

demo: $(OURS) $(RUN)  ## deal a whole shoe at a simulated table; ARGS="--rounds 5"
	@$(BIN)/shoectl demo $(ARGS)

test: $(OURS) $(TEST)  ## test every behavior; ARGS="-k overdraw" for a part
	@$(PYTEST) $(ARGS)

test-kernel: $(OURS) $(TEST)  ## test devices at Debian's kernel, in QEMU; ARGS="-k bulk"
	@$(PYTEST) -n $(GUESTS) --dist load --maxschedchunk 1 -m "guest and not exhaustive" tests/kernel $(ARGS)

test-all: $(OURS) $(TEST)  ## all tests, long searches too; ARGS="-m exhaustive"
	@$(PYTEST) -m "not soak and not deb and not guest" --hypothesis-profile thorough $(ARGS)

test-pythons:  ## make quick on each supported Python that is found
	@for python in $$(bash requirements/pythons.sh); do \
		echo "== $$python"; $(MAKE) --no-print-directory quick PYTHON="$$python" || exit 1; done

quick: $(OURS) $(TEST)  ## test without processes; ARGS="tests/unit/table" for a part
	@$(PYTEST) -m "not slow and not exhaustive and not soak and not guest" $(ARGS)

check: $(OURS) $(TEST)  ## format, lint, types, imports and words; before each commit
	@echo "check: format" && $(BIN)/ruff format --check --quiet --output-format concise .
	@echo "check: lint" && $(BIN)/ruff check --quiet --output-format concise .
	@echo "check: types" && $(BIN)/mypy
	@echo "check: imports" && $(BIN)/lint-imports --no-logo
	@echo "check: words" && $(BIN)/codespell && $(BIN)/python tools/prose.py
	@echo "check: passed"

docs: $(OURS) $(TEST)  ## write the reference pages, the recording, guides' examples
	@$(BIN)/python -m tools.reference_pages
	@$(BIN)/python -m shoe_ctl.table.diagram > docs/architecture/state-diagram.md
	@$(BIN)/python tools/recordings.py
	@$(BIN)/python -m tools.explained_scenarios
	@$(BIN)/python tools/guide_examples.py

same: $(OURS) $(TEST)  ## play recorded runs again and compare; ARGS=record renews
	@$(BIN)/python -m tests.corpus $(ARGS)

layouts: $(OURS) $(RUN)  ## derive code and tables from layouts.py; ARGS=--check
	@$(BIN)/python -m firmware_proto.kit.compile_layouts $(ARGS)

soak: $(OURS) $(TEST)  ## test with fresh seeds for SOAK_S=600 seconds
	@SHOE_CTL_SOAK_S=$(SOAK_S) SHOE_CTL_SEED=$${SHOE_CTL_SEED:-random} $(BIN)/python -m pytest -q -m soak $(ARGS)

mutants: $(OURS) $(TEST)  ## plant faults, list what no test notices; ARGS="--part table"
	@$(BIN)/python -m tools.mutants $(ARGS)

compare: $(OURS) $(TEST)  ## compare a card with the parent commit
	@$(BIN)/python -m bench._parent $(ARGS)

bench: $(OURS) $(BENCH)  ## measure all promises; ARGS="line tables" for some
	@$(BIN)/python -m bench._report $(ARGS)

wheel: $(RELEASE) $(PARTS)  ## build wheel, source archive and bill of materials: dist/
	@$(BIN)/python -m hatchling build -d dist
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		-o dist/shoe_ctl-$$($(BIN)/python -m hatchling version).cdx.json build/parts

staff-pages: $(OURS) $(TEST)  ## write staff pages for printing: build/staff; ARGS=--pdf
	@$(BIN)/python tools/staff_pages.py $(ARGS)

man: $(OURS) $(RUN)  ## write man pages and shell completion: build/
	@rm -rf build/man build/completion
	@$(BIN)/python tools/manual.py build

deb: wheel man  ## build the Debian package: dist/
	@$(BIN)/python debian/build.py $(ARGS)

test-deb: $(OURS) $(TEST) deb  ## install, upgrade, purge the package; needs root, debootstrap
	@$(BIN)/python -m pytest -q -n 0 -m deb tests/packaging $(ARGS)

release: $(OURS) $(TEST)  ## test, set the version, build all twice, compare, name the tag
	@$(BIN)/python tools/release.py $(ARGS)

lock:  ## pin the requirements anew, with hashes; ARGS="--upgrade"
	@PYTHON="$(PYTHON)" bash requirements/lock.sh $(ARGS)

clean:  ## remove what was made here
	@rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@rm -rf clients/typescript/node_modules clients/typescript/dist clients/typescript/.building
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@command -v $(PYTHON) >/dev/null || \
		{ echo "Python is missing, install it: sudo apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed, name one: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv is missing, install it: sudo apt-get install python3-venv" >&2; exit 1; }
	@echo "setting up: $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --only-binary :all: -r requirements/build.txt
	@rm -f $(VENV)/.made-* && touch $@

$(OURS): | $(MADE)
	@echo "setting up: shoe-ctl itself"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.ours-* && touch $@

# Without build isolation the one source package (cobs) is built with the locked tools above.
define install
	@echo "setting up: $(1)"
	@$(PIP) install --require-hashes --no-build-isolation -r $(1)
	@rm -f $(VENV)/.$(2)-* && touch $@
endef

$(RUN): | $(MADE)
	$(call install,requirements/run.txt,run)

$(TEST): | $(MADE)
	$(call install,requirements/test.txt,test)

$(BENCH): | $(MADE)
	$(call install,requirements/bench.txt,bench)

$(RELEASE): | $(MADE)
	$(call install,requirements/release.txt,release)

# The locked requirements as wheels, and an environment that holds them and nothing else. cobs is compiled
# here: without debug information and the build's folders in it, its bytes are the same wherever it was built.
$(PARTS): | $(MADE)
	@echo "setting up: build/parts"
	@rm -rf build/parts build/wheels
	@CC=cc LDSHARED="cc -shared" CFLAGS="-g0 -O2" $(PIP) wheel --require-hashes --no-deps --no-build-isolation --no-cache-dir \
		-w build/wheels -r requirements/run.txt
	@sed -nE 's/^([a-z0-9-]+==[^ ]+) .*/\1/p' requirements/run.txt > build/wheels/requirements.txt
	@$(BIN)/python -m venv --without-pip build/parts
	@PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS=build/wheels \
		$(PIP) --python build/parts/bin/python install --no-deps -r build/wheels/requirements.txt
	@touch $@
