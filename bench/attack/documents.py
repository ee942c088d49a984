"""What a document can do: read in linear time, and kept in little memory and little space, whatever is in it.

`python -m bench.attack.documents` ingests a file of 10 MB of each construct (or of those that are named) with
the command line, and prints seconds, peak memory and the size of the store; that takes an hour and a half.
With `--minutes 25` it goes through them in another order, which is the same each time, until these are over;
with `--log FILE` it skips what was measured before; `--write` puts the sum into `docs/security.md`.
The model is left out (`bench/attack/unembedded.py`) but with `--embed`: 10 MB of words that differ take it
minutes.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from itertools import takewhile
from operator import attrgetter
from pathlib import Path

from athena import load_settings, open_athena
from bench.athena import ROOT, AthenaSide
from bench.attack.attack import Outcome, write_down
from bench.attack.generators import GENERATORS
from bench.processes import BenchmarkError, Finished, run_measured
from bench.table import markdown_table
from pipeline.analysis import embedding_text, lexical_text
from pipeline.nodes import Node
from readers.corpus import MarkdownCorpus
from readers.cutting import FREE_LEAVES
from readers.sections import FREE_SECTIONS

SIZES = (20_000, 160_000)
LARGER_SIZES = (160_000, 1_280_000)
"""For what grows too much: texts of more than 254 characters take a step, as their tokens are counted."""
MOST_GROWTH = 13.0
"""Of the time, from the first size to the last: linear reading has 8, quadratic 64."""
LEAST_SECONDS = 0.05
"""What takes less at the last size is not measured well enough to be called slow."""

SHORT = 20_000
LONG = 10_000_000
TIMES = 10
"""How many times its file a store, and the memory of an ingest, may have beside the constants."""
STORE_BYTES = 1_000_000
NODE_BYTES = 2_000
"""Of a free section or sentence beside its text: a vector has 768, an id twice 36."""
FREE_NODES = 2 * FREE_SECTIONS + FREE_LEAVES
NODE_CHARACTERS = 125
"""What a section or sentence has on average, beyond the free ones."""
MEMORY_BYTES = 400_000_000
"""What an ingest takes beside what the process has: the model, and a batch of passages."""
PROCESS_BYTES = 400_000_000
"""What a whole process has besides, where it is measured from outside: the 800 MB of docs/security.md."""
MOST_SECONDS = 60.0

PAGE = ROOT / "docs" / "security.md"
_MARK = "<!-- what `python -m bench.attack.documents` prints: {} -->"
MARKS = (_MARK.format("begin"), _MARK.format("end"))


def growth(folder: Path) -> Outcome:  # noqa: ARG001 - nothing is written
    """Read each construct at two sizes, on all processors."""
    with ProcessPoolExecutor(initializer=_seconds, initargs=(GENERATORS["sentences"](SIZES[0]),)) as pool:
        failures = tuple(filter(None, pool.map(_grown, GENERATORS)))
    return Outcome(len(GENERATORS), failures, f"constructs, {SIZES[0]:,} and {SIZES[1]:,} characters")


def _grown(name: str) -> str:
    """What is wrong with how a construct's time grows; nothing where it is linear at two sizes."""
    growth = 0.0
    for sizes in (SIZES, LARGER_SIZES):
        short, long = (_seconds(GENERATORS[name](size)) for size in sizes)
        growth = long / short
        if long < LEAST_SECONDS or growth <= MOST_GROWTH:
            return ""
    return f"{name}: {growth:.1f} times as long for {LARGER_SIZES[1] // LARGER_SIZES[0]} times as much"


def _seconds(text: str) -> float:
    """Processor time of reading a text."""
    started = time.process_time()
    sections, sentences = _reader().cut(text, source="a.md")
    nodes: list[Node] = [*sections, *sentences]
    for node in nodes:
        embedding_text(node)
        lexical_text(node)
    return time.process_time() - started


@functools.cache
def _reader() -> MarkdownCorpus:
    return open_athena(load_settings()).reader


def amplification(folder: Path) -> Outcome:
    """Ingest a file of each construct, and look at the store and the memory."""
    failures = []
    for number, (name, generate) in enumerate(GENERATORS.items()):
        work = folder / str(number)
        file = work / "docs" / "a.md"
        file.parent.mkdir(parents=True)
        file.write_text(generate(SHORT), encoding="utf-8")
        before = _forget_peak()
        athena = open_athena(load_settings(data_dir=work / "data", llm="none"))
        report = athena.ingest([file.parent])
        athena.close()
        nodes, store = report.sections + report.sentences, size_of(work / "data")
        failures += [
            f"{name}: {excess}" for excess in _excess(file, nodes=nodes, store=store, memory=_peak() - before)
        ]
        shutil.rmtree(work)
    detail = f"constructs, {SHORT:,} characters; {TIMES} times the file, and a constant a node"
    return Outcome(len(GENERATORS), tuple(failures), detail)


def _excess(file: Path, *, nodes: int, store: int, memory: float) -> Iterator[str]:
    """Which of the limits a file went beyond."""
    size = file.stat().st_size
    if nodes > FREE_NODES + size / NODE_CHARACTERS:
        yield f"{size:,} bytes became {nodes:,} sections and sentences"
    if store > TIMES * size + NODE_BYTES * min(nodes, FREE_NODES) + STORE_BYTES:
        yield f"{size:,} bytes and {nodes:,} nodes became a store of {store:,}"
    if memory > TIMES * size + MEMORY_BYTES:
        yield f"{size:,} bytes took {memory / 1e6:,.0f} MB of memory"


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _forget_peak() -> float:
    """Make the peak of this process's memory what it is now, which comes back; Linux alone can."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """The most resident memory since then, in bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return float(line.split()[1]) * 1024


