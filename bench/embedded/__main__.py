"""`python -m bench.embedded`: run the benchmarks, print the table and write it down."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.embedded.athena_side import AthenaSide
from bench.embedded.baseline_side import Baseline
from bench.embedded.environment import FOLDER, ROOT, baseline_python
from bench.embedded.machine import this_machine
from bench.embedded.plan import BENCHMARKS, QUICK, QUICK_BENCHMARKS, Bench, Effort
from bench.embedded.results import Results, load_results, to_json
from bench.embedded.table import to_markdown
from pipeline.errors import AthenaError, DatasetError

DEFAULT_DATA = ROOT.parent / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something is missing or failed."""
    options = _options(arguments)
    try:
        results = run(options)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    print(to_markdown(results))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.embedded", description=__doc__)
    data = os.environ.get("ATHENA_TEST_DATA") or DEFAULT_DATA
    parser.add_argument("--data", type=Path, default=data, help="folder of docs/ and scifact/")
    parser.add_argument("--only", action="append", choices=[*BENCHMARKS], help="may be given several times")
    parser.add_argument(
        "--quick", action="store_true", help="rust-book, few questions; written only with --out"
    )
    parser.add_argument("--out", type=Path, help="folder of benchmarks.json and .md; default: docs")
    options = parser.parse_args(arguments)
    if options.out is None and not options.quick:
        options.out = ROOT / "docs"
    return options


def run(options: argparse.Namespace) -> Results:
    """Run what was asked for; each benchmark is written down as soon as it is done.

    Raises:
        DatasetError: the data are not there.
        BenchmarkError: the baseline's environment or a measured command failed.
    """
    data = options.data.resolve()
    if not data.is_dir():
        raise DatasetError(
            f"The benchmark's data are missing: '{options.data}' does not exist.",
            "Name the folder that holds docs/ and scifact/ with --data or in ATHENA_TEST_DATA.",
        )
    with tempfile.TemporaryDirectory(prefix="athena-bench-") as scratch:
        work = Path(scratch).resolve()
        baseline = Baseline(baseline_python(), FOLDER / "stores", work)
        baseline.stores.mkdir(exist_ok=True)
        machine = this_machine(baseline.versions())
        stored = options.out / "benchmarks.json" if options.out else None
        results = load_results(stored, machine) if stored else Results(machine)
        effort = QUICK if options.quick else Effort()
        bench = Bench(AthenaSide(work), baseline, data, work, effort, say=_Say())
        for name in options.only or (QUICK_BENCHMARKS if options.quick else BENCHMARKS):
            runs = BENCHMARKS[name](bench)
            results = results.with_record(runs.record(name, commit=machine.versions["athena"]))
            if options.out:
                write(results, options.out)
    return results


def write(results: Results, folder: Path) -> None:
    """Write both files, each at once: a benchmark that is broken off leaves the former ones readable."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("benchmarks.json", to_json(results)), ("benchmarks.md", to_markdown(results))):
        draft = folder / f"{name}.tmp"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)


class _Say:
    """Prints a line with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def __call__(self, line: str) -> None:
        print(f"[{time.perf_counter() - self._started:6.0f} s] {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
