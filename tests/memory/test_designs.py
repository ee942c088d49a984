"""The four designs as presets, sentence by sentence.

Agent memory with RAG, generative agents, simple memory, memary: each test names its design. Tested elsewhere:
the rates on the page (`tests/athena/test_usage.py`), Neo4j (`tests/pipeline/stores/test_neo4j.py`).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory import graph, upkeep
from memory.chat import AfterAnswers, RememberingChat
from memory.options import PRESETS, MemorySettings
from memory.recall import recallable, weighed, within
from memory.user_memory import UserMemory
from pipeline.answer import Message
from pipeline.answering.persona import Persona
from pipeline.answering.prompts import Budget, build_prompt
from pipeline.answering.recollection import Recalled, Recollection
from pipeline.errors import ModelError, ModelUnavailable
from pipeline.options import ChatOptions, PriceOptions
from pipeline.stores.memories import Memory
from pipeline.stores.private import PrivateConversations
from tests.contracts.memories import adding, memory
from tests.memory.conftest import DAY, Clock, reply, say, stated, with_model, with_preset
from tests.memory.fake_memories import FakeModel
from tests.memory.talks import Talk
from tests.pipeline.passages import make_passage


def add(mine: UserMemory, *memories: Memory) -> None:
    """Write memories as they are."""
    vectors = mine.indexes.embedded(memories)
    mine.indexes.change("local", lambda _: adding(*vectors))


BUDGET = Budget(prompt=2000, sources=500, history=500)


def fact(text: str, **given: object) -> Memory:
    return memory(text, user="local", **given)


def recalled(mine: UserMemory, message: str) -> Recollection:
    """Return what a chat recalls for a message."""
    chat = RememberingChat(mine, PrivateConversations(), AfterAnswers(), PriceOptions())
    return chat.recall(message, question=message)


# -- agent memory with RAG ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("thumb", "salience"), [(None, 0.6), (1, 0.7), (-1, 0.5)])
def test_agent_salience_moves_with_the_thumb(mine: UserMemory, thumb: int | None, salience: float) -> None:
    mine = with_preset(mine, "agent")
    say(mine, "What feeds the cabin fan?", turn_id="t", answer="Circuit C-105.")
    mine.rated("t", thumb)
    (kept,) = mine.list()
    assert (kept.kind, kept.importance) == ("qa", salience)
    assert kept.success is {1: True, -1: False, None: None}[thumb]


def test_agent_entities_have_attributes(mine: UserMemory) -> None:
    entity = {"name": "Karl", "type": "person", "attributes": {"job": "pilot"}}
    mine, _ = with_model(mine, reply(stated("Karl is a pilot"), entities=[entity]))
    say(mine, "My brother Karl is a pilot")
    found = mine.index.entity_named("Karl")
    assert found is not None
    assert graph.described(found) == "Karl (job: pilot)"


def test_agent_names_come_from_question_answer_and_the_beginning_of_the_passage(mine: UserMemory) -> None:
    passage = "Here is Ada. " + "word " * 120 + "Here is Zoe."
    say(with_preset(mine, "agent"), "Who is Ben Ray?", turn_id="t", answer="It is Cyd.", passage=passage)
    names = {item.name for item in mine.index.entities.values()}
    assert {"Ben Ray", "Cyd", "Ada"} <= names
    assert "Zoe" not in names


def test_agent_recalls_five_facts_of_salience_three_tenths_ten_entities_and_fifteen_relations(
    mine: UserMemory,
) -> None:
    agent = PRESETS["agent"]
    assert (agent.most, agent.least_importance, agent.entities, agent.relations) == (5, 0.3, 10, 15)
    add(mine, *(fact(f"pump {n} hums", importance=0.1 * n) for n in range(10)))
    found, _ = with_preset(mine, "agent").read("which pump hums")
    assert len(found) == 5
    assert all((item.memory.importance or 0) >= 0.3 for item in found)


def test_agent_recalls_at_most_fifteen_relations_and_ten_other_entities(mine: UserMemory) -> None:
    for number in range(30):
        mine.add(f"Ada knows C-{100 + number}.")
    found = recalled(with_preset(mine, "agent"), "Where is Ada?").graph
    assert [item.text.startswith("Ada knows") for item in found] == [True] * 15 + [False] * 10


def test_agent_memories_stand_after_the_history_and_before_the_documents() -> None:
    facts = (Recalled(id="m1", text="My bunk is B-2."),)
    names = (Recalled(id="e1", text="Karl (job: pilot)"),)
    known = Recollection(memories=facts, graph=names, left="They spoke about pumps.")
    history = [Message("user", "It hums."), Message("assistant", "I see.")]
    passage = make_passage("s1", text="The valve is red.", merged=True)
    prompt = build_prompt(Persona(), [passage], history, "Which?", budget=BUDGET, memory=known)
    text = "\n".join(message.text for message in prompt.messages)
    parts = ("I see.", "They spoke about pumps.", "job: pilot", "My bunk is B-2.", "valve is red", "Which?")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_agent_budget_is_counted_in_tokens_and_the_first_come_first() -> None:
    assert ChatOptions().history_tokens == 2_000  # its oldest leave first: test_prompts.py
    assert within(["one two three", "four five six"], tokens=4) == 1
    assert within(["one"] * 5, tokens=10) == 5
    assert within(["word " * 100, "one"], tokens=10) == 0


# -- generative agents -------------------------------------------------------------------------------------


def test_generative_importance_is_rated_by_the_model_when_it_is_inserted(mine: UserMemory) -> None:
    mine, model = with_model(mine, reply(stated("I hate onions", importance=9)), preset="generative")
    say(mine, "I hate onions")
    (kept,) = mine.list()
    assert (kept.kind, kept.importance) == ("observation", 0.9)
    assert "it matters" in kept.why
    assert len(model.prompts) == 1


def test_generative_nothing_enters_long_term_memory_but_through_short_term(mine: UserMemory) -> None:
    insight = '{"insight": "You live on board.", "question": ""}'
    mine = with_preset(mine, "generative")
    mine.add("My bunk is B-2.")
    mine, _ = with_model(mine, reply(stated("I hate onions")), insight, preset="generative")
    say(mine, "I hate onions")
    upkeep.reflect(mine)
    assert {item.kind for item in mine.list()} == {"fact", "observation", "reflection"}
    assert {item.tier for item in mine.list()} == {"short_term"}


def test_generative_the_oldest_move_on_by_themselves_where_the_size_is_reached(talk: Talk) -> None:
    assert "memory_stm_size" in MemorySettings.model_fields
    said = {"I hate raw onions": 9, "It hums at night": 1, "My bunk is narrow": 5, "Karl snores too loud": 5}
    model = FakeModel(*(reply(stated(text, importance=rating)) for text, rating in said.items()))
    options = talk.memory.options.but(memory_stm_size=2)
    talk.memory = replace(talk.memory, find_model=lambda: model, options=options)
    chat = talk.chat(preset="generative")
    for text in said:
        chat.answer(text)
    talk.finish()
    hated, _, *latest = said
    tiers = {item.text: item.tier for item in talk.memory.list()}
    assert tiers == {hated: "long_term"} | dict.fromkeys(latest, "short_term")
    assert len(talk.memory.list(history=True)) == 4


def test_generative_reflects_by_itself_after_ten_new_memories(mine: UserMemory) -> None:
    insight = '{"insight": "You look after pumps.", "question": "which pump hums"}'
    mine, model = with_model(mine, insight, "Pump 3 hums.", preset="generative")
    add(mine, *(fact(f"pump {n} hums", tier="short_term", importance=0.5) for n in range(10)))
    upkeep.tidy(mine)
    (made,) = [item for item in mine.list() if item.kind == "reflection"]
    assert made.text == "You look after pumps. which pump hums Pump 3 hums."
    assert len({source.memory_id for source in made.sources}) == 10
    upkeep.tidy(mine)  # nothing new
    assert len(model.prompts) == 2


def test_generative_the_least_important_are_summarised_where_long_term_memory_is_full(
    mine: UserMemory,
) -> None:
    mine, model = with_model(mine, "- Five pumps hum.\n- None of them matters.\nIndeed.", preset="generative")
    mine = replace(mine, options=mine.options.but(memory_ltm_size=6))
    add(mine, *(fact(f"pump {n} hums", importance=0.1 * n, created_at=float(n)) for n in range(9)))
    upkeep.tidy(mine)
    live = mine.list()
    (made,) = [item for item in live if item.kind == "summary"]
    assert made.importance == 0.2
    assert made.text == "Five pumps hum.\nNone of them matters."
    assert "pump 0 hums" in model.prompts[0]
    assert {item.text for item in live if item.kind == "fact"} == {f"pump {n} hums" for n in range(5, 9)}
    assert len(mine.list(history=True)) == 10


def test_generative_rate_takes_a_text() -> None:
    rated = upkeep.rate("The hull leaks.", complete=FakeModel('{"rating": 10, "explanation": "Vital."}'))
    assert rated == (10, "Vital.")
    assert upkeep.rate("The hull leaks.", complete=FakeModel("ten"))[0] == 5
    assert upkeep.rate("The hull leaks.", complete=None)[0] == 5


def test_generative_plan_takes_a_prompt_and_the_next_plan_takes_its_place(mine: UserMemory) -> None:
    goal = "Here it is:\n- 09:30 Water: fill the tank (galley)\n- 08:00 Air: open the valve"
    with pytest.raises(ModelUnavailable):
        upkeep.plan(mine, "Plan my morning.")
    mine, model = with_model(mine, goal, goal.replace("Water", "Food"), "none")
    add(mine, fact("The tank is empty."))
    (first,) = upkeep.plan(mine, "Plan my morning.")
    assert first.text == "08:00 Air: open the valve\n09:30 Water: fill the tank (galley)"
    assert "Plan my morning." in model.prompts[0]
    upkeep.plan(mine)
    assert ["Food" in item.text for item in mine.list() if item.kind == "plan"] == [True]
    with pytest.raises(ModelError):
        upkeep.plan(mine)


def test_generative_relevance_is_the_cosine_or_one_over_one_plus_the_distance(mine: UserMemory) -> None:
    given, options = fact("It hums.", importance=0.5, created_at=mine.clock()), mine.options

    def score(cosine: float) -> float:
        return weighed(given, cosine, options=options, now=mine.clock()).recalled.score - 0.25 - 0.25 * 0.5

    assert score(0.28) == pytest.approx(0.28)
    options = mine.options.but(memory_relevance="distance")
    assert score(0.28) == pytest.approx(1 / (1 + 1.2))


def test_generative_recency_falls_by_half_a_percent_an_hour(mine: UserMemory) -> None:
    given = fact("It hums.", importance=0.5, created_at=0.0)
    now, later = (weighed(given, 0.5, options=mine.options, now=at).recalled for at in (3_600.0, 36_000.0))
    assert now.recency == 1
    assert later.recency == pytest.approx(0.995**10)


def test_generative_short_term_is_read_before_long_term(mine: UserMemory) -> None:
    add(mine, fact("pump 1 hums", importance=1.0), fact("pump 2 hums", tier="short_term", importance=0.5))
    found, _ = with_preset(mine, "generative").read("pump hums")
    assert [item.memory.tier for item in found] == ["short_term", "long_term"]


# -- simple memory -----------------------------------------------------------------------------------------


def test_simple_at_most_two_above_the_threshold_are_slipped_in(mine: UserMemory) -> None:
    add(mine, *(fact(f"pump {n} hums", importance=0.5) for n in range(5)), fact("tea"))
    found, reading = mine.read("which pump hums")
    assert PRESETS["inject"].exchange
    assert len(found) == 2
    assert all(item.recalled.relevance >= mine.threshold for item in reading.found)
    assert mine.read("quantum chromodynamics")[0] == []


def test_simple_a_request_to_a_tool_recalls_nothing_and_words_about_tools_do(mine: UserMemory) -> None:
    mine.add("my cabin fan tools are in locker 4")
    none = recalled(mine, "/fan tools")
    assert none.memories == ()
    assert none.detail
    assert recalled(mine, "which cabin fan tools do I need").memories


def test_simple_they_are_slipped_in_without_words_of_the_assistant() -> None:
    known = Recollection(memories=(Recalled(id="m1", text="My bunk is B-2."),), exchange=True)
    prompt = build_prompt(Persona(), [], [], "Which?", budget=BUDGET, memory=known)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert prompt.messages[-1].text.startswith("Just so you know")


# -- memary ------------------------------------------------------------------------------------------------


def test_memary_entities_are_known_by_frequency_and_recency(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "graph")
    for turn, names in enumerate(("Ada knows Ben", "Ada knows Cyd", "Dan knows Cyd", "Dan knows Eva")):
        say(mine, names, turn_id=f"t{turn}")
        clock.at += 40 * DAY
    assert [item.name for item in graph.entity_knowledge(mine.index)[:3]] == ["Dan", "Cyd", "Ada"]


def test_memary_neighbourhoods_reach_two_steps_and_are_joined(mine: UserMemory) -> None:
    mine = with_preset(mine, "graph")
    for turn, text in enumerate(("Ada knows Ben", "Ben knows Cyd", "Cyd knows Dan", "Eva knows Fay")):
        say(mine, text, turn_id=f"t{turn}")
    index = mine.index
    ids = {item.name: item.id for item in index.entities.values()}
    around = graph.neighbourhood(index, [ids["Ada"], ids["Eva"]], depth=2)
    assert [item.name for item in around.entities] == ["Ada", "Eva", "Ben", "Fay", "Cyd"]
    assert len(around.relations) == 3


def test_memary_answers_are_written_back_with_their_relations(mine: UserMemory) -> None:
    say(with_preset(mine, "graph"), "Who knows Ben?", turn_id="t", answer="Ada knows Ben.")
    (relation,) = mine.index.relations.values()
    assert graph.sentence(mine.index, relation) == "Ada knows Ben"


def test_memary_what_leaves_the_window_is_summarised_by_the_model_in_fifty_words() -> None:
    said = [f"message {number} about the pump" for number in range(9)]
    model = FakeModel("word " * 80)
    assert len(upkeep.summary(said, complete=model).split()) == 50
    assert "message 0" in model.prompts[0]
    assert upkeep.summary(said, complete=None) == ""


def test_memary_themes_change_over_time(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "graph")
    began = clock.at
    say(mine, "Ada knows Ben", turn_id="t1")
    clock.at += 10 * DAY
    say(mine, "Ada knows Cyd", turn_id="t2")
    first, second = (
        [item.name for item in graph.entity_knowledge(mine.index, since=since, until=since + 2 * DAY)]
        for since in (began - DAY, began + 9 * DAY)
    )
    assert first == ["Ada", "Ben"]
    assert second == ["Ada", "Cyd"]


def test_all_presets_write_and_read_the_same_tables(mine: UserMemory) -> None:
    mine.add("My bunk is B-2.")
    for preset in PRESETS:
        assert [item.text for item in with_preset(mine, preset).list()] == ["My bunk is B-2."]
    assert recallable([], PRESETS["none"]) == []
