"""Both stores find the same, on the manuals with the real embedding model."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.finding.fusion import fuse_sections, list_weights
from pipeline.models.embedding import choose_encoder
from pipeline.options import ModelServerOptions
from pipeline.stores.base import DocumentStore, SearchRequest, Vector
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.server import ServerStore
from tests.pipeline.ingest_runs import run_ingest

pytestmark = pytest.mark.server

ROOT = Path(__file__).resolve().parents[4]
MANUALS = ROOT / "docs_corpus"
QUESTIONS = ROOT / "evals" / "data" / "manuals" / "queries.jsonl"
WEIGHTS = list_weights(0.5)
LEAST_OVERLAP = 0.93
FLUSHED_S = 8.0  # Weaviate ranks words wrongly until it has written new objects to disk, 5 s after the first


def first_ten(store: DocumentStore, text: str, vector: Vector) -> set[str]:
    response = store.search(SearchRequest(text, vector, 100))
    return {item.id for item in fuse_sections(response, weights=WEIGHTS)[:10]}


def test_the_first_ten_are_the_same(store: ServerStore, tmp_path: Path) -> None:
    encoder = choose_encoder("auto", options=ModelServerOptions())[0]
    questions = [json.loads(line)["text"] for line in QUESTIONS.read_text().splitlines() if line.strip()]
    overlaps = []
    with closing(EmbeddedStore(tmp_path)) as embedded:
        for each in (embedded, store):
            run_ingest(each, MANUALS, encoder=encoder)  # type: ignore[arg-type]
        assert store.statistics().sentences == embedded.statistics().sentences > 1000
        time.sleep(FLUSHED_S)
        for question in questions:
            vector = encoder.encode_query(question)
            first, second = (first_ten(each, question, vector) for each in (embedded, store))
            overlaps.append(len(first & second) / max(1, len(first), len(second)))
    assert len(overlaps) > 100
    assert sum(overlaps) / len(overlaps) >= LEAST_OVERLAP
