"""Run a command to its end and measure it: wall time, and peak memory of it and its children."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
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
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
) -> Finished:
    """Run `command`; raise `BenchmarkError` with its last output if the exit code is not `accepted`."""
    words = [str(part) for part in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        memory = _MemorySampler(process.pid)
        try:
            process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            memory.stop()
        seconds = time.perf_counter() - started
        output, errors = _content(out), _content(err)
    if process.returncode not in accepted:
        last = (errors or output).strip()[-LAST_WORDS:]
        raise BenchmarkError(
            f"`{' '.join(words)}` ended with exit code {process.returncode}:\n{last}\n",
            "Mend that and measure again.",
        )
    return Finished(seconds, memory.peak_bytes / 1e6, output)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


class _MemorySampler:
    """Adds up the memory of a process and its descendants every 50 ms, in a thread.

    `ru_maxrss` would be wrong: a child's value starts with its parent's memory, and the values of several
    processes are not added up.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stopped = threading.Event()
        self.peak_bytes = resident_bytes(pid)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, resident_bytes(self._pid))


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
