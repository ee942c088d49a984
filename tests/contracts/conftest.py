"""Every contract test runs on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.stores.base import DocumentStore
from pipeline.stores.embedded import EmbeddedStore
from tests.server_stores import server_addresses

BACKENDS = ["embedded", pytest.param("server", marks=pytest.mark.server)]


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    """An empty store of each backend in turn."""
    match request.param:
        case "embedded":
            embedded = EmbeddedStore(tmp_path / "store")
            yield embedded
            embedded.close()
        case "server":
            from pipeline.stores.server import ServerStore

            with server_addresses() as addresses:
                server = ServerStore(addresses)
                yield server
                server.close()
