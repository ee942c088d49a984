"""What the memory does at a message to it, and says."""

from __future__ import annotations

import pytest

from memory.conversing.replying import MOST
from memory.recalling.user_turns import said_in
from pipeline.answering.kept_conversation import History
from pipeline.steps.records import data_of, last_step
from pipeline.stores.conversations import RecallableTurn
from tests.memory.talks import Talk


@pytest.mark.parametrize(("yes", "words_stay"), [("Yes.", False), ("yes, but keep the words", True)])
def test_yes_forgets_what_was_shown_and_only_that(talk: Talk, yes: str, words_stay: bool) -> None:
    chat = talk.chat()
    chat.answer("Remember that Clara plays the cello.")
    chat.answer("Remember that Rex is a dog.")
    shown = chat.answer("Forget that Clara plays the cello.")
    assert "Nothing is forgotten yet" in shown.text
    assert len(talk.texts()) == 2
    done = chat.answer(yes)
    assert done.text.startswith("Forgotten: 1 memory and 1 message;")
    assert data_of(done.steps, "remember")["forgotten"] == 2
    assert talk.texts() == ["Rex is a dog"]
    said = " ".join(turn.question for turn in chat.turns)
    assert ("Remember that Clara plays the cello" in said) == words_stay
    assert ("Forget that Clara plays the cello" in said) == words_stay
    assert "Clara" not in talk.answer("who plays the cello?").text
    assert chat.answer("What feeds the cabin fan?").mode == "quote"
    assert chat.answer("yes").mode != "memory"


def test_forgotten_words_are_never_told(talk: Talk) -> None:
    question = "which locker has my blue spare cartridges"
    before = talk.chat()
    before.answer("What feeds the cabin fan?")
    before.answer(question)
    chat = talk.chat()
    chat.answer(question)
    chat.answer("forget that")
    assert chat.answer("yes").text.startswith("Forgotten: 1 message;")
    assert set(before.turns[-1].question) == {"█"}
    opened_again = History.of(talk.conversations.get(before.recipe.conversation_id))
    assert [said for said in opened_again.said() if "█" in said.text] == []
    assert [turn.text for turn in talk.memory.turns.own()] == ["What feeds the cabin fan?"]
    assert "█" not in talk.answer("what did I say last?").text


def test_of_a_message_with_forgotten_words_its_other_sentences_are_found() -> None:
    turn = RecallableTurn(
        id="1",
        conversation_id="c",
        question="I live in Bonn. My ██ is 12.\nI like tea",
        answer="██ it is.",
        at=0,
    )
    assert [said.text for said in said_in(turn)] == ["I live in Bonn. I like tea"]


def test_what_was_said_about_a_topic_is_quoted_from_all_conversations(talk: Talk) -> None:
    talk.chat().answer("The relief valve whistled all night, what is it for?")
    talk.chat().answer("How loud is the cabin fan?")
    text = talk.answer("what did I say about the relief valve?").text
    assert "“The relief valve whistled all night, what is it for?”" in text
    assert "cabin fan" not in text
    again = talk.answer("what did I say about the relief valve?").text
    assert again.count("“The relief valve") == 1, "questions to the memory are not what was said"
    nothing = talk.chat().answer("what did I say about bananas?").text
    assert nothing == "Nothing is remembered about “bananas”."


def test_what_nothing_is_remembered_of_is_named_in_its_own_words(talk: Talk) -> None:
    for question in ("what do i like", "what is my name"):
        assert talk.chat().answer(question).text.startswith("You have told me nothing about this")


def test_a_question_about_one_thing_is_answered_with_that_thing(talk: Talk) -> None:
    for text in (
        "my locker is B14",
        "my name is Zoe",
        "I live in Bonn",
        "my suit is size M",
        "I like olives",
    ):
        talk.memory.add(text)
    chat = talk.chat()
    for question, known in (
        ("wats my name", ["my name is Zoe"]),
        ("where do i live now", ["I live in Bonn"]),
        ("what do i like", ["I like olives"]),
        ("what is my suit size", ["my suit is size M"]),
        ("what is my blood type", []),
    ):
        found = talk.memory.texts(chat.answer(question).recalled)
        assert list(found.values()) == known, question


