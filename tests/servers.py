"""Model servers on the loopback: one that speaks Ollama's protocol, one that speaks OpenAI's.

    with OllamaServer() as server:
        server.reply_with(Reply(("Close ", "the valve.")), Reply(stall_after=1))
        ...  # point a client at server.url; then read server.requests

Each chat request takes the next `Reply`; when none is left, `server.answer(messages)` makes one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

DIMENSIONS = 16
Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Reply:
    """What one chat request gets. Counts are of pieces sent before it happens; None means never."""

    pieces: Sequence[str] = ("Hello", " there", ".")
    stall_after: int | None = None  # silent, with the connection open
    cut_after: int | None = None  # the connection breaks
    prompt_tokens: int | None = 12


@dataclass(frozen=True)
class Request:
    """One request that arrived."""

    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


def echo(messages: Messages) -> Reply:
    """The default answer: the last message's words, one a piece."""
    words = re.findall(r"\S+\s*", str(messages[-1]["content"])) if messages else []
    return Reply(["You said: ", *words])


def embedding(text: str) -> list[float]:
    """A deterministic vector of a text, not of unit length."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        for index in range(DIMENSIONS):
            vector[index] += digest[index] / 128 - 1
    return vector


class ModelServer:
    """What both servers share: a thread on a free loopback port, a queue of replies, a record of requests.

    What each protocol says, its own class does: `get`, `post`, `whole`, and the lines of a stream.
    """

    chat_paths: ClassVar[tuple[str, ...]] = ()
    content_type: ClassVar[str] = "application/json"
    streams_unasked: ClassVar[bool] = False

    def __init__(self, *, models: Sequence[str]) -> None:
        self.models = list(models)
        self.requests: list[Request] = []
        self.answer: Callable[[Messages], Reply] = echo
        self.embed: Callable[[str], list[float]] = embedding
        self.errors: dict[str, deque[tuple[int, str]]] = {}
        self.stalled_paths: set[str] = set()  # requests there are never answered
        self._replies: deque[Reply] = deque()
        self._stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.daemon = True
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[Request]:
        """The chat requests so far."""
        return [request for request in self.requests if request.path in self.chat_paths]

    def reply_with(self, *replies: Reply) -> None:
        """Queue replies for the next chat requests."""
        self._replies.extend(replies)

    def fail(self, path: str, status: int, error: str = "something broke", *, times: int = 1) -> None:
        """Answer the next requests of a path with an HTTP error."""
        self.errors.setdefault(path, deque()).extend([(status, error)] * times)

    def go_away(self) -> None:
        """Break every connection and stop answering, as a server that is killed does."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_away()

    # What the handler calls

    def next_reply(self, messages: Messages) -> Reply:
        return self._replies.popleft() if self._replies else self.answer(messages)

    def next_error(self, path: str) -> tuple[int, str] | None:
        queued = self.errors.get(path)
        return queued.popleft() if queued else None

    def stall(self, connection: socket.socket) -> None:
        """Say nothing until the client hangs up or this server goes away."""
        while not self._stopping.is_set():
            readable, _, _ = select.select([connection], [], [], 0.01)
            if readable and _at_end(connection):
                return

    def opened(self, connection: socket.socket) -> None:
        self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        self._connections.discard(connection)


