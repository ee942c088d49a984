"""Who is measured: Athena, and other libraries by a worker each in an environment of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.athena import ROOT
from bench.embedded.environments import REQUIREMENTS, Environment
from bench.processes import Finished, run_measured

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
