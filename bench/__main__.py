"""`make bench`: compare Athena with other libraries; write build/benchmarks.md and benchmarks.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench.contenders import CONTENDERS, ROOT, Contender
from bench.corpora import RUST_BOOK, existing, known_items
from bench.processes import run_measured
from evals.datasets import default_folder
from evals.metrics import bootstrap, percentile, reciprocal_rank_at
from evals.significance import compare
from pipeline.errors import AthenaError

PAGE = ROOT / "build" / "benchmarks.md"
QUESTION = "The LN2 tank shows OFFLINE, what can be the reason and what do I do?"
RANKS = 10  # lower ranks count 0 for MRR
ASKS = 5
HEAD = """# Benchmarks

Written by `make bench` on {date}; do not edit. {machine}. Load before the run: {load}.

All libraries use the same model, all-MiniLM-L6-v2, on the CPU, and no language model. Athena uses its int8
ONNX file, the others the float32 weights in torch; with *reranking*, its cross-encoder reads five passages.
Each library is used as its documentation teaches; `bench/peers/` has the code. {versions}

## {collection}, {files} files

{table}

- **Passages.** Athena embeds every sentence and every section; fewer passages are ingested faster, but
  cited less precisely.
- **Ingest** is a whole process, imports included; *again* is a new process with nothing changed. **Memory**
  is the peak of the process and its children. **Search** is one question after another in a warm process,
  for ten passages each.
- **Right file first, MRR@10**: the questions are {questions} headings that only one section has; the right
  file is the one with the heading. They are easier than users' questions, and favour libraries that search
  headings. No setting was chosen with them. In brackets: 95 % bootstrap intervals; *against*: the paired
  difference, Athena minus this library.

## Athena alone

| | |
|---|--:|
{alone}
"""


@dataclass(slots=True)
class Measured:
    """The raw numbers of one contender; memory is the peak in MB, and `ms` has one time for each question."""

    title: str
    version: str
    passages: str = ""
    ingest_seconds: float = 0.0
    again_seconds: float = 0.0
    ingest_mb: float = 0.0
    search_mb: float = 0.0
    ms: list[float] = field(default_factory=list)
    reciprocal_ranks: list[float] = field(default_factory=list)


def measure(contender: Contender, folder: Path, work: Path, *, questions: int) -> Measured:
    """Ingest `folder` twice and ask `questions` headings; raise `BenchmarkError` if a process fails."""
    found = Measured(contender.title, contender.version())
    items = known_items(folder, count=questions)
    asked = work / "questions.json"
    asked.write_text(json.dumps([item.text for item in items]), encoding="utf-8")
    store = work / contender.name
    done, report = contender.ingest(folder, store)
    found.passages = f"{report['passages']:,} {report['unit']}"
    found.ingest_seconds, found.ingest_mb = done.seconds, done.peak_mb
    found.again_seconds = contender.ingest(folder, store)[0].seconds
    done, report = contender.search(folder, store, asked)
    found.search_mb, found.ms = done.peak_mb, report["ms"]
    pairs = zip(report["sources"], items, strict=True)
    found.reciprocal_ranks = [reciprocal_rank_at(sources, [item.source], RANKS) for sources, item in pairs]
    shutil.rmtree(store)
    return found


def alone(data: Path, work: Path) -> dict[str, str]:
    """Return the rows of Athena alone, by name: quality on SciFact, and time of the command `athena ask`."""
    athena = Path(sys.executable).with_name("athena")
    env = {k: v for k, v in os.environ.items() if not k.startswith("ATHENA_")}
    where: tuple[str | Path, ...] = ("--data-dir", work / "alone", "--json")
    rank: list[str | Path] = [athena, "eval", "retrieval", existing(data / "scifact"), "--no-rerank", *where]
    metrics = json.loads(run_measured(rank, cwd=work, env=env).output)["metrics"]
    run_measured([athena, "ingest", ROOT / "docs_corpus", *where], cwd=work, env=env)
    ask: list[str | Path] = [athena, "ask", QUESTION, "--llm", "none", *where]
    seconds = [run_measured(ask, cwd=work, env=env).seconds for _ in range(ASKS)]
    return {
        "SciFact test, nDCG@10": f"{metrics['nDCG@10']:.3f}",
        "SciFact test, Recall@100": f"{metrics['Recall@100']:.3f}",
        "`athena ask` on the manuals, a new process, median": f"{statistics.median(seconds):.2f} s",
    }


def page(results: Sequence[Measured], own: Mapping[str, str], *, files: int, load: float) -> str:
    """Return the benchmark page as Markdown; `load` is the machine's load average before the run."""
    memory = psutil.virtual_memory().total / 1e9
    versions = {one.version: one.title for one in reversed(results)}
    return HEAD.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{_cpu()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}",
        load=f"{load:.1f}",
        versions=", ".join(f"{title} {version}" for version, title in versions.items()) + ".",
        collection=RUST_BOOK,
        files=files,
        questions=len(results[0].ms),
        table="\n".join(_table(results)),
        alone="\n".join(f"| {name} | {value} |" for name, value in own.items()),
    )


