"""What was measured: raw numbers by benchmark, kept in `benchmarks.json` from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.embedded.machine import Machine

Fact = str | int | float | bool
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One benchmark: every run's raw numbers by name, and what else is to be known about them.

    A run's name says whose it is and its unit: `athena.ingest_seconds`, `baseline.query_ms`.
    """

    name: str
    measured_at: str  # ISO 8601, UTC
    facts: Mapping[str, Fact] = field(default_factory=dict)
    runs: Mapping[str, list[float]] = field(default_factory=dict)

    def run(self, name: str) -> list[float]:
        """The raw numbers of a name; none where it was not measured."""
        return self.runs.get(name, [])


@dataclass(frozen=True, slots=True)
class Results:
    """All benchmarks of one machine."""

    machine: Machine
    records: Mapping[str, Record] = field(default_factory=dict)

    def with_record(self, record: Record) -> Results:
        """These with one more, or with a newer one of its name."""
        return Results(self.machine, {**self.records, record.name: record})

    def record(self, name: str) -> Record:
        """The benchmark of a name; an empty one where it was not run."""
        return self.records.get(name, Record(name, ""))


def load_results(path: Path, machine: Machine) -> Results:
    """What `path` has from the same machine, so that benchmarks can be run one by one; else nothing yet.

    The versions are this run's: each record keeps the commit that it was measured at.
    """
    if not path.exists():
        return Results(machine)
    stored = json.loads(path.read_text(encoding="utf-8"))
    if _hardware(stored["machine"]) != _hardware(asdict(machine)):
        return Results(machine)
    return Results(machine, {name: Record(**record) for name, record in stored["benchmarks"].items()})


def to_json(results: Results) -> str:
    """The file's text: a list of numbers stays on one line, so that a diff can be read."""
    benchmarks = {name: asdict(record) for name, record in results.records.items()}
    for record in benchmarks.values():
        record["runs"] = {name: [round(n, DIGITS) for n in run] for name, run in record["runs"].items()}
    return _indented({"machine": asdict(results.machine), "benchmarks": benchmarks}) + "\n"


def _hardware(machine: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in machine.items() if name != "versions"}


def _indented(value: Any, depth: int = 0) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    pad = "  " * (depth + 1)
    lines = (f"{pad}{json.dumps(key)}: {_indented(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"
