"""The chatting recipe: what it yields, what it stores, and every way in which it can end."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from pipeline.answer import Answer, Role
from pipeline.answering import replies
from pipeline.answering.prompts import ASK
from pipeline.answering.turns import NOT_STORED
from pipeline.answering.writing import MAY_NOT_ANSWER
from pipeline.errors import AthenaError, StoreError, UnknownConversation
from pipeline.retrieve import RetrievalOptions
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    SentencesCited,
    SourcesFound,
    StepStarted,
    ThoughtArrived,
    TokenArrived,
)
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from tests.fake_llm import FakeLLM, PiecesModel
from tests.pipeline.chat_runs import CONNECT, PERSONA, NewChat, failing, steps_of, stop_after
from tests.pipeline.searching import FILES, RETRIEVING, make_search, the_step

ROLES: tuple[Role, ...] = ("user", "assistant")
QUESTION = "At how many rpm does the cabin fan hum?"
QUERY = f'{{"queries": ["{QUESTION}"]}}'
REPLY = "The fan hums at 4000 rpm [1]. A broken fan shows OFFLINE [1]."
CITED = "The fan hums at 4000 rpm [1]. A broken fan shows OFFLINE [2]."
LONG = "It hums at 4000 rpm [1]. " + " ".join(map(str, range(300)))


def assert_exact(answer: Answer) -> None:
    """Every citation is the span that it says, in the section that it says."""
    for citation in answer.citations:
        text = FILES[citation.source]
        assert text[citation.start : citation.end] == citation.quote
        assert text[citation.section_start :].startswith(citation.section_text)
        assert text.count("\n", 0, citation.start) + 1 == citation.start_line
        assert text.count("\n", 0, citation.end) + 1 == citation.end_line
        folded = any(unit.folded for unit in answer.units if unit.marker == citation.marker)
        assert folded or f"[{citation.marker}]" in answer.text
        assert len(citation.file_hash) == 64


# -- without a language model ---------------------------------------------------------------------------


def test_quotes_are_exact_and_say_that_no_model_is_connected(new_chat: NewChat) -> None:
    chat = new_chat()
    answer = chat.answer(QUESTION)
    assert (answer.mode, answer.model, answer.status, answer.abstained) == ("quote", "", "complete", False)
    assert_exact(answer)
    assert any("4000 rpm" in citation.quote for citation in answer.citations)
    assert "> " in answer.text
    assert "**ECS › Cabin fan**" in answer.text
    (notice,) = answer.notices
    assert "No language model" in notice
    assert CONNECT in notice


def test_a_new_topic_is_not_searched_for_with_the_old_one(new_chat: NewChat) -> None:
    chat = new_chat()
    chat.answer("W-103, the LN2 tank shows OFFLINE")
    answer = chat.answer("What are batteries?")
    assert answer.condensed_question == "What are batteries?"
    assert answer.citations[0].quote.startswith("Batteries carry the ship")
    assert "LN2" not in answer.citations[0].quote


def test_the_events_of_a_run_without_a_model(new_chat: NewChat) -> None:
    chat = new_chat()
    events = chat.ask(QUESTION)
    assert [step.name for step in steps_of(events)] == [*RETRIEVING, "quote"]
    started = [event.name for event in events if isinstance(event, StepStarted)]
    assert started == [*RETRIEVING, "quote"]
    kinds = [type(event) for event in events]
    assert kinds.count(SourcesFound) == 1
    assert kinds[-1] is AnswerFinished
    assert TokenArrived not in kinds
    assert all(event.text for event in events if isinstance(event, StepStarted))
    assert isinstance(events[-1], AnswerFinished)
    assert list(events[-1].answer.steps) == steps_of(events)


# -- not in the documents -------------------------------------------------------------------------------


def test_abstaining_says_what_was_looked_for(new_chat: NewChat) -> None:
    chat = new_chat()
    answer = chat.answer("Who painted the Mona Lisa portrait?")
    assert answer.abstained
    assert "Who painted the Mona Lisa portrait?" in answer.text
    assert answer.citations == answer.nearest == ()  # nothing has to do with it
    assert (answer.mode, answer.status) == ("quote", "complete")
    assert chat.turns[0].answer.abstained


def test_abstaining_shows_sections_that_are_near(new_chat: NewChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "NEAR", 0.0)
    answer = new_chat().answer("Who painted the Mona Lisa portrait?")
    assert answer.abstained and answer.nearest
    for citation in answer.nearest:
        assert FILES[citation.source][citation.start : citation.end] == citation.quote


def test_with_a_model_the_verdict_only_warns(new_chat: NewChat) -> None:
    llm = FakeLLM(["The documents do not name the painter."])
    answer = new_chat(llm=llm).answer("Who painted the Mona Lisa portrait?")
    assert (answer.mode, answer.abstained, answer.verdict) == ("generate", False, "not in the documents")
    assert "say nothing" in llm.prompts[0]
    assert MAY_NOT_ANSWER in answer.notices


def test_an_answer_of_which_most_is_in_no_source_is_warned_of(new_chat: NewChat) -> None:
    known = "The fan hums at 4000 rpm."
    invented = "Bananas grow in warm countries. Camels rarely drink coffee."
    for text, verdict in ((f"{known} Bananas are a fruit.", "answered"), (f"{known} {invented}", "closest")):
        answer = new_chat(llm=FakeLLM([text])).answer("The LN2 tank shows OFFLINE, what do I check?")
        assert (answer.verdict, MAY_NOT_ANSWER in answer.notices) == (verdict, verdict == "closest")


@pytest.mark.parametrize(
    "message",
    ["How do I get started?", "help", "give me an example", "No route to host", "Why does `a; b` hum?"],
)
@pytest.mark.parametrize("with_model", [False, True])
def test_no_message_but_a_greeting_is_answered_without_a_search(
    new_chat: NewChat, message: str, with_model: bool
) -> None:
    events = new_chat(llm=FakeLLM(["The fan hums."]) if with_model else None).ask(message)
    assert [step.name for step in steps_of(events)].count("search") == 1
    assert isinstance(events[-1], AnswerFinished)
    assert events[-1].answer.mode != "reply"


# -- with a language model ------------------------------------------------------------------------------


def test_a_generated_answer_is_streamed_cited_and_checked(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([REPLY]))
    events = chat.ask(QUESTION)
    assert [step.name for step in steps_of(events)] == [*RETRIEVING, "prompt", "generate", "verify"]
    assert "".join(event.text for event in events if isinstance(event, TokenArrived)) == REPLY
    assert isinstance(events[-1], AnswerFinished)
    answer = events[-1].answer
    assert (answer.mode, answer.model, answer.status) == ("generate", "fake-llm", "complete")
    assert_exact(answer)
    assert [citation.quote for citation in answer.citations] == [
        "It hums at 4000 rpm.", "A broken fan shows OFFLINE."
    ]  # fmt: skip
    assert answer.text == CITED
    assert [support.markers for support in answer.support] == [(1,), (2,)]
    assert answer.notices == ()
    assert chat.turns[0].answer.text == answer.text


def test_sentences_are_cited_while_the_answer_arrives(new_chat: NewChat) -> None:
    events = new_chat(llm=FakeLLM(["The fan hums at 4000 rpm. A broken fan shows OFFLINE."])).ask(QUESTION)
    cited = [event for event in events if isinstance(event, SentencesCited)]
    assert [event.text.strip() for event in cited] == ["The fan hums at 4000 rpm [1]."]
    assert cited[0].pending.startswith("A")
    assert isinstance(events[-1], AnswerFinished)
    assert events[-1].answer.citations[:1] == cited[0].citations


@pytest.mark.parametrize(("reason", "checked"), [("stop", 2), ("length", 1)])
def test_an_answer_that_was_cut_off_is_said_and_its_last_sentence_is_not_checked(
    new_chat: NewChat, reason: str, checked: int
) -> None:
    llm = PiecesModel(["The cabin fan hums at 4000 rpm [1]. Bananas are yellow all"], reason)
    answer = new_chat(llm=llm).answer(QUESTION)
    assert len(answer.support) == checked
    assert any("ATHENA_MAX_ANSWER_TOKENS" in notice for notice in answer.notices) is (reason == "length")


def test_the_prompt_is_header_rules_sources_history_and_message(new_chat: NewChat) -> None:
    llm = FakeLLM([REPLY, QUERY, REPLY])
    chat = new_chat(llm=llm)
    first = chat.answer(QUESTION)
    chat.answer(QUESTION)
    system, earlier, reply, message = llm.messages[-1]
    assert [m.role.value for m in llm.messages[-1]] == ["system", "user", "assistant", "user"]
    assert (system.content or "").startswith(f"{PERSONA.system_header}\n\n{PERSONA.tone}\n\nRules:")
    assert "systems/ecs.md" not in (system.content or "")
    asked = str(llm.messages[-1][-1].content)
    assert re.search(r"^<source 1 \w{8}>\nsystems/ecs\.md > ECS > Cabin fan\n", asked, re.MULTILINE)
    assert earlier.content == QUESTION
    assert str(message.content).endswith(f"Question: {QUESTION}\n\n{ASK}")
    assert reply.content == "The fan hums at 4000 rpm. A broken fan shows OFFLINE.", "without markers"
    assert the_step(first, "prompt").data["tokens"] > 0


def test_every_selected_passage_stands_in_the_prompt(new_chat: NewChat) -> None:
    events = new_chat(llm=FakeLLM([REPLY]), options=RetrievalOptions(context_tokens=250)).ask(QUESTION)
    steps = {step.name: step.data for step in steps_of(events)}
    assert len(steps["select"]["selected"]) == steps["prompt"]["sources"] > 1


def test_an_answer_that_goes_round_in_circles_is_ended(new_chat: NewChat) -> None:
    circle = "The fan hums, so check the fan, and when it has been checked, check it again as you did now. "
    answer = new_chat(llm=FakeLLM([circle * 50])).answer(QUESTION)
    assert len(answer.text) < 6 * len(circle)
    assert len(answer.support) < 6, "its last sentence is not complete"
    assert any("repeat" in notice for notice in answer.notices)


def test_thoughts_are_no_part_of_the_answer(new_chat: NewChat) -> None:
    events = new_chat(llm=FakeLLM(["<think>Bananas are good.</think>It hums at 4000 rpm."])).ask(QUESTION)
    assert "".join(event.text for event in events if isinstance(event, ThoughtArrived)).startswith("Bananas")
    assert isinstance(events[-1], AnswerFinished)
    answer = events[-1].answer
    assert answer.text == "It hums at 4000 rpm [1]."
    assert "Bananas" in the_step(answer, "generate").data["thinking"]


def test_the_model_condenses_where_there_is_a_history(new_chat: NewChat) -> None:
    llm = FakeLLM([REPLY, '{"queries": ["Does the cabin fan show OFFLINE?"]}', REPLY])
    chat = new_chat(llm=llm)
    chat.answer(QUESTION)
    answer = chat.answer("does it show OFFLINE?")
    assert answer.condensed_question == "Does the cabin fan show OFFLINE?"
    assert the_step(answer, "condense").data["by"] == "model"
    assert f"User: {QUESTION}" in llm.prompts[1]


@pytest.mark.parametrize("reply", [RuntimeError("no"), "What now?"])
def test_where_rewriting_fails_the_message_is_searched_as_typed(new_chat: NewChat, reply: object) -> None:
    chat = new_chat(llm=FakeLLM([REPLY, reply, REPLY]))
    chat.answer(QUESTION)
    answer = chat.answer("does the fan show OFFLINE?")
    step = the_step(answer, "condense")
    assert (step.status, bool(step.detail)) == ("failed", True)
    assert answer.condensed_question == "does the fan show OFFLINE?"
    assert "as you typed" in "".join(answer.notices)


def test_a_message_that_asks_two_things_is_searched_for_twice(new_chat: NewChat) -> None:
    queries = '{"queries": ["At how many rpm does the cabin fan hum?", "Which antenna points at Earth?"]}'
    chat = new_chat(llm=FakeLLM([REPLY, queries, REPLY]))
    chat.answer(QUESTION)
    events = chat.ask("and the fan again; also the antenna?")
    (found,) = [event.retrieval for event in events if isinstance(event, SourcesFound)]
    first = {passage.section.metadata["source"] for passage in found.passages[:2]}
    assert first == {"systems/ecs.md", "comms.md"}


def test_with_hyde_the_first_message_is_searched_for_with_a_hypothesis(
    new_chat: NewChat, manual: EmbeddedStore
) -> None:
    written = '{"queries": ["cabin fan"], "hypothesis": "The antenna points at Earth."}'
    llm = FakeLLM([written, REPLY])
    answer = new_chat(llm=llm, options=make_search(manual, hyde=True).options).answer(QUESTION)
    assert the_step(answer, "embed").data["hypothesis"] == "The antenna points at Earth."
    assert (answer.condensed_question, len(llm.messages)) == ("cabin fan", 2)


# -- models that fail -----------------------------------------------------------------------------------


def test_a_model_that_fails_before_the_first_word_is_replaced_by_quotes(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([ConnectionError("the fake model went away")], repeat=True))
    answer = chat.answer(QUESTION)
    assert (answer.mode, answer.model, answer.status) == ("quote", "", "complete")
    assert_exact(answer)
    (notice,) = answer.notices
    assert "fake-llm" in notice
    assert "quotes from the" in notice
    assert the_step(answer, "generate").status == "failed"
    assert [turn.answer.mode for turn in chat.turns] == ["quote"]


def test_a_model_that_goes_away_in_mid_answer_leaves_what_there_was(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([REPLY, QUERY, REPLY], fails_after=8))
    failure = chat.failure(QUESTION)
    assert failure.partial.startswith("The fan hums at 4000 rpm")
    assert "fake-llm" in failure.error.problem
    assert failure.error.fix
    (turn,) = chat.turns
    assert turn.answer.status == "failed"
    assert turn.answer.text.startswith("The fan hums at 4000 rpm [1].")
    assert [citation.quote for citation in turn.answer.citations] == ["It hums at 4000 rpm."]
    assert_exact(turn.answer)
    assert failure.error.problem in turn.answer.notices[-1]
    assert failure.answer == turn.answer
    assert failure.answer and failure.answer.conversation_id == chat.recipe.conversation_id
    assert turn.answer.condensed_question == QUESTION
    assert [step.name for step in turn.answer.steps][:1] == ["correct"]


def test_a_store_that_fails_is_a_failed_turn_that_the_next_question_does_not_see(
    new_chat: NewChat, manual: EmbeddedStore
) -> None:
    broken = new_chat(hybrid_search=failing(manual, StoreError("Cannot read it.", "Mend it.")))
    failure = broken.failure("Why is it red?")
    assert (str(failure.error), failure.partial) == ("Cannot read it. Mend it.", "")
    (turn,) = broken.turns
    assert (turn.answer.status, turn.answer.text) == ("failed", "")
    assert turn.answer.notices == ("Cannot read it. Mend it.",)
    assert broken.recipe.history == []
    assert failure.answer == turn.answer
    again = new_chat(conversation_id=broken.recipe.conversation_id)
    assert again.recipe.history == []
    assert again.answer(QUESTION).condensed_question == QUESTION
    assert [turn.answer.status for turn in again.turns] == ["failed", "complete"]


def full(*_: object, **__: object) -> NoReturn:
    raise StoreError("Cannot write 'athena.sqlite': the disk is full.", "Free some space.")


@pytest.mark.parametrize("with_model", [False, True])
def test_an_answer_that_cannot_be_stored_is_shown_and_says_so(
    new_chat: NewChat, conversations: Conversations, monkeypatch: pytest.MonkeyPatch, with_model: bool
) -> None:
    heard: list[Answer] = []
    llm = FakeLLM(replies=["The fan hums at 4000 rpm [1].", "And so on [1]."] * 2) if with_model else None
    chat = new_chat(llm=llm, listeners=(lambda answer, _: heard.append(answer),))
    with monkeypatch.context() as during:
        during.setattr(conversations, "save_turn", full)
        answer = chat.answer(QUESTION)
    assert (answer.status, answer.turn_id, len(answer.citations) > 0) == ("complete", "", True)
    assert answer.notices[-1] == NOT_STORED.format(
        why="Cannot write 'athena.sqlite': the disk is full. Free some space."
    )
    assert chat.turns == () and [answer.turn_id for answer in heard] == [""]
    later = chat.answer("And the tank?")  # there is space again
    assert [turn.id for turn in chat.turns] == [later.turn_id]
    assert chat.recipe.history[0].text == QUESTION


def test_a_paste_is_searched_for_by_its_beginning_and_its_end(new_chat: NewChat) -> None:
    answer = new_chat().answer(f"{'A line of a log. ' * 200}{QUESTION}")
    assert answer.condensed_question.endswith(QUESTION)
    assert answer.citations


def test_a_message_that_is_too_long_is_refused_with_its_length(new_chat: NewChat) -> None:
    with pytest.raises(AthenaError, match="20,001 characters"):
        new_chat().ask("a" * 20_001)


def test_a_fault_of_ours_is_raised_in_the_callers_thread(new_chat: NewChat, manual: EmbeddedStore) -> None:
    chat = new_chat(hybrid_search=failing(manual, ValueError("a bug")))
    with pytest.raises(ValueError, match="a bug"):
        chat.ask(QUESTION)
    assert chat.recipe.history == []
    (turn,) = chat.turns
    assert turn.answer.status == "failed"
    assert "ended unexpectedly" in turn.answer.notices[-1]


# -- stopping -------------------------------------------------------------------------------------------


def test_a_stop_in_mid_answer_keeps_the_partial_text(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([LONG], pause_s=0.01))
    events = stop_after(chat.recipe, QUESTION, TokenArrived, count=8)
    assert isinstance(events[-1], AnswerFinished)
    answer = events[-1].answer
    assert answer.status == "stopped"
    assert all(support.supported for support in answer.support), "the last sentence is not finished"
    assert answer.text.startswith("It hums at 4000 rpm [1].")
    assert len(answer.text) < len(LONG) / 2
    assert_exact(answer)
    assert [turn.answer.status for turn in chat.turns] == ["stopped"]
    assert chat.turns[0].answer.text == answer.text


@pytest.mark.parametrize("interrupt", [False, True], ids=["closed", "Ctrl-C"])
def test_leaving_the_events_stops_the_run_and_keeps_what_there_was(
    new_chat: NewChat, interrupt: bool
) -> None:
    chat = new_chat(llm=FakeLLM([LONG], pause_s=0.01))
    events: Any = chat.recipe.run(QUESTION)
    assert next(event for event in events if isinstance(event, TokenArrived))
    with suppress(KeyboardInterrupt):
        events.throw(KeyboardInterrupt()) if interrupt else events.close()
    (turn,) = chat.turns
    assert turn.answer.status == "stopped"
    assert 0 < len(turn.answer.text) < len(LONG) / 2


def test_what_is_written_is_kept_meanwhile(new_chat: NewChat, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill leaves behind: the text so far, as stopped, and how it was found."""
    monkeypatch.setattr("pipeline.answering.writing.KEEP_EVERY_S", 0.05)
    chat = new_chat(llm=FakeLLM([LONG], pause_s=0.01))
    written, kept = "", ""
    for event in chat.recipe.run(QUESTION):
        if isinstance(event, TokenArrived):
            assert [(turn.question, turn.answer.status) for turn in chat.turns] == [(QUESTION, "stopped")]
            written += event.text
            if len(written) > len(LONG) / 2:
                kept = chat.turns[0].answer.text
                names = [step.name for step in chat.turns[0].answer.steps]
                assert names == [*RETRIEVING, "prompt"], "how it was found"
                break
    assert len(kept) > len(LONG) / 4
    assert LONG.startswith(kept)


