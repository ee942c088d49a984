"""The rows that the memory keeps of each user, the protocol `Memories` of a store, and rows as JSON.

A store keeps rows and decides nothing: `memory/` loads all rows of a user, searches them, and says which to
write and which to remove.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, TypeAdapter

from pipeline.errors import MemoriesChanged, TurnChanged

Tier = Literal["static", "short_term", "long_term"]
Kind = Literal["fact", "qa", "observation", "reflection", "plan", "summary"]
Origin = Literal["user", "assistant", "document", "system"]

Text = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""What stores keep as a whole number; what is read of a file or of a store is checked against these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where a memory comes from: a span of a turn, of a document, or another memory; one of the three ids.

    None of them once the turn's conversation was deleted: the memory stays, and its quote with it.
    """

    turn_id: str = ""
    source: str = ""  # a document's path, as in the index
    memory_id: str = ""
    part: Literal["question", "answer"] = "question"  # of a turn
    start: Number = 0  # code points in that part, or in the document's text
    end: Number = 0
    quote: str = ""  # the words of that span; goes with the memory when it is forgotten
    file_hash: str = ""  # of the document, as it was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered statement; times in seconds since the epoch.

    A live memory has no `ended_at`. `embedding` is a float32 vector of unit length as bytes, made by the
    model that `embedded_by` names; b"" where the text is not embedded yet.
    """

    id: Text
    user: str
    text: Text
    tier: Tier = "long_term"
    kind: Kind = "fact"
    origin: Origin = "user"
    tags: tuple[str, ...] = ()
    importance: Share | None = None
    why: str = ""  # why it was kept, or why it is this important
    subject: str = ""
    predicate: str = ""
    object: str = ""
    success: bool | None = None  # of a question and its answer: what the reader thought of the answer
    pinned: bool = False
    trusted: bool = True
    created_at: float = 0.0
    ended_at: float | None = None
    replaced_by: str = ""  # id of the memory that took its place, also once that was undone
    accessed_at: float | None = None
    accesses: Number = 0
    embedding: bytes = b""
    embedded_by: str = ""
    sources: tuple[MemorySource, ...] = ()

    @property
    def live(self) -> bool:
        """Whether it still holds."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Somebody or something that is spoken of; `name` is unique for a user once it is normalised."""

    id: str
    user: str
    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An entity was spoken of at a time: an entry of the memory stream."""

    id: str
    user: str
    entity_id: str
    at: float
    memory_id: str = ""  # the memory that speaks of it, if there is one
    turn_id: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """`subject` `label` `object`, between two entities, as said at a time."""

    id: str
    user: str
    subject_id: str
    label: str
    object_id: str
    at: float
    memory_id: str = ""
    turn_id: str = ""
    source: str = ""


Row = Memory | Entity | Mention | Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemories:
    """Everything of one user, at one `version`."""

    user: str
    version: int
    memories: tuple[Memory, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanges:
    """One write: rows that are added or replaced by id, then what is removed."""

    memories: tuple[Memory, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    removed: tuple[str, ...] = ()  # ids of rows of any kind
    rests_on: tuple[str, ...] = ()  # ids of the turns that the rows were read from
    removed_turns: tuple[str, ...] = ()  # ids of turns to delete

    def __bool__(self) -> bool:
        return self.changes_rows or bool(self.removed_turns)

    @property
    def changes_rows(self) -> bool:
        """Whether any row is added, replaced or removed."""
        return bool(self.removed) or any(
            map(len, (self.memories, self.entities, self.mentions, self.relations))
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows to write, without those that are removed."""
        gone = frozenset(self.removed)
        rows: list[Row] = [*self.memories, *self.entities, *self.mentions, *self.relations]
        return tuple(row for row in rows if row.id not in gone)


class Memories(Protocol):
    """The rows of all users in one store; safe to use from several threads and processes.

    An id names one row of a user, of any kind; another user may have a row of the same id.
    """

    def users(self) -> list[str]:
        """The users that have a row, sorted by name."""

    def load(self, user: str, *, since: int = 0) -> UserMemories:
        """All rows of a user, ended ones included, as of one moment.

        Without rows where the user's version is still `since`: then nothing has changed.
        """

    def apply(self, user: str, changes: MemoryChanges, *, expected: int, erase: bool = False) -> int:
        """Write all changes or none, and return the user's new version.

        The version rises with each change of a row. Removed turns
        take along conversations that have no other turn. With `erase`, no file of the store has a byte of
        what was removed afterwards.

        Raises:
            MemoriesChanged: the user's version is not `expected`: load the rows and decide again.
            TurnChanged: a turn that the changes rest on was deleted.
            ErasureIncomplete: all is removed, but another process still reads bytes of it.
            ValueError: a row belongs to another user.
        """


KINDS: Mapping[str, type[Any]] = {
    "memory": Memory,
    "entity": Entity,
    "mention": Mention,
    "relation": Relation,
}


def record_of(row: Row) -> dict[str, Any]:
    """A row as stores keep it: `row` is its JSON without the vector, which is stored beside it."""
    return {
        "user": row.user,
        "id": row.id,
        "kind": _kind_of(row),
        "row": json.dumps(plain_object(row), ensure_ascii=False),
        "embedding": row.embedding if isinstance(row, Memory) else b"",
    }


def row_of(record: Mapping[str, Any]) -> Row:
    """The row of a record; unknown fields are ignored. Raises ValueError."""
    row: Row = _adapter(record["kind"]).validate_json(record["row"])
    if not isinstance(row, Memory):
        return row
    vector = record["embedding"]
    return replace(row, embedding=vector, embedded_by=row.embedded_by if vector else "")


def plain_object(row: Row) -> dict[str, Any]:
    """A row by its fields, without a vector."""
    found: dict[str, Any] = _adapter(_kind_of(row)).dump_python(row, exclude={"embedding"})
    return found


def user_memories(user: str, version: int, rows: Iterable[Row]) -> UserMemories:
    """The rows of a user by kind, oldest first; entities by name."""
    listed = list(rows)
    return UserMemories(
        user=user,
        version=version,
        memories=_sorted(listed, Memory, "created_at"),
        entities=_sorted(listed, Entity, "name"),
        mentions=_sorted(listed, Mention, "at"),
        relations=_sorted(listed, Relation, "at"),
    )


def check_user(user: str, changes: MemoryChanges) -> None:
    """Raise ValueError where a row belongs to another user."""
    for row in changes.rows:
        if row.user != user:
            raise ValueError(f"a row of '{row.user}' cannot be written to the memories of '{user}'")


def memories_changed(user: str) -> MemoriesChanged:
    """The error for changes that were decided on older rows."""
    return MemoriesChanged(f"Another process changed the memories of '{user}'.", "Try again.")


def turn_changed() -> TurnChanged:
    """The error for changes that were read from a deleted turn."""
    return TurnChanged("The message was deleted meanwhile: nothing of it is stored.", "Send it again.")


def _sorted(rows: Iterable[Row], kind: type[Any], key: str) -> tuple[Any, ...]:
    found = [row for row in rows if isinstance(row, kind)]
    return tuple(sorted(found, key=lambda row: (getattr(row, key), row.id)))


def _kind_of(row: Row) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(row, kind))


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])
