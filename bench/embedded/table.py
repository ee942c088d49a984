"""`docs/benchmarks.md`: the table, the machine, and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence

from bench.embedded.machine import STOLEN_MOST, Machine
from bench.embedded.results import Results
from bench.embedded.rows import Row, table_rows

HEADINGS = ("what", "Athena", "LlamaIndex", "ratio", "target", "")
MARKS = {True: "✓", False: "✗", None: ""}
METHOD = """\
How it was measured:

- **LlamaIndex** is the pipeline that its documentation teaches: `HuggingFaceEmbedding` with its defaults
  on the float32 MiniLM, `SimpleDocumentStore`, `VectorStoreIndex` in memory, `BM25Retriever`,
  `QueryFusionRetriever` (relative score, no further queries), `AutoMergingRetriever`. It runs in an
  environment of its own, on the CPU.
- **The same leaves.** Athena's readers cut the files, and LlamaIndex gets the leaves ready-made, with
  their sections as parents. It embeds the same texts (headings, then the leaf), and the leaves only;
  Athena reads and cuts the files within its time, and embeds leaves *and* sections. What reading and
  cutting take LlamaIndex's own parser is a row of its own and in no other number; it cuts other leaves,
  and another number of them.
- **Ingest** is the whole process by the clock, imports included, in turns: Athena, then LlamaIndex. A
  second ingest is a new process over the index that is there, nothing changed; LlamaIndex's is its
  `IngestionPipeline` with the stored documents' hashes.
- **Retrieval** is one question after another in a process that is warm, Athena's as the app's: embed,
  search, fuse, merge; 100 candidates a list; no language model, no reranker. Questions are made of
  headings, the same for both; over the large corpus, where one takes it long, LlamaIndex is asked the first
  of them only, and its index is put together from those of the folders, with the vectors that they have.
  Athena's time has its verdict on answerability and its selection in it.
- **Memory** is the peak of the process and those it starts, the higher one of ingest and search.
- **SciFact**: `athena eval retrieval` without language model and cross-encoder; LlamaIndex's fusion over
  whole abstracts.
- Medians where something was run several times. Every single number is in `benchmarks.json`.
"""


def to_markdown(results: Results) -> str:
    """The page."""
    parts = [
        "# Benchmarks",
        "Written by `make bench`; do not edit.",
        _table(table_rows(results)),
        f"Measured on: {results.machine.description}.",
        _disturbed(results),
        _when(results),
        METHOD.rstrip(),
        _versions(results.machine),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(rows: Sequence[Row]) -> str:
    cells = [HEADINGS, *((r.what, r.athena, r.baseline, r.ratio, r.target, MARKS[r.holds]) for r in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|---|--:|--:|--:|---|---|", *lines[1:]])


def _disturbed(results: Results) -> str:
    """Says so where the machine had other work to do, as then a time is no measurement."""
    parts = {
        "The machine was busy with something else before (load average)": _above(results, "load_before", 1),
        "Its host ran other machines meanwhile (share of the work that waited)": _above(
            results, "stolen", STOLEN_MOST, "{:.0%}"
        ),
    }
    return " ".join(f"{what}: {', '.join(names)}." for what, names in parts.items() if names)


def _above(results: Results, fact: str, limit: float, form: str = "{}") -> list[str]:
    """The benchmarks of which a fact is above the limit, each with it."""
    return [
        f"{record.name} ({form.format(record.facts[fact])})"
        for record in results.records.values()
        if float(record.facts.get(fact, 0)) > limit
    ]


def _when(results: Results) -> str:
    items = (
        f"{record.name} {record.measured_at[:10]} at {record.facts.get('commit', '?')}"
        for record in results.records.values()
    )
    return f"When, and at which commit: {'; '.join(items)}."


def _versions(machine: Machine) -> str:
    return "Versions: " + ", ".join(f"{name} {version}" for name, version in machine.versions.items()) + "."
