"""`docs/benchmarks.md`: Athena against its targets and beside others, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.contenders import ATHENA, PEERS, TITLES
from bench.corpora import OPENSEARCH, RUST_BOOK, SCIFACT
from bench.results import Record, Results
from bench.table import (
    Target,
    average,
    highest,
    holds,
    markdown_table,
    median,
    megabytes,
    milliseconds,
    number,
    p50,
    p95,
    page,
    ratio,
    seconds,
    target_table,
    times,
    versions,
    with_interval,
)
from evals.metrics import bootstrap, paired_difference

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


@dataclass(frozen=True, slots=True)
class Measure:
    """A row of a table: what of a record is compared, in which direction, and how it is written."""

    what: str
    of: Callable[[Record], float]
    form: Callable[[float], str]
    higher_is_better: bool = False


def _run(name: str, summary: Callable[[Sequence[float]], float]) -> Callable[[Record], float]:
    return lambda record: summary(record.run(name))


def _share(value: float) -> str:
    return number(value, "{:.3f}")


MEASURES = (
    Measure("ingest", _run("ingest_seconds", median), seconds),
    Measure("again, nothing changed", _run("again_seconds", median), seconds),
    Measure("processor time of ingesting", _run("ingest_cpu_seconds", median), seconds),
    Measure("peak memory of ingesting", _run("ingest_peak_mb", highest), megabytes),
    Measure("search, p50", _run("query_ms", p50), milliseconds),
    Measure("search, p95", _run("query_ms", p95), milliseconds),
    Measure("peak memory of searching", _run("query_peak_mb", highest), megabytes),
    Measure("import", _run("import_seconds", median), seconds),
    Measure("environment", _run("environment_mb", median), megabytes),
)
KNOWN_ITEMS = (
    Measure(
        "right file first",
        lambda record: average([float(rank == 1) for rank in record.run("reciprocal_rank")]),
        _share,
        higher_is_better=True,
    ),
    Measure("MRR@10 of the right file", _run("reciprocal_rank", average), _share, higher_is_better=True),
)
JUDGED = tuple(
    Measure(metric, _run(metric, average), _share, higher_is_better=True)
    for metric in ("nDCG@10", "Recall@100")
)


def to_markdown(results: Results) -> str:
    """The page."""
    parts = [
        *_collection(results, RUST_BOOK, (*MEASURES, *KNOWN_ITEMS), "reciprocal_rank"),
        *_collection(results, OPENSEARCH, (*MEASURES, *KNOWN_ITEMS), "reciprocal_rank"),
        *_collection(results, SCIFACT, JUDGED, "nDCG@10"),
    ]
    return page(
        "embedded",
        results,
        targets=target_table(targets(results)),
        collections="\n\n".join(filter(None, parts)),
        versions=f"{versions(results.machine)} {_peer_versions()}",
    )


def _peer_versions() -> str:
    return "The others: " + ", ".join(f"{peer.title} {peer.version()}" for peer in PEERS.values()) + "."


def _collection(results: Results, collection: str, measures: Sequence[Measure], metric: str) -> Iterator[str]:
    """A heading, the table, the differences with their intervals, and where a peer is better."""
    known = records_of(results, collection)
    records = {name: record for name, record in known.items() if record.runs}
    if not records:
        return
    yield f"### {collection}"
    rows = [_embedded_row(records)] if any("passages" in r.facts for r in records.values()) else []
    rows += [_row(measure, records) for measure in measures]
    yield markdown_table(("", *(TITLES[name] for name in records)), rows)
    title = metric.replace("reciprocal_rank", "MRR@10")
    yield markdown_table((title, "mean [95 %]", "Athena − this [95 %]"), _intervals(records, metric))
    yield _better(measures, records)
    errors = {TITLES[name]: known[name].facts["error"] for name in known if "error" in known[name].facts}
    yield "\n".join(f"{title} could not be measured: {error}" for title, error in errors.items())


def _embedded_row(records: Mapping[str, Record]) -> Sequence[str]:
    """How many of which passages each has."""
    cells = [f"{r.facts.get('passages', 0):,} {r.facts.get('unit', '')}" for r in records.values()]
    return ("passages that can be found", *cells)


def _row(measure: Measure, records: Mapping[str, Record]) -> Sequence[str]:
    values = {name: measure.of(record) for name, record in records.items()}
    best = _best(measure, values)
    cells = {name: measure.form(value) for name, value in values.items()}
    return (measure.what, *(f"**{cell}**" if name in best and cell else cell for name, cell in cells.items()))


def _best(measure: Measure, values: Mapping[str, float]) -> list[str]:
    """Who has the best value, as it is written."""
    known = [value for value in values.values() if not math.isnan(value)]
    if len(known) < 2:
        return []
    best = measure.form(max(known) if measure.higher_is_better else min(known))
    return [name for name, value in values.items() if measure.form(value) == best]


def _intervals(records: Mapping[str, Record], metric: str) -> Iterator[Sequence[str]]:
    """The mean of each, and how far Athena is above; of fewer questions, the same ones of Athena's."""
    ours = records[ATHENA].run(metric) if ATHENA in records else []
    for name, record in records.items():
        theirs = record.run(metric)
        if not theirs:
            continue
        difference = paired_difference(ours[: len(theirs)], theirs) if name != ATHENA else None
        shown = with_interval(difference, "{:+.3f}") if difference else ""
        title = TITLES[name] if len(theirs) == len(ours) else f"{TITLES[name]} ({len(theirs)} questions)"
        yield title, with_interval(bootstrap(theirs), "{:.3f}"), shown


def _better(measures: Sequence[Measure], records: Mapping[str, Record]) -> str:
    """Says in which rows who is better than Athena."""
    if ATHENA not in records:
        return ""
    rows = []
    for measure in measures:
        values = {name: measure.of(record) for name, record in records.items()}
        best = _best(measure, values)
        if best and ATHENA not in best:
            who = " and ".join(TITLES[name] for name in best)
            figures = f"{measure.form(values[best[0]])} against {measure.form(values[ATHENA])}"
            rows.append(f"{measure.what}: {who} ({figures})")
    return f"**Where a peer is better.** {'; '.join(rows)}." if rows else ""
