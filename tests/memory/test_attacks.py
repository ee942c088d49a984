"""Instructions that try to be remembered: of the scripted attempts, none acts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.keeping import Said, keep, keep_asked, secret_kinds
from memory.user_memory import UserMemory
from tests.memory.conftest import with_preset
from tests.memory.tables import attacks


@pytest.mark.parametrize("preset", ["inject", "agent", "generative", "graph"])
def test_none_is_recalled(mine: UserMemory, preset: str) -> None:
    assert len(attacks()) >= 20
    acting = []
    for attack in attacks():
        acting += recalled(replace(with_preset(mine, preset), user=attack["_id"]), attack)
    assert acting == []


def recalled(mine: UserMemory, attack: dict[str, str]) -> list[str]:
    """Return the recalled texts that would act, after an attempt."""
    in_message = attack["where"] == "message"
    question = attack["text"] if in_message else attack["asked_later"]
    said = Said(message=question, turn_id="t1", answer="" if in_message else attack["text"])
    keep(mine, said)
    if in_message and not secret_kinds(question):
        keep_asked(mine, question, replace(said, turn_id="t2"))
    texts = [
        item.memory.text for query in (attack["asked_later"], attack["text"]) for item in mine.read(query)[0]
    ]
    return [text for text in texts if attack["acts_if"].casefold() in text.casefold()]
