"""What went wrong with a model's server, in the words of our error tree: the URL, the model, the command.

Failures come from three libraries (httpx, ollama, openai); none of them is imported with this module, so
that a failure of one is understood without the others being installed, and a quoted answer needs none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import AnswerInterrupted, ModelError, ModelTimeout, ModelUnavailable

Provider = Literal["ollama", "openai", "local"]
MAX_DETAIL_CHARACTERS = 300
RETRIED_STATUS = 429


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
        if not self.model:
            return {"ollama": "Ollama", "openai": "the OpenAI-compatible server"}[self.provider]
        return f"{self.provider}/{self.model}"

    @property
    def start(self) -> str:
        """What to do when nothing answers."""
        if self.provider == "ollama":
            return "Start it with `ollama serve`, or set ATHENA_OLLAMA_URL."
        return "Check the network and ATHENA_OPENAI_BASE_URL."

    @property
    def get(self) -> str:
        """What to do when the server does not have the model."""
        if self.provider == "ollama":
            return f"Get it with `ollama pull {self.model}`."
        return "Choose a model that this server lists, for example in ATHENA_LLM."


def unreachable(server: Server, reason: str) -> ModelUnavailable:
    """Nothing answers at the URL."""
    return ModelUnavailable(f"Cannot reach {server.name} at {server.url}: {reason}.", server.start)


def timed_out(server: Server, seconds: float | None = None) -> ModelTimeout:
    """The server took the question and went silent."""
    limit = server.timeout_s if seconds is None else seconds
    return ModelTimeout(
        f"{server.name} at {server.url} sent nothing for {limit:g} s.",
        "Try again, choose a smaller model, or raise ATHENA_REQUEST_TIMEOUT_S.",
    )


def interrupted(server: Server, reason: str) -> AnswerInterrupted:
    """The answer had begun and ended without its proper end."""
    return AnswerInterrupted(
        f"{server.name} at {server.url} broke off in the middle of its answer: {reason}.",
        "What had arrived is kept; ask again for the whole answer.",
    )


def refused(server: Server, status: int, detail: str) -> ModelError:
    """The server answered with an HTTP error."""
    where, said = (
        f"{server.name} at {server.url}",
        detail.strip()[:MAX_DETAIL_CHARACTERS] or "no reason given",
    )
    if status == 404:
        return ModelUnavailable(f"{where} is not there (HTTP 404): {said}.", server.get)
    if status in (401, 403):
        return ModelUnavailable(
            f"{where} refused the key (HTTP {status}): {said}.", "Set ATHENA_OPENAI_API_KEY to a valid key."
        )
    if status == RETRIED_STATUS:
        return ModelError(
            f"{where} has had too many requests (HTTP 429): {said}.", "Wait a minute and ask again."
        )
    if status >= 500:
        return ModelError(f"{where} failed (HTTP {status}): {said}.", _look_at_log(server))
    return ModelError(
        f"{where} refused the request (HTTP {status}): {said}.", "Check the model and its settings."
    )


def _look_at_log(server: Server) -> str:
    if server.provider == "ollama":
        return "Look at the server's log; `ollama ps` shows what is loaded and whether memory suffices."
    return "Ask again in a moment; if it stays, look at the server's log."


def translate(error: Exception, *, server: Server, begun: bool) -> ModelError:
    """Say in our tree what an exception of httpx, ollama or openai means; `begun`: text had arrived."""
    import httpx

    if isinstance(error, ModelError):
        return error
    causes = list(_causes(error))
    status, detail = _status(error)
    if status:
        return refused(server, status, detail)
    if any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in causes):
        return unreachable(server, str(causes[-1]) or "no connection")
    if any(isinstance(cause, httpx.TimeoutException) for cause in causes):
        return timed_out(server)
    if isinstance(error, ConnectionError) and not begun:  # how the ollama package says it cannot connect
        return unreachable(server, "no connection")
    reason = _reason(error)
    if begun:
        return interrupted(server, reason)
    if any(isinstance(cause, httpx.TransportError) for cause in causes):
        return unreachable(server, reason)
    return ModelError(f"{server.name} at {server.url} gave no usable answer: {reason}.", _look_at_log(server))


def worth_retrying(error: Exception) -> bool:
    """True for what may pass by itself: no connection, HTTP 429 and 5xx; not for silence or refusals."""
    import httpx

    status, _ = _status(error)
    if status:
        return status == RETRIED_STATUS or status >= 500
    if any(isinstance(cause, httpx.ReadTimeout | httpx.ConnectTimeout) for cause in _causes(error)):
        return False
    return isinstance(error, ConnectionError) or any(
        isinstance(cause, httpx.TransportError) for cause in _causes(error)
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _status(error: Exception) -> tuple[int, str]:
    """HTTP status and the server's own words; 0 where there was no HTTP error."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code, error_text(error.response.text)
    status = getattr(error, "status_code", None)  # ollama.ResponseError, openai.APIStatusError
    if isinstance(status, int) and status >= 400:
        response = getattr(error, "response", None)
        words = response.text if isinstance(response, httpx.Response) else str(getattr(error, "error", error))
        return status, error_text(words)
    return 0, ""


def error_text(body: str) -> str:
    """The message inside an error body of Ollama or OpenAI; the body itself where it is neither."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return body.strip().removesuffix(".")
    message = error.get("message", "") if isinstance(error, dict) else error
    return str(message).strip().removesuffix(".")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return "half a line of JSON"
    return (str(error).strip().splitlines() or [""])[0][:MAX_DETAIL_CHARACTERS].rstrip(".") or type(
        error
    ).__name__
