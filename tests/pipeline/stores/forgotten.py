"""A secret in a conversation and in what is remembered of it, to be forgotten; for both stores."""

from __future__ import annotations

from pipeline.stores.erasing import written_forms

from pipeline.stores.conversations import Conversations
from pipeline.stores.memories import (
    Entity,
    Memories,
    MemoryChanges,
    MemoryEvent,
    MemorySource,
    Mention,
)
from tests.contracts.memories import embedding, memory
from tests.contracts.test_conversations import answer
from tests.contracts.test_memories import SECRET, secret_turn

USER = "ann"
PLAIN = ["48151623", "locker", "Zoë"]
FORMS = [*written_forms([SECRET, " ".join(SECRET.split())]), *PLAIN]
"""All that may be written of it."""

KEPT = 12
GONE = tuple(f"gone-{number}" for number in range(6))


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
