"""Refuse requests that come from other sites, and tell browsers to load nothing from elsewhere.

Another site can make its host name resolve to this machine (DNS rebinding), open a WebSocket from its own
origin, or show our pages in a frame. The headers `Host` and `Origin` of each request are checked before
Streamlit gets it.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocketClose

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from athena.settings import Settings

EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (only compared with)
FROM_A_PROGRAM = "In a program, leave out the header `Origin`."
FORBIDDEN = 403
POLICY_VIOLATION = 1008  # of a WebSocket, RFC 6455
STANDARD_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The host names that requests may be sent to, besides loopback addresses."""

    names: frozenset[str]
    proxies: frozenset[str]  # names of other machines: their pages may send requests from any port
    every_address: bool  # the app listens on every address: any IP is allowed, as DNS rebinding needs a name

    @classmethod
    def of(cls, settings: Settings) -> AllowedHosts:
        """Return `allowed_hosts`, localhost, and `host` (the machine's name if that is every address).

        Loopback names are never proxies: other programs have pages at other ports of this machine.
        """
        listed = {name.strip().lower().rstrip(".") for name in settings.allowed_hosts.split(",")} - {""}
        host = settings.host.strip("[]").lower()
        every = host in EVERY_ADDRESS
        own = socket.gethostname().lower() if every else host
        proxies = frozenset(name for name in listed - {"localhost"} if not _is_loopback(name))
        return cls(frozenset({*listed, own, "localhost"}), proxies, every)

    def __contains__(self, name: str) -> bool:
        return name in self.names or _is_loopback(name) or (self.every_address and _address(name) is not None)


class Guard:
    """ASGI middleware that refuses requests from other sites, and adds `headers` to every response."""

    def __init__(self, app: ASGIApp, *, hosts: AllowedHosts, headers: Iterable[tuple[str, str]]) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = tuple(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with 403."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers:
                    headers[name] = value
            await send(message)

        refusal = self._refusal(scope)
        if not refusal:
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "websocket":
            await WebSocketClose(POLICY_VIOLATION, refusal)(scope, receive, send)
        else:
            await PlainTextResponse(refusal, FORBIDDEN)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> str:
        """Return the message for a request that is refused; "" if it is allowed."""
        headers = Headers(scope=scope)
        host = _authority(f"//{headers.get('host', '')}")
        if host is None or host[0] not in self._hosts:
            name = host[0] if host else "this name"
            return f"Athena does not answer to {name!r}. If it should, add it to ATHENA_ALLOWED_HOSTS."
        origin = headers.get("origin")
        if origin is None:
            return ""
        theirs = _authority(origin) if origin.lower().startswith(("http://", "https://")) else None
        if theirs is None:
            return f"Athena takes no requests from a page without an origin. {FROM_A_PROGRAM}"
        ports = {host[1]} if host[1] else {*STANDARD_PORTS.values()}  # browsers omit a standard port
        if theirs[0] in self._hosts.proxies or (theirs[0] == host[0] and theirs[1] in ports):
            return ""
        return f"Athena takes requests from its own pages only. {FROM_A_PROGRAM}"


def security_headers(page: str) -> list[tuple[str, str]]:
    """Return the security headers of every response; the inline scripts of the HTML `page` are allowed."""
    inline = INLINE_SCRIPT.findall(page)
    policy = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *map(_hash, inline)]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "media-src": "'self' blob:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return [
        ("Content-Security-Policy", "; ".join(f"{name} {value}" for name, value in policy.items())),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ]


def _authority(url: str) -> tuple[str, int | None] | None:
    """Return a URL's host and port (None if unknown); None without a host, or with a user, path or query."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    # urlsplit reads "[::1].evil.com" as the host "::1": only a port may follow a name in brackets.
    if "]" in parts.netloc and parts.netloc.partition("]")[2][:1] not in ("", ":"):
        return None
    if not name or parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        return None
    return name.lower().rstrip("."), port or STANDARD_PORTS.get(parts.scheme)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    address = _address(name)
    return address is not None and address.is_loopback


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
