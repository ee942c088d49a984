"""Who may talk to the app, and what its pages may load.

A page on another site can have its host name resolve to this machine (DNS rebinding), open a WebSocket from
its own origin, or show our pages in a frame. Each request is therefore checked for the name that it was sent
to and the page that it comes from, before Streamlit sees it; and browsers are told to load nothing from
elsewhere and to frame nothing of ours.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocketClose

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from athena.settings import Settings

EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 (only compared with)
FROM_A_PROGRAM = "A program sends no header `Origin`."
FORBIDDEN = 403
POLICY_VIOLATION = 1008  # of a WebSocket, RFC 6455
STANDARD_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True)
class AllowedHosts:
    """The names that the app answers to.

    Loopback and the address that it listens on; where that is every address, any address written as a number,
    which nobody can rebind, and this machine's own name. `names` are added: those of a reverse proxy.
    """

    listens_on: str
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Settings) -> AllowedHosts:
        """Those of the settings."""
        names = (name.strip().lower().rstrip(".") for name in settings.allowed_hosts.split(","))
        return cls(settings.host.strip("[]").lower(), frozenset(filter(None, names)))

    def __contains__(self, name: str) -> bool:
        if name in self._known:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self.listens_on in EVERY_ADDRESS

    @cached_property
    def proxies(self) -> frozenset[str]:
        """Names that other machines answer to: their pages may be at any port, as requests come through them.

        This machine's own are none, whoever lists them: other programs have pages at its other ports.
        """
        return frozenset(name for name in self.names - {"localhost"} if not _is_loopback(name))

    @cached_property
    def _known(self) -> frozenset[str]:
        own = {socket.gethostname().lower()} if self.listens_on in EVERY_ADDRESS else {self.listens_on}
        return self.names | own | {"localhost"}


class Guard:
    """An ASGI middleware that refuses strangers and adds the headers of `security_headers`."""

    def __init__(self, app: ASGIApp, *, hosts: AllowedHosts, headers: Iterable[tuple[str, str]]) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = tuple(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may come in."""
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
        """Why a request is refused; "" where it is not."""
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
        ports = {host[1]} if host[1] else {*STANDARD_PORTS.values()}  # a browser leaves a standard one out
        if theirs[0] in self._hosts.proxies or (theirs[0] == host[0] and theirs[1] in ports):
            return ""
        return f"Athena takes requests from its own pages only. {FROM_A_PROGRAM}"


def security_headers(page: str) -> list[tuple[str, str]]:
    """The headers of every response; the scripts that stand in the `page` itself may run."""
    inline = INLINE_SCRIPT.findall(page)
    policy = {
        "default-src": "'self'",
        "script-src": " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *map(_hash, inline)]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "media-src": "'self' blob:",
        "worker-src": "'self' blob:",
        "connect-src": "'self'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return [
        ("Content-Security-Policy", "; ".join(f"{name} {value}" for name, value in policy.items())),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ]


def _authority(url: str) -> tuple[str, int | None] | None:
    """Host name and port of a URL; None where it has no plain ones."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    # urlsplit reads "[::1].evil.com" as the host "::1": a name in brackets ends there, or before its port.
    if "]" in parts.netloc and parts.netloc.partition("]")[2][:1] not in ("", ":"):
        return None
    if not name or parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        return None
    return name.lower().rstrip("."), port or STANDARD_PORTS.get(parts.scheme)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
