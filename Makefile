.PHONY: help setup run quick quick-tests rest test test-servers phoenix check lint types format attack lock bench evaluate docs pictures clean
.DEFAULT_GOAL := help

unexport PYTHONDONTWRITEBYTECODE  # tests start many processes: what is compiled once is compiled for all

python := .venv/bin/python
paths := app.py setup.py agent athena doors memory pipeline readers mission ui evals bench training tests scripts

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## make .venv with everything in it, tests' tools included (one to two minutes)
	@scripts/setup.sh test

run:  ## install what running needs, index docs_corpus/, open the chat on http://127.0.0.1:8501
	@scripts/setup.sh run
	@echo "Indexing …"
	@.venv/bin/athena ingest || [ $$? -ne 130 ]  # what could not be read is no reason not to open the chat
	@.venv/bin/athena serve

check: lint types  ## formatting, lint and strict types

lint: setup
	@.venv/bin/ruff format --check --quiet $(paths)
	@.venv/bin/ruff check --quiet $(paths)

types: setup
	@.venv/bin/mypy

quick: lint  ## check, and the tests without browser, servers, kills and slow ones (two minutes)
	@$(MAKE) --no-print-directory --jobs=2 types quick-tests  # types alone would leave cores idle

quick-tests: setup
	@$(python) -m pytest -q -n auto --dist loadgroup -m "not browser and not server and not kill and not package and not slow"

rest: setup  ## the tests that quick leaves out, browser journeys included
	@scripts/chromium.sh
	@$(python) -m pytest -n auto --dist loadgroup -m "(kill or package or slow) and not browser and not server and not attack"
	@$(python) -m pytest tests/browser -n auto --dist loadgroup -m "not server" --reruns 1 -r fER  # a second try is reported
	@if scripts/servers.sh status >/dev/null; then eval "$$(scripts/servers.sh env)"; \
	  $(python) -m pytest -n 2 --dist loadgroup -m server; \
	else echo "The servers are not up: their tests were left out. 'make test-servers' starts and runs them."; fi

test: quick rest  ## check and all tests, the quick ones first

test-servers: setup  ## the tests that need MongoDB, Weaviate, Ollama and Neo4j, which it builds, starts and stops
	@scripts/chromium.sh
	@scripts/servers.sh start
	@eval "$$(scripts/servers.sh env)"; ATHENA_REQUIRE_SERVERS=1 $(python) -m pytest -n 2 --dist loadgroup -m server; code=$$?; \
	  scripts/servers.sh stop; exit $$code

phoenix: setup  ## install and start a Phoenix of its own on http://127.0.0.1:6006; scripts/servers.sh stop phoenix
	@scripts/servers.sh start phoenix
	@echo "Phoenix is on http://127.0.0.1:6006: set ATHENA_PHOENIX_URL to that."

format: setup  ## put the code in order
	@.venv/bin/ruff format --quiet $(paths)
	@.venv/bin/ruff check --fix --quiet $(paths)

attack: setup  ## the tests that try to break the program, counted in a table (four minutes)
	@scripts/chromium.sh
	@$(python) -m pytest -q -n auto --dist loadgroup -m attack $(options)

lock:  ## write requirements*.lock from pyproject.toml, with hashes (newer versions: options=--upgrade)
	@scripts/lock.sh $(options)

bench: setup  ## Athena beside other libraries, in one run (an hour); writes build/benchmarks.md
	@$(python) -m bench $(options)

evaluate: setup  ## run experiments A to D (minutes) and write docs/evaluation.md; with a model: LLM=ollama/NAME
	@.venv/bin/athena eval experiment --all $(if $(LLM),--llm $(LLM)) $(options)
	@$(python) -m evals.report

docs:  ## the documentation as a site with search, in build/site (installs mkdocs-material into build/)
	@[ -x build/docs/bin/mkdocs ] || { python3 -m venv build/docs && build/docs/bin/pip install --quiet "mkdocs-material>=9.6,<10"; }
	@NO_MKDOCS_2_WARNING=1 build/docs/bin/mkdocs build --quiet
	@echo "build/site/index.html"

pictures: setup  ## take the README's pictures from the running app
	@scripts/chromium.sh
	@$(python) scripts/take_pictures.py

clean:  ## remove what was built, not what was indexed
	@rm -rf .venv .bench-venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
