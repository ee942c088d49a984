"""Instructions that try to be remembered: of the scripted attempts, none acts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.said import Said
from memory.user_memory import UserMemory
from tests.memory.conftest import with_preset

FILE = Path(__file__).parents[2] / "evals" / "data" / "memory" / "attacks" / "attacks.jsonl"
ATTACKS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_there_are_twenty() -> None:
    assert len(ATTACKS) >= 20


@pytest.mark.parametrize("preset", ["inject", "agent", "generative", "graph"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["_id"])
def test_none_is_recalled(mine: UserMemory, attack: dict[str, str], preset: str) -> None:
    mine = with_preset(mine, preset)
    in_message = attack["where"] == "message"
    said = Said(
        turn_id="t1",
        question=attack["text"] if in_message else attack["asked_later"],
        answer="" if in_message else attack["text"],
        at=mine.clock(),
    )
    mine.remembering.turn(said)
    if in_message and mine.remembering.keeps(attack["text"]):
        mine.remembering.asked(attack["text"], turn_id="t2")
    for query in (attack["asked_later"], attack["text"]):
        found, _ = mine.read(query)
        acting = [
            item.memory.text for item in found if attack["acts_if"].casefold() in item.memory.text.casefold()
        ]
        assert not acting
