"""Documents and their nodes: written to MongoDB as records, and read from both servers."""

from __future__ import annotations

from collections.abc import Collection as Ids
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.query import Filter

from pipeline.errors import StoreDamaged, UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Level, NewDocument, Statistics, StoredDocument, Vector
from pipeline.stores.metadata import own_metadata, whole_metadata
from pipeline.stores.server.connections import Connections, Db, Record, in_parts
from pipeline.stores.server.index import Index, has_documents, read_index
from pipeline.stores.server.schema import collection_names

MOST_RESULTS = 10_000
"""Weaviate's default QUERY_MAXIMUM_RESULTS: the most objects that a query returns."""

INFO = tuple(field.name for field in fields(DocumentInfo) if field.name != "source")


class Stored(NamedTuple):
    """One object of Weaviate with its properties, and its vector as it was written."""

    properties: Mapping[str, Any]
    vector: Vector


def list_infos(database: Db) -> list[DocumentInfo]:
    """All visible documents, by source."""
    found = database["documents"].find({"version": {"$ne": ""}}, dict.fromkeys(INFO, 1))
    return [_info(record) for record in found.sort("_id", 1)]


def read_nodes(
    connections: Connections, database: Db, node_ids: Ids[str], of_sections: Ids[str]
) -> dict[str, StoredNode]:
    """Nodes by id, in the order of `node_ids`, then all sentences of some sections."""
    sections = read_sections(database, {*node_ids, *of_sections})
    below = [id_ for known in of_sections if known in sections for id_ in sections[known].sentence_ids]
    wanted = [id_ for id_ in node_ids if id_ not in sections] + below
    found = stored_objects(connections, database, "sentence", wanted)
    above = {str(one.properties["section"]) for one in found.values()}
    sections |= read_sections(database, above - sections.keys())
    nodes: dict[str, StoredNode] = {**sections} | {
        id_: _sentence(one.properties, sections[str(one.properties["section"])])
        for id_, one in found.items()
        if one.properties["section"] in sections
    }
    return {id_: nodes[id_] for id_ in (*node_ids, *below) if id_ in nodes}


def stored_objects(
    connections: Connections, database: Db, level: Level, node_ids: Ids[str]
) -> dict[str, Stored]:
    """The visible objects of some nodes of a level, by node id."""
    index = read_index(database)
    if index is None or not node_ids:
        return {}
    name = collection_names(connections.addresses, index.build)[level]
    calls = [partial(_fetch, name=name, ids=ids) for ids in in_parts(dict.fromkeys(node_ids))]
    objects = [one for found in connections.weaviate(*calls) for one in found]
    versions = read_versions(database, {str(one.properties["path"]) for one in objects})
    return {
        one.properties["node"]: one
        for one in objects
        if versions.get(str(one.properties["path"])) == one.properties["version"]
    }


def document_fields(document: NewDocument) -> Record:
    """The fields of a document's record that describe the visible version."""
    info = asdict(document.info)
    return {name: info[name] for name in INFO} | {"language": document.language}


def section_records(document: NewDocument, version: str) -> Iterator[Record]:
    """The records of a document's sections, in order."""
    sentences = document.sentences_by_section()
    for order, node in enumerate(document.sections):
        yield {
            "_id": f"{version}/{order}",
            "version": version,
            "source": document.source,
            "document": document.id,
            "order": order,
            "node": node.node_id,
            "start": node.start_char_idx,
            "end": node.end_char_idx,
            "metadata": own_metadata(node.metadata, {}),
            "text": node.text,
            "sentences": [sentence.node_id for sentence in sentences[node.node_id]],
        }


def read_versions(database: Db, sources: Iterable[str]) -> dict[str, str]:
    """The visible versions of documents, by source."""
    return {
        record["_id"]: record["version"]
        for some in in_parts(sources)
        for record in database["documents"].find({"_id": {"$in": some}}, {"version": 1})
        if record["version"]
    }


def read_sections(database: Db, node_ids: Ids[str]) -> dict[str, StoredNode]:
    """Visible sections by id."""
    rows = [
        row for some in in_parts(set(node_ids)) for row in database["sections"].find({"node": {"$in": some}})
    ]
    versions = read_versions(database, {row["source"] for row in rows})
    return {row["node"]: _section(row) for row in rows if versions.get(row["source"]) == row["version"]}


def read_document(database: Db, source: str) -> StoredDocument:
    """A document with its text and sections; read again where it was replaced meanwhile."""
    for _ in range(3):
        record = database["documents"].find_one({"_id": source})
        if record is None or not record["version"]:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
        rows = [*database["sections"].find({"version": record["version"]}).sort("order", 1)]
        text = database["texts"].find_one({"_id": record["version"]})
        if text is not None and len(rows) == record["sections"]:
            return StoredDocument(_info(record), text["text"], tuple(map(_section, rows)))
    raise StoreDamaged(
        f"MongoDB lacks a part of '{source}'.", "Ingest it again with `athena ingest --rebuild`."
    )


def count(database: Db, index: Index | None) -> Statistics:
    """The statistics of an index, counted over all its documents."""
    if index is None or not has_documents(database):
        return Statistics()
    languages = _sums(database, group="$language", add=1)
    sentences = sum(_sums(database, group=None, add="$sentences").values())
    return Statistics(sentences, languages, index.manifest)


def _sums(database: Db, *, group: str | None, add: int | str) -> dict[str, int]:
    """The sum of a field, or the number, of visible documents in each group, the largest first.

    One sum a call: FerretDB 1.24 gets a second one in the same call wrong.
    """
    stages: list[Record] = [
        {"$match": {"version": {"$ne": ""}}},
        {"$group": {"_id": group, "sum": {"$sum": add}}},
    ]
    groups = sorted(database["documents"].aggregate(stages), key=lambda found: -found["sum"])
    return {found["_id"]: int(found["sum"]) for found in groups}


def _fetch(client: WeaviateClient, name: str, ids: list[str]) -> list[Stored]:
    answer = client.collections.use(name).query.fetch_objects(
        filters=Filter.by_property("node").contains_any(ids), limit=MOST_RESULTS, include_vector=True
    )
    return [
        Stored(one.properties, np.asarray(one.vector["default"], dtype=np.float32))
        for one in answer.objects
        if "path" in one.properties  # not deleted between the search and the reading of properties
    ]


def _info(record: Record) -> DocumentInfo:
    return DocumentInfo(source=record["_id"], **{name: record[name] for name in INFO})


def _section(row: Record) -> StoredNode:
    return StoredNode(
        node_id=row["node"],
        text=row["text"],
        metadata=whole_metadata(row["metadata"], {}),
        start_char_idx=row["start"],
        end_char_idx=row["end"],
        document_id=row["document"],
        sentence_ids=tuple(row["sentences"]),
    )


def _sentence(properties: Mapping[str, Any], section: StoredNode) -> StoredNode:
    start, end = properties.get("start"), properties.get("end")
    return StoredNode(
        node_id=properties["node"],
        text=properties["text"],
        metadata=whole_metadata(properties["metadata"], section.metadata),
        start_char_idx=None if start is None else int(start),
        end_char_idx=None if end is None else int(end),
        document_id=section.document_id,
        section_id=section.node_id,
    )
