"""For every test: a user folder of its own, no settings from outside, and no network but the loopback."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

from pipeline import redaction
from tests import attacks

KEPT = (
    "ATHENA_TEST_MONGODB_URL",
    "ATHENA_TEST_WEAVIATE_URL",
    "ATHENA_TEST_WEAVIATE_GRPC",
    "ATHENA_TEST_OLLAMA_URL",
    "ATHENA_TEST_SERVERS_BIN",
    "ATHENA_REQUIRE_SERVERS",
)
NO_MODELS = {"ATHENA_CROSS_ENCODER": "none", "ATHENA_OLLAMA_URL": "http://127.0.0.1:9"}
"""Unless a test says otherwise, no model is downloaded, and nobody's own Ollama answers."""

SLOW = [HealthCheck.too_slow]
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=SLOW)
settings.load_profile("steady")
"""The same examples each time, also on a busy machine; new ones: `--hypothesis-profile default`."""

OUTSIDE = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST")
USER_FOLDERS = ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses: the tests that are attacks."""
    attacks.mark(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The table of attacks, where only these ran."""
    if config.option.markexpr == "attack":
        reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
        terminalreporter.section("attacks")
        terminalreporter.write_line("\n".join(attacks.table(reports)))


class NetworkForbidden(AssertionError):
    """A test tried to reach another machine."""


@pytest.fixture(scope="session", autouse=True)
def user_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Caches and data of the user are in a temporary folder, and settings come from the test alone.

    For the whole session, so that servers which a session's fixture starts live there, too.
    """
    folder = tmp_path_factory.mktemp("user")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    with pytest.MonkeyPatch.context() as patch:
        # Browsers are found in the real cache: they are tools, not data.
        browsers = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", str(cache / "ms-playwright"))
        patch.setenv("PLAYWRIGHT_BROWSERS_PATH", browsers)
        for name in USER_FOLDERS:
            patch.setenv(name, str(folder / name.removeprefix("XDG_").removesuffix("_HOME").lower()))
        for name in list(os.environ):
            if name in OUTSIDE or (name.startswith("ATHENA_") and name not in KEPT):
                patch.delenv(name)
        for name, value in NO_MODELS.items():
            patch.setenv(name, value)
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Connecting to anything but this machine, or asking for its address, fails the test."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        _check(address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        _check(address)
        return connect_ex(self, address)

    def looked_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        _check((host,))
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        patch.setattr(socket, "getaddrinfo", looked_up)
        yield


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Tests share the tree of commands, which Typer makes of its functions: it takes longer than its use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True)
def no_secrets() -> Iterator[None]:
    """No secrets of other tests: taking hundreds out of every text would take longer than the tests."""
    known = redaction._known
    redaction._known = frozenset()
    yield
    redaction._known = known


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working folder of its own, no language model, and a log that writes to no closed stream."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATHENA_LLM", "none")
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def _check(address: Any) -> None:
    if not isinstance(address, tuple):
        return  # a socket of the file system
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if not _is_local(host):
        raise NetworkForbidden(f"a test tried to reach {host!r}")


def _is_local(host: str | None) -> bool:
    if host in (None, "", "localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified
