"""`athena mission`: levels listed, played by script, with the real assistant over the real manuals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import cli
from athena.settings import MANUALS
from mission.games import Games

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mission-cli")]

SCRIPTS = Path(__file__).parents[2] / "mission" / "scripts"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mission-cli")
    result = CliRunner().invoke(cli.app, ["ingest", str(MANUALS / "systems"), "--data-dir", str(folder)])
    assert result.exit_code == 0
    return folder


def test_levels_are_listed_and_a_won_one_is_marked(data_dir: Path) -> None:
    def completed() -> dict[str, bool]:
        result = CliRunner().invoke(cli.app, ["mission", "--list", "--json", "--data-dir", str(data_dir)])
        levels = json.loads(result.stdout)
        assert all(set(level) == {"id", "title", "par_seconds", "completed"} for level in levels)
        return {level["id"]: level["completed"] for level in levels}

    assert len(completed()) >= 6
    assert not any(completed().values())
    script = str(SCRIPTS / "ln2-tank.txt")
    arguments = ["mission", "1", "--script", script, "--data-dir", str(data_dir), "--json"]
    won = CliRunner().invoke(cli.app, arguments)
    assert (won.exit_code, json.loads(won.stdout)["won"]) == (0, True)
    assert "CRISIS AVERTED" in won.stdout
    assert [name for name, done in completed().items() if done] == ["ln2-tank"]


def test_ask_reaches_the_assistant_and_an_unfinished_level_ends_with_1(
    data_dir: Path, tmp_path: Path
) -> None:
    script = tmp_path / "ask.txt"
    script.write_text("ask the LN2 tank shows OFFLINE, what do I do?\n", encoding="utf-8")
    arguments = ["mission", "ln2-tank", "--script", str(script), "--data-dir", str(data_dir)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert "power on ECS-LN2-T1" in " ".join(result.stdout.split())
    assert "systems/atmosphere-supply.md" in result.stdout or "atmosphere-supply.md" in result.stdout


def test_an_unknown_level_and_a_missing_script_say_what_to_do(data_dir: Path, tmp_path: Path) -> None:
    unknown = CliRunner().invoke(cli.app, ["mission", "warp-core", "--data-dir", str(data_dir)])
    assert unknown.exit_code == 2
    assert "warp-core" in unknown.output
    missing = ["mission", "1", "--script", str(tmp_path / "none.txt"), "--data-dir", str(data_dir)]
    result = CliRunner().invoke(cli.app, missing)
    assert result.exit_code == 2
    assert "none.txt" in result.output


def test_a_question_without_an_index_does_not_end_the_game(tmp_path: Path) -> None:
    script = tmp_path / "ask.txt"
    script.write_text("ask what do I do?\nwait 1m\n", encoding="utf-8")
    empty = ["mission", "ln2-tank", "--script", str(script), "--data-dir", str(tmp_path / "empty")]
    result = CliRunner().invoke(cli.app, empty)
    assert result.exit_code == 1
    assert "no answer" in result.stdout
    assert "athena ingest" in result.stderr
    assert "it is " in result.stdout


def test_a_game_keeps_one_conversation_and_a_new_game_begins_another(data_dir: Path) -> None:
    def play(*lines: str) -> str:
        typed = "".join(f"{line}\n" for line in lines)
        CliRunner().invoke(cli.app, ["mission", "ln2-tank", "--data-dir", str(data_dir)], input=typed)
        game = Games(data_dir / "mission").load("ln2-tank")
        return game.conversation_id if game else ""

    first = play("ask what does the relief valve do?", "quit")
    assert first
    assert play("ask and where is it?", "quit") == first
    (data_dir / "mission" / "ln2-tank.json").unlink()
    assert play("ask what does the relief valve do?", "quit") not in ("", first)
