"""The terminal: control characters of documents, names and answers are shown, not obeyed."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from pipeline.words import harmless

_OUTPUT_FAILED = (errno.ENOSPC, errno.EFBIG, errno.EIO)

STANDARD = ("stdin", "stdout", "stderr")


class Terminal(Console):
    """A console that alone decides on colours: texts bring no control characters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments to write, with control characters replaced in texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


class HarmlessLines(logging.Formatter):
    """Formats log records with control characters replaced."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one record's lines."""
        return harmless(super().format(record))


@contextmanager
def standard_streams() -> Iterator[None]:
    """Let the streams take every character for the block; a reader that has left ends it quietly.

    A closed stream is opened as the null device: else the next file would get its number and the output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(STANDARD):
        pass
    os.close(descriptor)
    for name in STANDARD:
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  (to the end)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _OUTPUT_FAILED:
            raise
        sys.stderr.write(f"Cannot write the output: {error.strerror}.\n")
        raise SystemExit(1) from error
    finally:
        _let_go()


def _let_go() -> None:
    """Write the rest now, or drop it: at its end, Python would report a reader that has left."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
