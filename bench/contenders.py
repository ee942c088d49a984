"""Who is measured: Athena, and other libraries by a worker each in an environment of their own.

The environments are `.bench-venv/NAME`: torch is several GB and never belongs to the app. Each is made once
with pip and kept until its pinned requirements change.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.athena import ROOT
from bench.processes import LAST_WORDS, BenchmarkError, Finished, run_measured
from bench.setup_cost import megabytes

FOLDER = ROOT / ".bench-venv"
REQUIREMENTS = ROOT / "bench" / "peers"
STAMP = "athena-benchmarks.stamp"
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
CAN = "import ensurepip, sys, venv; print(*sys.version_info[:2])"


@dataclass(frozen=True, slots=True)
class Environment:
    """One library with all that it needs, and nothing else."""

    name: str
    least_python: tuple[int, int] = (3, 11)

    @property
    def folder(self) -> Path:
        """Where it is."""
        return FOLDER / self.name

    @property
    def requirements(self) -> Path:
        """Its pinned packages."""
        return REQUIREMENTS / f"{self.name}.txt"

    def python(self) -> Path:
        """Its interpreter; the environment is made or renewed where that is needed.

        Raises `BenchmarkError` where there is no fitting Python or pip fails.
        """
        python = self.folder / "bin" / "python"
        stamp = self.folder / STAMP
        wanted = digest(self.requirements)
        if not (python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
            _run(find_python(self.least_python), "-m", "venv", "--clear", str(self.folder))
            _run(str(python), "-m", "pip", "install", "--quiet", "-r", str(self.requirements))
            stamp.write_text(wanted, encoding="utf-8")
        return python

    def megabytes(self) -> float:
        """What it takes on the disk, of 2^20 bytes as `du -sm` counts, byte code and pip included."""
        return megabytes(self.folder)


def digest(requirements: Path) -> str:
    """What tells one set of requirements from another."""
    return hashlib.sha256(requirements.read_bytes()).hexdigest()


def find_python(least: tuple[int, int]) -> str:
    """This Python, or the first `python3.N` on the PATH that runs, is new enough and can make environments.

    A version manager's `python3.N` may be a shim for a version that is not active: it is run, not trusted.
    """
    names = [sys.executable, *(f"python{major}.{minor}" for major, minor in PYTHONS)]
    for python in filter(None, map(shutil.which, names)):
        done = subprocess.run([python, "-c", CAN], capture_output=True, text=True)
        if done.returncode == 0 and tuple(map(int, done.stdout.split())) >= least:
            return python
    wanted = ".".join(map(str, least))
    raise BenchmarkError(
        f"No Python {wanted} or newer that can make environments was found.",
        f"Put one on the PATH as python{wanted}; of a version manager, activate it beside this one.",
    )


def _run(*command: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise BenchmarkError(
            f"`{' '.join(command)}` failed:\n{done.stderr.strip()[-LAST_WORDS:]}\n",
            "It needs a package index and up to 7 GB on disk; delete the folder and measure again.",
        )


WORKER = REQUIREMENTS / "worker.py"
MODEL = ROOT / "pipeline" / "models" / "bundled" / "all-MiniLM-L6-v2"
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another library, and how it is used."""

    title: str
    package: str  # whose version is named
    environment: Environment
    module: str  # beside the worker
    options: tuple[str, ...] = ()

    def ingest(self, folder: Path, store: Path, *, whole: bool = False) -> tuple[Finished, Report]:
        """Index a folder of Markdown; `whole`: one passage a file."""
        return self._run("ingest", "--folder", folder, "--store", store, *_whole(whole))

    def search(
        self, folder: Path, store: Path, questions: Path, *, whole: bool = False
    ) -> tuple[Finished, Report]:
        """The process, and its report: `ms` and `sources` of every question, `import_seconds`."""
        files = ("--folder", folder, "--store", store, "--questions", questions)
        return self._run("search", *files, *_whole(whole))

    def version(self) -> str:
        """Its package's, as pinned."""
        lines = self.environment.requirements.read_text(encoding="utf-8").splitlines()
        return next(line.partition("==")[2] for line in lines if line.partition("==")[0] == self.package)

    def _run(self, command: str, *arguments: str | Path) -> tuple[Finished, Report]:
        work = self.environment.folder.parent
        report = work / f"{self.environment.name}-report.json"
        done = run_measured(
            [
                self.environment.python(),
                *(WORKER, self.module, command, *arguments, *self.options, "--report", report),
            ],
            cwd=work,
            env=_environment(),
        )
        result: Report = json.loads(report.read_text(encoding="utf-8"))
        return done, result


PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "llamaindex": Peer(
            "LlamaIndex, as documented", "llama-index-core", Environment("llamaindex"), "with_llamaindex"
        ),
        "llamaindex-tuned": Peer(
            "LlamaIndex, tuned",
            "llama-index-core",
            Environment("llamaindex-tuned"),
            "with_llamaindex",
            ("--tuned", str(MODEL)),
        ),
        "haystack": Peer("Haystack", "haystack-ai", Environment("haystack"), "with_haystack"),
        "txtai": Peer("txtai", "txtai", Environment("txtai"), "with_txtai"),
        "haiku.rag": Peer("haiku.rag", "haiku.rag", Environment("haiku-rag", (3, 12)), "with_haiku"),
    }
)
ATHENA = "athena"
TITLES = MappingProxyType({ATHENA: "Athena"} | {name: peer.title for name, peer in PEERS.items()})


def _whole(whole: bool) -> tuple[str, ...]:
    return ("--whole",) if whole else ()


def _environment() -> dict[str, str]:
    """This process's without what steers Python or Athena."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ATHENA_"))}
    return kept | {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
