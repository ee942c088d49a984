"""The small manual, indexed once, the small data set, and a user's memory in the process."""

from __future__ import annotations

from tests.evals.conftest import beir
from tests.memory.conftest import clock, memories, mine
from tests.pipeline.conftest import manual

__all__ = ["beir", "clock", "manual", "memories", "mine"]
