"""Passages: what is fetched for a ranking, from a real store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from pipeline.answer import Passage
from pipeline.finding.fusion import Fused
from pipeline.finding.passages import fetch_sections, fetched, gather, select
from pipeline.options import SearchOptions
from pipeline.steps.records import FetchedSection, SelectStep
from pipeline.steps.trace import RunningStep
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.passages import ids as ids_of
from tests.pipeline.passages import make_passage
from tests.pipeline.searching import ENCODER, make_store, section_named


def leaves_of(store: EmbeddedStore, section_id: str) -> list[TextNode]:
    return store.sentences.of_sections([section_id])[section_id]


def run(
    store: EmbeddedStore,
    ranking: list[tuple[str, float]],
    found: list[tuple[TextNode, str, float]] | None = None,
    *,
    query: str | None = None,
    threshold: float = 0.5,
) -> tuple[list[Passage], tuple[FetchedSection, ...]]:
    """The passages for a ranking of sections with found sentences (leaf, its section, fused score)."""
    scores: dict[str, dict[str, float]] = {}
    for leaf, owner, score in found or ():
        scores.setdefault(owner, {})[leaf.node_id] = score
    fused = [Fused(section_id, score, {}) for section_id, score in ranking]
    passages = gather(
        fetch_sections(fused, "fan", sections=store.sections, depth=99),
        scores,
        store=store,
        vector=None if query is None else ENCODER.encode_query(query),
        options=SearchOptions(simple_ratio_thresh=threshold),
    )
    return passages, fetched(passages, scores)


def test_passages_follow_the_ranking_with_their_sections_text_and_score(manual: EmbeddedStore) -> None:
    fan, radio = section_named(manual, "Cabin fan"), section_named(manual, "Radio")
    passages, sections = run(manual, [(radio, 0.9), (fan, 0.4)], query="hums")
    assert [(passage.section.node_id, passage.score) for passage in passages] == [
        (radio, 0.9),
        (fan, 0.4),
    ]
    assert passages[1].section.text.startswith("The cabin fan moves the air.")
    assert [section.section_id for section in sections] == [radio, fan]
    assert sections[1] == FetchedSection(fan, "systems/ecs.md", ("ECS", "Cabin fan"), siblings=3)


def test_found_sentences_come_best_first_and_equal_ones_in_reading_order(manual: EmbeddedStore) -> None:
    tank = section_named(manual, "LN2 tank")
    leaves = leaves_of(manual, tank)
    assert len(leaves) == 6
    (passage,), _ = run(
        manual, [(tank, 1.0)], [(leaves[4], tank, 0.2), (leaves[1], tank, 0.7), (leaves[0], tank, 0.2)]
    )
    assert [(hit.node.node_id, hit.score) for hit in passage.sentences] == [
        (leaves[1].node_id, 0.7), (leaves[0].node_id, 0.2), (leaves[4].node_id, 0.2)
    ]  # fmt: skip


@pytest.mark.parametrize(("threshold", "merged"), [(0.5, True), (0.51, False)])
def test_enough_sentences_merge_into_their_section(
    manual: EmbeddedStore, threshold: float, merged: bool
) -> None:
    tank = section_named(manual, "LN2 tank")
    leaves = leaves_of(manual, tank)
    found = [(leaf, tank, 0.5) for leaf in leaves[:3]]
    passages, sections = run(manual, [(tank, 1.0)], found, threshold=threshold)
    (passage,) = passages
    assert passage.merged is merged
    assert passage.node.node_id == (tank if merged else leaves[0].node_id)
    (section,) = sections
    assert (section.section_id, section.found, section.siblings, section.merged) == (tank, 3, 6, merged)


def test_a_section_found_by_its_own_lists_gets_its_nearest_sentence(manual: EmbeddedStore) -> None:
    tank = section_named(manual, "LN2 tank")
    sensor = next(leaf for leaf in leaves_of(manual, tank) if "sensor" in leaf.text)
    passages, sections = run(manual, [(tank, 1.0)], query="quantity sensor")
    (hit,) = passages[0].sentences
    assert hit.node.node_id == sensor.node_id
    vectors = manual.sentences.vectors([sensor.node_id])
    assert hit.score == pytest.approx(
        float(vectors[sensor.node_id] @ ENCODER.encode_query("quantity sensor"))
    )
    assert not passages[0].merged
    assert sections[0].found == 0


def test_a_section_that_vanished_meanwhile_is_left_out(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    radio, fan = section_named(store, "Radio"), section_named(store, "Cabin fan")
    found = [(leaf, radio, 0.9) for leaf in leaves_of(store, radio)]
    store.delete_document("comms.md")
    passages, sections = run(store, [(radio, 1.0), (fan, 0.5)], found, query="radio")
    assert [passage.section.node_id for passage in passages] == [fan]
    assert [section.section_id for section in sections] == [fan]
    store.close()


class CountingStore:
    """A store that counts the calls to it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.calls: list[str] = []
        self.sections = self._counted("sections", store.sections)
        self.sentences = self._counted("sentences", store.sentences)

    def _counted(self, part: str, target: object) -> object:
        calls = self.calls

        class Counted:
            def __getattr__(self, name: str) -> object:
                calls.append(f"{part}.{name}")
                return getattr(target, name)

        return Counted()


