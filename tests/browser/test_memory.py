"""Journeys on the page Memory: remember, see, look at the source, pin, forget, and it is gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from athena import open_athena
from athena.settings import Settings
from tests.browser.conftest import Opener, serving
from tests.browser.pages import App, box
from tests.contracts.memories import found_in_files

WORD = "heliotrope"
SAID = f"Remember that the spare key is in the {WORD} box."
KNOWN = ("Ada Lovelace lives in Vienna.", "ECS-FAN-1 is part of the ECS.", "CB-4 is powered by BUS-2.")


@pytest.fixture(scope="module")
def served(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The app, and its data folder, in which some things are remembered of another user."""
    data_dir = tmp_path_factory.mktemp("memory") / "data"
    shutil.copytree(indexed, data_dir)
    athena = open_athena(Settings(data_dir=data_dir, llm="none", cross_encoder="none", user="ann"))
    for text in KNOWN:
        athena.memory.add(text)
    athena.close()
    with serving(data_dir, llm="none") as address:
        yield address, data_dir


def test_remember_see_and_forget(served: tuple[str, Path], open_app: Opener) -> None:
    address, data_dir = served
    app = open_app(address)
    app.ask(SAID)
    expect(app.answered(1)).to_contain_text("Remembered:")
    conversation = app.page.url.removeprefix(address)

    app.page.get_by_role("link", name="Memory").click()
    row = app.page.locator(".memory").filter(has_text=WORD)
    expect(row).to_have_count(1)
    row.get_by_role("button", name="Where it comes from").click()
    expect(app.page.get_by_role("dialog").locator("mark")).to_contain_text(
        f"the spare key is in the {WORD} box"
    )
    app.escape()
    pin = row.get_by_role("button", name="Pin")
    pin.focus()
    pin.press("Enter")
    expect(row.get_by_role("button", name="Unpin")).to_be_focused()

    row.get_by_role("button", name="Forget").click()
    asked = app.page.get_by_role("dialog")
    expect(asked).to_contain_text("1 fact will be gone for good")
    asked.get_by_role("button", name="Forget", exact=True).click()
    expect(asked).to_have_count(0)
    expect(app.page.get_by_text("Nothing is remembered about you yet")).to_be_visible()
    app.open(conversation)
    expect(app.page.get_by_text(WORD)).to_have_count(0)
    assert found_in_files(data_dir, [WORD]) == []


def test_a_long_memory_is_cut_until_the_rest_is_asked_for(served: tuple[str, Path], open_app: Opener) -> None:
    address, data_dir = served
    athena = open_athena(Settings(data_dir=data_dir, llm="none", cross_encoder="none", user="lea"))
    athena.memory.add("Lea keeps these: " + "cellos " * 200 + "and a viola.")
    athena.close()
    app = open_app(address, path="/memory?u=lea", width=390, height=844)
    row = app.page.locator(".memory")
    expect(row).to_contain_text("Lea keeps these")
    rest = row.get_by_text("and a viola.")
    expect(rest).to_be_hidden()
    row.get_by_text("… more").click()
    expect(rest).to_be_visible()
    row.get_by_text("less", exact=True).click()
    expect(rest).to_be_hidden()


def test_what_was_recalled_is_forgotten_under_the_answer(served: tuple[str, Path], open_app: Opener) -> None:
    address, _ = served
    app = open_app(address, path="/?u=ben", width=390, height=844, dark=True)
    app.ask("Remember that the staging server listens on port 8443.")
    app.answered(1)
    app.ask("Which port does the staging server listen on?")
    recalled = app.answered(2).locator(".recalled")
    expect(recalled).to_contain_text("port 8443")
    recalled.locator("summary").click()
    recalled.get_by_role("button", name="Where it comes from").click()
    app.page.get_by_role("dialog").get_by_role("button", name="Open the conversation").click()
    expect(app.page).to_have_url(re.compile("answer=1"))
    app.ready()
    if not recalled.get_by_role("button", name="Forget").is_visible():
        recalled.locator("summary").click()
    recalled.get_by_role("button", name="Forget").click()
    app.page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()
    expect(app.page.locator(".turn").filter(has_text="8443")).to_have_count(0)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_graph_is_walked_with_the_keyboard(
    served: tuple[str, Path], open_app: Opener, width: int, dark: bool
) -> None:
    address, _ = served
    app = open_app(address, path="/memory?u=ann", width=width, dark=dark)
    expect(app.page.locator(".memory")).to_have_count(len(KNOWN))
    app.page.get_by_role("radio", name="Graph").or_(
        app.page.get_by_role("button", name="Graph")
    ).first.click()
    node = app.page.get_by_role("button", name=re.compile("^Ada Lovelace"))
    expect(node.first).to_be_visible()
    app.ready()
    drawn = app.page.locator(".graph .node")
    everything = drawn.count()
    before = _on_its_page(app)
    app.page.locator('.graph .node[aria-label^="Ada"]').focus()
    app.page.keyboard.press("Enter")
    expect(app.page.locator(".graph .chosen")).to_be_focused()
    expect(app.page.locator(".memory")).to_contain_text("Ada Lovelace lives in Vienna")
    app.ready()
    assert drawn.count() < everything
    assert _on_its_page(app) == before  # nothing jumps
    app.page.get_by_role("button", name="Show all").click()
    expect(drawn).to_have_count(everything)
    app.fits()


def _on_its_page(app: App) -> list[int]:
    """Where the picture stands on its page, however far that is scrolled, and its size."""
    picture, page = box(app.page.locator(".graph svg")), box(app.page.locator(".st-key-page"))
    return [
        round(picture["x"] - page["x"]),
        round(picture["y"] - page["y"]),
        round(picture["width"]),
        round(picture["height"]),
    ]
