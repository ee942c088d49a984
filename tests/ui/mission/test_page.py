"""The mission's page as Streamlit runs it: levels, games, hints, the assistant, what cannot be played."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from athena.missions import has_mission, mission_folder, mission_persona
from athena.settings import MANUALS, Settings
from mission.game import Game, Outcome
from mission.games import Games
from mission.levels import all_levels
from tests.mission.conftest import script
from tests.ui.conftest import component_data, texts
from ui.conversation.runner import Run, runner

RunApp = Callable[..., AppTest]


@pytest.fixture
def games(athena: Athena) -> Games:
    """The games of the app under test."""
    return Games(mission_folder(athena.settings))


def play(game: Game) -> Game:
    """The game as its script wins it."""
    for line in script(game.level.id):
        game.run(line)
    return game


def saved(games: Games, *lines: str, level: str = "ln2-tank") -> Game:
    """A saved game in which some commands were run."""
    game = Game.start(level)
    for line in lines:
        game.run(line)
    games.save(game)
    return game


def test_a_copy_of_the_manuals_has_the_mission(tmp_path: Path) -> None:
    copy = tmp_path / "documents"  # as a container mounts them
    shutil.copytree(MANUALS, copy)
    assert has_mission(Settings(corpus=copy))
    (copy / "index.md").write_text("# Our own manuals")
    assert not has_mission(Settings(corpus=copy))


def test_every_level_is_a_card(athena: Athena, games: Games, run_app: RunApp) -> None:
    games.save(play(Game.start("ln2-tank")))
    saved(games, level="radio-key")
    app = run_app(athena, page="mission")
    shown = texts(app)
    for level in all_levels().values():
        assert level.title in [heading.value.replace("\\", "") for heading in app.subheader]
        assert level.summary in shown
    assert "Averted, best time" in shown
    labels = {name: app.button(key=f"choose-{name}").label for name in all_levels()}
    assert "ended" in labels["ln2-tank"]
    assert labels["radio-key"].startswith("Continue at ")
    assert labels["mixture"] == "Begin"


def test_hints_come_in_steps(athena: Athena, games: Games, run_app: RunApp) -> None:
    game = saved(games)
    app = run_app(athena, page="mission", level="ln2-tank")
    assert game.level.hints[0].text not in texts(app)
    app.button(key="mission-hint").click().run()
    assert game.level.hints[0].text in texts(app)
    assert game.level.hints[1].text not in texts(app)
    assert app.button(key="mission-hint").label.endswith("(3 left)")


@pytest.mark.parametrize("level", ["ln2-tank", "nobody-answers"])
def test_a_level_that_was_won(athena: Athena, games: Games, run_app: RunApp, level: str) -> None:
    game = play(Game.start(level))
    games.save(game)
    app = run_app(athena, page="mission", level=level)
    assert "Crisis averted" in [heading.value for heading in app.subheader]
    assert game.level.story_won.splitlines()[0] in texts(app)
    assert component_data(app, "console")[0]["over"].endswith("won.")
    following = "two-levels-down" if level == "ln2-tank" else "red-needle"
    assert all_levels()[following].title in app.button(key="mission-next").label
    app.button(key="mission-again").click().run()
    again = games.load(level)
    assert again is not None
    assert again.outcome is Outcome.RUNNING


def test_a_level_that_was_lost(athena: Athena, games: Games, run_app: RunApp) -> None:
    saved(games, "wait 40h", "wait 40h")
    app = run_app(athena, page="mission", level="ln2-tank")
    assert "Mission lost" in [heading.value for heading in app.subheader]
    assert "ordered the lander" in texts(app)


def test_abandoning_asks_first(athena: Athena, games: Games, run_app: RunApp) -> None:
    saved(games)
    app = run_app(athena, page="mission", level="ln2-tank")
    app.button(key="mission-abandon").click().run()
    assert games.load("ln2-tank") is not None
    assert "deletes your game" in texts(app)
    assert app.button(key="keep-game").label == "Keep playing"
    app.button(key="discard-game").click().run()
    assert not app.exception
    assert games.load("ln2-tank") is None
    assert app.button(key="choose-ln2-tank").label == "Begin"


@pytest.mark.parametrize("content", ["no JSON", "{}", "another level"])
def test_a_game_that_cannot_be_played_says_so(
    athena: Athena, games: Games, run_app: RunApp, content: str
) -> None:
    saved(games, level="mixture")
    file = games.folder / "ln2-tank.json"
    if content == "another level":
        (games.folder / "mixture.json").rename(file)
    else:
        file.write_text(content, encoding="utf-8")
    assert app_says(run_app(athena, page="mission"), "choose-ln2-tank").startswith("The saved game")
    app = run_app(athena, page="mission", level="ln2-tank")
    assert [error for error in app.error if "saved game" in error.value.lower().replace("\\", "")]
    app.button(key="mission-anew").click().run()
    assert not app.exception
    assert component_data(app, "console")[0]["lines"] == []


def app_says(app: AppTest, key: str) -> str:
    """The label of a button."""
    return str(app.button(key=key).label)


def test_damaged_progress_says_so(athena: Athena, games: Games, run_app: RunApp) -> None:
    games.folder.mkdir(parents=True)
    (games.folder / "progress.json").write_text("[]", encoding="utf-8")
    assert "best times" in texts(run_app(athena, page="mission")).replace("\\", "")


def test_each_game_has_its_conversation_which_is_not_listed(
    athena: Athena, games: Games, run_app: RunApp
) -> None:
    saved(games)
    app = run_app(athena, page="mission", level="ln2-tank")
    app.chat_input[0].set_value("Why is the LN2 tank OFFLINE?").run()
    run = _run_of(app, games)
    assert run is not None and run.wait(60)
    reloaded = run_app(athena, page="mission", level="ln2-tank")
    [turn] = component_data(reloaded, "turn")
    assert "Why is the LN2 tank OFFLINE?" in turn["html"] and not athena.conversations.list()
    athena.private_conversations.delete(conversation_of(games))
    app = run_app(athena, page="mission", level="ln2-tank")
    assert not component_data(app, "turn")
    assert mission_persona().greeting in texts(app)


def _run_of(app: AppTest, games: Games) -> Run | None:
    assert not app.exception
    return runner().of(conversation_of(games))


def conversation_of(games: Games) -> str:
    game = games.load("ln2-tank")
    assert game is not None
    return game.conversation_id


def test_the_assistant_is_silent_without_its_computer(athena: Athena, games: Games, run_app: RunApp) -> None:
    saved(games, "power off CMP-CPU-1")
    app = run_app(athena, page="mission", level="ln2-tank")
    assert "Athena is silent" in texts(app).replace("\\", "")
    assert "CMP-CPU-1 is OFFLINE" in texts(app)
    assert app.chat_input[0].disabled
