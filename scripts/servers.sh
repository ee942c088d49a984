#!/usr/bin/env bash
# Real servers on loopback, for tests: scripts/servers.sh install|start|stop|status|env [weaviate mongodb ollama neo4j phoenix]
#
#   install  build them with Go (Neo4j: Maven), pinned, each once (minutes); caches make the next build quick
#   start    start those that are not up, and wait until they are ready
#   stop     stop those that `start` started
#   status   a line each; exit code 1 when one is down
#   env      what tests need to find them:  eval "$(scripts/servers.sh env)"
#
# Without names it is all but Phoenix, which gets a Python environment of its own. MongoDB itself cannot be had this
# way: FerretDB on SQLite speaks its protocol.
# Settings: ATHENA_SERVERS_HOME (default .servers), ATHENA_SERVERS_WEAVIATE_PORT, ATHENA_SERVERS_WEAVIATE_GRPC,
# ATHENA_SERVERS_MONGODB_PORT, ATHENA_SERVERS_OLLAMA_PORT, ATHENA_SERVERS_NEO4J_PORT, ATHENA_SERVERS_PHOENIX_PORT.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/servers/versions.sh

home=$(realpath -m "${ATHENA_SERVERS_HOME:-.servers}")
weaviate_port=${ATHENA_SERVERS_WEAVIATE_PORT:-8090}
weaviate_grpc=${ATHENA_SERVERS_WEAVIATE_GRPC:-50051}
mongodb_port=${ATHENA_SERVERS_MONGODB_PORT:-27018}
ollama_port=${ATHENA_SERVERS_OLLAMA_PORT:-11435}
neo4j_port=${ATHENA_SERVERS_NEO4J_PORT:-7688}
phoenix_port=${ATHENA_SERVERS_PHOENIX_PORT:-6006}
ready_within_s=120
bin=$home/bin run=$home/run log=$home/log data=$home/data

fail() {
  echo "$*" >&2
  exit 1
}

go_build() { # NAME VERSION COMMAND…: builds into $bin unless this version is there
  local name=$1 version=$2
  shift 2
  [ "$(cat "$bin/$name.version" 2>/dev/null)" = "$version" ] && [ -x "$bin/$name" ] && return
  command -v go >/dev/null || fail "Building $name needs Go 1.24 or newer: install it and run this again."
  echo "Building $name $version (minutes the first time)"
  nice env GOBIN="$bin" GOFLAGS=-buildvcs=false "$@" >"$log/$name-build" 2>&1 ||
    fail "Building $name failed: see $log/$name-build"
  echo "$version" >"$bin/$name.version"
}

install_weaviate() {
  go_build weaviate-server "$WEAVIATE_VERSION" \
    go install "github.com/weaviate/weaviate/cmd/weaviate-server@v$WEAVIATE_VERSION"
}

