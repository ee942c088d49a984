"""Questions to begin with, that the documents can answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from pipeline.asking.suggestions import own_title, suggested_questions
from pipeline.stores.base import DocumentInfo, SectionStore
from ui.shared.corpus import is_the_ships

QUESTIONS = 4
SUGGESTED = (  # for the manuals that come with Athena
    "The LN2 tank shows OFFLINE. What can be the reason and what do I do?",
    "ECS reports MALFUNC. How do I find the cause?",
    "How long does the oxygen last?",
    "What do I do when the CO2 in the cabin rises?",
)


def suggestions(documents: Sequence[DocumentInfo], sections: SectionStore) -> list[str]:
    """Four questions that these documents can answer: prepared for our manuals, else made of headings."""
    if is_the_ships(documents):
        return list(SUGGESTED)
    made = suggested_questions(documents, sections)
    more = _by_heading(documents, sections) if len(made) < QUESTIONS else ()
    return list(islice(dict.fromkeys([*made, *more]), QUESTIONS))


def _by_heading(documents: Sequence[DocumentInfo], sections: SectionStore) -> Iterable[str]:
    """A question for each document, beginning with some that are spread over the whole list."""
    step = max(1, len(documents) // QUESTIONS)
    for info in [*documents[::step], *documents]:
        found = sections.document(info.source).sections
        for section in found[1:2] or found:
            title = own_title(info)
            if heading := [title, *(section.metadata.get("heading_path") or [])][-1]:
                about = "do the documents" if heading == title or not title else f"does {title}"
                yield f"What {about} say about “{heading}”?"
