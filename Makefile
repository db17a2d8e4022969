# Every target sets up what it needs in .venv, from a bare Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
EXTRAS := embedded,web
CONSTRAINTS := constraints.txt

.DEFAULT_GOAL := help

.PHONY: help tui chat test test-lowest check lint bench lock clean

help: ## Show the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 12

$(VENV)/.python: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "tau needs Python 3.11, 3.12 or 3.13; $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12" % sys.version_info[:2])'
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments; install its venv package (Debian: python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python pyproject.toml $(CONSTRAINTS)
	$(PIP) install --quiet --constraint $(CONSTRAINTS) --editable '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml $(CONSTRAINTS)
	$(PIP) install --quiet --constraint $(CONSTRAINTS) --editable '.[all,dev]'
	$(PIP) install --quiet --no-deps ./tests/fixtures/tau-store-jot
	@touch $@ $(VENV)/.run

tui: $(VENV)/.run ## Install everything and open tau
	@$(BIN)/tau tui

chat: override export PROMPT := $(value PROMPT)
chat: $(VENV)/.run ## Ask one question: make chat PROMPT="…"
	@$(BIN)/tau model install --yes --if-needed
	@$(BIN)/tau run "$$PROMPT"

# The command is started a thousand times: what Python compiled for the first start serves the others.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.dev ## Install everything and run the tests
	@$(BIN)/python -m pytest --numprocesses 4 --dist worksteal

test-lowest: ## Run the tests with the oldest dependencies that are allowed
	@$(MAKE) test VENV=.venv-lowest CONSTRAINTS=constraints-lowest.txt

lint: $(VENV)/.dev ## Style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## What pre-commit and CI run

bench: $(VENV)/.dev ## Print the benchmarks, each ratio with its bar
	@missed=0; for name in start tui screen turns tools stores listing recall recall_time input tasks; do \
		$(BIN)/python -m benchmarks.$$name || missed=1; done; exit $$missed

lock: $(VENV)/.dev ## Pin what is installed now into constraints.txt
	$(PIP) freeze --exclude-editable --exclude tau-store-jot > constraints.txt

clean: ## Remove the environment and caches
	rm -rf $(VENV) .venv-lowest .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
