# Logician: `make run` serves it, `make test` tests it, `make check` lints it. Each sets up what it needs.

VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
TEST_MODELS ?= smollm2-135m qwen2.5-coder-0.5b

# A stamp's name carries a checksum of everything the environment is made from, so that a change makes it anew.
RUN_STAMP := $(VENV)/.run-$(shell cat requirements.txt constraints.txt pyproject.toml | cksum | tr -d ' ')
DEV_STAMP := $(VENV)/.dev-$(shell cat requirements.txt requirements-dev.txt constraints.txt pyproject.toml | cksum | tr -d ' ')

.PHONY: run test check format bench docs lock clean

run: $(RUN_STAMP)
	@$(BIN)/logician model pull --if-needed || echo "The model is not here yet; the page says what to do."
	@exec $(BIN)/python app.py

test: $(DEV_STAMP)
	@sh scripts/system-packages
	@for model in $(TEST_MODELS); do LOGICIAN_HOME="$(CURDIR)/.data" $(BIN)/logician model pull $$model \
		|| echo "Tests that need the weights of $$model will be skipped."; done
	LOGICIAN_TEST_MODELS="$(CURDIR)/.data/models" $(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_house.py

format: $(DEV_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_STAMP)
	$(BIN)/python -m benchmarks

docs: $(DEV_STAMP)
	$(BIN)/python -m logician_graph.settings_reference > docs/settings.md

lock:
	sh scripts/lock

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(RUN_STAMP):
	@sh scripts/make-venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps -e .
	@sh scripts/native-libraries $(BIN)/python
	@rm -f $(VENV)/.run-* $(VENV)/.dev-*
	@touch $@

$(DEV_STAMP):
	@sh scripts/make-venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps -e .
	@sh scripts/native-libraries $(BIN)/python
	@rm -f $(VENV)/.run-* $(VENV)/.dev-*
	@touch $(RUN_STAMP) $@
