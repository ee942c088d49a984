"""What is measured, in which order: ingest into both stores, then rounds of one user, many, and one again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.athena import ROOT, AthenaSide
from bench.corpora import known_items
from bench.processes import run_measured
from bench.results import Runs, Say
from bench.server.servers import remove, settings
from bench.server.steady_model import SPREAD
from bench.statistics import p95, ratio
from pipeline.stores.server import ServerAddresses

QUESTIONS = 500
SINGLE_WORDS_PER_SECOND = 300.0
RAMP_UP_S = 6.0  # about as long as an answer takes
EARLY, LATE = (0.2, 0.4), (0.8, 1.0)
"""Shares of the time whose memory is compared: what is loaded once is loaded by the first."""

COLUMNS = ("retrieval_ms", "first_word_s", "answer_s")


@dataclass(frozen=True, slots=True)
class Effort:
    """How long, how often, and how many at once."""

    rounds: int = 3
    seconds: float = 600.0
    users: int = 20
    single_seconds: float = 90.0
    together_seconds: float = 100.0
    words_per_second: float = 30.0
    ingests: int = 1


@dataclass(frozen=True, slots=True)
class Pattern:
    """How users come and ask, and how the language model answers them."""

    name: str
    users: int
    seconds: float
    words_per_second: float
    spread: float = SPREAD  # of the answers' lengths
    ramp_seconds: float = 0.0  # in which the users come


@dataclass(frozen=True, slots=True)
class ServerBench:
    """Where things are."""

    folder: Path  # of Markdown
    addresses: ServerAddresses
    work: Path
    effort: Effort
    say: Say

    @property
    def server(self) -> AthenaSide:
        """Athena over the servers."""
        return AthenaSide(self.work, settings(self.addresses))

    def round(self) -> tuple[Pattern, ...]:
        """One user; many who come one after the other, with answers of different lengths; one user again.

        The single user's answers are streamed fast, so that there are enough questions for a percentile;
        one user's search never runs beside an answer anyway.
        """
        effort = self.effort
        single = Pattern("single", 1, effort.single_seconds, SINGLE_WORDS_PER_SECOND)
        many = Pattern("many", effort.users, effort.seconds, effort.words_per_second, ramp_seconds=RAMP_UP_S)
        return single, many, single

    @property
    def together(self) -> Pattern:
        """Many in step: they come at once, and their answers are of one length."""
        effort = self.effort
        return Pattern("together", effort.users, effort.together_seconds, effort.words_per_second, spread=0.0)


def ingest(bench: ServerBench) -> Runs:
    """The same folder into an empty embedded store and into empty servers, in turns, by the command line."""
    runs = Runs("ingest", bench.say)
    runs.facts["folder"] = bench.folder.name
    for number in range(bench.effort.ingests):
        store = bench.work / f"index-{number}"
        runs.add_process("embedded.ingest", AthenaSide(bench.work).ingest(bench.folder, store))
        remove(bench.addresses)
        done = bench.server.ingest(bench.folder, bench.work / "server")
        runs.add_process("server.ingest", done)
        runs.facts["sentences"] = int(json.loads(done.output)["sentences"])
    return runs


def users(bench: ServerBench) -> Runs:
    """Rounds of users, then users in step, each pattern in a process of its own over the same index."""
    runs = Runs("users", bench.say)
    effort = bench.effort
    bench.server.ingest(bench.folder, bench.work / "server")
    runs.facts |= {"folder": bench.folder.name, "users": effort.users, "seconds": effort.seconds}
    runs.facts |= {"together_seconds": effort.together_seconds, "rounds": effort.rounds}
    items = known_items(bench.folder, count=QUESTIONS)
    questions = bench.work / "questions.json"
    questions.write_text(json.dumps([item.text for item in items]), encoding="utf-8")
    for number in range(effort.rounds):
        bench.say(f"round {number + 1} of {effort.rounds}")
        keep_round(runs, [_load(bench, questions, pattern) for pattern in bench.round()])
    keep(runs, "together", _load(bench, questions, bench.together))
    return runs


Report = dict[str, list[Any]]  # what `users` writes


def keep_round(runs: Runs, reports: list[Report]) -> None:
    """One user before and after, the many between: their numbers, and how many times as long these take."""
    before, many, after = reports
    singles = [*keep(runs, "single", before), *keep(runs, "single", after)]
    waits = keep(runs, "many", many)
    runs.add("before_p95_ms", p95([item["retrieval_ms"] for item in _answered(before)]))
    runs.add("after_p95_ms", p95([item["retrieval_ms"] for item in _answered(after)]))
    runs.add("p95_ratio", ratio(p95(waits), p95(singles)))
    for name, (first, last) in (("early_memory_mb", EARLY), ("late_memory_mb", LATE)):
        samples = many["memory_mb"]
        runs.add(name, *samples[int(len(samples) * first) : int(len(samples) * last)])


def keep(runs: Runs, name: str, report: Report) -> list[float]:
    """Add a pattern's numbers to those of the same name; the milliseconds of its searches."""
    answered = _answered(report)
    errors = [item["error"] for item in report["asked"] if item["error"]]
    for error in sorted(set(errors)):
        runs.say(f"error: {error}")
    for fact, found in (("answers", len(answered)), ("errors", len(errors))):
        runs.facts[f"{name}_{fact}"] = int(runs.facts.get(f"{name}_{fact}", 0)) + found
    for column in COLUMNS:
        runs.add(f"{name}.{column}", *(item[column] for item in answered))
    return [item["retrieval_ms"] for item in answered]


def _answered(report: Report) -> list[Any]:
    return [item for item in report["asked"] if not item["error"]]


def _load(bench: ServerBench, questions: Path, pattern: Pattern) -> Report:
    """The report of a pattern's users."""
    bench.say(f"{pattern.name}: {pattern.users} at once for {pattern.seconds:g} s")
    report = bench.work / "users-report.json"
    numbers = {"users": pattern.users, "seconds": pattern.seconds, "ramp-seconds": pattern.ramp_seconds}
    options = [text for name, number in numbers.items() for text in (f"--{name}", str(number))]
    files: list[str | Path] = ["--questions", questions, "--report", report]
    command: list[str | Path] = [sys.executable, "-m", "bench.server.users", *files, *options]
    with _steady_model(pattern) as model_url:
        environment = bench.server.environment() | {
            "ATHENA_OLLAMA_URL": model_url,
            "ATHENA_LLM": "ollama/steady",
            "ATHENA_DATA_DIR": str(bench.work / "server"),
            "PYTHONPATH": os.fspath(ROOT),
        }
        run_measured(command, cwd=bench.work, env=environment)
    loaded: Report = json.loads(report.read_text(encoding="utf-8"))
    return loaded


@contextmanager
def _steady_model(pattern: Pattern) -> Iterator[str]:
    """A language model in a process of its own, so that it takes nothing from the app's."""
    options = ("--words-per-second", str(pattern.words_per_second), "--spread", str(pattern.spread))
    command = [sys.executable, "-m", "bench.server.steady_model", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()
