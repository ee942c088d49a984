"""Conversion of other formats to Markdown, by `markitdown` in a separate process.

Files are untrusted: the process has limited time and memory, and no access to keys, network or documents. It
runs from the first file until `close`, since it takes a second to start; after a fault a new one is started.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

from readers.formats import INSTALL, Format
from readers.source import ReaderError

MEMORY, SECONDS = 1_500_000_000, 60.0
"""Limits: bytes of address space for the process (not on Windows), and seconds for each file."""
INHERITED = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
FORBIDDEN = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "urllib.")
"""Beginnings of Python's audit events that raise `PermissionError`: no converter needs them."""
PACKAGES = [path for path in sys.path if path.endswith("-packages")]
FOLDERS = (sys.prefix, sys.base_prefix, str(Path(__file__).parent), *PACKAGES)
READABLE = tuple(os.path.realpath(folder) + os.sep for folder in FOLDERS)
"""Folders with what Python imports; next to those of a checkout are keys and documents."""
NO_TEXT = "nav, aside, footer, template, noscript, button, script, style, svg, a.headerlink"
"""CSS selectors of HTML elements that are removed, because they are not part of a page's text."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")


class FileConverter:
    """Converts files to Markdown; each may take `seconds` and give at most `max_characters` of Markdown."""

    def __init__(self, max_characters: int, *, seconds: float = SECONDS) -> None:
        self._most, self._seconds = max_characters, seconds
        self._process: subprocess.Popen[bytes] | None = None

    def text(self, data: bytes, kind: Format, *, source: str) -> str:
        """Convert a file's bytes; return Markdown, with any title as front matter. Raises `ReaderError`."""
        if not kind.installed:
            raise ReaderError(source, reason=f"{kind.title} needs an extra", fix=f"{INSTALL} installs it.")
        answer = self._answer(data, kind)
        text, reason = answer.get("text", ""), answer.get("fault", "")
        if not reason and not any(map(str.isalnum, text)):
            reason = "it has no text"
        elif len(text) > self._most:
            reason = f"its text has {len(text):,} characters, over the limit of {self._most:,}"
        if reason:
            raise ReaderError(source, reason=reason, fix="Divide it, or save it in another format.")
        title = " ".join((answer.get("title") or "").split())[:200]
        return (f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\n" if title else "") + text

    def close(self) -> None:
        """Kill the process, if there is one; the next call of `text` starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer(self, data: bytes, kind: Format) -> dict[str, str]:
        """Return the process's answer: `text` and `title`, or the `fault` that ended the process.

        The request is a line of JSON (format, number of bytes), then the bytes; the answer is a line of JSON.
        """
        process = self._process = self._process or _start()
        assert process.stdin and process.stdout  # noqa: S101 (both are pipes)
        timer, line = threading.Timer(self._seconds, process.kill), b""
        timer.daemon = True
        timer.start()
        with contextlib.suppress(BrokenPipeError):  # the process has ended: there is no line
            process.stdin.write(json.dumps({"format": kind.name, "bytes": len(data)}).encode() + b"\n" + data)
            process.stdin.flush()
            line = process.stdout.readline(12 * self._most + 100_000)  # JSON takes up to 12 bytes a character
        timer.cancel()
        answer: dict[str, str] = json.loads(line) if line.endswith(b"\n") else {"fault": "over a limit"}
        if "fault" in answer:
            self.close()
            answer["fault"] = f"it cannot be converted ({answer['fault']})"
        return answer


def _start() -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
    command, pipe = [sys.executable, "-P", "-m", __name__], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)


def serve() -> None:
    """Convert the files that arrive on standard input, until the input ends or a conversion fails."""
    answers, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr

    def answer(content: dict[str, str | None]) -> None:
        answers.write(json.dumps(content).encode() + b"\n")
        answers.flush()

    sys.excepthook = lambda kind, *_: answer({"fault": kind.__name__})
    from markitdown import converters  # noqa: F401 (before files are forbidden)

    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(_forbid)
    while line := sys.stdin.buffer.readline():
        order = json.loads(line)
        answer(_convert(order["format"], sys.stdin.buffer.read(order["bytes"])))


def _convert(format_name: str, data: bytes) -> dict[str, str | None]:
    """Return a file's `text` as Markdown, and its `title` or None; runs in the separate process."""
    from bs4 import BeautifulSoup
    from markitdown import StreamInfo, converters

    title = None
    if format_name == "html":
        page = BeautifulSoup(data, "html.parser")
        title = page.title and page.title.get_text()
        for part in page.select(NO_TEXT):
            part.decompose()
        data = str(page.find("main") or page).encode()
    converter = getattr(converters, f"{format_name.capitalize()}Converter")()
    made = converter.convert(BytesIO(data), StreamInfo(extension=f".{format_name}"))
    text = _CONTROL.sub("", made.markdown).replace("\f", "\n\n").strip("\n ")
    return {"text": text, "title": title or made.title}


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise `PermissionError` for network use, new processes, writing, and reading outside `READABLE`."""
    if event.startswith(FORBIDDEN):
        raise PermissionError(event)
    if event == "open" and isinstance(arguments[0], str | bytes):
        path, mode, flags = os.path.realpath(os.fsdecode(arguments[0])), arguments[1] or "", arguments[2]
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or not {*mode}.isdisjoint("wax+")
        if writes or not path.startswith(READABLE):
            raise PermissionError(event)


if __name__ == "__main__":
    serve()
