#!/usr/bin/env bash
# Write .env from .env.example with secrets of its own; one that is there is left alone.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ ! -e .env ] || { echo ".env is there already: left as it is."; exit 0; }

secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

umask 077
while IFS= read -r line; do
  case $line in
  MONGODB_PASSWORD= | MONGODB_ROOT_PASSWORD= | WEAVIATE_API_KEY= | ATHENA_NEO4J_PASSWORD=) echo "$line$(secret)" ;;
  *) echo "$line" ;;
  esac
done <.env.example >.env
echo "Wrote .env. Next: docker compose up"
