"""Have Ollama get a model, by its own client, with progress that a log can show, too."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import ollama

from pipeline.errors import ModelError
from pipeline.models.base import Pulling
from pipeline.models.connections import client_options
from pipeline.models.failures import Misbehaviour, Server, quoted, require_address, translate
from pipeline.redaction import without_password

SILENCE_S = 300.0  # Ollama checks what it got, gigabytes, without a word


def pull_model(
    model: str, *, url: str, connect_timeout_s: float, on_progress: Callable[[Pulling], None]
) -> None:
    """Have the Ollama at `url` download a model, and return when it can be used.

    Ollama keeps what was downloaded before an error: the next call continues from there.

    Raises:
        ModelError: Ollama is not there, breaks off, or cannot get the model; it says which.
    """
    server = Server("ollama", url, model, SILENCE_S)
    require_address(server)
    client = ollama.Client(
        url,
        **client_options(connect_timeout_s=connect_timeout_s, read_timeout_s=SILENCE_S, protocol="progress"),
    )
    parts: dict[str, tuple[int, int]] = {}
    try:
        for progress in client.pull(model, stream=True):
            if progress.digest:
                parts[progress.digest] = (progress.completed or 0, progress.total or 0)
            done, total = (sum(part[i] for part in parts.values()) for i in (0, 1))
            on_progress(Pulling(quoted(progress.status or ""), done, total))
            if progress.status == "success":
                return
    except (
        ollama.ResponseError,
        ConnectionError,
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        Misbehaviour,
    ) as error:
        raise _failed(error, server) from error
    raise ModelError(
        f"Ollama at {without_password(url)} broke off while it got '{model}'.",
        "Run this again: it continues from there.",
    )


def _failed(error: Exception, server: Server) -> ModelError:
    """An error in the stream has no HTTP status: it is about the model."""
    if isinstance(error, ollama.ResponseError) and error.status_code < 0:
        return ModelError(
            f"Ollama at {without_password(server.url)} cannot get '{server.model}': {quoted(error.error)}.",
            "Look for the name in the library of models of Ollama, and check its network.",
        )
    return translate(error, server=server, begun=False)
