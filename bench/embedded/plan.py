"""The benchmarks, by name: what each runs, in which order, and what it keeps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.embedded import corpora
from bench.embedded.athena_side import AthenaSide
from bench.embedded.baseline_side import Baseline
from bench.embedded.corpora import Exported, Share
from bench.embedded.machine import load_average, processor_time
from bench.embedded.processes import Finished
from bench.embedded.results import Fact, Record
from evals.datasets import load_qrels, load_queries
from evals.metrics import mean, ndcg_at, recall_at

CANDIDATES = 100  # length of a list, in both: Athena's default
MANUALS = Path(__file__).parents[2] / "docs_corpus"
QUESTION = "The LN2 tank shows OFFLINE, what can be the reason and what do I do?"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are run."""

    ingests: int = 3  # of the small folder; the large ones are ingested once
    questions: int = 300
    baseline_questions: int = 60  # over 100,000 sentences, where one takes it seconds
    asks: int = 7
    sentences: int = corpora.SENTENCES


QUICK = Effort(ingests=1, questions=30, baseline_questions=10, asks=3)


@dataclass(slots=True)
class Bench:
    """Both sides, where the data are, and what was exported so far."""

    athena: AthenaSide
    baseline: Baseline
    data: Path
    work: Path
    effort: Effort
    say: Say
    exported: dict[str, Exported] = field(default_factory=dict)

    def export(self, name: str) -> Exported:
        """The leaves of a folder, cut once."""
        if name not in self.exported:
            self.say(f"{name}: cutting into leaves")
            folder = (
                corpora.scifact_as_markdown(self.data, self.work / "scifact-md")
                if name == corpora.SCIFACT
                else corpora.docs_folder(self.data, name)
            )
            self.exported[name] = self.athena.export(name, folder)
        return self.exported[name]

    def folder(self, name: str) -> Path:
        """An empty folder for one use."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        return path


def ingest(bench: Bench, name: str, *, times: int) -> Runs:
    """First and second ingests, both sides in turns."""
    runs = Runs(name, bench.say)
    exported = bench.export(name)
    runs.facts["leaves"] = exported.total
    runs.add("athena.parse_seconds", exported.parse_seconds)
    parsed = bench.baseline.parse(exported.folder)
    runs.facts["baseline_own_leaves"] = parsed["leaves"]
    runs.add("baseline.parse_seconds", parsed["seconds"])
    for _ in range(times):
        data_dir = bench.folder(f"index-{name}")
        done = bench.athena.ingest(exported.folder, data_dir)
        runs.add_process("athena.ingest", done)
        done = bench.baseline.ingest(exported)
        runs.add_process("baseline.ingest", done)
        runs.add("athena.again_seconds", bench.athena.ingest(exported.folder, data_dir).seconds)
        runs.add("baseline.again_seconds", bench.baseline.ingest_again(exported).seconds)
    return runs


def retrieval_small(bench: Bench) -> Runs:
    """Questions to the small folder."""
    exported = bench.export(corpora.RUST_BOOK)
    runs = Runs(f"retrieval {exported.name}", bench.say)
    data_dir = bench.folder(f"index-{exported.name}")
    runs.add("athena.ingest_peak_mb", bench.athena.ingest(exported.folder, data_dir).peak_mb)
    questions = _questions(bench, [Share(exported, tuple(exported.sentences))], bench.effort.questions)
    store = bench.baseline.ensure_store(exported)
    _ask(bench, runs, data_dir=data_dir, store=store, questions=questions, baseline_questions=questions)
    return runs


def retrieval_large(bench: Bench) -> Runs:
    """Questions to 100,000 sentences, put together from the folders; a new index of all of them."""
    shares = _large_corpus(bench)
    runs = Runs("retrieval large", bench.say)
    runs.facts["large"] = True
    folder, data_dir = bench.folder("large"), bench.folder("index-large")
    runs.facts["leaves"] = corpora.copy_sources(shares, folder)
    done = bench.athena.ingest(folder, data_dir)
    runs.add_process("athena.ingest", done)
    _ask(
        bench,
        runs,
        data_dir=data_dir,
        store=bench.baseline.merged_store(shares, bench.folder("store-large")),
        questions=_questions(bench, shares, bench.effort.questions),
        baseline_questions=_questions(bench, shares, bench.effort.baseline_questions),
    )
    return runs


def ask(bench: Bench) -> Runs:
    """`athena ask`, a new process each time."""
    runs = Runs("ask", bench.say)
    data_dir = bench.folder("index-manuals")
    bench.athena.ingest(MANUALS, data_dir)
    for _ in range(bench.effort.asks):
        done = bench.athena.ask(QUESTION, data_dir)
        runs.add_process("athena.ask", done)
    return runs


def scifact(bench: Bench) -> Runs:
    """Quality: the judged test questions of SciFact."""
    runs = Runs("scifact", bench.say)
    folder = corpora.scifact_folder(bench.data)
    _, report = bench.athena.evaluate_retrieval(folder)
    for metric, value in report["metrics"].items():
        runs.add(f"athena.{metric}", value)
    runs.add("athena.ingest_seconds", report["ingest_seconds"])
    runs.add("athena.query_p95_ms", report["ms_per_query"]["p95"])
    qrels = load_qrels(folder, "test")
    questions = {query.id: query.text for query in load_queries(folder) if query.id in qrels}
    ranked = bench.baseline.rank(folder, questions, top_k=CANDIDATES)
    rows = [(ranking, qrels[name]) for name, ranking in ranked["rankings"].items()]
    runs.add("baseline.nDCG@10", mean([ndcg_at(ranking, judged, 10) for ranking, judged in rows]))
    runs.add("baseline.Recall@100", mean([recall_at(ranking, judged, 100) for ranking, judged in rows]))
    runs.add("baseline.ingest_seconds", ranked["ingest_seconds"])
    return runs


class Runs:
    """The raw numbers of one benchmark while it runs."""

    def __init__(self, title: str, say: Say) -> None:
        self.facts: dict[str, Fact] = {"load_before": load_average()}
        self._before = processor_time()
        self._title = title
        self._say = say
        self._runs: dict[str, list[float]] = {}

    def add(self, name: str, *values: float) -> None:
        """Keep numbers, and say them where there is just one."""
        self._runs.setdefault(name, []).extend(values)
        if len(values) == 1:
            self._say(f"{self._title}: {name} {values[0]:,.3f}")

    def add_process(self, name: str, done: Finished) -> None:
        """Keep a process's time by the clock, its processors' time and its peak memory."""
        self.add(f"{name}_seconds", done.seconds)
        self.add(f"{name}_cpu_seconds", done.cpu_seconds)
        self.add(f"{name}_peak_mb", done.peak_mb)

    def record(self, name: str, *, commit: str) -> Record:
        """What is kept of them."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stolen = round(processor_time().stolen_since(self._before), 3)
        return Record(name, now, self.facts | {"commit": commit, "stolen": stolen}, self._runs)


