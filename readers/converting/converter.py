"""A file of another format as the text that is indexed: read, converted where it is new, and named.

Converters read what anybody may have made: one that never ends, takes all memory or crashes must harm no more
than its own file. So most run in a process of their own, which is ended when a file takes too long. It lives
from the first file to `close`, as starting it takes longer than most files; after a fault the next file gets
a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from readers.converting.converted import Converted, as_document, convert_text
from readers.converting.notebook import convert_notebook
from readers.errors import ReaderError
from readers.files import FileLimits, Source, decoded, read_bytes
from readers.formats import INSTALL, Format

COMMAND = ("-P", "-m", f"{__package__}.child")
ROOT = Path(__file__).parents[len(__name__.split(".")) - 1]
INHERITED = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
"""What of the environment it gets: no keys and no passwords."""
BYTES_A_CHARACTER = 12
"""Of a character as JSON escapes it, at most; what is longer than the limit ends as a fault."""


class FileConverter:
    """Converts files; `seconds` is what each may take. `close` ends the process that it may have started."""

    def __init__(self, limits: FileLimits, *, seconds: float) -> None:
        self._limits = limits
        self._process = ConverterProcess(seconds=seconds)

    def read(
        self, path: Path, kind: Format, *, source: str, known: str = "", real: str = ""
    ) -> Source | None:
        """The text of a file as it is indexed; None where its hash is `known`. `real` as in `read_bytes`.

        Raises:
            ReaderError: it cannot be read or converted.
        """
        data = read_bytes(path, max_bytes=self._limits.of(path.name), source=source, real=real)
        digest = recipe_hash(data, kind)
        if digest == known:
            return None
        return Source(self.text(data, kind, source=source), digest)

    def text(self, data: bytes, kind: Format, *, source: str, address: str = "") -> str:
        """The text of some bytes of a format; raises `ReaderError`."""
        given = {"address": address} if address and kind.name == "html" else {}
        converted = self._converted(data, kind, source, given)
        if not any(map(str.isalnum, converted.text)):
            raise ReaderError(source, reason="it has no text", fix="Write something into it, or remove it.")
        return as_document(converted, title=kind.title, address=address)

    def _converted(self, data: bytes, kind: Format, source: str, given: Mapping[str, str]) -> Converted:
        match kind.name:
            case "txt":
                return convert_text(decoded(data, source=source))
            case "ipynb":
                return convert_notebook(decoded(data, source=source), source=source)
        if not kind.installed:
            raise ReaderError(source, reason=f"{kind.title} needs an extra", fix=f"{INSTALL} installs it.")
        return self._process.convert(
            data, format_name=kind.name, source=source, most=self._limits.text, given=given
        )

    def close(self) -> None:
        """End the process that converts."""
        self._process.close()


def recipe_hash(data: bytes, kind: Format) -> str:
    """The SHA-256 of a file's bytes and of how its format is converted (hexadecimal)."""
    digest = hashlib.sha256(data)
    digest.update(f"\0{kind.name} {kind.recipe}".encode())
    return digest.hexdigest()


class ConverterProcess:
    """Converts files one after the other; `seconds` is what each may take."""

    def __init__(self, *, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def convert(
        self, data: bytes, *, format_name: str, source: str, most: int, given: Mapping[str, str] | None = None
    ) -> Converted:
        """The Markdown of a file, of at most `most` characters.

        Raises:
            ReaderError: it cannot be converted, or not in time.
        """
        process = self._process = self._process or _started()
        order = {
            "format": format_name, "source": source, "bytes": len(data), "most": most, "given": given or {}
        }  # fmt: skip
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.start()
        try:
            answer = _asked(process, json.dumps(order).encode() + b"\n" + data, most=most)
        finally:
            timer.cancel()
        if answer is None or "reason" in answer:
            if answer is None or "last" in answer:
                self.close()
            raise _refusal(source, answer, late=self._seconds if late.is_set() else 0)
        return Converted(answer["text"], answer["title"], answer["pages"], tuple(answer["left_out"]))

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            _close(stream)
        process.wait()


def _started() -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # it may write nothing
    return subprocess.Popen(
        [sys.executable, *COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _asked(process: subprocess.Popen[bytes], order: bytes, *, most: int) -> dict[str, Any] | None:
    """The process's answer; None where it gives none."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101  (both are pipes)
    try:
        process.stdin.write(order)
        process.stdin.flush()
    except OSError:  # it has ended: it may have said why
        pass
    line = process.stdout.readline(BYTES_A_CHARACTER * most + 100_000)
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer


def _refusal(source: str, answer: Mapping[str, Any] | None, *, late: float) -> ReaderError:
    if answer is not None:
        return ReaderError(source, reason=str(answer["reason"]), fix=str(answer["fix"]))
    if late:
        reason = f"converting it takes longer than {late:g} seconds"
        return ReaderError(source, reason=reason, fix="Divide it, or raise ATHENA_CONVERT_TIMEOUT_S.")
    reason = "the converter crashed on it, as where it unfolds to more than there is memory for"
    return ReaderError(source, reason=reason, fix="Save it anew, or in another format.")


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:  # what was not written any more
        pass
