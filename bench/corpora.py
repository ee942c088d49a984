"""Folders of Markdown, and known-item questions: each is a heading, and its file is the right answer."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.analysis import content_terms
from pipeline.errors import DatasetError
from readers.files import find_files
from readers.sections import read_sections
from readers.source import read_page

RUST_BOOK = "rust-book"
MAX_BYTES = 10_000_000  # of a file
MIN_TERMS = 2  # content words of a heading: "Usage" alone is no question


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A heading as a question, and the one file that has it."""

    text: str
    source: str


def existing(folder: Path) -> Path:
    """Return the folder; raise `DatasetError` if it does not exist."""
    if folder.is_dir():
        return folder
    raise DatasetError(
        f"The benchmark's data are missing: '{folder}' does not exist.",
        "Give the folder that contains docs/ and scifact/ with --data or in ATHENA_TEST_DATA.",
    )


def known_items(folder: Path, *, count: int) -> list[KnownItem]:
    """Return at most `count` headings that only one section has, with at least two different content words.

    They are ordered by their hashes, so that the choice does not depend on other files.
    """
    headings = [*_headings(folder)]
    often = Counter(text.casefold() for text, _ in headings)
    items = [
        KnownItem(text, source)
        for text, source in headings
        if often[text.casefold()] == 1 and len(set(content_terms(text))) >= MIN_TERMS
    ]
    return sorted(items, key=lambda item: hashlib.sha256(item.text.encode()).digest())[:count]


def _headings(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the heading (for text before the first one, the page's title) and the source of each section."""
    for file in find_files([folder], max_bytes=MAX_BYTES).files:
        page = read_page(file.path, max_bytes=MAX_BYTES, source=file.source)
        for section in read_sections(page.text, source=file.source):
            for heading in section.metadata["heading_path"][-1:]:
                yield str(heading), file.source
