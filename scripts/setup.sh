#!/usr/bin/env bash
# Makes .venv: scripts/setup.sh run|test
#
#   run   what running Athena needs
#   test  that, and what the tests, the benchmarks and every optional store need
#
# Does nothing when that is newer than pyproject.toml and requirements.lock. Works with uv or without.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$(pwd -P)

stage=${1:-test}
case $stage in
  run) extras=openai,page group="" what="Installing Athena into .venv (one to two minutes) …" ;;
  test) extras=doors,files,openai,page,plots,server,tracing,neo4j,trulens group="--group dev"
    what="Installing Athena and what its tests need into .venv (two minutes) …" ;;
  *) echo "usage: scripts/setup.sh run|test" >&2; exit 2 ;;
esac

stamp=.venv/.athena-$stage
unfinished=.venv/.athena-unfinished # there while something is being installed: who dies meanwhile leaves it
log=.venv/setup.log
refused=()

have_uv() { uv --version >/dev/null 2>&1; }

# Whether .venv works, is in its place, and was made to the end.
is_whole() {
  [ ! -e "$unfinished" ] && grep -qsF "$here/.venv" .venv/bin/activate &&
    .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 &&
    { have_uv || .venv/bin/python -c 'import pip' >/dev/null 2>&1; }
}

is_current() {
  [ -x .venv/bin/athena ] && [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt requirements.lock ]
}

# Every Python on the PATH, by name and then by place: one name may be a shim before a good one.
pythons() {
  local name
  for name in python3.13 python3.12 python3.11 python3.14 python3 python; do
    type -aP "$name" || true
  done | awk '!seen[$0]++'
}

# Why an interpreter will not do, in a line; nothing where it will.
objection() {
  local version
  version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || {
    echo "does not run"
    return
  }
  case $version in
    2.* | 3.[0-9] | 3.10) echo "is Python $version, older than 3.11" ;;
    *) have_uv || "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
      echo "cannot make environments: on Debian or Ubuntu, sudo apt-get install python$version-venv" ;;
  esac
}

make_with() { # PYTHON: an empty .venv; says on stderr what is wrong where it cannot
  rm -rf .venv
  if have_uv; then
    uv venv --quiet --python "$1" .venv && touch "$unfinished"
  else
    mkdir .venv && touch "$unfinished" && "$1" -m venv .venv
  fi
}

make_environment() {
  local python reason
  while read -r python <&3; do
    reason=$(objection "$python")
    [ -n "$reason" ] || ! reason=$(make_with "$python" 2>&1) || return 0
    refused+=("  $python: $(head -n 1 <<<"$reason")")
  done 3< <(pythons)
  ! have_uv || ! make_with ">=3.11" >/dev/null 2>&1 || return 0 # uv may fetch one
  rm -rf .venv
  {
    echo "Athena needs Python 3.11 or newer that can make environments. Tried:"
    printf '%s\n' "${refused[@]:-  nothing: there is no python on the PATH}"
    echo "Install one and run this again. On Debian or Ubuntu: sudo apt-get install python3 python3-venv"
  } >&2
  exit 1
}

install() {
  local pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile)
  if have_uv; then
    pip=(uv pip install --quiet --python .venv/bin/python)
  elif [ -n "$group" ]; then
    "${pip[@]}" "pip>=25.1" || return # which knows --group
  fi
  # Versions without hashes: with them, pip refuses to install this folder.
  awk '!/^ *--hash/ { sub(/ *\\$/, ""); print }' requirements.lock >.venv/versions.txt
  # shellcheck disable=SC2086 # the group is two words or none
  "${pip[@]}" -e ".[$extras]" $group -c .venv/versions.txt
}

# Bytecode of all that is imported; packages' own tests never are, and theirs would be 45 MB.
compile_bytecode() {
  .venv/bin/python -m compileall -qq -j 0 -x 'site-packages/.*/tests?/' .venv/lib >/dev/null || true # templates
}

trap 'exit 130' INT TERM
whole=no
if is_whole; then
  whole=yes
  ! is_current || exit 0
elif [ -e .venv ]; then
  echo "The .venv here is broken or was moved: making it anew."
fi
echo "$what"
[ $whole = yes ] || make_environment
touch "$unfinished"
if ! install >"$log" 2>&1; then
  rm "$unfinished" # nothing is installed before everything is downloaded
  cat "$log" >&2
  echo "Installing failed; what went wrong is above." >&2
  exit 1
fi
compile_bytecode
touch .venv/.athena-run "$stamp" # what tests need has what running needs
rm "$unfinished"