@pytest.mark.parametrize(
    ("llm", "meanwhile"),
    [(FakeLLM([REPLY]), StepStarted), (FakeLLM([str([*range(12_000)])], pause_s=0.01), TokenArrived)],
)
def test_a_conversation_that_is_deleted_meanwhile_ends_the_answer(
    new_chat: NewChat,
    conversations: Conversations,
    monkeypatch: pytest.MonkeyPatch,
    llm: FakeLLM,
    meanwhile: type,
) -> None:
    monkeypatch.setattr("pipeline.answering.writing.KEEP_EVERY_S", 0.05)
    chat = new_chat(llm=llm)
    started = time.monotonic()
    events: list[ChatEvent] = []
    for event in chat.recipe.run(QUESTION):
        if isinstance(event, meanwhile) and getattr(event, "name", "generate") == "generate":
            for info in conversations.list():
                conversations.delete(info.id)
        events.append(event)
    assert isinstance(events[-1], RunFailed)
    assert "is stored" in events[-1].error.problem
    assert conversations.list() == []
    assert time.monotonic() - started < 30, "12,000 words take 120 s"


# -- conversations --------------------------------------------------------------------------------------


def test_a_stored_conversation_goes_on(new_chat: NewChat, conversations: Conversations) -> None:
    first = new_chat()
    first.answer("The LN2 tank shows OFFLINE, what do I check?")
    second = new_chat(conversation_id=first.recipe.conversation_id)
    answer = second.answer("and if that does not help?")
    assert "LN2 tank" in answer.condensed_question
    assert answer.question == "and if that does not help?"
    assert len(second.turns) == 2
    assert len(conversations.list()) == 1


