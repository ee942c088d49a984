"""Who may come in: the user of a key, or this machine's own where no key was made."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from athena.settings import Settings
from athena.tools.tool import Caller
from pipeline.errors import ConfigurationError, NotAllowed
from pipeline.stores.keys import PREFIX, Keys, found

FORWARDED = ("forwarded", "x-forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip")
"""How headers of a proxy begin: what it passes on comes from elsewhere, though it connects from here."""
ENDED = "This key was revoked, or expired, while it was answered."
SEND_A_KEY = "Send one that `athena keys add NAME` printed, as the header `Authorization: Bearer KEY`."


class NoKey(NotAllowed):
    """No key was sent that holds."""


def caller_of(keys: Keys, settings: Settings, *, headers: Mapping[str, str], client: str | None) -> Caller:
    """Who sends a request with these headers (names in lower case) from this address; raises `NoKey`.

    Clients of OpenAI's protocol cannot be without a key: what cannot be one of ours counts as none.
    """
    scheme, _, sent = headers.get("authorization", "").partition(" ")
    if scheme and (scheme.lower() != "bearer" or not sent.strip()):
        raise NoKey("The header `Authorization` has no key.", SEND_A_KEY)
    if scheme and (sent.strip().startswith(f"{PREFIX}_") or keys.list()):
        return _of_key(keys, sent.strip())
    if settings.user_header or not (_is_here(client) and _asked_here(headers)):
        raise NoKey("A key is needed to come in from elsewhere.", SEND_A_KEY)
    if keys.list():
        raise NoKey("A key is needed, as there are some.", SEND_A_KEY)
    return local_caller(settings)


def local_caller(settings: Settings) -> Caller:
    """Who is at this machine itself: the settings' user, who may do everything."""
    return Caller(settings.user)


def holds(keys: Keys, caller: Caller) -> bool:
    """Whether the key that a caller came in with is still there, and has not expired."""
    if not caller.key_id:
        return True
    key = keys.get(caller.key_id)
    return key is not None and key.holds()


def require_key(keys: Keys, settings: Settings) -> None:
    """Nothing where the doors may open; raises `ConfigurationError` on an open address without any key."""
    if not is_loopback(settings.host) and not keys.list():
        raise ConfigurationError(
            f"Others could use the doors on {settings.host} without a key.",
            "Make one with `athena keys add NAME`, or leave ATHENA_HOST at 127.0.0.1.",
        )


def is_loopback(host: str) -> bool:
    """Whether a name or address is that of this machine alone."""
    name = host.strip("[]").lower().rstrip(".")  # as names of DNS may end
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _of_key(keys: Keys, sent: str) -> Caller:
    key = found(keys, sent)
    if key is None:
        raise NoKey("This key is unknown, revoked or has expired.", SEND_A_KEY)
    return Caller(key.user, frozenset(key.rights), key.id)


def _is_here(client: str | None) -> bool:
    return client is not None and is_loopback(client)


def _asked_here(headers: Mapping[str, str]) -> bool:
    """Whether the request was sent to this machine's own name, by no proxy."""
    host = urlsplit(f"//{headers.get('host', '')}").hostname
    return host is not None and is_loopback(host) and not any(name.startswith(FORWARDED) for name in headers)
