#!/usr/bin/env bash
# Write the lock files, with hashes, from pyproject.toml; versions stay what they are where they still fit.
# scripts/lock.sh [--upgrade]
#
#   requirements.lock          everything but [hf], tests' tools included; setup.sh takes the versions of it
#   requirements-image.lock    what docker-compose.yml's app installs
#   requirements-trulens.lock  what its TruLens profile installs
set -euo pipefail
cd "$(dirname "$0")/.."

uv=uv
if ! uv --version >/dev/null 2>&1; then
  tools=$(mktemp -d)
  trap 'rm -rf "$tools"' EXIT
  python3 -m venv "$tools" && "$tools/bin/pip" install --quiet "uv>=0.8,<1"
  uv=$tools/bin/uv
fi

lock() { # FILE OPTION…: the wheel is built without isolation, so that setuptools is locked, too
  local file=$1
  shift
  sed -nE 's/^requires = \["(setuptools[^"]*)"\]$/\1/p' pyproject.toml |
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
      "$@" pyproject.toml - --output-file "$file"
}

upgrade=${1:-}
lock requirements.lock ${upgrade:+"$upgrade"} --extra page --extra doors --extra files --extra openai --extra server \
  --extra tracing --extra neo4j --extra trulens --extra plots --group dev
lock requirements-image.lock --extra page --extra doors --extra files --extra openai --extra server --extra tracing --extra neo4j \
  --constraint requirements.lock
lock requirements-trulens.lock --extra openai --extra server --extra trulens --constraint requirements.lock
