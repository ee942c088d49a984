"""Whether the app's port is free; where it is not, which one is."""

from __future__ import annotations

import errno
import os
import socket

from pipeline.errors import ConfigurationError

PORTS_TRIED = 100
LAST_PORT = 65535
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (only compared with)


def require_free(host: str, port: int) -> None:
    """Do nothing where the app can listen there.

    Raises:
        ConfigurationError: it cannot; names a port that is free.
    """
    try:
        _bind(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            problem = f"Cannot listen on {host}:{port}: {error.strerror or error}."
            raise ConfigurationError(problem, "Choose another --host or --port.") from error
        free = next_free(host, port)
        fix = f"Athena may be running already: open {url_of(host, port)}. Or choose another: "
        raise ConfigurationError(
            f"Port {port} is in use.", f"{fix}athena serve --port {free or 'PORT'}"
        ) from error


def next_free(host: str, port: int) -> int | None:
    """Return the first free port after this one."""
    for candidate in range(port + 1, min(port + PORTS_TRIED, LAST_PORT) + 1):
        try:
            _bind(host, candidate)
        except OSError:
            continue
        return candidate
    return None


def _bind(host: str, port: int) -> None:
    """Take the port and give it back, as the server would: one that was just closed is free."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)


def url_of(host: str, port: int) -> str:
    """Return the address at which a browser on this machine finds what listens there."""
    name = EVERY_ADDRESS.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{port}"
