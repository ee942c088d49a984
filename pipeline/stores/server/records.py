"""What MongoDB holds of a build: documents, their texts and their sections.

`documents` is a log: its newest record of a source names the version of it that is visible, or none. A
version is written whole (it is *pending* meanwhile) before one insert shows it in the place of the former
one, which is deleted afterwards, with the records that are superseded. Records are numbered, and each number
exists once: a writer that lost its place can show nothing more, because its successor took the number.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from pymongo.errors import BulkWriteError

from pipeline.errors import StoreError
from pipeline.stores.base import DocumentInfo, NewDocument
from pipeline.stores.metadata import document_metadata, section_metadata
from pipeline.stores.server.mongo import Document, MongoServer, chunks

ROWS_AN_INSERT = 500
DUPLICATE = 11000  # MongoDB's error code


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the log: from here on `version` of `source` is visible; without one, none is.

    An entry without a source shows nothing: a writer takes its place in the log with it.
    """

    number: int
    build: str
    source: str
    version: str | None = None
    info: DocumentInfo | None = None


def read_records(mongo: MongoServer, build: str, *, after: int = 0) -> list[Record]:
    """The log of a build, in order; only what comes after a number, where one is given."""
    where = {"build": build, "_id": {"$gt": after}}
    with mongo.collection("documents") as documents:
        return sorted(map(_record, documents.find(where)), key=lambda record: record.number)


def visible_records(records: Iterable[Record]) -> dict[str, Record]:
    """The newest entry of each source that has a visible version, of a log in order."""
    newest = {record.source: record for record in records}
    return {source: record for source, record in newest.items() if record.version is not None}


def append_records(mongo: MongoServer, records: Sequence[Record]) -> None:
    """Add to the log, each record on its own and in order; raises `StoreError` where a number is taken."""
    with mongo.collection("documents") as documents:
        try:
            documents.insert_many([_stored(record) for record in records], ordered=True)
        except BulkWriteError as error:
            if not _is_duplicate(error):
                raise
            raise StoreError(
                f"Cannot store '{records[0].source}': another process has taken the writer's place.",
                "Wait until it has finished and ingest again.",
            ) from error


def delete_records(mongo: MongoServer, numbers: Iterable[int]) -> None:
    """Delete entries of the log."""
    with mongo.collection("documents") as documents:
        for some in chunks(numbers):
            documents.delete_many({"_id": {"$in": some}})


def insert_pending(mongo: MongoServer, build: str, versions: Collection[str]) -> None:
    """Mark some versions as being written."""
    with mongo.collection("pending") as pending:
        pending.insert_many([{"_id": version, "build": build} for version in versions], ordered=False)


def read_pending(mongo: MongoServer, build: str) -> list[str]:
    """The versions that are, or were, being written."""
    with mongo.collection("pending") as pending:
        return [str(stored["_id"]) for stored in pending.find({"build": build})]


def clear_pending(mongo: MongoServer, build: str) -> None:
    """Mark nothing as being written."""
    with mongo.collection("pending") as pending:
        pending.delete_many({"build": build})


def insert_versions(mongo: MongoServer, build: str, documents: Mapping[str, NewDocument]) -> None:
    """Write the texts and sections of some documents, by version."""
    texts = (
        {
            "_id": version,
            "build": build,
            "text": document.text,
            "metadata": document_metadata(document.sections),
        }
        for version, document in documents.items()
    )
    sections = (
        record for version, document in documents.items() for record in _sections(document, build, version)
    )
    with mongo.database() as database:
        for rows in chunks(texts, ROWS_AN_INSERT):
            database["texts"].insert_many(rows, ordered=False)
        for rows in chunks(sections, ROWS_AN_INSERT):
            database["sections"].insert_many(rows, ordered=False)


def delete_versions(mongo: MongoServer, versions: Collection[str]) -> None:
    """Delete the texts and sections of some versions."""
    with mongo.database() as database:
        for some in chunks(versions):
            database["sections"].delete_many({"version": {"$in": some}})
            database["texts"].delete_many({"_id": {"$in": some}})


def delete_build(mongo: MongoServer, build: str) -> None:
    """Delete all records of a build, its own last."""
    with mongo.database() as database:
        for name in ("sections", "texts", "pending", "documents"):
            database[name].delete_many({"build": build})
        database["builds"].delete_one({"_id": build})


def known_builds(mongo: MongoServer) -> list[str]:
    """All builds that there are."""
    with mongo.collection("builds") as builds:
        return [str(record["_id"]) for record in builds.find({}, {"_id": 1})]


def read_texts(mongo: MongoServer, where: Document) -> Iterator[Document]:
    """The texts that a filter means, each with what stands once for its document."""
    with mongo.collection("texts") as texts:
        yield from texts.find(where)


def read_sections(mongo: MongoServer, where: Document) -> Iterator[Document]:
    """The sections that a filter means, in the order of their documents."""
    with mongo.collection("sections") as sections:
        yield from sections.find(where).sort("order", 1)


def read_shared(mongo: MongoServer, versions: Collection[str]) -> dict[str, str]:
    """What stands once for the sections of some versions, by version."""
    shared: dict[str, str] = {}
    with mongo.collection("texts") as texts:
        for some in chunks(versions):
            where = {"_id": {"$in": some} if len(some) > 1 else some[0]}
            shared |= {row["_id"]: row["metadata"] for row in texts.find(where, {"metadata": 1})}
    return shared


def info_of(document: NewDocument, indexed_at: float) -> DocumentInfo:
    """What is listed of a document."""
    return DocumentInfo(
        id=document.id,
        source=document.source,
        root=document.root,
        title=document.title,
        hash=document.hash,
        sections=len(document.sections),
        sentences=len(document.sentences),
        characters=len(document.text),
        indexed_at=indexed_at,
    )


def _sections(document: NewDocument, build: str, version: str) -> Iterator[Document]:
    children = document.sentences_by_section()
    shared = json.loads(document_metadata(document.sections))
    for order, node in enumerate(document.sections):
        yield {
            "_id": f"{version}/{order}",
            "build": build,
            "version": version,
            "order": order,
            "node": node.node_id,
            "start": node.start_char_idx,
            "end": node.end_char_idx,
            "metadata": section_metadata(node, shared),
            "text": node.text,
            "children": [child.node_id for child in children[node.node_id]],
        }


def _record(stored: Document) -> Record:
    info = DocumentInfo(**stored["info"]) if stored["info"] else None
    return Record(stored["_id"], stored["build"], stored["source"], stored["version"], info)


def _stored(record: Record) -> Document:
    stored = asdict(record)
    return {"_id": stored.pop("number"), **stored}


def _is_duplicate(error: BulkWriteError) -> bool:
    return any(item.get("code") == DUPLICATE for item in (error.details or {}).get("writeErrors", ()))
