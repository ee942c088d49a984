"""The baseline as the harness sees it: commands in an environment of their own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.embedded.corpora import Exported, Share
from bench.embedded.processes import Finished, run_measured

WORKER = Path(__file__).with_name("baseline_worker.py")
PACKAGES = (
    "llama-index-core",
    "llama-index-embeddings-huggingface",
    "llama-index-retrievers-bm25",
    "sentence-transformers",
    "torch",
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """LlamaIndex's pipeline; `stores` keeps its indexes from run to run, as embedding takes long."""

    python: Path
    stores: Path
    work: Path

    def versions(self) -> dict[str, str]:
        """What is installed in its environment."""
        code = "import sys, json; from importlib.metadata import version; "
        code += "print(json.dumps([version(name) for name in sys.argv[1:]]))"
        command = [str(self.python), "-c", code, *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(zip(PACKAGES, json.loads(done.stdout), strict=True))

    def parse(self, folder: Path) -> dict[str, Any]:
        """Its own reader, Markdown parser and sentence splitter on a folder."""
        return self._run("parse", "--folder", folder)[1]

    def ingest(self, exported: Exported) -> Finished:
        """Embed and index a folder's leaves anew; what was kept of former leaves goes."""
        for former in self.stores.glob(f"{exported.name}-*"):
            shutil.rmtree(former)
        return self._ingest(exported, self.store(exported))

    def ingest_again(self, exported: Exported) -> Finished:
        """Ingest what is already indexed."""
        return self._ingest(exported, self.store(exported))

    def store(self, exported: Exported) -> Path:
        """Where the index of exactly these leaves, made by exactly this worker, is or will be."""
        digest = hashlib.sha256(WORKER.read_bytes())
        for name in ("sections.jsonl", "leaves.jsonl"):
            digest.update((exported.leaves / name).read_bytes())
        return self.stores / f"{exported.name}-{digest.hexdigest()[:12]}"

    def _ingest(self, exported: Exported, store: Path) -> Finished:
        names = ("--leaves", exported.leaves, "--name", exported.name, "--store", store)
        return self._run("ingest", *names)[0]

    def ensure_store(self, exported: Exported) -> Path:
        """The index of a folder's leaves, made only if it is not there."""
        store = self.store(exported)
        if not (store / "bm25").exists():  # written last
            self.ingest(exported)
        return store

    def merged_store(self, shares: Sequence[Share], target: Path) -> Path:
        """One index of the chosen sources of several."""
        parts: list[str | Path] = []
        for share in shares:
            sources = self.work / f"{share.of.name}-sources.json"
            sources.write_text(json.dumps(share.sources), encoding="utf-8")
            parts += ["--part", f"{self.ensure_store(share.of)}={sources}"]
        self._run("merge", *parts, "--store", target)
        return target

    def search(self, store: Path, questions: Path, *, top_k: int) -> tuple[Finished, list[float]]:
        """The process, and milliseconds of every question."""
        names = ("--store", store, "--questions", questions, "--top-k", str(top_k))
        done, report = self._run("search", *names)
        return done, report["ms"]

    def rank(self, dataset: Path, questions: Mapping[str, str], *, top_k: int) -> dict[str, Any]:
        """Rankings of a BEIR folder's documents: `rankings`, `ms`, `ingest_seconds`."""
        path = self.work / "rank-questions.json"
        path.write_text(json.dumps(questions), encoding="utf-8")
        names = ("--dataset", dataset, "--questions", path, "--top-k", str(top_k))
        return self._run("rank", *names)[1]

    def _run(self, command: str, *arguments: str | Path) -> tuple[Finished, dict[str, Any]]:
        report = self.work / "baseline-report.json"
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = run_measured(
            [self.python, WORKER, command, *arguments, "--report", report],
            cwd=self.work,
            env=env | {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
        )
        result: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return done, result
