"""The attacks end, and none of them can end the run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench.athena import ROOT
from bench.attack import (
    ATTACKS,
    BEGIN,
    END,
    KNOWN,
    MOST_SECONDS,
    PAGE,
    Attack,
    Outcome,
    chosen,
    faults,
    read_report,
    run,
    table,
    write_down,
)
from bench.processes import BenchmarkError

REPORT = """<testsuites><testsuite>
  <testcase classname="tests.a" name="test_one"/>
  <testcase classname="tests.a" name="test_two[b]"><properties><property name="MB" value="7.5"/></properties>
    <failure message="assert 1 == 2&#10;more"/></testcase>
  <testcase classname="tests.a" name="test_three"><skipped message="no Chromium"/></testcase>
</testsuite></testsuites>"""


def attack(*tests: str, detail: str = "") -> Attack:
    return Attack("made-up", "All holds", tests, 1, detail, {})


def test_all_attacks_end_within_half_an_hour() -> None:
    assert sum(attack.seconds for attack in ATTACKS) <= MOST_SECONDS
    assert "long-files" not in [attack.name for attack in ATTACKS]


def test_every_attack_has_a_name_of_its_own_and_tests_that_are_there() -> None:
    names = [attack.name for attack in KNOWN]
    assert len(set(names)) == len(names)
    for found in KNOWN:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found.name)
        assert found.promise
        files = [word.partition("::") for word in found.tests if word.startswith("tests/")]
        for file, _, name in files:
            assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def test_an_unknown_attack_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BenchmarkError, match=re.escape(KNOWN[0].name)):
        chosen(["nothing"])


def test_tests_count_as_tried_failed_or_left_out() -> None:
    outcome = read_report(REPORT, detail="three")
    failures = ("tests.a::test_two[b]: assert 1 == 2",)
    assert outcome == Outcome(2, failures, "three; at most 8 MB (b); 1 left out: no Chromium")


def test_an_attack_that_dies_or_hangs_has_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    python.write_text("#!/bin/sh\necho broken; exit 3\n")
    python.chmod(0o755)
    assert run(attack()).failures == ("ended with exit code 3: broken",)
    python.write_text("#!/bin/sh\nsleep 60 & wait\n")
    assert run(attack()).failures == ("not over after 1 s",)


def test_the_table_stands_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "security.md"
    page.write_text(f"# Above\n{BEGIN}\nstale\n{END}\nbelow\n")
    results = [(attack(), Outcome(2, ("a | b",), "x|y"))]
    write_down(table(results), page)
    text = page.read_text()
    assert text.startswith("# Above\n")
    assert text.endswith("below\n")
    assert "stale" not in text
    assert r"| All holds (`made-up`: x\|y) | 2 | 1 |" in text
    assert faults(results) == ["made-up: a | b"]


def test_a_page_without_marks_is_refused_and_ours_has_them(tmp_path: Path) -> None:
    page = tmp_path / "security.md"
    page.write_text("# Nothing\n")
    with pytest.raises(BenchmarkError, match="no place for the table"):
        write_down("table", page)
    assert BEGIN in PAGE.read_text(encoding="utf-8")
    assert END in PAGE.read_text(encoding="utf-8")
