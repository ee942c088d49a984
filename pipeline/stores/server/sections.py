"""`SectionStore` on MongoDB, and what both halves of the store read it with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Ids
from typing import TypeVar

from pymongo.collection import Collection

from pipeline.errors import StoreDamaged, StoreError, UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, Statistics, StoredDocument
from pipeline.stores.server.connections import Connections, Db, Record, in_parts
from pipeline.stores.server.index import Index, documents_of, has_documents, read_index
from pipeline.stores.server.records import info_of, list_documents, read_records, section_node

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""Reads of something whose document is replaced at that moment; each begins after the replacement."""


class Reader:
    """Reads the searched build; the current versions are looked up for each read."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._statistics: tuple[Index | None, Statistics] = None, Statistics()

    def read(self, read: Callable[[Db, Index], Result], empty: Result) -> Result:
        """The result of `read`, made of one build; `empty` where nothing was ever indexed."""
        with self.connections.mongodb() as database:
            index = read_index(database)
            while index is not None:
                failure: StoreError | None = None
                try:
                    result = read(database, index)
                except StoreError as error:
                    failure = error
                now = read_index(database)
                if now is not None and now.build != index.build:  # a rebuild was published meanwhile
                    index = now
                    continue
                if failure is not None:
                    raise failure
                return result
        return empty

    def statistics(self) -> Statistics:
        """Counts over all documents, computed again after each change of them."""
        return self.read(self._count, Statistics())

    def _count(self, database: Db, index: Index) -> Statistics:
        known, statistics = self._statistics
        if known == index:
            return statistics
        documents = documents_of(database, index.build)
        languages = _sums(documents, group="$language", add=1)
        sections, sentences = (
            sum(_sums(documents, group=None, add=field).values()) for field in ("$sections", "$sentences")
        )
        statistics = Statistics(sum(languages.values()), sections, sentences, languages)
        self._statistics = index, statistics
        return statistics


def _sums(documents: Collection[Record], *, group: str | None, add: int | str) -> dict[str, int]:
    """The sum of a field, or the number, of visible documents in each group, the largest first.

    One sum a call: FerretDB 1.24 gets a second one in the same call wrong.
    """
    stages: list[Record] = [
        {"$match": {"version": {"$ne": ""}}},
        {"$group": {"_id": group, "sum": {"$sum": add}}},
    ]
    groups = sorted(documents.aggregate(stages), key=lambda found: -found["sum"])
    return {found["_id"]: int(found["sum"]) for found in groups}


def current(
    database: Db,
    index: Index,
    fetch: Callable[[], Sequence[Item]],
    place: Callable[[Item], tuple[str, str]],
) -> tuple[list[Item], dict[str, Record]]:
    """The fetched items of visible versions, and the records of their documents by source.

    `place` returns an item's source and version, "" for both where the item has lost its properties. Items
    of a replaced version are fetched again: all of the new version was there before the record named it.
    """
    for _ in range(ATTEMPTS):
        items = fetch()
        records = read_records(database, index.build, {place(item)[0] for item in items})
        kept, replaced = sort_out(items, records, place)
        if not replaced:
            break
    return kept, records


def sort_out(
    items: Iterable[Item], records: Mapping[str, Record], place: Callable[[Item], tuple[str, str]]
) -> tuple[list[Item], bool]:
    """The items of visible versions, and whether one was of a version that is replaced."""
    kept: list[Item] = []
    replaced = False
    for item in items:
        source, version = place(item)
        if not source:  # Weaviate found the object, which was deleted before it read the properties
            replaced = True
            continue
        record = records.get(source)
        if record is None:  # deleted, or not visible yet
            continue
        if record["version"] == version:
            kept.append(item)
        elif record["next"] != version:
            replaced = True
    return kept, replaced


class ServerSections:
    """Fulfils `SectionStore`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        return self._reader.read(lambda database, index: list_documents(database, index.build), [])

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        found = self._reader.read(lambda database, index: _document(database, index, source), None)
        if found is None:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
        return found

    def get_many(self, node_ids: Ids[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""
        return self._reader.read(lambda database, index: read_sections(database, index, node_ids), {})

    def statistics(self) -> Statistics:
        """How much is indexed."""
        return self._reader.statistics()

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""

        def read(database: Db, index: Index) -> Manifest | None:
            return index.manifest if has_documents(database, index.build) else None

        return self._reader.read(read, None)


def read_sections(database: Db, index: Index, node_ids: Ids[str]) -> dict[str, StoredNode]:
    """Visible sections by id."""

    def fetch() -> list[Record]:
        sections = database[f"sections_{index.build}"]
        return [row for some in in_parts(set(node_ids)) for row in sections.find({"node": {"$in": some}})]

    rows, records = current(database, index, fetch, lambda row: (row["source"], row["version"]))
    return {row["node"]: section_node(row, records[row["source"]]) for row in rows}


def _document(database: Db, index: Index, source: str) -> StoredDocument | None:
    """A document with its text and sections; read again where it was replaced meanwhile."""
    for _ in range(ATTEMPTS):
        record = documents_of(database, index.build).find_one({"_id": source})
        if record is None or not record["version"]:
            return None
        of_version = {"version": record["version"]}
        rows = [*database[f"sections_{index.build}"].find(of_version).sort("order", 1)]
        text = database[f"texts_{index.build}"].find_one({"_id": record["version"]})
        if text is not None and len(rows) == record["sections"]:
            sections = tuple(section_node(row, record) for row in rows)
            return StoredDocument(info_of(record), text["text"], sections)
    raise StoreDamaged(
        f"MongoDB lacks a part of '{source}'.", "Ingest it again with `athena ingest --rebuild`."
    )
