"""A model's server on the loopback that sends exactly what a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import LoopbackServer

HANG = None  # a part of a body: send nothing more until the client hangs up


@dataclass(frozen=True)
class Sent:
    """One response: its body is sent part by part; a number is a pause in seconds."""

    body: Sequence[bytes | float | None] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    before_headers: float | None = 0.0  # a pause, or HANG


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


class ScriptedServer(LoopbackServer):
    """Sends the responses in order, the last one again and again; keeps the requests."""

    def __init__(self, *responses: Sent) -> None:
        self.responses = list(responses)
        self.requests: list[Received] = []
        self.hung_up = threading.Event()
        super().__init__(type("Scripted", (_Handler,), {"script": self}))


class _Handler(BaseHTTPRequestHandler):
    script: ScriptedServer

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def _respond(self) -> None:
        script = self.script
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        script.requests.append(Received(self.path, dict(self.headers), json.loads(body or b"null")))
        response = script.responses.pop(0) if len(script.responses) > 1 else script.responses[0]
        try:
            self._send(response)
        except OSError:
            script.hung_up.set()

    def _send(self, response: Sent) -> None:
        self._pause(response.before_headers)
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for part in response.body:
            if isinstance(part, bytes):
                self.wfile.write(part)
                self.wfile.flush()
            else:
                self._pause(part)

    def _pause(self, seconds: float | None) -> None:
        if seconds is not HANG:
            time.sleep(seconds)
            return
        self.connection.settimeout(30)
        if not self.connection.recv(1):
            self.script.hung_up.set()


def sse(*events: object, done: bool = True) -> tuple[bytes, ...]:
    """The events as OpenAI's protocol sends them; bytes are sent as they are."""
    sent = [one if isinstance(one, bytes) else f"data: {json.dumps(one)}\n\n".encode() for one in events]
    return (*sent, *([b"data: [DONE]\n\n"] if done else []))


def chunk(delta: dict[str, Any] | None = None, *, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of OpenAI's with one choice."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}], **more}


def said(*pieces: str, reason: str = "stop", **more: Any) -> tuple[bytes, ...]:
    """An answer of OpenAI's in these pieces."""
    return sse(*(chunk({"content": piece}) for piece in pieces), chunk(reason=reason, **more))


def lines(*events: dict[str, Any]) -> tuple[bytes, ...]:
    """The events as Ollama sends them."""
    return tuple(json.dumps(event).encode() + b"\n" for event in events)


def told(pieces: Iterable[dict[str, str]], *, reason: str = "stop", **counts: Any) -> tuple[bytes, ...]:
    """An answer of Ollama's; a piece holds `content`, `thinking` or both."""
    messages = [{"role": "assistant", "content": "", **piece} for piece in (*pieces, {})]
    events: list[dict[str, Any]] = [{"model": "m", "message": message, "done": False} for message in messages]
    events[-1] |= {"done": True, "done_reason": reason, **counts}
    return lines(*events)
