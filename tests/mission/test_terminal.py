from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mission.game import Game, Outcome
from mission.games import Games
from mission.levels import all_levels
from mission.story import the_story
from mission.terminal import list_levels, next_level, play
from tests.mission.conftest import script

Played = Callable[..., tuple[int, str]]


@pytest.fixture
def games(tmp_path: Path) -> Games:
    return Games(tmp_path / "games")


@pytest.fixture
def played(games: Games) -> Played:
    """Play a level by a script, or by lines that are typed until the input ends: exit code and output."""

    def run(level: str, *, lines: Sequence[str] = (), typed: Sequence[str] = ()) -> tuple[int, str]:
        out: list[str] = []
        left = iter(typed)

        def read(_: str) -> str:
            try:
                return next(left)
            except StopIteration:
                raise EOFError from None

        code = play(
            level,
            games,
            ask=lambda game, question: f"{game.level_id}: {question}",
            read=read,
            write=out.append,
            script=lines or None,
        )
        return code, "".join(out)

    return run


def won(level: str) -> Game:
    start = Game.start(level)
    return replace(start, outcome=Outcome.WON, state=replace(start.state, minute=start.state.minute + 1))


def test_a_script_wins_and_gives_a_transcript(games: Games, played: Played) -> None:
    code, text = played("ln2-tank", lines=script("ln2-tank"))
    assert code == 0
    assert "halcyon> power on ECS-LN2-T1\nECS-LN2-T1 is now NOMINAL\n" in text
    assert "CRISIS AVERTED" in text
    assert list_levels(games.progress())[0]["completed"]
    assert next_level(games.progress()) == "two-levels-down"
    assert games.load("ln2-tank") is None


def test_a_script_that_ends_too_early_or_loses_returns_one(games: Games, played: Played) -> None:
    assert played("ln2-tank", lines=["list systems"])[0] == 1
    code, text = played("ln2-tank", lines=["wait 24h"] * 9)
    assert code == 1
    assert "MISSION LOST" in text
    assert not games.progress()


def test_a_player_types_asks_for_hints_and_leaves(played: Played) -> None:
    typed = ["hint", "ask What is C-112?", "", "quit", "power on ECS-LN2-T1"]
    code, text = played("1", typed=typed)
    assert code == 1
    assert "alarms log" in text
    assert "ln2-tank: What is C-112?" in text
    assert "is now NOMINAL" not in text


def test_prose_breaks_between_words_and_tables_do_not(played: Played) -> None:
    text = played("main-bus", typed=["hint"] * 4)[1]  # names ECS-CTRL at a line's end
    text += played("mixture", typed=["hint", "telemetry ECS-CAB-S1"])[1]
    prose = [line for line in text.splitlines() if "  " not in line]
    assert max(map(len, prose)) <= 80
    assert not [line for line in prose if line.endswith("-")]
    assert "with telemetry ECS-CAB-S1." in " ".join(prose)
    table = [line for line in text.splitlines() if line.startswith("ECS-CAB-S1  PPO2")]
    assert table and all("19.5 to 23.0" in line for line in table)


def test_a_saved_game_goes_on_and_is_removed_at_the_end(games: Games, played: Played) -> None:
    assert played("1", typed=["power on ECS-LN2-T1"])[0] == 1
    saved = games.load("ln2-tank")
    assert saved is not None
    assert saved.elapsed_seconds == 60
    assert played("1", typed=["wait 10m"])[0] == 0
    assert games.load("ln2-tank") is None


def test_the_prologue_is_told_before_the_first_level_alone(played: Played) -> None:
    opening = the_story().beginning[0][:40]
    assert opening in played("ln2-tank")[1]
    assert opening not in played("two-levels-down")[1]


def test_the_epilogue_is_told_once_all_levels_are_won(games: Games, played: Played) -> None:
    *_, before, last = all_levels()
    for level in all_levels():
        if level not in (before, last):
            games.record_win(won(level))
    told, name = "Every sound has a name now.", all_levels()[before].title
    early = played(last, lines=script(last))[1]
    assert told not in early.replace("\n", " ")
    assert f"Next: athena mission 11 ({name})" in early
    assert told in played(before, lines=script(before))[1].replace("\n", " ")
