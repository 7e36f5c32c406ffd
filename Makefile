# Everything a person or CI runs. Needs Python >= 3.11 and make; the targets install the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Hundreds of tests start a Python: it may keep the bytecode of what it imports.
unexport PYTHONDONTWRITEBYTECODE
# Tests that share a server stay in one process (tests/kit/schedule.py). Two processes more than there are processors:
# tests wait for half of their time, until something has started or a deadline has passed.
PYTEST := $(BIN)/python -m pytest --numprocesses $(shell expr $$(nproc) + 2) --maxprocesses 4

CONTAINERS ?= $(firstword $(notdir $(shell command -v podman docker)))

.DEFAULT_GOAL := help
.PHONY: help install demo quick test long fleet costs check format security fuzz cluster cloud bench generate image release site pictures clean

help:  ## Show this list.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# The pip that comes with Python 3.11 resolves for twice as long, and any pip compiles on one processor only.
$(READY): pyproject.toml src/kubescript_safety/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]' --editable src/kubescript_safety
	-$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib >/dev/null
	touch $@

install: $(READY)  ## Install kubescript, the safety benchmark and their tools into .venv.

demo: $(READY)  ## Run three scripts on a bundled snapshot of a broken cluster.
	$(BIN)/kubescript demo

quick: $(READY)  ## Format, lint and all unit tests that need neither a cluster nor a second each; a minute.
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(PYTEST) -m 'not cluster and not slow' tests/unit

test: check  ## Everything: format, types, imports, then all tests on a real API server, within their budget.
	$(PYTEST) --skip-unchanged --budget tests security_tests

long: $(READY)  ## What `make test` runs a sample of, whole: soaks, random plans, linear times at full size.
	KUBESCRIPT_TESTS=long $(PYTEST) -m sampled tests security_tests

fleet: $(READY)  ## Replicas behind a balancer, and hundreds of clusters: a part of `make long`.
	KUBESCRIPT_TESTS=long $(PYTEST) tests/end_to_end/fleet

chart: $(READY)  ## The Helm chart: lint, its sets of values by schema, and a real install, upgrade, rollback and uninstall.
	$(PYTEST) tests/end_to_end/chart

costs: $(READY)  ## Run all tests, and write what they cost into tests/costs.json: the budget of later runs.
	KUBESCRIPT_TESTS=long $(PYTEST) --record-costs tests security_tests

check: $(READY)  ## Format, lint, types, import contract; seconds.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)  ## Rewrite the code to the agreed format.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

security: $(READY)  ## The promises of docs/security.md, attack by attack.
	$(PYTEST) security_tests

fuzz: $(READY)  ## Two minutes of coverage-guided fuzzing of what the host reads from a worker.
	$(BIN)/python -m pip install --quiet atheris
	$(BIN)/python -m security_tests.fuzz.wire -max_total_time=60
	$(BIN)/python -m security_tests.fuzz.door -max_total_time=60

cluster: $(READY)  ## Start a real API server with a broken cluster in it; prints its kubeconfig.
	$(BIN)/python -m tests.kit.controlplane --kubeconfig build/kubeconfig

cloud: $(READY)  ## Start a real Keystone, Glance and Placement; prints how to use them.
	$(BIN)/python -m tests.kit.openstack --clouds build/clouds.yaml

bench: $(READY)  ## All benchmarks, one after the other, and what got worse (see benchmarks/README.md).
	$(BIN)/python -m benchmarks

generate: $(READY)  ## Write the tables and pages that are made from other files: the official client, rules, results of benchmarks.
	$(BIN)/python scripts/generate_operations.py
	$(BIN)/python scripts/generate_sdk_docs.py
	$(BIN)/python scripts/generate_sentences.py
	$(BIN)/python scripts/generate_roles.py
	$(BIN)/python scripts/generate_values_schema.py
	$(BIN)/python scripts/generate_figures.py

image: $(READY)  ## Build the container image `kubescript` with podman or docker, from Debian's packages alone.
	rm -rf build/image
	$(BIN)/python scripts/image_root.py build/image
	$(CONTAINERS) build --build-context root=build --tag kubescript --file Containerfile .

release: $(READY)  ## Build all that is published of this version into dist/, and check it.
	rm -rf dist
	$(BIN)/python -m scripts.release dist

site: $(READY)  ## Build the documentation site into build/site, strictly: no warning, no dead link.
	$(BIN)/python -m mkdocs build --strict --config-file packaging/site/mkdocs.yml

pictures: $(READY)  ## Draw the pictures of docs/images anew: a terminal, a trace, and the page of a plan.
	$(BIN)/python -m tests.kit.screenshots

publish: $(READY)  ## Push the signed image and the chart of dist/ to the place that KUBESCRIPT_IMAGE names.
	$(BIN)/python -m scripts.release.publish dist

clean:  ## Remove what the targets made here; the build cache in ~/.cache/kubescript stays.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
