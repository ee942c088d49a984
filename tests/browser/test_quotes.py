"""A stranger's journeys without a language model: ask, check, narrow, add a file, remember, come back."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, WINDOWS, Opener, Window
from tests.browser.looks import looked_at
from tests.browser.pages import box

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
OUTSIDE = "Who won the football world cup in 1998?"
HOSTILE = "# Pump\n\nThe pump <script>alert('x')</script> runs on 12 V <img src=x onerror=alert(1)>.\n"


@WINDOWS
def test_a_first_question_is_answered_and_its_evidence_walked_through(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    expect(app.page.get_by_text("no language model")).to_be_visible()
    looked_at(app, "first-visit")
    app.page.locator(".st-key-suggestions button").first.click()
    turn = app.answered(1)
    expect(turn.locator(".quote mark").first).to_be_visible()
    chip = turn.locator(".chip").first
    chip.hover()
    expect(turn.locator(".tip")).to_be_visible()
    chip.click()
    expect(app.pane.locator(".number")).to_have_text("Source 1")
    expect(app.answering.first).to_be_in_viewport()
    looked_at(app, "answer-with-evidence")
    if window["width"] < PHONE:
        assert box(app.pane)["width"] == window["width"]  # a sheet
    for number in (2, 3):
        app.page.keyboard.press("ArrowRight")
        expect(app.pane.locator(".number")).to_have_text(f"Source {number}")
        expect(app.answering.first).to_be_in_viewport()
    expect(app.pane.locator(".status")).to_contain_text("as it was")
    app.pane.get_by_text("the whole file").click()
    expect(app.pane.locator("h1").first).to_be_visible()
    app.escape()
    expect(app.pane).to_have_count(0)
    expect(turn.locator(".chip.open")).to_have_count(0)
    chip.click()
    app.pane.get_by_label("Close").click()
    expect(chip).to_be_focused()


@WINDOWS
def test_a_conversation_goes_on_is_rated_and_found_again(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    before = box(app.tools(1))["y"] - box(app.turn(1))["y"]
    app.tools(1).get_by_role("radio").first.or_(
        app.tools(1).get_by_role("button", name="thumb_up")
    ).first.click()
    app.ready()
    assert box(app.tools(1))["y"] - box(app.turn(1))["y"] == before
    follow_up = app.page.locator("[class*='st-key-next-'] button").first
    topic = follow_up.inner_text()
    follow_up.click()
    expect(app.answered(2).locator(".question")).to_contain_text(topic)
    app.ask(OUTSIDE)
    expect(app.answered(3).locator(".verdict")).to_contain_text("Not in")
    looked_at(app, "not-in-the-documents")
    app.reload()
    expect(app.page.locator(".turn")).to_have_count(3)
    app.show_sidebar()
    app.page.get_by_role("button", name="New conversation").click()
    expect(app.page.locator(".st-key-suggestions")).to_be_visible()
    sidebar = app.page.get_by_test_id("stSidebar")
    if window["width"] < PHONE:
        expect(sidebar).to_have_attribute("data-collapsed", "true")
        app.show_sidebar()
        app.page.touchscreen.tap(383, 300)
        expect(sidebar).to_have_attribute("data-collapsed", "true")
        app.show_sidebar()
        app.reload()
        expect(sidebar).to_have_attribute("data-collapsed", "true")
    app.show_sidebar()
    app.page.locator("[class*='st-key-open-'] button").first.click()
    expect(app.page.locator(".turn")).to_have_count(3)
    app.fits()


@WINDOWS
def test_a_question_is_edited_and_its_conversation_deleted_and_brought_back(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    app.choose_in(app.page.locator("[class*='st-key-more-']").first, "Edit the question")
    field = app.page.get_by_role("dialog").get_by_role("textbox")
    field.fill("How long does the oxygen last?")
    app.page.get_by_role("dialog").get_by_role("button", name="Ask").click()
    expect(app.answered(1).locator(".question")).to_contain_text("oxygen")
    app.show_sidebar()
    row = app.page.locator("[class*='st-key-menu-']").first
    app.choose_in(row, "Rename")
    title = app.page.get_by_role("dialog").get_by_role("textbox")
    expect(title).to_be_focused()
    title.fill("Oxygen")
    app.page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(app.page.locator("[class*='st-key-open-']").first).to_contain_text("Oxygen")
    app.choose_in(row, "Delete")
    app.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(app.page.locator(".turn")).to_have_count(0)
    app.press("Undo")
    expect(app.page.locator(".turn")).to_have_count(1)


@WINDOWS
def test_the_scope_is_narrowed_and_widened(quoting: str, open_app: Opener, window: Window) -> None:
    app = open_app(quoting, **window)
    app.press("Only …")
    tree = app.page.get_by_test_id("stPopoverBody")
    for folder in ("procedures", "reference"):
        tree.get_by_label(f"Choose {folder}").check()
        app.ready()
    assert box(tree)["y"] + box(tree)["height"] <= box(app.question)["y"]
    app.escape()
    expect(tree).to_have_count(0)
    app.press("Only …")
    tree.get_by_label("Choose reference").uncheck()
    app.ask("What does code C-105 mean?")
    expect(app.answered(1).locator(".crumbs").first).to_contain_text("procedures")
    expect(tree).to_have_count(0)
    app.press("in procedures/")
    app.ask("What does code C-105 mean?")
    expect(app.answered(2).locator(".crumbs").first).to_be_visible()


@WINDOWS
def test_a_file_dropped_on_the_question_is_asked_and_nothing_of_it_runs(
    quoting: str, open_app: Opener, tmp_path: Path, window: Window
) -> None:
    file = tmp_path / "pump.md"
    file.write_text(HOSTILE, encoding="utf-8")
    app = open_app(quoting, **window)
    with app.page.expect_response(lambda response: "upload_file" in response.url):
        app.page.locator("[data-testid='stChatInput'] input[type=file]").set_input_files(file)
    expect(app.page.get_by_test_id("stChatInput")).to_contain_text("pump.md")
    app.ask("What does the pump run on?")
    turn = app.answered(1)
    expect(turn.locator(".quote").first).to_contain_text("12 V")
    expect(app.page.get_by_role("button", name="in pump.md")).to_be_visible()
    turn.locator(".chip").first.click()
    assert "12 V" in app.cited()
    expect(app.page.locator("img[src=x]")).to_have_count(0)


@WINDOWS
def test_why_a_page_was_missed_is_found_out(quoting: str, open_app: Opener, window: Window) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    app.press("How was this found?")
    expect(app.page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    looked_at(app, "inspector")
    app.page.get_by_role("tab", name="Why not").click()
    app.page.get_by_role("combobox", name="that you expected").click()
    app.page.get_by_role("option", name="reference/alarms-and-codes.md").click()
    expect(app.page.get_by_text(re.compile("Left out by|show it"))).to_be_visible()
    app.page.get_by_role("tab", name="What if").click()
    app.press("Search again")
    expect(app.page.get_by_test_id("stVegaLiteChart").first).to_be_visible()


@WINDOWS
def test_what_is_remembered_is_listed_pinned_and_forgotten(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask("Remember that my harbour pass expires in May.")
    app.answered(1)
    app.go("Memory")
    fact = app.page.locator("[class*='st-key-memory-row-']")
    expect(fact).to_contain_text("my harbour pass expires in May")
    looked_at(app, "memory")
    app.choose_in(fact, "Pin")
    expect(fact).to_contain_text("pinned")
    app.choose_in(fact, "Forget")
    app.page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(fact).to_have_count(0)
    expect(app.page.get_by_text("Nothing is remembered")).to_be_visible()


def test_two_windows_and_a_second_question_lose_nothing(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask(LN2)
    app.page.keyboard.type("And then?\n")  # within the same round trip
    app.answered(1)
    expect(app.turn(1).locator(".question")).to_contain_text(LN2)
    other = open_app(quoting, path=app.page.url.removeprefix(quoting))
    other.ask("How long does the oxygen last?")
    other.answered(2)
    app.ask("What does code C-105 mean?")
    app.answered(3)
    questions = app.page.locator(".question").all_inner_texts()
    assert [LN2 in questions[0], "oxygen" in questions[1], "C-105" in questions[2]] == [True] * 3
