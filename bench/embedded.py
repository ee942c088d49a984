"""`python -m bench.embedded`: run the benchmarks, print the page and write it down.

`--only rust-book`, `--only txtai`, `--only rust-book:txtai`, several times: single ones. What was measured
before on this machine is kept, with its date and commit.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.athena import ROOT, AthenaSide
from bench.contenders import ATHENA, PEERS, Peer, Report
from bench.corpora import (
    OPENSEARCH,
    RUST_BOOK,
    SCIFACT,
    KnownItem,
    existing,
    known_items,
    scifact_as_markdown,
)
from bench.embedded_page import to_markdown
from bench.machine import this_machine
from bench.processes import BenchmarkError, run_measured
from bench.results import Results, Runs, Say, chosen, print_page, run_all, say
from evals.datasets import default_folder, load_qrels, load_queries
from evals.metrics import ndcg_at, recall_at, reciprocal_rank_at

MANUALS = ROOT / "docs_corpus"
QUESTION = "The LN2 tank shows OFFLINE, what can be the reason and what do I do?"
SETUP = "bench.setup_cost"
RANKS = 10  # of known items
MOST_WORDS = 400  # characters of a peer's error that are kept
OPENSEARCH_PEERS = ("llamaindex", "llamaindex-tuned")
"""The others have no advantage there that rust-book would not show, and take an hour each."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are run."""

    questions: int = 300
    slow_questions: int = 60  # for peers on a large folder, where one takes seconds
    ingests: int = 3  # of rust-book by Athena; everything else is ingested once
    asks: int = 7


QUICK = Effort(questions=20, slow_questions=10, ingests=1, asks=3)


@dataclass(frozen=True, slots=True)
class Bench:
    """Athena, where the data are, and where to work."""

    athena: AthenaSide
    data: Path
    work: Path
    effort: Effort
    say: Say

    def folder(self, collection: str) -> Path:
        """The Markdown of a collection; raises `DatasetError` saying what is missing."""
        if collection != SCIFACT:
            return existing(self.data / "docs" / collection)
        written = self.work / "scifact-md"
        return written if written.is_dir() else scifact_as_markdown(self.scifact, written)

    @property
    def scifact(self) -> Path:
        """SciFact in BEIR's layout."""
        return existing(self.data / SCIFACT)

    def empty(self, name: str) -> Path:
        """A path at which there is nothing."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    def write(self, questions: Sequence[str]) -> Path:
        """A file of questions."""
        path = self.work / "questions.json"
        path.write_text(json.dumps(questions), encoding="utf-8")
        return path


def athena_on_folder(bench: Bench, runs: Runs, *, collection: str) -> None:
    """First and second ingests, then searches for known headings."""
    folder, store = bench.folder(collection), bench.work / f"athena-{collection}"
    for _ in range(bench.effort.ingests if collection == RUST_BOOK else 1):
        bench.empty(store.name)
        runs.add_process("ingest", bench.athena.ingest(folder, store))
        runs.add("again_seconds", bench.athena.ingest(folder, store).seconds)
    items = known_items(folder, count=bench.effort.questions)
    done, report = bench.athena.search(store, bench.write([item.text for item in items]))
    runs.facts |= {"passages": report["passages"], "unit": "sentences"}
    runs.add("query_peak_mb", done.peak_mb)
    _keep_search(runs, report, items)


def peer_on_folder(bench: Bench, runs: Runs, *, collection: str, peer: Peer) -> None:
    """The same of a peer; questions are the first of Athena's where a folder is large."""
    folder, store = bench.folder(collection), bench.empty(f"{peer.environment.name}-{collection}")
    peer.environment.python()
    done, report = peer.ingest(folder, store)
    runs.add_process("ingest", done)
    runs.facts |= {"passages": report["passages"], "unit": report["unit"]}
    runs.add("again_seconds", peer.ingest(folder, store)[0].seconds)
    effort = bench.effort
    count = effort.questions if collection == RUST_BOOK else effort.slow_questions
    items = known_items(folder, count=count)
    done, report = peer.search(folder, store, bench.write([item.text for item in items]))
    runs.add("query_peak_mb", done.peak_mb)
    runs.add("environment_mb", peer.environment.megabytes())
    _keep_search(runs, report, items)


def _keep_search(runs: Runs, report: Report, items: Sequence[KnownItem]) -> None:
    found = zip(report["sources"], items, strict=True)
    ranks = [reciprocal_rank_at(sources, [item.source], RANKS) for sources, item in found]
    runs.add("import_seconds", report["import_seconds"])
    runs.add("query_ms", *report["ms"])
    runs.add("reciprocal_rank", *ranks)


def athena_on_scifact(bench: Bench, runs: Runs) -> None:
    """Quality: the judged test questions of SciFact by `athena eval retrieval`."""
    _keep_judged(bench, runs, bench.athena.rank(bench.scifact))


