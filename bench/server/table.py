"""`docs/benchmarks-server.md`: the table with its targets, the machine, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.embedded.results import Record, Results
from bench.embedded.summary import median, p50, p95, ratio
from bench.server.quiet import AROUND_S

HEADINGS = ("what", "one user, or embedded", "many users, or servers", "ratio", "target", "")
MARKS = {True: "✓", False: "✗", None: ""}
RETRIEVAL = "retrieval_ms"
QUIET = "quiet_retrieval_ms"
RETRIEVAL_TIMES = 3.0
MEMORY_GROWTH = 0.05
INGEST_SHARE = 0.7
EARLY = (0.2, 0.4)
LATE = (0.8, 1.0)
"""Shares of the time whose memory is compared: what is loaded once is loaded by the first."""

METHOD = f"""\
How it was measured:

- **The servers** are those of `scripts/servers.sh`, on the same machine as everything else. FerretDB on
  SQLite stands in the place of MongoDB, so no number here is MongoDB's. FerretDB's own indexes of ids are
  never used by its queries; the benchmark adds one that is. All other queries read whole collections.
- **Users** are threads of one app process. Each asks a question about a heading in a new conversation, as
  soon as its last answer is complete, with every setting at its default and no cross-encoder. Hypothesis and
  answer come from a process that streams words at a fixed rate by Ollama's protocol; most sentences cite.
- **Two patterns**: many users come within six seconds and get 45 to 135 words, 30 a second; *in step*, they
  come at once and get 90 words each, so that all search in the same moment, which two cores can only do one
  after the other. The target is for the first.
- **One user** asks in a process of its own, before, and gets his words at 300 a second, so that he asks often
  enough for a percentile: his search never meets an answer of his own, however fast that is.
- **Retrieval** is what the search does itself: waiting for a place among the searches at work, embedding,
  the queries to both servers, fusing, merging, judging and selecting, without the hypothesis.
- **Errors** are answers that failed, broke off, or had a failed step.
- **The machine's host** may run other machines on the same cores. A search is *left alone* where the host
  took no more than a twentieth of the {2 * AROUND_S:.0f} seconds around the search's end; these are rows of
  their own, with the number of searches of one user and of many. They have no target: that is for all
  searches. A pattern that had less than half of its searches left alone is run again, once; the run from
  which the host took less counts, whatever its times are, and the errors of both.
- **Memory** is resident memory of the app's process, every two seconds; the median of the second fifth of the
  time is compared with that of the last fifth.