def _table(results: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the results table; the best time, memory and share of right files are bold."""
    yield f"| | {' | '.join(one.title for one in results)} |"
    yield "|---|" + "--:|" * len(results)
    yield f"| passages | {' | '.join(one.passages for one in results)} |"
    times = [[getattr(one, name) for one in results] for name in ("ingest_seconds", "again_seconds")]
    yield _row("ingest, s", times[0], "{:,.1f}")
    yield _row("again, nothing changed, s", times[1], "{:,.1f}")
    yield _row("memory of ingesting, MB", [one.ingest_mb for one in results], "{:,.0f}")
    yield _row("search, p50, ms", [percentile(one.ms, 0.5) for one in results], "{:,.1f}")
    yield _row("search, p95, ms", [percentile(one.ms, 0.95) for one in results], "{:,.1f}")
    yield _row("memory of searching, MB", [one.search_mb for one in results], "{:,.0f}")
    first = [statistics.fmean(float(rank == 1) for rank in one.reciprocal_ranks) for one in results]
    yield _row("right file first", first, "{:.3f}", best=max)
    cells = []
    for one in results:
        mean = bootstrap(one.reciprocal_ranks)
        cells.append(f"{mean.value:.3f} [{mean.low:.3f}, {mean.high:.3f}]")
    yield f"| MRR@10 | {' | '.join(cells)} |"
    ours = results[0].reciprocal_ranks
    found = [compare("Athena", one.title, "MRR@10", ours, one.reciprocal_ranks) for one in results[1:]]
    cells = [f"{one.difference:+.3f} [{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]" for one in found]
    yield f"| against | {' | '.join(['', *cells])} |"


def _row(title: str, values: Sequence[float], form: str, best: type | object = min) -> str:
    wanted = max(values) if best is max else min(values)
    cells = [form.format(value) for value in values]
    bold = [f"**{cell}**" if value == wanted else cell for cell, value in zip(cells, values, strict=True)]
    return f"| {title} | {' | '.join(bold)} |"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def main() -> int:
    """Measure all, print the page, save it unless `--only` is given; return 1 after an error, else 0."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder with docs/ and scifact/")
    parser.add_argument("--only", action="append", help="compare with this one; write no files")
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    chosen = [one for one in CONTENDERS if not options.only or one.name in {"athena", *options.only}]
    load, started = os.getloadavg()[0], time.perf_counter()
    try:
        folder = existing(options.data / "docs" / RUST_BOOK)
        with tempfile.TemporaryDirectory(prefix="athena-bench-") as scratch:
            work, results = Path(scratch), []
            for contender in chosen:
                results.append(measure(contender, folder, work, questions=options.questions))
                print(f"[{time.perf_counter() - started:.0f} s] {contender.title}", file=sys.stderr)
            own = alone(options.data, work)
    except AthenaError as error:
        print(error, file=sys.stderr)
        return 1
    text = page(results, own, files=len(list(folder.rglob("*.md"))), load=load)
    print(text)
    if not options.only:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
        numbers = {one.title: asdict(one) for one in results}
        PAGE.with_suffix(".json").write_text(json.dumps(numbers) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
