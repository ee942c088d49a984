"""What is measured of Athena inside a process of its own: parsing, and searching with everything warm.

python -m bench.embedded.athena_worker export --folder DOCS --leaves DIR --report FILE
python -m bench.embedded.athena_worker search --data-dir DIR --questions FILE --report FILE
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from athena import Athena, load_settings, open_athena
from pipeline.analysis import embedding_text
from readers.cutting import SentenceCutter
from readers.files import find_files, read_source
from readers.levels import Section, Sentence
from readers.sections import read_sections

WARM_UP = 5  # questions asked before the clock runs
Parsed = tuple[Section, list[Sentence]]  # a section and its leaves


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and write what it reports."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["export", "search"])
    for name in ("folder", "leaves", "data-dir", "questions", "report"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args(arguments)
    settings = load_settings(llm="none", hyde="off", rerank=False, cross_encoder="none")
    if options.data_dir:
        settings = settings.model_copy(update={"data_dir": options.data_dir})
    athena = open_athena(settings)
    try:
        report = export(athena, options) if options.command == "export" else search(athena, options)
    finally:
        athena.close()
    options.report.write_text(json.dumps(report), encoding="utf-8")


def export(athena: Athena, options: argparse.Namespace) -> dict[str, Any]:
    """Cut a folder into leaves and write them down; `seconds` are those of reading and cutting."""
    cutter = athena.sentence_cutter()
    started = time.perf_counter()
    parsed = list(_parsed(athena, cutter, options.folder))
    seconds = time.perf_counter() - started
    options.leaves.mkdir(parents=True, exist_ok=True)
    _write(options.leaves / "sections.jsonl", (section_row(*item) for item in parsed))
    _write(options.leaves / "leaves.jsonl", (leaf_row(leaf, s) for s, leaves in parsed for leaf in leaves))
    return {
        "seconds": seconds,
        "sections": len(parsed),
        "leaves": sum(len(leaves) for _, leaves in parsed),
    }


def _parsed(athena: Athena, cutter: SentenceCutter, folder: Path) -> Iterator[Parsed]:
    max_bytes = int(athena.settings.max_file_mb * 1_000_000)
    files, _ = find_files([folder], max_bytes=max_bytes)
    for file in files:
        source = read_source(file.path, max_bytes=max_bytes, source=file.source)
        for section in read_sections(source.text, source=file.source):
            yield section, cutter.cut(section)


def section_row(section: Section, leaves: Sequence[Sentence]) -> dict[str, Any]:
    """A line of `sections.jsonl`."""
    return {
        "id": section.node_id,
        "source": section.metadata["source"],
        "heading_path": section.metadata["heading_path"],
        "text": section.text,
        "sentences": len(leaves),
    }


def leaf_row(leaf: Sentence, section: Section) -> dict[str, Any]:
    """A line of `leaves.jsonl`; `prefix` and `text` together are what Athena embeds."""
    return {
        "id": leaf.node_id,
        "section": section.node_id,
        "source": leaf.metadata["source"],
        "prefix": embedding_text(leaf).removesuffix(leaf.text),
        "text": leaf.text,
    }


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def search(athena: Athena, options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds of every question, whole and by step, without HyDE and reranker."""
    hybrid_search = athena.hybrid_search_over(athena.store, None)
    settings = athena.options.but(hyde=False, rerank=False)
    questions = json.loads(options.questions.read_text(encoding="utf-8"))
    athena.warm_up(serving=True)  # as the app does
    for question in questions[:WARM_UP]:
        hybrid_search.search(question, options=settings)
    ms, steps = [], dict[str, list[float]]()
    for question in questions:
        started = time.perf_counter()
        retrieval = hybrid_search.search(question, options=settings)
        ms.append((time.perf_counter() - started) * 1000)
        for step in retrieval.steps:
            steps.setdefault(step.name, []).append(step.ms)
    return {"ms": ms, "steps": steps, "sentences": athena.store.sentences.count()}


if __name__ == "__main__":
    main()
