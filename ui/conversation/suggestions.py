"""Topics to begin with, which the documents cover."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.asking.suggestions import first_topics
from pipeline.stores.base import DocumentInfo
from ui.shared.corpus import is_the_ships

QUESTIONS = 4
SUGGESTED = (  # for the manuals that come with Athena
    "The LN2 tank shows OFFLINE. What can be the reason and what do I do?",
    "ECS reports MALFUNC. How do I find the cause?",
    "How long does the oxygen last?",
    "What do I do when the CO2 in the cabin rises?",
)


def suggestions(documents: Sequence[DocumentInfo]) -> list[str]:
    """Return questions written for the manuals that come with Athena, else titles of these documents."""
    return list(SUGGESTED) if is_the_ships(documents) else first_topics(documents, limit=QUESTIONS)