- **Ingest** is `athena ingest` from start to end, imports included, into an empty store.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line; `holds` is None where there is no target or nothing was measured."""

    what: str
    one: str
    many: str
    ratio: str = ""
    target: str = ""
    holds: bool | None = None


def to_markdown(results: Results) -> str:
    """The page."""
    machine = results.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    parts = [
        "# Benchmarks of the server mode",
        "Written by `make bench-server`; do not edit.",
        _table([*user_rows(results.record("users")), *ingest_rows(results.record("ingest"))]),
        f"Measured on: {machine.description}.",
        _when(results),
        METHOD.rstrip(),
        f"Versions: {versions}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def user_rows(record: Record) -> Iterator[Row]:
    """Errors, times and memory of one user, of many, and of many in step."""
    if not record.facts:
        return
    yield _answers_row(record, "many", float(record.facts["seconds"]), "", _answers(record, "single"))
    if "together_answers" in record.facts:
        yield _answers_row(record, "together", float(record.facts["together_seconds"]), " in step")
    yield _compared("retrieval, p50", record, "many", p50)
    yield _compared("retrieval, p95", record, "many", p95, times=RETRIEVAL_TIMES)
    yield from _quiet_row("retrieval, p95", record, "many")
    if record.run(f"together.{RETRIEVAL}"):
        yield _compared("retrieval in step, p50", record, "together", p50)
        yield _compared("retrieval in step, p95", record, "together", p95)
        yield from _quiet_row("retrieval in step, p95", record, "together")
    for what, column, summary in (
        ("until the first word, p95", "first_word_s", p95),
        ("whole answer, p50", "answer_s", p50),
    ):
        yield Row(what, "", _format(summary(record.run(f"many.{column}")), "{:.1f} s"))
    yield memory_row(record.run("many.memory_mb"))
    if "many_stolen" in record.facts:
        one, many = (f"{record.facts[f'{name}_stolen']:.0%}" for name in ("single", "many"))
        yield Row("work that waited for the machine's host", one, many)


def _answers_row(record: Record, name: str, seconds: float, how: str, single: str = "") -> Row:
    return Row(
        f"answers and errors, {record.facts['users']} users{how} for {_duration(seconds)}",
        single,
        _answers(record, name),
        target="no error",
        holds=record.facts[f"{name}_errors"] == 0 and bool(record.run(f"{name}.retrieval_ms")),
    )


def _quiet_row(what: str, record: Record, name: str) -> Iterator[Row]:
    """The searches that the host left alone, with how many they are: to look at, without a target."""
    one, many = (len(record.run(f"{who}.{QUIET}")) for who in ("single", name))
    if many:
        yield _compared(f"{what}, left alone ({one:,} and {many:,})", record, name, p95, column=QUIET)


def memory_row(samples: Sequence[float]) -> Row:
    """Whether the memory of the process with many users stays what it is."""
    early, late = (median(_part(samples, share)) for share in (EARLY, LATE))
    growth = ratio(late, early) - 1
    return Row(
        "memory of the app's process, early and late",
        _format(early, "{:,.0f} MB"),
        _format(late, "{:,.0f} MB"),
        _format(growth * 100, "{:+.1f} %"),
        f"≤ +{MEMORY_GROWTH:.0%}",
        None if math.isnan(growth) else late <= early * (1 + MEMORY_GROWTH),
    )


def ingest_rows(record: Record) -> Iterator[Row]:
    """Ingest into the embedded store and into the servers."""
    if not record.facts:
        return
    embedded, server = (median(record.run(f"{side}.ingest_seconds")) for side in ("embedded", "server"))
    speed = ratio(embedded, server)
    yield Row(
        f"ingest of {record.facts['folder']} ({record.facts.get('sentences', 0):,} sentences)",
        _format(embedded, "{:,.0f} s"),
        _format(server, "{:,.0f} s"),
        _format(speed * 100, "{:.0f} % of the speed"),
        f"≥ {INGEST_SHARE:.0%}",
        None if math.isnan(speed) else speed >= INGEST_SHARE,
    )


def _answers(record: Record, name: str) -> str:
    return f"{record.facts[f'{name}_answers']:,} and {record.facts[f'{name}_errors']:,}"


def _compared(
    what: str,
    record: Record,
    name: str,
    summary: Callable[[Sequence[float]], float],
    *,
    column: str = RETRIEVAL,
    times: float | None = None,
) -> Row:
    """What a search takes one user, and the users of a pattern: less than so many times as long is wanted."""
    one, many = (summary(record.run(f"{who}.{column}")) for who in ("single", name))
    found = ratio(many, one)
    return Row(
        what,
        _format(one, "{:,.0f} ms"),
        _format(many, "{:,.0f} ms"),
        _format(found, "{:.1f}×"),
        f"< {times:g}×" if times else "",
        None if times is None or math.isnan(found) else found < times,
    )


def _part(samples: Sequence[float], share: tuple[float, float]) -> Sequence[float]:
    return samples[int(len(samples) * share[0]) : int(len(samples) * share[1])]


def _format(value: float, form: str) -> str:
    return "" if math.isnan(value) else form.format(value)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds:g} s"


def _table(rows: Sequence[Row]) -> str:
    cells = [HEADINGS, *((r.what, r.one, r.many, r.ratio, r.target, MARKS[r.holds]) for r in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|---|--:|--:|--:|---|---|", *lines[1:]])


def _when(results: Results) -> str:
    items = (
        f"{record.name} {record.measured_at[:10]} at {record.facts.get('commit', '?')}, "
        f"load average before {record.facts.get('load_before', 0)}"
        for record in results.records.values()
    )
    return f"When, and at which commit: {'; '.join(items)}."
