"""The Documents page in a browser: add, read with headings, ask about a selection, delete a collection."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import WINDOWS, Opener, Window, serving
from tests.browser.looks import looked_at

NOTE = (
    "# Greenhouse\n\n## Watering the beans\n\nThe beans on rack 7 get 250 ml of water.\n\n## Light\n\nBlue.\n"
)


@pytest.fixture
def changing(indexed: Path, tmp_path: Path) -> Iterator[str]:
    """The address of an app whose documents a test changes."""
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, llm="none") as address:
        yield address


@WINDOWS
def test_a_collection_is_added_read_asked_and_deleted(
    changing: str, open_app: Opener, tmp_path: Path, window: Window
) -> None:
    good, bad = tmp_path / "greenhouse.md", tmp_path / "bad.md"
    good.write_text(NOTE, encoding="utf-8")
    bad.write_bytes(b"\xff\xfe broken")
    app = open_app(changing, path="/documents", **window)
    app.upload(good, bad)
    expect(app.job.get_by_text("1 document added")).to_be_visible()
    expect(app.page.get_by_text("bad.md")).to_have_count(1)  # said once
    app.press("Close")
    app.document_row("Uploads").get_by_role("button").click()
    row = app.document_row("greenhouse.md")
    expect(row).to_be_visible()
    looked_at(app, "documents")
    field = app.page.get_by_role("textbox", name="Search documents")
    field.fill("greenhouse")
    field.press("Enter")
    expect(app.page.locator(".tree .row")).to_have_count(1)
    row.get_by_role("button").click()
    reader = app.page.get_by_role("dialog")
    reader.get_by_role("button", name="Light").click()
    expect(reader.get_by_role("heading", name="Light")).to_be_in_viewport()
    reader.get_by_text("Blue.").click(click_count=3)
    reader.get_by_role("button", name="Ask about this").click()
    expect(app.question).to_have_value("“Blue.”: ")
    expect(app.page.get_by_role("button", name="in greenhouse.md")).to_be_visible()
    app.go("Documents")
    app.page.get_by_label("Choose Uploads").check()
    app.press("Delete …")
    expect(app.page.get_by_role("dialog")).to_contain_text("for good")
    app.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(app.page.get_by_text("4 documents in 1 collection")).to_be_visible()
