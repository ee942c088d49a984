"""`make bench-memory`: every preset on the same scripted conversations, and its times at 10,000 memories.

`python -m bench.memory [--only "scripts agent"] [--locomo FILE] [--beam FOLDER]` writes
docs/benchmarks-memory.json and .md. For a short look: `--memories 500 --times 20 --out /tmp`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.athena import ROOT
from bench.machine import this_machine
from bench.memory_page import to_markdown
from bench.memory_player import AthenaMemory
from bench.memory_speed import RECALL_FACTS, Took, read_and_write, recall, search_in_turns
from bench.results import Results, Runs, Say, chosen, print_page, run_all, say
from bench.scripts import NEED_MEMORY, load_scripts, play
from evals.conversations import load_conversations
from evals.turn_search import evaluate
from memory.options import PRESETS, PresetName
from pipeline.models.embedding import OnnxEncoder

if TYPE_CHECKING:
    from pipeline.models.base import Encoder


OURS = ROOT / "evals" / "data" / "memory"


@dataclass(frozen=True, slots=True)
class Bench:
    """What the benchmarks need."""

    encoder: Encoder
    say: Say
    conversations: Mapping[str, Path]  # by the name of their row
    memories: int = 10_000
    times: int = 200


def benchmarks(bench: Bench) -> Mapping[str, Callable[[], Runs]]:
    """Each benchmark by its name."""
    found: dict[str, Callable[[], Runs]] = {}
    for preset in PRESETS:
        found[f"scripts {preset}"] = partial(_scripts, bench, preset)
        found[f"speed {preset}"] = partial(_speed, bench, preset)
    found["turns"] = partial(_turns, bench)
    found["recall"] = partial(_recall, bench)
    for name, path in bench.conversations.items():
        found[f"conversations {name}"] = partial(_conversations, bench, name, path)
    return found


def _scripts(bench: Bench, preset: PresetName) -> Runs:
    runs = Runs(f"scripts {preset}", bench.say)
    for script in load_scripts():
        with tempfile.TemporaryDirectory(prefix="athena-bench-") as folder:
            player = AthenaMemory(Path(folder), preset=preset, encoder=bench.encoder)
            try:
                for outcome in play(script, player):
                    if player.keeps or outcome.measure not in NEED_MEMORY:
                        runs.add(outcome.measure, outcome.value)
            finally:
                player.close()
    return runs


def _speed(bench: Bench, preset: PresetName) -> Runs:
    runs = Runs(f"speed {preset}", bench.say)
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as folder:
        times = read_and_write(
            Path(folder), preset=preset, encoder=bench.encoder, count=bench.memories, times=bench.times
        )
    runs.facts["memories"] = bench.memories
    _add(runs, "read", times.reads)
    _add(runs, "write", times.writes)
    return runs


def _turns(bench: Bench) -> Runs:
    runs = Runs("turns", bench.say)
    found = search_in_turns(encoder=bench.encoder, count=bench.memories, times=bench.times)
    runs.facts["turns"] = bench.memories
    runs.add("build_seconds", found.build_seconds)
    _add(runs, "search", found.searches)
    return runs


def _recall(bench: Bench) -> Runs:
    runs = Runs("recall", bench.say)
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as folder:
        took = recall(Path(folder), encoder=bench.encoder, turns=bench.memories, times=bench.times)
    runs.facts |= {"turns": bench.memories, "facts": bench.memories // RECALL_FACTS}
    _add(runs, "recall", took)
    return runs


def _add(runs: Runs, name: str, times: Sequence[Took]) -> None:
    runs.add(f"{name}_ms", *(took.ms for took in times))
    runs.add(f"{name}_cpu_ms", *(took.cpu_ms for took in times))


def _conversations(bench: Bench, name: str, path: Path) -> Runs:
    runs = Runs(f"conversations {name}", bench.say)
    report = evaluate(load_conversations(path), encoder=bench.encoder)
    runs.facts |= {"questions": report.questions, "turns": report.turns}
    for metric, value in report.metrics.items():
        runs.add(metric, value)
    return runs


NAME = "benchmarks-memory.json"
OWN = {
    "our dialogues, dev": OURS / "locomo" / "dev.json",
    "our dialogues, test": OURS / "locomo" / "test.json",
    "our chats, dev": OURS / "beam" / "dev",
    "our chats, test": OURS / "beam" / "test",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something is missing or failed."""
    options = _options(arguments)
    return print_page(lambda: to_markdown(run(options), count=len(load_scripts())))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="the beginning of a benchmark's name")
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo's")
    parser.add_argument("--beam", type=Path, help="a folder of BEAM's chats")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=200, help="reads and writes that are timed")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the two files")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> Results:
    """Run what was asked for; each benchmark is written down as soon as it is done.

    Raises:
        BenchmarkError: no benchmark has such a name.
        DatasetError: a file of conversations cannot be read.
    """
    given = {"LoCoMo": options.locomo, "BEAM": options.beam}
    paths = OWN | {name: path for name, path in given.items() if path}
    bench = Bench(OnnxEncoder(), say, paths, memories=options.memories, times=options.times)
    known, page = benchmarks(bench), partial(to_markdown, count=len(load_scripts()))
    names = chosen(options.only, known)
    return run_all(names, known, machine=this_machine(), page=page, path=options.out / NAME)


if __name__ == "__main__":
    sys.exit(main())
