#!/usr/bin/env bash
# Real servers on loopback for tests: Weaviate, a MongoDB-compatible one (FerretDB) and Ollama with a tiny model.
#   scripts/servers.sh install|start|stop|status [weaviate mongodb ollama]
#   eval "$(scripts/servers.sh env)"
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. scripts/servers/versions.env

home=${ATHENA_SERVERS_HOME:-$root/.servers}
case $home in /*) ;; *) home=$root/$home ;; esac
bin=$home/bin data=$home/data logs=$home/logs run=$home/run
weaviate_port=${ATHENA_SERVERS_WEAVIATE_PORT:-8090}
grpc_port=${ATHENA_SERVERS_WEAVIATE_GRPC_PORT:-50051}
mongodb_port=${ATHENA_SERVERS_MONGODB_PORT:-27018}
ollama_port=${ATHENA_SERVERS_OLLAMA_PORT:-11435}
# Weaviate's ports for its own use: several on one machine need others.
internal_port=${ATHENA_SERVERS_WEAVIATE_INTERNAL_PORT:-7946}
ready_timeout_s=${ATHENA_SERVERS_TIMEOUT_S:-90}

executable() {
  case $1 in weaviate) echo weaviate-server ;; mongodb) echo ferretdb ;; ollama) echo ollama ;; esac
}

url() {
  case $1 in
    weaviate) echo "http://127.0.0.1:$weaviate_port" ;;
    mongodb) echo "mongodb://127.0.0.1:$mongodb_port" ;;
    ollama) echo "http://127.0.0.1:$ollama_port" ;;
  esac
}

version() {
  case $1 in
    weaviate) echo "$WEAVIATE_VERSION" ;;
    mongodb) cat scripts/servers/ferretdb/go.mod scripts/servers/ferretdb/main.go | cksum | cut -d' ' -f1 ;;
    ollama) echo "$OLLAMA_VERSION" ;;
  esac
}

is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

answers() {  # PORT PATH: true where HTTP answers 2xx
  local status=""
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
  IFS= read -r -t 5 status <&3 || true
  exec 3>&-
  [[ $status == HTTP/*' 2'* ]]
} 2>/dev/null

ready() {
  case $1 in
    weaviate) (answers "$weaviate_port" /v1/.well-known/ready) && is_open "$grpc_port" ;;
    mongodb) is_open "$mongodb_port" ;;
    ollama) (answers "$ollama_port" /api/version) ;;
  esac
}

install_one() {
  local name=$1 stamp
  stamp=$bin/.$name-$(version "$name")
  [ -x "$bin/$(executable "$name")" ] && [ -e "$stamp" ] && return
  command -v go >/dev/null 2>&1 || {
    echo "The test servers are built with Go 1.24 or newer, which is missing: install it (https://go.dev/dl)." >&2
    exit 1
  }
  echo "building $(executable "$name") (minutes, the first time)"
  case $name in
    weaviate) GOBIN=$bin nice -n 12 go install "github.com/weaviate/weaviate/cmd/weaviate-server@v$WEAVIATE_VERSION" ;;
    mongodb) (cd scripts/servers/ferretdb && nice -n 12 go build -o "$bin/ferretdb" .) ;;
    ollama) GOBIN=$bin nice -n 12 go install "github.com/ollama/ollama@v$OLLAMA_VERSION" ;;
  esac
  rm -f "$bin/.$name-"*
  touch "$stamp"
}

launch() {  # in the background, in a session of its own; prints its process id
  local name=$1
  mkdir -p "$data/$name"
  case $name in
    weaviate)
      # Without an address it looks for a network of its own. The short flush: matches still in a
      # memtable are lost to BM25 in this version.
      export PERSISTENCE_DATA_PATH=$data/weaviate DEFAULT_VECTORIZER_MODULE=none GRPC_PORT=$grpc_port \
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true CLUSTER_HOSTNAME=node1 CLUSTER_ADVERTISE_ADDR=127.0.0.1 \
        CLUSTER_GOSSIP_BIND_PORT=$internal_port CLUSTER_DATA_BIND_PORT=$((internal_port + 1)) \
        RAFT_PORT=$((internal_port + 2)) RAFT_INTERNAL_RPC_PORT=$((internal_port + 3)) \
        GO_PROFILING_PORT=$((internal_port + 4)) RAFT_BOOTSTRAP_EXPECT=1 DISABLE_TELEMETRY=true \
        PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=5
      set -- --host 127.0.0.1 --port "$weaviate_port" --scheme http
      ;;
    mongodb) set -- "127.0.0.1:$mongodb_port" "$data/mongodb" ;;
    ollama)
      export OLLAMA_HOST=127.0.0.1:$ollama_port OLLAMA_MODELS=$data/ollama
      set -- serve
      ;;
  esac
  nohup setsid "$bin/$(executable "$name")" "$@" >"$logs/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}

pid_of() {  # of what start started and still runs
  local pid
  pid=$(cat "$run/$1.pid" 2>/dev/null) || return 1
  kill -0 "$pid" 2>/dev/null && grep -qa "$(executable "$1")" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}

start_one() {
  local name=$1 deadline=$((SECONDS + ready_timeout_s))
  ready "$name" && return
  [ -x "$bin/$(executable "$name")" ] || { echo "$name is not installed: scripts/servers.sh install" >&2; exit 1; }
  mkdir -p "$logs" "$run"
  pid_of "$name" >/dev/null || (launch "$name")
  until ready "$name"; do
    if ! pid_of "$name" >/dev/null || [ $SECONDS -ge $deadline ]; then
      echo "$name did not become ready at $(url "$name"); its log is $logs/$name.log, which ends:" >&2
      tail -n 5 "$logs/$name.log" >&2
      exit 1
    fi
    sleep 0.2
  done
}

stop_one() {
  local pid i
  if pid=$(pid_of "$1"); then
    kill "$pid"
    for ((i = 0; i < 300; i++)); do pid_of "$1" >/dev/null || break; sleep 0.1; done
    if pid_of "$1" >/dev/null; then kill -9 "$pid"; fi
  fi
  rm -f "$run/$1.pid"
}

status_one() {
  if ready "$1"; then echo "$1: up at $(url "$1")"; else echo "$1: down ($(url "$1"))"; return 1; fi
}

print_env() {
  echo "export ATHENA_TEST_SERVERS_BIN='$bin'"
  echo "export ATHENA_TEST_MONGODB_URL='$(url mongodb)'"
  echo "export ATHENA_TEST_WEAVIATE_URL='$(url weaviate)'"
  echo "export ATHENA_TEST_WEAVIATE_GRPC='$grpc_port'"
  echo "export ATHENA_TEST_OLLAMA_URL='$(url ollama)'"
}

command=${1:-}
shift || true
[ $# -gt 0 ] || set -- weaviate mongodb ollama
for name in "$@"; do
  [ -n "$(executable "$name")" ] || { echo "'$name' is none of: weaviate mongodb ollama" >&2; exit 2; }
done
case $command in
  install) mkdir -p "$bin"; for name in "$@"; do install_one "$name"; done ;;
  start) for name in "$@"; do start_one "$name"; done ;;
  stop) for name in "$@"; do stop_one "$name"; done ;;
  status) down=0; for name in "$@"; do status_one "$name" || down=1; done; exit $down ;;
  env) print_env ;;
  *) echo "usage: scripts/servers.sh install|start|stop|status|env [weaviate mongodb ollama]" >&2; exit 2 ;;
esac
