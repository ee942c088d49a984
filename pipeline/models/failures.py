"""What went wrong with a model's server, in the words of our error tree: the URL, the model, the command.

Failures come from three libraries (httpx, ollama, openai). This module imports none of them at the top:
any may be missing, and an answer of quotes needs none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import AnswerInterrupted, ModelError, ModelTimeout, ModelUnavailable
from pipeline.redaction import heard, without_password

Provider = Literal["ollama", "openai", "local"]
MAX_DETAIL_CHARACTERS = 300
MAX_READ_CHARACTERS = 20_000  # of what a server says: more than is shown, so that no half of a secret is
TOO_MANY = 429  # HTTP status


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to do about a kind of server."""

    unnamed: str  # the server's name while no model is chosen
    start: str  # when nothing answers
    get: str  # when it does not have the model
    mend: str  # when it fails


OLLAMA = _Advice(
    "Ollama",
    "Start it with `ollama serve`, or correct ATHENA_OLLAMA_URL.",
    "Get it with `ollama pull {model}`.",
    "Look at the server's log; `ollama ps` shows what is loaded and whether memory suffices.",
)
OTHER = _Advice(
    "the OpenAI-compatible server",
    "Start that server, or correct ATHENA_OPENAI_BASE_URL.",
    "Choose a model that this server lists, for example in ATHENA_LLM.",
    "Ask again in a moment; if it stays, look at the server's log.",
)


@dataclass(frozen=True, slots=True)
class Server:
    """A model on a server: what an error message must name."""

    provider: Provider
    url: str
    model: str
    timeout_s: float  # without a byte

    @property
    def name(self) -> str:
        """The model's name as settings write it; the server's kind while no model is chosen."""
        if self.provider == "local":
            return self.model
        return f"{self.provider}/{self.model}" if self.model else self.advice.unnamed

    @property
    def place(self) -> str:
        """The beginning of most messages."""
        return f"{self.name} at {without_password(self.url)}"

    @property
    def advice(self) -> _Advice:
        """What to do about this kind of server."""
        return OLLAMA if self.provider == "ollama" else OTHER


class Misbehaviour(Exception):
    """What a server sent is not what its protocol says; the text is a reason in plain words."""


class SentElsewhere(Misbehaviour):
    """The server sent the request on to another one."""


class TooLong(Misbehaviour):
    """The server sent more, or took longer, than any answer needs."""


def unreachable(server: Server, reason: str) -> ModelUnavailable:
    """Nothing answers at the URL."""
    return ModelUnavailable(f"Cannot reach {server.place}: {reason}.", server.advice.start)


def require_address(server: Server) -> None:
    """Do nothing where the server's URL is one; raises `ModelUnavailable` before clients fall over it."""
    import httpx

    try:
        httpx.URL(server.url)
    except httpx.InvalidURL as error:
        raise unreachable(server, quoted(str(error))) from error


def timed_out(server: Server) -> ModelTimeout:
    """The server took the question and went silent."""
    return ModelTimeout(
        f"{server.place} sent nothing for {server.timeout_s:g} s.",
        "Try again, choose a smaller model, or raise ATHENA_REQUEST_TIMEOUT_S.",
    )


def interrupted(server: Server, reason: str) -> AnswerInterrupted:
    """The answer had begun and stopped before its proper end."""
    return AnswerInterrupted(
        f"{server.place} broke off in the middle of its answer: {reason}.",
        "Ask again for the whole answer.",
    )


def refused(server: Server, status: int, detail: str) -> ModelError:
    """The server answered with an HTTP error."""
    kind: type[ModelError] = ModelError
    match status:
        case 404 if not server.model:
            kind, what, fix = ModelUnavailable, "has no list of models", server.advice.start
        case 404:
            kind, what, fix = ModelUnavailable, "is not there", server.advice.get.format(model=server.model)
        case 401 | 403:
            kind, what, fix = ModelUnavailable, "refused the key", "Set ATHENA_OPENAI_API_KEY to a valid key."
        case 429:
            what, fix = "has had too many requests", "Wait a minute and ask again."
        case _ if status >= 500:
            what, fix = "failed", server.advice.mend
        case _:
            what, fix = "refused the request", "Check the model and its settings."
    said = quoted(detail) or "no reason given"
    return kind(f"{server.place} {what} (HTTP {status}): {said}.", fix)


