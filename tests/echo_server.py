"""A server that repeats what it was asked with, keys included: in errors, in lists, and in its answers."""

from __future__ import annotations

import base64
import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import quote

from tests.loopback import LoopbackServer

How = Literal["errors", "answers", "broken answers", "lists"]


class EchoServer(LoopbackServer):
    """Speaks Ollama's and OpenAI's protocol on one port; `how` says where it repeats headers and path."""

    def __init__(self, how: How) -> None:
        self.how = how
        self.paths: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._serve(self)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                server._serve(self)

        super().__init__(Handler)
        self.address = f"127.0.0.1:{self.port}"

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        self.paths.append(request.path)
        told = _repeated(request)
        if request.path.endswith(("/models", "/api/tags")):
            name = f"chat-{told[:60]}" if self.how == "lists" else "chat"
            self._send(request, {"data": [{"id": name}], "models": [{"name": name}]})
        elif self.how == "errors" or not request.path.endswith(("/chat/completions", "/api/chat")):
            self._send(request, {"error": {"message": told}}, status=500)
        else:
            self._stream(request, told)

    def _send(self, request: BaseHTTPRequestHandler, answer: Any, *, status: int = 200) -> None:
        data = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _stream(self, request: BaseHTTPRequestHandler, told: str) -> None:
        """The answer in pieces of seven characters: every key is cut."""
        ollama = request.path.endswith("/api/chat")
        request.send_response(200)
        request.send_header("Content-Type", "application/x-ndjson" if ollama else "text/event-stream")
        request.end_headers()
        text = f"The cabin fan moves the air [1]. {told}"
        for at in range(0, len(text), 7):
            piece = text[at : at + 7]
            message = {"role": "assistant", "content": piece}
            event = {"message": message, "done": False} if ollama else {"choices": [{"delta": message}]}
            self._event(request, event, ollama=ollama)
        if self.how == "broken answers":
            self._event(request, {"error": told}, ollama=ollama)
            return
        end: Any = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        self._event(
            request, end if ollama else {"choices": [{"delta": {}, "finish_reason": "stop"}]}, ollama=ollama
        )
        if not ollama:
            request.wfile.write(b"data: [DONE]\n\n")

    @staticmethod
    def _event(request: BaseHTTPRequestHandler, event: Any, *, ollama: bool) -> None:
        data = json.dumps(event).encode()
        request.wfile.write(data + b"\n" if ollama else b"data: " + data + b"\n\n")
        request.wfile.flush()


def _repeated(request: BaseHTTPRequestHandler) -> str:
    """What came, in the forms in which servers say it."""
    given = request.headers.get("authorization", "")
    key = re.sub(r"^\w+ ", "", given)
    user = ""
    if given.startswith("Basic "):
        user = base64.b64decode(key).decode()
        key = user.partition(":")[2]
    forms = (given, key, user, quote(key, safe=""), base64.b64encode(key.encode()).decode(), request.path)
    return "You sent " + " and ".join(filter(None, forms)) + "."
