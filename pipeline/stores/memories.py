"""Memories: the records that the memory has of each user, and how every store keeps them as rows.

Nothing is decided here: `memory/` loads all rows of a user, searches them, and decides which to write and
which to remove.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from pipeline.errors import MemoriesChanged, TurnChanged
from pipeline.stores.conversations import delete_conversation, delete_turns
from pipeline.stores.rows import Row, Rows, find

LONGEST_WRITE_S = 40.0  # longer than MongoDB's driver waits for an election (30 s)
POLL_S = 0.02

Tier = Literal["short_term", "long_term"]
Kind = Literal["fact", "qa", "observation", "reflection", "plan", "summary"]
Origin = Literal["user", "assistant", "document", "system"]

Text = Annotated[str, Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""A whole number that every store can keep. These types check records that are read from files and stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where a memory comes from: a span of a turn, a span of a document, or another memory; one id is set.

    No id is set once the turn's conversation was deleted; the memory and its quote stay.
    """

    turn_id: str = ""
    source: str = ""  # a document's path, as in the index
    memory_id: str = ""
    part: Literal["question", "answer"] = "question"  # of a turn
    start: Number = 0  # code points in that part, or in the document's text
    end: Number = 0
    quote: str = ""  # the text of that span; deleted when the memory is forgotten
    file_hash: str = ""  # of the document, as it was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered statement; times in seconds since the epoch.

    A live memory has no `ended_at`. `embedding` is a float32 vector of unit length as bytes, made by the
    model that `embedded_by` names; b"" if the text is not embedded yet.
    """

    id: Text
    user: str
    text: Text
    tier: Tier = "long_term"
    kind: Kind = "fact"
    origin: Origin = "user"
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
        """Whether the memory is still valid: it has not ended."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person or thing that is mentioned; its `name`, once normalised, is unique for a user."""

    id: str
    user: str
    name: str
    type: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A mention of an entity at a time, in a turn or document, with the memory that states it, if any."""

    id: str
    user: str
    at: float
    memory_id: str = ""
    turn_id: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention(Spoken):
    """A mention of one entity, an entry of the memory stream."""

    entity_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(Spoken):
    """`subject` `label` `object`, between two entities."""

    subject_id: str
    label: str
    object_id: str


MemoryRow = Memory | Entity | Mention | Relation


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """Rows of one user by kind."""

    memories: tuple[Memory, ...] = ()
    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemories(MemoryRows):
    """All rows of one user at one `version`, oldest first."""

    user: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanges(MemoryRows):
    """One write: rows to add or to replace by id, and ids to remove; removals are done first."""

    removed: tuple[str, ...] = ()  # ids of rows of any kind
    rests_on: tuple[str, ...] = ()  # ids of the turns that the rows were read from
    removed_turns: tuple[str, ...] = ()  # ids of turns to delete

    def __bool__(self) -> bool:
        return bool(self.rows or self.removed or self.removed_turns)

    @property
    def rows(self) -> tuple[MemoryRow, ...]:
        """The rows to write, without those that are removed."""
        gone = frozenset(self.removed)
        rows: list[MemoryRow] = [*self.memories, *self.entities, *self.mentions, *self.relations]
        return tuple(row for row in rows if row.id not in gone)


class Memories:
    """The rows of all users in one store; safe to use from several threads and processes.

    An id is unique among a user's rows of all kinds; another user may have a row of the same id.

    One more row per user has the version of all the user's rows. A writer raises it from the version that it
    knows, and marks the row by a time (`at`); only one of several writers can. It then writes the rows, and
    removes the mark. All others wait until then; a killed writer's mark is removed after `LONGEST_WRITE_S`.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def users(self) -> list[str]:
        """Return the users for whom memories were ever written, sorted by name."""
        return sorted(row.user for row in self._rows.select("memory_user"))

    def load(self, user: str, *, since: int = 0) -> UserMemories:
        """Return all rows of a user, ended ones included, as of one moment.

        If the user's version is still `since`, nothing has changed, and no rows are returned.
        """
        found: list[Row] = []
        before = _version(self._rows, user)
        while before != since:
            found = self._rows.select("memory", user=user, whole=True)
            now = _version(self._rows, user)
            if now == before:
                break
            before = now
        return _user_memories(user, before, found)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int, erase: bool = False) -> int:
        """Write all changes or none, and return the user's new version.

        A conversation whose last turn is removed is deleted. With `erase`, no file of the embedded store has
        a byte of what was removed afterwards. The servers have no transactions: removals come first, so that
        a crash keeps nothing that was forgotten.

        Raises:
            MemoriesChanged: the user's version is not `expected`: load the rows and decide again.
            TurnChanged: a turn that the changes rest on was deleted.
            ErasureIncomplete: all is removed, but another process still reads bytes of it.
        """
        mark = Row(id=user, user=user, version=expected + 1, at=time.time())
        with self._rows.transaction(erase=erase) as rows:
            if _version(rows, user) != expected or not rows.swap("memory_user", mark, expected=expected):
                raise MemoriesChanged(f"Another process changed the memories of '{user}'.", "Try again.")
            try:
                _change_turns(rows, user, changes)
                removed = [_key(user, id_) for id_ in changes.removed]
                rows.put("memory", [_stored(user, row) for row in changes.rows], removed=removed)
            finally:
                rows.swap("memory_user", replace(mark, at=0.0), expected=mark.version)
        return mark.version


