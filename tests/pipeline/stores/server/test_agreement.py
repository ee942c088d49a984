"""Both stores find the same, on the manuals with the real embedding model."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from bench.store_agreement import RememberingEncoder, compare
from pipeline.models.embedding import choose_encoder
from pipeline.options import EncoderOptions
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.server import ServerStore
from tests.pipeline.ingest_runs import run_ingest

pytestmark = pytest.mark.server

ROOT = Path(__file__).resolve().parents[4]
MANUALS = ROOT / "docs_corpus"
QUESTIONS = ROOT / "evals" / "data" / "manuals" / "queries.jsonl"
LEAST_OVERLAP = 0.93


def test_the_first_ten_are_the_same(store: ServerStore, tmp_path: Path) -> None:
    encoder = RememberingEncoder(choose_encoder("auto", options=EncoderOptions())[0])
    questions = [json.loads(line)["text"] for line in QUESTIONS.read_text().splitlines() if line.strip()]
    with closing(EmbeddedStore(tmp_path)) as embedded:
        for each in (embedded, store):
            run_ingest(each, MANUALS, encoder=encoder)  # type: ignore[arg-type]
        assert store.sentences.count() == embedded.sentences.count() > 1000
        agreement = compare((embedded, store), questions, encoder=encoder)
    assert agreement.questions == len(questions) > 100
    assert agreement.overlap >= LEAST_OVERLAP
