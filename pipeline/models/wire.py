"""The wire to a model's server: connections that can be hung up, and answers that are read before they count.

The clients of Ollama and OpenAI read without a limit, and pass on whatever JSON can say. So every answer is
read here first: what is none of their protocol, or too large, raises `Misbehaviour` with a plain reason.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Literal

import httpx

from pipeline.models.failures import Misbehaviour, SentElsewhere, Server, TooLong, error_text
from pipeline.redaction import without_password

Protocol = Literal["ollama", "openai", "progress", "whole", "any"]
"""A stream of Ollama's lines, of OpenAI's events, of a download's progress; one JSON document; or an answer
of which only the head is looked at."""

MOST_BYTES = 16_000_000
"""Of one JSON document: a whole answer (vectors of a batch need some 6 MB), or a line of a stream. Of an HTTP
error the rest is not read. How many lines come is a matter of time."""

MOST_COUNT = 2**48  # of tokens or bytes: sums of such numbers still fit into 64 bits
PATIENCE = 3  # a whole answer may take so many times as long as a silence in it
OPENED = ("connect_tcp.complete", "start_tls.complete")  # of a connection, also through a proxy

LINES = ("application/x-ndjson", "application/json", "application/jsonl", "text/plain")
CONTENT_TYPES: Mapping[str, tuple[str, ...]] = {
    "ollama": LINES,
    "openai": ("text/event-stream", "text/plain"),  # of a stream
    "progress": LINES,
    "whole": ("application/json", "text/plain"),
}
KINDS = {
    "text/html": "a web page",
    "application/json": "one JSON document",
    "text/event-stream": "a stream of events",
}

Json = dict[str, Any]
SAID = {"content": str, "role": str, "thinking": str, "tool_calls": None, "function_call": None}
SHAPES: Mapping[str, Json] = {
    "ollama": {
        "done": bool,
        "done_reason": str,
        "prompt_eval_count": int,
        "eval_count": int,
        "message": SAID,
    },
    "openai": {
        "choices": [{"delta": SAID, "finish_reason": str}],
        "usage": {"prompt_tokens": int, "completion_tokens": int},
    },
    "progress": {"error": str, "status": str, "digest": str, "completed": int, "total": int},
}
"""What a line of `/api/chat`, an event of `/chat/completions` and a line of `/api/pull` hold: values by their
type (a number is a count), which may be missing; objects and lists of them, which may not, but for `usage`.
None: nothing, as no tool was offered."""


# -- connections -------------------------------------------------------------------------------------------


@cache
def trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: each reading takes 30 ms."""
    return httpx.create_ssl_context()


def client_options(*, connect_timeout_s: float, read_timeout_s: float, protocol: Protocol) -> dict[str, Any]:
    """How to make an `httpx.Client` whose answers are checked and can be hung up, whichever library makes it.

    Each answer gets a connection of its own: hanging up one leaves the others alone. Nothing comes
    compressed: a few bytes could become gigabytes.
    """
    return {
        "timeout": httpx.Timeout(read_timeout_s, connect=connect_timeout_s),
        "limits": httpx.Limits(max_keepalive_connections=0),
        "verify": trusted(),
        "headers": {"Accept-Encoding": "identity"},
        "follow_redirects": True,  # `_check_response` refuses those to other places
        "event_hooks": {"request": [_watch], "response": [partial(_check_response, protocol=protocol)]},
    }


