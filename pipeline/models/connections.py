"""HTTP settings for the clients of model servers."""

from __future__ import annotations

import ipaddress
import ssl
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx


def is_loopback(host: str) -> bool:
    """Return whether a name or address is that of this machine alone: localhost, 127.0.0.0/8, ::1."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # no address: the client says so
        return ""


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # each reading of the certificates takes 30 ms


def client_options(url: str, *, connect_timeout_s: float, read_timeout_s: float) -> dict[str, Any]:
    """Return the arguments of an `httpx.Client` or `AsyncClient` for the server at `url`.

    `read_timeout_s` limits each silence. No proxy is used for this machine, and no redirect is followed: it
    could send questions elsewhere.
    """
    return {
        "timeout": httpx.Timeout(read_timeout_s, connect=connect_timeout_s),
        "verify": _certificates(),
        "follow_redirects": False,
        "trust_env": not is_loopback(_host(url)),
    }
