"""Tables of contents: pages that are lists of links. They name what others say, and answer nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.stores.base import SectionStore

FEWEST_LINKS = 4
MOSTLY = 0.8  # of the lines that have words

_LINK_ALONE = re.compile(
    r"\s*(?:[-*+]|\d{1,3}[.)])?\s*(?:\*\*|__)?\[(?:[^\[\]]|\[[^\[\]]*\])+\]"
    r"(?:\([^()]*\)|\[[^\[\]]*\])(?:\*\*|__)?[.,;:]?\s*"
)
_WORDED = re.compile(r"\w")
_WANTED = re.compile(
    r"\b(?:contents|toc|chapters?|(?:what|which|list|all) (?:the |of the )?(?:pages|documents|manuals"
    r"|sections|guides|topics)|overview of (?:the|this) (?:book|manuals?|documents?|documentation|guide))\b",
    re.IGNORECASE,
)


def is_contents(text: str) -> bool:
    """Whether a text is a list of links and next to nothing else."""
    lines = [line for line in text.splitlines() if _WORDED.search(line)]
    links = sum(_LINK_ALONE.fullmatch(line) is not None for line in lines)
    return links >= FEWEST_LINKS and links >= MOSTLY * len(lines)


def without_contents(passages: Sequence[Passage], question: str, *, sections: SectionStore) -> list[Passage]:
    """The passages without tables of contents; all, where the question is about what there is to read.

    Also where nothing else was found.
    """
    if _WANTED.search(question):
        return list(passages)
    return [passage for passage in passages if not _of_contents(passage, sections)] or list(passages)


def _of_contents(passage: Passage, sections: SectionStore) -> bool:
    """Whether a passage is of a page of nothing but links: others may list what they support."""
    if not is_contents(passage.section.text):
        return False
    try:
        page = sections.document(passage.section.metadata["source"])
    except UnknownDocument:  # deleted since
        return True
    return is_contents("\n".join(section.text for section in page.sections))
