"""One attack: what is tried, what must hold, and what came of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bench.athena import ROOT


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
