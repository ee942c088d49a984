"""Run one library's part of the benchmark in that library's own environment.

    python worker.py with_NAME ingest --folder DOCS --store DIR --report FILE
    python worker.py with_NAME search --folder DOCS --store DIR --report FILE --questions FILE

`with_NAME.py` in this folder has two functions. `ingest(options)` indexes the Markdown below `folder` into
`store` and returns `passages` and `unit`; a second process calls it again with nothing changed.
`searcher(options)` opens the store and returns a function from a question to the passages' paths, best first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WARM_UP = 5  # questions asked before the clock runs


def main() -> None:
    """Run one command and write its report as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("command", choices=["ingest", "search"])
    for name in ("folder", "store", "questions", "report"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--rerank", action="store_true")
    options = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "true"}
    started = time.perf_counter()
    module = importlib.import_module(options.module)
    report: dict[str, Any] = {"import_seconds": time.perf_counter() - started}
    if options.command == "ingest":
        report |= module.ingest(options)
    else:
        questions = json.loads(options.questions.read_text(encoding="utf-8"))
        report |= timed(module.searcher(options), questions, folder=options.folder)
    options.report.write_text(json.dumps(report), encoding="utf-8")


def timed(
    search: Callable[[str], Sequence[str]], questions: Sequence[str], *, folder: Path
) -> dict[str, Any]:
    """Return each question's `ms` and `sources` (distinct paths in `folder`, best first), after a warm-up."""
    for question in questions[:WARM_UP]:
        search(question)
    ms, sources = [], []
    for question in questions:
        begun = time.perf_counter()
        found = search(question)
        ms.append((time.perf_counter() - begun) * 1000)
        sources.append([Path(path).relative_to(folder).as_posix() for path in dict.fromkeys(found)])
    return {"ms": ms, "sources": sources}


if __name__ == "__main__":
    main()
