"""Parts of every page: figures of raw numbers, tables, units, when and on what something was measured."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import STOLEN_MOST, Machine
from bench.results import Results
from evals.metrics import NOTHING, Interval, percentile


def median(values: Sequence[float]) -> float:
    """The middle value, of an even number the mean of the two in the middle; `NOTHING` for none."""
    return statistics.median(values) if values else NOTHING


def average(values: Sequence[float]) -> float:
    """The arithmetic mean; `NOTHING` for none."""
    return statistics.fmean(values) if values else NOTHING


def p50(values: Sequence[float]) -> float:
    """The 50th percentile, nearest rank, as `athena eval` has it; `NOTHING` for none."""
    return percentile(values, 0.5) if values else NOTHING


def p95(values: Sequence[float]) -> float:
    """The 95th percentile, nearest rank; `NOTHING` for none."""
    return percentile(values, 0.95) if values else NOTHING


def highest(values: Sequence[float]) -> float:
    """The largest value; `NOTHING` for none."""
    return max(values, default=NOTHING)


def ratio(numerator: float, denominator: float) -> float:
    """How many times the denominator fits; `NOTHING` where it is 0 or either is missing."""
    return numerator / denominator if denominator else NOTHING


PAGES = Path(__file__).with_name("pages")
NOT_MEASURED = "not measured yet"
MARKS = {True: "✓", False: "✗", None: ""}


@dataclass(frozen=True, slots=True)
class Target:
    """What was measured beside what was wanted; `holds` is None where nothing was measured."""

    what: str
    measured: str
    wanted: str = ""
    holds: bool | None = None


def target_table(targets: Iterable[Target]) -> str:
    """The targets with their marks."""
    rows = [(item.what, item.measured or NOT_MEASURED, item.wanted, MARKS[item.holds]) for item in targets]
    return markdown_table(("what", "measured", "target", ""), rows)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the columns after the first are aligned to the right."""
    lines = [f"| {' | '.join(row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], "|---|" + "--:|" * (len(headings) - 1), *lines[1:]])


def holds(value: float, *, at_least: float = -math.inf, at_most: float = math.inf) -> bool | None:
    """Whether a value is within its target; None where nothing was measured."""
    return None if math.isnan(value) else at_least <= value <= at_most


def number(value: float, form: str) -> str:
    """The value in a format; nothing where nothing was measured."""
    return "" if math.isnan(value) else form.format(value)


def seconds(value: float) -> str:
    """1.23 s, 45 s."""
    return number(value, "{:.2f} s" if value < 10 else "{:,.0f} s")


def milliseconds(value: float) -> str:
    """12.3 ms, 456 ms."""
    return number(value, "{:.1f} ms" if value < 100 else "{:,.0f} ms")


def megabytes(value: float) -> str:
    """1,234 MB."""
    return number(value, "{:,.0f} MB")


def times(value: float) -> str:
    """5.2×."""
    return number(value, "{:.1f}×")


def with_interval(interval: Interval, form: str) -> str:
    """An estimate and its interval in brackets: .736 [.701, .768]."""
    value = number(interval.value, form)
    if math.isnan(interval.low):
        return value
    return f"{value} [{number(interval.low, form)}, {number(interval.high, form)}]"


def measured_on(machine: Machine) -> str:
    """The machine."""
    return f"Measured on: {machine.description}."


def measured_when(results: Results) -> str:
    """Date and commit of every benchmark, and what disturbed it."""
    items = []
    for record in results.records.values():
        notes = [f"at {record.facts.get('commit', '?')}"]
        if float(record.facts.get("load_before", 0)) > 1:
            notes.append(f"load average before {record.facts['load_before']}")
        if float(record.facts.get("stolen", 0)) > STOLEN_MOST:
            notes.append(f"{record.facts['stolen']:.0%} of the work waited for the machine's host")
        items.append(f"{record.name} {record.measured_at[:10]} {', '.join(notes)}")
    return f"When, at which commit, and what disturbed it: {'; '.join(items)}." if items else ""


def versions(machine: Machine) -> str:
    """Versions of Athena's side."""
    return "Versions: " + ", ".join(f"{name} {version}" for name, version in machine.versions.items()) + "."


def page(name: str, results: Results, **parts: str) -> str:
    """The page of `bench/pages/NAME.md`, with what stands in braces filled in; empty parts leave no gap.

    Machine, time and versions are those of the results, where the parts have none of their own.
    """
    known = {
        "machine": measured_on(results.machine),
        "when": measured_when(results),
        "versions": versions(results.machine),
    }
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8").format_map(known | parts)
    return re.sub(r"\n{3,}", "\n\n", text)
