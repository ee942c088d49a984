"""Athena's targets in the embedded mode, and whether they are met."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bench.corpora import OPENSEARCH, RUST_BOOK, SCIFACT
from bench.embedded.contenders import ATHENA, PEERS
from bench.results import Record, Results
from bench.statistics import highest, median, p95, ratio
from bench.table import Target, holds, megabytes, milliseconds, number, seconds, times, with_interval
from evals.metrics import bootstrap

EMBEDDING_TIMES_VNNI = 5.0
EMBEDDING_TIMES_AVX2 = 3.0
AGAIN_SHARE = 0.03
QUERY_P95_MS = 40.0
QUERY_TIMES = 20.0
PEAK_MB = 900.0
ASK_SECONDS = 3.5
CORE_MB = 800.0
NDCG_AT_10 = 0.735
RECALL_AT_100 = 0.955


def targets(results: Results) -> Iterator[Target]:
    """Athena's targets, of what was measured."""
    book, large = (records_of(results, name)[ATHENA] for name in (RUST_BOOK, OPENSEARCH))
    yield from _ingest_targets(results, book)
    high = p95(large.run("query_ms"))
    passages = large.facts.get("passages")
    over = f"over {passages:,} sentences" if passages else "over opensearch-docs"
    yield Target(f"search, p95, {over}", milliseconds(high), "≤ 40 ms", holds(high, at_most=QUERY_P95_MS))
    documented = p95(records_of(results, OPENSEARCH)["llamaindex"].run("query_ms"))
    faster = ratio(documented, high)
    yield Target(
        "… as fast as LlamaIndex, as documented", times(faster), "≥ 20×", holds(faster, at_least=QUERY_TIMES)
    )
    peak = highest([*large.run("ingest_peak_mb"), *large.run("query_peak_mb")])
    yield Target(f"peak memory, {over}", megabytes(peak), "≤ 900 MB", holds(peak, at_most=PEAK_MB))
    took = median(results.record("ask").run("ask_seconds"))
    yield Target(
        "`athena ask` on the manuals, a new process",
        seconds(took),
        "≤ 3.5 s",
        holds(took, at_most=ASK_SECONDS),
    )
    yield from _setup_targets(results.record("setup"))
    for metric, wanted in (("nDCG@10", NDCG_AT_10), ("Recall@100", RECALL_AT_100)):
        interval = bootstrap(records_of(results, SCIFACT)[ATHENA].run(metric))
        met = holds(interval.value, at_least=wanted)
        yield Target(f"SciFact test, {metric}", with_interval(interval, "{:.3f}"), f"≥ {wanted:.3f}", met)


def _ingest_targets(results: Results, book: Record) -> Iterator[Target]:
    """By passages embedded a second: others embed fewer of a folder."""
    wanted = EMBEDDING_TIMES_VNNI if results.machine.vnni else EMBEDDING_TIMES_AVX2
    other = records_of(results, RUST_BOOK)["llamaindex"]
    speeds = [
        ratio(float(record.facts.get("passages", math.nan)), median(record.run("ingest_seconds")))
        for record in (book, other)
    ]
    faster = ratio(*speeds)
    yield Target(
        "ingest of rust-book, passages a second, times LlamaIndex's, as documented",
        times(faster),
        f"≥ {wanted:g}×",
        holds(faster, at_least=wanted),
    )
    again = ratio(median(book.run("again_seconds")), median(book.run("ingest_seconds")))
    yield Target(
        "rust-book again, nothing changed, of the first ingest",
        number(again * 100, "{:.1f} %"),
        "≤ 3 %",
        holds(again, at_most=AGAIN_SHARE),
    )


def _setup_targets(setup: Record) -> Iterator[Target]:
    if "error" in setup.facts:
        yield Target("core environment", f"could not be measured: {setup.facts['error']}")
        return
    size = median(setup.run("run.megabytes"))
    yield Target("core environment", megabytes(size), "≤ 800 MB", holds(size, at_most=CORE_MB))
    yield Target("… set up in", seconds(median(setup.run("run.seconds"))))
    yield Target("… imports in", seconds(median(setup.run("run.import_seconds"))))


def records_of(results: Results, collection: str) -> Mapping[str, Record]:
    """The records of a collection by who was measured; Athena's has the size of its core environment."""
    records = {name: results.record(f"{collection}:{name}") for name in (ATHENA, *PEERS)}
    if records[ATHENA].runs:
        athena, size = records[ATHENA], results.record("setup").run("run.megabytes")
        runs = {**athena.runs, "environment_mb": size}
        records[ATHENA] = Record(athena.name, athena.measured_at, athena.facts, runs)
    return records
