"""The retrieving recipe on a real store: each switch, each step, and what its record has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.answer import Retrieval
from pipeline.errors import ManifestMismatch, ModelTimeout
from pipeline.finding.fusion import LISTS
from pipeline.stores.base import SearchRequest, SearchResponse
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeCrossEncoder, FakeEncoder
from tests.pipeline.ingest_runs import manifest_of
from tests.pipeline.searching import ENCODER, RETRIEVING, make_search, make_store, section_named, the_step

QUESTION = "Why does the LN2 tank show OFFLINE?"
HYPOTHESIS = "The antenna points at Earth."


def headings(retrieval: Retrieval) -> list[str]:
    return [passage.section.metadata["heading_path"][-1] for passage in retrieval.passages]


def test_each_step_records_what_it_found(manual: EmbeddedStore) -> None:
    search = make_search(manual, top_k=2, candidates=5, merge_up=True)
    search.cross_encoder = FakeCrossEncoder(lambda _: 0.5)
    retrieval = search.search(QUESTION)
    assert [step.name for step in retrieval.steps] == RETRIEVING
    assert {step.status for step in retrieval.steps} == {"ok"}
    tank = section_named(manual, "LN2 tank")

    embed = the_step(retrieval, "embed").data
    assert (embed["model"], embed["dimensions"]) == ("fake-encoder", 32)
    found = the_step(retrieval, "search").data
    assert tuple(found[name] for name in ("text", "alpha", "candidates", "paths")) == (QUESTION, 0.5, 5, None)
    assert found["sentences"] == manual.statistics().sentences
    assert found["bm25_sections"][0]["section_id"] == tank
    assert found["hits"] == sum(len(found[name]) for name in LISTS)

    fuse = the_step(retrieval, "fuse").data
    assert fuse["ranking"][0]["id"] == tank
    assert sum(fuse["weights"].values()) == pytest.approx(1)
    assert fuse["sections"] == len(fuse["ranking"])
    merge = the_step(retrieval, "merge").data
    assert [section["section_id"] for section in merge["sections"]] == [
        item["id"] for item in fuse["ranking"][:5]
    ]
    answerable = the_step(retrieval, "answerable").data
    assert answerable["probability"] == retrieval.answerability.probability
    assert (answerable["threshold"], "coverage" in answerable["signals"]) == (0.5, True)
    select = the_step(retrieval, "select").data
    assert select["selected"] == [passage.section.node_id for passage in retrieval.passages]
    assert len(select["selected"]) == 2


@pytest.mark.parametrize("ranks", [2, None])
def test_a_search_keeps_the_first_ranks_of_each_list(manual: EmbeddedStore, ranks: int | None) -> None:
    retrieval = make_search(manual).search(QUESTION, ranks=ranks)
    found, fused = the_step(retrieval, "search").data, the_step(retrieval, "fuse").data
    kept = [*(len(found[name]) for name in LISTS), len(fused["ranking"])]
    assert max(kept[:-1]) <= (ranks or found["hits"]) and kept[-1] == (ranks or fused["sections"])
    assert found["hits"] > 2 * len(LISTS)


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "empty")
    retrieval = make_search(store, cross_encoder=FakeCrossEncoder([])).search(QUESTION)
    assert (retrieval.passages, retrieval.answerability.verdict) == ((), "not in the documents")
    assert [step.name for step in retrieval.steps] == RETRIEVING
    store.close()


@pytest.mark.parametrize("question", ["", "   ", "?!", "\x00", "\ud800", '"AND (', "a" * 5000, "*:* OR NOT"])
def test_no_question_breaks_it(manual: EmbeddedStore, question: str) -> None:
    retrieval = make_search(manual, merge_up=True).search(question)
    assert [step.status for step in retrieval.steps if step.name != "rerank"] == ["ok"] * 8


def test_an_index_of_another_model_is_refused(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    other = FakeEncoder(name="another")
    store = EmbeddedStore(tmp_path / "store", manifest=lambda: manifest_of(other))
    with pytest.raises(ManifestMismatch, match="another"):
        make_search(store, encoder=other).search(QUESTION)
    store.close()


class RecordingStore:
    """The store, with the search requests that reach it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self.requests: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResponse:
        self.requests.append(request)
        return self._store.search(request)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_the_hypothesis_joins_the_vector_but_not_the_words(manual: EmbeddedStore) -> None:
    store, encoder = RecordingStore(manual), FakeEncoder()
    found = make_search(store, encoder=encoder).search(QUESTION, hypothesis=HYPOTHESIS)
    assert (the_step(found, "embed").data["hypothesis"], encoder.texts) == (HYPOTHESIS, [HYPOTHESIS])
    asked, judged = store.requests
    mean = ENCODER.encode_query(QUESTION) + ENCODER.encode_passages([HYPOTHESIS])[0]
    assert asked.vector == pytest.approx(mean / np.linalg.norm(mean))
    assert judged.vector == pytest.approx(ENCODER.encode_query(QUESTION))  # the verdict is on the question
    assert asked.text == judged.text == QUESTION


@pytest.mark.parametrize(
    ("options", "name", "detail"),
    [
        ({"rerank": False}, "rerank", "switched off"),
        ({"rerank": True}, "rerank", "no cross-encoder is available"),
        ({"merge_up": False}, "merge_up", "switched off"),
    ],
)
def test_a_skipped_step_has_a_reason(
    manual: EmbeddedStore, options: dict[str, Any], name: str, detail: str
) -> None:
    step = the_step(make_search(manual, **options).search(QUESTION), name)
    assert (step.status, step.detail) == ("skipped", detail)


def test_a_reranker_that_fails_is_a_failed_step_and_no_error(manual: EmbeddedStore) -> None:
    error = ModelTimeout("No answer.", "Wait.")
    failed = make_search(manual, cross_encoder=FakeCrossEncoder(error)).search(QUESTION)
    step = the_step(failed, "rerank")
    assert (step.status, step.detail) == ("failed", str(error))
    assert failed.passages == make_search(manual).search(QUESTION).passages


@pytest.mark.parametrize(("alpha", "used"), [(0.0, "bm25"), (1.0, "dense")])
def test_alpha_0_and_1_search_one_way_only(manual: EmbeddedStore, alpha: float, used: str) -> None:
    found = the_step(make_search(manual, alpha=alpha).search(QUESTION), "search").data
    assert {name for name in LISTS if found[name]} == {f"{used}_sections", f"{used}_sentences"}


def test_a_misspelt_word_is_corrected_and_shown(manual: EmbeddedStore) -> None:
    found = make_search(manual).search("the oxygne tank")
    step = the_step(found, "correct").data
    assert (found.question, found.asked) == ("the oxygen tank", "the oxygne tank")
    assert step["corrected"] == "the oxygen tank"
