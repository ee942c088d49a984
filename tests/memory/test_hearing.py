"""Corrections: which messages are, of what, and what holds then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memory.reading.statements import statements_in
from memory.user_memory import UserMemory
from pipeline.stores.embedded.conversations import EmbeddedConversations
from tests.memory.conftest import turn_of, with_preset
from tests.memory.fake_memories import FakeModel
from tests.memory.tables import rows, strangers
from tests.memory.talks import Talk


def test_a_correction_of_what_was_asked_to_be_remembered_needs_no_second_request(talk: Talk) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    answer = talk.chat().answer("Actually, my callsign is Tango.")
    talk.finish()
    assert answer.mode == "memory"
    assert [item.object for item in talk.memory.list()] == ["Tango"]
    assert talk.chat().answer("Actually, my callsign is Tango.").text.startswith("Known already")


def test_a_correction_without_a_subject_is_of_the_turn_before(talk: Talk) -> None:
    chat = talk.chat()
    chat.answer("remember that my callsign is Foxtrot")
    assert chat.answer("No, it's Tango.").mode == "memory"
    assert chat.answer("what do you know about me?").recalled
    assert chat.answer("Sorry, it is Sierra.").mode == "memory"
    assert [item.object for item in talk.memory.list()] == ["Sierra"]
    chat.answer("What feeds the cabin fan?")
    assert chat.answer("No, it's the starboard fan.").mode == "quote"
    assert talk.chat().answer("Actually, it is the other bus.").mode == "quote"
    talk.finish()
    assert [item.object for item in talk.memory.list()] == ["Sierra"]


@pytest.mark.parametrize(("kind", "before", "message", "now"), rows("corrections.tsv", cells=4))
def test_what_a_message_corrects(talk: Talk, kind: str, before: str, message: str, now: str) -> None:
    """Each row: the kind; what is said before; the message; what is remembered then, by alphabet.

    "elsewhere": it was said in another conversation. "asks too": the documents are asked as well.
    """
    chat = talk.chat()
    for said in before.split(" | "):
        assert chat.answer(said).mode == "memory"
    answer = (talk.chat() if kind == "elsewhere" else chat).answer(message)
    assert kind != "corrects" or answer.mode == "memory"
    assert kind != "asks too" or answer.recalled == ()  # not what it says is wrong
    talk.finish()
    assert " | ".join(talk.texts()) == now


@pytest.mark.parametrize("message", ["remember when we met in May", "remember it all", "remember me to Bea"])
def test_what_asks_for_nothing_to_be_kept_keeps_nothing(talk: Talk, message: str) -> None:
    assert talk.chat().answer(message).mode != "memory"
    talk.finish()
    assert talk.texts() == []


def test_a_question_about_ones_thing_is_one_to_documents_where_the_memory_is_off(talk: Talk) -> None:
    talk.chat().answer("remember that my bunk is nr 4")
    assert talk.chat().answer("what is my bunk number").mode == "memory"
    assert talk.chat(preset="none").answer("what is my bunk number").mode != "memory"


def test_what_was_corrected_can_be_said_again(talk: Talk) -> None:
    chat = talk.chat()
    for text in ("I moved to Bergen in March", "I live in Oslo", "I moved to Bergen in March"):
        chat.answer(f"remember that {text}")
    assert talk.texts() == ["I moved to Bergen in March"]


def test_a_correction_that_may_mean_two_values_is_a_dispute(talk: Talk) -> None:
    for text in ("my dog is brown", "my dog is old", "my dog is 7 kg"):
        talk.chat().answer(f"remember that {text}")
    talk.chat().answer("sorry, my dog is 8 kg")
    assert talk.texts() == ["my dog is 8 kg", "my dog is brown", "my dog is old"]
    assert "both are kept until you say" in talk.chat().answer("sorry, my dog is black").text


def test_another_number_of_the_same_is_disputed(talk: Talk) -> None:
    chat = talk.chat()
    for text in ("my bunk is number 4", "my bunk is wet", "my bunk is 2 m long"):
        chat.answer(f"remember that {text}")
    answer = chat.answer("remember that my bunk is number 6")
    assert "both are kept until you say which is right" in answer.text
    assert {item.text for item in talk.memory.list() if item.disputed} == {
        "my bunk is number 4",
        "my bunk is number 6",
    }


@pytest.mark.parametrize(
    "message",
    ["Actually my bunk is number 6.", "No, my bunk is number 4.", "Sorry, my bunk is number 8."],
)
def test_a_correction_decides_a_dispute(talk: Talk, message: str) -> None:
    chat = talk.chat()
    for number in (4, 6):
        chat.answer(f"remember that my bunk is number {number}")
    assert "Instead of" in chat.answer(message).text
    (kept,) = talk.memory.list()
    assert kept.text in message
    assert not kept.disputed


def test_the_conversation_before_a_correction_is_read_once(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = talk.chat()
    chat.answer("my bunk is nr 4, rember that")
    read: list[str] = []
    get = EmbeddedConversations.get

    def counted(conversations: EmbeddedConversations, conversation_id: str) -> Any:
        read.append(conversation_id)
        return get(conversations, conversation_id)

    monkeypatch.setattr(EmbeddedConversations, "get", counted)
    assert chat.answer("no, 6").mode == "memory"
    talk.finish()
    assert len(read) == 1


def test_a_correction_is_confirmed_where_statements_are_kept_unasked(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("my bunk is nr 4, rember that")
    assert chat.answer("sory my bunk is nr 6").mode == "memory"
    assert chat.answer("I live in Bonn.").mode != "memory"
    talk.finish()
    assert chat.answer("I live in Graz.").mode != "memory"
    talk.finish()
    assert [text for text in talk.texts() if "—" not in text] == ["I live in Graz", "my bunk is nr 6"]


def test_a_correction_says_by_itself_what_it_corrects(talk: Talk) -> None:
    chat = talk.chat()
    chat.answer("remember that the staging server is on port 8443")
    chat.answer("actually it is on port 9443")
    talk.finish()
    (kept,) = talk.memory.list()
    assert kept.text == "the staging server is on port 9443"
    assert kept.sources[0].quote == "it is on port 9443"


def test_a_message_is_cut_into_statements_once(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    cut: list[str] = []

    def counted(message: str, **given: Any) -> Any:
        cut.append(message)
        return statements_in(message, **given)

    monkeypatch.setattr("memory.deciding.remember.statements_in", counted)
    for preset, message, mode in (
        ("inject", "Tell me what feeds the cabin fan.", "quote"),
        ("inject", "Actually, my callsign is Tango.", "memory"),
        ("agent", "I live in Bonn. What feeds the cabin fan?", "quote"),
    ):
        assert talk.chat(preset=preset).answer(message).mode == mode
        talk.finish()
        assert len(cut) == 1
        cut.clear()
    assert "I live in Bonn" in talk.texts()


def test_a_message_is_read_again_where_the_memory_has_changed_since(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("my daughter Mia is 6")  # and it is not remembered yet
    chat.answer("my daughter turned 7 yesterday")
    talk.finish()
    assert talk.texts() == ["my daughter turned 7 yesterday"]


def test_a_model_never_sees_a_secret_and_no_secret_is_kept(mine: UserMemory) -> None:
    row = '{"quote": "my password is hunter2", "predicate": "password", "object": "hunter2"}'
    model = FakeModel(f'{{"statements": [{row}]}}')
    mine = replace(with_preset(mine, "agent"), find_model=lambda: model)
    step = mine.remembering.keep(mine.remembering.hear("I like tea and my password is hunter2"))
    assert "hunter2" not in model.prompts[0]
    assert (step.data["added"], step.data["secrets"], step.data["by"]) == ([], ["password"], "model")


def test_the_rules_read_what_a_model_reads_to_no_use(mine: UserMemory) -> None:
    mine = replace(with_preset(mine, "agent"), find_model=lambda: FakeModel("no idea"))
    step = mine.remembering.keep(mine.remembering.hear("I live in Bonn"))
    assert (len(step.data["added"]), step.data["by"]) == (1, "rules")


def test_the_same_message_is_read_anew_in_the_next_turn(talk: Talk) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    chat = talk.chat()
    assert chat.answer("My callsign is Tango.").mode == "memory"
    assert chat.answer("My callsign is Tango.").mode != "memory"


def test_a_question_to_documents_that_begins_like_a_correction_is_none(mine: UserMemory) -> None:
    """Right after what was remembered, and whatever is remembered."""
    for text in (
        "the hatch is open",
        "the pump is loud",
        "the tank is full",
        "my bunk is nr 4",
        "my name is Zoe",
    ):
        (known,) = mine.add(text).data["added"]
    zoe = turn_of("My name is Zoe?", turn_id="turn", mode="memory", recalled=(known,))
    for talk in ((), (zoe,)):
        for question in strangers("manuals"):
            for begin in ("", "sorry ", "no, ", "sory i meant "):
                message = begin + question.replace("?", "")
                assert not mine.remembering.hear(message, talk=talk).corrects, message


def test_which_shift_one_is_on_is_told_where_it_is_remembered(talk: Talk) -> None:
    chat = talk.chat()
    assert chat.answer("Which shift am I on?").mode != "memory"
    chat.answer("remember that I am on shift B")
    assert chat.answer("Which shift am I on?").mode == "memory"
