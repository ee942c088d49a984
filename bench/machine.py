"""The machine that the numbers are from, and the versions of what was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import psutil

CPUINFO = Path("/proc/cpuinfo")
STOLEN_MOST = 0.05
"""Share of the work that may wait for the host of a virtual machine: above it, the times are the host's."""

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


def this_machine() -> Machine:
    """The machine that this runs on, with Athena's versions."""
    cpu, flags = read_cpuinfo(CPUINFO.read_text(encoding="utf-8") if CPUINFO.exists() else "")
    versions = {"python": platform.python_version(), "athena": _commit()}
    return Machine(
        cpu=cpu or platform.processor() or platform.machine(),
        cores=_cores(),
        vnni=bool(flags & VNNI_FLAGS),
        memory_gb=round(psutil.virtual_memory().total / 1e9, 1),
        system=f"{platform.system()} {platform.machine()}",
        versions=versions | {name: metadata.version(name) for name in ATHENA_PACKAGES},
    )


def load_average() -> float:
    """How many processes wanted a core during the last minute: more than a few tenths disturb a run."""
    return round(os.getloadavg()[0], 2)


class Work(NamedTuple):
    """What all cores together had to do since the machine was started, in seconds."""

    done: float
    stolen: float  # work that waited because the host of this virtual machine ran another one

    def stolen_since(self, before: Work) -> float:
        """The share of the work between that had to wait for the host, 0..1."""
        done, stolen = self.done - before.done, self.stolen - before.stolen
        return stolen / (done + stolen) if stolen > 0 else 0.0


def work_so_far() -> Work:
    """As of now; nothing is stolen where the system does not tell."""
    times = psutil.cpu_times()
    names = ("user", "nice", "system", "irq", "softirq")
    return Work(sum(getattr(times, name, 0.0) for name in names), getattr(times, "steal", 0.0))


def read_cpuinfo(text: str) -> tuple[str, set[str]]:
    """The name and flags of the first CPU in /proc/cpuinfo's format."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields.get("model name", ""), set(fields.get("flags", "").split())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _commit() -> str:
    """The commit that was measured, `+` where files differ from it; "unknown" outside of a repository."""
    command = ["git", "describe", "--always", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
