"""Addresses of one's own on the real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from tests.server_stores import server_addresses


@pytest.fixture
def addresses() -> Iterator[ServerAddresses]:
    """A database and collections of one's own, removed afterwards."""
    with server_addresses() as given:
        yield given


@pytest.fixture
def store(addresses: ServerAddresses) -> Iterator[ServerStore]:
    """An empty store."""
    opened = ServerStore(addresses)
    yield opened
    opened.close()
