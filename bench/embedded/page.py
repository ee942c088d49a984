"""`docs/benchmarks.md`: Athena against its targets and beside others, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import corpora
from bench.embedded.contenders import ATHENA, PEERS, TITLES
from bench.embedded.method import CHOICES, METHOD
from bench.embedded.targets import records_of, targets
from bench.results import Record, Results
from bench.statistics import average, highest, median, p50, p95
from bench.table import (
    markdown_table,
    measured_on,
    measured_when,
    megabytes,
    milliseconds,
    number,
    seconds,
    target_table,
    versions,
    with_interval,
)
from evals.metrics import bootstrap, paired_difference


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
SCIFACT = tuple(
    Measure(metric, _run(metric, average), _share, higher_is_better=True)
    for metric in ("nDCG@10", "Recall@100")
)


def to_markdown(results: Results) -> str:
    """The page."""
    parts = [
        "# Benchmarks",
        "Written by `make bench`; do not edit.",
        "## Athena's targets",
        target_table(targets(results)),
        "## Beside others",
        CHOICES,
        *_collection(results, corpora.RUST_BOOK, (*MEASURES, *KNOWN_ITEMS), "reciprocal_rank"),
        *_collection(results, corpora.OPENSEARCH, (*MEASURES, *KNOWN_ITEMS), "reciprocal_rank"),
        *_collection(results, corpora.SCIFACT, SCIFACT, "nDCG@10"),
        "## How",
        measured_on(results.machine),
        measured_when(results),
        METHOD,
        f"{versions(results.machine)} {_peer_versions()}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


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
