"""Authentication: which user sends a request, and what the user's API key allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from doors.errors import NoKey
from pipeline.errors import ConfigurationError, NotAllowed
from pipeline.models.failures import is_loopback
from pipeline.stores.keys import PREFIX, RIGHTS, Keys

if TYPE_CHECKING:
    from athena import Athena
    from athena.settings import Settings
    from memory.user_memory import UserMemory

Right = Literal["read", "remember", "write"]

PROXY_HEADERS = ("forwarded", "x-forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip")
"""Prefixes of headers that proxies add; a request with such a header counts as from another machine."""
bearer = HTTPBearer(auto_error=False, description="A key that `athena keys add NAME` printed.")


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who sends a request, and the rights of the user's key."""

    user: str
    rights: frozenset[str] = frozenset(RIGHTS)

    def require(self, right: Right) -> None:
        """Raise `NotAllowed` if the key lacks a right."""
        if right not in self.rights:
            fix = f"Make one with `athena keys add NAME --may {right}`."
            raise NotAllowed(f"This key lacks the right '{right}'.", fix)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: the Athena that answers it, its caller, and where citations can be read."""

    athena: Athena
    caller: Caller
    base_url: str
    page: bool  # whether the pages are served at the same address

    @property
    def memory(self) -> UserMemory:
        """Return the caller's memory."""
        return self.athena.memory_of(self.caller.user)


def caller_of(athena: Athena, request: Request) -> Caller:
    """Return the caller of a request; raises `NoKey` if its key is missing or invalid.

    While no key is stored and `user_header` is empty, programs on this machine need none, or send any text.
    """
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    sent = sent.strip()
    if scheme and (scheme.lower() != "bearer" or not sent):
        raise NoKey("The header `Authorization` has no key.")
    any_key = bool(athena.keys.list())
    if sent.startswith(PREFIX) or (sent and any_key):
        if (key := athena.keys.find(sent)) is None:
            raise NoKey("This key is unknown, revoked or has expired.")
        return Caller(key.user, frozenset(key.rights))
    if any_key or athena.settings.user_header or not _is_local(request):
        raise NoKey("This request needs a key.")
    return Caller(athena.settings.user)


def require_key(keys: Keys, settings: Settings) -> None:
    """Raise `ConfigurationError` if the host is not loopback and no API key is stored."""
    if not is_loopback(settings.host) and not keys.list():
        raise ConfigurationError(
            f"Other machines could use the API on {settings.host} without a key.",
            "Make one with `athena keys add NAME`, or leave ATHENA_HOST at 127.0.0.1.",
        )


def _is_local(request: Request) -> bool:
    """Return whether a request comes from this machine, has a loopback name as its host, and no proxy header.

    A web page whose name resolves to this machine (DNS rebinding) sends that name as the host.
    """
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    forwarded = any(name.startswith(PROXY_HEADERS) for name in request.headers)
    addresses = request.client and request.client.host, host
    return not forwarded and all(address and is_loopback(address) for address in addresses)


def _with_right(right: Right) -> Callable[..., RequestContext]:
    """Return a FastAPI dependency that returns a request's context, or raises `NoKey` or `NotAllowed`."""

    def context(
        request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
    ) -> RequestContext:
        athena = request.app.state.athena()
        caller = caller_of(athena, request)
        caller.require(right)
        return RequestContext(athena, caller, str(request.base_url), request.app.state.page)

    return context


Reads = Annotated[RequestContext, Depends(_with_right("read"))]
Remembers = Annotated[RequestContext, Depends(_with_right("remember"))]
Writes = Annotated[RequestContext, Depends(_with_right("write"))]