def test_everything_is_fetched_in_one_call_each(manual: EmbeddedStore) -> None:
    counting = CountingStore(manual)
    documents = [manual.sections.document(info.source) for info in manual.sections.documents()]
    ids = [section.node_id for document in documents for section in document.sections]
    passages, _ = run(counting, [(section_id, 1.0) for section_id in ids], query="fan")  # type: ignore[arg-type]
    assert len(passages) == len(ids) > 5
    assert sorted(counting.calls) == ["sections.get_many", "sentences.get_many", "sentences.vectors"]


def selected(
    sizes: list[int], *, top_k: int = 99, context_tokens: int = 10**9
) -> tuple[list[str], SelectStep]:
    """The ids of the passages of these sizes that are kept, p00 and so on, and the record."""
    passages = [make_passage(f"p{number:02}", text="w " * size) for number, size in enumerate(sizes)]
    step = RunningStep(SelectStep(top_k=top_k, context_tokens=context_tokens), None)
    kept = ids_of(select(step, passages, lambda text: len(text.split())))
    assert step.record.selected == tuple(kept)
    return kept, step.record


def test_the_budget_may_be_used_up_and_a_smaller_one_further_down_may_fit() -> None:
    kept, record = selected([5, 6, 5, 1], context_tokens=10)
    assert (kept, record.tokens) == (["p00", "p02"], 10)
    assert record.dropped == (
        ("p01", "6 tokens do not fit the budget"),
        ("p03", "1 tokens do not fit the budget"),
    )
    kept, record = selected([1, 1, 1], top_k=2)
    assert (kept, record.dropped) == (["p00", "p01"], (("p02", "beyond the first 2"),))
    assert selected([50, 1], context_tokens=10)[0] == ["p00"]  # the best is kept, even if it is too long


@given(st.lists(st.integers(1, 30), max_size=15), st.integers(1, 10), st.integers(1, 60))
def test_every_passage_is_kept_or_dropped_with_a_reason(sizes: list[int], top_k: int, budget: int) -> None:
    kept, record = selected(sizes, top_k=top_k, context_tokens=budget)
    dropped = [section_id for section_id, _ in record.dropped]
    assert sorted(kept + dropped) == [f"p{number:02}" for number in range(len(sizes))]
    assert len(kept) <= top_k
    assert record.tokens <= budget or len(kept) == 1
    if len(kept) < min(top_k, len(sizes)):  # there was room for one more: none of those dropped fits
        assert all(record.tokens + sizes[int(name[1:])] > budget for name in dropped)
