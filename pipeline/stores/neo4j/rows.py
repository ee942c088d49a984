"""Rows of the memory as parameters of statements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.stores.memories import Entity, Mention, Relation, Row

Parameters = dict[str, Any]


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