@pytest.mark.parametrize("question", ["wich bunk is mine", "what is my bunk nr"])
def test_what_is_known_of_a_thing_of_the_users_is_answered_from_memory(talk: Talk, question: str) -> None:
    chat = talk.chat()
    assert chat.answer("what is my bunk nr").mode != "memory"
    chat.answer("my bunk is nr 4, rember that")
    answer = chat.answer(question)
    assert answer.mode == "memory"
    (told,) = talk.memory.texts(answer.recalled).values()
    assert "my bunk is nr 4" in told


def test_an_age_is_told_as_the_fact_that_holds(talk: Talk) -> None:
    talk.chat().answer("remember that I am 34")
    talk.chat().answer("actually I am 35")
    assert "- I am 35 (" in talk.answer("how old am I?").text


def test_a_bare_remember_that_keeps_what_was_said_before(talk: Talk) -> None:
    chat = talk.chat()
    assert "Remember what?" in chat.answer("remember that").text
    chat.answer("My boss is Ann.")
    assert chat.answer("pls remember this!").mode == "memory"
    (kept,) = talk.memory.list()
    assert (kept.text, kept.object, kept.sources[0].quote) == ("My boss is Ann", "Ann", "My boss is Ann")
    assert "Remember what?" in chat.answer("remember it").text


def test_a_bare_remember_that_keeps_what_only_a_request_makes_a_fact(talk: Talk) -> None:
    chat = talk.chat()
    for message in ("what is bus A", "list all alarms", "how do i shed load"):
        chat.answer(message)
        assert "Remember what?" in chat.answer("remember that").text
    chat.answer("my bunk is nr 4")
    assert chat.answer("remember that").mode == "memory"
    (kept,) = talk.memory.list()
    assert (kept.text, kept.sources[0].quote) == ("my bunk is nr 4", "my bunk is nr 4")
    chat.answer("sory my bunk is nr 6")
    assert [memory.object for memory in talk.memory.list() if not memory.invalid_at] == ["6"]


def test_a_bare_remember_that_keeps_no_question(talk: Talk) -> None:
    chat = talk.chat()
    chat.answer("My bunk is nr 4. What feeds the cabin fan?")
    assert chat.answer("remember that").mode == "memory"
    assert talk.texts() == ["My bunk is nr 4"]


def test_forgetting_everything_leaves_no_name(talk: Talk) -> None:
    chat = talk.chat(preset="graph")
    chat.answer("I live in Bonn.")
    chat.answer("Did Clara Weber go to Berlin with NASA?")
    talk.finish()
    assert talk.memory.index.entities
    assert "Nothing is forgotten yet" in chat.answer("Forget everything about me.").text
    chat.answer("Yes.")
    index = talk.memory.index
    assert (index.memories, index.entities, index.mentions, index.relations) == ({}, {}, {}, {})


