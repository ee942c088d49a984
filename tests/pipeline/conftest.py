"""The small manual, indexed once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_store


@pytest.fixture(scope="session")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    """A store with the small manual, to be read only."""
    store = make_store(tmp_path_factory.mktemp("manual"))
    yield store
    store.close()
