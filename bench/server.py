"""`make bench-server`: many users at once on the server stores, and ingest beside the embedded store.

`python -m bench.server [--rounds 3] [--seconds 600] [--users 20] [--only users|ingest]` needs the servers of
`scripts/servers.sh` and writes docs/benchmarks-server.json and .md. For a short look: `--only users
--folder docs_corpus --seconds 60 --single-seconds 30 --together-seconds 30 --out /tmp`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.athena import ROOT, AthenaSide
from bench.corpora import known_items
from bench.machine import Machine, this_machine
from bench.processes import run_measured
from bench.results import Results, Runs, Say, chosen, print_page, run_all, say
from bench.server_page import to_markdown
from bench.steady_model import SPREAD
from bench.table import p95, ratio
from evals.datasets import default_folder
from pipeline.errors import DatasetError
from pipeline.stores.server import ServerAddresses, ServerStore, ServerVersions
from pipeline.stores.server.servers import Servers


@contextmanager
def own_corner() -> Iterator[ServerAddresses]:
    """Addresses on the servers that `ATHENA_TEST_…` name, by default those of `scripts/servers.sh`."""
    name = uuid.uuid4().hex[:8]
    addresses = ServerAddresses(
        mongodb_url=os.environ.get("ATHENA_TEST_MONGODB_URL", "mongodb://127.0.0.1:27018"),
        mongodb_database=f"athena_bench_{name}",
        weaviate_url=os.environ.get("ATHENA_TEST_WEAVIATE_URL", "http://127.0.0.1:8090"),
        weaviate_grpc_port=int(os.environ.get("ATHENA_TEST_WEAVIATE_GRPC", "50051").rpartition(":")[2]),
        weaviate_prefix=f"Bench{name}",
    )
    try:
        yield addresses
    finally:
        remove(addresses)


def versions(addresses: ServerAddresses) -> ServerVersions:
    """The versions of both servers; raises `StoreUnavailable` where one does not answer."""
    with closing(ServerStore(addresses)) as store:
        return store.versions()


def settings(addresses: ServerAddresses) -> dict[str, str]:
    """The environment of a process that uses these servers."""
    return {
        "ATHENA_STORE": "server",
        "ATHENA_MONGODB_URL": addresses.mongodb_url,
        "ATHENA_MONGODB_DATABASE": addresses.mongodb_database,
        "ATHENA_WEAVIATE_URL": addresses.weaviate_url,
        "ATHENA_WEAVIATE_GRPC_PORT": str(addresses.weaviate_grpc_port),
        "ATHENA_WEAVIATE_PREFIX": addresses.weaviate_prefix,
    }


def remove(addresses: ServerAddresses) -> None:
    """Delete all that is there."""

    def drop(client):  # type: ignore[no-untyped-def]
        prefix = f"{addresses.weaviate_prefix}_"
        names = [name for name in client.collections.list_all(simple=True) if name.startswith(prefix)]
        if names:
            client.collections.delete(names)

    with closing(Servers(addresses)) as servers:
        with servers.mongo.database() as database:
            database.client.drop_database(addresses.mongodb_database)
        servers.weaviate.run(drop)


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
    command: list[str | Path] = [sys.executable, "-m", "bench.users", *files, *options]
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
    command = [sys.executable, "-m", "bench.steady_model", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()


BENCHMARKS = {"ingest": ingest, "users": users}
NAME = "benchmarks-server.json"
FOLDER = Path("docs") / "opensearch-docs"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a server is missing or something failed."""
    options = _options(arguments)
    return print_page(lambda: to_markdown(run(options)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    default = Effort()
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    data = default_folder()
    parser.add_argument("--folder", type=Path, default=data / FOLDER, help="Markdown to ingest and ask about")
    parser.add_argument("--only", action="append", default=[], help="may be given several times")
    parser.add_argument("--rounds", type=int, default=default.rounds, help="one user, many, one again")
    parser.add_argument("--users", type=int, default=default.users, help="how many ask at once")
    parser.add_argument("--seconds", type=float, default=default.seconds, help="how long they ask")
    parser.add_argument("--single-seconds", type=float, default=default.single_seconds)
    parser.add_argument("--together-seconds", type=float, default=default.together_seconds)
    parser.add_argument("--words-per-second", type=float, default=default.words_per_second)
    parser.add_argument("--ingests", type=int, default=default.ingests)
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the two files")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> Results:
    """Run what was asked for; each benchmark is written down as soon as it is done.

    Raises:
        DatasetError: the folder is not there.
        StoreUnavailable: a server does not answer.
        BenchmarkError: a measured command failed.
    """
    if not options.folder.is_dir():
        raise DatasetError(
            f"There is nothing to measure with: '{options.folder}' does not exist.",
            "Name a folder of Markdown with --folder.",
        )
    effort = Effort(**{field.name: getattr(options, field.name) for field in fields(Effort)})
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as scratch, own_corner() as addresses:
        bench = ServerBench(options.folder.resolve(), addresses, Path(scratch).resolve(), effort, say)
        benchmarks = {name: partial(benchmark, bench) for name, benchmark in BENCHMARKS.items()}
        names = chosen(options.only, BENCHMARKS)
        machine, path = _machine(addresses), options.out / NAME
        return run_all(names, benchmarks, machine=machine, page=to_markdown, path=path)


def _machine(addresses: ServerAddresses) -> Machine:
    machine, servers = this_machine(), versions(addresses)
    both = {"Weaviate": servers.weaviate, "MongoDB-compatible server, says it is": servers.mongodb}
    clients = {name: metadata.version(name) for name in ("pymongo", "weaviate-client")}
    return replace(machine, versions={**machine.versions, **clients, **both})


if __name__ == "__main__":
    sys.exit(main())
