"""Faults that were found once, each with what must happen instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory import graph, upkeep
from memory.turn_index import Turn, TurnIndex
from memory.turn_search import CALIBRATIONS, UNCALIBRATED, look_up, probability_of, verdict_of
from memory.user_memory import UserMemory
from pipeline.stores.memories import MemorySource
from tests.contracts.memories import adding, applied, memory
from tests.fakes import spoken
from tests.memory.conftest import reply, say, stated, with_model, with_preset
from tests.memory.fake_memories import FakeEncoder


def test_what_is_my_name_is_answered_for_certain_once_it_was_asked_to_be_remembered(mine: UserMemory) -> None:
    mine.add("my name is Ann")
    mine.add("my sister paints the name of each ship")
    told = mine.told("What is my name?")
    assert told.verdict == "remembered"
    assert mine.list()[-1].id in told.told_ids


def test_a_request_to_remember_keeps_its_reason_and_importance(mine: UserMemory) -> None:
    mine, _ = with_model(mine, reply(stated("my bunk is B-2", importance=1)))
    mine.add("my bunk is B-2")
    (kept,) = mine.list()
    assert "You asked" in kept.why and kept.importance == 0.8


def test_the_neighbourhood_shows_no_relation_of_a_memory_that_ended(mine: UserMemory) -> None:
    kept = mine.add("Karl lives in Bergen.")
    karl = mine.index.entity_named("Karl")
    assert karl is not None
    assert len(graph.neighbourhood(mine.index, [karl.id]).relations) == 1
    mine.undo(kept.added[0])
    assert graph.neighbourhood(mine.index, [karl.id]).relations == ()


def test_another_embedding_model_claims_nothing_by_its_cosines() -> None:
    bundled = CALIBRATIONS["all-MiniLM-L6-v2"]
    assert verdict_of(probability_of(bundled, similarity=0.55), personal=True) == "remembered"
    assert verdict_of(probability_of(UNCALIBRATED, similarity=0.55), personal=True) == "not remembered"
    assert verdict_of(probability_of(UNCALIBRATED, coverage=1.0), personal=True) == "remembered"


def test_a_pinned_memory_is_neither_ended_nor_summarised(mine: UserMemory) -> None:
    mine, _ = with_model(mine, "Pumps hum.", preset="generative")
    mine = replace(mine, options=mine.options.but(memory_stm_size=1, memory_ltm_size=1))
    given = {"user": "local", "tier": "short_term"}
    rows = [memory(f"pump {n} hums", importance=0.1 * n, created_at=float(n), **given) for n in range(8)]
    mine.indexes.change("local", lambda _: adding(*mine.indexes.embedded(rows)))
    mine.pin(rows[0].id)
    upkeep.migrate(mine)
    upkeep.summarize_and_forget(mine)
    kept = {item.id for item in mine.list()}
    assert rows[0].id in kept
    assert rows[1].id not in kept


def index_of(*turns: Turn) -> TurnIndex:
    return TurnIndex(spoken(turns, embed=FakeEncoder().encode_passages))


def test_an_answer_of_the_assistant_is_found_only_where_one_asks_for_it() -> None:
    found = index_of(
        Turn(id="q", session="1", text="which valve feeds the tank?", at=1.0),
        Turn(id="a", session="1", text="Valve CB-4 feeds the tank.", role="assistant", at=1.0),
        Turn(id="m", session="2", text="the tank is half empty", at=2.0),
    )
    encoder = FakeEncoder()
    plain = look_up(found, "Which valve feeds the tank now?", encoder=encoder)
    assert "a" not in [item.turn.id for item in plain.found]
    asked = look_up(found, "Which valve did you say feeds the tank?", encoder=encoder)
    assert [item.turn.id for item in asked.found] == ["a"]
    said = look_up(found, "What did I say about the tank?", encoder=encoder)
    assert [item.turn.id for item in said.found] == ["m"]


@pytest.mark.parametrize("later", ["actually, the rotation changes on tuesday", "rotation: tuesday, changes"])
def test_what_was_put_right_later_comes_first_whatever_its_verb(later: str) -> None:
    found = index_of(
        Turn(id="old", session="1", text="the rotation changes on monday", at=1.0),
        Turn(id="other", session="1", text="the galley smells of onions", at=2.0),
        Turn(id="new", session="2", text=later, at=3.0),
    )
    hits = look_up(found, "when does the rotation change on monday", encoder=FakeEncoder())
    assert "new" in [item.turn.id for item in hits.later] or hits.found[0].turn.id == "new"
    assert "other" not in [item.turn.id for item in hits.later]


def test_a_short_correction_belongs_to_the_message_before() -> None:
    found = index_of(
        Turn(id="spot", session="1", text="parking spot is 38 lvl b", at=1.0),
        Turn(id="oops", session="1", text="oops 83", at=2.0),
    )
    hits = look_up(found, "which parking spot is mine", encoder=FakeEncoder())
    assert (hits.found[0].turn.id, hits.later[0].turn.id) == ("spot", "oops")


def test_a_question_and_its_answer_are_not_recalled_once_the_document_changed(mine: UserMemory) -> None:
    hashes = {"fan.md": "one"}
    mine = with_preset(mine, "agent")
    object.__setattr__(mine, "hashes", lambda: hashes)
    cited = (MemorySource(source="fan.md", quote="C-105", file_hash="one"),)
    say(mine, "What feeds the cabin fan?", turn_id="t", answer="Circuit C-105.", cited=cited)
    assert len(mine.read("What feeds the cabin fan?")[0]) == 1
    hashes["fan.md"] = "two"
    assert mine.read("What feeds the cabin fan?")[0] == []
    assert mine.told("What feeds the cabin fan?").told == ""


def test_a_vector_of_another_size_is_embedded_again(mine: UserMemory) -> None:
    stale = memory("It hums.", user="local", embedding=np.ones(3, "float32").tobytes(), embedded_by="other")
    applied(mine.indexes.memories, "local", adding(stale))
    assert mine.list()[0].embedded_by == "fake"
