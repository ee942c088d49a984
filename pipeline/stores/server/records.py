"""The records of documents and sections in MongoDB."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, NewDocument
from pipeline.stores.metadata import document_metadata, read_section, section_metadata
from pipeline.stores.server.connections import Db, Record, in_parts
from pipeline.stores.server.index import documents_of

INFO = tuple(field.name for field in fields(DocumentInfo) if field.name != "source")
FOR_SECTIONS = dict.fromkeys(("version", "next", "id", "metadata"), 1)


def document_fields(document: NewDocument, now: float) -> Record:
    """The fields of a document's record that say what the visible version is."""
    first = next(iter(document.sections), None)
    return {
        "id": document.id,
        "root": document.root,
        "title": document.title,
        "hash": document.hash,
        "sections": len(document.sections),
        "sentences": len(document.sentences),
        "characters": len(document.text),
        "indexed_at": now,
        "metadata": document_metadata(document.sections),
        "language": first.metadata.get("language", "en") if first else "en",
    }


def list_documents(database: Db, build: str) -> list[DocumentInfo]:
    """The visible documents of a build, by source."""
    found = documents_of(database, build).find({"version": {"$ne": ""}}, dict.fromkeys(INFO, 1))
    return [info_of(record) for record in found.sort("_id", 1)]


def info_of(record: Mapping[str, Any]) -> DocumentInfo:
    """The document of a record."""
    return DocumentInfo(source=record["_id"], **{name: record[name] for name in INFO})


def read_records(database: Db, build: str, sources: Iterable[str]) -> dict[str, Record]:
    """The records of visible documents, by source."""
    documents = documents_of(database, build)
    return {
        record["_id"]: record
        for some in in_parts(sources)
        for record in documents.find({"_id": {"$in": some}}, FOR_SECTIONS)
        if record["version"]
    }


def section_records(document: NewDocument, version: str) -> Iterator[Record]:
    """The records of a document's sections, in order."""
    sentences = document.sentences_by_section()
    shared = json.loads(document_metadata(document.sections))
    for order, node in enumerate(document.sections):
        yield {
            "_id": f"{version}/{order}",
            "version": version,
            "source": document.source,
            "order": order,
            "node": node.node_id,
            "start": node.start_char_idx,
            "end": node.end_char_idx,
            "metadata": section_metadata(node, shared),
            "text": node.text,
            "sentences": [sentence.node_id for sentence in sentences[node.node_id]],
        }


def section_node(row: Record, record: Record) -> StoredNode:
    """The section of a record, which takes from its document's record what all sections share."""
    return StoredNode(
        node_id=row["node"],
        text=row["text"],
        metadata=read_section(record["metadata"], row["metadata"]),
        start_char_idx=row["start"],
        end_char_idx=row["end"],
        document_id=record["id"],
        sentence_ids=tuple(row["sentences"]),
    )
