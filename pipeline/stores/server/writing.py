"""Write documents: first store a new version next to the old one, then update the document's record.

A document's record names the `version` that searches show ("": the document is deleted or not complete),
the `next` version while a process writes it, and all `versions` that may have data in either server. Several
processes may ingest different documents at once; if two write the same one, the one that began later wins. A
killed process leaves versions that no search shows: the next ingest of that document deletes them, or `sweep`
at the end of any ingest.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError
from weaviate import WeaviateClient
from weaviate.classes.query import Filter
from weaviate.exceptions import WeaviateBatchError, WeaviateDeleteManyError

from pipeline.errors import UnknownDocument
from pipeline.stores.base import LEVELS, Level, NewDocument, words_of
from pipeline.stores.server.connections import Connections, Db, Record, in_parts
from pipeline.stores.server.index import check_build, raise_generation
from pipeline.stores.server.reading import document_fields, section_records
from pipeline.stores.server.schema import NodeObject, collection_names, node_objects

OBJECTS_A_CALL = 400
ABANDONED_S = 600.0
"""If the writing of a version began longer ago than this, its process is taken for dead."""

DUPLICATE = 11000  # MongoDB's code

log = logging.getLogger(__name__)


class ServerWriting:
    """Fulfils `Writing` for one build."""

    def __init__(self, connections: Connections, build: str) -> None:
        self._connections = connections
        self._build = build
        self._words = set[str]()

    def replace(self, *documents: NewDocument) -> None:
        """Write documents: first into both servers, then their records; then delete the former versions."""
        group = {uuid.uuid4().hex: document for document in documents}
        objects = [node_objects(document, version) for version, document in group.items()]
        with self._connections.mongodb() as database:
            _begin(database, group)
            check_build(database, self._build)
            insert_objects(
                self._connections,
                self._build,
                {level: [one for by_level in objects for one in by_level[level]] for level in LEVELS},
            )
            _insert_sections(database, group)
            _switch(database, group, raise_generation(database))  # before: `read_with_versions` says why
            clean(self._connections, database, self._build, [document.source for document in documents])
        sections = [section for document in documents for section in document.sections]
        self._words |= words_of(" ".join((*one.metadata["heading_path"], one.text)) for one in sections)

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        with self._connections.mongodb() as database:
            change = {"$set": {"version": "", "next": "", "clean": False}}  # nobody sees it any more
            shown = {"_id": source, "version": {"$ne": ""}}
            if database["documents"].update_one(shown, change).matched_count == 0:
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
            clean(self._connections, database, self._build, [source])

    def finish(self) -> None:
        """Store the words of the written documents, and delete the versions that dead processes left."""
        with self._connections.mongodb() as database:
            for some in in_parts(self._words):  # they correct spelling; none is ever deleted
                _insert_missing(database, "words", [{"_id": word} for word in some])
            sweep(self._connections, database, self._build)


def clean(connections: Connections, database: Db, build: str, sources: Iterable[str]) -> None:
    """Delete the versions of some documents that are neither visible nor being written.

    The generation rises first, so that readers look up the visible versions and count documents again.
    """
    documents = database["documents"]
    for some in in_parts(sources):
        raise_generation(database)
        records = [*documents.find({"_id": {"$in": some}}, {"version": 1, "next": 1, "versions": 1})]
        old = [
            [one for one in record["versions"] if one not in (record["version"], record["next"])]
            for record in records
        ]
        _delete_versions(connections, database, build, [version for versions in old for version in versions])
        changes = [  # of records that no other process has changed since
            UpdateOne(record, {"$pullAll": {"versions": gone}, "$set": {"clean": record["next"] == ""}})
            for record, gone in zip(records, old, strict=True)
        ]
        if changes:
            documents.bulk_write(changes)
        documents.delete_many({"_id": {"$in": some}, "version": "", "next": "", "clean": True})


def sweep(connections: Connections, database: Db, build: str) -> None:
    """Delete the versions of processes that ended while they wrote or deleted documents."""
    documents = database["documents"]
    abandoned = [{"next": ""}, {"begun_at": {"$lt": time.time() - ABANDONED_S}}]
    records = [*documents.find({"clean": False, "$or": abandoned}, {"next": 1})]
    for record in records:  # a process that still writes one finds that it is not `next` any more
        documents.update_one(record, {"$set": {"next": ""}})
    clean(connections, database, build, [record["_id"] for record in records])


def insert_objects(
    connections: Connections, build: str, objects: Mapping[Level, Sequence[NodeObject]]
) -> None:
    """Write objects to Weaviate; raises `StoreError` if one is not written."""
    names = collection_names(connections.addresses, build)

    def insert(client: WeaviateClient, level: Level, some: list[NodeObject]) -> None:
        errors = client.collections.use(names[level]).data.insert_many(some).errors
        if errors:
            first = next(iter(errors.values())).message
            raise WeaviateBatchError(f"{len(errors)} of {len(some)} objects were not written: {first}")

    connections.weaviate(
        *(
            partial(insert, level=level, some=some)
            for level in LEVELS
            for some in in_parts(objects[level], OBJECTS_A_CALL)
        )
    )


def _begin(database: Db, group: Mapping[str, NewDocument]) -> None:
    """Store in the documents' records that these versions are being written."""
    new = {"version": "", "next": "", "versions": [], "clean": False}
    _insert_missing(database, "documents", [{"_id": one.source, **new} for one in group.values()])
    database["documents"].bulk_write(
        [
            UpdateOne(
                {"_id": document.source},
                {
                    "$set": {"next": version, "begun_at": time.time(), "clean": False},
                    "$push": {"versions": version},
                    "$setOnInsert": {"version": ""},
                },
                upsert=True,
            )
            for version, document in group.items()
        ]
    )


