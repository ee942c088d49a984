"""Whether the demonstration's manuals are what is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

MANUAL = "systems/atmosphere-supply.md"  # one of the manuals that come with Athena


def is_the_ships(documents: Iterable[DocumentInfo]) -> bool:
    """Return whether the manuals that come with Athena are among the documents."""
    return any(info.source.endswith(MANUAL) for info in documents)
