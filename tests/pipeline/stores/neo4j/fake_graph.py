"""What `Neo4jGraph` does, in dictionaries; and a death at any moment of a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.errors import StoreUnavailable
from pipeline.stores.memories import Around, Entity, MemoryChanges, Mention, Relation, UserMemories
from pipeline.stores.neo4j.graph import WITHDRAWN, Owner, VersionedAround

Row = Entity | Mention | Relation


class Killed(BaseException):
    """Stands for the end of the process."""


@dataclass
class FakeGraph:
    """The graphs of all users; `on` has what happens before an operation, by its name."""

    versions_of: dict[Owner, int] = field(default_factory=dict)
    rows: dict[Owner, dict[str, Row]] = field(default_factory=dict)
    is_up: bool = True
    on: dict[str, Callable[[], None]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def ids(self, owner: Owner) -> set[str]:
        return set(self.rows.get(owner, {}))

    def version(self, owner: Owner) -> int:
        self._happens("version")
        return self.versions_of.get(owner, 0)

    def versions(self, store: str) -> dict[str, int]:
        self._happens("versions")
        return {owner.user: version for owner, version in self.versions_of.items() if owner.store == store}

    def follow(self, owner: Owner, changes: MemoryChanges, *, before: int, version: int) -> bool:
        self._happens("follow")
        if self.versions_of.get(owner, 0) != before:
            return False
        kept = self.rows.setdefault(owner, {})
        for row in (*changes.entities, *changes.mentions, *changes.relations):
            kept[row.id] = row
        for id_ in changes.removed:
            kept.pop(id_, None)
        self.versions_of[owner] = version
        return True

    def withdraw(self, owner: Owner, ids: Sequence[str], *, before: int) -> bool:
        return self.follow(owner, MemoryChanges(removed=tuple(ids)), before=before, version=WITHDRAWN)

    def replace(self, owner: Owner, known: UserMemories, *, before: int) -> bool:
        self._happens("replace")
        if self.versions_of.get(owner, 0) != before:
            return False
        self.rows[owner] = {row.id: row for row in (*known.entities, *known.mentions, *known.relations)}
        self.versions_of[owner] = known.version
        return True

    def around(self, owner: Owner, entity_ids: Sequence[str], *, depth: int, most: int) -> VersionedAround:
        self._happens("around")
        found = Around(distances={id_: 0 for id_ in entity_ids if id_ in self.rows.get(owner, {})})
        return VersionedAround(self.versions_of.get(owner, 0), found)

    def counts(self, store: str) -> tuple[int, int]:
        rows = [row for kept in self.rows.values() for row in kept.values()]
        return sum(isinstance(row, Entity) for row in rows), sum(isinstance(row, Relation) for row in rows)

    def server(self) -> str:
        self._happens("server")
        return "Neo4j/fake"

    def close(self) -> None:
        self.done.append("close")

    def _happens(self, name: str) -> None:
        if not self.is_up:
            raise StoreUnavailable("Neo4j does not answer.", "Start it.")
        self.on.pop(name, lambda: None)()
        self.done.append(name)
