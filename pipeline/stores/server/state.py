"""The state of a store in MongoDB: which build is visible, how often it has changed, who writes to it.

It is one record, changed by single updates, each of which only the holder of the writer's place can make.

- `build` names the visible build: its collections in Weaviate and its records in MongoDB.
- `generation` rises with every change of what is visible.
- `written` is the number of the last entry of the log of documents, of whichever build.
- `deleted` is the generation up to which replaced versions may have been deleted: readers of an older one
  read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from pipeline.stores.base import Manifest
from pipeline.stores.server.mongo import Document, MongoServer

STATE_ID = "state"


@dataclass(frozen=True, slots=True)
class State:
    """The record, as it was read; without a store, nothing was ever written."""

    store: str = ""
    build: str | None = None
    manifest: Manifest | None = None
    generation: int = 0
    written: int = 0
    deleted: int = 0

    def shows_same(self, other: State) -> bool:
        """True where nothing that a reader sees has changed between the two."""
        return (self.store, self.build, self.generation, self.deleted) == (
            other.store,
            other.build,
            other.generation,
            other.deleted,
        )


def read_state(mongo: MongoServer) -> State:
    """The state as of now: one small read by id."""
    with mongo.collection("state") as states:
        record = states.find_one({"_id": STATE_ID})
    return State() if record is None else state_of(record)


def state_of(record: Document) -> State:
    """The state that a record holds."""
    return State(
        store=record["store"],
        build=record.get("build"),
        manifest=manifest_of(record.get("manifest")),
        generation=record["generation"],
        written=record["written"],
        deleted=record["deleted"],
    )


def manifest_record(manifest: Manifest) -> Document:
    """A manifest as it is stored: its generation is the state's."""
    return asdict(replace(manifest, generation=0))


def manifest_of(record: Any) -> Manifest | None:
    """The manifest that was stored."""
    return Manifest(**record) if record else None
