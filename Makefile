# Two commands on a machine that has only Python and make: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Processes that share the tests; `make test ARGS="-n 0"` runs them in one.
WORKERS := -n auto --maxprocesses 4 --dist worksteal
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready

.PHONY: help test test-peers peers test-slow test-mpi test-ptx test-gpu lint types demo bench stubs docs clean

help:
	@echo "make demo       install ingot and what it needs, then show the main job end to end"
	@echo "make test       install, then lint, types and tests (10 minutes on 2 cores)"
	@echo "make test-peers compare with PyTorch itself, which it installs: live, and the files of its results (7 minutes)"
	@echo "make test-slow  the tests that need more time, and rows of tables that take long"
	@echo "make test-ptx   GPU tests without a GPU, running what Triton compiles (an hour; ARCH=80 or 90)"
	@echo "make test-gpu   the tests that need an NVIDIA GPU (a few minutes on 16 cores)"
	@echo "make bench      benchmarks beside the peers (installs them: several GB)"
	@echo "make stubs      writes the .pyi stubs again"
	@echo "make docs       build the manual in build/manual (4 minutes on 2 cores)"

# PyTorch has an environment of its own: `make test` must pass without it.
PEERS := $(VENV)/peers
PEERS_READY := $(PEERS)/.ready

# The demo needs ingot alone; the tests add the extra `dev` to the same environment.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip setuptools wheel
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

$(PEERS_READY): pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip setuptools wheel
	PYTHONWARNINGS=ignore $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,peers]"
	@touch $@

LINT := $(BIN)/ruff check . && $(BIN)/python tools/prose.py
# The root is the package, whatever its folder is called: mypy finds it under its name through a link. The second run checks the
# stubs, which users get in its place; tests/product/test_typing.py checks them as the wheel has them.
TYPES := mkdir -p $(VENV)/types && ln -sfn "$(CURDIR)" $(VENV)/types/ingot && \
	MYPYPATH=$(VENV)/types $(BIN)/mypy -p ingot && $(BIN)/mypy --cache-dir .mypy_cache/stubs -p ingot
CHECKED := $(VENV)/checked.log

lint: $(READY)
	$(LINT)

types: $(READY)
	$(TYPES)

# Lint and types run beside the tests. Their faults are shown at once, and all that they say at the end.
test: $(READY)
	@($(LINT) && $(TYPES)) > $(CHECKED) 2>&1 || { echo "lint or types failed:"; cat $(CHECKED); false; } & checks=$$!; \
	$(BIN)/python -m pytest -m "not slow and not gpu and not peer" $(WORKERS) $(ARGS); tests=$$?; \
	wait $$checks; checks=$$?; echo "lint and types:"; cat $(CHECKED); exit $$((tests | checks))

peers: $(PEERS_READY)

test-peers: $(PEERS_READY)
	$(PEERS)/bin/python tools/write_oracle.py --check
	$(PEERS)/bin/python -m pytest -m "peer and not slow and not gpu" $(WORKERS) $(ARGS)

test-slow: $(READY)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[fuzz,models,notebook]"
	$(BIN)/python -m pytest -m "slow and not peer" --whole-tables $(ARGS)

# the ranks of tests are connected by MPI
test-mpi: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[mpi]"
	INGOT_ENGINE=mpi $(BIN)/python -m pytest -m "not slow and not gpu" tests/runtime/distributed tests/runtime/nn/parallel $(ARGS)

ARCH ?= 90
test-ptx: $(READY)
	$(BIN)/python -m pytest -m "not slow and not gpu" --timeout 600 --ptx $(ARCH) tests/runtime/cuda tests/passes/codegen/triton tests/passes/schedule/test_concat_placement.py $(ARGS)

# A machine with a GPU may have all that is needed, and no network: then nothing is installed. Each test compiles kernels, which
# takes longer than they run, so several processes share the device.
GPU_NEEDS := hypothesis llvmlite ml_dtypes networkx numpy pytest rich safetensors triton xdist
GPU_TESTS := -m pytest -m gpu -n auto --maxprocesses 8 --dist worksteal tests/runtime/cuda/test_real_device.py tests/runtime/cuda/test_pitfalls.py tests/runtime/distributed/engines/test_nccl_real_device.py
test-gpu:
	@if $(PYTHON) -c "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))" $(GPU_NEEDS); \
	then $(PYTHON) $(GPU_TESTS) $(ARGS); else $(MAKE) $(READY) && $(BIN)/python $(GPU_TESTS) $(ARGS); fi

demo: $(INSTALLED)
	$(BIN)/python -m ingot demo

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	$(BIN)/python -m benchmarks $(ARGS)

stubs: $(READY)
	$(BIN)/python -m ingot.tools.stubs

# The manual has an environment of its own. Once that is installed, a build needs no network. Warnings are errors.
DOCS := $(VENV)/docs
DOCS_READY := $(DOCS)/.ready

$(DOCS_READY): pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	PYTHONWARNINGS=ignore $(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@

docs: $(DOCS_READY)
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -j 2 docs build/manual $(ARGS)
	@echo "open build/manual/index.html"

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
