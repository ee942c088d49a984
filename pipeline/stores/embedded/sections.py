"""`SectionStore` on SQLite."""

from __future__ import annotations

import json
from collections.abc import Collection

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, StoredDocument
from pipeline.stores.embedded.database import ConnectionPool, snapshot
from pipeline.stores.embedded.documents import (
    find_info,
    list_infos,
    read_manifest,
    read_state,
    read_text,
)
from pipeline.stores.embedded.node_rows import SECTIONS_BY_ID, SECTIONS_OF_DOCUMENT, section_nodes


class EmbeddedSections:
    """Whole documents and their sections, of the visible build."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        with self._pool.borrow() as connection, snapshot(connection):
            return list_infos(connection, read_state(connection).visible, self._pool.known)

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._pool.borrow() as connection, snapshot(connection):
            build = read_state(connection).visible
            info = find_info(connection, build, source, self._pool.known)
            text = read_text(connection, build, source)
            rows = connection.execute(SECTIONS_OF_DOCUMENT, (build, source))
            sections = section_nodes(connection, rows, self._pool.known)
        return StoredDocument(info, text, tuple(sections))

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""
        with self._pool.borrow() as connection, snapshot(connection):
            parameters = (read_state(connection).visible, json.dumps(list(node_ids)))
            rows = connection.execute(SECTIONS_BY_ID, parameters)
            nodes = section_nodes(connection, rows, self._pool.known)
        return {node.node_id: node for node in nodes}

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return read_manifest(connection, state.visible, state.generation)
