"""A secret in a conversation and in the memories of it, to be forgotten; for both stores."""

from __future__ import annotations

from pipeline.stores.base import Store
from pipeline.stores.memories import Entity, MemoryChanges, MemorySource, Mention
from tests.answers import answer
from tests.contracts.memories import embedding, memory

USER = "ann"
SECRET = "the locker of Zoë opens with 48151623"
FORMS = [SECRET, SECRET.casefold(), "48151623", "locker", "Zoë"]
TURN = "turn-of-the-secret"

KEPT = 12
GONE = tuple(f"gone-{number}" for number in range(6))


def first_rows() -> MemoryChanges:
    """Rows that stay, and some of the secret."""
    source = MemorySource(turn_id=TURN, end=len(SECRET), quote=SECRET)
    secret = tuple(
        memory(f"{SECRET} {id_}", id=id_, sources=(source,), embedding=embedding(1)) for id_ in GONE
    )
    kept = tuple(memory(f"Kept {number}.", id=f"kept-{number}") for number in range(KEPT))
    mention = Mention(id="m", user=USER, entity_id="e", at=1.0, memory_id=GONE[0])
    entity = Entity(id="e", user=USER, name="Zoë’s locker")
    return MemoryChanges(memories=(*kept, *secret), entities=(entity,), mentions=(mention,))


FORGETTING = MemoryChanges(removed=(*GONE, "e", "m"), removed_turns=(TURN,))


def fill(store: Store) -> str:
    """Store a conversation of the secret and the memories of it; the conversation's id."""
    conversations = store.conversations
    id_ = conversations.create("A talk", user=USER).info.id
    conversations.save_turn(id_, answer(f"Remember that {SECRET}.", f"Noted: {SECRET}.", turn_id=TURN))
    conversations.set_feedback(TURN, 1)
    for number in range(3):
        conversations.save_turn(id_, answer(f"And {number}?", verdict="answered"))
    store.memories.apply(USER, first_rows(), expected=0)
    return id_
