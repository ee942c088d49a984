"""What the server of a model may send: how much, and of what shape.

The clients of Ollama and OpenAI read without a limit, and pass on whatever JSON can say. So every answer is
read here first, before they see it: events that are none of their protocol, or too large, raise
`Misbehaviour` with a reason in plain words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import httpx

from pipeline.models.failures import Misbehaviour, SentElsewhere, TooLong, error_text
from pipeline.redaction import without_password

Protocol = Literal["ollama", "openai", "progress", "whole", "any"]
"""A stream of Ollama's lines, of OpenAI's events, of a download's progress; one JSON document; or an answer
of which only the head is looked at."""

MOST_BYTES: Mapping[str, int] = {
    "ollama": 32_000_000,
    "openai": 32_000_000,
    "progress": 256_000_000,
    "whole": 64_000_000,  # vectors of a batch as JSON need some 6 MB
}
MOST_EVENT_BYTES = 256_000  # one event has a token as a rule, and a whole answer at most
MOST_ERROR_BYTES = 64_000  # of the body of an HTTP error: the rest is not read
MOST_COUNT = 2**31

CONTENT_TYPES: Mapping[str, tuple[str, ...]] = {
    "ollama": ("application/x-ndjson", "application/json", "application/jsonl", "text/plain"),
    "openai": ("text/event-stream", "text/plain"),  # of a stream
    "progress": ("application/x-ndjson", "application/json", "application/jsonl", "text/plain"),
    "whole": ("application/json", "text/plain"),
}
KINDS = {
    "text/html": "a web page",
    "application/json": "one JSON document",
    "text/event-stream": "a stream of events",
}

Json = dict[str, Any]


def check_response(response: httpx.Response, protocol: Protocol) -> None:
    """Refuse what is no answer by its head, and have its body looked at; httpx calls this for each answer."""
    if response.has_redirect_location:
        _check_redirect(response)
        return
    if response.is_error:
        response.stream = _Controlled(response, _Beginning(MOST_ERROR_BYTES))
        return
    if protocol == "any":
        response.stream = _Controlled(response, _Beginning(MOST_ERROR_BYTES))
        return
    if response.status_code != httpx.codes.OK:
        raise Misbehaviour(f"HTTP {response.status_code}, which is no answer")
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise Misbehaviour("an answer that is compressed, which it was not asked for")
    if protocol == "openai" and not _streams(response.request):
        protocol = "whole"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and kind not in CONTENT_TYPES[protocol]:
        raise Misbehaviour(f"{KINDS.get(kind, f'content of the type {kind[:60]}')}, not a model's answer")
    response.stream = _Controlled(response, _reading(protocol))


def _streams(request: httpx.Request) -> bool:
    """Whether the answer was asked for in pieces: a question that we sent, so it is JSON."""
    return bool(request.content and json.loads(request.content).get("stream"))


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


class _Controlled(httpx.SyncByteStream):
    """A body whose pieces are looked at before anybody else gets them."""

    def __init__(self, response: httpx.Response, reading: _Reading) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)  # noqa: S101  (our clients are not async)
        self._stream = response.stream
        self._reading = reading

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            yield self._reading.take(piece)
            if self._reading.enough:
                return
        self._reading.end()

    def close(self) -> None:
        self._stream.close()


class _Reading:
    """A whole answer: only its length is limited here."""

    enough = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._read = 0

    def take(self, piece: bytes) -> bytes:
        """The piece, if it may go on."""
        self._read += len(piece)
        if self._read > self._most:
            raise TooLong(f"more than {_megabytes(self._most)} without an end")
        return piece

    def end(self) -> None:
        """All has arrived."""


class _Beginning(_Reading):
    """Only the beginning of an answer."""

    def take(self, piece: bytes) -> bytes:
        kept = piece[: self._most - self._read]
        self._read += len(kept)
        self.enough = self._read >= self._most
        return kept


class _Lines(_Reading):
    """A JSON object a line."""

    def __init__(self, most: int, check: Callable[[Json], None]) -> None:
        super().__init__(most)
        self._check = check
        self._line = bytearray()

    def take(self, piece: bytes) -> bytes:
        super().take(piece)
        *ended, rest = piece.split(b"\n")
        for number, part in enumerate(ended, start=1):
            self._line += part
            self._end_line()
            if self.enough:  # what follows the end is no part of the answer
                return b"\n".join([*ended[:number], b""])
        self._line += rest
        if len(self._line) > MOST_EVENT_BYTES:
            raise TooLong(f"one piece of more than {_megabytes(MOST_EVENT_BYTES)}")
        return piece

    def end(self) -> None:
        if self._line.strip():
            if not self._line.rstrip().endswith(b"}"):
                raise Misbehaviour("half a line of JSON")
            self._end_line()

    def _end_line(self) -> None:
        if len(self._line) > MOST_EVENT_BYTES:
            raise TooLong(f"one piece of more than {_megabytes(MOST_EVENT_BYTES)}")
        line = bytes(self._line).removesuffix(b"\r")
        self._line.clear()
        self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        event = _object(line)
        self._check(event)
        self.enough = event.get("done") is True


class _Events(_Lines):
    """Server-sent events, each a JSON object; the last is `[DONE]`."""

    def __init__(self, most: int, check: Callable[[Json], None]) -> None:
        super().__init__(most, check)
        self._data: list[bytes] = []

    def end(self) -> None:
        """Half an event at the end is none; that the answer has no end is noticed elsewhere."""

    def _take_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data.clear()
            if data.strip() != b"[DONE]":
                self._check(_object(data))
        elif line and name not in (b"", b"event", b"id", b"retry"):
            raise Misbehaviour("a line that is not an event")


def _reading(protocol: Protocol) -> _Reading:
    most = MOST_BYTES[protocol]
    match protocol:
        case "ollama":
            return _Lines(most, check_ollama)
        case "progress":
            return _Lines(most, check_progress)
        case "openai":
            return _Events(most, check_openai)
        case _:
            return _Reading(most)


def document(response: httpx.Response) -> Json:
    """The JSON object that is a whole answer; raises `Misbehaviour`, also where it is an error."""
    found = _object(response.content)
    _check_error(found)
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


# -- what the events of each protocol hold -----------------------------------------------------------------


def check_ollama(event: Json) -> None:
    """One line of `POST /api/chat`."""
    _check_error(event)
    _typed(event, "done", bool)
    _typed(event, "done_reason", str)
    for name in ("prompt_eval_count", "eval_count"):
        _count(event, name)
    message = event.get("message")
    if not isinstance(message, dict):
        raise Misbehaviour(f"a message that is {_named(message)}")
    _check_said(message)
    _typed(message, "thinking", str)


def check_openai(event: Json) -> None:
    """One event of `POST /chat/completions`."""
    _check_error(event)
    choices = event.get("choices")
    if not isinstance(choices, list):
        raise Misbehaviour(f"choices that are {_named(choices)}")
    for choice in choices:
        if not isinstance(choice, dict):
            raise Misbehaviour(f"a choice that is {_named(choice)}")
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            raise Misbehaviour(f"a delta that is {_named(delta)}")
        _typed(choice, "finish_reason", str)
        _check_said(delta)
    _typed(event, "usage", dict)
    for name in ("prompt_tokens", "completion_tokens"):
        _count(event.get("usage") or {}, name)


def check_progress(event: Json) -> None:
    """One line of `POST /api/pull`; its errors are about the model, and Ollama's client raises them."""
    _typed(event, "error", str)
    for name in ("status", "digest"):
        _typed(event, name, str)
    for name in ("completed", "total"):
        _count(event, name, most=2**63)


def _check_error(event: Json) -> None:
    if error := event.get("error"):
        said = error if isinstance(error, str) else error_text(json.dumps(event))
        raise Misbehaviour(said if isinstance(error, str | dict) and said else "an error without words")


def _check_said(message: Json) -> None:
    _typed(message, "content", str)
    _typed(message, "role", str)
    for name in ("tool_calls", "function_call"):
        if message.get(name):
            raise Misbehaviour("a call of a tool, although it was offered none")


def _typed(event: Json, name: str, kind: type) -> None:
    value = event.get(name)
    if value is not None and not isinstance(value, kind):
        raise Misbehaviour(f"a '{name}' that is {_named(value)}")


def _count(event: Json, name: str, *, most: int = MOST_COUNT) -> None:
    value = event.get(name)
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < most:
        raise Misbehaviour(f"a '{name}' that is not a count")


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


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:g} MB"
