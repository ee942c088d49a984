"""The machine that the numbers are from, and the versions of what was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")
STAT = Path("/proc/stat")
STOLEN_MOST = 0.05
"""The share of the work that may wait for the host of a virtual machine: with more, times are the host's."""

VNNI_FLAGS = {"avx512_vnni", "avx_vnni"}
ATHENA_PACKAGES = ("llama-index-core", "numpy", "onnxruntime", "tantivy", "tokenizers")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the numbers depend on, without anything that names the machine."""

    cpu: str
    cores: int  # that this process may use
    vnni: bool
    memory_gb: float
    system: str
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """One line for a table's caption."""
        vnni = "with VNNI" if self.vnni else "without VNNI"
        return f"{self.cpu}, {self.cores} cores, {vnni}, {self.memory_gb:.0f} GB of memory, {self.system}"


def this_machine(baseline_versions: Mapping[str, str]) -> Machine:
    """The machine that this runs on; the baseline's versions are from its own environment."""
    cpu, flags = read_cpuinfo(_read(CPUINFO))
    versions = {"python": platform.python_version(), "athena": _commit()}
    versions |= {f"athena/{name}": metadata.version(name) for name in ATHENA_PACKAGES}
    versions |= {f"baseline/{name}": version for name, version in baseline_versions.items()}
    return Machine(
        cpu=cpu or platform.processor() or platform.machine(),
        cores=_cores(),
        vnni=bool(flags & VNNI_FLAGS),
        memory_gb=round(read_meminfo(_read(MEMINFO)) / 1e9, 1),
        system=f"{platform.system()} {platform.machine()}",
        versions=versions,
    )


def load_average() -> float:
    """How many processes wanted a core during the last minute: more than a few tenths disturb a run."""
    return round(os.getloadavg()[0], 2)


class ProcessorTime(NamedTuple):
    """What all cores together had to do since the machine was started, in ticks of its clock."""

    done: int
    stolen: int  # something was to be done, but the host of this virtual machine ran another one

    def stolen_since(self, before: ProcessorTime) -> float:
        """The share of the work between that had to wait for the host, 0..1: much of it spoils a time."""
        done, stolen = self.done - before.done, self.stolen - before.stolen
        return stolen / (done + stolen) if stolen > 0 else 0.0


def processor_time() -> ProcessorTime:
    """As of now; nothing where the system does not tell."""
    return read_stat(_read(STAT))


def read_stat(text: str) -> ProcessorTime:
    """The first line of /proc/stat's format: user, nice, system, idle, iowait, irq, softirq, steal."""
    ticks = [int(field) for field in text.partition("\n")[0].split()[1:9]]
    if len(ticks) < 8:
        return ProcessorTime(0, 0)
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    return ProcessorTime(user + nice + system + irq + softirq, steal)


def read_cpuinfo(text: str) -> tuple[str, set[str]]:
    """The name and flags of the first CPU in /proc/cpuinfo's format."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields.get("model name", ""), set(fields.get("flags", "").split())


def read_meminfo(text: str) -> int:
    """All memory in bytes, from /proc/meminfo's format; 0 where it does not say."""
    return next((int(line.split()[1]) * 1024 for line in _lines(text) if line.startswith("MemTotal:")), 0)


def _lines(text: str) -> Iterable[str]:
    return text.splitlines()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _commit() -> str:
    """The commit that was measured, `+` where files differ from it; "unknown" outside of a repository."""
    command = ["git", "describe", "--always", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