class OllamaServer(ModelServer):
    """GET /api/tags, POST /api/show, /api/chat, /api/embed."""

    chat_paths = ("/api/chat",)
    content_type = "application/x-ndjson"
    streams_unasked = True

    def __init__(
        self,
        *,
        models: Sequence[str] = ("llama3.2:latest", "nomic-embed-text:latest"),
        context_length: int = 2048,
        capabilities: Sequence[str] = ("completion",),
    ) -> None:
        self.context_length = context_length
        self.capabilities = list(capabilities)
        super().__init__(models=models)

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/api/tags":
            return {"models": [{"name": name, "model": name} for name in self.models]}
        return {"version": "0.0.0"} if path == "/api/version" else None

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if path == "/api/show":
            info = {"fake.context_length": self.context_length}
            return {"model_info": info, "capabilities": self.capabilities}
        if path == "/api/embed":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            return {"model": body["model"], "embeddings": [self.embed(text) for text in texts]}
        return None

    def error_body(self, message: str) -> dict[str, Any]:
        return {"error": message}

    def missing_model(self, body: dict[str, Any]) -> str | None:
        model = str(body.get("model", ""))
        if model in self.models or f"{model}:latest" in self.models:
            return None
        return f'model "{model}" not found, try pulling it first'

    def lines(self, reply: Reply, body: dict[str, Any]) -> list[bytes]:
        return [self._line(body, content=piece) for piece in reply.pieces]

    def end_lines(self, reply: Reply, body: dict[str, Any]) -> list[bytes]:
        counts = {"prompt_eval_count": reply.prompt_tokens, "eval_count": len(reply.pieces)}
        known = {key: value for key, value in counts.items() if value is not None}
        return [self._line(body, done=True, extra={"done_reason": "stop", **known})]

    def whole(self, reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
        end: dict[str, Any] = json.loads(self.end_lines(reply, body)[0])
        end["message"]["content"] = "".join(reply.pieces)
        return end

    def _line(
        self,
        body: dict[str, Any],
        *,
        content: str = "",
        done: bool = False,
        extra: dict[str, Any] | None = None,
    ) -> bytes:
        message = {"role": "assistant", "content": content}
        line = {
            "model": body["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "message": message,
            "done": done,
        }
        return json.dumps({**line, **(extra or {})}).encode() + b"\n"


class OpenAIServer(ModelServer):
    """GET /v1/models, POST /v1/chat/completions, /v1/embeddings; `key` is checked when given."""

    chat_paths = ("/v1/chat/completions",)
    content_type = "text/event-stream"

    def __init__(self, *, models: Sequence[str] = ("small-chat",), key: str = "") -> None:
        self.key = key
        super().__init__(models=models)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        return None

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if path != "/v1/embeddings":
            return None
        rows = [
            {"object": "embedding", "index": index, "embedding": self.embed(text)}
            for index, text in enumerate(body["input"])
        ]
        return {"object": "list", "model": body["model"], "data": rows[::-1]}  # order is by index

    def error_body(self, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error"}}

    def missing_model(self, body: dict[str, Any]) -> str | None:
        model = body.get("model")
        return None if model in self.models else f"The model '{model}' does not exist"

    def lines(self, reply: Reply, body: dict[str, Any]) -> list[bytes]:
        return [self._event(body, delta={"role": "assistant", "content": piece}) for piece in reply.pieces]

    def end_lines(self, reply: Reply, body: dict[str, Any]) -> list[bytes]:
        end = [self._event(body, delta={}, finish_reason="stop")]
        if (body.get("stream_options") or {}).get("include_usage"):
            end.append(self._event(body, usage=self._usage(reply)))
        return [*end, b"data: [DONE]\n\n"]

    def whole(self, reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
            "usage": self._usage(reply),
        }

    def _usage(self, reply: Reply) -> dict[str, int]:
        prompt, answer = reply.prompt_tokens or 0, len(reply.pieces)
        return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}

    def _event(
        self,
        body: dict[str, Any],
        *,
        delta: dict[str, Any] | None = None,
        finish_reason: str | None = None,
        usage: dict[str, int] | None = None,
    ) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        event: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": body["model"],
            "choices": choices,
        }
        if usage:
            event["usage"] = usage
        return b"data: " + json.dumps(event).encode() + b"\n\n"


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what these servers are for."""


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    """The handler class of one server."""

    class Handler(_Handler):
        model_server = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    model_server: ModelServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.model_server.opened(self.connection)

    def finish(self) -> None:
        self.model_server.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self._note({})
        if not self._refused():
            self._send_known(self.model_server.get(self.path))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        self._note(body)
        if self._refused():
            return
        missing = self.model_server.missing_model(body)
        if missing:
            self._send_error(404, missing)
        elif self.path in self.model_server.chat_paths:
            self._chat(body)
        else:
            self._send_known(self.model_server.post(self.path, body))

    def _note(self, body: dict[str, Any]) -> None:
        request = Request(self.command, self.path, body, dict(self.headers.items()))
        self.model_server.requests.append(request)

    def _refused(self) -> bool:
        """Stall, answer with the queued error, or refuse a wrong key."""
        if self.path in self.model_server.stalled_paths:
            self.close_connection = True
            self.model_server.stall(self.connection)
            return True
        queued = self.model_server.next_error(self.path)
        key = getattr(self.model_server, "key", "")
        if queued:
            self._send_error(*queued)
        elif key and self.headers.get("Authorization") != f"Bearer {key}":
            self._send_error(401, "Incorrect API key provided")
        else:
            return False
        return True

    def _chat(self, body: dict[str, Any]) -> None:
        reply = self.model_server.next_reply(body.get("messages", []))
        if body.get("stream", self.model_server.streams_unasked):
            try:
                self._stream(reply, body)
            except OSError:
                self.close_connection = True
        else:
            self._send(200, self.model_server.whole(reply, body))

    def _stream(self, reply: Reply, body: dict[str, Any]) -> None:
        server = self.model_server
        self.send_response(200)
        self.send_header("Content-Type", server.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for count, line in enumerate([*server.lines(reply, body), None]):
            if reply.stall_after == count:
                self.close_connection = True
                return server.stall(self.connection)
            if reply.cut_after == count:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return None
            if line is not None:
                self._chunk(line)
        for line in server.end_lines(reply, body):
            self._chunk(line)
        return self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        """One chunk of HTTP's chunked encoding; an empty one ends the body."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send_known(self, answer: dict[str, Any] | None) -> None:
        if answer is None:
            self._send_error(404, "page not found")
        else:
            self._send(200, answer)

    def _send_error(self, status: int, message: str) -> None:
        self._send(status, self.model_server.error_body(message))

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Requests are recorded, not printed."""


def _at_end(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
