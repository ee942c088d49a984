"""How much memory an index of so many sentences wants, computed: the table of docs/server.md.

`python -m bench.server_sizes` prints it.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

from bench.table import markdown_table
from pipeline.stores.base import DocumentInfo
from pipeline.stores.server.schema import HNSW_CONNECTIONS

DIMENSIONS = 384
SENTENCES_A_SECTION = 5  # the manuals have 4.2, SciFact 9.1
SENTENCES_A_DOCUMENT = 75  # the manuals have 74

VECTOR_BYTES = {"none": 4 * DIMENSIONS, "rq": DIMENSIONS + 16, "bq": DIMENSIONS // 8}
"""What of a vector is in memory: 32, 8 or 1 bits a number, and what `rq` adds to each."""

LINK_BYTES = 10
LINKS = 2 * HNSW_CONNECTIONS  # on the lowest level of the graph, where all objects are
COLLECTOR = 2.0
"""Go lets garbage grow to as much as is in use; Weaviate's manual says to plan for twice as much, too."""

NODE_GB = 64
USABLE = 0.75
"""The part of a server's memory that is planned with: queries, writes and the system want some, too."""

GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class Size:
    """What an index of `sentences` wants, kept once."""

    sentences: int
    quantizer: str

    @property
    def objects(self) -> int:
        """Sentences and sections in Weaviate."""
        return self.sentences + self.sentences // SENTENCES_A_SECTION

    @property
    def weaviate_bytes(self) -> float:
        """Memory of Weaviate, all its servers together."""
        return COLLECTOR * self.objects * (VECTOR_BYTES[self.quantizer] + LINKS * LINK_BYTES)

    @property
    def nodes(self) -> int:
        """Servers of 64 GB."""
        return math.ceil(self.weaviate_bytes / (USABLE * NODE_GB * GIGABYTE))

    @property
    def documents(self) -> int:
        """Documents of the length of the manuals."""
        return self.sentences // SENTENCES_A_DOCUMENT


def computed(sizes: Sequence[int]) -> str:
    """The table: a row a size and quantizer."""
    a_document = bytes_a_document()
    rows = []
    for sentences in sizes:
        for quantizer in VECTOR_BYTES:
            size = Size(sentences, quantizer)
            listed = f"{size.documents * a_document / GIGABYTE:.2f} GB"
            memory = f"{size.weaviate_bytes / GIGABYTE:,.1f} GB"
            rows.append((f"{sentences // 10**6} million", quantizer, memory, f"{size.nodes}", listed))
    headings = ("sentences", "quantizer", "Weaviate's memory", f"servers of {NODE_GB} GB", "each app process")
    return markdown_table(headings, rows)


def bytes_a_document(count: int = 2000) -> int:
    """Memory that each app process keeps of a document, whose entry it lists: rounded to hundreds."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    listed = {f"{number:032x}": _info(number) for number in range(count)}
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return 100 * round(grown / len(listed) / 100)


def _info(number: int) -> DocumentInfo:
    name = f"folder-{number % 100}/document-{number}.md"
    return DocumentInfo(
        id=f"{number:036x}",
        source=name,
        root="/documents",
        title=f"Document {number}",
        hash=f"{number:064x}",
        sections=SENTENCES_A_DOCUMENT // SENTENCES_A_SECTION,
        sentences=SENTENCES_A_DOCUMENT,
        characters=10_000 + number,
        indexed_at=float(number),
    )


if __name__ == "__main__":
    print(computed([10**6, 10**7, 10**8]))