@dataclass(frozen=True, slots=True)
class LongFile:
    """What came of the ingest of a long file of one construct."""

    name: str
    file_mb: float = 0.0
    seconds: float = 0.0
    """Of a processor."""
    peak_mb: float = 0.0
    store_mb: float = 0.0
    failures: tuple[str, ...] = ()


COLUMNS = {"file_mb": "MB", "seconds": "processor seconds", "peak_mb": "peak MB", "store_mb": "store MB"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Ingest long files; the exit code is 1 where one went beyond a limit."""
    parser = argparse.ArgumentParser(prog="python -m bench.attack.documents", description=__doc__)
    parser.add_argument("names", nargs="*", help="constructs; default: all")
    parser.add_argument("--size", type=int, default=LONG, help=f"characters; default: {LONG:,}")
    parser.add_argument("--minutes", type=float, help="begin with no construct after so many; default: all")
    parser.add_argument("--log", type=Path, help="a file to keep results in; what it has is skipped")
    parser.add_argument("--write", action="store_true", help="put the sum into docs/security.md")
    parser.add_argument("--embed", action="store_true", help="with the model")
    options = parser.parse_args(arguments)
    names = options.names or (_mixed(GENERATORS) if options.minutes else list(GENERATORS))
    over = time.monotonic() + 60 * (options.minutes or math.inf)
    done = {result.name: result for result in _logged(options.log)}
    for name in takewhile(lambda _: time.monotonic() < over, (name for name in names if name not in done)):
        done[name] = result = _long_file(name, options.size, embed=options.embed)
        print(" | ".join(_row(result)), file=sys.stderr, flush=True)
        if options.log:
            with options.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(asdict(result)) + "\n")
    results = [done[name] for name in names if name in done]
    print(markdown_table(("construct", *COLUMNS.values()), map(_row, results)))
    print(summed(results, of=len(names)))
    if options.write:
        write_down(f"Last run: {date.today():%Y-%m-%d}. {summed(results, of=len(names))}", PAGE, marks=MARKS)
    return int(any(result.failures for result in results))


def summed(results: Sequence[LongFile], *, of: int) -> str:
    """How many constructs were measured and kept to the limits, and the most that one took of each."""
    failures = [f"- {failure}" for result in results for failure in result.failures]
    most = [(column, max(results, key=attrgetter(field))) for field, column in COLUMNS.items()]
    rows = [(column, result.name, _row(result)[1 + at]) for at, (column, result) in enumerate(most)]
    size = round(max(result.file_mb for result in results))
    head = f"{len(results)} of {of} constructs, up to {size} MB each: {len(failures)} beyond a limit."
    table = markdown_table(("the most", "construct", ""), rows[1:])
    return "\n\n".join([head, *(["\n".join(failures)] if failures else []), table])


def _logged(log: Path | None) -> Iterator[LongFile]:
    if log is not None and log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            values = json.loads(line)
            yield LongFile(**values | {"failures": tuple(values["failures"])})


def _row(result: LongFile) -> tuple[str, ...]:
    return (result.name, *(f"{getattr(result, field):,.0f}" for field in COLUMNS))


def _mixed(names: Iterable[str]) -> list[str]:
    """The names in an order that has some of every kind at its beginning."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def _ingested(athena: AthenaSide, folder: Path, data_dir: Path, *, embed: bool) -> Finished:
    if embed:
        return athena.ingest(folder, data_dir)
    command: list[str | Path] = [sys.executable, "-m", "bench.attack.unembedded", folder, data_dir]
    return run_measured(command, cwd=athena.work, env=athena.environment() | {"PYTHONPATH": str(ROOT)})


def _long_file(name: str, size: int, *, embed: bool) -> LongFile:
    with tempfile.TemporaryDirectory(prefix="athena-attack-") as scratch:
        work = Path(scratch)
        file = work / "docs" / "a.md"
        file.parent.mkdir()
        file.write_text(GENERATORS[name](size), encoding="utf-8")
        file_mb = file.stat().st_size / 1e6
        settings = {"ATHENA_MAX_FILE_MB": str(max(10, file_mb + 1))}
        try:
            done = _ingested(AthenaSide(work, settings), file.parent, work / "data", embed=embed)
        except BenchmarkError as error:
            return LongFile(name, file_mb, failures=(f"{name}: {error}",))
        report, store = json.loads(done.output), size_of(work / "data")
        nodes = report["sections"] + report["sentences"]
        excesses = [*_excess(file, nodes=nodes, store=store, memory=done.peak_mb * 1e6 - PROCESS_BYTES)]
    if done.cpu_seconds > MOST_SECONDS:
        excesses.append(f"{done.cpu_seconds:.0f} s")
    failures = tuple(f"{name}: {excess}" for excess in excesses)
    return LongFile(name, file_mb, done.cpu_seconds, done.peak_mb, store / 1e6, failures)


if __name__ == "__main__":
    sys.exit(main())
