"""A memory in a chat over the small manual: what is recalled and kept, and what is stored of either."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from memory.after import AfterAnswers
from memory.chat import RememberingChat
from memory.documents import Documents
from memory.extracting import statements_in
from memory.extracting.with_model import extract_with
from memory.in_hand import TurnsInHand
from memory.indexes import Indexes
from memory.options import MemoryOptions
from memory.remember import Remembering
from memory.replies import MOST
from memory.said import Said
from memory.user_memory import UserMemory
from pipeline.answer import Answer
from pipeline.answering.remembering import filled_in, memories_named, named
from pipeline.errors import StoreError
from pipeline.steps.events import AnswerFinished, TokenArrived
from pipeline.steps.records import PromptStep, RecallStep, RememberStep, step_of
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import MemoryChanges, turn_changed
from pipeline.stores.private import PrivateConversations
from tests.fake_llm import FakeLLM
from tests.memory.fake_memories import FakeEncoder
from tests.pipeline.chat_runs import Chat, make_chat
from tests.pipeline.conftest import manual

__all__ = ["manual"]

FAN = "My cabin fan is louder than all the others."


@dataclass
class Talk:
    """A chat with a memory, and the store of both."""

    memory: UserMemory
    conversations: EmbeddedConversations
    store: EmbeddedStore
    path: Path

    def chat(
        self,
        *,
        preset: str = "inject",
        private: bool = False,
        in_hand: TurnsInHand | None = None,
        **given: Any,
    ) -> Chat:
        """A new conversation; `finish` does what is left for after its answers."""
        memory = replace(self.memory, options=self.memory.options.but(memory=preset))
        self.after = AfterAnswers(background=False)
        apart = PrivateConversations() if private else None
        in_hand = in_hand or TurnsInHand()
        remembering = RememberingChat(memory, self.conversations, self.after, private=apart, in_hand=in_hand)
        return make_chat(self.store, self.conversations, memory=remembering, **given)

    def finish(self) -> None:
        self.after.finish()

    def texts(self) -> list[str]:
        return sorted(item.text for item in self.memory.list())


@pytest.fixture
def talk(manual: EmbeddedStore, tmp_path: Path) -> Iterator[Talk]:
    path = tmp_path / "memories.sqlite"
    memories, conversations = EmbeddedMemories(path), EmbeddedConversations(path)
    encoder = FakeEncoder()
    indexes = Indexes(memories, encoder=lambda: encoder)
    options = MemoryOptions(memory_threshold=0.3)
    yield Talk(UserMemory(indexes, "local", options=options), conversations, manual, path)
    memories.close()
    conversations.close()


def another_process(talk: Talk) -> UserMemory:
    """The same memory as another process has it: with an index of its own."""
    encoder = FakeEncoder()
    return replace(talk.memory, indexes=Indexes(talk.memory.indexes.memories, encoder=lambda: encoder))


def test_what_is_recalled_stands_between_history_and_sources_and_is_stored_by_id(talk: Talk) -> None:
    (memory_id,) = talk.memory.add(FAN).added
    llm = FakeLLM(["It hums. [1]"])
    answer = talk.chat(llm=llm).answer("Why is the cabin fan loud?")
    (prompt,) = llm.prompts
    assert prompt.index("Just so you know") < prompt.index("<source 1")
    assert FAN in prompt
    assert "not documentation" in prompt
    stored = step_of(answer.steps, PromptStep).messages
    assert FAN not in repr(stored)
    assert memories_named(" ".join(message.text for message in stored)) == (memory_id,)
    assert [item.memory_id for item in step_of(answer.steps, RecallStep).recalled] == [memory_id]
    assert answer.recalled == (memory_id,)
    assert "louder" not in repr(answer)


def test_no_evidence_comes_from_memory(talk: Talk) -> None:
    talk.memory.add("The cabin fan hums at 99 dB.")
    llm = FakeLLM(["The cabin fan hums at 99 dB. [1]"])
    answer = talk.chat(llm=llm).answer("How loud does the cabin fan hum?")
    assert answer.recalled
    assert not any(support.supported for support in answer.support)


def test_quotes_come_with_what_was_recalled(talk: Talk) -> None:
    (memory_id,) = talk.memory.add(FAN).added
    answer = talk.chat().answer("Why is the cabin fan loud?")
    assert answer.mode == "quote"
    assert answer.recalled == (memory_id,)
    assert [step.name for step in answer.steps][:2] == ["condense", "recall"]
    assert answer.steps[-1].name == "remember"


def test_nothing_is_kept_that_was_not_asked_for(talk: Talk) -> None:
    chat = talk.chat()
    chat.answer("My name is Ada and I live in Bonn. What feeds the cabin fan?")
    talk.finish()
    assert talk.texts() == []
    assert talk.conversations.unremembered("local") == []


def test_unrelated_messages_recall_nothing(talk: Talk) -> None:
    talk.memory.add("Clara plays the cello.")
    answer = talk.chat().answer("What feeds the cabin fan?")
    assert answer.recalled == ()
    assert step_of(answer.steps, RecallStep).considered == 1


def test_stale_and_untrusted_memories_are_not_recalled(talk: Talk) -> None:
    (first,) = talk.memory.add(FAN).added
    talk.memory.indexes.change(
        "local",
        lambda index: MemoryChanges(memories=(replace(index.memories[first], trusted=False),)),
    )
    assert talk.chat().answer("Why is the cabin fan loud?").recalled == ()


def test_a_message_to_no_preset_stands_alone(talk: Talk) -> None:
    llm = FakeLLM(["It hums.", "It hums."], repeat=True)
    chat = talk.chat(preset="none", llm=llm)
    chat.answer("What feeds the cabin fan?")
    chat.answer("How loud is the cabin fan?")
    assert "What feeds" not in llm.prompts[-1]


def test_other_presets_keep_questions_once(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    first = chat.answer("What feeds the cabin fan?")
    assert step_of(first.steps, RememberStep).pending
    talk.finish()
    (kept,) = talk.memory.list()
    assert kept.kind == "qa"
    assert kept.sources[0].turn_id == first.turn_id
    assert any(source.source for source in kept.sources)
    done = step_of(chat.turns[0].answer.steps, RememberStep)
    assert done.added == (kept.id,)
    assert not done.pending
    chat.answer("What feeds the cabin fan?")
    talk.finish()
    assert len(talk.memory.list()) == 1


def test_what_a_kill_left_is_caught_up_once(talk: Talk) -> None:
    talk.chat(preset="agent").answer("What feeds the cabin fan?")  # and nobody finishes
    assert len(talk.conversations.unremembered("local")) == 1
    chat = talk.chat(preset="agent")
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert [memory.kind for memory in talk.memory.list()] == ["qa"]
    assert talk.conversations.unremembered("local") == []


@pytest.mark.parametrize("question", ["What feeds the cabin fan?", "Tell me what feeds the cabin fan."])
def test_an_answer_goes_without_where_the_memory_cannot_be_read(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    def broken(*_: Any) -> int:
        raise StoreError("The disk is gone.")

    monkeypatch.setattr(EmbeddedMemories, "version", broken)
    answer = talk.chat().answer(question)
    assert answer.citations
    assert step_of(answer.steps, RecallStep).status == "failed"
    assert "Nothing was recalled: The disk is gone." in answer.notices


def test_a_failure_afterwards_is_left_for_the_next_start(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> int:
        raise StoreError("The disk is full.")

    chat = talk.chat(preset="agent")
    chat.answer("What feeds the cabin fan?")
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedMemories, "apply", broken)
        talk.finish()
    assert len(talk.conversations.unremembered("local")) == 1


def test_a_recall_counts_once_however_often_the_turn_is_read(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (known,) = talk.memory.add(FAN).added
    turn, failed = Remembering.turn, []

    def refused(remembering: Remembering, said: Said) -> RememberStep:
        if len(failed) < 3:
            failed.append(said)
            raise turn_changed() if len(failed) < 3 else StoreError("The disk is full.")
        return turn(remembering, said)

    monkeypatch.setattr(Remembering, "turn", refused)
    chat = talk.chat(preset="agent")
    assert chat.answer("How loud is my cabin fan?").recalled == (known,)
    talk.finish()
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert talk.conversations.unremembered("local") == []
    assert talk.memory.get(known).accesses == 1


def test_what_was_kept_is_said_although_a_recall_cannot_be_counted(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise StoreError("The disk is full.")

    talk.memory.add(FAN)
    chat = talk.chat(preset="agent")
    chat.answer("How loud is my cabin fan?")
    monkeypatch.setattr(UserMemory, "used", broken)
    talk.finish()
    step = step_of(chat.turns[0].answer.steps, RememberStep)
    assert step is not None
    assert not step.pending


def test_forgetting_reaches_old_turns(talk: Talk) -> None:
    (memory_id,) = talk.memory.add(FAN).added
    answer = talk.chat(llm=FakeLLM(["It hums. [1]"])).answer("Why is the cabin fan loud?")
    talk.finish()
    shown = filled_in(step_of(answer.steps, PromptStep).messages[-3].text, talk.memory.texts([memory_id]))
    assert FAN in shown
    talk.memory.forget(talk.memory.forgetting([memory_id]))
    assert talk.memory.texts([memory_id]) == {}
    assert filled_in(named(memory_id), talk.memory.texts([memory_id])) == "(forgotten)"
    for file in talk.path.parent.iterdir():
        assert FAN.encode() not in file.read_bytes(), file
        assert b"louder than all" not in file.read_bytes(), file


def test_a_private_conversation_keeps_nothing(talk: Talk) -> None:
    chat = talk.chat(preset="agent", private=True)
    answer = chat.answer("What feeds the cabin fan?")
    talk.finish()
    assert talk.texts() == []
    assert step_of(answer.steps, RememberStep).status == "skipped"


def test_documents_that_change_make_memories_stale(talk: Talk) -> None:
    talk.chat(preset="agent").answer("What feeds the cabin fan?")
    talk.finish()
    (kept,) = talk.memory.list()
    source = next(item for item in kept.sources if item.source)
    now: dict[str, Any] = {"hash": source.file_hash, "text": ""}
    others = {item.source: item.file_hash for item in kept.sources if item.source}
    documents = Documents(hashes=lambda: others | {source.source: now["hash"]}, text=lambda _: now["text"])
    memory = replace(talk.memory, documents=documents)
    memory.check_documents()
    assert not memory.get(kept.id).stale
    now |= {"hash": "other", "text": "All else."}
    memory.check_documents()
    assert memory.get(kept.id).stale
    assert memory.read("What feeds the cabin fan?")[0] == []
    quotes = [item.quote for item in kept.sources if item.source == source.source]
    now |= {"hash": "third", "text": "Before it. " + "\n".join(quotes)}
    memory.check_documents()
    again = memory.get(kept.id)
    assert not again.stale
    assert next(item for item in again.sources if item.source).start == len("Before it. ")
    assert [event.action for event in memory.history(kept.id)] == ["ADD", "STALE", "UPDATE"]


@pytest.mark.parametrize(("yes", "words_stay"), [("Yes.", False), ("yes, but keep the words", True)])
def test_yes_forgets_what_was_shown_and_only_that(talk: Talk, yes: str, words_stay: bool) -> None:
    chat = talk.chat()
    chat.answer("Remember that Clara plays the cello.")
    chat.answer("Remember that Rex is a dog.")
    shown = chat.answer("Forget that Clara plays the cello.")
    assert "Nothing is forgotten yet" in shown.text
    assert len(talk.texts()) == 2
    done = chat.answer(yes)
    assert done.text.startswith("Forgotten: 1 memory;")
    assert step_of(done.steps, RememberStep).forgotten == 1
    assert talk.texts() == ["Rex is a dog"]
    said = " ".join(turn.question for turn in chat.turns)
    assert ("Clara plays the cello" in said) == words_stay
    assert chat.answer("What feeds the cabin fan?").mode == "quote"
    assert chat.answer("yes").mode != "memory"


# -- what was said, and what was corrected ------------------------------------------------------------


def test_what_was_said_about_a_topic_is_quoted_from_all_conversations(talk: Talk) -> None:
    talk.chat().answer("The relief valve whistled all night, what is it for?")
    talk.chat().answer("How loud is the cabin fan?")
    text = talk.chat().answer("what did I say about the relief valve?").text
    assert "“The relief valve whistled all night, what is it for?”" in text
    assert "cabin fan" not in text
    again = talk.chat().answer("what did I say about the relief valve?").text
    assert again.count("“The relief valve") == 1, "questions to the memory are not what was said"
    nothing = talk.chat().answer("what did I say about bananas?").text
    assert nothing == "Nothing is remembered about “bananas”."


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


def test_what_was_corrected_can_be_said_again(talk: Talk) -> None:
    chat = talk.chat()
    for text in ("I moved to Bergen in March", "I live in Oslo", "I moved to Bergen in March"):
        chat.answer(f"remember that {text}")
    assert talk.texts() == ["I moved to Bergen in March"]


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


@pytest.mark.parametrize("message", ["yes", "Who feeds the llamas of the mess hall?"])
def test_what_was_not_answered_is_not_kept_as_answered(talk: Talk, message: str) -> None:
    talk.chat(preset="agent").answer(message)
    talk.finish()
    assert talk.texts() == []


@pytest.mark.parametrize(
    "message",
    [
        "sorry, my locker is nr 6",
        "actually my bunk is noisy, what can I do",
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


@pytest.mark.parametrize("question", ["wich bunk is mine", "wat did i say abt my bunk", "what is my bunk nr"])
def test_what_is_known_of_a_thing_of_the_users_is_answered_from_memory(talk: Talk, question: str) -> None:
    chat = talk.chat()
    assert chat.answer("what is my bunk nr").mode != "memory"
    chat.answer("my bunk is nr 4, rember that")
    answer = chat.answer(question)
    assert answer.mode == "memory"
    assert list(talk.memory.texts(answer.recalled).values()) == ["my bunk is nr 4"]


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


def test_a_bare_remember_that_keeps_what_was_said_before(talk: Talk) -> None:
    chat = talk.chat()
    assert "Remember what?" in chat.answer("remember that").text
    chat.answer("My boss is Ann.")
    assert chat.answer("pls remember this!").mode == "memory"
    (kept,) = talk.memory.list()
    assert (kept.text, kept.object, kept.sources[0].quote) == ("My boss is Ann", "Ann", "My boss is Ann")
    assert "Remember what?" in chat.answer("remember it").text


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


def test_a_turn_is_remembered_as_it_is_stored_by_then(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Bonn.")
    talk.conversations.delete(chat.recipe.conversation_id)
    talk.finish()
    assert talk.texts() == []


def test_one_turn_that_cannot_be_remembered_holds_up_no_other(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Bonn.")
    chat.answer("I work at Acme.")  # and nobody finishes
    keep = Remembering.turn

    def refuse_one(remembering: Remembering, said: Said) -> RememberStep:
        if "Bonn" in said.question:
            raise StoreError("The disk is full.")
        return keep(remembering, said)

    monkeypatch.setattr(Remembering, "turn", refuse_one)
    chat = talk.chat(preset="agent")
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert any("Acme" in text for text in talk.texts())
    assert len(talk.conversations.unremembered("local")) == 1


def test_words_that_are_forgotten_while_an_answer_is_written_stay_forgotten(talk: Talk) -> None:
    chat = talk.chat(llm=FakeLLM(["It is louder. [1]"]))
    events = chat.recipe.run("Why is Zebulon's cabin fan loud?")
    next(event for event in events if isinstance(event, TokenArrived))
    talk.memory.indexes.memories.forget("local", MemoryChanges(), words=["Zebulon"])
    *_, last = events
    assert isinstance(last, AnswerFinished)
    assert last.answer.text.startswith("It is louder.")
    assert any("not stored" in notice for notice in last.answer.notices)
    (turn,) = chat.turns
    assert "Zebulon" not in turn.question + turn.answer.text + turn.answer.question
    assert b"Zebulon" not in talk.path.read_bytes()


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


def test_what_is_read_while_everything_is_forgotten_is_not_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread() -> list[str]:
        return [turn.id for turn in talk.conversations.unremembered("local")]

    def slow(*given: Any, **named: Any) -> Any:
        mine = replace(talk.memory, unread=unread)
        mine.forget(mine.forgetting(everything=True), everything=True)
        return extract_with(*given, **named)

    monkeypatch.setattr("memory.remember.extract_with", slow)
    talk.chat(preset="agent").answer("I live in Graz.")
    talk.finish()
    assert talk.texts() == []


def test_after_forgetting_everything_no_earlier_turn_is_read(talk: Talk) -> None:
    def unread() -> list[str]:
        return [turn.id for turn in talk.conversations.unremembered("local")]

    talk.chat(preset="agent").answer("I live in Graz.")
    assert unread()
    replace(talk.memory, unread=unread).forget(talk.memory.forgetting(everything=True), everything=True)
    assert not unread()
    talk.finish()
    assert talk.texts() == []


def test_names_alone_are_not_said_to_be_nothing(talk: Talk) -> None:
    chat = talk.chat(preset="graph")
    chat.answer("Did Clara Weber go to Berlin with NASA?")
    talk.finish()
    assert "athena memory forget --all" in chat.answer("Forget everything about me.").text


def test_the_command_shown_forgets_no_more_than_was_asked_for(talk: Talk) -> None:
    for number in range(MOST + 1):
        talk.memory.add(f"Room {number} of the old station has a piano.")
    shown = talk.chat().answer("Forget everything about the old station.").text
    assert "--all" not in shown
    assert "athena memory forget --search 'the old station' --yes" in shown


def test_a_note_on_a_turn_brings_no_forgotten_word_back(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Bonn.")
    forgetting: list[threading.Thread] = []
    change = EmbeddedConversations.change_answer
    other = another_process(talk)

    def forget() -> None:
        other.forget(other.forgetting(everything=True))

    def forget_and_change(
        conversations: EmbeddedConversations, turn_id: str, noted: Callable[[Answer], Answer]
    ) -> None:
        def forget_meanwhile(answer: Answer) -> Answer:
            forgetting.append(threading.Thread(target=forget))
            forgetting[0].start()
            forgetting[0].join(0.2)
            return noted(answer)

        change(conversations, turn_id, forget_meanwhile)

    monkeypatch.setattr(EmbeddedConversations, "change_answer", forget_and_change)
    talk.finish()
    forgetting[0].join(10)
    assert talk.texts() == []
    assert "Bonn" not in repr(chat.turns)


@pytest.mark.parametrize("yes", ["yep", "ok", "yes please do it"])
def test_other_words_for_yes_forget_as_well(talk: Talk, yes: str) -> None:
    chat = talk.chat()
    chat.answer("remember that my callsign is Foxtrot")
    chat.answer("forget my callsign")
    assert "Forgotten" in chat.answer(yes).text
    assert not talk.memory.list()


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


# -- two processes at once ----------------------------------------------------------------------------


def meanwhile(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    """Let something happen once between a decision and its write."""
    apply, done = EmbeddedMemories.apply, []

    def first_do(memories: EmbeddedMemories, *given: Any, **named: Any) -> int:
        if not done:
            done.append(True)
            do()
        return apply(memories, *given, **named)

    monkeypatch.setattr(EmbeddedMemories, "apply", first_do)


def test_a_conversation_that_is_deleted_while_it_is_read_leaves_nothing(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = talk.chat(preset="graph")
    chat.answer("I live in Bonn with Clara Weber.")
    meanwhile(monkeypatch, lambda: talk.conversations.delete(chat.recipe.conversation_id))
    talk.finish()
    index = talk.memory.index
    assert (index.memories, index.entities, index.mentions, index.relations) == ({}, {}, {}, {})


def test_words_that_are_forgotten_while_they_are_read_are_not_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another_process(talk)
    (known,) = other.add("I live in Bonn.").added
    chat = talk.chat(preset="agent")
    chat.answer("I work at Acme. By the way, I live in Bonn.")
    meanwhile(monkeypatch, lambda: other.forget(other.forgetting([known])))
    talk.finish()
    assert not any("Bonn" in text for text in talk.texts())
    assert any("Acme" in text for text in talk.texts())
    assert "Bonn" not in repr(chat.turns)


def test_a_turn_that_another_process_has_in_hand_is_left_to_it(talk: Talk, tmp_path: Path) -> None:
    first, second = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    talk.chat(preset="agent", in_hand=first).answer("I live in Bonn.")  # and it is not remembered yet
    (turn,) = talk.conversations.unremembered("local")
    chat = talk.chat(preset="agent", in_hand=second)
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert talk.texts() == []
    assert talk.conversations.unremembered("local") == [turn]
    first.leave(turn.id)  # as a process that is killed
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert "I live in Bonn" in talk.texts()
    assert [*(tmp_path / "in_hand").iterdir()] == []


def test_a_turn_that_another_machine_may_be_answering_is_left_to_it(talk: Talk, tmp_path: Path) -> None:
    there, here = (TurnsInHand(tmp_path / name) for name in ("there", "here"))
    talk.chat(preset="agent", in_hand=there).answer("I live in Bonn.")  # and it is not remembered yet
    (turn,) = talk.conversations.unremembered("local")
    stopped = replace(turn.answer, status="stopped", text="")
    talk.conversations.save_turn(turn.answer.conversation_id, stopped)
    chat = talk.chat(preset="agent", in_hand=here).recipe.parts.memory
    assert isinstance(chat, RememberingChat)
    for seconds in (60.0, 0.0):  # longer ago than that, nobody is answering it any more
        assert talk.conversations.unremembered("local") != []
        replace(chat, elsewhere_s=seconds).catch_up()
        talk.finish()
    assert "I live in Bonn" in talk.texts()


def test_what_a_process_of_this_machine_left_is_caught_up_at_once(talk: Talk, tmp_path: Path) -> None:
    killed, here = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    talk.chat(preset="agent", in_hand=killed).answer("I live in Bonn.")
    (turn,) = talk.conversations.unremembered("local")
    talk.conversations.save_turn(turn.answer.conversation_id, replace(turn.answer, status="stopped"))
    (left,) = (tmp_path / "in_hand").iterdir()
    killed.leave(turn.id)
    left.touch()  # as a process that is killed
    chat = talk.chat(preset="agent", in_hand=here).recipe.parts.memory
    assert isinstance(chat, RememberingChat)
    replace(chat, elsewhere_s=60.0).catch_up()
    talk.finish()
    assert "I live in Bonn" in talk.texts()


@pytest.mark.parametrize("forgotten", [False, True])
def test_what_was_remembered_and_not_noted_before_a_kill_is_noted_at_the_next_start(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forgotten: bool
) -> None:
    killed, here = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    talk.memory.add("I live in Bonn.")
    talk.chat(preset="agent", in_hand=killed).answer("I live in Graz.")
    (turn,) = talk.conversations.unremembered("local")
    (left,) = (tmp_path / "in_hand").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedConversations, "change_answer", lambda *_: None)  # killed before that
        talk.finish()
    left.touch()
    assert step_of(talk.conversations.turn(turn.id).answer.steps, RememberStep).pending
    (kept,) = talk.memory.list()
    if forgotten:
        talk.memory.forget(talk.memory.forgetting([kept.id]), words=False)
    chat = talk.chat(preset="agent", in_hand=here)
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    step = step_of(talk.conversations.turn(turn.id).answer.steps, RememberStep)
    assert not step.pending
    assert step.added == step.replaced == (() if forgotten else (kept.id,))
    assert not left.exists()


def test_what_is_left_of_other_users_is_left_to_their_chats(talk: Talk, tmp_path: Path) -> None:
    killed, here = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    talk.chat(preset="agent", in_hand=killed).answer("I live in Graz.")
    (left,) = (tmp_path / "in_hand").iterdir()
    talk.finish()
    left.touch()
    others = replace(talk, memory=replace(talk.memory, user="ann"))
    chat = others.chat(preset="agent", in_hand=here)
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    assert left.exists()


def test_a_turn_is_in_hand_from_before_it_is_stored_until_it_is_remembered(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_hand, other = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    save, tried = EmbeddedConversations.save_turn, []

    def seen(
        conversations: EmbeddedConversations,
        conversation_id: str,
        answer: Answer,
        *,
        remembered: bool = False,
    ) -> str:
        tried.append(other.take(answer.turn_id))
        return save(conversations, conversation_id, answer, remembered=remembered)

    monkeypatch.setattr(EmbeddedConversations, "save_turn", seen)
    answer = talk.chat(preset="agent", in_hand=in_hand).answer("I live in Bonn. What feeds the cabin fan?")
    assert tried == [False]
    assert not other.take(answer.turn_id)
    talk.finish()
    assert other.take(answer.turn_id)


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


@pytest.mark.parametrize(
    ("preset", "says"), [("none", "switched off"), ("short_term", "Only this conversation")]
)
def test_a_preset_that_keeps_nothing_says_which(talk: Talk, preset: str, says: str) -> None:
    answer = talk.chat(preset=preset).answer("Remember that my callsign is Foxtrot.")
    assert says in answer.text
    assert ("switched off" in step_of(answer.steps, RememberStep).detail) == (preset == "none")
    assert talk.texts() == []
