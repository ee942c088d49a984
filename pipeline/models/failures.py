"""Model servers, and their errors as `ModelError`s that name the server, the model and the remedy."""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Self

from pipeline.errors import ModelError, ModelTimeout, ModelUnavailable
from pipeline.options import ModelServerOptions
from pipeline.redaction import redacted, without_password

CONNECT_S = 3.0  # longest wait for a connection to a server
MOST_SHOWN = 300  # characters of a server's own message
TOO_LONG = re.compile(r"(?i)context.{0,40}(length|size|window|overflow|exceed)|exceed.{0,40}context")
UNREACHABLE = {"ConnectionError", "ConnectError", "ConnectTimeout", "InvalidURL", "UnsupportedProtocol"}
CUT = {"RemoteProtocolError", "NetworkError"}
"""Exceptions of Python and httpx, by name, so that answers without a model need not import httpx."""
NEEDS_KEY = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
START = {
    "ollama": "Start it with `ollama serve`, or correct ATHENA_OLLAMA_URL.",
    "openai": "Start that server, or correct ATHENA_OPENAI_BASE_URL; most end with '/v1'.",
    "local": "Check the model.",
}
"""The remedy if the server does not answer, by provider."""
KEY = "Set ATHENA_OPENAI_API_KEY to a valid key."
FIXES = {
    ("ollama", 404): "Get the model with `ollama pull {model}`, or correct ATHENA_OLLAMA_URL.",
    ("openai", 401): KEY,
    ("openai", 403): KEY,
    ("openai", 404): "Name a model that this server has, for example in ATHENA_LLM, or correct"
    " ATHENA_OPENAI_BASE_URL, which most servers want to end with '/v1'.",
}
"""The remedy by provider and HTTP status."""
OTHER_FIX = "Check its URL and its log, or ask again in a moment."


@dataclass(frozen=True, slots=True)
class Server:
    """A model and its server; a model in this process has no URL."""

    provider: str  # "ollama", "openai", "local"
    url: str
    model: str  # "" while none is chosen
    timeout_s: float  # longest time without data from the server

    @classmethod
    def of(cls, provider: str, model: str, options: ModelServerOptions) -> Self:
        """Return a provider's server; raise `ModelUnavailable` if OpenAI's key or package is missing."""
        url = {"ollama": options.ollama_url, "openai": options.openai_url}[provider]
        server = cls(provider, url, model, options.request_timeout_s)
        if provider == "openai" and not (options.openai_api_key or options.openai_base_url):
            raise ModelUnavailable(f"{server.place} needs a key.", NEEDS_KEY)
        if provider == "openai" and find_spec("openai") is None:
            raise ModelUnavailable(f"{server.place} needs the package openai.", INSTALL_OPENAI)
        return server

    @property
    def name(self) -> str:
        """The model's name as settings write it; the kind of server while no model is chosen."""
        if not self.url:
            return self.model
        kind = "Ollama" if self.provider == "ollama" else "the OpenAI-compatible server"
        return f"{self.provider}/{self.model}" if self.model else kind

    @property
    def place(self) -> str:
        """Name and URL, without its password: the beginning of most error messages."""
        return f"{self.name} at {without_password(self.url)}" if self.url else self.name

    def http(self) -> dict[str, Any]:
        """Return the arguments of an httpx client for this server, with `timeout_s` for each read and write.

        A server on this machine is reached without proxies. Redirects are not followed, since they could send
        questions elsewhere. Raises `httpx.InvalidURL`.
        """
        import httpx

        return {
            "timeout": httpx.Timeout(self.timeout_s, connect=CONNECT_S),
            "verify": _certificates(),
            "follow_redirects": False,
            "trust_env": not is_loopback(httpx.URL(self.url).host),
        }


@cache
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()  # cached, because reading the certificates takes 30 ms


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback name or address of this machine: localhost, 127.0.0.0/8, ::1."""
    name = host.strip("[]").lower().rstrip(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def translate(error: Exception, *, server: Server, begun: bool) -> ModelError:
    """Turn an exception of httpx, ollama or openai into a `ModelError`; `begun`: part of the answer came."""
    if isinstance(error, ModelError):
        return error
    causes = tuple(_causes(error))
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    words = _words(causes[-1])
    for cause in causes:
        response = getattr(cause, "response", None)  # of httpx and openai
        status = getattr(cause, "status_code", 0) or getattr(response, "status_code", 0)
        if status > 0:  # Ollama's client gives errors within an answer the status -1
            return _refused(server, status, _words(cause if response is None else response.text))
    if kinds & UNREACHABLE and not begun:
        problem = f"Cannot reach {server.place}: {words or 'no connection'}."
        return ModelUnavailable(problem, START[server.provider])
    if "TimeoutException" in kinds:
        fix = "Try again, choose a smaller model, or raise ATHENA_REQUEST_TIMEOUT_S."
        return ModelTimeout(f"{server.place} sent nothing for {server.timeout_s:g} s.", fix)
    if kinds & CUT:
        words = "the connection was cut"
    elif server.url and isinstance(error, TypeError | AttributeError | LookupError | ValueError):
        words = "it does not keep to the protocol"  # a parser's own message does not help users
    if begun:
        problem = f"{server.place} broke off in the middle of its answer: {words}."
        return ModelError(problem, "Ask again for the whole answer.")
    fix = OTHER_FIX if server.url else START["local"]
    return ModelError(f"{server.place} gave no usable answer: {words or type(error).__name__}.", fix)


def quoted(words: str) -> str:
    """Return a server's text for use in a message: one line, at most 300 characters, without secrets."""
    line = "".join(char if char.isprintable() else " " for char in redacted(words))
    return " ".join(line.split())[:MOST_SHOWN].rstrip(". ")


def _refused(server: Server, status: int, words: str) -> ModelError:
    """Return the error for an HTTP status of 300 or more."""
    fix = FIXES.get((server.provider, status), OTHER_FIX)
    if status == 429:
        fix = "Wait a minute and ask again."
    elif TOO_LONG.search(words):
        fix = "The prompt is too long: lower ATHENA_CONTEXT_WINDOW or ATHENA_CONTEXT_TOKENS."
    is_unavailable = status in (401, 403) or (status == 404 and server.model)
    kind = ModelUnavailable if is_unavailable else ModelError
    refused = f"{server.place} refused the {'key' if fix == KEY else 'request'} (HTTP {status})"
    return kind(f"{refused}: {words or 'no reason given'}.", fix.format(model=server.model or "NAME"))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its chain of causes, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _words(said: Any) -> str:
    """Return a server's error message, from its response or from a client's exception."""
    body = str(getattr(said, "error", None) or getattr(said, "message", None) or said)  # of ollama, openai
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return quoted(body)
    for name in ("error", "message", "detail"):
        found = found.get(name, found) if isinstance(found, dict) else found
    return quoted(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
