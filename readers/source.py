"""A file's bytes and text: read once, never through a link, never more than is allowed."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path

BOM = "\ufeff"
MARKED = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""Encodings that are read only with a byte order mark; the mark of UTF-32 begins with that of UTF-16."""


@dataclass(eq=False)
class ReaderError(Exception):
    """A file or folder cannot be read; the text of the error can be shown to a user.

    A search of folders returns it for each file that it leaves out because of an error.
    """

    source: str
    reason: str
    fix: str

    def __post_init__(self) -> None:
        """Replace the surrogates of a name that is not UTF-8: no terminal, log or database takes them."""
        self.source = self.source.encode("utf-8", "backslashreplace").decode("utf-8")

    def __str__(self) -> str:
        """Return the whole message."""
        return f"Cannot read {self.source!r}: {self.reason}. {self.fix}"


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text, and the SHA-256 of its bytes and of what it includes (hexadecimal).

    The byte order mark is not part of the text.
    """

    text: str
    hash: str


def read_bytes(path: Path, *, max_bytes: int, source: str) -> bytes:
    """The bytes of a file of at most `max_bytes`; raises `ReaderError`.

    `path` was absolute and without links when the file was found; one that has become a link is not read.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            check_file(status, max_bytes=max_bytes, source=source)
            if os.path.realpath(path) != str(path) or not os.path.samestat(status, os.lstat(path)):
                raise ReaderError(source, reason="it has become a link", fix="Ingest again.")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise unreadable(source, error) from error
    if len(data) > max_bytes:  # it grew between the two calls
        raise _too_large(source, len(data), max_bytes)
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file as `open` does; for a pipe, without waiting for somebody who writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_file(status: os.stat_result, *, max_bytes: int, source: str) -> None:
    """Raise `ReaderError` for a file that is no regular one, or too large."""
    if not stat.S_ISREG(status.st_mode):
        raise ReaderError(source, reason="it is not a regular file", fix="Save its content as a file.")
    if status.st_size > max_bytes:
        raise _too_large(source, status.st_size, max_bytes)


def decoded(data: bytes, *, source: str) -> str:
    """The text of a file without a byte order mark; raises `ReaderError`.

    Where all lines end with CR alone, as on old Macintoshes, they end with LF in the text.
    """
    encoding = next((name for mark, name in MARKED.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding).removeprefix(BOM)
    except UnicodeDecodeError as error:
        reason = f"not {encoding.upper()} (byte 0x{data[error.start]:02X} at {error.start:,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 and ingest again.") from error
    if "\0" in text:
        reason = f"not text (NUL byte at {data.index(0):,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 text, or rename it.")
    return text if "\n" in text else text.replace("\r", "\n")


def unreadable(source: str, error: OSError) -> ReaderError:
    """Return the error for a file that the system does not let read."""
    if isinstance(error, FileNotFoundError):
        return ReaderError(source, reason="no such file or folder", fix="Check the path.")
    reason = error.strerror or type(error).__name__
    return ReaderError(source, reason=reason, fix="Make it readable, or leave it out.")


def _too_large(source: str, size: int, max_bytes: int) -> ReaderError:
    reason = f"{size:,} bytes, over the limit of {max_bytes:,}"
    return ReaderError(source, reason=reason, fix="Divide it, or raise the limit in the settings.")
