# Each target sets up what it needs from nothing; a second run finds it ready.
VENV := .venv
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: help demo test check docs paper bench pins ends bare clean

help:
	@echo "make demo    answer questions about a generated table of meter readings"
	@echo "make test    all tests"
	@echo "make check   lint, types, import contract, docs"
	@echo "make docs    the documentation as a site, in build/site; needs no network to read"
	@echo "make paper   recompute every claim of the source paper, in paper-report"
	@echo "make bench   measurements, as ratios"
	@echo "make pins    resolve constraints.txt for every Python that is promised"
	@echo "make ends    test the oldest DuckDB and sqlglot that the extras allow"
	@echo "make bare    the commands of the README and all tests in a bare Debian, in build/bare; as root"
	@echo "make clean   remove what the others made"

demo: $(VENV)/.demo-ready
	$(BIN)/errorfloor demo --output demo-output

test: $(VENV)/.dev-ready
	$(BIN)/pytest -n auto

check: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict
	$(BIN)/pytest tests/repo

docs: $(VENV)/.dev-ready
	$(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

paper: $(VENV)/.demo-ready
	$(BIN)/errorfloor paper --output paper-report

bench: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks

pins: $(VENV)/.dev-ready
	$(BIN)/python scripts/resolve.py

ends: $(VENV)/.dev-ready
	scripts/ends tests/sql tests/engines tests/vault tests/bulk tests/service

bare:
	mkdir -p build
	scripts/bare-root build/bare bookworm all

clean:
	rm -rf $(VENV) .venv-peers* build demo-output paper-report .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.demo-ready: pyproject.toml constraints.txt scripts/environment
	scripts/environment $(VENV) "cli,plots,sql"
	@touch $@

$(VENV)/.dev-ready: pyproject.toml constraints.txt scripts/environment
	scripts/environment $(VENV) "dev"
	@touch $@ $(VENV)/.demo-ready
