"""The retrieving recipe on a real store: each switch, each step, and what a step tells."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pipeline.answer import Retrieval
from pipeline.errors import ManifestMismatch, ModelTimeout, ModelUnavailable
from pipeline.finding.alternative import AlternativeQuery
from pipeline.finding.fusion import LISTS
from pipeline.finding.hyde import Hypothesis, combine
from pipeline.steps.records import (
    AnswerableStep,
    EmbedStep,
    FuseStep,
    HydeStep,
    MergeStep,
    Reranked,
    RerankStep,
    SearchStep,
    SelectStep,
)
from pipeline.stores.base import SearchResponse
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeCrossEncoder, FakeEncoder
from tests.pipeline.ingest_runs import manifest_of
from tests.pipeline.searching import (
    ENCODER,
    RETRIEVING,
    make_search,
    make_store,
    section_named,
    the_step,
)

QUESTION = "Why does the LN2 tank show OFFLINE?"
HYPOTHESIS = "The antenna points at Earth."


def headings(retrieval: Retrieval) -> list[str]:
    return [(passage.section.metadata["heading_path"] or [""])[-1] for passage in retrieval.passages]


def forbidden(question: str) -> str:
    raise AssertionError("nobody should ask for a hypothesis")


# -- the whole ----------------------------------------------------------------------------------------


def test_the_steps_in_order(manual: EmbeddedStore) -> None:
    hybrid_search = make_search(
        manual,
        hyde=True,
        hypothesize=lambda *_: Hypothesis(HYPOTHESIS),
        cross_encoder=FakeCrossEncoder(lambda _: 0.5),
    )
    retrieval = hybrid_search.search(QUESTION, options=hybrid_search.options.but(merge_up=True))
    assert [step.name for step in retrieval.steps] == RETRIEVING
    assert {step.status for step in retrieval.steps} == {"ok"}
    assert all(step.ms >= 0 for step in retrieval.steps)


def test_the_steps_tell_what_happened(manual: EmbeddedStore) -> None:
    retrieval = make_search(manual, top_k=2, candidates=5).search(QUESTION)
    tank = section_named(manual, "LN2 tank")

    embed = the_step(retrieval, EmbedStep)
    assert (embed.model, embed.dimensions) == ("fake-encoder", 32)
    search = the_step(retrieval, SearchStep)
    assert (search.text, search.alpha, search.candidates, search.paths) == (QUESTION, 0.5, 5, None)
    assert search.sentences == manual.sentences.count()
    assert list(search.lists) == list(LISTS)
    for name, hits in search.lists.items():
        assert isinstance(hits[0].score, float)
        assert (hits[0].node_id == hits[0].section_id) is name.endswith("sections")
        assert len(hits) <= (5 if name.endswith("sections") else 10)
    assert search.bm25_sections[0].section_id == tank
    assert search.hits == sum(len(hits) for hits in search.lists.values())

    fuse = the_step(retrieval, FuseStep)
    assert fuse.ranking[0].id == tank
    for item in fuse.ranking:
        assert item.score == pytest.approx(sum(item.contributions.values()))
        assert set(item.contributions) <= set(LISTS)
    assert sum(fuse.weights.values()) == pytest.approx(1)
    assert fuse.sections == len(fuse.ranking)

    merge = the_step(retrieval, MergeStep)
    assert merge.simple_ratio_thresh == 0.5
    assert [section.section_id for section in merge.sections] == [item.id for item in fuse.ranking[:5]]
    (found,) = [section for section in merge.sections if section.section_id == tank]
    assert (found.source, found.heading_path, found.siblings) == ("systems/ecs.md", ("ECS", "LN2 tank"), 6)
    assert found.found > 0

    answerable = the_step(retrieval, AnswerableStep)
    assert answerable.probability == retrieval.answerability.probability
    assert answerable.threshold == 0.5
    assert "coverage" in answerable.signals

    select = the_step(retrieval, SelectStep)
    assert list(select.selected) == [passage.section.node_id for passage in retrieval.passages]
    assert len(select.selected) == 2
    assert {item.why for item in select.dropped} == {"beyond the first 2"}
    assert select.tokens > 0


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "empty")
    retrieval = make_search(store, cross_encoder=FakeCrossEncoder([])).search(QUESTION)
    assert retrieval.passages == ()
    assert (retrieval.answerability.probability, retrieval.answerability.answerable) == (0.0, False)
    assert [step.name for step in retrieval.steps] == RETRIEVING
    store.close()


@pytest.mark.parametrize("question", ["", "   ", "?!", "\x00", "\ud800", '"AND (', "a" * 5000, "*:* OR NOT"])
def test_no_question_breaks_it(manual: EmbeddedStore, question: str) -> None:
    retrieval = make_search(manual, merge_up=True).search(question)
    assert [step.status for step in retrieval.steps if step.name not in ("hyde", "rerank")] == ["ok"] * 8


def test_an_index_of_another_model_is_refused(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    other = FakeEncoder(name="another")
    store = EmbeddedStore(tmp_path / "store", manifest=manifest_of(other))
    with pytest.raises(ManifestMismatch, match="another"):
        make_search(store, encoder=other).search(QUESTION)
    store.close()


# -- hyde ---------------------------------------------------------------------------------------------


class RecordingStore:
    """The store, with the search requests that reach it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.sections = store.sections
        self.sentences = self
        self._sentences = store.sentences
        self.requests: list = []

    def search(self, request: object) -> SearchResponse:
        self.requests.append(request)
        return self._sentences.search(request)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._sentences, name)


