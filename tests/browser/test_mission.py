"""The mission in a browser, with quotes only: two levels won, one lost, a reload and a broken save."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import PHONE, WINDOWS, Opener, Window, serving
from tests.browser.pages import App
from tests.mission.conftest import script

LN2 = "The LN2 tank ECS-LN2-T1 shows OFFLINE, what do I do?"


@pytest.fixture(scope="module")
def aboard(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of an app without a language model, and the folder of its games."""
    data_dir = tmp_path_factory.mktemp("aboard") / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, llm="none") as address:
        yield address, data_dir / "mission"


def command(app: App) -> Locator:
    """The line to type on."""
    return app.page.get_by_role("textbox", name="Command")


def output(app: App) -> Locator:
    """What the console said."""
    return app.page.get_by_role("log")


def begin(app: App, level: str) -> None:
    """From the cards to the console."""
    app.page.locator(f".st-key-choose-{level} button").click()
    expect(command(app)).to_be_visible()


def show(app: App, view: str) -> None:
    """Choose one of the views, of which a phone shows one at a time."""
    if app.width < PHONE:
        app.ready()
        app.page.locator(".st-key-views").get_by_text(view, exact=True).click()


def type_in(app: App, line: str) -> None:
    """Type a command and wait until the console has answered."""
    expect(output(app)).to_be_visible()
    before = output(app).locator(".command").count()
    command(app).fill(line)
    command(app).press("Enter")
    expect(output(app).locator(".command:not(.pending)")).to_have_count(before + 1)
    expect(output(app).locator(".command").last).to_contain_text(line)


@WINDOWS
def test_a_level_is_won_with_quotes_and_survives_a_reload(
    aboard: tuple[str, Path], open_app: Opener, window: Window
) -> None:
    app = open_app(aboard[0], **window)
    app.go("Mission")
    begin(app, "ln2-tank")
    first, *rest = script("ln2-tank")
    type_in(app, first)
    expect(output(app).locator(".MALFUNC").first).to_have_text("MALFUNC")
    show(app, "Assistant")
    app.ask(LN2)
    turn = app.answered(1)
    expect(turn.locator(".quote").first).to_contain_text("ECS-LN2-T1")
    turn.get_by_role("button", name="power on ECS-LN2-T1").first.click()
    expect(command(app)).to_have_value("power on ECS-LN2-T1")
    expect(command(app)).to_be_focused()
    expect(output(app).locator(".command")).to_have_count(1)  # it is run by nobody but the player
    show(app, "Assistant")
    turn.locator(".chip").first.click()
    assert "LN2" in app.cited()
    expect(app.pane.locator("mark.answer").first).to_be_in_viewport()
    app.reload()
    expect(command(app)).to_have_value("")
    expect(output(app).locator(".command")).to_have_count(1)
    expect(app.turn(1).locator(".quote").first).to_contain_text("ECS-LN2-T1")
    for line in rest:
        type_in(app, line)
        app.ready()
        if app.page.get_by_role("heading", name="Crisis averted").is_visible():
            break
    expect(app.page.get_by_role("heading", name="Crisis averted")).to_be_visible()
    expect(command(app)).to_be_disabled()
    expect(turn.get_by_role("button", name="power on ECS-LN2-T1")).to_have_count(0)
    app.press("Play again")  # for the next window
    app.press("All levels")
    expect(app.page.locator(".st-key-level-ln2-tank")).to_contain_text("best time")


def test_a_level_is_won_by_keyboard(aboard: tuple[str, Path], open_app: Opener) -> None:
    app = open_app(aboard[0], path="/mission")
    begin(app, "radio-key")
    expect(command(app)).to_be_focused()
    keys = app.page.keyboard
    keys.type("li")
    keys.press("Tab")
    expect(command(app)).to_have_value("list ")
    keys.press("Tab")
    expect(app.page.locator(".offers .option")).to_have_text(["systems", "parts"])
    keys.type("s")
    keys.press("Tab")
    expect(command(app)).to_have_value("list systems ")
    keys.press("Enter")
    expect(output(app).locator(".command:not(.pending)")).to_have_count(1)
    keys.press("ArrowUp")
    expect(command(app)).to_have_value("list systems")
    keys.press("ArrowDown")
    expect(command(app)).to_have_value("")
    keys.type("lst systems\n")
    expect(output(app).locator(".error")).to_contain_text("E-01")
    expect(output(app)).to_contain_text("Did you mean list systems?")
    keys.type("ask how do I reload a radio key?\n")
    expect(output(app)).to_contain_text("in the chat")
    app.answered(1)
    command(app).focus()
    for line in script("radio-key"):  # faster than the console answers: what is typed meanwhile waits
        keys.type(f"{line}\n")
    expect(app.page.get_by_role("heading", name="Crisis averted")).to_be_visible()
    expect(output(app).locator(".end")).to_contain_text("CRISIS AVERTED")
    app.ready()


def test_on_a_phone_one_thing_at_a_time_and_quit_leaves_the_game_saved(
    aboard: tuple[str, Path], open_app: Opener
) -> None:
    app = open_app(aboard[0], path="/mission", width=390, height=844, dark=True)
    begin(app, "nobody-answers")
    type_in(app, "alarms")
    expect(command(app)).to_be_in_viewport(ratio=1)
    expect(output(app)).to_contain_text("P-COM-01")
    command(app).fill("quit")
    command(app).press("Enter")
    saved = app.page.locator(".st-key-choose-nobody-answers")
    expect(saved).to_contain_text("Continue at 23:15")
    app.ready()
    saved.get_by_role("button").click()
    expect(command(app)).to_be_visible()
    command(app).fill("ask how do I find the antenna?")  # the answer is shown, not the console
    command(app).press("Enter")
    expect(app.question).to_be_visible()
    expect(command(app)).to_be_hidden()
    app.answered(1)
    expect(app.page.locator(".strip")).to_be_in_viewport()
    app.fits()
    app.ready()
