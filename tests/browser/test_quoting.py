"""Journeys without a language model: ask, follow up, check the evidence, come back, manage."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import WINDOWS, Opener, Window
from tests.browser.looks import looked_at
from tests.browser.pages import App, box

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"


def test_first_visit_suggests_questions_and_says_what_is_connected(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    expect(app.page.get_by_text("Indexed: 4 documents")).to_be_visible()
    expect(app.question).to_have_attribute("placeholder", "Ask the manuals")
    expect(app.page.get_by_text("No language model is connected: answers are quotes.")).to_be_visible()
    suggestions = app.page.locator(".st-key-suggestions button")
    expect(suggestions).to_have_count(4)
    looked_at(app, "first-visit")
    suggestions.first.click()
    expect(app.answered(1).locator(".quote").first).to_be_visible()
    picker = app.page.get_by_role("combobox", name="Language model")
    picker.click()
    app.page.get_by_role("option", name="None: answer with quotes").click()
    expect(picker).to_have_value("None: answer with quotes")
    app.page.get_by_role("link", name="Documents").click()
    expect(app.page.locator(".files")).to_be_visible()
    app.page.get_by_role("link", name="Chat").click()
    expect(picker).to_have_value("None: answer with quotes")


def test_follow_ups_are_asked_with_a_click(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask("How long does the oxygen last?")
    offered = app.answered(1).get_by_role("group", name="Ask next").get_by_role("button")
    expect(offered.first).to_be_visible()
    assert len(offered.all()) <= 3
    question = offered.first.inner_text()
    offered.first.dblclick()  # as a hurried reader does: it asks once
    expect(app.answered(2).locator(".question")).to_contain_text(question)
    expect(app.turn(2).locator(".quote").first).to_be_visible()
    expect(app.turn(1).get_by_role("group", name="Ask next")).to_have_count(0)
    app.turn(2).get_by_label("Ask again").dblclick()
    expect(app.answered(2).locator(".versions")).to_contain_text("2 answers")
    expect(app.page.locator(".turn")).to_have_count(2)


@WINDOWS
def test_first_question_its_feedback_follow_up_and_reload(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    first = app.answered(1)
    expect(first.locator(".question")).to_contain_text(LN2)
    expect(first.locator(".quote").first).to_contain_text("LN2")
    expect(first.locator(".crumbs").first).to_contain_text(".md")
    expect(first.locator(".meta")).to_contain_text("quotes, no model")
    first.get_by_label("Bad answer").click()
    word = first.get_by_label("A word on why")
    word.fill("too long")
    word.press("Enter")
    app.ready()  # the word was sent, and kept
    expect(first.get_by_label("Bad answer")).to_have_attribute("aria-pressed", "true")
    app.ask("And if that does not help?")
    expect(app.answered(2).locator(".quote, .verdict").first).to_be_visible()
    address = app.page.url
    assert re.search(r"\?c=\w", address)
    again = open_app(quoting, path=address.removeprefix(quoting))
    expect(again.page.locator(".turn")).to_have_count(2)
    expect(again.turn(1).locator(".quote").first).to_contain_text("LN2")
    app.reload()
    expect(app.page.locator(".turn")).to_have_count(2)
    expect(app.turn(1).get_by_label("A word on why")).to_have_value("too long")
    app.show_sidebar()
    listed = app.page.locator(".st-key-conversations button").filter(has_text="LN2").first
    expect(listed).to_be_in_viewport()
    app.fits()
    listed.click()
    expect(listed).to_be_in_viewport() if window["width"] > 500 else expect(listed).not_to_be_in_viewport()


def test_a_citation_opens_its_section_with_the_sentence_marked_and_in_view(
    quoting: str, open_app: Opener
) -> None:
    app = open_app(quoting)
    app.ask(LN2)
    turn = app.answered(1)
    chip = turn.locator(".chip").first
    chip.hover()
    tip = turn.locator(".tip")
    expect(tip).to_be_visible()
    quote = tip.locator(".said").inner_text()
    chip.click()
    expect(app.pane).to_be_visible()
    assert _words(app.cited()) == _words(quote)
    expect(app.mark.first).to_be_in_viewport()
    looked_at(app, "answer-with-evidence")
    tools, thumbs = box(turn.locator(".tools")), box(turn.locator(".thumbs"))
    assert abs(tools["y"] - thumbs["y"]) < thumbs["height"] / 2  # on one line, beside the pane, too
    expect(app.pane.locator(".crumbs")).to_contain_text(".md")
    expect(app.pane.locator(".status")).to_have_class(re.compile("same"))
    expect(turn.locator(".chip.open")).to_have_count(1)
    app.pane.get_by_text("Open the whole file").click()
    expect(app.pane.get_by_text("Show the section only")).to_be_visible()
    assert _words(app.cited()) == _words(quote)
    expect(app.pane.locator("h1").first).to_be_visible()
    app.pane.get_by_label("Close").click()
    expect(app.pane).to_have_count(0)


def test_on_a_phone_the_evidence_is_a_sheet(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting, width=390, height=844, dark=True)
    app.ask(LN2)
    app.answered(1).locator(".chip").first.click()
    expect(app.mark.first).to_be_in_viewport()
    app.ready()
    sheet = box(app.pane)
    assert (sheet["x"], sheet["width"]) == (0, 390)
    assert sheet["y"] > 100
    app.fits()
    ids = app.page.locator(".turn .short, .sheet .short").filter(
        has_text=re.compile(r"^[A-Z0-9]+(-[A-Z0-9]+)+$")
    )
    assert ids.count() > 3
    assert set(ids.evaluate_all("found => found.map((id) => id.getClientRects().length)")) <= {0, 1}
    app.page.locator(".backdrop").click(position={"x": 195, "y": 100})
    expect(app.pane).to_have_count(0)


def test_html_in_a_question_is_text_and_what_the_manuals_do_not_say_is_said(
    quoting: str, open_app: Opener
) -> None:
    app = open_app(quoting)
    html = "<img src=x onerror=alert(1)> <script>alert(2)</script>"
    app.ask(f"{html} LN2 tank OFFLINE?")
    expect(app.answered(1).locator(".question")).to_contain_text(html)
    expect(app.page.locator("img[src=x]")).to_have_count(0)
    app.reload()
    expect(app.turn(1).locator(".question")).to_contain_text(html)
    app.ask("Who won the football world cup in 1998?")
    turn = app.answered(2)
    expect(turn.locator(".verdict")).to_contain_text("Not in the manuals")
    looked_at(app, "not-in-the-manuals")
    turn.locator(".card").first.click()
    expect(app.pane.locator(".number")).to_have_text("Nearest section")


@WINDOWS
def test_conversations_are_renamed_exported_and_deleted(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    app.show_sidebar()
    listed = app.page.locator(".st-key-conversations")
    _choose(app, "Rename …")
    title = app.page.get_by_label("Title")
    name = f"My own <b>title</b>, {'dark' if window['dark'] else 'light'}"
    title.fill(name)
    title.press("Enter")
    expect(listed.get_by_text(name, exact=True)).to_be_visible()
    _choose(app, "Pin")
    expect(listed.get_by_text("Pinned")).to_be_visible()
    expect(listed.locator("button").first).to_contain_text(name)
    _choose(app, "Export …")
    with app.page.expect_download() as download:
        app.page.get_by_role("button", name="Export as Markdown").click()
    exported = download.value.path().read_text(encoding="utf-8")
    assert LN2 in exported
    assert ".md" in exported
    app.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    _choose(app, "Delete …")
    asked = app.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
    expect(asked).to_be_visible()
    asked.click()
    expect(app.page.get_by_text("What do you need to know?")).to_be_visible()
    expect(listed.get_by_text(name)).to_have_count(0)
    expect(app.page).not_to_have_url(re.compile(r"\?c="))
    app.page.get_by_role("button", name="Undo").click()
    expect(listed.get_by_text(name, exact=True)).to_be_visible()
    expect(app.answered(1).locator(".question")).to_contain_text(LN2)


@WINDOWS
def test_an_answer_is_copied_linked_to_and_asked_anew(quoting: str, open_app: Opener, window: Window) -> None:
    app = open_app(quoting, **window)
    app.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    app.ask(LN2)
    app.answered(1)
    app.ask("How long does the oxygen last?")
    app.answered(2)
    copied = _copied(app, 1, "Copy with its sources")
    assert copied.startswith(f"> {LN2}\n\n")
    assert re.search(r"\[\^1\]: \S+\.md › .*, lines? \d+.*: “", copied)
    link = _copied(app, 1, "Copy a link to this answer")
    assert link.startswith(f"{quoting}/?c=")

    app.turn(1).get_by_label("Edit the question").click()
    field = app.turn(1).get_by_label("Your question")
    expect(field).to_be_focused()
    field.press("Escape")
    expect(app.turn(1).get_by_label("Edit the question")).to_be_focused()
    app.turn(2).get_by_label("Edit the question").click()
    expect(app.turn(2)).to_contain_text("Another question takes its place")
    ask = app.turn(2).get_by_role("button", name="Ask", exact=True)
    app.until(
        lambda: box(ask)["y"] + box(ask)["height"] < box(app.question)["y"]
    )  # the whole form is in view
    if not window["dark"]:
        looked_at(app, "question-edited")
    field = app.turn(2).get_by_label("Your question")
    field.fill("How is the CO2 removed?")
    field.press("Enter")
    expect(app.answered(2).locator(".question")).to_contain_text("How is the CO2 removed?")
    expect(app.turn(1).locator(".question")).to_contain_text(LN2)
    expect(app.turn(2).locator(".versions")).to_have_count(0)

    app.go_to(link)
    expect(app.turn(1).locator(".question")).to_be_in_viewport()
    app.turn(1).get_by_label("Ask again").click()
    expect(app.answered(1).locator(".versions")).to_contain_text("2 answers")
    if not window["dark"]:
        looked_at(app, "versions")
    app.turn(1).get_by_label("Previous version").press("Enter")
    expect(app.turn(1).get_by_label("Previous version")).to_be_focused()
    expect(app.answered(2).locator(".question")).to_contain_text("CO2")


def test_a_second_window_follows_the_first(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask(LN2)
    app.answered(1)
    other = open_app(quoting, path=app.page.url.removeprefix(quoting))
    other.answered(1)
    app.ask("How long does the oxygen last?")
    expect(other.answered(2).locator(".question")).to_contain_text("oxygen")
    app.answered(2)
    app.turn(1).get_by_label("Edit the question").click()
    app.turn(1).get_by_label("Your question").fill("How is the CO2 removed?")
    app.turn(1).get_by_role("button", name="Ask", exact=True).click()
    expect(other.answered(1).locator(".question")).to_contain_text("CO2")
    expect(other.page.locator(".turn")).to_have_count(1)


def _copied(app: App, number: int, label: str) -> str:
    button = app.turn(number).get_by_label(label)
    button.click()
    expect(button).to_have_attribute("data-done", "true")
    return str(app.page.evaluate("navigator.clipboard.readText()"))


def test_a_conversation_deleted_in_another_window_is_said(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask(LN2)
    app.answered(1)
    other = open_app(quoting, path=app.page.url.removeprefix(quoting))
    other.answered(1)
    _choose(other, "Delete …")
    other.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(other.page.get_by_text("What do you need to know?")).to_be_visible()

    expect(app.page.get_by_text("not stored any more")).to_be_visible()
    app.ask(LN2)
    app.answered(1)


def _choose(app: App, wanted: str) -> None:
    """Choose something of the current conversation's menu."""
    app.ready()  # an open menu may be about to close
    app.page.locator("[class*='st-key-current-'] [class*='st-key-menu-'] button").click()
    app.page.get_by_role("menuitem", name=wanted).click()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