def test_the_hypothesis_joins_the_vector_but_not_the_words(manual: EmbeddedStore) -> None:
    store, encoder = RecordingStore(manual), FakeEncoder()
    asked: list[str] = []

    def hypothesize(question: str, stop: threading.Event) -> Hypothesis:
        asked.append(question)
        return Hypothesis(f"  {HYPOTHESIS}\n")

    retrieval = make_search(store, encoder=encoder, hyde=True, hypothesize=hypothesize).search(QUESTION)
    assert (asked, encoder.texts) == ([QUESTION], [HYPOTHESIS])
    hyde = the_step(retrieval, HydeStep)
    assert (hyde.question, hyde.hypothesis) == (QUESTION, HYPOTHESIS)
    request, judged = store.requests
    expected = combine(ENCODER.encode_query(QUESTION), ENCODER.encode_passages([HYPOTHESIS])[0])
    assert request.vector == pytest.approx(expected)
    assert judged.vector == pytest.approx(ENCODER.encode_query(QUESTION))  # the verdict is on the question
    assert request.text == judged.text == QUESTION


@pytest.mark.parametrize(
    ("options", "hypothesize", "why"),
    [
        ({"hyde": False}, forbidden, "switched off"),
        ({"hyde": True}, None, "no language model is connected"),
        ({"hyde": True, "alpha": 0.0}, forbidden, "switched off"),
    ],
)
def test_hyde_is_skipped_and_says_why(
    manual: EmbeddedStore, options: dict[str, object], hypothesize: object, why: str
) -> None:
    retrieval = make_search(manual, hypothesize=hypothesize, **options).search(QUESTION)
    assert (the_step(retrieval, HydeStep).status, the_step(retrieval, HydeStep).detail) == ("skipped", why)
    assert headings(retrieval)[0] == "LN2 tank"


@pytest.mark.parametrize(
    "error",
    [
        ModelTimeout("'llama' at http://127.0.0.1:1 gave no answer in 20 s.", "Try a smaller model."),
        ModelUnavailable("No Ollama at http://127.0.0.1:1.", "Start it with `ollama serve`."),
    ],
)
def test_a_failing_hypothesis_is_a_failed_step_and_not_an_error(
    manual: EmbeddedStore, error: Exception
) -> None:
    def hypothesize(question: str, stop: threading.Event) -> Hypothesis:
        raise error

    failed = make_search(manual, hyde=True, hypothesize=hypothesize).search(QUESTION)
    plain = make_search(manual, hyde=False).search(QUESTION)
    assert (the_step(failed, HydeStep).status, the_step(failed, HydeStep).detail) == ("failed", str(error))
    assert [(p.section.node_id, p.score) for p in failed.passages] == [
        (p.section.node_id, p.score) for p in plain.passages
    ]


def test_a_stop_while_the_hypothesis_is_written_leaves_it_out(manual: EmbeddedStore) -> None:
    stop = threading.Event()

    def hypothesize(question: str, stop: threading.Event) -> Hypothesis:
        stop.set()
        return Hypothesis("half a")

    reranker = FakeCrossEncoder(lambda _: 0.5)
    hybrid_search = make_search(manual, hyde=True, hypothesize=hypothesize, cross_encoder=reranker)
    retrieval = hybrid_search.search(QUESTION, stop=stop)
    for step in (the_step(retrieval, HydeStep), the_step(retrieval, RerankStep)):
        assert (step.status, step.detail) == ("skipped", "stopped")
    assert the_step(retrieval, HydeStep).hypothesis == ""
    assert retrieval.passages


@pytest.mark.parametrize("known", [HYPOTHESIS, ""])
def test_a_known_hypothesis_is_used_and_none_is_written(manual: EmbeddedStore, known: str) -> None:
    retrieval = make_search(manual, hyde=True, hypothesize=forbidden).search(QUESTION, hypothesis=known)
    search = make_search(manual, hyde=bool(known), hypothesize=lambda *_: Hypothesis(known))
    written = search.search(QUESTION)
    assert the_step(retrieval, HydeStep).hypothesis == known
    assert the_step(retrieval, FuseStep).ranking == the_step(written, FuseStep).ranking


