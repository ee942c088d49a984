"""Model servers, and their errors in our error tree: each names the server, the model and the remedy."""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from pipeline.errors import ModelError, ModelTimeout, ModelUnavailable
from pipeline.redaction import redacted, without_password

Provider = Literal["ollama", "openai", "local"]
CONNECT_S = 3.0  # to reach a server
MOST_SHOWN = 300  # characters of a server's own words
TOO_LONG = re.compile(r"(?i)context.{0,40}(length|size|window|overflow|exceed)|exceed.{0,40}context")
KEY = "Set ATHENA_OPENAI_API_KEY to a valid key."
FIXES = {
    404: "Name a model that this server has, for example in ATHENA_LLM.",
    429: "Wait a minute and ask again.",
}
"""The remedy by HTTP status."""
OTHER_FIX = "Check its URL and its log, or ask again in a moment."
NO_V1 = "Correct ATHENA_OPENAI_BASE_URL, which most servers want to end with '/v1', or the model's name."
START = {
    "ollama": "Start it with `ollama serve`, or correct ATHENA_OLLAMA_URL.",
    "openai": "Start that server, or correct ATHENA_OPENAI_BASE_URL; most end with '/v1'.",
    "local": "Check the model.",
}
"""The remedy where nothing answers, by provider."""


@dataclass(frozen=True, slots=True)
class Server:
    """A model on a server; "local" is a model in this process, which has no URL."""

    provider: Provider
    url: str
    model: str
    timeout_s: float  # longest silence

    @property
    def name(self) -> str:
        """The model's name as settings write it; the kind of server while no model is chosen."""
        if self.provider == "local":
            return self.model
        kind = "Ollama" if self.provider == "ollama" else "the OpenAI-compatible server"
        return f"{self.provider}/{self.model}" if self.model else kind

    @property
    def place(self) -> str:
        """Name and URL: the beginning of most messages."""
        return f"{self.name} at {without_password(self.url)}" if self.url else self.name

    def http(self) -> dict[str, Any]:
        """Return the arguments of an httpx client for this server, which may be silent for `timeout_s`.

        No proxy is used for this machine, and no redirect is followed: it could send questions elsewhere.
        """
        import httpx

        try:
            host = urlsplit(self.url).hostname or ""
        except ValueError:  # no address: the client says so
            host = ""
        return {
            "timeout": httpx.Timeout(self.timeout_s, connect=CONNECT_S),
            "verify": _certificates(),
            "follow_redirects": False,
            "trust_env": not is_loopback(host),
        }

    def unreachable(self, reason: str) -> ModelUnavailable:
        """Return the error for a server that does not answer."""
        problem = f"Cannot reach {self.place}: {reason or 'no connection'}."
        return ModelUnavailable(problem, START[self.provider])


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()  # each reading of the certificates takes 30 ms


def is_loopback(host: str) -> bool:
    """Return whether a name or address is that of this machine alone: localhost, 127.0.0.0/8, ::1."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def translate(error: Exception, *, server: Server, begun: bool) -> ModelError:
    """Return what an exception of httpx, ollama or openai means; `begun`: the answer had begun to arrive."""
    import httpx  # not above: an answer of quotes needs none

    if isinstance(error, ModelError):
        return error
    causes = tuple(_causes(error))
    words = _words(causes[-1])
    for cause in causes:
        response = getattr(cause, "response", None)  # of httpx and openai
        status = getattr(cause, "status_code", 0) or getattr(response, "status_code", 0)
        if status > 0:  # of Ollama's errors within an answer: -1
            return _refused(server, status, _words(cause if response is None else response.text))
    unreachable = (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL)
    if not begun and _any(causes, httpx.UnsupportedProtocol, *unreachable):
        return server.unreachable(words)
    if _any(causes, httpx.TimeoutException):
        fix = "Try again, choose a smaller model, or raise ATHENA_REQUEST_TIMEOUT_S."
        return ModelTimeout(f"{server.place} sent nothing for {server.timeout_s:g} s.", fix)
    if _any(causes, httpx.RemoteProtocolError, httpx.NetworkError):
        words = "the connection was cut"
    elif server.url and isinstance(error, TypeError | AttributeError | LookupError | ValueError):
        words = "it does not keep to the protocol"  # a parser's own words say nothing to a user
    if begun:
        problem = f"{server.place} broke off in the middle of its answer: {words}."
        return ModelError(problem, "Ask again for the whole answer.")
    fix = OTHER_FIX if server.url else START["local"]
    return ModelError(f"{server.place} gave no usable answer: {words or type(error).__name__}.", fix)


def quoted(words: str) -> str:
    """Return a server's words fit for a message: one line, at most 300 characters, without secrets."""
    line = "".join(char if char.isprintable() else " " for char in redacted(words))
    return " ".join(line.split())[:MOST_SHOWN].rstrip(". ")


def _refused(server: Server, status: int, words: str) -> ModelError:
    """Return the error for an HTTP status of 300 or more."""
    is_missing = status == 404 and bool(server.model)
    is_key = status in (401, 403) and server.provider == "openai"
    fix = KEY if is_key else FIXES.get(status, OTHER_FIX)
    if is_missing and server.provider == "ollama":
        fix = f"Get it with `ollama pull {server.model}`."
    elif status == 404 and server.provider == "openai" and not server.url.endswith("/v1"):
        fix = NO_V1
    elif TOO_LONG.search(words):
        fix = "The prompt is too long: lower ATHENA_CONTEXT_WINDOW or ATHENA_CONTEXT_TOKENS."
    kind = ModelUnavailable if is_missing or status in (401, 403) else ModelError
    refused = f"{server.place} refused the {'key' if is_key else 'request'} (HTTP {status})"
    return kind(f"{refused}: {words or 'no reason given'}.", fix)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its chain of causes, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _any(causes: tuple[BaseException, ...], *kinds: type[Exception]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes)


def _words(said: Any) -> str:
    """Return a server's own words about an error, from its response or from a client's exception."""
    body = str(getattr(said, "error", None) or getattr(said, "message", None) or said)  # of ollama, openai
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return quoted(body)
    for name in ("error", "message", "detail"):
        found = found.get(name, found) if isinstance(found, dict) else found
    return quoted(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
