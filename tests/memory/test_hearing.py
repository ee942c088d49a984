"""Corrections: which messages are, of what, and what holds then."""

from __future__ import annotations

from typing import Any

import pytest

from memory.extracting import statements_in
from memory.remember import TurnBefore
from memory.user_memory import UserMemory
from pipeline.stores.embedded.conversations import EmbeddedConversations
from tests.memory.strangers import strangers
from tests.memory.talks import FAN, Talk


def test_a_correction_of_what_was_asked_to_be_remembered_needs_no_second_request(talk: Talk) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    answer = talk.chat().answer("Actually, my callsign is Tango.")
    talk.finish()
    assert answer.mode == "memory"
    assert [item.object for item in talk.memory.list()] == ["Tango"]


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


@pytest.mark.parametrize(
    ("asked", "correction", "now"),
    [
        ("my bunk is nr 4, rember that", "sory my bunk is nr 6", "my bunk is nr 6"),
        ("my bunk is nr 4, rember that", "actualy my bunk number is 6", "my bunk number is 6"),
        ("my bunk is nr 4, rember that", "my bunk is nr 6 not 4", "my bunk is nr 6 not 4"),
        (
            "remember that the spare key is under the mat",
            "no, it's in the drawer",
            "the spare key is in the drawer",
        ),
        ("remember that crate 4 has spare filters", "oops, crate 4 has masks", "crate 4 has masks"),
        ("remember that the hatch is open", "sorry, the hatch is closed", "the hatch is closed"),
        ("remember that I like tea", "no, I like coffee", "I like coffee"),
        ("remember that my bunk is four", "sorry, my bunk is six", "my bunk is six"),
        ("remember that my suit is size L", "sorry, my suit is size 52", "my suit is size 52"),
    ],
)
def test_an_explicit_correction_replaces_what_has_any_attribute(
    talk: Talk, asked: str, correction: str, now: str
) -> None:
    chat = talk.chat()
    chat.answer(asked)
    assert chat.answer(correction).mode == "memory"
    assert talk.texts() == [now]
    assert chat.answer(correction).text.startswith("Known already")


@pytest.mark.parametrize("message", ["no, 6", "sry 6", "i ment nr 6", "nope bunk nr 6", "actualy its nr 6"])
def test_a_bare_value_corrects_the_turn_before(talk: Talk, message: str) -> None:
    chat = talk.chat()
    chat.answer("my bunk is nr 4, rember that")
    assert chat.answer(message).mode == "memory"
    assert talk.texts() == ["my bunk is nr 6"]


@pytest.mark.parametrize(
    ("asked", "correction", "now"),
    [
        ("remember my shift is 2 to 10", "actually 4 to 12", "my shift is 4 to 12"),
        ("remember my son is 4", "sorry hes 5", "my son is 5"),
        ("remember my seat is 3a", "sorry, seat 3b", "my seat is 3b"),
        ("remember the medkit is behind panel 4", "wait, panel 6 sorry", "the medkit is behind panel 6"),
        (
            "remember my pills are in the left pocket",
            "no the right pocket",
            "my pills are in the right pocket",
        ),
        ("remember bay light off", "actually light on", "bay light on"),
        (
            "remember tank 1 is empty and tank 2 is full",
            "sorry tank 1 is full",
            "tank 1 is full and tank 2 is full",
        ),
        ("remember i have two cats", "sorry three cats", "i have three cats"),
        ("remember my flight is on friday", "no, thursday", "my flight is on thursday"),
        ("my callsign is foxtrot remember", "sry, tango", "my callsign is tango"),
        ("my callsign is foxtrot remember", "no not foxtrot, tango", "my callsign is tango"),
        ("im allergic to penicillin pls remember", "no sry its amoxicillin", "im allergic to amoxicillin"),
        ("remember that I am on shift B", "actually shift C", "I am on shift C"),
        ("remember that I am on shift B", "no, I'm on the night shift", "I'm on the night shift"),
        ("my dog is called rex, rember it", "my dog is called max", "my dog is called max"),
        (
            "remember we keep the spare keys under the table",
            "actually the spare keys are in the blue box",
            "the spare keys are in the blue box",
        ),
    ],
)
def test_hurried_corrections_say_by_themselves_what_holds(
    talk: Talk, asked: str, correction: str, now: str
) -> None:
    chat = talk.chat()
    assert chat.answer(asked).mode == "memory"
    assert chat.answer(correction).mode == "memory"
    assert talk.texts() == [now]


@pytest.mark.parametrize("message", ["no thanks", "sorry, nevermind", "no way", "sorry what", "no idea"])
def test_a_word_of_courtesy_is_no_name(talk: Talk, message: str) -> None:
    chat = talk.chat()
    chat.answer("my callsign is foxtrot remember")
    assert chat.answer(message).mode != "memory"
    assert talk.texts() == ["my callsign is foxtrot"]


