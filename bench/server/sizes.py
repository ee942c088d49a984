"""How much memory an index of so many sentences wants: computed, and measured on a small one beside it.

`python -m bench.server.sizes` prints the table of docs/server.md. `--measure 50000 --pid PID` writes that
many sentences to the running servers, with the quantizer of `--quantizer`, and prints how much the process of
Weaviate grew beside what is computed; start it freshly before, or it grows into what it had freed.
"""

from __future__ import annotations

import argparse
import math
import sys
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from bench.processes import resident_bytes
from bench.server.servers import own_corner
from bench.table import markdown_table
from pipeline.errors import AthenaError
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument
from pipeline.stores.server import ServerStore
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


def measured(sentences: int, *, quantizer: str, pid: int) -> str:
    """How much the Weaviate of a process grew by an index, beside what is computed."""
    size = Size(sentences, quantizer)
    manifest = Manifest(1, "random", DIMENSIONS, "none")
    with (
        own_corner() as addresses,
        closing(ServerStore(addresses.but(weaviate_quantizer=quantizer))) as store,
    ):
        before = resident_bytes(pid)
        with store.writing(manifest) as writing:
            for number in range(size.documents):
                writing.replace(_document(number))
        grown = resident_bytes(pid) - before
    return (
        f"{size.objects:,} objects, {quantizer}: {grown / size.objects:,.0f} bytes an object, "
        f"computed {size.weaviate_bytes / size.objects:,.0f}"
    )


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


def _document(number: int) -> NewDocument:
    chooser = np.random.default_rng(number)
    name = f"{number}.md"
    sections, sentences = [], []
    for section in range(SENTENCES_A_DOCUMENT // SENTENCES_A_SECTION):
        section_id = f"{number}-{section}"
        texts = [f"Word{word} and more of it." for word in chooser.integers(0, 10**4, SENTENCES_A_SECTION)]
        ids = [f"{section_id}-{place}" for place in range(SENTENCES_A_SECTION)]
        sections.append(
            StoredNode(section_id, " ".join(texts), {"level": 1}, 0, 0, name, sentence_ids=tuple(ids))
        )
        sentences += [
            StoredNode(id_, text, {"position": place}, 0, len(text), name, section_id)
            for place, (id_, text) in enumerate(zip(ids, texts, strict=True))
        ]
    nodes = [*sections, *sentences]
    vectors = chooser.standard_normal((len(nodes), DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return NewDocument(
        id=name,
        source=name,
        root="/random",
        title=name,
        hash=name,
        text=name,
        sections=sections,
        sentences=sentences,
        vectors=dict(zip((node.node_id for node in nodes), vectors, strict=True)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a server is missing."""
    parser = argparse.ArgumentParser(prog="python -m bench.server.sizes", description=__doc__)
    parser.add_argument("--measure", type=int, metavar="SENTENCES")
    parser.add_argument("--quantizer", choices=list(VECTOR_BYTES), default="none")
    parser.add_argument("--pid", type=int, help="of the running Weaviate")
    options = parser.parse_args(arguments)
    if options.measure is None:
        print(computed([10**6, 10**7, 10**8]))
        return 0
    if options.pid is None:
        parser.error("--measure needs --pid: the process of the running Weaviate")
    try:
        print(measured(options.measure, quantizer=options.quantizer, pid=options.pid))
    except AthenaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
