"""Errors of model servers in our error tree: each names the server, the model and the remedy.

Failures come from httpx, ollama and openai. This module imports none of them before one has failed: an answer
of quotes needs none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.errors import AnswerInterrupted, ModelError, ModelTimeout, ModelUnavailable
from pipeline.redaction import redacted, without_password

Provider = Literal["ollama", "openai", "local"]
MOST_SHOWN = 300  # characters of a server's own words
TOO_MANY = 429  # HTTP status
TOO_LONG = re.compile(
    r"context.{0,40}(length|size|window|overflow|exceed)|exceed.{0,40}context", re.IGNORECASE
)
SHORTEN = "Lower ATHENA_CONTEXT_WINDOW to what the server allows, or ATHENA_CONTEXT_TOKENS."


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

    @property
    def start(self) -> str:
        """How to make an unreachable server answer."""
        if self.provider == "ollama":
            return "Start it with `ollama serve`, or correct ATHENA_OLLAMA_URL."
        return f"Start that server, or correct ATHENA_OPENAI_BASE_URL.{self.v1_hint}"

    @property
    def v1_hint(self) -> str:
        """A question about the base URL, where it has no path although most servers want `/v1`."""
        lacks = self.provider == "openai" and "/" not in self.url.partition("//")[2].rstrip("/")
        return " Should ATHENA_OPENAI_BASE_URL end with '/v1'?" if lacks else ""


def translate(error: Exception, *, server: Server, begun: bool) -> ModelError:
    """Return what an exception of httpx, ollama or openai means; `begun`: the answer had begun to arrive."""
    import httpx

    unreachable = (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL, httpx.UnsupportedProtocol)
    if isinstance(error, ModelError):
        return error
    status, words = _status(error), _words(error)
    if status:
        return _refused(server, status, words, retry_after_s=_retry_after(error))
    if not begun and _caused_by(error, ConnectionError, *unreachable):
        return ModelUnavailable(f"Cannot reach {server.place}: {words or 'no connection'}.", server.start)
    if _caused_by(error, httpx.TimeoutException):
        fix = "Try again, choose a smaller model, or raise ATHENA_REQUEST_TIMEOUT_S."
        return ModelTimeout(f"{server.place} sent nothing for {server.timeout_s:g} s.", fix)
    reason = _reason(error, words, served=server.provider != "local")
    if begun:
        problem = f"{server.place} broke off in the middle of its answer: {reason}."
        return AnswerInterrupted(problem, "Ask again for the whole answer.")
    fix = f"Check the server and its log.{server.v1_hint}" if server.url else "Check the model."
    return ModelError(f"{server.place} gave no usable answer: {reason}.", fix)


def worth_retrying(error: Exception) -> bool:
    """Return True for failures that may pass within a second: lost connections, HTTP 429 and 5xx."""
    import httpx

    if status := _status(error):
        return (status == TOO_MANY and not _retry_after(error)) or status >= 500
    if _caused_by(error, httpx.TimeoutException):
        return False
    return _caused_by(error, ConnectionError, httpx.NetworkError, httpx.RemoteProtocolError)


def quoted(words: str) -> str:
    """Return a server's words fit for a message: one line, at most 300 characters, without secrets."""
    line = "".join(char if char.isprintable() else " " for char in redacted(words))
    return " ".join(line.split())[:MOST_SHOWN].rstrip(". ")


def _refused(server: Server, status: int, words: str, *, retry_after_s: str) -> ModelError:
    """Return the error for an HTTP status of 300 or more."""
    kind: type[ModelError] = ModelError
    match status:
        case 404 | 405 if not server.model:
            problem, fix = "lists no models", f"Name one, for example in ATHENA_LLM.{server.v1_hint}"
        case 404 if server.provider == "ollama":
            kind, problem, fix = (
                ModelUnavailable,
                "is not there",
                f"Get it with `ollama pull {server.model}`.",
            )
        case 404:
            kind, problem = ModelUnavailable, "is not there"
            fix = f"Choose a model that this server lists, for example in ATHENA_LLM.{server.v1_hint}"
        case 401 | 403:
            kind, problem, fix = (
                ModelUnavailable,
                "refused the key",
                "Set ATHENA_OPENAI_API_KEY to a valid key.",
            )
        case 429:
            wait = f"{retry_after_s} s" if retry_after_s else "a minute"
            problem, fix = "has had too many requests", f"Wait {wait} and ask again."
        case _ if TOO_LONG.search(words):
            problem, fix = "cannot hold so long a prompt", SHORTEN
        case _ if status < 400:
            problem, fix = (
                "sends requests elsewhere; nothing was sent there",
                "Set the URL to the right place.",
            )
        case _ if status >= 500:
            problem, fix = "failed", "Ask again in a moment; if it fails again, look at the server's log."
        case _:
            problem, fix = "refused the request", f"Check the model and its settings.{server.v1_hint}"
    return kind(f"{server.place} {problem} (HTTP {status}): {words or 'no reason given'}.", fix)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and what caused it, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _caused_by(error: Exception, *kinds: type[Exception]) -> bool:
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _response(error: Exception) -> Any:
    """Return the HTTP response that an error is about; None where there was none."""
    responses = (getattr(cause, "response", None) for cause in _causes(error))
    return next((response for response in responses if response is not None), None)


def _status(error: Exception) -> int:
    """Return the HTTP status of an error; 0 where there is none."""
    return getattr(_response(error), "status_code", 0)


def _retry_after(error: Exception) -> str:
    """Return the seconds of the header `Retry-After`; "" without one, or where it is a date."""
    value = str(getattr(_response(error), "headers", {}).get("retry-after", ""))
    return value if value.isdecimal() and len(value) < 6 else ""


def _words(error: Exception) -> str:
    """Return the server's own words about an error; without any, httpx's, or the innermost cause's."""
    import httpx

    if (response := _response(error)) is not None:
        return quoted(_message_in(response.text))
    causes = list(_causes(error))
    cause = next((one for one in causes if isinstance(one, httpx.HTTPError | httpx.InvalidURL)), causes[-1])
    words = getattr(cause, "error", None) or getattr(cause, "message", None) or cause  # of ollama and openai
    return quoted(_message_in(words if isinstance(words, str) else str(words).partition("\n")[0]))


def _message_in(body: str) -> str:
    """Return the message in an error body of Ollama or OpenAI; the body where it is neither."""
    try:
        error = json.loads(body)
    except (ValueError, RecursionError):
        return body
    for name in ("error", "message", "detail"):
        error = error.get(name, error) if isinstance(error, dict) else error
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _reason(error: Exception, words: str, *, served: bool) -> str:
    """Return the reason in plain words: a parser's own words say nothing to a user of a server."""
    import httpx

    if _caused_by(error, httpx.RemoteProtocolError, httpx.NetworkError):
        return "the connection was cut"
    if served and isinstance(error, TypeError | AttributeError | LookupError | ValueError | RecursionError):
        return "it does not keep to the protocol"
    return words or type(error).__name__
