"""Headings to click below an answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.answer import Citation
from pipeline.asking.suggestions import next_topics
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_store
from tests.ui.conftest import VALVES, quoted

FAN = "# Cabin fan\n\nIt moves air.\n\n## Filter\n\nBlue.\n\n### Cleaning\n\nBlow.\n\n## Speeds\n\nTwo.\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return make_store(tmp_path_factory.mktemp("topics"), {"fan.md": FAN})


def test_next_topics_are_first_those_below_then_those_beside_the_cited_section(store: EmbeddedStore) -> None:
    cited = _citation("fan.md", ("Cabin fan", "Filter"))
    topics = ["Filter: Cleaning", "Cabin fan: Speeds", "Cabin fan"]
    assert next_topics([cited], store) == topics
    assert next_topics([cited], store, without=["filter: cleaning"]) == topics[1:]
    assert next_topics([cited], store, limit=1) == topics[:1]


def test_a_document_that_was_deleted_has_no_next_topics(tmp_path: Path) -> None:
    assert next_topics([_citation("gone.md", ("Cabin fan",))], make_store(tmp_path, {})) == []


def _citation(source: str, path: tuple[str, ...]) -> Citation:
    return replace(quoted(VALVES, "Close CB-4 first.", path=path), source=source)
