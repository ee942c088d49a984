"""What was measured: raw numbers by benchmark, kept in a JSON file from run to run."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import Machine, load_average, work_so_far
from bench.processes import BenchmarkError, Finished
from pipeline.errors import AthenaError

Fact = str | int | float | bool
Say = Callable[[str], None]
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One benchmark: every run's raw numbers by name, and what else is to be known about them.

    A run's name ends in its unit: `ingest_seconds`, `query_ms`.
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


class Runs:
    """The raw numbers of one benchmark while it runs."""

    def __init__(self, name: str, say: Say) -> None:
        self.facts: dict[str, Fact] = {"load_before": load_average()}
        self._before = work_so_far()
        self._name = name
        self.say = say
        self._runs: dict[str, list[float]] = {}

    def add(self, name: str, *values: float) -> None:
        """Keep numbers, and say them where there is just one."""
        self._runs.setdefault(name, []).extend(values)
        if len(values) == 1:
            self.say(f"{self._name}: {name} {values[0]:,.3f}")

    def add_process(self, name: str, done: Finished) -> None:
        """Keep a process's time by the clock, its processors' time and its peak memory."""
        self.add(f"{name}_seconds", done.seconds)
        self.add(f"{name}_cpu_seconds", done.cpu_seconds)
        self.add(f"{name}_peak_mb", done.peak_mb)

    def record(self, *, commit: str) -> Record:
        """What is kept of them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stolen = round(work_so_far().stolen_since(self._before), 3)
        return Record(self._name, now, self.facts | {"commit": commit, "stolen": stolen}, self._runs)


def read_results(path: Path) -> Results:
    """All that a file has."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    records = {name: Record(**record) for name, record in stored["benchmarks"].items()}
    return Results(Machine(**stored["machine"]), records)


def load_results(path: Path, machine: Machine, *, known: Collection[str]) -> Results:
    """The `known` benchmarks that `path` has from the same machine, so that they can be run one by one.

    The versions are this run's: each record keeps the commit that it was measured at.
    """
    stored = read_results(path) if path.exists() else Results(machine)
    if replace(stored.machine, versions={}) != replace(machine, versions={}):
        return Results(machine)
    return Results(machine, {name: record for name, record in stored.records.items() if name in known})


def save(results: Results, path: Path, *, page: str) -> None:
    """Write the JSON file and, beside it, the page, each at once: a killed run leaves the former ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, text in ((path, to_json(results)), (path.with_suffix(".md"), page)):
        draft = target.with_suffix(".tmp")
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)


def to_json(results: Results) -> str:
    """The file's text: a list of numbers stays on one line, so that a diff can be read."""
    benchmarks = {name: asdict(record) for name, record in results.records.items()}
    for record in benchmarks.values():
        record["runs"] = {name: [round(n, DIGITS) for n in run] for name, run in record["runs"].items()}
    return _indented({"machine": asdict(results.machine), "benchmarks": benchmarks}) + "\n"


def _indented(value: Any, depth: int = 0) -> str:
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    pad = "  " * (depth + 1)
    lines = (f"{pad}{json.dumps(key)}: {_indented(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"


def chosen(wanted: Sequence[str], known: Collection[str]) -> list[str]:
    """The benchmarks that are meant: by their name, its beginning, or a part of it (`txtai`); all by none.

    Raises `BenchmarkError`, naming all, for what means none.
    """
    for name in wanted:
        if not any(_means(name, other) for other in known):
            raise BenchmarkError(f"There is no benchmark '{name}'.", f"Choose of {', '.join(known)}.")
    return [name for name in known if not wanted or any(_means(item, name) for item in wanted)]


def _means(name: str, known: str) -> bool:
    return known.startswith(name) or name in known.split(":")


def run_all(
    names: Sequence[str],
    benchmarks: Mapping[str, Callable[[], Runs]],
    *,
    machine: Machine,
    page: Callable[[Results], str],
    path: Path | None,
) -> Results:
    """Run some of the benchmarks; each is written down as soon as it is done, beside those of before."""
    results = load_results(path, machine, known=benchmarks) if path else Results(machine)
    for name in names:
        results = results.with_record(benchmarks[name]().record(commit=machine.versions["athena"]))
        if path:
            save(results, path, page=page(results))
    return results


STARTED = time.perf_counter()


def say(line: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"[{time.perf_counter() - STARTED:6.0f} s] {line}", file=sys.stderr, flush=True)


def print_page(measured: Callable[[], str]) -> int:
    """Print the page of what is measured; the exit code: 1, with the error, where it could not be."""
    try:
        page = measured()
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    print(page)
    return 0
