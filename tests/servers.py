"""Model servers on the loopback: one speaks Ollama's protocol, one speaks OpenAI's.

    with OllamaServer() as server:
        server.reply_with(Reply(("Close ", "the valve.")), Reply(stall_after=1))
        ...  # point a client at server.url; then read server.requests

Each chat request takes the next `Reply`; when none is left, `server.answer(messages)` makes one.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

from tests.loopback import LoopbackServer
from tests.scripted_server import Received, chunk, sse, told

DIMENSIONS = 16
Body = dict[str, Any]
Messages = list[Body]


@dataclass(frozen=True)
class Reply:
    """The answer to one chat request; after `stall_after` pieces the server is silent until it goes away."""

    pieces: Sequence[str] = ("Hello", " there", ".")
    stall_after: int | None = None
    prompt_tokens: int | None = 12


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


class ModelServer(LoopbackServer):
    """A queue of replies and a record of requests; its subclasses add the protocol."""

    chat_path: ClassVar[str]
    streams_unasked: ClassVar[bool]

    def __init__(self, *, models: Sequence[str], key: str = "") -> None:
        self.models, self.key = list(models), key
        self.requests: list[Received] = []
        self.answer: Callable[[Messages], Reply] = echo
        self.embed: Callable[[str], list[float]] = embedding
        self.stalled_paths: set[str] = set()  # requests there are never answered
        self.errors: dict[str, deque[tuple[int, str]]] = {}
        self.replies: deque[Reply] = deque()
        self.gone = threading.Event()
        super().__init__(type("Handler", (_Handler,), {"model_server": self}))
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients may hang up

    @property
    def chats(self) -> list[Received]:
        """The chat requests so far."""
        return [request for request in self.requests if request.path == self.chat_path]

    def reply_with(self, *replies: Reply) -> None:
        """Queue replies for the next chat requests."""
        self.replies.extend(replies)

    def fail(self, path: str, status: int, error: str, *, times: int = 1) -> None:
        """Answer the next requests of a path with an HTTP error."""
        self.errors.setdefault(path, deque()).extend([(status, error)] * times)

    def go_away(self) -> None:
        """Break stalled connections and stop answering, as a server that is killed does."""
        if not self.gone.is_set():
            self.gone.set()
            super().__exit__()

    def __exit__(self, *_: object) -> None:
        self.go_away()

    def known(self, path: str, body: Body) -> Body | None:
        """Return the answer to a request that is no chat; None for an unknown path."""
        raise NotImplementedError

    def whole(self, reply: Reply, body: Body) -> Body:
        """Return the answer to a chat request that is not streamed."""
        raise NotImplementedError

    def stream(self, reply: Reply, body: Body) -> Sequence[bytes]:
        """Return the lines of a streamed answer: one a piece, then those that end it."""
        raise NotImplementedError


class OllamaServer(ModelServer):
    """GET /api/tags, POST /api/show, /api/chat, /api/embed."""

    chat_path, streams_unasked = "/api/chat", True

    def __init__(
        self, *, models: Sequence[str] = ("llama3.2:latest", "nomic-embed-text:latest"), tools: bool = False
    ) -> None:
        self.capabilities = ["completion", *(["tools"] if tools else [])]
        super().__init__(models=models)

    def known(self, path: str, body: Body) -> Body | None:
        match path:
            case "/api/tags":
                return {"models": [{"name": name, "model": name} for name in self.models]}
            case "/api/version":
                return {"version": "0.0.0"}
            case "/api/show":
                return {"model_info": {"fake.context_length": 2048}, "capabilities": self.capabilities}
            case "/api/embed":
                texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
                return {"model": body["model"], "embeddings": [self.embed(text) for text in texts]}
        return None

    def whole(self, reply: Reply, body: Body) -> Body:
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        return {
            "model": body["model"],
            "message": message,
            "done": True,
            "done_reason": "stop",
            **_counts(reply),
        }

    def stream(self, reply: Reply, body: Body) -> Sequence[bytes]:
        return told(({"content": piece} for piece in reply.pieces), **_counts(reply))


def _counts(reply: Reply) -> dict[str, int]:
    counts = {"prompt_eval_count": reply.prompt_tokens, "eval_count": len(reply.pieces)}
    return {key: value for key, value in counts.items() if value is not None}


class OpenAIServer(ModelServer):
    """GET /v1/models, POST /v1/chat/completions, /v1/embeddings; a `key` is checked."""

    chat_path, streams_unasked = "/v1/chat/completions", False

    def __init__(self, *, models: Sequence[str] = ("small-chat",), key: str = "") -> None:
        super().__init__(models=models, key=key)
        self.base_url = f"{self.url}/v1"

    def known(self, path: str, body: Body) -> Body | None:
        if path == "/v1/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        if path != "/v1/embeddings":
            return None
        vectors = [self.embed(text) for text in body["input"]]
        rows = [{"object": "embedding", "index": index, "embedding": v} for index, v in enumerate(vectors)]
        return {"object": "list", "model": body["model"], "data": rows[::-1]}  # `index` is the order

    def whole(self, reply: Reply, body: Body) -> Body:
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        own = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return {**own, "choices": [choice], "usage": _usage(reply)}

    def stream(self, reply: Reply, body: Body) -> Sequence[bytes]:
        pieces = (chunk({"role": "assistant", "content": piece}) for piece in reply.pieces)
        wants_usage = (body.get("stream_options") or {}).get("include_usage")
        usage = [{"choices": [], "usage": _usage(reply)}] if wants_usage else []
        return sse(*pieces, chunk(reason="stop"), *usage)


def _usage(reply: Reply) -> dict[str, int]:
    prompt, answer = reply.prompt_tokens or 0, len(reply.pieces)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


class _Handler(BaseHTTPRequestHandler):
    model_server: ModelServer

    def do_GET(self) -> None:
        self._respond({})

    def do_POST(self) -> None:
        self._respond(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))

    def _respond(self, body: Body) -> None:
        server = self.model_server
        server.requests.append(Received(self.path, {}, body))
        model = str(body.get("model", ""))
        if self.path in server.stalled_paths:
            server.gone.wait()
        elif queued := server.errors.get(self.path):
            self._fail(*queued.popleft())
        elif server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
            self._fail(401, "Incorrect API key provided")
        elif body and not {model, f"{model}:latest"} & set(server.models):
            self._fail(404, f"model '{model}' not found")
        elif self.path == server.chat_path:
            self._chat(body)
        elif (answer := server.known(self.path, body)) is not None:
            self._send(200, answer)
        else:
            self._fail(404, "page not found")

    def _chat(self, body: Body) -> None:
        server = self.model_server
        reply = server.replies.popleft() if server.replies else server.answer(body.get("messages", []))
        if not body.get("stream", server.streams_unasked):
            self._send(200, server.whole(reply, body))
            return
        self.send_response(200)
        self.end_headers()
        for count, line in enumerate(server.stream(reply, body)):
            if count == reply.stall_after:
                server.gone.wait()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return  # closed with a reset
            self.wfile.write(line)

    def _fail(self, status: int, message: str) -> None:
        is_ollama = isinstance(self.model_server, OllamaServer)
        self._send(status, {"error": message if is_ollama else {"message": message, "type": "error"}})

    def _send(self, status: int, answer: Body) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
