"""Servers of a test's own on free ports, to be killed and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import pytest

from tests.server_stores import REQUIRED, is_open

BIN = os.environ.get("ATHENA_TEST_SERVERS_BIN")
STOP_TIMEOUT_S = 30.0


def executable(name: str) -> str:
    """The path of a server's executable; without one, the test is skipped, or fails where it must run."""
    found = shutil.which(name, path=BIN) if BIN else shutil.which(name)
    if found is None:
        reason = f"no executable `{name}`: ATHENA_TEST_SERVERS_BIN names the folder that has it"
        if REQUIRED:
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


class ServerProcess:
    """One server, started and killed as often as a test wants."""

    starts_within_s = 60.0

    def __init__(self, command: list[str], environment: Mapping[str, str], ready: Callable[[], bool]) -> None:
        self._command = command
        self._environment = {**os.environ, **environment}
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **settings: str) -> None:
        """Start it, this time with these environment variables, too, and wait until it is ready."""
        self._process = subprocess.Popen(
            self._command,
            env={**self._environment, **settings},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + self.starts_within_s
        while not self._ready():
            assert self._process.poll() is None, f"{self._command[0]} ended by itself"
            assert time.monotonic() < deadline, f"{self._command[0]} does not start"
            time.sleep(0.1)

    def stop(self) -> None:
        """Let it end in peace."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_TIMEOUT_S)
        self.kill()

    def freeze(self) -> None:
        """Let it hang: its connections stay open, and nothing comes of them any more."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """End it at once, with the processes that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and so have its children
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


class PrivateWeaviate(ServerProcess):
    """A Weaviate of a test's own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.port, self.grpc_port, gossip, data, raft, rpc, profiling = free_ports(7)
        environment = {
            "PERSISTENCE_DATA_PATH": str(folder),
            "DEFAULT_VECTORIZER_MODULE": "none",
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
            "CLUSTER_HOSTNAME": "node1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "CLUSTER_GOSSIP_BIND_PORT": str(gossip),
            "CLUSTER_DATA_BIND_PORT": str(data),
            "RAFT_PORT": str(raft),
            "RAFT_INTERNAL_RPC_PORT": str(rpc),
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "GO_PROFILING_PORT": str(profiling),
            "DISABLE_TELEMETRY": "true",
            "GRPC_PORT": str(self.grpc_port),
            **settings,
        }
        listening = ["--scheme", "http", "--host", "127.0.0.1", "--port", str(self.port)]
        super().__init__([executable("weaviate-server"), *listening], environment, self._is_ready)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _is_ready(self) -> bool:
        try:
            ready = httpx.get(f"{self.url}/v1/.well-known/ready", timeout=1)
            answered = ready.status_code == 200
        except httpx.HTTPError:
            return False
        return answered and is_open("127.0.0.1", self.grpc_port)


class PrivateMongo(ServerProcess):
    """A MongoDB-compatible server of a test's own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        (self.port,) = free_ports(1)
        folder.mkdir(parents=True, exist_ok=True)
        command = [executable("ferretdb"), f"127.0.0.1:{self.port}", str(folder)]
        super().__init__(command, settings, lambda: is_open("127.0.0.1", self.port))

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"
