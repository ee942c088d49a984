"""Journeys through thousands of conversations, and what is taken away of them."""

from __future__ import annotations

import io
import json
import time
import zipfile
from uuid import uuid4

from playwright.sync_api import Locator, expect

from tests.browser.conftest import OLDEST, Opener
from tests.browser.looks import looked_at
from tests.browser.pages import App

A_LIST = 60
MAKING = "document.activeElement.disabled = true"  # as while a file is made that takes a moment
PATIENCE_S = 5.0
"""Far more than it takes (0.3 s), and far less than listing all of them would."""


def listed(app: App) -> Locator:
    return app.page.locator(".st-key-conversations")


def rows(app: App) -> Locator:
    return listed(app).locator("[class*='st-key-open-'] button")


def test_thousands_are_scrolled_and_searched(talkative: str, open_app: Opener) -> None:
    app = open_app(talkative)
    expect(rows(app)).to_have_count(A_LIST + 1)
    expect(listed(app).get_by_text("Pinned")).to_be_visible()
    expect(listed(app).get_by_text("Yesterday")).to_be_visible()
    names = rows(app).all_inner_texts()
    assert len(set(names[:12])) == 12  # of one title, on one day, told apart by their time
    looked_at(app, "conversations-many")

    begun = time.monotonic()
    listed(app).get_by_role("button", name="Older conversations").click()
    expect(rows(app)).to_have_count(2 * A_LIST + 1)
    assert time.monotonic() - begun < PATIENCE_S
    rows(app).last.scroll_into_view_if_needed()
    expect(app.page.get_by_role("combobox", name="Language model")).to_be_in_viewport()

    search = app.page.get_by_label("Search conversations")
    begun = time.monotonic()
    search.fill("SEXTANT kept")
    search.press("Enter")
    expect(rows(app)).to_have_count(1)
    assert time.monotonic() - begun < PATIENCE_S
    rows(app).first.click()
    expect(app.turn(1).locator(".question")).to_contain_text(OLDEST)
    looked_at(app, "conversations-found")


def test_one_and_all_are_taken_away(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting, path=f"/?u={uuid4().hex}")  # a second try is of somebody else
    app.ask("How long does the oxygen last? 1")
    app.answered(1)
    app.press("New conversation")
    app.ask("How long does the oxygen last? 2")  # before the page of the new one is there
    expect(app.turn(1).locator(".question")).to_contain_text("last? 2")
    app.answered(1)
    app.page.locator("[class*='st-key-current-'] [class*='st-key-menu-'] button").click()
    app.page.get_by_role("menuitem", name="Export …").click()
    one = json.loads(_downloaded(app, "Export as JSON"))["conversations"]
    assert [turn["question"] for turn in one[0]["turns"]] == ["How long does the oxygen last? 2"]
    app.page.evaluate(MAKING)
    expect(app.page.locator("body")).to_be_focused()
    app.escape()
    expect(app.page.get_by_role("dialog")).to_have_count(0)
    app.page.get_by_text("Export all").click()
    everything = json.loads(_downloaded(app, "As JSON"))["conversations"]
    assert [len(conversation["turns"]) for conversation in everything] == [1, 1]
    with zipfile.ZipFile(io.BytesIO(_downloaded(app, "As Markdown"))) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert [text.count("> How long does the oxygen last?") for text in texts] == [1, 1]


def _downloaded(app: App, name: str) -> bytes:
    with app.page.expect_download() as download:
        app.page.get_by_role("button", name=name).click()
    return download.value.path().read_bytes()
