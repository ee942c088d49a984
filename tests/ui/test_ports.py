"""A port that is taken: by Athena or by another, and which one is free."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import cli
from pipeline.errors import ConfigurationError
from tests.server_processes import free_ports
from ui import ports

HOST = "127.0.0.1"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The port of a web server over that folder."""
    with ThreadingHTTPServer((HOST, 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def an_athena(tmp_path: Path) -> Iterator[int]:
    """The port of what answers as the app does, where the app does."""
    identity = tmp_path / ports.IDENTITY.lstrip("/")
    identity.parent.mkdir(parents=True)
    identity.write_text(json.dumps(ports.PROGRAM))
    with serving(tmp_path) as port:
        yield port


@pytest.fixture
def another_page(tmp_path: Path) -> Iterator[int]:
    with serving(tmp_path) as port:
        yield port


@pytest.fixture
def what_says_nothing() -> Iterator[int]:
    with socket.create_server((HOST, 0)) as listener:
        yield listener.getsockname()[1]


def test_a_free_port_is_left_free() -> None:
    (port,) = free_ports(1)
    ports.require_free(HOST, port)
    ports.require_free(HOST, port)


def test_an_athena_is_named_with_its_address(an_athena: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ports.require_free(HOST, an_athena)
    assert f"Athena is already running on port {an_athena}: open http://127.0.0.1:{an_athena} " in str(
        caught.value
    )
    _assert_offers_a_free_one(caught.value, an_athena)


def test_an_athena_is_found_from_every_address(an_athena: int) -> None:
    with pytest.raises(ConfigurationError, match=f"open http://127.0.0.1:{an_athena} "):
        ports.require_free("0.0.0.0", an_athena)


@pytest.mark.parametrize("other", ["another_page", "what_says_nothing"])
def test_another_program_is_not_taken_for_athena(
    other: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "ANSWER_TIMEOUT_S", 0.2)
    port = request.getfixturevalue(other)
    with pytest.raises(ConfigurationError, match=rf"^Port {port} is used by another program\.") as caught:
        ports.require_free(HOST, port)
    _assert_offers_a_free_one(caught.value, port)


def _assert_offers_a_free_one(error: ConfigurationError, port: int) -> None:
    command, _, offered = str(error).rpartition(" ")
    assert command.endswith("athena serve --port")
    assert int(offered) > port
    ports.require_free(HOST, int(offered))


def test_the_offered_port_is_past_those_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as listener:
        taken = listener.getsockname()[1]
        assert ports.next_free(HOST, taken - 1) not in (None, taken)
        monkeypatch.setattr(ports, "PORTS_TRIED", 1)
        assert ports.next_free(HOST, taken - 1) is None
    assert ports.next_free(HOST, ports.LAST_PORT) is None


def test_a_host_that_cannot_be_listened_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        ConfigurationError,
        match=r"^Cannot listen on nowhere:8501: Name or service not known\. Choose another",
    ):
        ports.require_free("nowhere", 8501)


@pytest.mark.parametrize(
    ("on_path", "shown"), [(True, "athena serve"), (False, "bin/athena serve")], ids=["on PATH", "not"]
)
def test_the_command_can_be_typed(
    on_path: bool, shown: str, what_says_nothing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ports, "ANSWER_TIMEOUT_S", 0.2)
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin/python"))
    which: Callable[[str], str | None] = lambda name: f"/bin/{name}" if on_path else None  # noqa: E731
    monkeypatch.setattr(shutil, "which", which)
    with pytest.raises(ConfigurationError, match=rf"Choose another: {shown} --port \d+$"):
        ports.require_free(HOST, what_says_nothing)


def test_the_command_line_says_it_and_fails(an_athena: int) -> None:
    done = CliRunner().invoke(cli.app, ["serve", "--port", str(an_athena)])
    assert done.exit_code == 1
    assert "Athena is already running" in done.stderr
    assert "Traceback" not in done.output