@pytest.mark.parametrize(
    ("message", "now"), [("no, Bea", "Bea"), ("wait, fire", "Ana"), ("no, MALFUNC", "Ana")]
)
def test_a_bare_name_is_written_as_the_one_before(talk: Talk, message: str, now: str) -> None:
    chat = talk.chat()
    chat.answer("remember that my name is Ana")
    chat.answer(message)
    assert talk.texts() == [f"my name is {now}"]


@pytest.mark.parametrize(
    "message",
    ["I no longer work with Bea", "I used to work with Bea", "Actually I don't work with Bea any more."],
)
def test_what_is_no_longer_so_is_over(talk: Talk, message: str) -> None:
    chat = talk.chat()
    chat.answer("remember that I work with Bea")
    assert chat.answer(message).mode == "memory"
    assert talk.texts() == []


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


@pytest.mark.parametrize(
    "message",
    [
        "sorry, my locker is nr 6",
        "actually my bunk is noisy, what can I do",
        "sorry my bunk is where",
        "sorry my bunk is nr 4 or nr 6",
        "actually my bunk is nr 6 isnt it",
        "wait, my bunk is on fire",
        "sorry, my bunk is wet",
        "no, the cabin fan is loud",
        "sorry, crate 5 holds masks and what is in crate 6",
        "actually I like coffee",
    ],
)
def test_what_is_remembered_of_another_matter_is_no_correction(talk: Talk, message: str) -> None:
    talk.chat().answer("remember that my bunk is nr 4")
    talk.chat().answer("remember that I like tea")
    assert talk.chat().answer(message).mode != "memory"
    talk.finish()
    assert talk.texts() == ["I like tea", "my bunk is nr 4"]


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
    assert "is history now" in chat.answer(message).text
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


@pytest.mark.parametrize("message", ["my callsign is Tango?", "my dog is called Rex", FAN])
def test_what_corrects_nothing_is_not_kept(talk: Talk, message: str) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    assert talk.chat().answer(message).mode != "memory"
    talk.finish()
    assert [item.object for item in talk.memory.list()] == ["Foxtrot"]


def test_a_message_is_cut_into_statements_once(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.chat().answer("remember that my callsign is Foxtrot")
    cut: list[str] = []

    def counted(message: str, **given: Any) -> Any:
        cut.append(message)
        return statements_in(message, **given)

    monkeypatch.setattr("memory.remember.statements_in", counted)
    answer = talk.chat().answer("Tell me what feeds the cabin fan.")
    assert answer.mode == "quote"
    assert len(cut) == 1
    cut.clear()
    assert talk.chat().answer("Actually, my callsign is Tango.").mode == "memory"
    assert len(cut) == 1


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
        (known,) = mine.add(text).added
    for before in (TurnBefore(), TurnBefore("turn", (known,))):
        remembering = mine.remembering.after(lambda before=before: before)
        for question in strangers("manuals"):
            for begin in ("", "sorry ", "no, ", "sory i meant "):
                assert not remembering.heard(begin + question.replace("?", "")).corrects, begin + question


@pytest.mark.parametrize(
    ("asked", "message", "now"),
    [
        ("I live in Oslo", "I moved to Bergen, how do i reset the cabin fan", "I moved to Bergen"),
        ("my bunk is nr 4", "Actually my bunk is nr 6. What feeds the cabin fan?", "my bunk is nr 6"),
        ("my bunk is nr 4", "Actually my bunk is nr 6, what feeds the cabin fan?", "my bunk is nr 6"),
        (
            "I live in Oslo",
            "I have two cats and I moved to Bergen. What feeds the cabin fan?",
            "I moved to Bergen",
        ),
        (
            "the spare key is under the mat",
            "Actually the spare key is in the drawer. How do I reset the cabin fan?",
            "the spare key is in the drawer",
        ),
    ],
)
def test_a_correction_with_a_question_is_kept_and_asked_of_the_documents(
    talk: Talk, asked: str, message: str, now: str
) -> None:
    chat = talk.chat()
    chat.answer(f"remember that {asked}")
    answer = chat.answer(message)
    assert answer.mode != "memory"
    assert answer.recalled == ()  # not what it says is wrong
    talk.finish()
    assert talk.texts() == [now]


@pytest.mark.parametrize(
    "message",
    [
        "my bunk is nr 6, isn't it?",
        "my bunk is nr 6, is that right?",
        "is my bunk nr 6, or what is it then?",
        "if my bunk is nr 6, what feeds the cabin fan?",
        "I wonder whether my bunk is nr 6, and how do I find out?",
    ],
)
def test_what_asks_whether_it_is_so_corrects_nothing(talk: Talk, message: str) -> None:
    chat = talk.chat()
    chat.answer("remember that my bunk is nr 4")
    assert chat.answer(message).mode != "memory"
    talk.finish()
    assert talk.texts() == ["my bunk is nr 4"]


def test_which_shift_one_is_on_is_told_where_it_is_remembered(talk: Talk) -> None:
    chat = talk.chat()
    assert chat.answer("Which shift am I on?").mode != "memory"
    chat.answer("remember that I am on shift B")
    assert chat.answer("Which shift am I on?").mode == "memory"
