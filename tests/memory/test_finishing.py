"""What is kept after an answer: at once, by the next start, and while other processes write and forget."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory.conversing.after import TurnsInHand
from memory.conversing.chat import RememberingChat
from memory.deciding.heard import Heard
from memory.deciding.remember import Remembering
from memory.user_memory import UserMemory
from pipeline.answer import Answer
from pipeline.errors import StoreError
from pipeline.steps.events import AnswerFinished, TokenArrived
from pipeline.steps.records import Step, data_of
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import MemoryChanges, turn_changed
from tests.fake_llm import FakeLLM
from tests.memory.talks import FAN, Talk, another_process


def test_what_a_kill_left_is_caught_up_once(talk: Talk) -> None:
    talk.chat(preset="agent").answer("What moves the air?")  # and nobody finishes
    assert len(talk.conversations.unremembered("local")) == 1
    chat = talk.chat(preset="agent")
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    assert [memory.kind for memory in talk.memory.list()] == ["qa"]
    assert talk.conversations.unremembered("local") == []


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
    (known,) = talk.memory.add(FAN).data["added"]
    keep, failed = Remembering.keep, []

    def refused(remembering: Remembering, heard: Heard, *given: Any, **named: Any) -> Step:
        if len(failed) < 3:
            failed.append(heard)
            raise turn_changed() if len(failed) < 3 else StoreError("The disk is full.")
        return keep(remembering, heard, *given, **named)

    monkeypatch.setattr(Remembering, "keep", refused)
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
    assert data_of(chat.turns[0].answer.steps, "remember")["added"] is not None
    assert not data_of(chat.turns[0].answer.steps, "remember").get("pending")


def test_a_turn_is_remembered_as_it_is_stored_by_then(talk: Talk) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Bonn.")
    talk.conversations.delete(chat.recipe.conversation_id)
    talk.finish()
    assert talk.texts() == []


def test_one_turn_that_cannot_be_remembered_holds_up_no_other(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said in ("I live in Bonn.", "I work at Acme."):  # in two conversations, and nobody finishes
        talk.chat(preset="agent").answer(said)
    keep = Remembering.keep

    def refuse_one(remembering: Remembering, heard: Heard, *given: Any, **named: Any) -> Step:
        if "Bonn" in heard.message:
            raise StoreError("The disk is full.")
        return keep(remembering, heard, *given, **named)

    monkeypatch.setattr(Remembering, "keep", refuse_one)
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


def test_what_is_read_while_everything_is_forgotten_is_not_kept(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread() -> list[str]:
        return [turn.id for turn in talk.conversations.unremembered("local")]

    by_model = Remembering.by_model

    def slow(remembering: Remembering, heard: Heard) -> Heard:
        mine = replace(talk.memory, unread=unread)
        mine.forget(mine.forgetting(everything=True))
        return by_model(remembering, heard)

    monkeypatch.setattr(Remembering, "by_model", slow)
    talk.chat(preset="agent").answer("I live in Graz.")
    talk.finish()
    assert talk.texts() == []


def test_after_forgetting_everything_no_earlier_turn_is_read(talk: Talk) -> None:
    def unread() -> list[str]:
        return [turn.id for turn in talk.conversations.unremembered("local")]

    talk.chat(preset="agent").answer("I live in Graz.")
    assert unread()
    replace(talk.memory, unread=unread).forget(talk.memory.forgetting(everything=True))
    assert not unread()
    talk.finish()
    assert talk.texts() == []


def test_a_note_on_a_turn_brings_no_forgotten_word_back(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = talk.chat(preset="agent")
    chat.answer("I live in Bonn.")
    forgetting: list[threading.Thread] = []
    change = EmbeddedConversations.change_answer
    other = another_process(talk.memory)

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
    left = [talk.conversations.get(info.id) for info in talk.conversations.list()]
    assert "Bonn" not in repr(left)


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
    other = another_process(talk.memory)
    (known,) = other.add("I live in Bonn.").data["added"]
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
        replace(chat.finishing, elsewhere_s=seconds).catch_up()
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
    replace(chat.finishing, elsewhere_s=60.0).catch_up()
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
    assert data_of(talk.conversations.turn(turn.id).answer.steps, "remember")["pending"]
    (kept,) = talk.memory.list()
    if forgotten:
        talk.memory.forget(talk.memory.forgetting([kept.id]), words=False)
    chat = talk.chat(preset="agent", in_hand=here)
    chat.recipe.parts.memory.catch_up()  # type: ignore[union-attr]
    talk.finish()
    done = data_of(talk.conversations.turn(turn.id).answer.steps, "remember")
    assert not done["pending"]
    assert done["added"] == ([] if forgotten else [kept.id])
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
        instead_of: str = "",
    ) -> str:
        tried.append(other.take(answer.turn_id))
        return save(conversations, conversation_id, answer, remembered=remembered, instead_of=instead_of)

    monkeypatch.setattr(EmbeddedConversations, "save_turn", seen)
    answer = talk.chat(preset="agent", in_hand=in_hand).answer("I live in Bonn. What feeds the cabin fan?")
    assert tried == [False]
    assert not other.take(answer.turn_id)
    talk.finish()
    assert other.take(answer.turn_id)
