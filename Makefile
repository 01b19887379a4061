# Everything that is done with this project, by one name each. `make help` lists it.

VENV   ?= .venv
PY     := $(VENV)/bin/python
BENCH  ?= bench.growth bench.compare
QUICK  ?=

.DEFAULT_GOAL := help
.PHONY: help setup java demo demo-kafka chaos-connectors format lint options check test bench docs chaos clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev java ## make .venv with the package and the development tools; check for Java

java: ## check that there is a Java of version 17 or newer, install one where that is possible
	@scripts/ensure-java

demo: $(VENV)/.base java ## watch a stream of sensor readings being worked on
	@$(PY) examples/demo.py

demo-kafka: $(VENV)/.dev java ## watch Kafka -> windows -> MySQL, with servers of its own
	@$(PY) -m tools.demo_kafka

chaos-connectors: $(VENV)/.dev java ## kill a job and its servers at random, ROUNDS times (20)
	@$(PY) -m tests.services.chaos.harness --rounds $(or $(ROUNDS),20)

format: $(VENV)/.dev ## write the code in the one format and sort its imports
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

lint: $(VENV)/.dev ## check format, lint, types and import contracts
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

options: $(VENV)/.base ## write the tables of settings into README.md and docs
	@$(PY) scripts/write-options

check: lint ## lint, and the tests that need no Spark: what to run before each commit
	$(PY) -m pytest -q -m "not spark" --ignore=src/penstock/spark

test: lint java ## lint, and all tests; quick ones first, those on Spark last
	VENV=$(VENV) scripts/run-tests

bench: $(VENV)/.dev java ## measure beside the peers, which it installs (QUICK=1: in some minutes)
	@for module in $(BENCH); do echo "== $$module"; $(PY) -m $$module $(if $(QUICK),--quick) || exit 1; done

docs: $(VENV)/.dev ## build the documentation as a site in site/, links checked
	$(PY) -m mkdocs build --strict --quiet

chaos: $(VENV)/.dev java ## harm random programs at random (ROUNDS=20, SEED=0), and count what is not right
	@$(PY) -m tests.spark.faults.chaos --rounds $(or $(ROUNDS),20) --seed $(or $(SEED),0)

clean: ## remove the environment and everything that was generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf dist build site spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@scripts/make-venv $(VENV)

# Stamp files: an install runs again only when what it installs has changed.
$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	@echo "installing penstock and what it needs into $(VENV) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@echo "installing penstock and the development tools into $(VENV) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(VENV)/.base $@
