"""Memories: what is remembered about each user. One set of records that every preset writes and reads.

A store keeps rows and nothing else. What is remembered, recalled, merged or forgotten is decided in
`memory/`, which reads all of a user's rows into the process (`load`) and searches them there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

from pydantic import Field

from pipeline.errors import MemoriesChanged, TurnChanged

Tier = Literal["static", "short_term", "long_term"]
Kind = Literal["fact", "qa", "observation", "reflection", "plan", "summary"]
Origin = Literal["user", "assistant", "document", "system"]
Action = Literal["ADD", "UPDATE", "REPLACE", "RESTORE", "MIGRATE", "EVICT", "PIN", "DELETE"]

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
class MemoryEvent:
    """What was done to a memory and when; never its text, which is gone when it is forgotten."""

    id: str
    user: str
    memory_id: str
    action: Action
    at: float
    other_id: str = ""  # the memory that replaced it, or that it was made into


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
    """What one write does, in one transaction: rows replaced or added by id, then rows removed by id."""

    memories: tuple[Memory, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    events: tuple[MemoryEvent, ...] = ()
    rests_on: tuple[tuple[str, str], ...] = ()  # turns that it was read from: ids and questions, as read
    removed: tuple[str, ...] = ()  # ids of memories, entities, mentions and relations

    def __bool__(self) -> bool:
        return any((self.memories, self.entities, self.mentions, self.relations, self.events, self.removed))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that it leaves, of all kinds."""
        gone = frozenset(self.removed)
        rows: list[Row] = [*self.memories, *self.entities, *self.mentions, *self.relations]
        return tuple(row for row in rows if row.id not in gone)


class Memories(Protocol):
    """The memories of one store; safe to use from several threads and processes.

    An id names one row of a user, of any kind; another user may have a row of the same id.
    """

    def users(self) -> list[str]:
        """All users about whom something is stored, by name."""

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for an unknown user. Cheap."""

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment."""

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; to one memory, or to all."""

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version.

        Raises `MemoriesChanged` where the version is not `expected`, or a second valid memory has the same
        tier and text: load and decide again. Raises `TurnChanged` where a turn that it `rests_on` was
        deleted meanwhile, ValueError for a row of another user.
        """

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, and then no file of the store has a byte of the removed rows.

        These `turns` of the user are deleted, too, and conversations that have no other. Raises
        `ErasureIncomplete` where everything is removed, but another process still reads bytes of it.
        """

    def close(self) -> None:
        """Release files and connections."""


def text_hash(text: str) -> bytes:
    """What two memories of the same text have in common."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def check_user(user: str, changes: MemoryChanges) -> None:
    """Raise ValueError where a row belongs to somebody else."""
    for row in (*changes.rows, *changes.events):
        if row.user != user:
            raise ValueError(f"a row of '{row.user}' cannot be written to the memories of '{user}'")


def changed_meanwhile(user: str) -> MemoriesChanged:
    """The error for a change that was decided on older rows."""
    return MemoriesChanged(f"The memories of '{user}' were changed by somebody else meanwhile.", "Try again.")


def turn_changed() -> TurnChanged:
    """The error for something that was read from a turn which was deleted meanwhile."""
    return TurnChanged("The message was deleted meanwhile: nothing of it is stored.", "Send it again.")