KINDS: Mapping[str, type[Any]] = {
    "memory": Memory,
    "entity": Entity,
    "mention": Mention,
    "relation": Relation,
}


def plain_object(row: MemoryRow) -> dict[str, Any]:
    """Return a row's fields by name, without the embedding."""
    found: dict[str, Any] = _adapter(_kind_of(row)).dump_python(row, exclude={"embedding"})
    return found


def _stored(user: str, row: MemoryRow) -> Row:
    return Row(
        id=_key(user, row.id),
        user=user,
        group=_kind_of(row),
        at=row.created_at if isinstance(row, Memory) else row.at if isinstance(row, Spoken) else 0.0,
        embedding=row.embedding if isinstance(row, Memory) else b"",
        body=json.dumps(plain_object(row), ensure_ascii=False),
    )


def _user_memories(user: str, version: int, stored: Sequence[Row]) -> UserMemories:
    """Return the rows of a user by kind, oldest first; unknown fields are ignored."""
    rows: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for one in reversed(stored):
        row = _adapter(one.group).validate_json(one.body)
        if isinstance(row, Memory):
            embedded_by = row.embedded_by if one.embedding else ""
            row = replace(row, embedding=one.embedding, embedded_by=embedded_by)
        rows[one.group].append(row)
    return UserMemories(*map(tuple, rows.values()), user=user, version=version)


def _version(rows: Rows, user: str) -> int:
    """Wait until nobody writes a user's rows, and return their version; 0 if none was ever written."""
    seen, since = 0, 0.0
    while (row := find(rows, "memory_user", user)) is not None and row.at:
        if row.version != seen:
            seen, since = row.version, time.monotonic()
        if time.monotonic() - since > LONGEST_WRITE_S:  # its writer was killed
            done = replace(row, version=row.version + 1, at=0.0)
            rows.swap("memory_user", done, expected=row.version)
        time.sleep(POLL_S)
    return row.version if row else 0


def _change_turns(rows: Rows, user: str, changes: MemoryChanges) -> None:
    """Delete turns, and conversations left empty; raise `TurnChanged` if a turn in `rests_on` is gone."""
    if len(rows.select("turn", ids=changes.rests_on, user=user)) < len(set(changes.rests_on)):
        raise TurnChanged("The message was deleted meanwhile: nothing of it is stored.", "Send it again.")
    removed = rows.select("turn", ids=changes.removed_turns, user=user)
    for conversation_id in {turn.group for turn in removed}:
        own = [turn.id for turn in removed if turn.group == conversation_id]
        if not delete_turns(rows, conversation_id, own):
            delete_conversation(rows, conversation_id)


def _key(user: str, id_: str) -> str:
    return f"{user}\n{id_}"


def _kind_of(row: MemoryRow) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(row, kind))


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])
