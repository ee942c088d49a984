"""What is asked of Neo4j, in Cypher, and rows as its parameters. A change is one statement: one transaction.

    (:Athena {id, version, store, user})                                    what is there of one user
    (:Athena:__Node__:__Entity__ {id, row, name, aliases …})-[:RELATES_TO {id, row, label …}]->(another)
    (:Athena {id, row})-[:MENTIONS {id, row, at …}]->(entity)               a memory or turn that speaks of it

`id` is made of the store, the user and the row's own id (`row`), so that two stores or users never meet.
Labels and the names of properties are the same for all: Neo4j keeps those for ever, and a forgotten word
must not be among them. An entity that only relations or mentions name has neither name nor `__Entity__`.
`__Node__` and `__Entity__` are how LlamaIndex's retrievers know an entity.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.stores.memories import Entity, Mention, Relation, Row

Parameters = dict[str, Any]

SCHEMA = (
    "CREATE CONSTRAINT athena_id IF NOT EXISTS FOR (node:Athena) REQUIRE node.id IS UNIQUE",
    "CREATE INDEX athena_owner IF NOT EXISTS FOR (node:Athena) ON (node.owner)",
    "CREATE INDEX athena_store IF NOT EXISTS FOR (node:Athena) ON (node.store)",
    "CREATE INDEX athena_relation IF NOT EXISTS FOR ()-[edge:RELATES_TO]-() ON (edge.id)",
    "CREATE INDEX athena_mention IF NOT EXISTS FOR ()-[edge:MENTIONS]-() ON (edge.id)",
)

# Setting a property takes the lock of the user's node: what is read of it after that nobody else changes.
_HOLD = """
MERGE (state:Athena {id: $owner})
ON CREATE SET state.version = 0
SET state.held = true
WITH state WHERE state.version = $before
"""

_DONE = """
SET state = {id: $owner, version: $version, store: $store, user: $user}
RETURN state.version AS version
"""

_REMOVE_ALL = "CALL () { MATCH (node:Athena {owner: $owner}) DETACH DELETE node }"

_REMOVE_EDGES = """
CALL () {
  UNWIND $edges AS id
  MATCH (one)-[edge:%s {id: id}]->(other)
  DELETE edge
  WITH collect(one) + collect(other) AS ends
  UNWIND ends AS end
  WITH DISTINCT end WHERE NOT end:__Entity__ AND NOT (end)--()
  DELETE end
}
"""

_REMOVE_ENTITIES = """
CALL () {
  UNWIND $gone AS id
  MATCH (node:Athena:__Entity__ {id: id})
  REMOVE node:__Entity__:__Node__
  SET node = {id: id, owner: $owner, row: node.row}
  WITH node WHERE NOT (node)--()
  DELETE node
}
"""

_PUT = """
CALL () {
  UNWIND $entities AS row
  MERGE (node:Athena {id: row.id})
  SET node:__Node__:__Entity__, node = row
}
CALL () {
  UNWIND $relations AS row
  MERGE (subject:Athena {id: row.subject.id}) ON CREATE SET subject = row.subject
  MERGE (object:Athena {id: row.object.id}) ON CREATE SET object = row.object
  CREATE (subject)-[edge:RELATES_TO]->(object)
  SET edge = row.edge
}
CALL () {
  UNWIND $mentions AS row
  MERGE (place:Athena {id: row.place.id}) ON CREATE SET place = row.place
  MERGE (entity:Athena {id: row.entity.id}) ON CREATE SET entity = row.entity
  CREATE (place)-[edge:MENTIONS]->(entity)
  SET edge = row.edge
}
"""

# Both return nothing, and do nothing, where the version is not `$before`. Their text is always the same:
# Neo4j keeps the plan of a text, and making one takes longer than following it.
CHANGE = "".join(
    [_HOLD, _REMOVE_EDGES % "RELATES_TO", _REMOVE_EDGES % "MENTIONS", _REMOVE_ENTITIES, _PUT, _DONE]
)
REPLACE = "".join([_HOLD, _REMOVE_ALL, _PUT, _DONE])

VERSIONS = "MATCH (state:Athena {store: $store}) RETURN state.user AS user, state.version AS version"
VERSION = "MATCH (state:Athena {id: $owner}) RETURN state.version AS version"

_AROUND = """
MATCH (state:Athena {id: $owner})
CALL () {
  MATCH (start:Athena) WHERE start.id IN $ids
  MATCH path = (start)-[:RELATES_TO*0..%d]-(near)
  WITH near, min(length(path)) AS distance
  ORDER BY distance, near.row LIMIT $most
  RETURN near, distance
}
RETURN state.version AS version, near.row AS row, distance,
  CASE WHEN distance < $depth THEN [(near)-[edge:RELATES_TO]-() | edge.row] ELSE [] END AS relations,
  [(near)<-[edge:MENTIONS]-() | edge.row] AS mentions
