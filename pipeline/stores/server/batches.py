"""What is written to Weaviate: an object a section and a sentence, in batches that are tried until done."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from weaviate.classes.data import DataObject
from weaviate.collections.classes.filters import FilterReturn
from weaviate.exceptions import (
    WeaviateBatchError,
    WeaviateDeleteManyError,
    WeaviateInsertManyAllFailedError,
)

from pipeline.analysis import lexical_text
from pipeline.nodes import Node
from pipeline.stores.base import Level, NewDocument
from pipeline.stores.metadata import sentence_metadata
from pipeline.stores.server.schema import SEARCHED

BATCH_OBJECTS = 400
BATCH_CHARACTERS = 4_000_000
ATTEMPTS = 4
RETRY_WAIT_S = 0.2  # doubled at each attempt

_NAMESPACE = uuid.UUID("5b0d3a8e-95f4-4f0d-8f0b-0f6b5f2e9a11")

Properties = Mapping[str, Any]
NodeObject = DataObject[Properties, None]


class Batches(Protocol):
    """What of a collection's `data` writing and deleting need."""

    def insert_many(self, objects: Any) -> Any:
        """Write objects; what comes back has `errors`, by position."""

    def delete_many(self, where: Any) -> Any:
        """Delete objects; what comes back has `matches` and `successful`."""


def object_id(version: str, node_id: str) -> uuid.UUID:
    """The id of an object: written again, it takes the place of itself."""
    return uuid.uuid5(_NAMESPACE, f"{version}/{node_id}")


def node_objects(document: NewDocument, version: str) -> dict[Level, list[NodeObject]]:
    """The objects of a document's version; raises `StoreError` where a node has no section or no vector."""
    by_section = document.sentences_by_section()
    return {
        "section": [_object(document, version, node, {}) for node in document.sections],
        "sentence": [
            _object(document, version, node, properties)
            for section in document.sections
            for node, properties in _sentences(section, by_section[section.node_id])
        ],
    }


def in_batches(objects: Sequence[NodeObject]) -> Iterator[list[NodeObject]]:
    """The objects in batches that are not too large for one call."""
    batch: list[NodeObject] = []
    characters = 0
    for item in objects:
        size = len(item.properties[SEARCHED]) + len(item.properties.get("text", ""))
        if batch and (len(batch) == BATCH_OBJECTS or characters + size > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(item)
        characters += size
    if batch:
        yield batch


def insert_batch(data: Batches, objects: Sequence[NodeObject]) -> None:
    """Write one batch; failed objects are tried again, then there is a `WeaviateBatchError`."""
    waiting = list(objects)
    message = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(RETRY_WAIT_S * 2**attempt)
        failed = _failures(data, waiting)
        if not failed:
            return
        message = str(next(iter(failed.values())))
        waiting = [waiting[position] for position in sorted(failed)]
    raise WeaviateBatchError(f"{len(waiting)} of {len(objects)} objects, tried {ATTEMPTS} times: {message}")


def delete_where(data: Batches, where: FilterReturn) -> None:
    """Delete what a filter means until none is left."""
    idle = 0
    while True:
        result = data.delete_many(where=where)
        if result.matches == 0:
            return
        idle = 0 if result.successful else idle + 1
        if idle == ATTEMPTS:
            # It could say why, but Weaviate 1.36 fails in saying so. What is known to do this:
            likely = "as they do where it is read-only"
            raise WeaviateDeleteManyError(f"{result.matches} objects stay, tried {ATTEMPTS} times, {likely}")
        if idle:
            time.sleep(RETRY_WAIT_S * 2**idle)


def _failures(data: Batches, objects: Sequence[NodeObject]) -> dict[int, str]:
    """The messages of objects that were not written, by position."""
    try:
        result = data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:
        return dict.fromkeys(range(len(objects)), error.message.rpartition("errors: ")[2])
    return {position: error.message for position, error in result.errors.items()}


def _sentences(section: Node, sentences: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    for position, node in enumerate(sentences):
        yield (
            node,
            {
                "section": section.node_id,
                "position": position,
                "start": node.start_char_idx,
                "end": node.end_char_idx,
                "metadata": sentence_metadata(node, section),
                "text": node.text,
            },
        )


def _object(document: NewDocument, version: str, node: Node, properties: dict[str, Any]) -> NodeObject:
    return DataObject(
        uuid=object_id(version, node.node_id),
        properties={"node": node.node_id, "version": version, "lexical": lexical_text(node), **properties},
        vector=document.vector(node).tolist(),
    )
