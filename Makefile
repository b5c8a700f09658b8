PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
BIN := .venv/bin
INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet
PINNED := $(INSTALL) --no-deps --require-hashes --requirement
ITSELF := $(INSTALL) --no-deps --no-build-isolation --editable .
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 pyproject.toml

.PHONY: mock suite test test-all lint format generators prove situations pictures site mutants mutation bench soak release lock clean

mock: .venv/.mock  ## serve the demo data
	@$(BIN)/mock-server $(if $(filter command,$(origin PORT)),--port $(PORT)) $(ARGS)

suite: .venv/.suite  ## install contract-tests
	@echo "$(BIN)/contract-tests is ready"

test: .venv/.dev  ## run the quick tests
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

test-all: .venv/.dev  ## run all tests, also those that are slow or exhaustive
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory tests/mutants/express/node_modules/.ready; fi
	$(MAKE) --no-print-directory test ARGS="-m '' $(ARGS)"

lint: .venv/.dev  ## check the code, and the contract where Node is there
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tests/naming.py
	$(BIN)/mypy
	$(BIN)/openapi-spec-validator openapi.yaml
	$(BIN)/python requirements/audit.py
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory lint-contract; \
	else echo "no Node here: Spectral and Redocly did not check openapi.yaml"; fi

.PHONY: lint-contract
lint-contract: node_modules/.ready
	npx --no-install spectral lint openapi.yaml --fail-severity=hint
	npx --no-install redocly lint openapi.yaml mock_server/control/openapi.yaml --max-problems=1000

format: .venv/.dev  ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generators: tests/generators/node_modules/.ready  ## install generators of clients, so that the tests try them

situations: .venv/.dev  ## judge correct servers in the weather of real deployments, and print a table
	$(BIN)/python tests/situations.py $(ARGS)

site: .venv/.dev  ## build a site of all pages, with search, in build/site; a link that leads nowhere is an error
	$(BIN)/sphinx-build -q -W --keep-going -c docs . build/site

pictures: .venv/.dev  ## take the pictures of the README again, from real runs; needs Chromium
	$(BIN)/python tests/pictures.py

prove: .venv/.dev  ## check that each rule fails exactly when it should
	$(BIN)/contract-tests prove $(ARGS)

mutants: .venv/.dev tests/mutants/express/node_modules/.ready  ## run the suite against three independently written servers, with planted bugs and mutations; needs Node and PHP
	$(BIN)/python tests/mutants/judge.py slips $(ARGS)
	$(BIN)/python tests/mutants/judge.py mutants $(ARGS)

mutation: .venv/.dev  ## mutate the rules' code, and check that a test fails
	$(BIN)/python tests/mutation.py

bench: .venv/.dev  ## measure: beside other mocks, layer by layer, and the suite
	$(BIN)/python bench/mock.py $(ARGS)
	$(BIN)/python bench/layers.py
	$(BIN)/python bench/suite.py

soak: .venv/.dev  ## let hostile clients loose on a mock, then a mixed load for an hour, and print what memory that takes
	$(BIN)/python bench/soak.py
	$(BIN)/python bench/hour.py --minutes $(or $(MINUTES),60)

release: .venv/.dev  ## build a wheel, a source distribution and a file for each command, the same each time
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(MAKE) --no-print-directory dist/mock-server.pyz dist/contract-tests.pyz

dist/mock-server.pyz: NEEDS := mock
dist/contract-tests.pyz: NEEDS := suite
dist/%.pyz:
	rm -rf build/$*
	$(PINNED) requirements/$(NEEDS).txt --no-compile --target build/$*
	rm -r build/$*/bin
	$(INSTALL) --no-deps --no-compile --target build/$* dist/*.whl
	rm -r build/$*/bin build/$*/*.dist-info/RECORD build/$*/*.dist-info/direct_url.json
	$(BIN)/shiv --reproducible --python '/usr/bin/env python$(VERSION)' --site-packages build/$* --console-script $* --output-file $@

lock: .venv/.dev  ## pin all versions with their hashes, as constraints.txt has them; an empty constraints.txt asks for newer ones
	mkdir -p build
	$(LOCK) --extra dev --extra mutation --output-file constraints.txt
	sed 's/ .*//; /^$$/d' constraints.txt >build/pins.txt
	$(LOCK) --extra build --extra forward --extra redis --constraint build/pins.txt --output-file requirements/mock.txt
	$(LOCK) --extra build --extra tests --constraint build/pins.txt --output-file requirements/suite.txt

clean:
	rm -rf .venv node_modules tests/generators/node_modules tests/mutants/express/node_modules build dist

.venv/.python$(VERSION):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "This needs Python 3.11 or later, and $(PYTHON) is Python $(VERSION). \
	Name another: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/.mock: .venv/.python$(VERSION) pyproject.toml requirements/mock.txt
	@echo "Setting up .venv (once, about 20 seconds)"
	@$(PINNED) requirements/mock.txt
	@$(ITSELF)
	@touch $@

.venv/.suite: .venv/.python$(VERSION) pyproject.toml requirements/suite.txt
	@echo "Setting up .venv (once, about 30 seconds)"
	@$(PINNED) requirements/suite.txt
	@$(ITSELF)
	@touch $@

.venv/.dev: .venv/.python$(VERSION) pyproject.toml constraints.txt
	@echo "Setting up .venv for development (once, about a minute)"
	@$(PINNED) constraints.txt
	@$(ITSELF)
	@touch $@ .venv/.mock .venv/.suite

node_modules/.ready: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

tests/%/node_modules/.ready: tests/%/package.json tests/%/package-lock.json
	cd tests/$* && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
