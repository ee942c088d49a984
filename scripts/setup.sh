#!/usr/bin/env bash
# Makes .venv with Athena and everything its tests need: by uv where it is there, else by venv and pip.
# Does nothing when the environment is newer than pyproject.toml and requirements.lock.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/.athena-setup
if [ -x .venv/bin/athena ] && [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt requirements.lock ]; then
  exit 0
fi

if command -v uv >/dev/null 2>&1; then
  [ -x .venv/bin/python ] || uv venv --quiet --python ">=3.11" .venv
  uv pip install --quiet --python .venv/bin/python -e ".[openai,server,tracing]" --group dev -c requirements.lock --compile-bytecode
else
  python=$(command -v python3.13 || command -v python3.12 || command -v python3.11 || command -v python3)
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Athena needs Python 3.11 or newer; '$python' is older. Install one and run make setup again." >&2
    exit 1
  }
  [ -x .venv/bin/python ] || "$python" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".[openai,server,tracing]" --group dev -c requirements.lock
fi
touch "$stamp"
