"""Commands that are run to their end and measured: wall time, and peak memory with their children."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from pipeline.errors import AthenaError

SAMPLE_SECONDS = 0.05
LAST_WORDS = 2000  # characters of a failed command's output that are shown


class BenchmarkError(AthenaError):
    """A measured command failed, or the environment that it needs could not be made."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has ended: its wall time, peak memory and standard output."""

    seconds: float
    peak_mb: float  # 10^6 bytes, of the process and those it started, together
    output: str


def run_measured(
    command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str] | None = None
) -> Finished:
    """Run `command` and measure it; raise `BenchmarkError` with its last output if it fails."""
    words = [str(part) for part in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            peak_bytes = _peak_bytes(process)
        finally:
            process.kill()  # if we are interrupted
            process.wait()
        seconds = time.perf_counter() - started
        output, errors = _content(out), _content(err)
    if process.returncode:
        last = (errors or output).strip()[-LAST_WORDS:]
        raise BenchmarkError(
            f"`{' '.join(words)}` ended with exit code {process.returncode}:\n{last}\n",
            "Fix it and measure again.",
        )
    return Finished(seconds, peak_bytes / 1e6, output)


def _peak_bytes(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process to end; return the peak memory of it and its descendants, sampled every 50 ms.

    `ru_maxrss` would be wrong: a child's value starts with its parent's memory, and the values of several
    processes are not added up.
    """
    peak = 0
    while process.returncode is None:
        peak = max(peak, resident_bytes(process.pid))
        with suppress(subprocess.TimeoutExpired):
            process.wait(SAMPLE_SECONDS)
    return peak


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and its descendants now, in bytes; 0 if it has ended."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    return sum(_resident(member) for member in family)


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has ended meanwhile
        return 0
