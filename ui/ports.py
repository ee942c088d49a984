"""Whether the app's port is free; where it is not, who has it and which one is."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
from pathlib import Path

from pipeline.errors import ConfigurationError

IDENTITY = "/app/static/athena.json"
"""An address that the app answers at, by which it is told from other programs."""

PROGRAM = {"program": "athena"}

ANSWER_TIMEOUT_S = 2.0
PORTS_TRIED = 100
LAST_PORT = 65535
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (only compared with)


def require_free(host: str, port: int) -> None:
    """Do nothing where the app can listen there.

    Raises:
        ConfigurationError: it cannot; says whether another Athena has the port, and which one is free.
    """
    try:
        _bind(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            problem = f"Cannot listen on {host}:{port}: {error.strerror or error}."
            raise ConfigurationError(problem, "Choose another --host or --port.") from error
        raise _taken(host, port) from error


def is_athena(url: str) -> bool:
    """Whether an Athena answers there."""
    import httpx

    try:
        answer = httpx.get(f"{url}{IDENTITY}", timeout=ANSWER_TIMEOUT_S, trust_env=False)
        return answer.is_success and bool(answer.json() == PROGRAM)
    except (httpx.HTTPError, ValueError):  # what answers is no web server, or not with JSON
        return False


def next_free(host: str, port: int) -> int | None:
    """The first free port after this one."""
    for candidate in range(port + 1, min(port + PORTS_TRIED, LAST_PORT) + 1):
        try:
            _bind(host, candidate)
        except OSError:
            continue
        return candidate
    return None


def _taken(host: str, port: int) -> ConfigurationError:
    url = url_of(host, port)
    free = next_free(host, port)
    another = f"{_program()} serve --port {free}" if free else "--port"
    if is_athena(url):
        return ConfigurationError(
            f"Athena is already running on port {port}: open {url}", f"or start a second one: {another}"
        )
    return ConfigurationError(f"Port {port} is used by another program.", f"Choose another: {another}")


def _bind(host: str, port: int) -> None:
    """Take the port and give it back, as the server would: one that was just closed is free."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)


def url_of(host: str, port: int) -> str:
    """Where a browser on this machine finds what listens there."""
    name = EVERY_ADDRESS.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{port}"


def _program() -> str:
    """How the command line is started here: `athena` where the shell finds it, else with its folder."""
    program = Path(sys.executable).with_name("athena")
    if shutil.which("athena"):
        return "athena"
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)
