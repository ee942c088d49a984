"""The index's one record in MongoDB: its manifest, and the build that names its collections in Weaviate.

`build` is part of the names of these collections: a rebuild makes new ones. `is_emptied` is False from the
beginning of a rebuild until the old nodes and collections are deleted; after a crash in between, the next
ingest deletes them.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError
from weaviate import WeaviateClient

from pipeline.errors import StoreError
from pipeline.stores.base import Manifest, check_manifest
from pipeline.stores.server.connections import Connections, Db, Record
from pipeline.stores.server.schema import collection_names, create_collections

INDEX = {"_id": "index"}


@dataclass(frozen=True, slots=True)
class Index:
    """The index at one moment; once `generation` has risen, documents are counted again."""

    build: str
    manifest: Manifest
    generation: int


def read_index(database: Db) -> Index | None:
    """Return the index; None if nothing was ever written."""
    record = database["index"].find_one(INDEX)
    if record is None:
        return None
    return Index(record["build"], Manifest(**record["manifest"]), record["generation"])


def check_build(database: Db, build: str) -> None:
    """Raise `StoreError` if another process has begun a rebuild."""
    index = read_index(database)
    if index is None or index.build != build:
        raise StoreError("Another process has begun to rebuild the index.", "Ingest again when it is done.")


def raise_generation(database: Db) -> int:
    """Increase the generation, because documents change, and return it; 0 if there is no index."""
    raised = database["index"].find_one_and_update(
        INDEX, {"$inc": {"generation": 1}}, return_document=ReturnDocument.AFTER
    )
    return int(raised["generation"]) if raised else 0


def visible_index(database: Db) -> Index | None:
    """Return the index; None if no document is visible."""
    seen = database["documents"].find_one({"version": {"$ne": ""}}, {"_id": 1})
    return read_index(database) if seen else None


def begin_writing(connections: Connections, manifest: Manifest, *, rebuild: bool) -> str:
    """Return the build to write to; raises `ManifestMismatch` for a filled index with another manifest."""
    with connections.mongodb() as database:
        with suppress(DuplicateKeyError):  # there is one already
            database["index"].insert_one({**INDEX, **_new_index(manifest), "is_emptied": True})
        record = database["index"].find_one(INDEX) or {}
        is_other = record["manifest"] != asdict(manifest)
        if is_other and not rebuild and visible_index(database):
            check_manifest(Manifest(**record["manifest"]), manifest)
        if is_other or rebuild:
            record = _new_index(manifest)
        build = str(record["build"])
        connections.weaviate(lambda client: create_collections(client, connections.addresses, build))
        if is_other or rebuild:
            del record["generation"]
            database["index"].update_one(INDEX, {"$set": record, "$inc": {"generation": 1}})
        if not record["is_emptied"]:
            _empty(connections, database, build)
    return build


def _empty(connections: Connections, database: Db, build: str) -> None:
    """Before a rebuild, delete everything derived from the documents, but not their texts.

    A process that is still writing a document then finds that its version is no longer `next`.
    """
    stale = {"next": "", "sections": 0, "sentences": 0, "indexed_at": 0.0}
    database["documents"].update_many({}, {"$set": stale})
    for name in ("sections", "words"):
        database[name].delete_many({})
    current = set(collection_names(connections.addresses, build).values())
    ours = re.compile(rf"{connections.addresses.weaviate_prefix}_[0-9a-f]{{8}}_(section|sentence)")

    def drop(client: WeaviateClient) -> None:
        names = set(client.collections.list_all(simple=True)) - current
        client.collections.delete([name for name in names if ours.fullmatch(name)])

    connections.weaviate(drop)
    database["index"].update_one({**INDEX, "build": build}, {"$set": {"is_emptied": True}})


def _new_index(manifest: Manifest) -> Record:
    build = uuid.uuid4().hex[:8]
    return {"build": build, "manifest": asdict(manifest), "generation": 0, "is_emptied": False}
