"""Prologue and epilogue, and where they are told."""

from __future__ import annotations

from pathlib import Path

from mission.games import record_win
from mission.levels import all_levels
from mission.terminal import play, story
from tests.mission.conftest import script


def spoken(
    level: str, *, read: list[str] | None = None, lines: list[str] | None = None, progress: Path | None = None
) -> str:
    said: list[str] = []
    typed = iter(read or [])

    def reader(_: str) -> str:
        return next(typed, "quit")

    play(level, read=reader, write=said.append, script=lines, progress=progress)
    return "".join(said).replace("\n", " ")


def test_the_prologue_is_told_before_the_first_level_alone() -> None:
    opening = story()[1]
    assert opening in spoken("ln2-tank")
    assert opening not in spoken("two-levels-down")


def test_the_epilogue_is_told_once_all_levels_are_won(tmp_path: Path) -> None:
    *_, before, last = all_levels()
    progress = tmp_path / "progress.json"
    for level in all_levels():
        if level not in (before, last):
            record_win(progress, level, 60)
    told, name = "Every sound has a name now.", all_levels()[before].title

    early = spoken(last, lines=script(last), progress=progress)
    assert told not in early
    assert f"are won, too: 11. {name}." in early
    assert f"Next: athena mission 11 ({name})" in early
    assert told in spoken(before, lines=script(before), progress=progress)
    assert told in spoken(last, lines=script(last), progress=progress)
