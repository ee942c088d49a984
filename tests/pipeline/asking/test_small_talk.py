"""Small talk is told from questions; the list of messages was written before the rules."""

from __future__ import annotations

from pathlib import Path

from pipeline.asking.small_talk import LONGEST, SmallTalk, small_talk

MESSAGES = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("messages.tsv").read_text(encoding="utf-8").splitlines()
]
ENOUGH = 0.98


def told(message: str) -> str:
    return small_talk(message) or "content"


def test_nearly_all_messages_are_told_apart() -> None:
    wrong = [
        (kind, message) for kind, message in MESSAGES if (told(message) == "content") != (kind == "content")
    ]
    assert len(MESSAGES) >= 120
    assert len(wrong) <= len(MESSAGES) * (1 - ENOUGH), wrong


def test_nearly_all_small_talk_is_of_its_kind() -> None:
    talk = [(kind, message) for kind, message in MESSAGES if kind != "content"]
    wrong = [(kind, message, told(message)) for kind, message in talk if told(message) != kind]
    assert len(wrong) <= len(talk) * (1 - ENOUGH), wrong


def test_what_points_back_at_an_answer_is_a_question() -> None:
    assert small_talk("How does it work?") is SmallTalk.ABILITIES
    assert small_talk("How does it work?", follows=True) is None
    assert small_talk("This makes sense, thanks", follows=True) is SmallTalk.THANKS
    assert small_talk("What can you do?", follows=True) is SmallTalk.ABILITIES


def test_the_assistant_is_greeted_by_its_name_only() -> None:
    assert small_talk("Good evening, Echo Two", name="Echo Two") is SmallTalk.GREETING
    assert small_talk("hi " * LONGEST) is None
