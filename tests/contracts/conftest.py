"""Every contract test runs on every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from pipeline.stores.base import Manifest, Store
from pipeline.stores.embedded import EmbeddedStore
from tests.server_stores import server_addresses

BACKENDS = ["embedded", pytest.param("server", marks=pytest.mark.server)]


@contextmanager
def opened_store(backend: str, folder: Path) -> Iterator[Store]:
    """One empty store of a backend."""
    with ExitStack() as stack:
        if backend == "server":
            from pipeline.stores.server import ServerStore

            store: Store = ServerStore(stack.enter_context(server_addresses()))
        else:
            store = EmbeddedStore(folder / "store")
        yield stack.enter_context(closing(store))


OpenStore = Callable[..., Store]


@pytest.fixture(params=BACKENDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens stores over the same data, empty at first, a backend in turn; they are closed at the end."""
    with ExitStack() as stack:
        make: OpenStore = partial(EmbeddedStore, tmp_path / "store")
        if request.param == "server":
            from pipeline.stores.server import ServerStore

            make = partial(ServerStore, stack.enter_context(server_addresses()))

        def opened(*, manifest: Manifest | None = None) -> Store:
            wanted = (lambda: manifest) if manifest else None
            return stack.enter_context(closing(make(manifest=wanted)))

        yield opened


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """An empty store of each backend in turn."""
    return open_store()
