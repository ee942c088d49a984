"""What is measured, in which order: ingest into both stores, then one user, then many, then all in step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.embedded.athena_side import AthenaSide
from bench.embedded.corpora import make_questions, read_lines
from bench.embedded.machine import processor_time
from bench.embedded.plan import Runs, Say
from bench.embedded.processes import run_measured
from bench.server.ferretdb import index_ids
from bench.server.quiet import undisturbed
from bench.server.servers import remove, settings
from bench.server.steady_model import SPREAD
from pipeline.stores.server import ServerAddresses

QUESTIONS = 500
SINGLE_WORDS_PER_SECOND = 300.0
RUNS = 2  # of a pattern that the machine's host disturbs
QUIET_SHARE = 0.5  # of its searches, from which one run is enough
RAMP_UP_S = 6.0  # about as long as an answer takes
ROOT = Path(__file__).parents[2]
Report = dict[str, list[Any]]  # what `users` writes


class Done(NamedTuple):
    """One run of a pattern, and the share of the machine's work that had to wait for its host meanwhile."""

    report: Report
    stolen: float

    @property
    def answered(self) -> list[Any]:
        """The questions that were answered."""
        return [item for item in self.report["asked"] if not item["error"]]

    @property
    def quiet(self) -> list[Any]:
        """Those of them whose search the host left alone."""
        return [*undisturbed(self.report)]

    @property
    def quiet_share(self) -> float:
        """How many of the searches those are."""
        return len(self.quiet) / max(1, len(self.answered))


@dataclass(frozen=True, slots=True)
class Effort:
    """How long, and how many at once."""

    seconds: float = 600.0
    users: int = 20
    single_seconds: float = 150.0
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


def patterns(effort: Effort) -> tuple[Pattern, ...]:
    """One user; many who come one after the other, with answers of different lengths; many in step.

    The single user's answers are streamed fast, so that his questions are many enough for a percentile: a
    search of his own never meets one.
    """
    rate = effort.words_per_second
    return (
        Pattern("single", 1, effort.single_seconds, SINGLE_WORDS_PER_SECOND),
        Pattern("many", effort.users, effort.seconds, rate, ramp_seconds=RAMP_UP_S),
        Pattern("together", effort.users, effort.together_seconds, rate, spread=0.0),
    )


@dataclass(frozen=True, slots=True)
class ServerBench:
    """Where things are."""

    folder: Path  # of Markdown
    addresses: ServerAddresses
    work: Path
    effort: Effort
    say: Say
    mongodb_files: Path  # FerretDB's

    @property
    def embedded(self) -> AthenaSide:
        """Athena over the embedded store."""
        return AthenaSide(self.work)

    @property
    def server(self) -> AthenaSide:
        """Athena over the servers."""
        return AthenaSide(self.work, settings(self.addresses))


def ingest(bench: ServerBench) -> Runs:
    """The same folder into an empty embedded store and into empty servers, in turns, by the command line."""
    runs = Runs("ingest", bench.say)
    runs.facts["folder"] = bench.folder.name
    for number in range(bench.effort.ingests):
        runs.add_process(
            "embedded.ingest", bench.embedded.ingest(bench.folder, bench.work / f"index-{number}")
        )
        remove(bench.addresses)
        done = bench.server.ingest(bench.folder, bench.work / "server")
        runs.add_process("server.ingest", done)
        runs.facts["sentences"] = int(json.loads(done.output)["sentences"])
    return runs


def users(bench: ServerBench) -> Runs:
    """One user alone, then many at once, each in a process of its own over the same index."""
    runs = Runs("users", bench.say)
    effort = bench.effort
    bench.server.ingest(bench.folder, bench.work / "server")
    runs.facts["indexed_collections"] = index_ids(bench.addresses, bench.mongodb_files)
    runs.facts |= {"folder": bench.folder.name, "users": effort.users, "seconds": effort.seconds}
    runs.facts |= {
        "words_per_second": effort.words_per_second,
        "together_seconds": effort.together_seconds,
    }
    questions = _questions(bench)
    for pattern in patterns(effort):
        bench.say(f"{pattern.name}: {pattern.users} at once for {pattern.seconds:g} s")
        done = _run(bench, questions, pattern)
        _keep(bench, runs, pattern.name, done)
    return runs


def _run(bench: ServerBench, questions: Path, pattern: Pattern) -> list[Done]:
    """A pattern's run; where the machine's host disturbs it, it is run again, `RUNS` times in all at most."""
    done: list[Done] = []
    while len(done) < RUNS and all(run.quiet_share < QUIET_SHARE for run in done):
        before = processor_time()
        with _steady_model(pattern) as model_url:
            report = _load(bench, questions, model_url, pattern)
        done.append(Done(report, processor_time().stolen_since(before)))
        stolen, quiet = done[-1].stolen, done[-1].quiet_share
        bench.say(f"{pattern.name}: {stolen:.1%} of the work waited for the host, {quiet:.0%} left alone")
    return done


def _questions(bench: ServerBench) -> Path:
    exported = bench.embedded.export("server-bench", bench.folder)
    sections = read_lines(exported.leaves / "sections.jsonl")
    path = bench.work / "questions.json"
    path.write_text(json.dumps(make_questions(sections, count=QUESTIONS)), encoding="utf-8")
    return path


@contextmanager
def _steady_model(pattern: Pattern) -> Iterator[str]:
    """A language model in a process of its own, so that it takes nothing from the app's."""
    command = [sys.executable, "-m", "bench.server.steady_model"]
    options = ("--words-per-second", str(pattern.words_per_second), "--spread", str(pattern.spread))
    process = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()


def _load(bench: ServerBench, questions: Path, model_url: str, pattern: Pattern) -> Report:
    report = bench.work / "users-report.json"
    environment = bench.server.environment() | {
        "ATHENA_OLLAMA_URL": model_url,
        "ATHENA_LLM": "ollama/steady",
        "ATHENA_DATA_DIR": str(bench.work / "server"),
        "PYTHONPATH": os.fspath(ROOT),
    }
    numbers = {"users": pattern.users, "seconds": pattern.seconds, "ramp-seconds": pattern.ramp_seconds}
    options = [text for name, number in numbers.items() for text in (f"--{name}", str(number))]
    files: list[str | Path] = ["--questions", questions, "--report", report]
    command: list[str | Path] = [sys.executable, "-m", "bench.server.users", *files, *options]
    run_measured(command, cwd=bench.work, env=environment)
    loaded: Report = json.loads(report.read_text(encoding="utf-8"))
    return loaded


def _keep(bench: ServerBench, runs: Runs, name: str, done: Sequence[Done]) -> None:
    """The least disturbed run, whatever its times are, and the errors of all."""
    errors = [item["error"] for run in done for item in run.report["asked"] if item["error"]]
    for error in sorted(set(errors)):
        bench.say(f"error: {error}")
    kept = min(done, key=lambda run: run.stolen)
    answered = kept.answered
    runs.facts[f"{name}_answers"] = len(answered)
    runs.facts[f"{name}_errors"] = len(errors)
    runs.facts[f"{name}_runs"] = len(done)
    runs.facts[f"{name}_stolen"] = round(kept.stolen, 3)
    for column in ("retrieval_ms", "first_word_s", "answer_s"):
        runs.add(f"{name}.{column}", *(item[column] for item in answered))
    runs.add(f"{name}.quiet_retrieval_ms", *(item["retrieval_ms"] for item in kept.quiet))
    runs.add(f"{name}.memory_mb", *(sample["memory_mb"] for sample in kept.report["samples"]))
