"""The process that converts files of strangers: it reads its standard input, and may do nothing else.

Started by `readers/converting/converter.py`, which ends it when a file takes too long. A line of JSON names
the format and the length of the bytes that follow; the answer is a line of JSON. What goes wrong in a
converter ends the process, with the error's name as the last answer.
"""

from __future__ import annotations

import importlib
import json
import mimetypes
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from readers.converting.converted import Converted
from readers.errors import ReaderError

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MOST_MEMORY = 1_000_000_000  # bytes of addresses
DEEPEST_CALLS = 6_000
FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "shutil.",
    "urllib.",
)
"""Events of Python that no converter has a reason for (docs.python.org: audit events)."""


FAULTS = {
    "MemoryError": "converting it takes more memory than is allowed",
    "RecursionError": "it is nested too deep",
    "Forbidden": "it asks for a file or for the network",
}
"""What a fault means for a file, by the name of the error that ends the process."""


def main() -> None:
    """Answer until the input ends."""
    answers = _own_output()
    _limit_memory()
    sys.setrecursionlimit(DEEPEST_CALLS)
    sys.excepthook = _answering_faults(answers)
    guarded = False
    while line := sys.stdin.buffer.readline():
        order = json.loads(line)
        data = sys.stdin.buffer.read(order["bytes"])
        convert = _converter(order["format"])
        if not guarded:
            guarded = True
            _forbid()
        _answer(answers, _done(convert, data, order))


def _done(convert: Callable[..., Converted], data: bytes, order: dict[str, Any]) -> dict[str, Any]:
    """What is to be answered."""
    try:
        converted = convert(data, source=order["source"], **order["given"])
    except ReaderError as error:
        return {"reason": error.reason, "fix": error.fix}
    if len(converted.text) > order["most"]:
        reason = f"its text has {len(converted.text):,} characters, over the limit of {order['most']:,}"
        return {"reason": reason, "fix": "Divide it, or raise ATHENA_MAX_FILE_MB."}
    return asdict(converted)


def _converter(name: str) -> Callable[..., Converted]:
    """What converts a format, given its bytes, `source` and more."""
    module = importlib.import_module(f"{__package__}.{name}")
    convert: Callable[..., Converted] = getattr(module, f"convert_{name}")
    if name == "rst":
        return lambda data, **given: convert(data.decode("utf-8-sig", "replace"), **given)
    return convert


def _own_output() -> BinaryIO:
    """The standard output for answers alone: what libraries print goes nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return answers


def _answer(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _answering_faults(
    answers: BinaryIO,
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """Ends the process with the fault's name as its answer."""

    def hook(kind: type[BaseException], _: BaseException, __: TracebackType | None) -> None:
        reason = FAULTS.get(kind.__name__, f"it cannot be converted ({kind.__name__})")
        _answer(answers, {"reason": reason, "fix": "Save it anew, or in another format.", "last": True})

    return hook


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


class Forbidden(Exception):
    """A converter wanted to do what it has no reason for."""


def _forbid() -> None:
    """From now on: no network, no processes, no files but Python's own, and none written."""
    rooms = Path(__file__).parents[2]
    root = Path(__file__).parents[len(str(__package__).split("."))]  # which may have much beside our packages
    folders = {Path(folder).resolve() for folder in (sys.prefix, sys.base_prefix, *sys.path) if folder}
    folders = {*(folders - {root}), rooms / "readers", rooms / "pipeline"}
    own = tuple(f"{folder}{os.sep}" for folder in folders)

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(FORBIDDEN):
            raise Forbidden(event)
        if event == "open" and isinstance(arguments[0], str | bytes):
            _, mode, flags = arguments
            writes = any(letter in (mode or "") for letter in "wax+") or bool(flags & WRITING)
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if writes or not (path.startswith(own) or path in mimetypes.knownfiles):
                raise Forbidden(event)

    sys.addaudithook(look)


if __name__ == "__main__":
    main()
