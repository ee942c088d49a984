"""Run a command to its end and measure it: wall time and the peak memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import AthenaError

PROC = Path("/proc")
SAMPLE_SECONDS = 0.05
LAST_WORDS = 2000  # characters of a failed command's output that are shown


class BenchmarkError(AthenaError):
    """A command that is measured, or the environment it needs, failed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One process from its start to its end."""

    seconds: float
    cpu_seconds: float  # of all cores together: what a busy machine disturbs least
    peak_mb: float  # 10^6 bytes, of the process and those it started, together
    output: str


def run_measured(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
) -> Finished:
    """Run `command`; raises `BenchmarkError` with its last words where the exit code is not `accepted`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        memory = _MemorySampler(process.pid)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            memory.stop()
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output, errors = (_content(file) for file in (out, err))
    if process.returncode not in accepted:
        words = (errors or output).strip()[-LAST_WORDS:]
        raise BenchmarkError(
            f"`{' '.join(map(str, command))}` ended with exit code {process.returncode}:\n{words}\n",
            "Mend that and measure again.",
        )
    return Finished(
        seconds,
        usage.ru_utime + usage.ru_stime,
        memory.peak_bytes / 1e6 or usage.ru_maxrss * 1024 / 1e6,
        output,
    )


def _content(file: object) -> str:
    assert hasattr(file, "seek") and hasattr(file, "read")
    file.seek(0)
    return str(file.read().decode("utf-8", errors="replace"))


class _MemorySampler:
    """Watches a process and its descendants in /proc, in a thread.

    Not `ru_maxrss` alone: a child's begins with what its parent had in memory when it was started, and
    several processes' are not added up. The kernel's high-water mark catches spikes between two looks.
    """

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, resident_bytes(self._pid))


def resident_bytes(pid: int) -> int:
    """Memory of a process and its descendants now, or its own peak where that is more; 0 if gone."""
    pids = _family(pid)
    resident = sum(_status(member).get("VmRSS", 0) for member in pids)
    return max(resident, _status(pid).get("VmHWM", 0))


def _family(pid: int) -> list[int]:
    family = [pid]
    for member in family:
        for children in (PROC / str(member) / "task").glob("*/children"):
            family += [int(child) for child in _read(children).split()]
    return family


def _status(pid: int) -> dict[str, int]:
    """The sizes of /proc/PID/status in bytes, by name."""
    sizes = {}
    for line in _read(PROC / str(pid) / "status").splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            sizes[name] = int(value.split()[0]) * 1024
    return sizes


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:  # it has ended meanwhile
        return ""
