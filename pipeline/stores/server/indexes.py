"""The indexes of MongoDB's collections, and what had to change before one of them could be made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pymongo
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import OperationFailure

INDEXES: Mapping[str, Sequence[Sequence[str]]] = {
    "documents": (("build", "_id"),),
    "pending": (("build",),),
    "sections": (("build", "node"), ("version", "order")),
    "texts": (("build",),),
    "conversations": (("updated_at", "_id"), ("user", "updated_at", "_id")),
    "turns": (("remembered",),),
    "memories": (("user", "gone"), ("user", "live"), ("turns",)),
    "memory_events": (("user", "memory_id"),),
    "memory_changes": (("settled",),),
    "memory_parts": (("user", "version"),),
}

_POSITION = [("conversation", pymongo.ASCENDING), ("position", pymongo.ASCENDING)]
_POSITION_NAME = "conversation_1_position_1"
_INDEX_NOT_FOUND = 27  # MongoDB's error code


def ensure_indexes(database: Database[dict[str, Any]]) -> None:
    """Make the indexes that are not there yet."""
    for name, indexes in INDEXES.items():
        for keys in indexes:
            database[name].create_index([(key, pymongo.ASCENDING) for key in keys])
    _ensure_unique_positions(database["turns"])


def _ensure_unique_positions(turns: Collection[dict[str, Any]]) -> None:
    """Let no two turns of a conversation have one place; the index of earlier versions did."""
    existing = turns.index_information().get(_POSITION_NAME)
    if existing and existing.get("unique"):
        return
    if existing:
        try:
            turns.drop_index(_POSITION_NAME)
        except OperationFailure as error:
            if error.code != _INDEX_NOT_FOUND:  # another process was faster
                raise
        _number_again(turns)
    turns.create_index(_POSITION, unique=True)


def _number_again(turns: Collection[dict[str, Any]]) -> None:
    """Put the turns of conversations that have two in one place into the order in which they were shown."""
    of_conversation: dict[str, list[tuple[int, float, str]]] = defaultdict(list)
    for turn in turns.find({}, {"conversation": 1, "position": 1, "created_at": 1}):
        of_conversation[turn["conversation"]].append((turn["position"], turn["created_at"], turn["_id"]))
    for placed in of_conversation.values():
        if len({position for position, _, _ in placed}) == len(placed):
            continue
        last = max(position for position, _, _ in placed)
        for number, (_, _, turn_id) in enumerate(sorted(placed), start=last + 1):
            turns.update_one({"_id": turn_id}, {"$set": {"position": number}})