def ask(
    server: Server, path: str, *, connect_timeout_s: float, key: str = "", body: Json | None = None
) -> Json:
    """The JSON object that a server answers, whole; a body is posted.

    Raises httpx's errors and `Misbehaviour`, also where the object is an error: `translate` knows them.
    """
    options = client_options(
        connect_timeout_s=connect_timeout_s, read_timeout_s=server.timeout_s, protocol="whole"
    )
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    method, url = "GET" if body is None else "POST", server.url.rstrip("/") + path
    with within(PATIENCE * server.timeout_s), httpx.Client(**options) as client:
        response = client.request(method, url, json=body, headers=headers)
    response.raise_for_status()
    found = _object(response.content)
    _check_error(found)
    return found


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Hang up what the block asks for where it takes longer, however busy the server is: raises `TooLong`."""
    connections = Connections()
    before = _current.set(connections)
    timer = threading.Timer(seconds, connections.hang_up)
    timer.daemon = True
    timer.start()
    too_long = TooLong(f"it was not done within {seconds:g} s")
    try:
        yield
        if connections.hung_up:  # what had arrived by then reads as if it were all
            raise too_long
    except (httpx.HTTPError, Misbehaviour) as error:
        if connections.hung_up and error is not too_long:
            raise too_long from error
        raise
    finally:
        timer.cancel()
        _current.reset(before)


class Connections:
    """The connections that one context opens: any thread can hang them up, at once and for good.

    Closing a client does not wake a thread that waits for the server's next byte; shutting its socket
    down does. httpx's `trace` extension tells of each socket as it is opened, long before a response.
    """

    def __init__(self) -> None:
        self.hung_up = False
        self._streams: list[Any] = []

    def watch(self) -> None:
        """Take charge of what the current context opens from now on."""
        _current.set(self)

    def hang_up(self) -> None:
        """End all connections now; later ones end as soon as they are open."""
        self.hung_up = True  # before looking: `note` keeps before it looks, so that one of both sees it
        for stream in self._streams:
            _shut_down(stream)

    def close(self) -> None:
        """Close what is still open: to be called by the thread that read, when it is done.

        An answer of `openai`'s that was left early would be closed by the garbage collector only.
        """
        for stream in self._streams:
            stream.close()

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Keep each socket that is opened; httpx calls this."""
        if event.endswith(OPENED):
            self._streams.append(info["return_value"])
            if self.hung_up:
                _shut_down(info["return_value"])


_current: ContextVar[Connections | None] = ContextVar("connections", default=None)


def _watch(request: httpx.Request) -> None:
    if connections := _current.get():
        request.extensions = {**request.extensions, "trace": connections.note}


def _shut_down(stream: Any) -> None:
    with contextlib.suppress(OSError):  # it may have ended by itself
        # The plain socket's method also for TLS: the TLS one would touch state that the reader is using.
        socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)


# -- answers -----------------------------------------------------------------------------------------------


def _check_response(response: httpx.Response, protocol: Protocol) -> None:
    """Refuse what is no answer by its head, and have its body looked at; httpx calls this for each answer."""
    if response.has_redirect_location:
        _check_redirect(response)
        return
    if response.is_error or protocol == "any":
        response.stream = _Body(response, _beginning)
        return
    if response.status_code != httpx.codes.OK:
        raise Misbehaviour(f"HTTP {response.status_code}, which is no answer")
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise Misbehaviour("an answer that is compressed, which it was not asked for")
    if protocol == "openai" and not json.loads(response.request.content or b"{}").get("stream"):
        protocol = "whole"  # what we asked says whether it comes in pieces
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and kind not in CONTENT_TYPES[protocol]:
        raise Misbehaviour(f"{KINDS.get(kind, f'content of the type {kind[:60]}')}, not a model's answer")
    response.stream = _Body(response, _whole if protocol == "whole" else partial(_stream, protocol=protocol))


def _check_redirect(response: httpx.Response) -> None:
    """Within one origin only: elsewhere the question, and its sources, are nobody's business."""
    here = response.request.url
    try:
        target = here.join(response.headers["location"])
    except httpx.InvalidURL as error:
        raise Misbehaviour("a redirect to something that is not an address") from error
    if _origin(target) != _origin(here):
        raise SentElsewhere(f"wants the request to go to {without_password(str(target))[:100]} instead")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


class _Body(httpx.SyncByteStream):
    """A body that is read by a function of ours before anybody else gets it."""

    def __init__(self, response: httpx.Response, read: Callable[[Iterable[bytes]], Iterator[bytes]]) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101  (our clients are not async)
        self._stream = response.stream
        self._read = read

    def __iter__(self) -> Iterator[bytes]:
        return self._read(self._stream)

    def close(self) -> None:
        self._stream.close()


