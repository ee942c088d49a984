"""The small manual, indexed once."""

from __future__ import annotations

from tests.pipeline.conftest import manual

__all__ = ["manual"]
