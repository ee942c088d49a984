"""A document with headings of every level, as the readers cut it."""

from __future__ import annotations

import numpy as np

from pipeline.stores.base import NewDocument
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.levels import document_id
from tests.contracts.documents import MANIFEST
from tests.readers.oracle import count_words

LONG = "overpressure " * 20
TEXT = (
    f"---\ntitle: Tanks\ndescription: {'note ' * 50}\n---\n\n"
    + "".join(f"{'#' * level} {level} {LONG}\n\n" for level in range(1, 7))
    + "| head |\n|---|\n| row |\n\n"
    + "".join(f"p{number}\n\n" for number in range(40))
    + "## Second\n\nText.\n"
)


def document(text: str) -> NewDocument:
    """A document as the readers cut it; all its vectors are the same."""
    corpus = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10**7)
    sections, sentences = corpus.cut(text, source="tanks.md")
    vector = np.eye(1, MANIFEST.dimensions, dtype=np.float32)[0]
    return NewDocument(
        id=document_id("tanks.md"),
        source="tanks.md",
        root="/docs",
        title=sections[0].metadata["title"],
        hash="h",
        text=text,
        sections=sections,
        sentences=sentences,
        vectors={node.node_id: vector for node in (*sections, *sentences)},
    )