def test_what_was_said_a_moment_ago_is_known_and_forgotten(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Graz.")
    assert chat.answer("what do you know about me?").recalled
    chat.answer("My dog is called Rex.")
    shown = chat.answer("forget everything about me")
    assert any("Rex" in text for text in talk.memory.texts(shown.recalled).values())
    chat.answer("yes")
    talk.finish()
    assert talk.texts() == []


def test_names_of_forgotten_messages_go_though_no_fact_was_made_of_them(talk: Talk) -> None:
    chat = talk.chat(preset="graph")
    chat.answer("Did Clara Weber go to Berlin with NASA?")
    chat.answer("Is Berlin bigger than Graz?")
    chat.answer("forget Clara Weber")
    chat.answer("yes")
    talk.finish()
    assert sorted(entity.name for entity in talk.memory.index.entities.values()) == ["Berlin", "Graz"]


def test_everything_is_forgotten_with_the_requests_that_name_it(talk: Talk) -> None:
    chat = talk.chat()
    chat.answer("Remember that Clara plays the cello.")
    chat.answer("Forget that Clara plays the cello.")
    for message in ("no", "forget everything", "yes"):
        chat.answer(message)
    assert [turn.question for turn in chat.turns] == ["yes"]


def test_names_alone_are_not_said_to_be_nothing(talk: Talk) -> None:
    chat = talk.chat(preset="graph")
    chat.answer("Did Clara Weber go to Berlin with NASA?")
    talk.finish()
    assert "names of whom and what you spoke of" in chat.answer("Forget everything about me.").text


def test_more_than_is_listed_is_counted(talk: Talk) -> None:
    for number in range(MOST + 1):
        talk.memory.add(f"Room {number} of the old station has a piano.")
    assert "and 1 more memory" in talk.chat().answer("Forget everything about the old station.").text


@pytest.mark.parametrize("yes", ["yep", "ok", "yes please do it"])
def test_other_words_for_yes_forget_as_well(talk: Talk, yes: str) -> None:
    chat = talk.chat()
    chat.answer("remember that my callsign is Foxtrot")
    chat.answer("forget my callsign")
    assert "Forgotten" in chat.answer(yes).text
    assert not talk.memory.list()


def test_a_yes_that_comes_too_late_forgets_nothing(talk: Talk) -> None:
    chat = talk.chat()
    for message in ("remember that my callsign is Foxtrot", "forget my callsign", "hm", "yes"):
        chat.answer(message)
    assert talk.texts() == ["my callsign is Foxtrot"]


def test_no_forgets_nothing_and_says_so(talk: Talk) -> None:
    chat = talk.chat()
    assert chat.answer("no").mode != "memory"
    chat.answer("remember that my callsign is Foxtrot")
    chat.answer("forget my callsign")
    assert chat.answer("no, keep it").text == "Nothing was forgotten."
    assert [item.object for item in talk.memory.list()] == ["Foxtrot"]


@pytest.mark.parametrize(
    "message",
    [
        "pls remeber that my bunk is number 3",
        "dont forget that my bunk is number 3",
        "No, remember that my bunk is number 3",
        "plz rember my bunk is number 3",
    ],
)
def test_hurried_requests_are_understood(talk: Talk, message: str) -> None:
    assert talk.chat().answer(message).mode == "memory"
    assert talk.texts() == ["my bunk is number 3"]


def test_a_number_in_the_subject_is_another_thing(talk: Talk) -> None:
    for text in (
        "crate 1 holds widgets",
        "crate 2 holds widgets",
        "bus A voltage was 28 V yesterday",
        "bus B voltage was 31 V yesterday",
    ):
        talk.chat().answer(f"remember that {text}")
    assert not [item for item in talk.memory.list() if item.disputed]


def test_only_what_shares_most_words_is_forgotten_by_a_search(talk: Talk) -> None:
    for number in range(4):
        talk.memory.add(f"the probe {number} flies around planet{number}")
    found = talk.memory.forgetting(search="planet2")
    assert [item.text for item in found.memories] == ["the probe 2 flies around planet2"]


@pytest.mark.parametrize(
    ("preset", "says"), [("none", "switched off"), ("short_term", "Only this conversation")]
)
def test_a_preset_that_keeps_nothing_says_which(talk: Talk, preset: str, says: str) -> None:
    answer = talk.chat(preset=preset).answer("Remember that my callsign is Foxtrot.")
    assert says in answer.text
    assert ("switched off" in last_step(answer.steps, "remember").detail) == (preset == "none")
    assert talk.texts() == []


def test_what_was_only_told_is_not_said_to_have_been_asked(talk: Talk) -> None:
    chat = talk.chat()
    for message in ("my brother Karl lives in Graz", "What feeds the cabin fan?", "where does Karl live?"):
        chat.answer(message)
    asked = chat.answer("what did I ask you before?").recalled
    one, two = talk.memory.texts(asked).values()
    assert one.endswith("“where does Karl live?”") and two.endswith("“What feeds the cabin fan?”")


def test_what_was_asked_before_has_the_questions_that_the_memory_answered(talk: Talk) -> None:
    for message in ("Remember that my bunk is 4.", "which bunk is mine?", "What feeds the cabin fan?"):
        talk.chat().answer(message)
    assert [turn.text for turn in talk.memory.turns.own()][:2] == [
        "What feeds the cabin fan?",
        "which bunk is mine?",
    ]
    asked = talk.answer("what did I ask you before?").text
    assert "which bunk is mine?" in asked
    assert "Remember" not in asked
