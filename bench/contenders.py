"""The libraries that are compared; `bench/peers/worker.py` runs each in its own virtual environment.

The environments are in `.bench-venv/NAME`, because torch is several GB and not part of the app. Each is made
once with pip and kept until its pinned requirements change. Athena runs in the current environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import BenchmarkError, Finished, run_measured

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "bench" / "peers"
ENVIRONMENTS = ROOT / ".bench-venv"
STAMP = "athena-benchmarks.stamp"
LAST_WORDS = 2000  # characters of pip's errors that are shown


@dataclass(frozen=True, slots=True)
class Contender:
    """One library: `bench/peers/with_NAME.py` and `NAME.txt` are its code and requirements.

    `package` is the package whose version is shown. Athena has none: it runs from the checkout, and with
    `rerank` its cross-encoder reads the best passages.
    """

    title: str
    name: str
    package: str = ""
    rerank: bool = False

    def ingest(self, folder: Path, store: Path) -> tuple[Finished, dict[str, Any]]:
        """Index a folder of Markdown; return the finished process and its report: `passages` and `unit`."""
        return self._run("ingest", "--folder", folder, "--store", store)

    def search(self, folder: Path, store: Path, questions: Path) -> tuple[Finished, dict[str, Any]]:
        """Ask the questions; return the finished process and its report: `ms` and `sources` of each."""
        more = ["--rerank"] if self.rerank else []
        return self._run("search", "--folder", folder, "--store", store, "--questions", questions, *more)

    def version(self) -> str:
        """Return the pinned version; for Athena, the commit."""
        if self.package:
            lines = self._requirements.read_text(encoding="utf-8").splitlines()
            pins = (line.partition("==") for line in lines)
            return next(version for name, _, version in pins if name == self.package)
        command = ["git", "describe", "--always", "--dirty=+"]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()

    @property
    def _requirements(self) -> Path:
        return PEERS / f"{self.name}.txt"

    def _run(self, command: str, *arguments: str | Path) -> tuple[Finished, dict[str, Any]]:
        ENVIRONMENTS.mkdir(exist_ok=True)
        report = ENVIRONMENTS / f"{self.name}-report.json"
        words = [PEERS / "worker.py", f"with_{self.name}", command, *arguments, "--report", report]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ATHENA_"))}
        if not self.package:
            env["PYTHONPATH"] = str(ROOT)
        done = run_measured([self._python(), *words], cwd=ENVIRONMENTS, env=env)
        return done, json.loads(report.read_text(encoding="utf-8"))

    def _python(self) -> Path:
        """Return the environment's interpreter; make the environment if it is missing or outdated.

        Raises `BenchmarkError` if pip fails.
        """
        if not self.package:
            return Path(sys.executable)
        folder = ENVIRONMENTS / self.name
        stamp, python = folder / STAMP, folder / "bin" / "python"
        wanted = hashlib.sha256(self._requirements.read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            _pip(sys.executable, "-m", "venv", "--clear", folder)
            _pip(python, "-m", "pip", "install", "--quiet", "-r", self._requirements)
            stamp.write_text(wanted, encoding="utf-8")
        return python


def _pip(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchmarkError(
            f"`{' '.join(map(str, command))}` failed:\n{done.stderr.strip()[-LAST_WORDS:]}\n",
            "It needs a package index and up to 7 GB on disk.",
        )


CONTENDERS = (
    Contender("Athena", "athena"),
    Contender("Athena, reranking", "athena", rerank=True),
    Contender("LlamaIndex", "llamaindex", "llama-index-core"),
    Contender("txtai", "txtai", "txtai"),
)
