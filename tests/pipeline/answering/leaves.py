"""A passage of Markdown with its leaves, as the readers cut it."""

from __future__ import annotations

from pipeline.answer import Passage
from pipeline.answering.blocks import PassageLeaves
from readers.cutting import SentenceCutter
from readers.sections import read_sections


def passage_of(markdown: str, *, title: str = "Title") -> PassageLeaves:
    """Return the first section of a file that has this text under a heading."""
    section = read_sections(f"# {title}\n\n{markdown}\n", source="file.md")[0]
    cutter = SentenceCutter(lambda text: len(text.split()), max_tokens=60)
    return PassageLeaves(Passage(section, (), merged=True, score=1.0), tuple(cutter.cut(section)))