def translate(error: Exception, *, server: Server, begun: bool) -> ModelError:
    """Say in our tree what an exception of httpx, ollama or openai means; `begun`: text had arrived."""
    import httpx

    if isinstance(error, ModelError):
        return error
    status, detail = _status(error)
    if status:
        return refused(server, status, detail)
    if found := next((cause for cause in _causes(error) if isinstance(cause, Misbehaviour)), None):
        return _misbehaved(server, found, begun=begun)
    if _caused_by(error, httpx.ConnectError, httpx.ConnectTimeout):
        return unreachable(server, quoted(str(list(_causes(error))[-1])) or "no connection")
    if _caused_by(error, httpx.TimeoutException):
        return timed_out(server)
    reason = _reason(error, served=server.provider != "local")
    if begun:
        return interrupted(server, reason)
    if isinstance(error, ConnectionError):  # how the ollama package says it cannot connect
        return unreachable(server, "no connection")
    if _caused_by(error, httpx.TransportError, httpx.InvalidURL):
        return unreachable(server, reason)
    return ModelError(f"{server.place} gave no usable answer: {reason}.", server.advice.mend)


def worth_retrying(error: Exception) -> bool:
    """True for what may pass by itself: no connection, HTTP 429 and 5xx; not for silence or refusals."""
    import httpx

    status, _ = _status(error)
    if status:
        return status == TOO_MANY or status >= 500
    if _caused_by(error, httpx.ReadTimeout, httpx.ConnectTimeout):
        return False
    return isinstance(error, ConnectionError) or _caused_by(error, httpx.TransportError)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _caused_by(error: Exception, *kinds: type[Exception]) -> bool:
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _status(error: Exception) -> tuple[int, str]:
    """HTTP status and the server's own words; 0 where there was no HTTP error."""
    response = getattr(error, "response", None)  # of httpx.HTTPStatusError and openai.APIStatusError
    status = getattr(error, "status_code", None) or getattr(response, "status_code", 0)
    if not isinstance(status, int) or status < 400:
        return 0, ""
    # ollama.ResponseError has the words, but no response.
    return status, error_text(
        response.text if response is not None else _words(getattr(error, "error", error))
    )


def error_text(body: str) -> str:
    """The message inside an error body of Ollama or OpenAI; the body itself where it is neither."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return body.strip().removesuffix(".")
    message = error.get("message", "") if isinstance(error, dict) else error
    return _words(message).strip().removesuffix(".")


def _words(said: object) -> str:
    """What a server said, as it said it: in JSON where it is no text; of null, nothing."""
    if isinstance(said, str):
        return said
    return "" if said is None else json.dumps(said, ensure_ascii=False)


def quoted(said: str) -> str:
    """What a server said, fit for a message: one line of plain characters, bounded, and without secrets."""
    line = "".join(char if char.isprintable() else " " for char in heard(said[:MAX_READ_CHARACTERS]))
    return " ".join(line.split())[:MAX_DETAIL_CHARACTERS].rstrip(". ")


def _misbehaved(server: Server, error: Misbehaviour, *, begun: bool) -> ModelError:
    reason = quoted(str(error))
    if isinstance(error, SentElsewhere):
        return ModelError(
            f"{server.place} {reason}; nothing was sent there.",
            "If that is the right place, set the model's URL to it.",
        )
    if begun:
        return interrupted(server, reason)
    return ModelError(f"{server.place} gave no usable answer: {reason}.", server.advice.mend)


def _reason(error: Exception, *, served: bool) -> str:
    """The reason in plain words; of a model in this process, in its own."""
    import httpx

    if isinstance(error, json.JSONDecodeError):
        return "half a line of JSON"
    if found := [cause for cause in _causes(error) if isinstance(cause, httpx.RemoteProtocolError)]:
        ended = any(words in str(found[0]) for words in ("disconnected", "closed"))
        return "the connection was cut" if ended else "what it sends is not HTTP"
    if _caused_by(error, httpx.ReadError):
        return "the connection was cut"
    if _caused_by(error, httpx.TooManyRedirects):
        return "redirects in a circle"
    if served and isinstance(error, TypeError | AttributeError | LookupError | ValueError | RecursionError):
        return "an answer that makes no sense"  # its words would be Python's
    return quoted((str(error).strip().splitlines() or [""])[0]) or type(error).__name__
