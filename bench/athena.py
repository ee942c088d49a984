"""Athena as the harness sees it: its command line, and a worker for what a command line cannot time."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.processes import Finished, run_measured

ROOT = Path(__file__).parents[1]
SOME_FILES_FAILED = 3  # exit code of an ingest that reported files it could not read
WORKER = "bench.athena_worker"


@dataclass(frozen=True, slots=True)
class AthenaSide:
    """Athena with its default settings and `settings`, whatever the environment says, and `--data-dir`."""

    work: Path
    settings: Mapping[str, str] = field(default_factory=dict)  # environment variables

    def ingest(self, folder: Path, data_dir: Path) -> Finished:
        """`athena ingest`, first or again."""
        return self._cli("ingest", folder, "--data-dir", data_dir, "--json", accepted=(0, SOME_FILES_FAILED))

    def ask(self, question: str, data_dir: Path) -> Finished:
        """`athena ask` without a language model."""
        return self._cli("ask", question, "--data-dir", data_dir, "--llm", "none", "--json")

    def rank(self, dataset: Path) -> dict[str, list[str]]:
        """`athena eval retrieval` without language model and reranker: documents by question, best first."""
        run = self.work / "run.trec"
        options = ("--llm", "none", "--no-rerank", "--data-dir", self.work / "eval", "--run", run, "--json")
        self._cli("eval", "retrieval", dataset, *options)
        rankings: dict[str, list[str]] = {}
        for line in run.read_text(encoding="utf-8").splitlines():
            question, _, document, *_ = line.split()
            rankings.setdefault(question, []).append(document)
        return rankings

    def search(self, data_dir: Path, questions: Path) -> tuple[Finished, dict[str, Any]]:
        """The process, and what it reports: `ms` and `sources` of every question, `import_seconds`."""
        report = self.work / "athena-report.json"
        options = ("--data-dir", data_dir, "--questions", questions, "--report", report)
        environment = self.environment() | {"PYTHONPATH": str(ROOT)}
        done = run_measured([sys.executable, "-m", WORKER, *options], cwd=self.work, env=environment)
        result: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return done, result

    def _cli(self, *arguments: str | Path, accepted: tuple[int, ...] = (0,)) -> Finished:
        athena = Path(sys.executable).with_name("athena")
        return run_measured([athena, *arguments], cwd=self.work, env=self.environment(), accepted=accepted)

    def environment(self) -> dict[str, str]:
        """This process's without Athena's settings, then `settings`; `.env` is not read: `work` has none."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
        return kept | {"HF_HUB_OFFLINE": "1", **self.settings}
