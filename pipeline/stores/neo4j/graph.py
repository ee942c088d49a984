"""One Neo4j, through LlamaIndex's property graph store: changed by version, traversed, counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.errors import ConfigurationError, StoreUnavailable
from pipeline.stores.memories import Around, MemoryChanges, Mention, Relation, UserMemories
from pipeline.stores.neo4j import statements
from pipeline.stores.neo4j.address import URL_SETTING, GraphAddress

if TYPE_CHECKING:
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

PAUSE_S = 3.0  # in which one that did not answer is not asked again: a question asks several times
WITHDRAWN = -1  # the version of rows that were taken away before the store has


@dataclass(frozen=True, slots=True)
class Owner:
    """One user of one store."""

    store: str
    user: str

    @property
    def id(self) -> str:
        """What names both in the graph."""
        return statements.owner_of(self.store, self.user)


@dataclass(frozen=True, slots=True)
class VersionedAround:
    """What was found around some entities, and the version that it is of."""

    version: int
    around: Around


class Neo4jGraph:
    """The graphs of all users in one database; safe to use from several threads, processes and machines."""

    def __init__(self, address: GraphAddress) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._opened: Neo4jPropertyGraphStore | None = None
        self._down_until = 0.0
        self._why_down = ("", "")

    def version(self, owner: Owner) -> int:
        """The version of the rows that are there; 0 for somebody unknown."""
        found = self._run(statements.VERSION, owner=owner.id)
        return int(found[0]["version"]) if found else 0

    def versions(self, store: str) -> dict[str, int]:
        """The same of all users of a store, by name."""
        return {row["user"]: int(row["version"]) for row in self._run(statements.VERSIONS, store=store)}

    def follow(self, owner: Owner, changes: MemoryChanges, *, before: int, version: int) -> bool:
        """Take in what was written; False, and nothing is done, where the version there is not `before`."""
        given = statements.put(owner.id, changes.rows) | statements.remove(owner.id, changes.removed)
        # One that is replaced may have other ends now.
        replaced = [row.id for row in changes.rows if isinstance(row, Mention | Relation)]
        given["edges"] += statements.edges(owner.id, replaced)
        return self._change(statements.CHANGE, owner, given, before=before, version=version)

    def withdraw(self, owner: Owner, ids: Sequence[str], *, before: int) -> bool:
        """Take rows away that the store is about to remove; on the same condition."""
        given = statements.put(owner.id, ()) | statements.remove(owner.id, ids)
        return self._change(statements.CHANGE, owner, given, before=before, version=WITHDRAWN)

    def replace(self, owner: Owner, known: UserMemories, *, before: int) -> bool:
        """Put a user's rows in the place of all that is there; on the same condition."""
        given = statements.put(owner.id, (*known.entities, *known.relations, *known.mentions))
        return self._change(statements.REPLACE, owner, given, before=before, version=known.version)

    def around(self, owner: Owner, entity_ids: Sequence[str], *, depth: int, most: int) -> VersionedAround:
        """What is within `depth` relations of any of the entities, `most` of them, nearest first."""
        ids = [statements.key_of_entity(owner.id, id_) for id_ in entity_ids]
        found = self._run(statements.around(depth), owner=owner.id, ids=ids, depth=depth, most=most)
        if not found:
            return VersionedAround(self.version(owner), Around())
        return VersionedAround(
            version=int(found[0]["version"]),
            around=Around(
                distances={row["row"]: row["distance"] for row in found},
                relations=_each_once(row["relations"] for row in found),
                mentions=_each_once(sorted(row["mentions"]) for row in found),
            ),
        )

    def counts(self, store: str) -> tuple[int, int]:
        """How many entities and relations are there of a store's users."""
        (found,) = self._run(statements.COUNTS, store=store)
        return found["entities"], found["relations"]

    def server(self) -> str:
        """What the server calls itself, as in "Neo4j/5.26.0"."""
        from pipeline.stores.neo4j.connecting import greet

        return greet(self.address)

    def close(self) -> None:
        """Give up the connections."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            from pipeline.stores.neo4j.connecting import close

            close(opened)

    def _change(
        self, statement: str, owner: Owner, given: Mapping[str, Any], *, before: int, version: int
    ) -> bool:
        named = {"owner": owner.id, "store": owner.store, "user": owner.user}
        return bool(self._run(statement, **named, **given, before=before, version=version))

    def _run(self, statement: str, **given: Any) -> list[dict[str, Any]]:
        if time.monotonic() < self._down_until:
            raise StoreUnavailable(*self._why_down)
        try:
            store = self._connected()
            from pipeline.stores.neo4j.connecting import neo4j_errors

            with neo4j_errors(self.address):
                found: list[dict[str, Any]] = store.structured_query(statement, param_map=given)
                return found
        except StoreUnavailable as error:
            self._down_until, self._why_down = time.monotonic() + PAUSE_S, (error.problem, error.fix)
            raise

    def _connected(self) -> Neo4jPropertyGraphStore:
        with self._lock:
            if self._opened is None:
                self._opened = _connect(self.address)
            return self._opened


def _connect(address: GraphAddress) -> Neo4jPropertyGraphStore:
    try:
        from pipeline.stores.neo4j.connecting import connect
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{URL_SETTING} needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[neo4j]'`, or leave the setting empty.",
        ) from error
    return connect(address)


def _each_once(found: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in found for item in items))
