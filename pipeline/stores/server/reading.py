"""Documents and their nodes: written to MongoDB as records, and read from both servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Collection as Ids
from dataclasses import asdict, fields
from functools import partial
from typing import Any

from pymongo.collection import Collection
from weaviate import WeaviateClient
from weaviate.classes.query import Filter

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Level, NewDocument, own_metadata, whole_metadata
from pipeline.stores.server.connections import Connections, Db, Record, Result, in_parts
from pipeline.stores.server.index import read_index
from pipeline.stores.server.schema import collection_names

MOST_RESULTS = 10_000
"""Weaviate's default QUERY_MAXIMUM_RESULTS: the most objects that a query returns."""

READINGS = 5
MOST_KNOWN = 100_000  # documents whose versions a process keeps
INFO = tuple(field.name for field in fields(DocumentInfo) if field.name != "source")


def stored_objects(
    connections: Connections, database: Db, level: Level, node_ids: Ids[str]
) -> dict[str, Any]:
    """Return Weaviate's visible objects for these nodes of a level, by node id, with their vectors."""
    index = read_index(database)
    if index is None or not node_ids:
        return {}
    name = collection_names(connections.addresses, index.build)[level]
    calls = [partial(_fetch, name=name, ids=ids) for ids in in_parts(dict.fromkeys(node_ids))]
    objects, versions = read_with_versions(
        connections,
        database,
        lambda: [one for found in connections.weaviate(*calls) for one in found],
        lambda found: {str(one.properties["path"]) for one in found},
    )
    return {
        one.properties["node"]: one
        for one in objects
        if versions.get(str(one.properties["path"])) == one.properties["version"]
    }


def document_fields(document: NewDocument) -> Record:
    """Return the fields of a document's record that describe the visible version."""
    info = asdict(document.info)
    return {name: info[name] for name in INFO} | {"language": document.language}


def section_records(document: NewDocument, version: str) -> Iterator[Record]:
    """Yield the records of a document's sections, in order."""
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


def read_with_versions(
    connections: Connections,
    database: Db,
    read: Callable[[], Result],
    sources_of: Callable[[Result], Iterable[str]],
) -> tuple[Result, Mapping[str, str]]:
    """Return the result of `read`, and the visible version ("" if none) of each document in it, by source.

    A version is complete in both servers before the generation rises, and the document's record then gets
    the new generation with the version. So the result is complete unless a record's generation is above that
    before `read`; `read` is then called again, `READINGS` times at most. While the generation stays the same,
    no visible version is deleted, so that the versions that were read before are still known.
    """
    for _ in range(READINGS):
        index = read_index(database)
        found = read()
        of, known = connections.known_versions
        known = known if of == index == read_index(database) else {}
        unknown = {*sources_of(found)} - known.keys()
        records = _among(database["documents"], "_id", unknown, "version", "generation")
        new = dict.fromkeys(unknown, "") | {one["_id"]: one["version"] for one in records}
        versions = {**known, **new} if new else known  # many are known: no copy without need
        generation = index.generation if index else 0
        if all(one.get("generation", 0) <= generation for one in records if one["version"]):
            connections.known_versions = index, versions if len(versions) <= MOST_KNOWN else {}
            break
    return found, versions


def _among(rows: Collection[Record], key: str, values: Iterable[str], *names: str) -> list[Record]:
    """Return the records whose `key` has one of the values, in calls of limited size."""
    return [one for some in in_parts(values) for one in rows.find({key: {"$in": some}}, names or None)]


def read_sections(connections: Connections, database: Db, node_ids: Ids[str]) -> dict[str, StoredNode]:
    """Return the visible sections among these nodes, by id."""
    rows, versions = read_with_versions(
        connections,
        database,
        lambda: _among(database["sections"], "node", set(node_ids)),
        lambda found: {row["source"] for row in found},
    )
    return {row["node"]: section_of(row) for row in rows if versions.get(row["source"]) == row["version"]}


def sums(database: Db, *, group: str | None, add: int | str) -> dict[str, int]:
    """Return, for each group of visible documents, the sum of a field or of a number, the largest first.

    One sum per call: FerretDB 1.24 computes a second one in the same call wrongly.
    """
    stages: list[Record] = [
        {"$match": {"version": {"$ne": ""}}},
        {"$group": {"_id": group, "sum": {"$sum": add}}},
    ]
    groups = sorted(database["documents"].aggregate(stages), key=lambda found: -found["sum"])
    return {found["_id"]: int(found["sum"]) for found in groups}


def _fetch(client: WeaviateClient, name: str, ids: list[str]) -> list[Any]:
    answer = client.collections.use(name).query.fetch_objects(
        filters=Filter.by_property("node").contains_any(ids), limit=MOST_RESULTS, include_vector=True
    )
    # An object that was deleted between the search and the reading of its properties has none.
    return [one for one in answer.objects if "path" in one.properties]


def document_info(record: Record) -> DocumentInfo:
    """Return a document's record as `DocumentInfo`."""
    return DocumentInfo(source=record["_id"], **{name: record[name] for name in INFO})


def section_of(row: Record) -> StoredNode:
    """Return the section of a record."""
    return StoredNode(
        node_id=row["node"],
        text=row["text"],
        metadata=whole_metadata(row["metadata"], {}),
        start_char_idx=row["start"],
        end_char_idx=row["end"],
        document_id=row["document"],
        sentence_ids=tuple(row["sentences"]),
    )


def sentence_of(properties: Mapping[str, Any], section: StoredNode) -> StoredNode:
    """Return the sentence that an object's properties describe; `section` is the sentence's own."""
    return StoredNode(
        node_id=properties["node"],
        text=properties["text"],
        metadata=whole_metadata(properties["metadata"], section.metadata),
        start_char_idx=int(properties["start"]),
        end_char_idx=int(properties["end"]),
        document_id=section.document_id,
        section_id=section.node_id,
    )