# -- lists and fusion ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "used", "unused"), [(0.0, "bm25", "dense"), (1.0, "dense", "bm25")])
def test_alpha_0_and_1_search_one_way_only(
    manual: EmbeddedStore, alpha: float, used: str, unused: str
) -> None:
    retrieval = make_search(manual, alpha=alpha).search(QUESTION)
    lists = the_step(retrieval, SearchStep).lists
    assert lists[f"{used}_sections"]
    assert lists[f"{used}_sentences"]
    assert lists[f"{unused}_sections"] == lists[f"{unused}_sentences"] == ()
    assert {name for item in the_step(retrieval, FuseStep).ranking for name in item.contributions} == {
        f"{used}_sections", f"{used}_sentences"
    }  # fmt: skip


# -- merging ------------------------------------------------------------------------------------------


# -- reranking ----------------------------------------------------------------------------------------


def prefers(word: str) -> FakeCrossEncoder:
    return FakeCrossEncoder(lambda text: 9.0 if word in text else -9.0)


def test_the_cross_encoder_moves_what_it_prefers(
    manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.finding.reranking.SURE", 2.0)  # so that it has all of its weight
    plain = make_search(manual).search(QUESTION)
    assert headings(plain)[0] != "Breakers"
    cross_encoder = prefers("Reset a breaker")
    retrieval = make_search(manual, cross_encoder=cross_encoder, rerank_weight=0.9, rerank_top_n=8).search(
        QUESTION
    )
    assert headings(retrieval)[0] == "Breakers"
    assert retrieval.passages[0].rerank_score == pytest.approx(1, abs=1e-3)
    step = the_step(retrieval, RerankStep)
    assert step.model == "fake-cross-encoder"
    assert step.before == tuple(item.id for item in the_step(plain, FuseStep).ranking[:8])
    assert step.after[0] == Reranked(
        section_named(manual, "Breakers"), retrieval.passages[0].score, retrieval.passages[0].rerank_score
    )
    assert (step.top_n, step.weight) == (8, 0.9)


@pytest.mark.parametrize(
    ("rerank", "cross_encoder", "why"),
    [(False, prefers("Reset"), "switched off"), (True, None, "no cross-encoder is available")],
)
def test_reranking_is_skipped_and_says_why(
    manual: EmbeddedStore, rerank: bool, cross_encoder: FakeCrossEncoder | None, why: str
) -> None:
    retrieval = make_search(manual, rerank=rerank, cross_encoder=cross_encoder).search(QUESTION)
    assert (the_step(retrieval, RerankStep).status, the_step(retrieval, RerankStep).detail) == (
        "skipped",
        why,
    )
    assert {passage.rerank_score for passage in retrieval.passages} == {None}
    assert cross_encoder is None or cross_encoder.calls == []


def test_a_failing_cross_encoder_is_a_failed_step_and_not_an_error(manual: EmbeddedStore) -> None:
    error = ModelUnavailable("The file is gone.", "Download it again.")
    retrieval = make_search(manual, cross_encoder=FakeCrossEncoder(error)).search(QUESTION)
    assert (the_step(retrieval, RerankStep).status, the_step(retrieval, RerankStep).detail) == (
        "failed",
        str(error),
    )
    assert headings(retrieval) == headings(make_search(manual).search(QUESTION))


# -- selecting and judging ----------------------------------------------------------------------------


def test_another_wording_is_searched_for_beside_the_question(manual: EmbeddedStore) -> None:
    search = make_search(manual)
    alone = search.search("And how often?")
    both = search.search("And how often?", alternative=AlternativeQuery("Oxygen tank", 1.0))
    other = search.search("Oxygen tank")
    assert the_step(alone, SearchStep).alternative == ""
    assert the_step(both, SearchStep).alternative_query == AlternativeQuery("Oxygen tank", 1.0)
    found = [passage.section.node_id for passage in both.passages]
    assert found[0] == other.passages[0].section.node_id != alone.passages[0].section.node_id


def test_the_page_whose_title_is_the_question_and_the_section_that_it_names_come_first(
    tmp_path: Path,
) -> None:
    files = {
        "a-list.md": "# All\n\n## Alertmanager failed to send alerts\n\nIt failed to send alerts.\n",
        "b.md": "# AlertmanagerFailedToSendAlerts\n\nNotifications do not arrive.\n\n## More\n\nMore.\n",
        "guide.md": "# Guide\n\n## 2 Setup\n\nParts.\n\n### 2.2.1 Main supply\n\nUse a fuse.\n",
    }
    store = make_store(tmp_path, files)
    search = make_search(store, merge_up=True, cross_encoder=FakeCrossEncoder(lambda _: 0.0))
    found = search.search("Alertmanager failed to send alerts?")
    assert (found.passages[0].section.metadata["source"], found.answerability.verdict) == ("b.md", "answered")
    named = search.search("What does section 2.2.1 say?")
    assert (headings(named)[0], named.passages[0].members) == ("2.2.1 Main supply", ())
    assert named.answerability.verdict == "answered"
    store.close()
