"""Why not this page? Each step that can drop a section, on a real store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.answer import Answer
from pipeline.finding.fusion import LISTS
from pipeline.finding.hyde import Hypothesis
from pipeline.finding.why import CHANGED, CONTENTS, IS_CONTENTS, Place, Why, why, why_answered
from pipeline.steps.records import FuseStep, RerankStep, SearchStep
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeCrossEncoder
from tests.pipeline.searching import make_search, make_store, section_named, the_step

QUESTION = "Why does the LN2 tank show OFFLINE?"
FANS = "\n".join(f"# Fan {n}\n\nFan {n} hums{' and hums' * n}.\n" for n in range(40))


def ask(store: EmbeddedStore, source: str, heading: str, *, question: str = QUESTION, **given: object) -> Why:
    retrieval = make_search(store, **given).search(question, ranks=None)
    return why(retrieval, sections=store.sections, source=source, heading=heading)


def test_a_selected_section(manual: EmbeddedStore) -> None:
    reason = ask(manual, "systems/ecs.md", "LN2 tank")
    assert (reason.indexed, reason.dropped_by, reason.final_rank) == (True, "", 1)
    assert reason.explanation == "It was selected, in place 1."
    assert reason.reranked == Place()  # there is no reranker
    assert (reason.source, reason.heading_path) == ("systems/ecs.md", ("ECS", "LN2 tank"))


def test_its_ranks_are_those_of_the_steps(manual: EmbeddedStore) -> None:
    retrieval = make_search(manual, cross_encoder=FakeCrossEncoder(lambda text: -len(text) / 50)).search(
        QUESTION
    )
    reason = why(retrieval, sections=manual.sections, source="systems/ecs.md", heading="Cabin fan")
    fan = section_named(manual, "Cabin fan")
    assert set(reason.lists) == set(LISTS)
    for name, place in reason.lists.items():
        hits = the_step(retrieval, SearchStep).lists[name]
        ranks = [rank for rank, hit in enumerate(hits, start=1) if hit.section_id == fan]
        assert place == (Place(ranks[0], hits[ranks[0] - 1].score) if ranks else Place())
    fused = [item.id for item in the_step(retrieval, FuseStep).ranking]
    assert reason.fused.rank == fused.index(fan) + 1
    after = the_step(retrieval, RerankStep).after
    assert [reason.reranked.rank, reason.reranked.score] == next(
        [rank, item.score] for rank, item in enumerate(after, start=1) if item.section_id == fan
    )
    assert reason.final_rank == [p.section.node_id for p in retrieval.passages].index(fan) + 1


def test_a_file_that_is_not_indexed(manual: EmbeddedStore) -> None:
    reason = ask(manual, "pump.md", "Pump")
    assert (reason.indexed, reason.dropped_by, reason.heading_path) == (False, "not indexed", ())
    assert "pump.md" in reason.explanation
    assert dict(reason.lists) == {}


def test_a_heading_that_the_file_has_not(manual: EmbeddedStore) -> None:
    reason = ask(manual, "systems/ecs.md", "Pump")
    assert (reason.indexed, reason.dropped_by) == (False, "not indexed")
    assert reason.explanation == (
        "'systems/ecs.md' is indexed, but no section in it is called 'Pump'. "
        "It has 'Cabin fan', 'LN2 tank', 'Oxygen tank'."
    )


def test_a_file_without_headings_says_so(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"note.md": "The fan hums.\n"})
    reason = ask(store, "note.md", "Fan")
    assert not reason.indexed
    assert (
        reason.explanation
        == "'note.md' is indexed, but no section in it is called 'Fan'. It has no headings."
    )
    store.close()


@pytest.mark.parametrize(
    "heading", ["LN2 tank", "ln2 TANK", " LN2 tank ", "ECS > LN2 tank", "ecs > ln2 tank"]
)
def test_a_heading_or_its_path_in_any_case(manual: EmbeddedStore, heading: str) -> None:
    assert ask(manual, "systems/ecs.md", heading).heading_path == ("ECS", "LN2 tank")


def test_a_part_of_a_path_names_nothing(manual: EmbeddedStore) -> None:
    assert not ask(manual, "systems/ecs.md", "ECS").indexed  # a heading without text of its own
    assert not ask(manual, "systems/ecs.md", "tank").indexed


@pytest.mark.parametrize(
    ("options", "dropped_by", "says"),
    [
        ({"candidates": 1, "alpha": 0.0}, "search", "(1 sections each)"),
        ({"paths": "systems/*"}, "search", "Only sources that match 'systems/*' were searched."),
        ({"top_k": 1}, "select", "but was left out: beyond the first 1."),
        ({"context_tokens": 1}, "select", "do not fit the budget"),
    ],
)
def test_what_dropped_it(manual: EmbeddedStore, options: dict[str, Any], dropped_by: str, says: str) -> None:
    reason = ask(manual, "comms.md", "Radio", **options)
    assert (reason.indexed, reason.dropped_by, reason.final_rank) == (True, dropped_by, None)
    assert says in reason.explanation
    assert (set(reason.lists.values()) == {Place()}) is (dropped_by == "search")


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"candidates": 1, "alpha": 0.0}, "A sentence in it with the words “LN2” and “tank”"),
        ({"paths": "systems/*"}, "A wider choice of documents."),
        ({"top_k": 1}, "passages (top_k), or more tokens for them"),
        ({}, ""),
    ],
)
def test_what_would_have_brought_it(manual: EmbeddedStore, options: dict[str, Any], remedy: str) -> None:
    assert remedy in ask(manual, "comms.md", "Radio", **options).remedy


def test_a_table_of_contents_says_that_it_is_one(tmp_path: Path) -> None:
    links = "# Book\n\n" + "- [The LN2 tank](a.md)\n" * 5
    store = make_store(tmp_path, {"SUMMARY.md": links, "a.md": "# Tank\n\nThe LN2 tank is cold.\n"})
    reason = ask(store, "SUMMARY.md", "Book")
    assert (reason.dropped_by, reason.explanation) == (CONTENTS, IS_CONTENTS)


def test_found_only_by_lists_without_weight(manual: EmbeddedStore) -> None:
    # Both sections have a sentence with the word, only one is the best section.
    asked = {"question": "ground", "candidates": 1, "alpha": 0.0, "bm25_section_share": 1.0}
    reasons = [
        ask(manual, "comms.md", "Radio", **asked),  # type: ignore[arg-type]
        ask(manual, "systems/ecs.md", "LN2 tank", **asked),  # type: ignore[arg-type]
    ]
    assert sorted(reason.dropped_by for reason in reasons) == ["", "fuse"]
    (dropped,) = [reason for reason in reasons if reason.dropped_by]
    assert dropped.explanation == "It was found only by lists whose weight is 0."
    assert dropped.fused == Place()
    assert dropped.lists["bm25_sentences"].rank is not None


def test_too_far_down_to_be_fetched(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"fans.md": FANS})
    retrieval = make_search(store, top_k=3).search("fan", ranks=None)
    ranking = [item.id for item in the_step(retrieval, FuseStep).ranking]
    for place, heading in ((40, "merge"), (21, "merge"), (20, "select"), (4, "select"), (3, "")):
        section = store.sections.get_many([ranking[place - 1]])[ranking[place - 1]]
        reason = why(
            retrieval, sections=store.sections, source="fans.md", heading=section.metadata["heading_path"][-1]
        )
        assert reason.dropped_by == heading, place
        assert f"place {place}" in reason.explanation
        assert reason.fused.rank == place
    store.close()


def test_the_reranker_pushed_it_out(manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.finding.reranking.SURE", 2.0)  # so that it has all of its weight
    cross_encoder = FakeCrossEncoder(lambda text: -9.0 if "LN2" in text else 9.0)
    reason = ask(
        manual, "systems/ecs.md", "LN2 tank", cross_encoder=cross_encoder, rerank_weight=1.0, top_k=1
    )
    assert reason.fused.rank == 1
    assert (reason.reranked.rank or 0) > 1
    assert reason.dropped_by == "rerank"
    assert reason.explanation == (
        f"It was in place 1 of the fusion, but in place {reason.reranked.rank} after reranking: "
        "beyond the first 1."
    )


def test_the_text_before_the_first_heading_can_be_asked_for(manual: EmbeddedStore) -> None:
    reason = ask(manual, "systems/power.md", "", question="Batteries through the night")
    assert (reason.heading_path, reason.dropped_by) == ((), "")


# -- of a stored answer ---------------------------------------------------------------------------------


def test_the_rank_of_a_stored_answer_is_computed_again_beyond_what_its_steps_kept(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"fans.md": FANS})
    search = make_search(store, hyde=True, hypothesize=lambda *_: Hypothesis("Fan 7 hums."))
    found = search.search("fan")
    answer = Answer("And that?", "fan", "", "quote", "", abstained=False, steps=found.steps)
    whole = [item.id for item in the_step(search.search("fan", ranks=None), FuseStep).ranking]
    last = store.sections.get_many([whole[39]])[whole[39]].metadata["heading_path"][-1]
    again = make_search(store, hyde=True)  # no model is there any more
    reason = why_answered(answer, hybrid_search=again, options=again.options, source="fans.md", heading=last)
    assert reason.fused.rank == 40
    assert CHANGED not in reason.explanation
    store.close()


def test_an_index_that_has_changed_since_the_answer_is_said(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"fans.md": FANS})
    search = make_search(store)
    answer = Answer("fan", "fan", "", "quote", "", abstained=False, steps=search.search("fan").steps)
    store.close()
    store = make_store(tmp_path / "new", {"fans.md": FANS, "more.md": "# Fan\n\nFan fan fan.\n"})
    search = make_search(store)
    for source, heading in (("more.md", "Fan"), ("gone.md", "Fan")):
        reason = why_answered(
            answer, hybrid_search=search, options=search.options, source=source, heading=heading
        )
        assert reason.explanation.endswith(CHANGED)
    store.close()


def test_a_section_that_a_parent_stands_for(manual: EmbeddedStore) -> None:
    reason = ask(manual, "systems/ecs.md", "Cabin fan", merge_up=True)
    assert reason.final_rank == 1
    assert reason.explanation == "It was selected, in place 1, as a part of 'ECS'."
