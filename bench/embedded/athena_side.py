"""Athena as the harness sees it: its command line, and a worker for what a command line cannot time."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.embedded.corpora import Exported, count_by_source, read_lines
from bench.embedded.processes import Finished, run_measured

ROOT = Path(__file__).parents[2]
SOME_FILES_FAILED = 3  # exit code of an ingest that reported files it could not read
WORKER = "bench.embedded.athena_worker"


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

    def evaluate_retrieval(self, dataset: Path) -> tuple[Finished, dict[str, Any]]:
        """`athena eval retrieval` without language model and reranker."""
        data_dir = self.work / "eval"
        options = ("--llm", "none", "--no-rerank", "--data-dir", data_dir, "--json")
        done = self._cli("eval", "retrieval", dataset, *options)
        return done, json.loads(done.output)

    def export(self, name: str, folder: Path) -> Exported:
        """A folder's leaves as Athena's readers cut them."""
        leaves = self.work / "leaves" / name
        _, report = self._worker("export", "--folder", folder, "--leaves", leaves)
        counts = count_by_source(read_lines(leaves / "leaves.jsonl"))
        return Exported(name, folder, leaves, counts, report["seconds"])

    def search(self, data_dir: Path, questions: Path) -> tuple[Finished, dict[str, Any]]:
        """The process, and what it reports: `ms` of every question, `steps` by name, `sentences`."""
        return self._worker("search", "--data-dir", data_dir, "--questions", questions)

    def _cli(self, *arguments: str | Path, accepted: tuple[int, ...] = (0,)) -> Finished:
        athena = Path(sys.executable).with_name("athena")
        return run_measured([athena, *arguments], cwd=self.work, env=self.environment(), accepted=accepted)

    def _worker(self, *arguments: str | Path) -> tuple[Finished, dict[str, Any]]:
        report = self.work / "athena-report.json"
        command = [sys.executable, "-m", WORKER, *arguments, "--report", report]
        done = run_measured(command, cwd=self.work, env=self.environment() | {"PYTHONPATH": str(ROOT)})
        result: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return done, result

    def environment(self) -> dict[str, str]:
        """This process's without Athena's settings, then `settings`; `.env` is not read: `work` has none."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
        return kept | {"HF_HUB_OFFLINE": "1", **self.settings}
