"""How every store searches."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.analysis import analyse
from pipeline.stores.base import DocumentStore, SearchRequest, sentences_by_section
from tests.contracts.documents import ENCODER, MANIFEST, delete, make_document, make_id

DOCUMENTS = {
    "ecs/tank.md": {
        "Tank": ["The LN2 tank ECS-LN2-T1 is cold.", "It vents through the relief valve."],
        "Fan": ["The cabin fan is loud."],
    },
    "power/battery.md": {"Battery": ["The battery is warm.", "Its fan runs.", "Nothing else."]},
    "overview.md": {"Overview": ["The ship has a tank, a fan and a battery."]},
}

GLOBS = {
    "ecs/*.md": {"ecs/tank.md"},
    "*.md": {"overview.md"},
    "**/*.md": {"ecs/tank.md", "power/battery.md", "overview.md"},
    "power": {"power/battery.md"},
    "[ep]*/**": {"ecs/tank.md", "power/battery.md"},
    "nowhere/*": set(),
}


@pytest.fixture
def index(store: DocumentStore) -> DocumentStore:
    with store.writing(MANIFEST) as writing:
        for source, content in DOCUMENTS.items():
            writing.replace(make_document(source, content))
    return store


def ask(text: str, *, top_k: int = 10, paths: str | None = None) -> SearchRequest:
    return SearchRequest(text, ENCODER.encode_query(text), top_k, paths)


class TestSentenceIndex:
    def test_an_empty_store_finds_nothing(self, store: DocumentStore) -> None:
        response = store.search(ask("tank"))
        assert response.bm25_sections == response.dense_sentences == ()
        assert (store.statistics().sentences, store.statistics().manifest) == (0, None)
        assert store.vectors(["x"]) == store.get_many(["x"]) == {}
        assert store.documents() == []

    def test_words_are_found_on_both_levels(self, index: DocumentStore) -> None:
        response = index.search(ask("venting valves"))  # other forms of the same words
        assert response.bm25_sentences[0].node_id == make_id(make_id("ecs/tank.md", "Tank"), 1)
        assert response.bm25_sentences[0].section_id == make_id("ecs/tank.md", "Tank")
        assert response.bm25_sections[0].node_id == make_id("ecs/tank.md", "Tank")
        assert response.bm25_sections[0].section_id == response.bm25_sections[0].node_id

    def test_only_nodes_with_a_word_are_found_in_any_case(self, index: DocumentStore) -> None:
        response = index.search(ask("battery"))
        assert {hit.section_id for hit in response.bm25_sections} == {
            make_id("power/battery.md", "Battery"),
            make_id("overview.md", "Overview"),
        }
        assert index.search(ask("zeppelin")).bm25_sections == ()
        tank = make_id(make_id("ecs/tank.md", "Tank"), 0)
        assert index.search(ask("ecs-ln2-t1")).bm25_sentences[0].node_id == tank

    def test_dense_search_is_exact_by_cosines(self, index: DocumentStore) -> None:
        question = ask("Manual > Fan: The cabin fan is loud.")
        found = index.search(question).dense_sentences
        assert found[0].node_id == make_id(make_id("ecs/tank.md", "Fan"), 0)
        vectors = index.vectors([hit.node_id for hit in found])
        assert len(vectors) == index.statistics().sentences
        cosines = {node: float(vector @ question.vector) for node, vector in vectors.items()}
        assert [hit.node_id for hit in found] == sorted(cosines, key=lambda node: -cosines[node])
        assert [hit.score for hit in found] == pytest.approx(
            [cosines[hit.node_id] for hit in found], abs=1e-3
        )

    def test_lists_are_cut_with_twice_as_many_sentences(self, index: DocumentStore) -> None:
        response = index.search(ask("fan tank battery", top_k=2))
        assert (len(response.dense_sections), len(response.dense_sentences)) == (2, 4)
        assert len(response.bm25_sections) == 2
        assert 2 < len(response.bm25_sentences) <= 4

    def test_a_way_of_searching_can_be_left_out(self, index: DocumentStore) -> None:
        words_only = index.search(SearchRequest("fan", None, 5))
        assert words_only.bm25_sections and not words_only.dense_sections and not words_only.dense_sentences
        vector_only = index.search(SearchRequest(None, ENCODER.encode_query("fan"), 5))
        assert vector_only.dense_sections and not vector_only.bm25_sections

    def test_a_glob_limits_all_four_lists(self, index: DocumentStore) -> None:
        for glob, sources in GLOBS.items():
            response = index.search(ask("fan tank battery", paths=glob))
            allowed = {make_id(source, heading) for source in sources for heading in DOCUMENTS[source]}
            lists = (
                response.bm25_sections, response.bm25_sentences, response.dense_sections,
                response.dense_sentences,
            )  # fmt: skip
            assert {hit.section_id for ranking in lists for hit in ranking} == allowed, glob

    def test_the_glob_is_applied_before_the_cut(self, index: DocumentStore) -> None:
        everywhere = index.search(ask("The cabin fan is loud.", top_k=1))
        within = index.search(ask("The cabin fan is loud.", top_k=1, paths="power/*"))
        assert everywhere.dense_sections[0].section_id != within.dense_sections[0].section_id
        assert within.bm25_sections and within.dense_sections

    def test_sentences_come_back_with_their_section(self, index: DocumentStore) -> None:
        section_id = make_id("ecs/tank.md", "Tank")
        sentence_id = make_id(section_id, 1)
        sentence = index.get_many([sentence_id, "unknown"])[sentence_id]
        assert sentence.text == "It vents through the relief valve."
        assert (sentence.section_id, sentence.document_id) == (section_id, make_id("ecs/tank.md"))
        assert sentence.metadata["position"] == 1
        assert index.document("ecs/tank.md").text[
            sentence.start_char_idx : sentence.end_char_idx
        ] == sentence.text  # fmt: skip

    def test_all_sentences_of_sections_in_reading_order(self, index: DocumentStore) -> None:
        tank, battery = make_id("ecs/tank.md", "Tank"), make_id("power/battery.md", "Battery")
        found = sentences_by_section(index, [battery, tank, "unknown"])
        assert {section: [node.text for node in nodes] for section, nodes in found.items()} == {
            tank: DOCUMENTS["ecs/tank.md"]["Tank"],
            battery: DOCUMENTS["power/battery.md"]["Battery"],
        }

    def test_vectors_of_both_levels(self, index: DocumentStore) -> None:
        document = make_document("ecs/tank.md", DOCUMENTS["ecs/tank.md"])
        found = index.vectors([*document.vectors, "unknown"])
        assert found.keys() == document.vectors.keys()
        for node_id, vector in found.items():
            assert vector.dtype == np.float32
            np.testing.assert_allclose(vector, document.vectors[node_id], atol=1e-3)

    def test_terms_that_no_node_has_are_told(self, index: DocumentStore) -> None:
        terms = {*analyse("vented BATTERY overview zeppelin"), "ecs-ln2-t1"}
        assert index.lacking(terms) == {"zeppelin"}
        assert index.lacking(()) == frozenset()

    def test_the_vocabulary_and_the_terms_follow_the_documents(self, index: DocumentStore) -> None:
        words = index.vocabulary("r")
        assert "relief" in words and "overview" in index.vocabulary("o")  # a heading
        assert not any(character.isdigit() for word in words for character in word)
        assert "relief" not in index.vocabulary("b") and "zeppelin" not in index.vocabulary("z")
        with index.writing(MANIFEST) as writing:
            writing.replace(make_document("overview.md", {"Overview": ["A zeppelin."]}))
        assert "zeppelin" in index.vocabulary("z")
        assert index.lacking(["zeppelin"]) == frozenset()
        delete(index, "overview.md")
        assert index.lacking(["zeppelin"]) == {"zeppelin"}
