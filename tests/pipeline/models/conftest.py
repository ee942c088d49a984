"""What all tests of the models share: a second try comes at once."""

from __future__ import annotations

import pytest

from pipeline.models import generation


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again after a moment instead of half a second, dozens of times."""
    monkeypatch.setattr(generation, "RETRY_AFTER_S", 0.01)
