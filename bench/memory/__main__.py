"""`make bench-memory`: every preset on the same scripted conversations, and its times at 10,000 memories.

`python -m bench.memory [--only "scripts agent"] [--locomo FILE] [--beam FOLDER]` writes
docs/benchmarks-memory.json and .md. For a short look: `--memories 500 --times 20 --out /tmp`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.athena import ROOT
from bench.machine import this_machine
from bench.memory.page import to_markdown
from bench.memory.plan import OURS, Bench, benchmarks
from bench.memory.scripts import load_scripts
from bench.results import Results, load_results, save
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.models.embedding import OnnxEncoder

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
    try:
        results = run(options)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    print(to_markdown(results, scripts=len(load_scripts())))
    return 0


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
        ConfigurationError: no benchmark has such a name.
        DatasetError: a file of conversations cannot be read.
    """
    given = {"LoCoMo": options.locomo, "BEAM": options.beam}
    paths = OWN | {name: path for name, path in given.items() if path}
    bench = Bench(OnnxEncoder(), _say, paths, memories=options.memories, times=options.times)
    known = benchmarks(bench)
    chosen = [name for name in known if not options.only or name.startswith(tuple(options.only))]
    if not chosen:
        raise ConfigurationError(
            f"No benchmark begins with {' or '.join(options.only)}.", f"There are: {', '.join(known)}."
        )
    machine, scripts = this_machine(), len(load_scripts())
    results = load_results(options.out / NAME, machine, known=known)
    for name in chosen:
        results = results.with_record(known[name]().record(commit=machine.versions["athena"]))
        save(results, options.out / NAME, page=to_markdown(results, scripts=scripts))
    return results


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