install_mongodb() {
  local version
  version=$(cat scripts/servers/ferretdb/* | cksum | cut -d' ' -f1)
  go_build ferretdb "$version" go build -C scripts/servers/ferretdb -o "$bin/ferretdb" .
}

install_ollama() {
  go_build ollama "$OLLAMA_VERSION" go install "github.com/ollama/ollama@v$OLLAMA_VERSION"
}

install_neo4j() { # its jars and a program of ours beside them; no plugins
  local version lib=$home/lib/neo4j
  version=$NEO4J_VERSION-$(cat scripts/servers/neo4j/* | cksum | cut -d' ' -f1)
  [ "$(cat "$bin/neo4j.version" 2>/dev/null)" = "$version" ] && [ -x "$bin/neo4j" ] && return
  command -v javac >/dev/null && command -v mvn >/dev/null ||
    fail "Building neo4j needs a JDK (17 or 21) and Maven: install them and run this again."
  echo "Building neo4j $NEO4J_VERSION (a minute the first time)"
  rm -rf "$lib"
  {
    nice mvn --batch-mode --quiet --file scripts/servers/neo4j/pom.xml -Dneo4j.version="$NEO4J_VERSION" \
      dependency:copy-dependencies -DoutputDirectory="$lib" &&
      javac -cp "$lib/*" -d "$lib" scripts/servers/neo4j/Graph.java
  } >"$log/neo4j-build" 2>&1 || fail "Building neo4j failed: see $log/neo4j-build"
  printf '#!/bin/sh\nexec java -Xmx512m -cp "%s:%s/*" Graph "$@"\n' "$lib" "$lib" >"$bin/neo4j"
  chmod +x "$bin/neo4j"
  echo "$version" >"$bin/neo4j.version"
}

install_phoenix() { # its packages and ours do not go together
  [ "$(cat "$bin/phoenix.version" 2>/dev/null)" = "$PHOENIX_VERSION" ] && [ -x "$home/phoenix/bin/phoenix" ] && return
  echo "Installing Phoenix $PHOENIX_VERSION (a minute or two the first time)"
  {
    nice .venv/bin/python -m venv --clear "$home/phoenix" &&
      nice "$home/phoenix/bin/python" -m pip install --quiet "arize-phoenix==$PHOENIX_VERSION"
  } >"$log/phoenix-install" 2>&1 || fail "Installing Phoenix failed: see $log/phoenix-install"
  echo "$PHOENIX_VERSION" >"$bin/phoenix.version"
}

start_weaviate() {
  launch weaviate env PERSISTENCE_DATA_PATH="$data/weaviate" DEFAULT_VECTORIZER_MODULE=none \
    AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true CLUSTER_HOSTNAME=node1 CLUSTER_ADVERTISE_ADDR=127.0.0.1 \
    CLUSTER_GOSSIP_BIND_PORT=$((weaviate_port + 1)) CLUSTER_DATA_BIND_PORT=$((weaviate_port + 2)) \
    RAFT_PORT=$((weaviate_port + 3)) RAFT_INTERNAL_RPC_PORT=$((weaviate_port + 4)) \
    GO_PROFILING_PORT=$((weaviate_port + 5)) RAFT_BOOTSTRAP_EXPECT=1 DISABLE_TELEMETRY=true \
    PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=5 GRPC_PORT="$weaviate_grpc" \
    "$bin/weaviate-server" --host 127.0.0.1 --port "$weaviate_port" --scheme http
}

start_mongodb() {
  launch mongodb "$bin/ferretdb" "127.0.0.1:$mongodb_port" "$data/mongodb"
}

start_ollama() {
  launch ollama env OLLAMA_HOST="127.0.0.1:$ollama_port" OLLAMA_MODELS="$data/ollama" HOME="$data" \
    "$bin/ollama" serve
  until_ready ollama
  if [ ! -e "$data/tiny.gguf" ]; then
    .venv/bin/python scripts/tiny_model.py "$data/tiny.gguf"
    (cd "$data" && echo "FROM ./tiny.gguf" >Modelfile &&
      OLLAMA_HOST="127.0.0.1:$ollama_port" HOME="$data" "$bin/ollama" create tiny -f Modelfile >"$log/tiny" 2>&1) ||
      fail "Ollama does not take the tiny model: see $log/tiny"
  fi
}

start_neo4j() {
  launch neo4j "$bin/neo4j" "$neo4j_port" "$data/neo4j"
}

start_phoenix() {
  launch phoenix env PHOENIX_HOST=127.0.0.1 PHOENIX_PORT="$phoenix_port" PHOENIX_GRPC_PORT=$((phoenix_port + 1)) \
    PHOENIX_WORKING_DIR="$data/phoenix" PHOENIX_TELEMETRY_ENABLED=false PHOENIX_ALLOW_EXTERNAL_RESOURCES=false \
    "$home/phoenix/bin/phoenix" serve
}

is_ready() {
  case $1 in
  weaviate) answers "$weaviate_port" "GET /v1/.well-known/ready" && listens "$weaviate_grpc" ;;
  mongodb) listens "$mongodb_port" ;;
  ollama) answers "$ollama_port" "GET /api/version" ;;
  neo4j) listens "$neo4j_port" ;;
  phoenix) answers "$phoenix_port" "GET /readyz" ;;
  esac
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

answers() { # PORT "METHOD PATH": true when it says 200
  local status
  listens "$1" || return 1
  status=$(
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf '%s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
    read -r -t 5 _ code _ <&3 && echo "$code"
  ) 2>/dev/null || return 1
  [ "$status" = 200 ]
}

launch() { # NAME COMMAND…: in the background, in a session of its own
  local name=$1
  shift
  is_ready "$name" && return
  mkdir -p "$data/$name"
  setsid nohup "$@" >"$log/$name" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}

until_ready() {
  local name=$1 end=$((SECONDS + ready_within_s))
  until is_ready "$name"; do
    if [ -e "$run/$name.pid" ] && ! kill -0 "$(cat "$run/$name.pid")" 2>/dev/null; then
      fail "$name ended by itself: see $log/$name"
    fi
    [ $SECONDS -lt $end ] || fail "$name is not ready after $ready_within_s s: see $log/$name"
    sleep 0.2
  done
}

stop_one() {
  local name=$1 pid end=$((SECONDS + 30))
  [ -e "$run/$name.pid" ] || return 0
  pid=$(cat "$run/$name.pid")
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do
    [ $SECONDS -lt $end ] || { kill -9 "$pid" 2>/dev/null || true; }
    sleep 0.1
  done
  rm "$run/$name.pid"
}

command=${1:-}
[ $# -gt 0 ] && shift
servers=("$@")
[ ${#servers[@]} -gt 0 ] || servers=(weaviate mongodb ollama neo4j)
for name in "${servers[@]}"; do
  case $name in
  weaviate | mongodb | ollama | neo4j | phoenix) ;;
  *) fail "There is no server '$name': weaviate, mongodb, ollama, neo4j or phoenix." ;;
  esac
done
mkdir -p "$bin" "$run" "$log" "$data"

case $command in
install) for name in "${servers[@]}"; do "install_$name"; done ;;
start)
  for name in "${servers[@]}"; do "install_$name" && "start_$name"; done
  for name in "${servers[@]}"; do until_ready "$name"; done
  ;;
stop) for name in "${servers[@]}"; do stop_one "$name"; done ;;
status)
  code=0
  for name in "${servers[@]}"; do
    if is_ready "$name"; then echo "$name: up"; else echo "$name: down" && code=1; fi
  done
  exit $code
  ;;
env)
  echo "export ATHENA_TEST_WEAVIATE_URL=http://127.0.0.1:$weaviate_port"
  echo "export ATHENA_TEST_WEAVIATE_GRPC=$weaviate_grpc"
  echo "export ATHENA_TEST_MONGODB_URL=mongodb://127.0.0.1:$mongodb_port"
  echo "export ATHENA_TEST_OLLAMA_URL=http://127.0.0.1:$ollama_port"
  echo "export ATHENA_TEST_NEO4J_URL=bolt://127.0.0.1:$neo4j_port"
  echo "export ATHENA_TEST_PHOENIX_URL=http://127.0.0.1:$phoenix_port"
  echo "export ATHENA_TEST_SERVERS_BIN=$bin"
  ;;
*) fail "usage: scripts/servers.sh install|start|stop|status|env [weaviate mongodb ollama neo4j phoenix]" ;;
esac
