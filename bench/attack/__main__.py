"""`python -m bench.attack`: attack, print what was tried and what failed, and write it down.

All attacks are written to `docs/security.md`; with `--only growth` (several times) some run and none is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from bench.athena import ROOT
from bench.attack.attack import Result, faults, run_apart, run_here, table, write_down
from bench.attack.plan import chosen
from pipeline.errors import AthenaError

PAGE = ROOT / "docs" / "security.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something got through."""
    options = _options(arguments)
    try:
        if options.child:
            name, folder, result = options.child
            run_here(chosen([name])[0], Path(folder), Path(result))
            return 0
        results = _attack(options.only)
        print(table(results))
        for line in faults(results):
            print(f"FAILED {line}")
        if not options.only:
            write_down(f"Last run: {date.today():%Y-%m-%d}.\n\n{table(results)}", PAGE)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    return int(any(outcome.failures for _, outcome in results))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.attack", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run one, write nothing")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _attack(names: Sequence[str]) -> list[Result]:
    results = []
    for attack in chosen(names):
        started = time.perf_counter()
        outcome = run_apart(attack)
        results.append((attack, outcome))
        seconds = time.perf_counter() - started
        line = f"{attack.name}: {outcome.tried} tried, {len(outcome.failures)} failed ({seconds:.0f} s)"
        print(line, file=sys.stderr, flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main())
