"""Every contract test runs on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.stores.base import DocumentStore
from pipeline.stores.embedded import EmbeddedStore


@pytest.fixture(params=["embedded"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    """An empty store of each backend in turn."""
    match request.param:
        case "embedded":
            opened = EmbeddedStore(tmp_path / "store")
    yield opened
    opened.close()
