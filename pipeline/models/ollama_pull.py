"""Get a model for Ollama: its own `/api/pull`, with progress that a log can show, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from pipeline.errors import ModelError
from pipeline.models.failures import Server, error_text, translate
from pipeline.models.transport import trusted

SILENCE_S = 300.0  # Ollama checks what it got, gigabytes, without a word


@dataclass(frozen=True, slots=True)
class Pulling:
    """How far it is: what Ollama says it does, and the bytes of all parts that it has named so far."""

    status: str
    done: int
    total: int


def pull_model(
    model: str, *, url: str, connect_timeout_s: float, on_progress: Callable[[Pulling], None]
) -> None:
    """Have the Ollama at `url` download a model, and return when it can be used.

    What was downloaded before an error is kept by Ollama: the next call goes on with it.

    Raises:
        ModelError: Ollama is not there, breaks off, or cannot get the model; it says which.
    """
    server = Server("ollama", url, model, SILENCE_S, connect_timeout_s)
    totals: dict[str, tuple[int, int]] = {}
    try:
        for line in _lines(server):
            if "error" in line:
                raise ModelError(
                    f"Ollama at {url} cannot get '{model}': {error_text(json.dumps(line))}.",
                    "Look for the name in the library of models of Ollama, and check its network.",
                )
            if "digest" in line:
                totals[line["digest"]] = (int(line.get("completed", 0)), int(line.get("total", 0)))
            done, total = (sum(part[i] for part in totals.values()) for i in (0, 1))
            on_progress(Pulling(str(line["status"]), done, total))
            if line["status"] == "success":
                return
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        raise translate(error, server=server, begun=False) from error
    raise ModelError(f"Ollama at {url} broke off while it got '{model}'.", "Run this again: it goes on.")


def _lines(server: Server) -> Iterator[dict[str, Any]]:
    timeout = httpx.Timeout(server.timeout_s, connect=server.connect_timeout_s)
    with httpx.stream(
        "POST",
        server.url.rstrip("/") + "/api/pull",
        json={"model": server.model, "stream": True},
        timeout=timeout,
        verify=trusted(),
    ) as response:
        if response.is_error:
            response.read()
        response.raise_for_status()
        for line in response.iter_lines():
            yield json.loads(line)
