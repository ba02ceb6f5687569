# Everything runs in .venv, made on demand; nothing else on the machine is touched.
#
#   make PYTHON=python3.13 VENV=.venv313 test     another interpreter, in a folder of its own
#   make JOBS=8 test                more test processes

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2

BIN     := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY      := $(BIN)/python
STAMP   := $(VENV)/.installed
BYTES   := $(VENV)/.compiled
LACKING := $(VENV)/.lacking
PAGE    ?= report.html
SITE    ?= build/docs
FUZZ_S  ?= 600
QUICK   := tests/formula tests/records tests/runtime tests/lower/test_without_fma.py tests/project/test_architecture.py \
  tests/project/test_wording.py
# Frameworks, forks and long loops: left to `make test`.
SLOW    := tests/runtime/test_array_libraries.py tests/runtime/test_names.py tests/runtime/test_threads.py \
  tests/runtime/test_formula_random.py

LARGE   := jax keras scipy tensorflow torch
# Tests share two cores. Freed memory is reused, because the system would clear it for the next
# array; threads of OpenBLAS and OpenMP do not wait in loops.
TUNED   := MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=268435456 \
  OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
# Tests start hundreds of processes: compiled modules are saved.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help report docs golden notebooks test check quick lint lint-and-bytes format exhaustive certificates quantized facts accuracy speed figures bench fuzz fits digests catalogue native stubs support arm install clean distclean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

report: $(STAMP) ## the studies on one page, report.html: which activation, and what it costs here
	$(PY) -m softgate report -o $(PAGE)

docs: $(STAMP) ## the documentation site in build/docs, with links checked and warnings as errors
	$(PY) tools/docs/build_site.py -o $(SITE)

golden: $(STAMP) ## write the records in tests/golden again, which the behaviour tests compare
	SOFTGATE_WRITE_GOLDEN=1 $(PY) -m pytest -q tests/behaviour

notebooks: $(STAMP) ## execute the notebooks and store their outputs
	$(PY) tools/docs/notebooks.py

test: lint-and-bytes ## install what tests need, then lint, types, layers and all tests
	$(TUNED) $(PY) -m pytest -n $(JOBS) --dist worksteal
	@cat $(LACKING)

check: $(STAMP) ## lint, types, layers and the tests that need no framework: for every edit
	@$(MAKE) --no-print-directory --jobs=2 lint quick

quick: $(STAMP)
	$(TUNED) $(PY) -m pytest -q -n $(JOBS) $(QUICK) $(addprefix --ignore=,$(SLOW))

lint: $(STAMP) ## ruff, mypy and the layer contract
	@cat $(LACKING)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	test -s $(LACKING) || $(PY) -m mypy
	$(BIN)/lint-imports --no-logo

# At once: mypy runs in one process.
lint-and-bytes: $(STAMP)
	@$(MAKE) --no-print-directory --jobs=2 lint $(BYTES)

format: $(STAMP) ## format the code with ruff
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

exhaustive: $(STAMP) ## all 2^32 float32 inputs of every activation, and the longest tests
	$(PY) tools/exhaustive.py
	$(PY) -m pytest -m exhaustive

figures: certificates speed quantized facts ## every table and picture of the README and of docs

certificates: $(STAMP) ## certify ours and every installed peer: docs/accuracy.md, README
	$(PY) tools/docs/accuracy_page.py

quantized: $(STAMP) ## count onnxruntime's int8 entries that are not rounded once: docs/guide.md
	$(PY) tools/docs/quantized_table.py

facts: $(STAMP) ## measure the facts and run the commands at the top of the README
	$(PY) tools/docs/readme_facts.py

accuracy: $(STAMP) ## the largest float64 errors, searched for with arb
	$(PY) tools/against_arb.py

speed: $(STAMP) ## time every implementation installed: docs/speed.md, pictures, README
	$(PY) tools/docs/speed_page.py
	$(PY) tools/docs/speed_table.py --measure

bench: $(STAMP) ## time the kernels against PyTorch and JAX, each with its limit
	$(PY) benchmarks/kernels.py

fuzz: $(STAMP) ## attack every input with random and damaged data for FUZZ_S seconds: docs/security.md
	$(PY) tools/fuzz --seconds $(FUZZ_S) --write

fits: $(STAMP) ## derive every coefficient and colour again and compare with the source
	$(PY) tools/fits/derive_coefficients.py --check
	$(PY) tools/derive_colours.py --check

digests: $(STAMP) ## compute the published bits of every function again, and print what changed
	$(PY) tools/publish_digests.py

native: $(STAMP) ## lower/native.ll from lower/native.c, by clang
	$(PY) tools/compile_native.py

catalogue: $(STAMP) ## what is derived from the catalogue, after a function is added: stubs, colours, digests, docs
	$(PY) tools/write_stubs.py
	$(PY) tools/derive_colours.py
	$(PY) tools/publish_digests.py --missing
	$(PY) tools/against_arb.py --missing
	$(PY) tools/docs/accuracy_page.py --missing
	$(PY) tools/docs/write_names.py

stubs: $(STAMP) ## the .pyi files of the public modules, from the catalogue and the sources
	$(PY) tools/write_stubs.py

support: $(STAMP) ## the README's table of what was run, from docs/support.toml
	$(PY) tools/docs/support_table.py

arm: $(STAMP) ## the published digests and the tests of the kernels on AArch64, emulated by QEMU
	$(PY) tools/run_on_arm.py --jobs $(JOBS)

install: $(STAMP) ## make .venv with softgate (editable) and what tests and benchmarks need

clean: ## remove what tools leave behind
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## and .venv
	rm -rf $(VENV)

$(PY):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("softgate needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] + ": make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
# uv installs in a third of the time. Where it is missing, a newer pip resolves faster.
	$(PY) -m pip install --quiet uv || $(PY) -m pip install --quiet --upgrade pip

$(STAMP): pyproject.toml constraints.txt tools/install.py | $(PY)
# On Linux only PyTorch's CPU build will do, and there is none for every Python.
	@: > $(LACKING)
	@$(PY) -m pip install --dry-run --quiet --no-deps --constraint constraints.txt torch >/dev/null 2>&1 \
	|| $(PY) -c 'import sys; print("Left out: PyTorch (constraints.txt), of which pip finds no CPU build for Python", sys.version.split()[0] + ",\nand mypy, which needs its types. Tests that need PyTorch are skipped. PIP_FIND_LINKS can name a folder with a wheel.")' >$(LACKING)
# Triton apart, and only where there is a wheel: in one process with TensorFlow it aborts.
	$(PY) tools/install.py --no-deps --constraint constraints.txt --target $(VENV)/triton --upgrade 'triton>=3.9' & \
	$(PY) tools/install.py --constraint constraints.txt --editable ".[test$$(test -s $(LACKING) && echo -core)]" && wait
	@touch $@

# The largest packages, on all cores; others are compiled when a test first imports them.
$(BYTES): $(STAMP)
	@-cd $$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	&& $(abspath $(PY)) -W ignore -m compileall -qq -j 0 -x 'torch/testing/' $(LARGE)
	@touch $@
