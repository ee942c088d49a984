"""Every contract test runs on every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.stores.base import DocumentStore
from pipeline.stores.embedded import EmbeddedStore
from tests.server_stores import server_addresses

BACKENDS = ["embedded", pytest.param("server", marks=pytest.mark.server)]


OpenStore = Callable[..., DocumentStore]


@pytest.fixture(params=BACKENDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens stores over the same data, empty at first, a backend in turn; they are closed at the end."""
    with ExitStack() as stack:
        make: OpenStore = partial(EmbeddedStore, tmp_path / "store")
        if request.param == "server":
            from pipeline.stores.server import ServerStore

            make = partial(ServerStore, stack.enter_context(server_addresses()))

        def opened(**options: Any) -> DocumentStore:
            return stack.enter_context(closing(make(**options)))

        yield opened


@pytest.fixture
def store(open_store: OpenStore) -> DocumentStore:
    """An empty store of each backend in turn."""
    return open_store()
