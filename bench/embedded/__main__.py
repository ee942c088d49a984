"""`python -m bench.embedded`: run the benchmarks, print the page and write it down.

`--only rust-book`, `--only txtai`, `--only rust-book:txtai`, several times: single ones. What was measured
before on this machine is kept, with its date and commit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.athena import ROOT, AthenaSide
from bench.corpora import existing
from bench.embedded.page import to_markdown
from bench.embedded.plan import BENCHMARKS, QUICK, Bench, Effort, chosen, run
from bench.machine import this_machine
from bench.results import Results, load_results, save
from evals.datasets import default_folder
from pipeline.errors import AthenaError

NAME = "benchmarks.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something is missing or failed."""
    options = _options(arguments)
    try:
        results = measure(options)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    print(to_markdown(results))
    return 0


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
    names = chosen(options.only)
    data = existing(options.data).resolve()
    machine = this_machine()
    results = load_results(options.out / NAME, machine, known=BENCHMARKS) if options.out else Results(machine)
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as scratch:
        work = Path(scratch).resolve()
        effort = QUICK if options.quick else Effort()
        bench = Bench(AthenaSide(work), data, work, effort, say=_Say())
        for name in names:
            runs = run(name, bench)
            results = results.with_record(runs.record(commit=machine.versions["athena"]))
            if options.out:
                save(results, options.out / NAME, page=to_markdown(results))
    return results


class _Say:
    """Prints a line with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def __call__(self, line: str) -> None:
        print(f"[{time.perf_counter() - self._started:6.0f} s] {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
