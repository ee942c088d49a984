"""Asking only some folders and files: chosen, used, kept, removed, all by the keyboard."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, expect

from athena import open_athena
from athena.settings import Settings
from tests.browser.conftest import WINDOWS, Opener, Window
from tests.browser.looks import can_be_read, looked_at
from tests.browser.pages import App, box

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"


def chips(app: App) -> Locator:
    return app.page.locator(".scope .chip .name")


def sources(turn: Locator) -> set[str]:
    return {text.split("/")[0] for text in turn.locator(".crumbs > span:first-child").all_inner_texts()}


@WINDOWS
def test_folders_are_chosen_asked_and_removed_by_the_keyboard(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    only = app.page.get_by_role("button", name="Only …")
    agent = app.page.get_by_text("Agent: needs a language model")
    app.until(
        lambda: box(only)["y"] <= box(agent)["y"] <= box(only)["y"] + box(only)["height"]
    )  # on one line
    only.focus()
    app.page.keyboard.press("Enter")
    search = app.page.get_by_role("combobox", name="Search folders and files")
    expect(search).to_be_focused()
    app.page.keyboard.type("refer")
    expect(app.page.get_by_role("option").first).to_contain_text("reference/")
    app.page.keyboard.press("Enter")
    expect(chips(app)).to_have_text(["reference/"])
    expect(search).to_be_focused()
    app.page.keyboard.type("environment.md")
    expect(app.page.get_by_role("option")).to_have_count(1)
    app.page.keyboard.press("Enter")
    expect(chips(app)).to_have_text(["reference/", "procedures/environment.md"])
    if not window["dark"]:
        looked_at(app, "scope-chosen")
    app.escape()
    expect(app.page.get_by_role("button", name="Add …")).to_be_focused()
    expect(search).to_be_hidden()
    app.fits()

    app.ask(LN2)
    turn = app.answered(1)
    expect(turn.locator(".meta")).to_contain_text("only in reference/, procedures/environment.md")
    assert sources(turn) <= {"reference", "procedures"}
    app.reload()
    app.answered(1)
    expect(chips(app)).to_have_text(["reference/", "procedures/environment.md"])
    app.turn(1).get_by_label("Ask again").click()
    expect(app.answered(1).locator(".versions")).to_contain_text("2 answers")
    expect(app.turn(1).locator(".meta")).to_contain_text("only in reference/")

    app.page.get_by_label("Remove procedures/environment.md").press("Enter")
    expect(chips(app)).to_have_text(["reference/"])
    expect(app.page.get_by_label("Remove reference/")).to_be_focused()
    app.page.keyboard.press("Enter")
    expect(chips(app)).to_have_count(0)
    expect(only).to_be_focused()
    app.ask(LN2)
    expect(app.answered(2).locator(".meta")).not_to_contain_text("only in")
    app.page.get_by_role("button", name="New conversation").first.dispatch_event("click")
    expect(chips(app)).to_have_count(0)


def test_a_scope_whose_documents_are_gone_says_so_and_is_cleared(
    quoting: str, quoting_data: Path, open_app: Opener
) -> None:
    athena = open_athena(Settings(data_dir=quoting_data, llm="none", cross_encoder="none"))
    kept = athena.conversations.create("Engines").info.id
    athena.conversations.set_scope(kept, ("engines/",))
    athena.close()
    app = open_app(quoting, path=f"/?c={kept}")
    note = app.page.get_by_text("No document that is indexed is there. Clear it to ask all documents.")
    can_be_read(app, note)
    app.ask(LN2)
    expect(app.answered(1)).to_contain_text(
        "You asked only in engines/, and no document that is indexed is there."
    )
    app.page.get_by_role("button", name="Clear", exact=True).click()
    expect(note).to_have_count(0)
    app.ask(LN2)
    expect(app.answered(2).locator(".quote").first).to_be_visible()
