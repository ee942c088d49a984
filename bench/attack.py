"""`make attack`: tests that try to break the program, and the table of them in `docs/security.md`.

An attack is tests: to add one, write them and a row of `attacks.tsv`. A test counts as tried, and one that
did not pass as failed; so does an attack that is not over in time, which is ended with all that it started.
All are written to `docs/security.md`; with `--only growth` (several times) some run and none is. `long-files`
runs only when it is named: it takes an hour and a half.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from bench.athena import ROOT
from bench.processes import BenchmarkError
from bench.table import markdown_table
from pipeline.errors import AthenaError

PAGE = ROOT / "docs" / "security.md"
BEGIN = "<!-- what `make attack` prints: begin -->"
END = "<!-- what `make attack` prints: end -->"
MOST_SECONDS = 1800
"""All attacks together, at their worst: three times what they take on two cores, and more."""
LAST_WORDS = 300  # characters of what a broken attack said
SHOWN_FAILURES = 10
FORMAT = ("-o", "junit_family=xunit1")  # has what tests record
SETTING = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True, slots=True)
class Attack:
    """A row of the table: what `--only` takes, what must hold, and the tests that try it."""

    name: str  # small letters and hyphens
    promise: str
    tests: tuple[str, ...]  # arguments of pytest
    seconds: int  # when it is ended, which counts as failed
    detail: str  # what is tried, in a few words
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack tried, a line for each time that it got through, and what was tried, for the table."""

    tried: int
    failures: tuple[str, ...] = ()
    detail: str = ""


def _read(line: str) -> Attack:
    name, seconds, command, promise, detail = line.split("\t")
    words = shlex.split(command)
    settings = dict(word.split("=") for word in words if SETTING.match(word))
    tests = tuple(word for word in words if not SETTING.match(word))
    return Attack(name, promise, tests, int(seconds), detail, settings)


TABLE = Path(__file__).with_name("attacks.tsv")
KNOWN = tuple(_read(line) for line in TABLE.read_text(encoding="utf-8").splitlines() if line[0] != "#")
ATTACKS = tuple(attack for attack in KNOWN if attack.seconds < MOST_SECONDS)
"""All that run where none is named."""


def chosen(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all but the long files where none is given.

    Raises `BenchmarkError` for an unknown one.
    """
    known = {attack.name: attack for attack in KNOWN}
    for name in names:
        if name not in known:
            raise BenchmarkError(f"No attack is called '{name}'.", f"There are: {', '.join(known)}.")
    return tuple(known[name] for name in names) if names else ATTACKS


def run(attack: Attack) -> Outcome:
    """What came of an attack; one that dies or takes too long has failed."""
    with tempfile.TemporaryDirectory(prefix="athena-attack-", ignore_cleanup_errors=True) as folder:
        report, said = Path(folder, "report.xml"), Path(folder, "said")
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *FORMAT, *attack.tests]
        env = {**os.environ, "TMPDIR": folder, "ATHENA_TEST_ATTACKS": "1", **attack.environment}
        with said.open("wb") as output:
            process = subprocess.Popen(
                words, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(attack.seconds)
            except subprocess.TimeoutExpired:
                return Outcome(1, (f"not over after {attack.seconds} s",), attack.detail)
            finally:
                _end(process)
        if not report.exists():
            last = said.read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:]
            return Outcome(1, (f"ended with exit code {process.returncode}: {last}",), attack.detail)
        return read_report(report.read_text(encoding="utf-8"), detail=attack.detail)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the session of processes, of which some may be left when the first has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_report(xml: str, *, detail: str) -> Outcome:
    """The outcome of a run of pytest; a test that was left out is not tried.

    Of a number that tests record, the most is said, and of which test it is.
    """
    cases = list(ElementTree.fromstring(xml).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    failures = tuple(
        f"{case.get('classname')}::{case.get('name')}: {fault.get('message', '').partition(chr(10))[0]}"
        for case in cases
        for fault in (*case.findall("failure"), *case.findall("error"))
    )
    notes = [detail, *_most(cases)]
    if skipped:
        notes.append(f"{len(skipped)} left out: {_reason(skipped[0])}")
    return Outcome(len(cases) - len(skipped), failures, "; ".join(notes))


def _most(cases: Iterable[ElementTree.Element]) -> Iterator[str]:
    recorded: dict[str, dict[str, float]] = {}
    for case in cases:
        for item in case.iter("property"):
            numbers = recorded.setdefault(item.get("name", ""), {})
            numbers[case.get("name", "")] = float(item.get("value", 0))
    for name, numbers in recorded.items():
        which = max(numbers, key=numbers.__getitem__)
        yield f"at most {numbers[which]:,.0f} {name} ({which.partition('[')[2].rstrip(']')})"


def _reason(case: ElementTree.Element) -> str:
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message", "")


Result = tuple[Attack, Outcome]


def table(results: Iterable[Result]) -> str:
    """A row an attack: what must hold, how often that was tried, how often it did not hold."""
    rows = [
        (_cell(attack, outcome), f"{outcome.tried:,}", f"{len(outcome.failures):,}")
        for attack, outcome in results
    ]
    return markdown_table(("what must hold", "tried", "failed"), rows)


def _cell(attack: Attack, outcome: Outcome) -> str:
    return f"{attack.promise} (`{attack.name}`: {outcome.detail})".replace("|", "\\|").replace("\n", " ")


def faults(results: Iterable[Result]) -> list[str]:
    """What got through, a line each; the first of an attack that failed often."""
    lines = []
    for attack, outcome in results:
        lines += [f"{attack.name}: {failure}" for failure in outcome.failures[:SHOWN_FAILURES]]
        if len(outcome.failures) > SHOWN_FAILURES:
            lines.append(f"{attack.name}: and {len(outcome.failures) - SHOWN_FAILURES} more")
    return lines


def write_down(text: str, page: Path) -> None:
    """Put the text between the two marks of the page; raises `BenchmarkError` where they are missing."""
    whole = page.read_text(encoding="utf-8")
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise BenchmarkError(f"'{page}' has no place for the table.", f"Write '{BEGIN}' and '{END}'.")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where something got through."""
    parser = argparse.ArgumentParser(prog="python -m bench.attack", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run one, write nothing")
    only: list[str] = parser.parse_args(arguments).only
    results = []
    try:
        for attack in chosen(only):
            started = time.perf_counter()
            outcome = run(attack)
            results.append((attack, outcome))
            seconds = time.perf_counter() - started
            line = f"{attack.name}: {outcome.tried} tried, {len(outcome.failures)} failed ({seconds:.0f} s)"
            print(line, file=sys.stderr, flush=True)
        print(table(results), *(f"FAILED {line}" for line in faults(results)), sep="\n")
        if not only:
            write_down(f"Last run: {date.today():%Y-%m-%d}.\n\n{table(results)}", PAGE)
    except AthenaError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    return int(any(outcome.failures for _, outcome in results))


if __name__ == "__main__":
    sys.exit(main())
