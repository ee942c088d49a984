"""One attack: what is tried and must hold, in a process of its own; what came of it, and the table of all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from bench.athena import ROOT
from bench.processes import BenchmarkError
from bench.table import markdown_table


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack tried, and a line for each time that it got through."""

    tried: int
    failures: tuple[str, ...] = ()
    detail: str = ""
    """What was tried, in a few words; for the table."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A row of the table."""

    name: str
    """What `--only` takes: small letters and hyphens."""
    promise: str
    """What must hold, as the table says it."""
    run: Callable[[Path], Outcome]
    """Attacks; is given an empty folder of its own, which is deleted afterwards."""
    seconds: int
    """When it is ended, which counts as failed."""


def from_tests(*arguments: str, detail: str = "") -> Callable[[Path], Outcome]:
    """An attack that is tests already: what pytest runs with these arguments (files, `-k`, `-m`)."""

    def run(folder: Path) -> Outcome:
        report = folder / "report.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
        done = subprocess.run(
            words, cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True, text=True
        )
        if not report.exists():
            return Outcome(0, ((done.stderr or done.stdout).strip()[-500:],), detail)
        return read_report(report.read_text(encoding="utf-8"), detail=detail)

    return run


def from_module(name: str, *arguments: str, detail: str = "") -> Callable[[Path], Outcome]:
    """An attack that is a program: a line for each time it gets through, `N tried, M failed` last."""

    def run(folder: Path) -> Outcome:
        words = [sys.executable, "-m", name, *arguments]
        env = os.environ | {"TMPDIR": str(folder)}
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
        *faults, last = done.stdout.splitlines() or [""]
        counts = re.fullmatch(r"(\d+) tried, (\d+) failed", last)
        if counts is None:
            return Outcome(0, ((done.stderr or done.stdout).strip()[-500:],), detail)
        return Outcome(int(counts[1]), tuple(faults), detail)

    return run


def read_report(xml: str, *, detail: str) -> Outcome:
    """The outcome of a run of pytest; a test that was left out is not tried."""
    cases = list(ElementTree.fromstring(xml).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    failures = tuple(
        f"{case.get('classname')}::{case.get('name')}: {fault.get('message', '').partition(chr(10))[0]}"
        for case in cases
        for fault in (*case.findall("failure"), *case.findall("error"))
    )
    notes = [detail, f"{len(skipped)} left out: {_reason(skipped[0])}" if skipped else ""]
    return Outcome(len(cases) - len(skipped), failures, "; ".join(filter(None, notes)))


def _reason(case: ElementTree.Element) -> str:
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message", "")


LAST_WORDS = 300  # characters of what a broken attack said


def run_apart(attack: Attack) -> Outcome:
    """What came of an attack; one that dies or takes too long has failed."""
    with tempfile.TemporaryDirectory(prefix="athena-attack-", ignore_cleanup_errors=True) as scratch:
        result, said = Path(scratch, "outcome.json"), Path(scratch, "said")
        folder = Path(scratch, "folder")
        folder.mkdir()
        words = [sys.executable, "-m", "bench.attack", "--child", attack.name, str(folder), str(result)]
        with said.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                code = process.wait(attack.seconds)
            except subprocess.TimeoutExpired:
                return Outcome(1, (f"not over after {attack.seconds} s",))
            finally:
                _end(process)
        if code or not result.exists():
            words = said.read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:].splitlines()
            return Outcome(1, (f"ended with exit code {code}: {' '.join(words)}",))
        return read_outcome(result.read_text(encoding="utf-8"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the session of processes, of which some may be left when the first has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_here(attack: Attack, folder: Path, result: Path) -> None:
    """Run the attack in this process, and write down what came of it."""
    result.write_text(json.dumps(asdict(attack.run(folder))), encoding="utf-8")


def read_outcome(text: str) -> Outcome:
    """What `run_here` wrote."""
    values = json.loads(text)
    return Outcome(values["tried"], tuple(values["failures"]), values["detail"])


BEGIN = "<!-- what `make attack` prints: begin -->"
END = "<!-- what `make attack` prints: end -->"
_SHOWN_FAILURES = 10

Result = tuple[Attack, Outcome]


def table(results: Iterable[Result]) -> str:
    """A row an attack: what must hold, how often that was tried, how often it did not hold."""
    rows = [
        (_cell(attack, outcome), f"{outcome.tried:,}", f"{len(outcome.failures):,}")
        for attack, outcome in results
    ]
    return markdown_table(("what must hold", "tried", "failed"), rows)


def _cell(attack: Attack, outcome: Outcome) -> str:
    detail = f": {outcome.detail}" if outcome.detail else ""
    return f"{attack.promise} (`{attack.name}`{detail})".replace("|", "\\|").replace("\n", " ")


def faults(results: Iterable[Result]) -> list[str]:
    """What got through, a line each; the first of an attack that failed often."""
    lines = []
    for attack, outcome in results:
        lines += [f"{attack.name}: {failure}" for failure in outcome.failures[:_SHOWN_FAILURES]]
        if len(outcome.failures) > _SHOWN_FAILURES:
            lines.append(f"{attack.name}: and {len(outcome.failures) - _SHOWN_FAILURES} more")
    return lines


def write_down(text: str, page: Path, *, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Put the text between two marks of the page; raises `BenchmarkError` where they are missing."""
    whole = page.read_text(encoding="utf-8")
    before, begin, rest = whole.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise BenchmarkError(f"'{page}' has no place for the table.", f"Write '{marks[0]}' and '{marks[1]}'.")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
