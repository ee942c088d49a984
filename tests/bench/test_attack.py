"""The attacks end, and none of them can end the run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench.attack.__main__ import PAGE
from bench.attack.attack import (
    BEGIN,
    END,
    Attack,
    Outcome,
    faults,
    read_outcome,
    read_report,
    run_apart,
    run_here,
    table,
    write_down,
)
from bench.attack.plan import ATTACKS, MOST_SECONDS, chosen
from bench.processes import BenchmarkError

REPORT = """<testsuites><testsuite>
  <testcase classname="tests.a" name="test_one"/>
  <testcase classname="tests.a" name="test_two"><failure message="assert 1 == 2&#10;more"/></testcase>
  <testcase classname="tests.a" name="test_three"><skipped message="no Chromium"/></testcase>
</testsuite></testsuites>"""


def attack(outcome: Outcome) -> Attack:
    return Attack("made-up", "All holds", lambda _: outcome, seconds=1)


def test_all_attacks_end_within_half_an_hour() -> None:
    assert sum(attack.seconds for attack in ATTACKS) <= MOST_SECONDS


def test_every_attack_has_a_name_of_its_own_and_says_what_must_hold() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    assert all(attack.promise for attack in ATTACKS)


def test_an_unknown_attack_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BenchmarkError, match=re.escape(ATTACKS[0].name)):
        chosen(["nothing"])


def test_tests_count_as_tried_failed_or_left_out() -> None:
    outcome = read_report(REPORT, detail="three")
    assert outcome == Outcome(2, ("tests.a::test_two: assert 1 == 2",), "three; 1 left out: no Chromium")


def test_an_outcome_is_the_same_when_it_comes_from_another_process(tmp_path: Path) -> None:
    outcome = Outcome(3, ("a | b",), "detail")
    run_here(attack(outcome), tmp_path, tmp_path / "result")
    assert read_outcome((tmp_path / "result").read_text()) == outcome


def test_an_attack_that_dies_or_hangs_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    python.write_text("#!/bin/sh\necho broken; exit 3\n")
    python.chmod(0o755)
    assert run_apart(attack(Outcome(1))).failures == ("ended with exit code 3: broken",)
    python.write_text("#!/bin/sh\nsleep 60 & wait\n")
    assert run_apart(attack(Outcome(1))).failures == ("not over after 1 s",)


def test_the_table_stands_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "security.md"
    page.write_text(f"# Above\n{BEGIN}\nstale\n{END}\nbelow\n")
    results = [(attack(Outcome(2, ("a | b",), "x|y")), Outcome(2, ("a | b",), "x|y"))]
    write_down(table(results), page)
    text = page.read_text()
    assert text.startswith("# Above\n")
    assert text.endswith("below\n")
    assert "stale" not in text
    assert r"| All holds (`made-up`: x\|y) | 2 | 1 |" in text
    assert faults(results) == ["made-up: a | b"]


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "security.md"
    page.write_text("# Nothing\n")
    with pytest.raises(BenchmarkError, match="no place for the table"):
        write_down("table", page)


def test_the_page_has_the_marks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text
    assert END in text