def test_an_unknown_conversation_is_an_error_at_once(new_chat: NewChat) -> None:
    with pytest.raises(UnknownConversation, match="'no-such-id'"):
        new_chat(conversation_id="no-such-id")


def test_half_a_surrogate_pair_is_no_crash(new_chat: NewChat) -> None:
    chat = new_chat()
    assert chat.answer(f"{QUESTION} \udcff").status == "complete"
    assert chat.turns[0].question.startswith(QUESTION)


def test_a_scope_is_kept_with_its_conversation_and_used_by_the_next_question(
    new_chat: NewChat, conversations: Conversations
) -> None:
    first = new_chat(options=RetrievalOptions(paths=("comms.md", "systems/power.md")))
    first.answer("Which antenna points at Earth?")
    assert conversations.get(first.recipe.conversation_id).info.scope == ("comms.md", "systems/power.md")
    again = new_chat(conversation_id=first.recipe.conversation_id)
    events = again.ask("What does the cabin fan do?")
    (found,) = [event.retrieval for event in events if isinstance(event, SourcesFound)]
    assert {p.section.metadata["source"] for p in found.passages} <= {"comms.md", "systems/power.md"}
    assert again.turns[-1].answer.settings["paths"] == ["comms.md", "systems/power.md"]
    conversations.set_scope(first.recipe.conversation_id, ())
    whole = new_chat(conversation_id=first.recipe.conversation_id)
    assert whole.answer("What does the cabin fan do?").citations[0].source == "systems/ecs.md"


def test_a_question_in_the_place_of_another_sees_what_was_before_that(new_chat: NewChat) -> None:
    llm = FakeLLM(
        replies=["It is off [1].", QUERY, "Seven hours [1].", "It is still off [1].", "The dish [1]."]
    )
    chat = new_chat(llm=llm)
    chat.answer(QUESTION)
    later = chat.answer("How long does the crew sleep?")
    first = chat.turns[0].id
    again = chat.answer(QUESTION, instead_of=first)
    assert [turn.id for turn in chat.turns] == [first, later.turn_id] and again.turn_id == first
    assert [message.text for message in chat.recipe.history] == [QUESTION, "It is still off."]
    assert "Seven hours" not in llm.prompts[-1]
    assert "It is off" in chat.turns[0].versions[0].text
    edited = chat.answer("Which antenna points at Earth?", instead_of=first)
    assert [turn.id for turn in chat.turns] == [edited.turn_id]
    with pytest.raises(UnknownConversation):
        chat.ask(QUESTION, instead_of="none")
