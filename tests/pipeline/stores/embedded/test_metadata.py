"""What nodes share is stored once, and comes back with each of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import FILE_NAME
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import manifest_of, run_ingest

PARAGRAPHS = 400
LONG = "overpressure " * 20
TEXT = (
    f"---\ntitle: Tanks\nnotes: {'n' * 250}\n---\n\n"
    + "".join(f"{'#' * level} {level} {LONG}\n\n" for level in range(1, 7))
    + "| head |\n|---|\n| row |\n\n"
    + "".join(f"p{number}\n\n" for number in range(PARAGRAPHS))
    + "## Second\n\nText.\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tanks.md").write_text(TEXT, encoding="utf-8")
    with opened(tmp_path) as store:
        run_ingest(store, tmp_path / "docs")
    return tmp_path


@contextmanager
def opened(folder: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(folder / "data", manifest=manifest_of(FakeEncoder()))
    yield store
    store.close()


def metadata(folder: Path) -> Iterator[str]:
    with sqlite3.connect(folder / "data" / FILE_NAME) as connection:
        for table in ("document", "section", "sentence"):
            yield from (text for (text,) in connection.execute(f"SELECT metadata FROM {table}"))
    connection.close()


def test_names_and_front_matter_stand_in_the_file_once(folder: Path) -> None:
    stored = "".join(metadata(folder))
    assert stored.count("n" * 250) == 1
    assert stored.count(f"6 {LONG.strip()}") == 1
    assert stored.count("tanks.md") == 1


def test_every_node_comes_back_with_all_of_its_metadata(folder: Path) -> None:
    corpus = MarkdownCorpus(lambda: SentenceCutter(FakeEncoder().count_tokens), max_bytes=10**6)
    sections, sentences = corpus.cut(TEXT, source="tanks.md")
    with opened(folder) as store:
        read = store.sections.get_many([section.node_id for section in sections])
        leaves = store.sentences.of_sections([section.node_id for section in sections])
        by_id = store.sentences.get_many([sentences[-1].node_id])
    assert [read[section.node_id].metadata for section in sections] == [node.metadata for node in sections]
    assert [leaf.metadata for some in leaves.values() for leaf in some] == [
        node.metadata for node in sentences
    ]
    assert by_id[sentences[-1].node_id].metadata == sentences[-1].metadata
