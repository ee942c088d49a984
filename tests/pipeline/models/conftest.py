"""What all tests of the models share: a second try comes at once."""

from __future__ import annotations

import pytest

from pipeline.models import generation, remote_embedding


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again after a moment instead of half a second, dozens of times."""
    for module in (generation, remote_embedding):
        monkeypatch.setattr(module, "RETRY_AFTER_S", 0.01)
