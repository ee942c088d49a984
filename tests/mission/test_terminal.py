from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from mission.game import Game
from mission.games import read_best_times, record_win
from mission.levels import all_levels
from mission.terminal import list_levels, next_level, play, story
from tests.mission.conftest import script


def reader(lines: list[str]) -> Callable[[str], str]:
    """Answers the prompt with the lines, then with the end of the input."""
    left: Iterator[str] = iter(lines)

    def read(_: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return read


def test_a_script_wins_and_gives_a_transcript(tmp_path: Path) -> None:
    out: list[str] = []
    progress = tmp_path / "progress.json"
    assert play("ln2-tank", script=script("ln2-tank"), write=out.append, progress=progress) == 0
    text = "".join(out)
    assert "halcyon> power on ECS-LN2-T1\nECS-LN2-T1 is now NOMINAL\n" in text
    assert "CRISIS AVERTED" in text
    assert "ln2-tank" in read_best_times(progress)
    assert list_levels(progress)[0] == {
        "id": "ln2-tank",
        "title": "Something clicks",
        "par_seconds": 600,
        "completed": True,
    }
    assert next_level(progress) == "two-levels-down"


def test_a_script_that_ends_too_early_or_loses_returns_one(tmp_path: Path) -> None:
    assert play("ln2-tank", script=["list systems"], write=lambda _: None) == 1
    out: list[str] = []
    assert play("ln2-tank", script=["wait 24h"] * 9, write=out.append, progress=tmp_path / "p.json") == 1
    assert "MISSION LOST" in "".join(out)
    assert not (tmp_path / "p.json").exists()


def test_a_player_types_asks_for_hints_and_leaves() -> None:
    out: list[str] = []
    lines = ["hint", "list systems", "", "quit", "power on ECS-LN2-T1"]
    assert play("1", read=reader(lines), write=out.append) == 1
    assert "alarms log" in "".join(out)
    assert "is now NOMINAL" not in "".join(out)


def test_prose_breaks_between_words_and_tables_do_not() -> None:
    out: list[str] = []
    play("main-bus", read=reader(["hint"] * 4), write=out.append)  # names ECS-CTRL at a line's end
    play("mixture", read=reader(["hint", "telemetry ECS-CAB-S1", "quit"]), write=out.append)
    prose = [line for line in "".join(out).splitlines() if "  " not in line]
    assert max(map(len, prose)) <= 80
    assert not [line for line in prose if line.endswith("-")]
    assert "with telemetry ECS-CAB-S1." in " ".join(prose)
    assert any(
        line.startswith("ECS-CAB-S1  PPO2") and "limits 19.5 to 23.0" in line
        for line in "".join(out).splitlines()
    )


def test_questions_reach_the_assistant() -> None:
    out: list[str] = []
    play("1", script=["ask What is C-112?"], write=out.append, ask=lambda question: f"about {question}")
    assert "halcyon> ask What is C-112?\nabout What is C-112?\n" in "".join(out)


def test_a_saved_game_goes_on_and_is_removed_at_the_end(tmp_path: Path) -> None:
    save = tmp_path / "game.json"
    play("1", script=["power on ECS-LN2-T1"], write=lambda _: None, save=save)
    assert Game.load(save).elapsed_seconds == 60
    assert play("1", script=["wait 10m"], write=lambda _: None, save=save) == 0
    assert not save.exists()


def test_more_opens_what_the_last_answer_named() -> None:
    out: list[str] = []
    lines = ["ask what is it?", "more", "More 3"]
    play("ln2-tank", read=reader(lines), write=out.append, ask=lambda *_: "", more=lambda which: f"<{which}>")
    text = "".join(out)
    assert "<>\n" in text
    assert "<3>\n" in text
    assert "E-01" not in text


# -- the story ------------------------------------------------------------------------------------------


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
