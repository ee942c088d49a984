"""Prologue and epilogue, and where they are told."""

from __future__ import annotations

from mission.game import Game
from mission.levels import all_levels
from mission.story import ending, the_story
from mission.terminal import play, story
from tests.mission.conftest import script


def spoken(level: str, *, read: list[str] | None = None, lines: list[str] | None = None) -> str:
    said: list[str] = []
    typed = iter(read or [])

    def reader(_: str) -> str:
        return next(typed, "quit")

    play(level, read=reader, write=said.append, script=lines)
    return "".join(said)


def test_there_is_a_story() -> None:
    assert 3 <= len(the_story().beginning) <= 6
    assert 3 <= len(the_story().end) <= 6
    assert all(len(line) <= 80 for line in story())


def test_the_prologue_is_told_before_the_first_level_alone() -> None:
    opening = story()[1]
    assert opening in spoken("ln2-tank")
    assert opening not in spoken("two-levels-down")


def test_the_epilogue_is_told_after_the_last_level_alone() -> None:
    *_, before, last = all_levels()
    for level in (before, last):
        game = Game.start(level)
        for line in script(level):
            game.run(line)
        assert bool(ending(game).epilogue) is (level == last)
    assert "Every sound has a name now." in spoken(last, lines=script(last)).replace("\n", " ")
