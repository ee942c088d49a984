"""What is measured on: folders of Markdown, and questions of which the right file is known."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evals.datasets import load_corpus
from pipeline.errors import DatasetError
from pipeline.terms import content_terms
from readers.files import FileLimits, find_files, read_source
from readers.levels import Section
from readers.sections import read_sections

RUST_BOOK = "rust-book"
OPENSEARCH = "opensearch-docs"
SCIFACT = "scifact"
MAX_BYTES = 10_000_000  # of a file
MIN_TERMS = 2  # of a heading that is asked about: "Usage" alone is no question


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A heading as a question, and the one file that has it."""

    text: str
    source: str


def existing(folder: Path) -> Path:
    """The folder; raises `DatasetError` saying what is missing."""
    if folder.is_dir():
        return folder
    raise DatasetError(
        f"The benchmark's data are missing: '{folder}' does not exist.",
        "Name the folder that holds docs/ and scifact/ with --data or in ATHENA_TEST_DATA.",
    )


def scifact_as_markdown(scifact: Path, target: Path) -> Path:
    """Write every SciFact abstract as a Markdown file under its title; the folder."""
    target.mkdir(parents=True, exist_ok=True)
    for document in load_corpus(scifact):
        text = f"# {document.title}\n\n{document.text}\n"
        (target / f"{document.id}.md").write_text(text, encoding="utf-8")
    return target


def known_items(folder: Path, *, count: int) -> list[KnownItem]:
    """Headings that the folder has once, as questions; the same sample each time, fewer being the first."""
    return sample(_sections(folder), count=count)


def sample(sections: Iterable[Section], *, count: int) -> list[KnownItem]:
    """Innermost headings that stand over one section only and have two content words, in a fixed order.

    The order is that of the headings' hashes, so that it depends on nothing else in the folder.
    """
    titled = [section for section in sections if section.metadata["heading_path"]]
    heading = {section.node_id: str(section.metadata["heading_path"][-1]) for section in titled}
    often = Counter(text.casefold() for text in heading.values())
    items = [
        KnownItem(heading[section.node_id], str(section.metadata["source"]))
        for section in titled
        if often[heading[section.node_id].casefold()] == 1
        and len(set(content_terms(heading[section.node_id]))) >= MIN_TERMS
    ]
    return sorted(items, key=lambda item: hashlib.sha256(item.text.encode()).digest())[:count]


def _sections(folder: Path) -> Iterator[Section]:
    for file in find_files([folder], limits=FileLimits(MAX_BYTES, MAX_BYTES)).files:
        source = read_source(file.path, max_bytes=MAX_BYTES, source=file.source)
        yield from read_sections(source.text, source=file.source)
