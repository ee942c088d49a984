"""Passages: what is fetched for a ranking, from a real store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from pipeline.finding.fusion import Fused
from pipeline.finding.merging import is_merged
from pipeline.finding.passages import Gathered, gather
from pipeline.steps.records import FetchedSection
from pipeline.stores.base import Hit, SearchResponse
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, make_store, section_named

NOTHING = SearchResponse((), (), (), ())


def leaves_of(store: EmbeddedStore, section_id: str) -> list[TextNode]:
    return store.sentences.of_sections([section_id])[section_id]


def run(
    store: EmbeddedStore,
    ranking: list[tuple[str, float]],
    found: list[tuple[TextNode, str, float]] | None = None,
    *,
    query: str | None = None,
    threshold: float = 0.5,
) -> Gathered:
    """Gather a ranking of sections with found sentences (leaf, its section, fused score)."""
    found = found or []
    response = SearchResponse((), tuple(Hit(leaf.node_id, owner, 1.0) for leaf, owner, _ in found), (), ())
    return gather(
        [Fused(section_id, score, {}) for section_id, score in ranking],
        {leaf.node_id: score for leaf, _, score in found},
        response,
        store=store,
        vector=None if query is None else ENCODER.encode_query(query),
        threshold=threshold,
    )


def test_passages_follow_the_ranking_with_their_sections_text_and_score(manual: EmbeddedStore) -> None:
    fan, radio = section_named(manual, "Cabin fan"), section_named(manual, "Radio")
    gathered = run(manual, [(radio, 0.9), (fan, 0.4)])
    assert [(passage.section.node_id, passage.score) for passage in gathered.passages] == [
        (radio, 0.9),
        (fan, 0.4),
    ]
    assert gathered.passages[1].section.text.startswith("The cabin fan moves the air.")
    assert [section.section_id for section in gathered.sections] == [radio, fan]
    assert gathered.sections[1] == FetchedSection(fan, "systems/ecs.md", ("ECS", "Cabin fan"), siblings=3)


def test_found_sentences_come_best_first_and_equal_ones_in_reading_order(manual: EmbeddedStore) -> None:
    tank = section_named(manual, "LN2 tank")
    leaves = leaves_of(manual, tank)
    assert len(leaves) == 6
    (passage,) = run(
        manual, [(tank, 1.0)], [(leaves[4], tank, 0.2), (leaves[1], tank, 0.7), (leaves[0], tank, 0.2)]
    ).passages
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
    gathered = run(manual, [(tank, 1.0)], found, threshold=threshold)
    (passage,) = gathered.passages
    assert passage.merged is merged
    assert passage.node.node_id == (tank if merged else leaves[0].node_id)
    (section,) = gathered.sections
    assert (section.section_id, section.found, section.siblings, section.merged) == (tank, 3, 6, merged)


def test_a_section_found_by_its_own_lists_gets_its_nearest_sentence(manual: EmbeddedStore) -> None:
    tank = section_named(manual, "LN2 tank")
    sensor = next(leaf for leaf in leaves_of(manual, tank) if "sensor" in leaf.text)
    gathered = run(manual, [(tank, 1.0)], query="quantity sensor")
    (hit,) = gathered.passages[0].sentences
    assert hit.node.node_id == sensor.node_id
    vectors = manual.sentences.vectors([sensor.node_id])
    assert hit.score == pytest.approx(
        float(vectors[sensor.node_id] @ ENCODER.encode_query("quantity sensor"))
    )
    assert not gathered.passages[0].merged
    assert gathered.sections[0].found == 0


def test_without_a_query_vector_such_a_section_stands_for_itself(manual: EmbeddedStore) -> None:
    tank = section_named(manual, "LN2 tank")
    (passage,) = run(manual, [(tank, 1.0)]).passages
    assert passage.sentences == ()
    assert passage.node.node_id == tank


def test_sentences_of_sections_further_down_are_left_out(manual: EmbeddedStore) -> None:
    tank, radio = section_named(manual, "LN2 tank"), section_named(manual, "Radio")
    found = [(leaves_of(manual, radio)[0], radio, 0.9), (leaves_of(manual, tank)[0], tank, 0.5)]
    gathered = run(manual, [(tank, 1.0)], found)
    assert [[hit.score for hit in passage.sentences] for passage in gathered.passages] == [[0.5]]
    assert [(section.section_id, section.found) for section in gathered.sections] == [(tank, 1)]


def test_a_section_that_vanished_meanwhile_is_left_out(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    radio, fan = section_named(store, "Radio"), section_named(store, "Cabin fan")
    found = [(leaf, radio, 0.9) for leaf in leaves_of(store, radio)]
    store.delete_document("comms.md")
    gathered = run(store, [(radio, 1.0), (fan, 0.5)], found, query="radio")
    assert [passage.section.node_id for passage in gathered.passages] == [fan]
    assert [section.section_id for section in gathered.sections] == [fan]
    store.close()


def test_no_ranking_no_passages(manual: EmbeddedStore) -> None:
    gathered = run(manual, [], query="fan")
    assert (gathered.passages, gathered.sections) == ([], ())


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
    gathered = gather(
        [Fused(section_id, 1.0, {}) for section_id in ids],
        {},
        NOTHING,
        store=counting,  # type: ignore[arg-type]
        vector=ENCODER.encode_query("fan"),
        threshold=0.5,
    )
    assert len(gathered.passages) == len(ids) > 5
    assert sorted(counting.calls) == ["sections.get_many", "sentences.get_many", "sentences.vectors"]


@pytest.mark.parametrize(
    ("found", "siblings", "threshold", "expected"),
    [
        (2, 4, 0.5, True),  # exactly equal merges
        (3, 4, 0.75, True),
        (2, 5, 0.5, False),
        (1, 1, 0.0, False),  # a single child never
        (1, 2, 0.5, False),  # at least two
        (2, 2, 1.0, True),
        (2, 1000, 0.0, True),
        (0, 3, 0.0, False),
    ],
)
def test_what_is_merged(found: int, siblings: int, threshold: float, expected: bool) -> None:
    assert is_merged(found, siblings, threshold=threshold) is expected


@given(st.integers(0, 30), st.integers(1, 30), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_merges_less(found: int, siblings: int, one: float, two: float) -> None:
    if is_merged(found, siblings, threshold=max(one, two)):
        assert is_merged(found, siblings, threshold=min(one, two))
        assert found >= 2
