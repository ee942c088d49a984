"""An evaluation's index: every document one section under its title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from evals.datasets import Document, load_corpus
from evals.indexing import Indexed, index_documents, index_of
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import manifest_of, run_ingest


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore(tmp_path / "store")
    yield opened
    opened.close()


def run(store: EmbeddedStore, documents: list[Document], **given: object) -> tuple[Indexed, FakeEncoder]:
    encoder = FakeEncoder()
    athena = SimpleNamespace(store=store, encoder=encoder, manifest=manifest_of(encoder))
    indexed = index_documents(athena, documents, **given)  # type: ignore[arg-type]
    return indexed, encoder


def test_each_document_is_one_section_under_its_title(store: EmbeddedStore, beir: Path) -> None:
    indexed, encoder = run(store, load_corpus(beir))
    assert indexed.documents == 5
    assert indexed.sentences == store.statistics().sentences == 8
    assert indexed.seconds > 0
    assert sorted(indexed.names.values()) == ["42", "fan", "tank", "text only", "title only"]
    (section,) = store.document("tank").sections
    assert indexed.names[section.node_id] == "tank"
    assert section.metadata["heading_path"] == ["Nitrogen tank"]
    assert section.text == "LN2 tanks hold nitrogen.\n\nTheir valve opens at 5 bar."
    assert (section.metadata["start_line"], section.metadata["end_line"]) == (1, 3)
    assert "Nitrogen tank: Their valve opens at 5 bar." in encoder.texts


@pytest.mark.parametrize("text", ["", " \n ", "---", "<!-- -->", "#", "\u3000", "```\n```", "[a]: b"])
def test_a_document_of_next_to_nothing_is_indexed_all_the_same(store: EmbeddedStore, text: str) -> None:
    indexed, _ = run(
        store, [Document(_id="d", title="", text=text), Document(_id="e", title="Fan", text=text)]
    )
    assert sorted(indexed.names.values()) == ["d", "e"]
    assert [info.source for info in store.documents()] == ["d", "e"]


def test_markdown_sections_are_named_by_source_and_path(store: EmbeddedStore, tmp_path: Path) -> None:
    (tmp_path / "manual").mkdir()
    (tmp_path / "manual" / "ecs.md").write_text("Hello.\n\n# ECS\n\n## Fan\n\nIt hums.\n", "utf-8")
    run_ingest(store, tmp_path / "manual")
    assert sorted(index_of(store).names.values()) == ["ecs.md#", "ecs.md#ECS > Fan"]
