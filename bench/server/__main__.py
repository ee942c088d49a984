"""`make bench-server`: many users at once on the server stores, and ingest beside the embedded store.

`python -m bench.server [--rounds 3] [--seconds 600] [--users 20] [--only users|ingest]` needs the servers of
`scripts/servers.sh` and writes docs/benchmarks-server.json and .md. For a short look: `--only users
--folder docs_corpus --seconds 60 --single-seconds 30 --together-seconds 30 --out /tmp`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import metadata
from pathlib import Path

from bench.athena import ROOT
from bench.machine import Machine, this_machine
from bench.results import Results, load_results, save
from bench.server.page import to_markdown
from bench.server.plan import Effort, ServerBench, ingest, users
from bench.server.servers import own_corner, versions
from evals.datasets import default_folder
from pipeline.errors import AthenaError, DatasetError
from pipeline.stores.server import ServerAddresses

BENCHMARKS = {"ingest": ingest, "users": users}
NAME = "benchmarks-server.json"
FOLDER = Path("docs") / "opensearch-docs"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a server is missing or something failed."""
    options = _options(arguments)
    try:
        results = run(options)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    print(to_markdown(results))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    default = Effort()
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    data = default_folder()
    parser.add_argument("--folder", type=Path, default=data / FOLDER, help="Markdown to ingest and ask about")
    parser.add_argument("--only", action="append", choices=[*BENCHMARKS], help="may be given several times")
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
        machine = _machine(addresses)
        results = load_results(options.out / NAME, machine, known=BENCHMARKS)
        work = Path(scratch).resolve()
        bench = ServerBench(options.folder.resolve(), addresses, work, effort, _say)
        for name in options.only or BENCHMARKS:
            runs = BENCHMARKS[name](bench)
            results = results.with_record(runs.record(commit=machine.versions["athena"]))
            save(results, options.out / NAME, page=to_markdown(results))
    return results


def _machine(addresses: ServerAddresses) -> Machine:
    machine, servers = this_machine(), versions(addresses)
    both = {"Weaviate": servers.weaviate, "MongoDB-compatible server, says it is": servers.mongodb}
    clients = {name: metadata.version(name) for name in ("pymongo", "weaviate-client")}
    return replace(machine, versions={**machine.versions, **clients, **both})


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
