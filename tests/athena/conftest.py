"""The small manual, indexed once, and the small data set."""

from __future__ import annotations

from tests.evals.conftest import beir
from tests.pipeline.conftest import manual

__all__ = ["beir", "manual"]
