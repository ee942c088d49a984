"""What nodes share is stored once, and comes back with each of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import FILE_NAME
from pipeline.stores.embedded.schema import MIGRATIONS, SHARED_METADATA
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, manifest_of, run_ingest
from tests.pipeline.stores.embedded.rewinding import WITHOUT_PINS_AND_WORDS

PARAGRAPHS = 400
ADDED = {
    "document": ("metadata", "metadata_checksum", "checksum", "text_checksum"),
    "section": ("checksum",),
    "sentence": ("checksum",),
    "embedding": ("checksum",),
    "memory": ("checksum", "embedding_checksum"),
    **dict.fromkeys(("memory_source", "entity", "mention", "relation"), ("checksum",)),
    "conversation": ("scope",),
}
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


def test_a_file_of_the_former_version_reads_the_same(folder: Path) -> None:
    with opened(folder) as store:
        before = contents(store)
    write_as_before(folder / "data" / FILE_NAME)
    assert "".join(metadata_before(folder)).count("tanks.md") > PARAGRAPHS
    with opened(folder) as store:
        assert contents(store) == before
        found = store.sentences.search(SearchRequest("overpressure", None, 3))
        assert found.bm25_sentences


def write_as_before(file: Path) -> None:
    """Make of the file what the version before would have written."""
    with sqlite3.connect(file) as connection:
        shared = {
            number: json.loads(text)
            for number, text in connection.execute("SELECT number, metadata FROM document")
        }
        names = {}
        for number, document, own in connection.execute(
            "SELECT number, document, metadata FROM section"
        ).fetchall():
            whole = shared[document] | json.loads(own)
            names[number] = {key: whole[key] for key in ("source", "title", "heading_path")}
            connection.execute(
                "UPDATE section SET metadata = ? WHERE number = ?", (json.dumps(whole), number)
            )
        for number, section, own in connection.execute(
            "SELECT number, section, metadata FROM sentence"
        ).fetchall():
            whole = names[section] | json.loads(own)
            connection.execute(
                "UPDATE sentence SET metadata = ? WHERE number = ?", (json.dumps(whole), number)
            )
        for table, columns in ADDED.items():
            for column in columns:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for statement in WITHOUT_PINS_AND_WORDS:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {MIGRATIONS.index(SHARED_METADATA)}")
    connection.close()


def metadata_before(folder: Path) -> Iterator[str]:
    with sqlite3.connect(folder / "data" / FILE_NAME) as connection:
        yield from (text for (text,) in connection.execute("SELECT metadata FROM sentence"))
    connection.close()
