# Each target sets up what it needs from nothing; a second run finds it ready.
VENV := .venv
BIN := $(VENV)/bin
# One more process of quick tests than there are cores: some wait for a server or a disk.
WORKERS := $(shell echo $$(($$(nproc) + 1)))
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1
unexport PYTHONDONTWRITEBYTECODE # hundreds of processes of the tests would compile everything anew

.PHONY: help demo quick test check clients docs paper soak bench pins editor ends bare clean

help:
	@echo "make demo    answer questions about a generated table of meter readings"
	@echo "make quick   the tests of a minute and a half: no server of another engine, no browser, no kills, no file of more than about three seconds"
	@echo "make test    all tests, and the documentation as a site"
	@echo "make check   lint, types, import contract"
	@echo "make clients the PostgreSQL door with R, JDBC, ODBC and Node too, which it installs as root"
	@echo "make docs    the documentation as a site, in build/site; needs no network to read"
	@echo "make paper   recompute every claim of the source paper, in paper-report"
	@echo "make soak    the tests that try at random, fifty times as long"
	@echo "make bench   measurements, as ratios"
	@echo "make pins    resolve constraints.txt for every Python that is promised"
	@echo "make editor  bundle the editor of the pages anew, from the versions in scripts/editor/package.json; needs npm"
	@echo "make ends    test the oldest DuckDB and sqlglot that the extras allow"
	@echo "make bare    the commands of the README and all tests in a bare Debian, in build/bare; as root"
	@echo "make clean   remove what the others made"

demo: $(VENV)/.demo-ready
	$(BIN)/errorfloor demo --output demo-output

quick: $(VENV)/.dev-ready
	$(BIN)/pytest -n $(WORKERS) -m "not engines and not browser and not kills and not long and not clients"

test: $(VENV)/.dev-ready
	$(BIN)/pytest -n auto

check: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clients: $(VENV)/.dev-ready
	scripts/environment $(VENV) "dev,clients"
	$(BIN)/pytest -m clients

docs: $(VENV)/.dev-ready
	$(BIN)/mkdocs build --strict
	@echo "open build/site/index.html"

paper: $(VENV)/.demo-ready
	$(BIN)/errorfloor paper --output paper-report

soak: $(VENV)/.dev-ready
	@seed=$${ERRORFLOOR_SEED:-$$(date +%s)}; echo "ERRORFLOOR_SEED=$$seed"; \
	ERRORFLOOR_SOAK=1 ERRORFLOOR_SEED=$$seed $(BIN)/pytest -n auto -m soak

bench: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks

pins: $(VENV)/.dev-ready
	$(BIN)/python scripts/resolve.py

editor: $(VENV)/.dev-ready
	$(BIN)/python scripts/write_editor.py

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
