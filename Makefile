# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
# The first of the two that runs here.
PYTHON ?= $(or $(shell for p in python3.11 python3.12; do $$p -c '' 2>/dev/null && echo $$p && break; done),python3.11)
BIN := .venv/bin
# Two processes, whatever the machine has: the slow tests start processes with a model of their own.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile
export DAGSTER_DISABLE_TELEMETRY := yes

.PHONY: demo test test-all lint ui clean

demo: .venv/ready
	$(BIN)/dagster asset materialize -m geo_assets.definitions --select '*'
	@echo "Report: $(or $(GEO_HOME),artifacts)/report/latest/report.html"

test: .venv/ready
	$(PYTEST) -m "not slow and not graph"

test-all: .venv/ready
	$(PYTEST)

lint: .venv/ready
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	. $(BIN)/activate && dagster definitions validate && dagster asset list --select 'key:train_learnable+'

ui: .venv/ready
	$(BIN)/dagster dev -h 127.0.0.1

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,demo-page]'
	grep -q DAGSTER_MODULE_NAME $(BIN)/activate || echo 'export DAGSTER_MODULE_NAME=geo_assets.definitions' >> $(BIN)/activate
	touch $@

clean:
	rm -rf .venv artifacts .dagster
