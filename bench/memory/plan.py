"""The benchmarks by name: the scripts and the speed of each preset, and the search over turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.memory.athena_memory import AthenaMemory
from bench.memory.playing import NEED_MEMORY, play
from bench.memory.scripts import load_scripts
from bench.memory.speed import Took, read_and_write, search_in_turns
from bench.results import Runs, Say
from evals.conversations import load_conversations
from evals.turn_search import evaluate
from memory.options import PresetName
from memory.presets import PRESETS

if TYPE_CHECKING:
    from pipeline.models.base import Encoder

OURS = Path(__file__).parents[2] / "evals" / "data" / "memory"


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
