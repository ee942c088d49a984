"""Everything that the server of a language model may do wrong, as servers on the loopback that do it.

    for fault in FAULTS:
        outcome = fault.try_on("ollama")
        assert not outcome.problem

Each fault says what a user is to be told. `try_all` runs them for both protocols: the rows of a table.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import openai.resources.chat.completions  # noqa: F401 (else the first question waits for it)
from llama_index.core.llms import LLM

from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.models.generation import LONGEST_TOKENS, ChatStream
from pipeline.models.llm import ollama_model, openai_model
from pipeline.options import LanguageModelOptions

Dialect = Literal["ollama", "openai"]
DIALECTS: tuple[Dialect, ...] = ("ollama", "openai")

SILENCE_S = 2.0  # of the server, until it is given up
WHOLE_S = 4.0  # of an answer
PATIENCE_S = 20.0  # all in all, on a busy machine
TOKENS = 100
PYTHON = re.compile(
    r"NoneType|Traceback|has no attribute|KeyError|validation error|<class|bytearray|b'|\bstr\b|\bdict\b"
    r"|Expecting|unexpected keyword|not iterable|subscriptable|JSONDecodeError|codec"
)
"""Words that are Python's, and no user's."""


class Line:
    """A connection as a fault sees it: it writes what it likes."""

    def __init__(self, connection: socket.socket, dialect: Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    def raw(self, data: bytes) -> None:
        self._connection.sendall(data)

    def head(self, *headers: str, status: str = "200 OK", kind: str | None = None) -> None:
        natural = "application/x-ndjson" if self.dialect == "ollama" else "text/event-stream"
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind or natural}", "Connection: close", *headers]
        self.raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    def event(self, value: Any) -> None:
        self.line(json.dumps(value).encode())

    def line(self, data: bytes) -> None:
        """One event of these bytes."""
        self.raw(data + b"\n" if self.dialect == "ollama" else b"data: " + data + b"\n\n")

    def said(self, content: Any, **more: Any) -> None:
        """An event of this content."""
        if self.dialect == "ollama":
            message = {"role": "assistant", "content": content, **more}
            self.event({"model": "m", "message": message, "done": False})
        else:
            self.event(
                {"choices": [{"index": 0, "delta": {"content": content, **more}, "finish_reason": None}]}
            )

    def done(self, *, prompt_tokens: Any = 3, reason: Any = "stop") -> None:
        if self.dialect == "ollama":
            end = {"done": True, "done_reason": reason, "prompt_eval_count": prompt_tokens, "eval_count": 1}
            self.event({"message": {"role": "assistant", "content": ""}, **end})
        else:
            usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": 4}
            choice = {"index": 0, "delta": {}, "finish_reason": reason}
            self.event({"choices": [choice], "usage": usage})
            self.raw(b"data: [DONE]\n\n")


@dataclass(frozen=True)
class Outcome:
    """What became of a question to a server with a fault; `problem` is empty where all is as it should be."""

    text: str
    message: str  # what the user was told
    seconds: float
    problem: str


@dataclass(frozen=True)
class Fault:
    """One thing that a server does wrong, and a pattern of what is said of it; "" = it is an answer, too."""

    name: str
    serve: Callable[[Line], None]
    says: str

    def try_on(self, dialect: Dialect) -> Outcome:
        """Ask a model of such a server."""
        with serving(self.serve, dialect) as url:
            stream = ChatStream(
                _model(dialect, url),
                [Message("user", "Which valve?")],
                stop=threading.Event(),
                deadline_s=WHOLE_S,
            )
            started, message = time.monotonic(), ""
            try:
                for _ in stream:
                    pass
            except AthenaError as error:
                message = str(error)
            else:
                message = stream.generation.notice if stream.generation else ""
            seconds = time.monotonic() - started
            return Outcome(stream.text, message, seconds, self._problem(stream.text, message, seconds))

    def _problem(self, text: str, message: str, seconds: float) -> str:
        if not re.search(self.says, message) or (message and not self.says):
            return f"said {message!r}"
        if found := PYTHON.search(message):
            return f"{found.group()!r} in {message!r}"
        if len(text) > TOKENS * LONGEST_TOKENS:
            return f"{len(text):,} characters"
        return f"{seconds:.1f} s" if seconds > PATIENCE_S else ""


def try_all() -> Iterator[tuple[str, Dialect, Outcome]]:
    """Every fault in both protocols."""
    for fault in FAULTS:
        for dialect in DIALECTS:
            yield fault.name, dialect, fault.try_on(dialect)


# -- the faults --------------------------------------------------------------------------------------------


def _events(*values: Any) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head()
        line.said("Close ")
        for value in values:
            line.event(value)

    return serve


def _bytes(data: bytes) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head()
        line.said("Close ")
        line.line(data)

    return serve


def _saying(content: Any, **more: Any) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head()
        line.said("Close ")
        line.said(content, **more)
        line.done()

    return serve


def _ending(**how: Any) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head()
        line.said("Close ")
        line.done(**how)

    return serve


def _missing_message(line: Line) -> None:
    line.head()
    line.event({"done": False} if line.dialect == "ollama" else {"id": "1"})


def _null_message(line: Line) -> None:
    line.head()
    line.event({"message": None} if line.dialect == "ollama" else {"choices": [{"delta": None}]})


def _wrong_message(line: Line) -> None:
    line.head()
    line.event({"message": "hello"} if line.dialect == "ollama" else {"choices": ["hello"]})


def _half_line(line: Line) -> None:
    line.head()
    line.said("Close ")
    line.raw(b'{"message": {"rol' if line.dialect == "ollama" else b'data: {"choices": [{"del')


def _page(kind: str | None) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head(kind=kind)
        if line.dialect == "openai" and kind is None:
            line.raw(b"data: ")
        line.raw(b"<!DOCTYPE html><html><title>Sign in</title></html>\n\n")

    return serve


def _other_content(line: Line) -> None:
    line.head(kind="image/png")
    line.raw(b"\x89PNG\r\n")


def _gzip_bomb(line: Line) -> None:
    line.head("Content-Encoding: gzip")
    line.raw(gzip.compress(b"x" * 50_000_000))


def _slow_head(line: Line) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"s" * 10_000:
        line.raw(bytes([byte]))
        time.sleep(0.05)


def _slow_body(line: Line) -> None:
    line.head()
    for byte in b'{"message": "' + b"s" * 10_000:
        line.raw(bytes([byte]))
        time.sleep(0.05)


def _silence(line: Line) -> None:
    line.head()
    line.said("Close ")
    time.sleep(5 * SILENCE_S)


def _cut(line: Line) -> None:
    line.head("Content-Length: 5000")
    line.said("Close ")


def _endless(content: str, pause_s: float = 0.0) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head()
        while True:
            line.said(content)
            time.sleep(pause_s)

    return serve


def _endless_line(line: Line) -> None:
    line.head()
    while True:
        line.raw(b"x" * 10_000)


def _comments(line: Line) -> None:
    line.head()
    line.said("Close ")
    while True:
        line.raw(b"\n" if line.dialect == "ollama" else b": keep-alive\n\n")
        time.sleep(0.01)


def _redirect(location: str) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head(f"Location: {location}", "Content-Length: 0", status="307 Temporary Redirect")

    return serve


def _endless_error(line: Line) -> None:
    line.head(status="400 Bad Request", kind="text/plain")
    while True:
        line.raw(b"no such thing " * 1000)


def _refusing(line: Line, error: Any) -> None:
    line.head(status="500 Internal Server Error", kind="application/json")
    line.raw(json.dumps(error).encode())


def _after_the_end(line: Line) -> None:
    line.head()
    line.said("Close the valve.")
    line.done()
    while True:
        line.said(" And open it again.")


def _for_ever(data: bytes) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        while True:
            line.raw(data)

    return serve


def _endless_trailer(line: Line) -> None:
    line.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    _for_ever(b"X-More: yes\r\n")(line)


def _huge_header(line: Line) -> None:
    line.raw(b"HTTP/1.1 200 OK\r\nX-Huge: " + b"x" * 1_000_000 + b"\r\n\r\n")


DEEP = b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

FAULTS: tuple[Fault, ...] = (
    Fault("an event is null", _events(None), "null or missing where an object belongs"),
    Fault("an event is a list", _events([1]), "a list where an object belongs"),
    Fault("an event is a number", _events(7), "a number where an object belongs"),
    Fault("an event is a text", _events("hello"), "a text where an object belongs"),
    Fault("no message", _missing_message, "null or missing"),
    Fault("a null message", _null_message, "a (message|delta) that is null"),
    Fault("a message that is a text", _wrong_message, "a (message|choice) that is a text"),
    Fault("content is a number", _saying(7), "a 'content' that is a number"),
    Fault("content is a list", _saying(["a"]), "a 'content' that is a list"),
    Fault("a role that is a number", _saying("a", role=7), "a 'role' that is a number"),
    Fault("a call of a tool", _saying("", tool_calls=[{"function": {"name": "rm"}}]), "a call of a tool"),
    Fault("a reason that is an object", _ending(reason={}), "reason' that is an object"),
    Fault("a negative count", _ending(prompt_tokens=-1), "is not a count"),
    Fault("a count that is a text", _ending(prompt_tokens="many"), "is not a count"),
    Fault("a count beyond all numbers", _ending(prompt_tokens=10**30), "is not a count"),
    Fault("a count that is not a number", _ending(prompt_tokens=float("nan")), "is not a count"),
    Fault("invalid JSON", _bytes(b"{'single': 'quotes'}"), "not JSON"),
    Fault("half a line", _half_line, "half a line of JSON|without an end"),
    Fault("invalid UTF-8", _bytes(b'{"message": "\xff\xfe"}'), "not UTF-8"),
    Fault("nested too deeply", _bytes(DEEP), "nested too deeply"),
    Fault("an error without words", _events({"error": 5}), "an error without words"),
    Fault(
        "an error in the stream", _events({"error": {"message": "out of\x1b[31m memory"}}), "out of.*memory"
    ),
    Fault(
        "an error of objects",
        lambda line: _refusing(line, {"error": {"message": {"code": [1, None]}}}),
        r'HTTP 500.: .*\{"code": \[1, null\]\}',
    ),
    Fault("a web page", _page("text/html"), "a web page, not a model's answer"),
    Fault("a web page that says it is an answer", _page(None), "a web page, not a model's answer"),
    Fault("another type of content", _other_content, "content of the type image/png"),
    Fault("an empty answer", lambda line: line.head(), "without a word"),
    Fault("no content", lambda line: line.head(status="204 No Content"), "HTTP 204, which is no answer"),
    Fault("a gzip bomb", _gzip_bomb, "compressed"),
    Fault("headers one byte at a time", _slow_head, r"sent nothing for 2 s|not done within 4 s"),
    Fault("a body one byte at a time", _slow_body, r"sent nothing for 2 s|not done within 4 s"),
    Fault("silence in mid-answer", _silence, "sent nothing for 2 s"),
    Fault("cut at once", lambda line: None, "the connection was cut"),
    Fault("cut in mid-answer", _cut, "the connection was cut"),
    Fault("tokens without an end", _endless("and so on "), "did not keep to ATHENA_MAX_ANSWER_TOKENS"),
    Fault("empty tokens without an end", _endless("", 0.001), "was not done within 4 s"),
    Fault("a delta of 10 MB", _saying("x" * 10_000_000), "did not keep to ATHENA_MAX_ANSWER_TOKENS"),
    Fault("a delta of 200 kB", _saying("x" * 200_000), "did not keep to ATHENA_MAX_ANSWER_TOKENS"),
    Fault("a line without an end", _endless_line, "more than 16 MB without an end"),
    Fault("comments without an end", _comments, "sent nothing for 2 s|not done within|an empty line"),
    Fault("a redirect to another host", _redirect("http://127.0.0.2:9/api"), "wants the request to go to"),
    Fault("a redirect to another port", _redirect("http://127.0.0.1:9/api"), "wants the request to go to"),
    Fault("a redirect to https", _redirect("https://127.0.0.1/api"), "wants the request to go to"),
    Fault("a redirect to a file", _redirect("file:///etc/passwd"), "wants the request to go to"),
    Fault("a redirect in a circle", _redirect("/again"), "redirects"),
    Fault("a redirect to nowhere", _redirect("http://[::1"), "not an address"),
    Fault("an error without an end", _endless_error, "HTTP 400.: no such thing"),
    Fault("a header of 1 MB", _huge_header, "not HTTP"),
    Fault("not HTTP", lambda line: line.raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "not HTTP"),
    Fault("tokens after the end", _after_the_end, ""),
    Fault(
        "a promise to go on, again and again", _for_ever(b"HTTP/1.1 100 Continue\r\n\r\n"), "nothing for 2 s"
    ),
    Fault("a trailer without an end", _endless_trailer, "not HTTP"),
    Fault("control characters", _saying("the\x1b[2J\x00 valve."), ""),
    Fault("half a character", _saying("the \ud83d valve."), ""),
)


# -- serving them ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(serve: Callable[[Line], None], dialect: Dialect) -> Iterator[str]:
    """A server that answers every request in this way; yields its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listener, serve, dialect), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _accept(listener: socket.socket, serve: Callable[[Line], None], dialect: Dialect) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection, serve, dialect), daemon=True).start()


def _answer(connection: socket.socket, serve: Callable[[Line], None], dialect: Dialect) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(PATIENCE_S)
        _read_request(connection)
        serve(Line(connection, dialect))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # until the client has read all


def _read_request(connection: socket.socket) -> None:
    """Read one request, or what there is of it before the client leaves."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(65_536)):
            return
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    left = (int(found.group(1)) if found else 0) - len(body)
    while left > 0 and (piece := connection.recv(65_536)):
        left -= len(piece)


def _model(dialect: Dialect, url: str) -> LLM:
    options = LanguageModelOptions(
        ollama_url=url,
        openai_base_url=f"{url}/v1",
        openai_api_key="sk-faults-0123456789",
        max_answer_tokens=TOKENS,
        connect_timeout_s=2.0,
        request_timeout_s=SILENCE_S,
    )
    return ollama_model("m", options) if dialect == "ollama" else openai_model("m", options)
