"""A turn is in one process's hands at a time, and in nobody's once that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory.conversing.after import TurnsInHand

TAKE_AND_WAIT = """
import sys
from pathlib import Path
from memory.conversing.after import TurnsInHand
in_hand = TurnsInHand(Path(sys.argv[1]))
print(in_hand.take("t1"), flush=True)
sys.stdin.read()
"""


def test_a_turn_is_taken_once(tmp_path: Path) -> None:
    one, other = (TurnsInHand(tmp_path / "in_hand") for _ in range(2))
    assert one.take("t1")
    assert not one.take("t1")
    assert not other.take("t1")
    assert other.take("../t2")
    one.leave("t1")
    assert other.take("t1")
    for turn in ("t1", "../t2", "never taken"):
        other.leave(turn)
    assert [*(tmp_path / "in_hand").iterdir()] == []


def test_a_folder_that_cannot_be_written_stops_no_answer(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder can be made in this")
    in_hand = TurnsInHand(tmp_path / "data" / "in_hand")
    assert in_hand.take("t1")
    assert not in_hand.take("t1")
    in_hand.leave("t1")
    assert in_hand.take("t1")


@pytest.mark.slow
def test_a_process_that_is_killed_has_nothing_in_hand(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TAKE_AND_WAIT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "True\n"
        assert not TurnsInHand(tmp_path).take("t1")
        process.kill()
    assert TurnsInHand(tmp_path).began_here("t1")
    assert not TurnsInHand(tmp_path).began_here("t2")
    assert TurnsInHand(tmp_path).take("t1")
