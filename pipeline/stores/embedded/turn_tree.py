"""Which turn follows which, in the rows of the SQLite file; all within a transaction of the caller's."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from pipeline.stores.versions import Tree

_TREE = "SELECT id, after, aside FROM turn WHERE conversation_id = ? ORDER BY number"
_GO_THROUGH = """
    UPDATE turn SET aside = id NOT IN (SELECT value FROM json_each(?)) WHERE conversation_id = ?
"""


def tree_of(connection: sqlite3.Connection, conversation_id: str) -> Tree:
    """The turns of a conversation."""
    return Tree(connection.execute(_TREE, (conversation_id,)).fetchall())


def go_through(connection: sqlite3.Connection, conversation_id: str, way: Sequence[str]) -> None:
    """Let these turns be what was said, and the others be aside."""
    connection.execute(_GO_THROUGH, (json.dumps(way), conversation_id))


def with_versions(connection: sqlite3.Connection, turns: Iterable[str]) -> set[str]:
    """Turns, their other versions, and what follows these aside."""
    of: dict[str, list[str]] = defaultdict(list)
    for id_ in turns:
        for (conversation_id,) in connection.execute("SELECT conversation_id FROM turn WHERE id = ?", (id_,)):
            of[conversation_id].append(id_)
    return {id_ for known, ids in of.items() for id_ in tree_of(connection, known).with_versions(ids)}


def delete_turns(connection: sqlite3.Connection, conversation_id: str, turns: Collection[str]) -> None:
    """Delete turns of a conversation; what followed them follows what they followed."""
    moved = tree_of(connection, conversation_id).without(turns)
    connection.executemany("UPDATE turn SET after = ? WHERE id = ?", [(to, id_) for id_, to in moved.items()])
    connection.executemany("DELETE FROM turn WHERE id = ?", [(id_,) for id_ in turns])
