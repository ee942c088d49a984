"""`docs/benchmarks-memory.md`: every preset against the targets, the search over turns, the method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench import scripts
from bench.results import Record, Results
from bench.table import (
    MARKS,
    average,
    holds,
    markdown_table,
    median,
    milliseconds,
    number,
    p50,
    p95,
    page,
    seconds,
)
from memory.options import PRESETS

NONE = "–"
READ_MS = 30.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the presets' table: how a preset's raw numbers become its value, and what is wanted."""

    name: str
    of: Callable[[Sequence[float]], float]
    form: Callable[[float], str]
    wanted: str
    at_least: float = float("-inf")
    at_most: float = float("inf")


def _share(value: float) -> str:
    return number(value, "{:.2f}")


def _count(value: float) -> str:
    return number(value, "{:.0f}")


def _total(values: Sequence[float]) -> float:
    return sum(values) if values else average(values)


def _worst(values: Sequence[float]) -> float:
    return max(values) if values else average(values)


PLAYED = (
    Measure(scripts.NOW, average, _share, "≥ .95", at_least=0.95),
    Measure(scripts.THEN, average, _share, "≥ .95", at_least=0.95),
    Measure(scripts.RECALLED, average, _share, ""),
    Measure(scripts.RETIRED, _total, _count, "0", at_most=0),
    Measure(scripts.GROWTH, _worst, _share, "1.00", at_least=1, at_most=1),
    Measure(scripts.INJECTED, _total, _count, "0", at_most=0),
    Measure(scripts.DELETION, _total, _count, "0", at_most=0),
    Measure(scripts.ISOLATION, _total, _count, "0", at_most=0),
    Measure(scripts.ACTED, _total, _count, "0", at_most=0),
    Measure(scripts.SECRETS, _total, _count, "0", at_most=0),
    Measure(scripts.DISPUTES, average, _share, "1.00", at_least=1),
)
TIMED = (
    ("read_ms", "read, p50", p50, None),
    ("read_ms", "read, p95", p95, READ_MS),
    ("read_cpu_ms", "read, processors' time, p95", p95, READ_MS),
    ("write_ms", "write, p50", p50, None),
    ("write_ms", "write, p95", p95, None),
    ("write_cpu_ms", "write, processors' time, p95", p95, None),
)


def to_markdown(results: Results, *, count: int) -> str:
    """The page."""
    memories = results.record(f"speed {next(iter(PRESETS))}").facts.get("memories", 10_000)
    metrics = ("R@5", "R@10", "R@25", "hit@10", "MRR")
    return page(
        "memory",
        results,
        memories=f"{memories:,}",
        scripts=str(count),
        played=markdown_table(("", *PRESETS, "target"), _played(results)),
        timed=markdown_table(("", *PRESETS, "target"), _timed(results)),
        found=markdown_table(("", "questions", "turns", *metrics), _found(results)),
        turns=_turns(results.record("turns")),
        recall=_recall(results.record("recall")),
        when=_when(results),
    )


def _played(results: Results) -> Iterator[Sequence[str]]:
    for measure in PLAYED:
        cells = [_cell(measure, results.record(f"scripts {preset}").run(measure.name)) for preset in PRESETS]
        yield (measure.name, *cells, measure.wanted)


def _cell(measure: Measure, values: Sequence[float]) -> str:
    if not values:
        return NONE
    value = measure.of(values)
    mark = MARKS[holds(value, at_least=measure.at_least, at_most=measure.at_most)] if measure.wanted else ""
    return f"{measure.form(value)} ({len(values)}) {mark}".strip()


def _timed(results: Results) -> Iterator[Sequence[str]]:
    for run, name, summary, most in TIMED:
        values = [summary(results.record(f"speed {preset}").run(run)) for preset in PRESETS]
        marks = [MARKS[holds(value, at_most=most)] if most else "" for value in values]
        cells = [f"{milliseconds(value)} {mark}".strip() for value, mark in zip(values, marks, strict=True)]
        yield (name, *cells, f"< {most:.0f} ms" if most else "")


def _found(results: Results) -> Iterator[Sequence[str]]:
    for name, record in results.records.items():
        if name.startswith("conversations "):
            sizes = [f"{record.facts[size]:,}" for size in ("questions", "turns")]
            metrics = [_share_of(record, metric) for metric in ("R@5", "R@10", "R@25", "hit@10", "MRR")]
            yield (name.removeprefix("conversations "), *sizes, *metrics)


def _share_of(record: Record, metric: str) -> str:
    return number(median(record.run(metric)), "{:.3f}")


def _when(results: Results) -> str:
    """The days, the commits, and how busy the machine was."""
    records = results.records.values()
    days = sorted({record.measured_at[:10] for record in records})
    commits = sorted({str(record.facts.get("commit", "?")) for record in records})
    loads = [float(record.facts.get("load_before", 0)) for record in records] or [0.0]
    return (
        f"When, and at which commit: {', '.join(days)} at {', '.join(commits)}; load average before: "
        f"{min(loads)} to {max(loads)}. Beside other work, the processors' time is the one to read."
    )


def _turns(record: Record) -> str:
    if not record.facts:
        return ""
    clock, work = record.run("search_ms"), record.run("search_cpu_ms")
    built = seconds(median(record.run("build_seconds")))
    return (
        f"At {record.facts['turns']:,} turns a search takes {milliseconds(p50(clock))}, embedding included "
        f"(p95 {milliseconds(p95(clock))}, of the processors' time {milliseconds(p95(work))}); the index is "
        f"built in {built} from vectors that are there."
    )


def _recall(record: Record) -> str:
    if not record.facts:
        return ""
    clock, work = record.run("recall_ms"), record.run("recall_cpu_ms")
    return (
        f"With {record.facts['turns']:,} turns and {record.facts['facts']:,} facts, what a message brings to "
        f"mind takes {milliseconds(p50(clock))}, embedding included (p95 {milliseconds(p95(clock))}, of the "
        f"processors' time {milliseconds(p95(work))})."
    )