def peer_on_scifact(bench: Bench, runs: Runs, *, peer: Peer) -> None:
    """The same questions to a peer that was given a file an abstract, each file one passage."""
    folder, store = bench.folder(SCIFACT), bench.empty(f"{peer.environment.name}-scifact")
    judged = load_qrels(bench.scifact, "test")
    queries = [query for query in load_queries(bench.scifact) if query.id in judged]
    peer.ingest(folder, store, whole=True)
    questions = bench.write([query.text for query in queries])
    _, report = peer.search(folder, store, questions, whole=True)
    found = zip(queries, report["sources"], strict=True)
    _keep_judged(bench, runs, {query.id: [Path(name).stem for name in names] for query, names in found})


def _keep_judged(bench: Bench, runs: Runs, rankings: Mapping[str, Sequence[str]]) -> None:
    """Both metrics of every judged question, in the order of their ids, so that they can be paired."""
    judged = load_qrels(bench.scifact, "test")
    rows = [(rankings.get(name, ()), judged[name]) for name in sorted(judged)]
    runs.add("nDCG@10", *(ndcg_at(ranking, relevant, 10) for ranking, relevant in rows))
    runs.add("Recall@100", *(recall_at(ranking, relevant, 100) for ranking, relevant in rows))


def ask(bench: Bench, runs: Runs) -> None:
    """`athena ask`, a new process each time."""
    data_dir = bench.empty("athena-manuals")
    bench.athena.ingest(MANUALS, data_dir)
    for _ in range(bench.effort.asks):
        runs.add_process("ask", bench.athena.ask(QUESTION, data_dir))


def setup(bench: Bench, runs: Runs) -> None:
    """What setting up the core environment takes: every number that a program of its own prints, by way."""
    done = run_measured([sys.executable, "-m", SETUP], cwd=ROOT, env=bench.athena.environment())
    for way, figures in json.loads(done.output).items():
        for name, value in figures.items() if isinstance(figures, dict) else ():
            if isinstance(value, int | float):
                runs.add(f"{way}.{name}", float(value))


Benchmark = Callable[[Bench, Runs], None]


def _benchmarks() -> Iterator[tuple[str, Benchmark]]:
    yield "setup", setup
    yield "ask", ask
    yield f"{SCIFACT}:{ATHENA}", athena_on_scifact
    for collection in (RUST_BOOK, OPENSEARCH):
        yield f"{collection}:{ATHENA}", partial(athena_on_folder, collection=collection)
    for name, peer in PEERS.items():
        yield f"{RUST_BOOK}:{name}", partial(peer_on_folder, collection=RUST_BOOK, peer=peer)
        yield f"{SCIFACT}:{name}", partial(peer_on_scifact, peer=peer)
    for name in OPENSEARCH_PEERS:
        yield f"{OPENSEARCH}:{name}", partial(peer_on_folder, collection=OPENSEARCH, peer=PEERS[name])


BENCHMARKS: Mapping[str, Benchmark] = dict(_benchmarks())


def run(name: str, bench: Bench) -> Runs:
    """One benchmark's numbers; where a peer cannot be installed or run, or the core not be set up, why."""
    runs = Runs(name, bench.say)
    try:
        BENCHMARKS[name](bench, runs)
    except BenchmarkError as error:
        if name != "setup" and name.partition(":")[2] not in PEERS:
            raise
        runs.facts["error"] = str(error)[:MOST_WORDS]
        bench.say(f"{name}: {error}")
    return runs


NAME = "benchmarks.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something is missing or failed."""
    options = _options(arguments)
    return print_page(lambda: to_markdown(measure(options)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.embedded", description=__doc__)
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of docs/ and scifact/")
    parser.add_argument("--only", action="append", default=[], help="a benchmark, a collection, or a library")
    parser.add_argument("--quick", action="store_true", help="few questions; written only with --out")
    parser.add_argument("--out", type=Path, help="folder of benchmarks.json and .md; default: docs")
    options = parser.parse_args(arguments)
    if options.out is None and not options.quick:
        options.out = ROOT / "docs"
    return options


def measure(options: argparse.Namespace) -> Results:
    """Run what was asked for; each benchmark is written down as soon as it is done.

    Raises:
        DatasetError: the data are not there.
        BenchmarkError: a benchmark is unknown, or a command of Athena's failed.
    """
    names = chosen(options.only, BENCHMARKS)
    data = existing(options.data).resolve()
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as scratch:
        work = Path(scratch).resolve()
        effort = QUICK if options.quick else Effort()
        bench = Bench(AthenaSide(work), data, work, effort, say)
        benchmarks = {name: partial(run, name, bench) for name in BENCHMARKS}
        path = options.out / NAME if options.out else None
        return run_all(names, benchmarks, machine=this_machine(), page=to_markdown, path=path)


if __name__ == "__main__":
    sys.exit(main())
