"""Model servers on the loopback: one speaks Ollama's protocol, one speaks OpenAI's.

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
from typing import Any, ClassVar, Self

DIMENSIONS = 16
Body = dict[str, Any]
Messages = list[Body]


@dataclass(frozen=True)
class Reply:
    """The answer to one chat request. Counts are of pieces sent before it happens; None means never."""

    pieces: Sequence[str] = ("Hello", " there", ".")
    stall_after: int | None = None  # silent, with the connection open
    cut_after: int | None = None  # the connection breaks
    prompt_tokens: int | None = 12


@dataclass(frozen=True)
class Request:
    """One request that arrived."""

    method: str
    path: str
    body: Body
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
        vector = [value + digest[index] / 128 - 1 for index, value in enumerate(vector)]
    return vector


class ModelServer:
    """A thread on a free loopback port, a queue of replies, a record of requests.

    Its subclasses add the protocol: `get`, `post`, `whole`, `error_body` and the lines of a stream.
    """

    chat_path: ClassVar[str]
    content_type: ClassVar[str]
    key = ""

    def __init__(self, *, models: Sequence[str]) -> None:
        self.models = list(models)
        self.requests: list[Request] = []
        self.answer: Callable[[Messages], Reply] = echo
        self.embed: Callable[[str], list[float]] = embedding
        self.stalled_paths: set[str] = set()  # requests there are never answered
        self.errors: dict[str, deque[tuple[int, str]]] = {}
        self.replies: deque[Reply] = deque()
        self.stopping = threading.Event()
        self.connections: set[socket.socket] = set()
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"model_server": self})
        )
        self._http.daemon_threads, self._http.block_on_close = True, False
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients may hang up
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[Request]:
        """The chat requests so far."""
        return [request for request in self.requests if request.path == self.chat_path]

    def reply_with(self, *replies: Reply) -> None:
        """Queue replies for the next chat requests."""
        self.replies.extend(replies)

    def fail(self, path: str, status: int, error: str = "something broke", *, times: int = 1) -> None:
        """Answer the next requests of a path with an HTTP error."""
        self.errors.setdefault(path, deque()).extend([(status, error)] * times)

    def go_away(self) -> None:
        """Break every connection and stop answering, as a server that is killed does."""
        self.stopping.set()
        if not self._thread.is_alive():
            return
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()


class OllamaServer(ModelServer):
    """GET /api/tags, POST /api/show, /api/chat, /api/embed."""

    chat_path = "/api/chat"
    content_type = "application/x-ndjson"

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

    def get(self, path: str) -> Body | None:
        if path == "/api/tags":
            return {"models": [{"name": name, "model": name} for name in self.models]}
        return {"version": "0.0.0"} if path == "/api/version" else None

    def post(self, path: str, body: Body) -> Body | None:
        if path == "/api/show":
            info = {"fake.context_length": self.context_length}
            return {"model_info": info, "capabilities": self.capabilities}
        if path == "/api/embed":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            return {"model": body["model"], "embeddings": [self.embed(text) for text in texts]}
        return None

    def error_body(self, message: str) -> Body:
        return {"error": message}

    def lines(self, reply: Reply, body: Body) -> list[bytes]:
        return [_line({**_message(body, piece), "done": False}) for piece in reply.pieces]

    def end_lines(self, reply: Reply, body: Body) -> list[bytes]:
        return [_line(self.whole(reply, body) | {"message": {"role": "assistant", "content": ""}})]

    def whole(self, reply: Reply, body: Body) -> Body:
        counts = {"prompt_eval_count": reply.prompt_tokens, "eval_count": len(reply.pieces)}
        known = {key: value for key, value in counts.items() if value is not None}
        return {**_message(body, "".join(reply.pieces)), "done": True, "done_reason": "stop", **known}


def _message(body: Body, content: str) -> Body:
    message = {"role": "assistant", "content": content}
    return {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message}


def _line(event: Body) -> bytes:
    return json.dumps(event).encode() + b"\n"


class OpenAIServer(ModelServer):
    """GET /v1/models, POST /v1/chat/completions, /v1/embeddings; a `key` is checked."""

    chat_path = "/v1/chat/completions"
    content_type = "text/event-stream"

    def __init__(self, *, models: Sequence[str] = ("small-chat",), key: str = "") -> None:
        self.key = key
        super().__init__(models=models)

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def get(self, path: str) -> Body | None:
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        return None

    def post(self, path: str, body: Body) -> Body | None:
        if path != "/v1/embeddings":
            return None
        vectors = [self.embed(text) for text in body["input"]]
        rows = [{"object": "embedding", "index": index, "embedding": v} for index, v in enumerate(vectors)]
        return {"object": "list", "model": body["model"], "data": rows[::-1]}  # `index` is the order

    def error_body(self, message: str) -> Body:
        return {"error": {"message": message, "type": "error"}}

    def lines(self, reply: Reply, body: Body) -> list[bytes]:
        return [self._event(body, {"role": "assistant", "content": piece}) for piece in reply.pieces]

    def end_lines(self, reply: Reply, body: Body) -> list[bytes]:
        end = [self._event(body, {}, finish_reason="stop")]
        if (body.get("stream_options") or {}).get("include_usage"):
            end.append(self._event(body, None, usage=_usage(reply)))
        return [*end, b"data: [DONE]\n\n"]

    def whole(self, reply: Reply, body: Body) -> Body:
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        own = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return {**own, "choices": [choice], "usage": _usage(reply)}

    @staticmethod
    def _event(body: Body, delta: Body | None, *, finish_reason: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        own = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
        return b"data: " + json.dumps({**own, "choices": choices, **more}).encode() + b"\n\n"


def _usage(reply: Reply) -> dict[str, int]:
    prompt, answer = reply.prompt_tokens or 0, len(reply.pieces)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


class _Handler(BaseHTTPRequestHandler):
    model_server: Any  # one of the two above
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.model_server.connections.add(self.connection)

    def finish(self) -> None:
        self.model_server.connections.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        if self._accepted({}):
            self._send_known(self.model_server.get(self.path))

    def do_POST(self) -> None:
        server = self.model_server
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self._accepted(body):
            return
        model = str(body.get("model", ""))
        if not {model, f"{model}:latest"} & set(server.models):
            self._send(404, server.error_body(f"model '{model}' not found"))
        elif self.path != server.chat_path:
            self._send_known(server.post(self.path, body))
        else:
            self._chat(body)

    def _accepted(self, body: Body) -> bool:
        """Record the request; then stall, answer with a queued error, or refuse a wrong key."""
        server = self.model_server
        server.requests.append(Request(self.command, self.path, body, dict(self.headers.items())))
        queued = server.errors.get(self.path)
        if self.path in server.stalled_paths:
            self._stall()
        elif queued:
            status, message = queued.popleft()
            self._send(status, server.error_body(message))
        elif server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
            self._send(401, server.error_body("Incorrect API key provided"))
        else:
            return True
        return False

    def _chat(self, body: Body) -> None:
        server = self.model_server
        reply = server.replies.popleft() if server.replies else server.answer(body.get("messages", []))
        if not body.get("stream", isinstance(server, OllamaServer)):
            self._send(200, server.whole(reply, body))
            return
        try:
            self._stream(reply, body)
        except OSError:
            self.close_connection = True

    def _stream(self, reply: Reply, body: Body) -> None:
        server = self.model_server
        self.send_response(200)
        self.send_header("Content-Type", server.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for count, line in enumerate([*server.lines(reply, body), b""]):
            if reply.stall_after == count:
                return self._stall()
            if reply.cut_after == count:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return None
            if line:
                self._chunk(line)
        for line in server.end_lines(reply, body):
            self._chunk(line)
        return self._chunk(b"")

    def _stall(self) -> None:
        """Say nothing until the client hangs up or the server goes away."""
        self.close_connection = True
        while not self.model_server.stopping.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            with contextlib.suppress(OSError):
                if not readable or self.connection.recv(1, socket.MSG_PEEK):
                    continue
            return

    def _chunk(self, data: bytes) -> None:
        """One chunk of HTTP's chunked encoding; an empty one ends the body."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _send_known(self, answer: Body | None) -> None:
        if answer is None:
            self._send(404, self.model_server.error_body("page not found"))
        else:
            self._send(200, answer)

    def _send(self, status: int, answer: Body) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Requests are recorded, not printed."""