BENCHMARKS: Mapping[str, Callable[[Bench], Runs]] = {
    "ingest:rust-book": lambda bench: ingest(bench, corpora.RUST_BOOK, times=bench.effort.ingests),
    "retrieval:rust-book": retrieval_small,
    "ask": ask,
    "ingest:opensearch-docs": lambda bench: ingest(bench, corpora.OPENSEARCH, times=1),
    "retrieval:large": retrieval_large,
    "scifact": scifact,
}
QUICK_BENCHMARKS = ("ingest:rust-book", "retrieval:rust-book", "ask")


def _large_corpus(bench: Bench) -> list[Share]:
    """Both documentations, and SciFact's abstracts only where they are too short."""
    exported = [bench.export(corpora.RUST_BOOK), bench.export(corpora.OPENSEARCH)]
    if sum(part.total for part in exported) < bench.effort.sentences:
        exported.append(bench.export(corpora.SCIFACT))
    return corpora.select_sources(exported, sentences=bench.effort.sentences)


def _questions(bench: Bench, shares: list[Share], count: int) -> Path:
    sections = [
        section
        for share in shares
        for section in corpora.read_lines(share.of.leaves / "sections.jsonl")
        if section["source"] in share.sources
    ]
    path = bench.work / f"questions-{count}.json"
    path.write_text(json.dumps(corpora.make_questions(sections, count=count)), encoding="utf-8")
    return path


def _ask(
    bench: Bench, runs: Runs, *, data_dir: Path, store: Path, questions: Path, baseline_questions: Path
) -> None:
    done, report = bench.athena.search(data_dir, questions)
    runs.facts["sentences"] = report["sentences"]
    runs.add("athena.query_ms", *report["ms"])
    runs.add("athena.query_peak_mb", done.peak_mb)
    for step, ms in report["steps"].items():
        runs.add(f"athena.step_{step}_ms", *ms)
    done, asked = bench.baseline.search(store, baseline_questions, top_k=CANDIDATES)
    runs.add("baseline.query_ms", *asked)
    runs.add("baseline.query_peak_mb", done.peak_mb)
