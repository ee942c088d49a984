"""The index's one record in MongoDB: which build is searched, and what it was made with.

A build is one index made with one manifest: two collections in Weaviate (`schema.py`) and three in MongoDB,
all named after it. A rebuild writes another build, and one update of this record publishes it.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, replace
from typing import Any

from pymongo.errors import DuplicateKeyError
from weaviate import WeaviateClient

from pipeline.stores.base import Manifest
from pipeline.stores.manifest import check_manifest
from pipeline.stores.server.connections import Connections, Db, Record
from pipeline.stores.server.schema import collection_names, create_collections

INDEX = {"_id": "index"}

INDEXES: dict[str, tuple[tuple[str, ...], ...]] = {
    "documents": (("clean", "begun_at"),),
    "texts": (),
    "sections": (("node",), ("version", "order")),
}


@dataclass(frozen=True, slots=True)
class Index:
    """The index as it is searched at one moment; `generation` rises with every change of its documents."""

    build: str
    manifest: Manifest
    generation: int


def read_index(database: Db) -> Index | None:
    """The index that is searched; None where nothing was ever written."""
    record = database["index"].find_one(INDEX)
    return _index(record) if record else None


def raise_generation(database: Db) -> None:
    """Note that documents changed."""
    database["index"].update_one(INDEX, {"$inc": {"generation": 1}})


def documents_of(database: Db, build: str) -> Any:
    """The documents' records of a build."""
    return database[f"documents_{build}"]


def has_documents(database: Db, build: str) -> bool:
    """True where a build has a document that is visible."""
    return documents_of(database, build).find_one({"version": {"$ne": ""}}, {"_id": 1}) is not None


def build_to_write(connections: Connections, manifest: Manifest, *, rebuild: bool) -> str:
    """The build that an ingest with this manifest writes to; raises `ManifestMismatch`.

    A rebuild continues an unfinished one of the same manifest. An index without documents takes any manifest.
    """
    with connections.mongodb() as database:
        record = database["index"].find_one(INDEX) or _begin(database, manifest)
        index = _index(record)
        if not has_documents(database, index.build):
            if replace(index.manifest, generation=0) != replace(manifest, generation=0):
                record = _replace_empty(database, index, manifest)
            build = str(record["build"])
        elif not rebuild:
            check_manifest(index.manifest, manifest)
            build = index.build
        else:
            build = _rebuilt(database, record, manifest)
        _create(connections, database, build)
        _drop_retired(connections, database)
    return build


def publish(connections: Connections, build: str) -> None:
    """Search a rebuilt index from now on, and drop the former one; nothing where it is searched already."""
    with connections.mongodb() as database:
        record = database["index"].find_one({**INDEX, "rebuild.build": build})
        if record is None:
            return
        database["index"].update_one(
            {**INDEX, "rebuild.build": build},
            {
                "$set": {"build": build, "manifest": record["rebuild"]["manifest"], "rebuild": None},
                "$inc": {"generation": 1},
                "$push": {"retired": record["build"]},
            },
        )
        _drop_retired(connections, database)


def _index(record: Record) -> Index:
    generation = int(record["generation"])
    return Index(record["build"], Manifest(**{**record["manifest"], "generation": generation}), generation)


def _begin(database: Db, manifest: Manifest) -> Record:
    """The record of a new, empty index, or the one that another process has just made."""
    first: Record = {**INDEX, **_build(manifest), "generation": 0, "rebuild": None, "retired": []}
    try:
        database["index"].insert_one(first)
    except DuplicateKeyError:
        return database["index"].find_one(INDEX) or first
    return first


def _replace_empty(database: Db, index: Index, manifest: Manifest) -> Record:
    """Give an index without documents another manifest."""
    new = _build(manifest)
    change = {"$set": new, "$inc": {"generation": 1}, "$push": {"retired": index.build}}
    database["index"].update_one({**INDEX, "build": index.build}, change)
    return database["index"].find_one(INDEX) or new


def _rebuilt(database: Db, record: Record, manifest: Manifest) -> str:
    """The build of a rebuild: an unfinished one with the same manifest, or a new one."""
    unfinished = record["rebuild"]
    new = _build(manifest)
    if unfinished and unfinished["manifest"] == new["manifest"]:
        return str(unfinished["build"])
    change: Record = {"$set": {"rebuild": new}}
    if unfinished:
        change["$push"] = {"retired": unfinished["build"]}
    database["index"].update_one(INDEX, change)
    return str(new["build"])


def _build(manifest: Manifest) -> Record:
    return {"build": uuid.uuid4().hex[:8], "manifest": asdict(replace(manifest, generation=0))}


def _create(connections: Connections, database: Db, build: str) -> None:
    connections.weaviate(lambda client: create_collections(client, connections.addresses, build))
    for name, indexes in INDEXES.items():
        for keys in indexes:
            database[f"{name}_{build}"].create_index(list(keys))


def _drop_retired(connections: Connections, database: Db) -> None:
    """Delete the builds that nobody searches or writes any more."""

    def drop(client: WeaviateClient) -> None:
        client.collections.delete(list(collection_names(connections.addresses, build).values()))

    record = database["index"].find_one(INDEX) or {"retired": []}
    for build in record["retired"]:
        connections.weaviate(drop)
        for name in INDEXES:
            database.drop_collection(f"{name}_{build}")
        database["index"].update_one(INDEX, {"$pull": {"retired": build}})
