"""A server that repeats what it was asked with, keys included: in errors, in lists, and in its answers."""

from __future__ import annotations

import base64
import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Literal
from urllib.parse import quote

from tests.loopback import LoopbackServer
from tests.scripted_server import chunk, lines, said, sse, told

How = Literal["errors", "answers", "broken answers", "lists"]


class EchoServer(LoopbackServer):
    """Speaks Ollama's and OpenAI's protocol on one port; `how` says where it repeats headers and path."""

    def __init__(self, how: How) -> None:
        self.how = how
        self.paths: list[str] = []
        super().__init__(type("Echo", (_Handler,), {"server_of": self}))
        self.address = f"127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    server_of: EchoServer

    def do_GET(self) -> None:
        how, repeated = self.server_of.how, _repeated(self)
        self.server_of.paths.append(self.path)
        if self.path.endswith(("/models", "/api/tags")):
            name = f"chat-{repeated[:60]}" if how == "lists" else "chat"
            self._send(200, json.dumps({"data": [{"id": name}], "models": [{"name": name}]}).encode())
        elif how == "errors" or not self.path.endswith(("/chat/completions", "/api/chat")):
            self._send(500, json.dumps({"error": {"message": repeated}}).encode())
        else:
            text = f"The cabin fan moves the air [1]. {repeated}"
            pieces = [text[at : at + 7] for at in range(0, len(text), 7)]  # every key is cut
            self._send(
                200,
                b"".join(
                    _streamed(
                        pieces,
                        self.path.endswith("/api/chat"),
                        broken=how == "broken answers",
                        error=repeated,
                    )
                ),
            )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.do_GET()

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(data)


def _streamed(pieces: list[str], is_ollama: bool, *, broken: bool, error: str) -> tuple[bytes, ...]:
    """The answer as the server's protocol streams it; a broken one ends with an error."""
    if not broken:
        return told({"content": piece} for piece in pieces) if is_ollama else said(*pieces)
    messages = [{"role": "assistant", "content": piece} for piece in pieces]
    if is_ollama:
        return lines(*({"message": one, "done": False} for one in messages), {"error": error})
    return sse(*map(chunk, messages), {"error": error}, done=False)


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
