"""What MongoDB holds of a build: documents, their texts and their sections.

A document's record names the version of it that is visible. A version is written whole before one update
of that record puts it in the place of the former one, which is deleted afterwards:

    pending   the version that is being written, seen by nobody
    version   the version that is visible; None where there is none (yet, or any more)
    retired   versions that were visible and are still to be deleted
    changed   the generation of the state in which `version` changed last
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.stores.base import DocumentInfo, NewDocument
from pipeline.stores.nodes import StoredNode, metadata_json, section_node, sentences_by_section
from pipeline.stores.server.mongo import Document, MongoServer, chunks

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

SECTIONS_AN_INSERT = 500


@dataclass(frozen=True, slots=True)
class Record:
    """One document's record."""

    build: str
    source: str
    version: str | None = None
    pending: str | None = None
    retired: tuple[str, ...] = ()
    changed: int = 0
    info: DocumentInfo | None = None

    @property
    def id(self) -> str:
        """The record's id: one a document and build."""
        return f"{self.build}/{self.source}"

    @property
    def leftovers(self) -> tuple[str, ...]:
        """Versions that are to be deleted when nobody writes them."""
        return self.retired if self.pending is None else (*self.retired, self.pending)


def record_of(stored: Document) -> Record:
    """The record that was stored."""
    return Record(
        build=stored["build"],
        source=stored["source"],
        version=stored.get("version"),
        pending=stored.get("pending"),
        retired=tuple(stored.get("retired", ())),
        changed=stored.get("changed", 0),
        info=_info(stored),
    )


def read_records(mongo: MongoServer, build: str, *, after: int | None = None) -> list[Record]:
    """The records of a build; only those that changed after a generation, where one is given."""
    where: Document = {"build": build}
    if after is not None:
        where["changed"] = {"$gt": after}
    with mongo.collection("documents") as documents:
        return [record_of(stored) for stored in documents.find(where)]


def begin_version(mongo: MongoServer, record: Record) -> None:
    """Say that `record.pending` is being written."""
    fields = {"build": record.build, "source": record.source, "pending": record.pending}
    absent: Document = {"version": None, "retired": [], "changed": 0, "info": None}
    with mongo.collection("documents") as documents:
        documents.update_one({"_id": record.id}, {"$set": fields, "$setOnInsert": absent}, upsert=True)


def show_version(mongo: MongoServer, former: Record, shown: Record) -> bool:
    """Put the pending version in the place of the former one; False where another writer has cleared it."""
    changes = {
        "version": shown.version,
        "pending": None,
        "retired": list(shown.retired),
        "changed": shown.changed,
        "info": asdict(shown.info) if shown.info else None,
    }
    with mongo.collection("documents") as documents:
        done = documents.update_one({"_id": former.id, "pending": former.pending}, {"$set": changes})
    return done.matched_count == 1


def clean_records(mongo: MongoServer, records: Collection[Record]) -> None:
    """Say that the leftovers of some records are gone; those without a version go, too."""
    gone = [record.id for record in records if record.version is None]
    kept = [record.id for record in records if record.version is not None]
    with mongo.collection("documents") as documents:
        for ids in chunks(gone):
            documents.delete_many({"_id": {"$in": ids}})
        for ids in chunks(kept):
            documents.update_many({"_id": {"$in": ids}}, {"$set": {"pending": None, "retired": []}})


def insert_version(mongo: MongoServer, build: str, version: str, document: NewDocument) -> None:
    """Write a version's text and sections."""
    children = sentences_by_section(document)
    with mongo.database() as database:
        database["texts"].insert_one({"_id": version, "build": build, "text": document.text})
        for some in chunks(enumerate(document.sections), SECTIONS_AN_INSERT):
            database["sections"].insert_many(
                [
                    _section_record(node, children[node.node_id], build=build, version=version, order=order)
                    for order, node in some
                ],
                ordered=False,
            )


def delete_versions(mongo: MongoServer, versions: Collection[str]) -> None:
    """Delete the texts and sections of some versions."""
    with mongo.database() as database:
        for some in chunks(versions):
            database["sections"].delete_many({"version": {"$in": some}})
            database["texts"].delete_many({"_id": {"$in": some}})


def delete_build(mongo: MongoServer, build: str) -> None:
    """Delete all records of a build, its own last."""
    with mongo.database() as database:
        for name in ("sections", "texts", "documents"):
            database[name].delete_many({"build": build})
        database["builds"].delete_one({"_id": build})


def read_text(mongo: MongoServer, version: str) -> str | None:
    """The text of a version; None where it is gone."""
    with mongo.collection("texts") as texts:
        stored = texts.find_one({"_id": version})
    return None if stored is None else str(stored["text"])


def read_sections(mongo: MongoServer, where: Mapping[str, Any]) -> Iterator[Document]:
    """The section records that a filter means, in the order of their documents."""
    with mongo.collection("sections") as sections:
        yield from sections.find(where).sort("order", 1)


def section_of(stored: Document, document_id: str) -> TextNode:
    """The node of a section's record."""
    node = StoredNode(
        id=stored["node"],
        start=stored["start"],
        end=stored["end"],
        metadata=stored["metadata"],
        text=stored["text"],
        document_id=document_id,
    )
    return section_node(node, stored["children"])


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


def without_pending(record: Record) -> Record:
    """The record when its leftovers are gone."""
    return replace(record, pending=None, retired=())


def _section_record(
    node: TextNode, children: list[TextNode], *, build: str, version: str, order: int
) -> Document:
    return {
        "_id": f"{version}/{order}",
        "build": build,
        "version": version,
        "order": order,
        "node": node.node_id,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "metadata": metadata_json(node),
        "text": node.text,
        "children": [child.node_id for child in children],
    }


def _info(stored: Document) -> DocumentInfo | None:
    return DocumentInfo(**stored["info"]) if stored.get("info") else None
