"""What is measured on: folders of Markdown, the 100,000-sentence corpus made of them, and the questions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.datasets import load_corpus
from pipeline.errors import DatasetError

RUST_BOOK = "rust-book"
OPENSEARCH = "opensearch-docs"
SCIFACT = "scifact"
SENTENCES = 100_000
MIN_SENTENCES = 3  # of a section that a question is about
FORMS = (
    "What is {topic}?",
    "How do I use {topic} in {subject}?",
    "What does {subject} say about {topic}?",
    "When does {topic} fail, and what can I do about it?",
    "Explain {topic} with an example",
)


@dataclass(frozen=True, slots=True)
class Exported:
    """A folder of Markdown as Athena's own readers cut it: `sections.jsonl` and `leaves.jsonl`."""

    name: str
    folder: Path  # of the Markdown
    leaves: Path  # of the two files
    sentences: Mapping[str, int]  # by source
    parse_seconds: float

    @property
    def total(self) -> int:
        """How many leaves it has."""
        return sum(self.sentences.values())


@dataclass(frozen=True, slots=True)
class Share:
    """The sources that a built corpus has of one folder."""

    of: Exported
    sources: tuple[str, ...]


def docs_folder(data: Path, name: str) -> Path:
    """The folder of a documentation; raises `DatasetError` saying what is missing."""
    return _existing(data / "docs" / name)


def scifact_folder(data: Path) -> Path:
    """SciFact in BEIR's layout; raises `DatasetError` saying what is missing."""
    return _existing(data / SCIFACT)


def _existing(folder: Path) -> Path:
    if folder.is_dir():
        return folder
    raise DatasetError(
        f"The benchmark's data are missing: '{folder}' does not exist.",
        "Name the folder that holds docs/ and scifact/ with --data or in ATHENA_TEST_DATA.",
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def count_by_source(leaves: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many leaves each source has."""
    return dict(Counter(leaf["source"] for leaf in leaves))


def select_sources(exported: Sequence[Exported], *, sentences: int) -> list[Share]:
    """Whole files, folder after folder in the order of their names, until there are enough leaves.

    Raises `DatasetError` where all of them together have fewer than `sentences`.
    """
    shares, total = [], 0
    for part in exported:
        sources = []
        for source in sorted(part.sentences):
            if total >= sentences:
                break
            sources.append(source)
            total += part.sentences[source]
        if sources:
            shares.append(Share(part, tuple(sources)))
    if total < sentences:
        raise DatasetError(f"The data have {total:,} sentences of {sentences:,}.", "Add to the folders.")
    return shares


def copy_sources(shares: Sequence[Share], target: Path) -> int:
    """Copy the files into `target`, a folder for each documentation; how many leaves they have."""
    for share in shares:
        for source in share.sources:
            copy = target / share.of.name / source
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(share.of.folder / source, copy)
    return sum(share.of.sentences[source] for share in shares for source in share.sources)


def scifact_as_markdown(data: Path, target: Path) -> Path:
    """Write every SciFact abstract as a Markdown file under its title."""
    target.mkdir(parents=True, exist_ok=True)
    for document in load_corpus(scifact_folder(data)):
        text = f"# {document.title}\n\n{document.text}\n"
        (target / f"{document.id}.md").write_text(text, encoding="utf-8")
    return target


def make_questions(sections: Iterable[Mapping[str, Any]], *, count: int) -> list[str]:
    """Questions about sections' headings, the same ones each time: sections in the order of their ids.

    The ids are hashes, so that this is a sample of all sections. Headings are asked about only once.
    """
    questions: dict[str, None] = {}
    for section in sorted(sections, key=lambda section: section["id"]):
        path = section["heading_path"]
        if section["sentences"] < MIN_SENTENCES or len(path) < 2:
            continue
        form = FORMS[len(questions) % len(FORMS)]
        questions[form.format(topic=path[-1], subject=path[-2])] = None
        if len(questions) == count:
            break
    return list(questions)
