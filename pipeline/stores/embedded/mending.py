"""Vectors that are damaged or missing, embedded again from the text, which is the truth."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from pipeline.nodes import Node
from pipeline.notices import notices
from pipeline.stores.base import Manifest, Vector
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.documents import packed, read_manifest, read_state
from pipeline.stores.embedded.node_rows import NumberedSection, numbered_sections
from pipeline.stores.manifest import check_manifest
from pipeline.words import counted

Embed = Callable[[Sequence[Node], Sequence[Node]], Mapping[str, Vector]]
"""The vectors of sections and of sentences, by node id."""

AT_ONCE = 64  # sections that are embedded together


class SectionVectors(NamedTuple):
    """What the table `embedding` has of one section."""

    section: int
    first_sentence: int
    vectors: bytes


Keep = Callable[[Sequence[SectionVectors]], bool]
"""Writes vectors in the place of the damaged ones where it can, and says whether it did."""


class VectorMending:
    """Embeds sections again and puts their vectors where they were, unless nothing may be written."""

    def __init__(self, embed: Embed | None, *, manifest: Manifest | None, keep: Keep) -> None:
        self._embed = embed
        self._manifest = manifest
        self._keep = keep

    def mend(self, connection: sqlite3.Connection, sections: Collection[int]) -> dict[int, SectionVectors]:
        """The vectors of some sections, by number.

        Raises `Damaged` where their text is damaged, too, and `ManifestMismatch` where they were another's.
        """
        if self._embed is None:
            raise Damaged(f"the vectors of {counted(len(sections), 'section')} are not as they were written")
        stored = read_manifest(connection, read_state(connection).visible)
        check_manifest(stored, self._manifest)
        numbers = sorted(sections)
        made: list[SectionVectors] = []
        for first in range(0, len(numbers), AT_ONCE):
            found = numbered_sections(connection, numbers[first : first + AT_ONCE])
            made += _embedded(found, self._embed)
        if len(made) < len(numbers):
            raise Damaged("sections are in none of the documents")
        kept = self._keep(made)
        notices.warning(
            "The vectors of %s were damaged: embedded again from the text%s.",
            counted(len(numbers), "section"),
            "" if kept else ", but not stored, as nothing can be written there now",
        )
        return {section.section: section for section in made}


def _embedded(sections: Sequence[NumberedSection], embed: Embed) -> list[SectionVectors]:
    sentences = [sentence for section in sections for sentence in section.sentences]
    vectors = embed([section.node for section in sections], sentences)
    return [
        SectionVectors(
            section.number,
            section.first_sentence,
            packed(vectors[node.node_id] for node in (section.node, *section.sentences)),
        )
        for section in sections
    ]
