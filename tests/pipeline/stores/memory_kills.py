"""Writes of memories that are killed, for both stores: what is written, and what may be there afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from pipeline.stores.conversations import Conversations, answer_json
from pipeline.stores.memories import (
    Entity,
    Memories,
    MemoryChanges,
    MemoryEvent,
    MemorySource,
    Mention,
    UserMemories,
)
from tests.contracts.memories import embedding, memory
from tests.contracts.test_conversations import answer
from tests.contracts.test_memories import SECRET, secret_turn
from tests.pipeline.killing import SEED, Ingests

USER = "ann"
PLAIN = ["4711", "locker", "Zoë"]
KEPT = 12
GONE = tuple(f"gone-{number}" for number in range(6))

# Imports once what a killed process needs; a store's own script opens the memories and says what a step is.
SCRIPT = """
from tests.pipeline import ingest_runs
from tests.pipeline.stores.memory_kills import FORGETTING, SECRET, USER, writing

def ingest(place, what):
    memories = opened(place)
    if what == "forget":
        memories.forget(USER, FORGETTING, words=[SECRET])
    else:
        memories.apply(USER, writing(what))
    memories.close()
"""


def first_rows(turn_id: str) -> MemoryChanges:
    """What is there before: some rows that stay, and some of the secret."""
    source = MemorySource(turn_id=turn_id, start=14, end=14 + len(SECRET), quote=SECRET)
    secret = tuple(
        memory(f"{SECRET} {id_}", id=id_, sources=(source,), embedding=embedding(1)) for id_ in GONE
    )
    kept = tuple(memory(f"Kept {number}.", id=f"kept-{number}") for number in range(KEPT))
    mention = Mention(id="m", user=USER, entity_id="e", at=1.0, memory_id=GONE[0])
    return MemoryChanges(
        memories=(*kept, *secret),
        entities=(Entity(id="e", user=USER, name="Zoë’s locker"),),
        mentions=(mention,),
    )


def writing(what: str) -> MemoryChanges:
    """A change of many rows: some new, all that stay replaced, one removed; told apart by `what`."""
    new = tuple(
        memory(f"New {number} {what}.", id=f"new-{number}", embedding=embedding(2)) for number in range(20)
    )
    kept = tuple(memory(f"Kept {number} {what}.", id=f"kept-{number}") for number in range(1, KEPT))
    events = tuple(
        MemoryEvent(id=f"{row.id} {what}", user=USER, memory_id=row.id, action="ADD", at=1.0) for row in new
    )
    return MemoryChanges(memories=(*new, *kept), events=events, removed=("kept-0",))


FORGETTING = MemoryChanges(
    removed=(*GONE, "e", "m"),
    events=tuple(
        MemoryEvent(id=f"{id_} d", user=USER, memory_id=id_, action="DELETE", at=2.0) for id_ in GONE
    ),
)


def fill(memories: Memories, conversations: Conversations) -> str:
    """Store a conversation of the secret and what was remembered of it; its id."""
    id_ = conversations.create(user=USER).info.id
    turn = conversations.save_turn(id_, secret_turn())
    for number in range(3):
        conversations.save_turn(id_, answer(f"And {number}?"))
    memories.apply(USER, first_rows(turn))
    return id_


def kills(processes: Ingests, *arguments: object, number: int, seconds: float) -> list[Callable[[], None]]:
    """Kills of a write, at steps and at times chosen at random."""
    chooser = random.Random(SEED)
    steps = processes.steps(*arguments)
    assert steps > number
    at_steps = [partial(processes.killed_at, chooser.randint(1, steps), *arguments) for _ in range(number)]
    timed = [partial(processes.killed_after, chooser.uniform(0, seconds), *arguments) for _ in range(2)]
    return [*at_steps, *timed]


def contents(loaded: UserMemories) -> dict[str, str]:
    """What each row says, but for its version."""
    rows = (*loaded.memories, *loaded.entities, *loaded.mentions)
    return {row.id: getattr(row, "text", "") for row in rows}


def after(changes: MemoryChanges, before: dict[str, str]) -> dict[str, str]:
    """What each row says once a change is made."""
    rows = (*changes.memories, *changes.entities, *changes.mentions)
    now = before | {row.id: getattr(row, "text", "") for row in rows}
    return {id_: text for id_, text in now.items() if id_ not in changes.removed}


def said(conversations: Conversations, id_: str) -> str:
    """All that is stored of a conversation."""
    whole = conversations.get(id_)
    return "\n".join([whole.info.title, *(turn.question + answer_json(turn.answer) for turn in whole.turns)])
