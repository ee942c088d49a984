"""`docs/benchmarks-server.md`: the table with its targets, the machine, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.results import Record, Results
from bench.table import (
    Target,
    holds,
    median,
    milliseconds,
    number,
    over_runs,
    p50,
    p95,
    page,
    ratio,
    seconds,
    target_table,
    with_interval,
)

RETRIEVAL_TIMES = 3.0
MEMORY_GROWTH = 0.05


def to_markdown(results: Results) -> str:
    """The page."""
    rows = [*user_rows(results.record("users")), *ingest_rows(results.record("ingest"))]
    return page("server", results, targets=target_table(rows))


def user_rows(record: Record) -> Iterator[Target]:
    """Errors, times and memory of one user, of many, and of many in step."""
    if not record.facts:
        return
    facts = record.facts
    minutes = number(float(facts["seconds"]) / 60, "{:g} min")
    yield _answers(record, "many", f"{facts['users']} users, {facts['rounds']} times {minutes}")
    yield _answers(record, "single", "one user")
    yield _answers(record, "together", f"{facts['users']} users in step")
    for name, who in (("single", "one user"), ("many", "many users"), ("together", "many in step")):
        found = record.run(f"{name}.retrieval_ms")
        yield Target(f"search, {who}, p50 / p95", f"{milliseconds(p50(found))} / {milliseconds(p95(found))}")
    rounds = zip(record.run("before_p95_ms"), record.run("after_p95_ms"), strict=True)
    pairs = ", ".join(f"{before:,.0f} / {after:,.0f} ms" for before, after in rounds)
    yield Target("search, one user, p95 before / after, by round", pairs)
    yield ratio_row(record.run("p95_ratio"))
    yield Target("until the first word, many users, p95", seconds(p95(record.run("many.first_word_s"))))
    yield Target("whole answer, many users, p50", seconds(p50(record.run("many.answer_s"))))
    yield memory_row(record)


def ratio_row(ratios: list[float]) -> Target:
    """How many times as long the many's searches take; a mark only where the interval leaves no doubt."""
    interval = over_runs(ratios)
    within = interval.high < RETRIEVAL_TIMES
    beyond = interval.low >= RETRIEVAL_TIMES
    mark = within if within or beyond else None
    shown = with_interval(interval, "{:.1f}×")
    return Target(
        f"p95 of many over one, {len(ratios)} rounds [95 %]", shown, f"< {RETRIEVAL_TIMES:g}×", mark
    )


def memory_row(record: Record) -> Target:
    """Whether the memory of the process with many users stays what it is."""
    early, late = (median(record.run(f"{name}_memory_mb")) for name in ("early", "late"))
    growth = ratio(late, early) - 1
    shown = "" if math.isnan(growth) else f"{early:,.0f} MB, {late:,.0f} MB: {growth:+.1%}"
    return Target(
        "memory of the app's process, early and late",
        shown,
        f"≤ +{MEMORY_GROWTH:.0%}",
        holds(ratio(late, early), at_most=1 + MEMORY_GROWTH),
    )


def ingest_rows(record: Record) -> Iterator[Target]:
    """Ingest into the embedded store and into the servers."""
    if not record.facts:
        return
    embedded, server = (median(record.run(f"{side}.ingest_seconds")) for side in ("embedded", "server"))
    what = f"ingest of {record.facts['folder']} ({record.facts.get('sentences', 0):,} sentences)"
    yield Target(f"{what}, embedded / servers", f"{seconds(embedded)} / {seconds(server)}")
    yield Target("… speed of the servers' of the embedded's", number(ratio(embedded, server), "{:.0%}"))


def _answers(record: Record, name: str, who: str) -> Target:
    answers, errors = (int(record.facts.get(f"{name}_{fact}", 0)) for fact in ("answers", "errors"))
    asked = answers + errors > 0
    return Target(
        f"answers and errors, {who}",
        f"{answers:,} and {errors:,}" if asked else "",
        "no error",
        errors == 0 and answers > 0 if asked else None,
    )
