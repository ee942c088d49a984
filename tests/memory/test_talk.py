"""Hurried talk, told without a request to remember it: what is believed at its end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memory.user_memory import UserMemory
from pipeline.steps.records import Step
from pipeline.stores.conversations import Turn
from pipeline.stores.memories import Memory
from tests.memory.conftest import Clock, turn_of, with_preset
from tests.memory.tables import rows

NOVEMBER = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp()


def told(mine: UserMemory, clock: Clock, *messages: str, answer: str = "") -> Step:
    """What was done of the last of the messages, an hour between any two."""
    talk: Sequence[Turn] = ()
    step = Step("remember")
    clock.at = max(clock.at, NOVEMBER)
    for message in messages:
        clock.at += 3600
        turn = turn_of(message, turn_id=f"t{clock.at}", text=answer, at=clock.at)
        heard = mine.remembering.hear(message, turn_id=turn.id, talk=talk)
        step = mine.remembering.keep(heard, turn)
        talk = (turn,)
    return step


def held(mine: UserMemory, clock: Clock) -> list[str]:
    """What is true now, by what it says of whom."""
    return sorted(
        f"{memory.subject} {memory.predicate} {memory.object}"
        for memory in mine.list()
        if (memory.valid_at or 0) <= clock.at
    )


@pytest.mark.parametrize(("kind", "messages", "expected"), rows("talk.tsv", cells=3))
def test_what_holds_after_a_talk(
    mine: UserMemory, clock: Clock, kind: str, messages: str, expected: str
) -> None:
    """Each row: the kind; the messages; what holds then, by alphabet."""
    mine = with_preset(mine, "agent")
    told(mine, clock, *messages.split(" | "))
    assert " | ".join(held(mine, clock)) == expected, kind


def test_a_plan_comes_true_on_its_day(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "agent")
    told(mine, clock, "I live in Leeds", "we're moving to Bristol in june")
    assert held(mine, clock) == ["user home Leeds"]
    clock.at = datetime(2027, 6, 2, tzinfo=UTC).timestamp()
    assert held(mine, clock) == ["user home Bristol"]


def test_who_was_named_wrongly_is_nobody(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "agent")
    told(
        mine, clock, "my boss is Tom", "sorry, Tim, not Tom", "my brother Karl works for Zalando", "Karl quit"
    )
    names = sorted(entity.name for entity in mine.index.entities.values())
    assert names == ["Karl", "Tim", "Zalando"]
    told(mine, clock, "I met Ruth yesterday", "Rita, not Ruth")
    assert {entity.name for entity in mine.index.entities.values()} == {*names, "Rita"}


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("how do I reset the pump?", True),
        ("explain the loop", True),
        ("I like tea", False),
        ("the pump is loud", False),
        ("my bunk is wet, can you help?", False),
    ],
)
def test_only_what_asks_is_kept_with_its_answer(
    mine: UserMemory, clock: Clock, message: str, kept: bool
) -> None:
    mine = with_preset(mine, "agent")
    told(mine, clock, message, answer="It is reset by hand.")
    assert any(memory.kind == "qa" for memory in mine.list()) == kept


def test_a_step_says_what_was_read(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "agent")
    step = told(mine, clock, "i left Bosch, I work at Siemens now and we move to Ulm in may")
    assert step.detail.startswith("Read: employer (over), employer")


def test_nothing_is_kept_as_a_fragment(mine: UserMemory, clock: Clock) -> None:
    mine = with_preset(mine, "agent")
    told(mine, clock, "i left Bosch", "I live in Ulm and work as a nurse")
    kept: list[Memory] = [*mine.list()]
    assert sorted(item.text for item in kept) == ["I live in Ulm", "I work as a nurse"]