def _insert_sections(database: Db, group: Mapping[str, NewDocument]) -> None:
    texts = ({"_id": version, "text": document.text} for version, document in group.items())
    sections = (record for version, one in group.items() for record in section_records(one, version))
    for name, records in (("texts", texts), ("sections", sections)):
        for some in in_parts(records):
            database[name].insert_many(some, ordered=False)


def _switch(database: Db, group: Mapping[str, NewDocument], generation: int) -> None:
    """Make the new versions visible, except of documents that another process began to write later."""
    shown = {"next": "", "generation": generation}
    result = database["documents"].bulk_write(
        [
            UpdateOne(
                {"_id": document.source, "next": version},
                {"$set": {**shown, "version": version, **document_fields(document)}},
            )
            for version, document in group.items()
        ],
        ordered=False,
    )
    if lost := len(group) - result.matched_count:
        log.warning("%d documents were written by another process at the same time: its version stays", lost)


def _insert_missing(database: Db, name: str, records: Sequence[Record]) -> None:
    """Insert the records whose ids a collection does not have.

    If two processes upsert one record at once, a server may refuse the second; it does not refuse to update
    a record that exists.
    """
    try:
        database[name].insert_many(records, ordered=False)
    except BulkWriteError as error:
        if any(one["code"] != DUPLICATE for one in error.details["writeErrors"]):
            raise


def _delete_versions(connections: Connections, database: Db, build: str, versions: list[str]) -> None:
    names = collection_names(connections.addresses, build)

    def delete(client: WeaviateClient, name: str, some: list[str]) -> None:
        data = client.collections.use(name).data
        while True:  # Weaviate deletes at most QUERY_MAXIMUM_RESULTS objects a call
            result = data.delete_many(where=Filter.by_property("version").contains_any(some))
            if result.matches == 0:
                return
            if result.successful == 0:
                raise WeaviateDeleteManyError(f"{result.matches} objects of former versions stay: read-only?")

    for some in in_parts(versions):
        connections.weaviate(*(partial(delete, name=name, some=some) for name in names.values()))
        database["sections"].delete_many({"version": {"$in": some}})
        database["texts"].delete_many({"_id": {"$in": some}})
