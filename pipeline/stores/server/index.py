"""The index's one record in MongoDB: which build is searched, and what it was made with.

A build is one index made with one manifest: two collections in Weaviate (`schema.py`) and four in MongoDB,
all named after it. A rebuild writes another build, and one update of this record publishes it.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from pymongo.collection import Collection
from pymongo.errors import DuplicateKeyError
from weaviate import WeaviateClient

from pipeline.stores.base import Manifest, check_manifest
from pipeline.stores.server.connections import Connections, Db, Record, create_indexes
from pipeline.stores.server.schema import collection_names, create_collections

INDEX = {"_id": "index"}

INDEXES: dict[str, tuple[tuple[str, ...], ...]] = {
    "documents": (("clean", "begun_at"),),
    "texts": (),
    "sections": (("node",), ("version", "order")),
    "words": (),
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
    if record is None:
        return None
    generation = int(record["generation"])
    return Index(record["build"], Manifest(**{**record["manifest"], "generation": generation}), generation)


def raise_generation(database: Db) -> None:
    """Raise the generation, because documents changed."""
    database["index"].update_one(INDEX, {"$inc": {"generation": 1}})


def documents_of(database: Db, build: str) -> Collection[Record]:
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
        index = read_index(database) or _begin(database, manifest)
        is_empty = not has_documents(database, index.build)
        if not is_empty and not rebuild:
            check_manifest(index.manifest, manifest)
        build = index.build
        is_other = replace(index.manifest, generation=0) != replace(manifest, generation=0)
        if is_other or (rebuild and not is_empty):
            build = _rebuilt(database, manifest)
        connections.weaviate(lambda client: create_collections(client, connections.addresses, build))
        create_indexes(database, {f"{name}_{build}": keys for name, keys in INDEXES.items()})
        if is_empty:
            publish(connections, build)
        _drop_retired(connections, database)
    return build


def publish(connections: Connections, build: str) -> None:
    """Search a rebuilt index from now on, and drop the former one; nothing where it is searched already."""
    with connections.mongodb() as database:
        pending = {**INDEX, "rebuild.build": build}
        record = database["index"].find_one(pending)
        if record is None:
            return
        database["index"].update_one(
            pending,
            {
                "$set": {"build": build, "manifest": record["rebuild"]["manifest"], "rebuild": None},
                "$inc": {"generation": 1},
                "$push": {"retired": record["build"]},
            },
        )
        _drop_retired(connections, database)


def _begin(database: Db, manifest: Manifest) -> Index:
    """The record of a new, empty index, or the one that another process has just made."""
    first: Record = {**INDEX, **_new_build(manifest), "generation": 0, "rebuild": None, "retired": []}
    with suppress(DuplicateKeyError):
        database["index"].insert_one(first)
    return read_index(database) or _begin(database, manifest)


def _rebuilt(database: Db, manifest: Manifest) -> str:
    """The build of a rebuild: an unfinished one with the same manifest, or a new one."""
    record = database["index"].find_one(INDEX) or {"rebuild": None}
    unfinished, new = record["rebuild"], _new_build(manifest)
    if unfinished and unfinished["manifest"] == new["manifest"]:
        return str(unfinished["build"])
    retired = {"$push": {"retired": unfinished["build"]}} if unfinished else {}
    database["index"].update_one(INDEX, {"$set": {"rebuild": new}, **retired})
    return str(new["build"])


def _new_build(manifest: Manifest) -> Record:
    return {"build": uuid.uuid4().hex[:8], "manifest": asdict(replace(manifest, generation=0))}


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
