"""Athena's searches in a process that is warm, as the app's is.

python -m bench.athena_worker --data-dir DIR --questions FILE --report FILE
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

started = time.perf_counter()
from athena import Athena, load_settings, open_athena  # noqa: E402

IMPORT_SECONDS = time.perf_counter() - started
WARM_UP = 5  # questions asked before the clock runs
DEPTH = 100  # sections that are ranked


def main(arguments: Sequence[str] | None = None) -> None:
    """Search and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data-dir", "questions", "report"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args(arguments)
    settings = load_settings(llm="none", hyde="off", rerank=False, cross_encoder="none")
    athena = open_athena(settings.model_copy(update={"data_dir": options.data_dir}))
    try:
        report = search(athena, json.loads(options.questions.read_text(encoding="utf-8")))
    finally:
        athena.close()
    options.report.write_text(json.dumps(report), encoding="utf-8")


def search(athena: Athena, questions: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of every question without HyDE and reranker, and the files found, best first.

    What is timed is the search of a chat; the ranking is asked for once more, deeper than a chat shows it.
    """
    hybrid_search = athena.hybrid_search_over(athena.store, None)
    timed = athena.options.but(hyde=False, rerank=False)
    deep = timed.but(top_k=DEPTH, context_tokens=10**9)
    athena.warm_up(serving=True)
    for question in questions[:WARM_UP]:
        hybrid_search.search(question, options=timed)
    ms, sources = [], []
    for question in questions:
        begun = time.perf_counter()
        hybrid_search.search(question, options=timed)
        ms.append((time.perf_counter() - begun) * 1000)
        passages = hybrid_search.search(question, options=deep).passages
        sources.append(list(dict.fromkeys(passage.section.metadata["source"] for passage in passages)))
    return {
        "import_seconds": IMPORT_SECONDS,
        "ms": ms,
        "sources": sources,
        "passages": athena.store.sentences.count(),
    }


if __name__ == "__main__":
    main()