def _whole(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A whole answer: only its length is limited here."""
    read = 0
    for piece in pieces:
        read += len(piece)
        _check_size(read)
        yield piece


def _beginning(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """As much of an answer as is read at most."""
    left = MOST_BYTES
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _stream(pieces: Iterable[bytes], *, protocol: Protocol) -> Iterator[bytes]:
    """An answer line by line, up to the one that ends it: what follows is no part of the answer."""
    line, take = bytearray(), _Events().take if protocol == "openai" else partial(_take_line, protocol)
    for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for part in ended:
            line += part
            last = take(bytes(line.removesuffix(b"\r")))
            yield bytes(line) + b"\n"
            line.clear()
            if last:
                return
        line += rest
        _check_size(len(line))
    if (
        line.strip() and protocol != "openai"
    ):  # half an event is none; that there is no end is noticed elsewhere
        if not line.rstrip().endswith(b"}"):
            raise Misbehaviour("half a line of JSON")
        take(bytes(line))
        yield bytes(line)


def _take_line(protocol: Protocol, line: bytes) -> bool:
    """True for the line that ends the answer; each is a JSON object."""
    return _event(line, protocol).get("done") is True


class _Events:
    """Server-sent events, each a JSON object; the last is `[DONE]`."""

    def __init__(self) -> None:
        self._data: list[bytes] = []  # of an event that has not ended yet
        self._size = 0

    def take(self, line: bytes) -> bool:
        """True for the line that ends the answer; an empty one ends an event."""
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)
            _check_size(self._size)
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            if data.strip() == b"[DONE]":
                return True
            _event(data, "openai")
        elif line and name not in (b"", b"event", b"id", b"retry"):
            raise Misbehaviour("a line that is not an event")
        return False


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise TooLong(f"more than {MOST_BYTES / 1_000_000:g} MB without an end")


# -- what is in them ---------------------------------------------------------------------------------------


def _event(data: bytes, protocol: Protocol) -> Json:
    """An event of a stream; raises `Misbehaviour`. A download's errors are about the model: its client's."""
    found = _object(data)
    if protocol != "progress":
        _check_error(found)
    _check_shape(found, SHAPES[protocol])
    return found


def _object(data: bytes) -> Json:
    try:
        found = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Misbehaviour("text that is not UTF-8") from error
    except RecursionError as error:
        raise Misbehaviour("JSON that is nested too deeply") from error
    except ValueError as error:
        raise Misbehaviour(_no_json(data)) from error
    if not isinstance(found, dict):
        raise Misbehaviour(f"{_named(found)} where an object belongs")
    return found


def _no_json(data: bytes) -> str:
    start = data.lstrip()[:100].lower()
    if not start:
        return "an empty line where JSON belongs"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "a web page, not a model's answer"
    return "an answer that is not JSON"


def _check_error(event: Json) -> None:
    if error := event.get("error"):
        said = error if isinstance(error, str) else error_text(json.dumps(event))
        raise Misbehaviour(said if isinstance(error, str | dict) and said else "an error without words")


def _check_shape(event: Json, shape: Json) -> None:
    for name, kind in shape.items():
        value = event.get(name)
        if kind is None or isinstance(kind, type):
            _check_value(name, value, kind)
        elif isinstance(kind, list):
            if not isinstance(value, list):
                raise Misbehaviour(f"{name} that are {_named(value)}")
            for item in value:
                _check_object(name.removesuffix("s"), item, kind[0])
        elif name != "usage" or value is not None:
            _check_object(name, value, kind)


def _check_object(name: str, value: object, shape: Json) -> None:
    if not isinstance(value, dict):
        raise Misbehaviour(f"a {name} that is {_named(value)}")
    _check_shape(value, shape)


def _check_value(name: str, value: object, kind: type | None) -> None:
    if kind is None:
        if value:
            raise Misbehaviour("a call of a tool, although it was offered none")
    elif kind is int and value is not None:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_COUNT:
            raise Misbehaviour(f"a '{name}' that is not a count")
    elif value is not None and not isinstance(value, kind):
        raise Misbehaviour(f"a '{name}' that is {_named(value)}")


def _named(value: object) -> str:
    match value:
        case None:
            return "null or missing"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"