ORDER BY distance, row
"""

COUNTS = """
MATCH (state:Athena {store: $store})
WITH collect(state.id) AS owners
CALL (owners) {
  MATCH (entity:Athena:__Entity__) WHERE entity.owner IN owners
  RETURN count(entity) AS entities
}
CALL (owners) {
  MATCH (subject:Athena)-[relation:RELATES_TO]->() WHERE subject.owner IN owners
  RETURN count(relation) AS relations
}
RETURN entities, relations
"""


def around(depth: int) -> str:
    """The statement that finds what is within `depth` relations; a pattern's length is no parameter."""
    return _AROUND % depth


def owner_of(store: str, user: str) -> str:
    """What names one user of one store."""
    return _key(store, user)


def put(owner: str, written: Iterable[Row]) -> Parameters:
    """The parameters of rows that are put; memories are none of the graph's."""
    given: Parameters = {"entities": [], "relations": [], "mentions": []}
    for row in written:
        match row:
            case Entity():
                given["entities"].append(_entity(owner, row))
            case Relation():
                given["relations"].append(_relation(owner, row))
            case Mention():
                given["mentions"].append(_mention(owner, row))
    return given


def remove(owner: str, ids: Sequence[str]) -> Parameters:
    """The parameters of what is removed, of whichever kind."""
    return {"gone": [key_of_entity(owner, id_) for id_ in ids], "edges": edges(owner, ids)}


def edges(owner: str, ids: Iterable[str]) -> list[str]:
    """The ids of edges."""
    return [_key(owner, "edge", id_) for id_ in ids]


def key_of_entity(owner: str, entity_id: str) -> str:
    """The id of an entity's node."""
    return _key(owner, "entity", entity_id)


def _entity(owner: str, entity: Entity) -> Parameters:
    return _node(owner, entity.id) | {
        "user": entity.user,
        "name": entity.name,
        "type": entity.type,
        "aliases": [*entity.aliases],
        "attributes": json.dumps(dict(entity.attributes), ensure_ascii=False),
    }


def _relation(owner: str, relation: Relation) -> Parameters:
    return {
        "subject": _node(owner, relation.subject_id),
        "object": _node(owner, relation.object_id),
        "edge": _edge(owner, relation) | {"label": relation.label},
    }


def _mention(owner: str, mention: Mention) -> Parameters:
    place = mention.memory_id or mention.turn_id or mention.source
    return {
        "place": {"id": _key(owner, "place", place), "owner": owner, "row": place},
        "entity": _node(owner, mention.entity_id),
        "edge": _edge(owner, mention),
    }


def _node(owner: str, entity_id: str) -> Parameters:
    return {"id": key_of_entity(owner, entity_id), "owner": owner, "row": entity_id}


def _edge(owner: str, row: Relation | Mention) -> Parameters:
    return {
        "id": _key(owner, "edge", row.id),
        "row": row.id,
        "at": row.at,
        "memory_id": row.memory_id,
        "turn_id": row.turn_id,
        "source": row.source,
    }


def _key(*parts: str) -> str:
    """Nothing of the parts can be read from it, nor does it have a character that anything trips over."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
